"""Settings: frozen dataclasses whose fields are checked by their annotations. No JAX."""

from __future__ import annotations

import dataclasses
import functools
import math
import numbers
import operator
import types
import typing
from collections.abc import Callable
from typing import Annotated, Any, Literal, NamedTuple

import numpy as np

from jaxsudoku.board import Board
from jaxsudoku.suggestions import did_you_mean

#: The most that an integer setting may be, and where counts of grids and nodes stop: kernels count in int32.
MOST = 2**31 - 1

#: The most rounds of the rules in a step: far more than make a difference on any board.
MOST_ROUNDS = 1000

#: Lanes of a kernel come in multiples of this: the bits of a word.
LANES = 32

#: Nodes of a 9x9 board in a step of the exact search on a CPU: their planes fit its cache.
CPU_LANES = 2048

#: How many times fewer lanes the last puzzles of a queue have. A second program is compiled for them.
NARROWER = 8

#: The rules of ``propagation``, each with all that the one before it does.
Rules = Literal["none", "naked", "singles", "locked"]
#: Those under which a placed digit leaves its houses, without which a complete search could not end.
SearchRules = Literal["naked", "singles", "locked"]
RULES: tuple[str, ...] = typing.get_args(Rules)
SEARCH_RULES: tuple[str, ...] = typing.get_args(SearchRules)


class Range(NamedTuple):
    """The numbers that a field takes: from ``least`` to ``most``, multiples of ``step``."""

    least: float
    most: float = math.inf
    step: int = 1


Natural = Annotated[int, Range(0)]
Positive = Annotated[int, Range(1)]
NonNegative = Annotated[float, Range(0)]
Share = Annotated[float, Range(0, 1)]
#: How many lanes a kernel has.
Words = Annotated[int, Range(1, step=LANES)]
Rounds = Annotated[int, Range(1, MOST_ROUNDS)]


class Config:
    """What dataclasses of settings derive from: making one fails unless every field has a value of its annotation.

    An annotation is ``int``, ``float``, ``bool``, ``str``, a ``Literal`` of words, one of these ``Annotated`` with a
    ``Range``, or a union of these and None. Integers may be Python's, numpy's or JAX's, floats any real numbers, truth
    values numpy's too; what is kept is Python's, so that equal settings hash and print alike. Fields of other types are
    left to the dataclass itself, whose ``__post_init__`` calls this one first.

    Raises:
      ValueError: a value of another type, or out of its range; the message names the field.
    """

    def __post_init__(self) -> None:
        check_types(self)

    def resolve(self, board: Board, platform: str) -> Any:
        """The settings with a value for what was left to the machine.

        Args:
          board: the board of the puzzles.
          platform: "cpu", "gpu" or "tpu".
        """
        del board, platform
        return self

    def summary(self, board: Board) -> str:
        """What resolved settings come to on a board, in a line for people; empty where there is nothing to say."""
        del board
        return ""


def check_types(config: Any) -> None:
    """Checks the fields of a frozen dataclass as ``Config`` says."""
    for name, check in _checks(config.__class__).items():
        object.__setattr__(config, name, check(name, getattr(config, name)))


Check = Callable[[str, Any], Any]


@functools.cache
def _checks(config: type) -> dict[str, Check]:
    hints = typing.get_type_hints(config, include_extras=True)
    checks = {field.name: _check_of(hints[field.name]) for field in dataclasses.fields(config)}
    return {name: check for name, check in checks.items() if check is not None}


def _check_of(hint: Any) -> Check | None:
    """What checks a field of this annotation, and makes Python's value of it; None for annotations of other kinds."""
    origin, parts = typing.get_origin(hint), typing.get_args(hint)
    if origin is Literal:
        return functools.partial(_choice, parts)
    if origin is Annotated:
        return functools.partial(_ranged, _CONVERTED[parts[0]], parts[1])
    if origin in (typing.Union, types.UnionType):
        words = next((_check_of(part) for part in parts if typing.get_origin(part) is Literal), None)
        rest = [part for part in parts if part is not types.NoneType and typing.get_origin(part) is not Literal]
        check = _check_of(rest[0]) if len(rest) == 1 else words if not rest else None
        return check and functools.partial(_either, check, words, types.NoneType in parts)
    return _CONVERTED.get(hint)


def _either(check: Check, words: Check | None, none: bool, name: str, value: Any) -> Any:
    """A value of the first part of a union, a word if it has any, or None if it may be."""
    if value is None and none:
        return None
    return (words or check)(name, value) if isinstance(value, str) else check(name, value)


def _choice(options: tuple[str, ...], name: str, value: Any) -> str:
    if _word(name, value) not in options:
        raise ValueError(f"unknown {name} {value!r}: choose one of {', '.join(options)}{did_you_mean(value, options)}")
    return str(value)


def _ranged(convert: Check, bounds: Range, name: str, value: Any) -> Any:
    number = convert(name, value)
    if number < bounds.least:
        raise ValueError(f"{name} must be at least {bounds.least}, not {number}")
    most = min(bounds.most, MOST) if isinstance(number, int) else bounds.most
    if number > most:
        raise ValueError(f"{name} must be at most {most}, not {number}")
    if not math.isfinite(number):
        raise ValueError(f"{name} must be finite, not {number}")
    if bounds.step > 1 and number % bounds.step:
        raise ValueError(f"{name} must be a multiple of {bounds.step}, not {number}")
    return number


def whole_number(name: str, value: Any, least: int | None = None, most: int | None = MOST) -> int:
    """A whole number as a Python int, whatever its type, which may be numpy's or JAX's.

    Args:
      name: what it is, for messages.
      value: the number.
      least: the lowest that it may be.
      most: the highest.

    Raises:
      ValueError: it is none, or out of range.
    """
    try:
        if isinstance(value, bool):
            raise TypeError
        number = operator.index(value)
    except TypeError:
        raise ValueError(f"{name} must be a whole number, not {value!r}") from None
    if least is not None and number < least:
        raise ValueError(f"{name} must be at least {least}, not {number}")
    if most is not None and number > most:
        raise ValueError(f"{name} must be at most {most}, not {number}")
    return number


def real_number(name: str, value: Any) -> float:
    """A real number as a Python float, whatever its type; ValueError if it is none, or NaN."""
    if isinstance(value, bool) or not isinstance(value, numbers.Real) or value != value:
        raise ValueError(f"{name} must be a number, not {value!r}")
    try:
        return float(value)
    except OverflowError:
        raise ValueError(f"{name} must be finite, not beyond what a float holds") from None


def _truth(name: str, value: Any) -> bool:
    if not isinstance(value, bool | np.bool_):
        raise ValueError(f"{name} must be True or False, not {value!r}")
    return bool(value)


def _word(name: str, value: Any) -> str:
    if not isinstance(value, str):
        raise ValueError(f"{name} must be a word, not {value!r}")
    return str(value)


#: What makes a field's value of one of another type, by the field's.
_CONVERTED: dict[Any, Check] = {
    int: functools.partial(whole_number, most=None),
    float: real_number,
    bool: _truth,
    str: _word,
}


def settings_of(config: type, whose: str, /, **options: Any) -> Any:
    """Settings with the named options.

    Args:
      config: a dataclass, all of whose fields have defaults.
      whose: whose settings they are, for messages, such as "solver exact".
      **options: some of its fields.

    Raises:
      ValueError: an option that there is not, or a value out of its range.
    """
    names = [field.name for field in dataclasses.fields(config)]
    if unknown := sorted(set(options) - set(names)):
        hint = did_you_mean(unknown[0], names)
        raise ValueError(f"the {whose} has no option {', '.join(unknown)}; it has {', '.join(names) or 'none'}{hint}")
    return config(**options)


def fitting_lanes(board: Board, platform: str, *, cpu: int, accelerator: int, least: int = 1, step: int = 1) -> int:
    """Lanes that suit a machine: as many candidates in all lanes together as so many 9x9 boards have.

    Args:
      board: the board.
      platform: "cpu", "gpu" or "tpu".
      cpu: lanes of a 9x9 board on a CPU.
      accelerator: lanes of a 9x9 board elsewhere.
      least: fewest lanes of any board.
      step: what the lanes are a multiple of.
    """
    candidates = (cpu if platform == "cpu" else accelerator) * 9**3
    return max(candidates // board.candidates // step * step, least)


def node_lanes(board: Board, platform: str) -> int:
    """Nodes in a step of the exact search: on a CPU few enough for its cache, on an accelerator enough to fill it.

    Wider boards take few lanes on a CPU, so that a lone puzzle's descent stays narrow.
    """
    if platform == "cpu":
        return CPU_LANES if board.side < 12 else 128
    most = (1 << 28) // (4 * board.words)
    return max(1 << min(most.bit_length() - 1, 18), CPU_LANES)
