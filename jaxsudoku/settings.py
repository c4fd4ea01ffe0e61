"""What solvers' settings have in common: checks of their values, and how many lanes there are."""

from __future__ import annotations

import dataclasses
import functools
import math
import numbers
import operator
import types
import typing
from collections.abc import Callable, Collection
from typing import Any

import numpy as np

from jaxsudoku.board import Board
from jaxsudoku.suggestions import did_you_mean

#: The most that an integer setting may be, and where counts of grids and nodes stop: kernels count in int32.
MOST = 2**31 - 1

#: The most rounds of the rules in a step: far more than make a difference on any board.
MOST_ROUNDS = 1000

#: Lanes of a kernel come in multiples of this: the bits of a word.
LANES = 32

#: How many times fewer lanes the last puzzles of a queue have. A second program is compiled for them.
NARROWER = 8


class Config:
    """What dataclasses of settings derive from: every field has a value of its annotated type, or making one fails.

    Integers may be Python's, numpy's or JAX's, floats any real numbers, truth values numpy's too; what is kept is
    Python's, so that equal settings hash and print alike. Fields of other types are left to the dataclass itself, whose
    ``__post_init__`` calls this one first.

    Raises:
      ValueError: a value of another type; the message names the field.
    """

    def __post_init__(self) -> None:
        check_types(self)


def check_types(config: Any) -> None:
    """Checks the fields of a frozen dataclass as ``Config`` says."""
    for name, kinds in _kinds(config.__class__).items():
        value = getattr(config, name)
        if not (value is None and type(None) in kinds):
            object.__setattr__(config, name, _CONVERTED[kinds[0]](name, value))


@functools.cache
def _kinds(config: type) -> dict[str, tuple[type, ...]]:
    """The types of each field, the plain one first and then None's if it may be None; fields of other types are out."""
    hints = typing.get_type_hints(config)
    kinds = {}
    for name in (field.name for field in dataclasses.fields(config)):
        optional = typing.get_origin(hints[name]) in (typing.Union, types.UnionType)
        parts = typing.get_args(hints[name]) if optional else (hints[name],)
        ordered = tuple(sorted(parts, key=lambda part: part is type(None)))
        if ordered[0] in _CONVERTED and ordered[1:] in ((), (type(None),)):
            kinds[name] = ordered
    return kinds


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
_CONVERTED: dict[type, Callable[[str, Any], Any]] = {
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


def one_of(config: object, name: str, options: Collection[str]) -> None:
    """Checks a setting that is one of a few words.

    Raises:
      ValueError: it is none of them; the message lists them.
    """
    if getattr(config, name) not in options:
        value = getattr(config, name)
        raise ValueError(f"unknown {name} {value!r}: choose one of {', '.join(options)}{did_you_mean(value, options)}")


def at_least(config: object, **lowest: float) -> None:
    """Checks the named settings, finite numbers with a lowest value, and what an int32 holds if they are integers.

    Raises:
      ValueError: one is below, not finite or too large; the message names it.
    """
    for name, bound in lowest.items():
        value = getattr(config, name)
        if not value >= bound:
            raise ValueError(f"{name} must be at least {bound}, not {value}")
        if not math.isfinite(value):
            raise ValueError(f"{name} must be finite, not {value}")
        if isinstance(value, int) and value > MOST:
            raise ValueError(f"{name} must be at most {MOST}, not {value}")


def at_most(config: object, **highest: float) -> None:
    """Checks the named settings, numbers with a highest value.

    Raises:
      ValueError: one is above; the message names it.
    """
    for name, bound in highest.items():
        if getattr(config, name) > bound:
            raise ValueError(f"{name} must be at most {bound}, not {getattr(config, name)}")


def whole_words(config: object) -> None:
    """Checks the setting ``lanes``: 0, or a positive multiple of 32.

    Raises:
      ValueError: it is neither.
    """
    at_least(config, lanes=0)
    if config.lanes % LANES:  # type: ignore[attr-defined]
        raise ValueError(f"lanes must be a multiple of {LANES}, not {config.lanes}")  # type: ignore[attr-defined]


def fitting_lanes(board: Board, platform: str, accelerator: int) -> int:
    """Positions that a network looks at together: 64 of 9x9 on a CPU, ``accelerator`` elsewhere, fewer of wider boards.

    The candidates of all lanes together are what counts.
    """
    candidates = (64 if platform == "cpu" else accelerator) * 9**3
    return max(candidates // board.candidates // LANES * LANES, LANES)
