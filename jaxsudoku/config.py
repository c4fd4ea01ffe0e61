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

#: The largest integer setting and count of grids or nodes: kernels count in int32.
MOST = 2**31 - 1

#: The most rounds of the rules in a step, far more than any board needs.
MOST_ROUNDS = 1000

#: The number of lanes of a kernel is a multiple of this, the bits of a word.
LANES = 32

#: Nodes in a step of the exact search of 9x9 on a CPU, whose planes fit its cache.
CPU_LANES = 2048

#: Searches at a time of an exact search with restarts on a CPU: fewer do not fill its vectors, more are too many for
#: the last puzzles of a batch.
CPU_SEARCHES = 64

#: The factor by which lanes are narrowed for the last puzzles of a queue; these run a second program.
NARROWER = 8

#: The rules of ``propagation``; each includes the one before it.
Rules = Literal["none", "naked", "singles", "locked"]
#: Those that remove a placed digit from its houses, which a complete search needs.
SearchRules = Literal["naked", "singles", "locked"]
RULES: tuple[str, ...] = typing.get_args(Rules)
SEARCH_RULES: tuple[str, ...] = typing.get_args(SearchRules)
#: What runs the rules in a step of the exact search: operations of XLA, or one Pallas kernel.
Settle = Literal["xla", "pallas"]
SETTLES: tuple[str, ...] = typing.get_args(Settle)

#: Bytes of a GPU's shared memory (H100 and later), and of a TPU's vector memory (v5e and v6e), that the Pallas kernel
#: may fill; and the bytes of a plane in it.
CHIP_BYTES = {"gpu": (227 << 10) - 2048, "tpu": 112 << 20}
PLANE_BYTES = {"gpu": 256, "tpu": 4096}


#: Searches whose branch nodes a rating by nodes averages, by default.
SEARCHES = 8

#: What puzzles can be rated by: branch nodes of searches, or the hardest technique.
RATED_BY = ("nodes", "technique")


def includes(rules: str, level: str) -> bool:
    """Whether rules apply a level, one of ``RULES``: each level includes those before it."""
    return RULES.index(rules) >= RULES.index(level)


class Range(NamedTuple):
    """The numbers that a field takes: from ``least`` to ``most``, multiples of ``step``."""

    least: float
    most: float = math.inf
    step: int = 1


Natural = Annotated[int, Range(0)]
Positive = Annotated[int, Range(1)]
NonNegative = Annotated[float, Range(0)]
Share = Annotated[float, Range(0, 1)]
#: The number of lanes of a kernel.
Words = Annotated[int, Range(1, step=LANES)]
Rounds = Annotated[int, Range(1, MOST_ROUNDS)]


class Config:
    """Base of frozen dataclasses of settings; checks every field against its annotation.

    An annotation is ``int``, ``float``, ``bool``, ``str``, a ``Literal`` of words, one of these ``Annotated`` with a
    ``Range``, or a union of these and None. None means automatic. Values of numpy and JAX are converted to Python's, so
    that equal settings hash and print alike. A dataclass with fields of other types checks them in a ``__post_init__``
    of its own, which calls this one first.

    Raises:
      ValueError: a value of another type, or out of range; the message names the field.
    """

    def __post_init__(self) -> None:
        check_types(self)

    def resolve(self, board: Board, platform: str) -> Any:
        """The settings with values for all that are automatic.

        Args:
          board: the board of the puzzles.
          platform: "cpu", "gpu" or "tpu".
        """
        del board, platform
        return self

    def summary(self, board: Board) -> str:
        """A line about resolved settings on a board, for people; may be empty."""
        del board
        return ""


def check_types(config: Any) -> None:
    """Checks the fields of a frozen dataclass as ``Config`` does."""
    for name, check in _checks(config.__class__).items():
        object.__setattr__(config, name, check(name, getattr(config, name)))


Check = Callable[[str, Any], Any]


@functools.cache
def _checks(config: type) -> dict[str, Check]:
    hints = typing.get_type_hints(config, include_extras=True)
    checks = {field.name: _check_of(hints[field.name]) for field in dataclasses.fields(config)}
    return {name: check for name, check in checks.items() if check is not None}


def _check_of(hint: Any) -> Check | None:
    """A function that checks and converts a field of this annotation; None for annotations of other kinds."""
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
    """Checks a value of a union of one type, possibly words, and possibly None."""
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
    """A whole number of any type, numpy's and JAX's too, as a Python int.

    Args:
      name: its name, for messages.
      value: the number.
      least: the lowest valid number, or None.
      most: the highest valid number, or None.

    Raises:
      ValueError: no whole number, or out of range.
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
    """A real number of any type as a Python float; raises ValueError for anything else and for NaN."""
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


#: The check and conversion of each type of field.
_CONVERTED: dict[Any, Check] = {
    int: functools.partial(whole_number, most=None),
    float: real_number,
    bool: _truth,
    str: _word,
}


def settings_of(config: type, whose: str, /, **options: Any) -> Any:
    """An instance of a dataclass of settings.

    Args:
      config: the dataclass; all its fields have defaults.
      whose: the owner of the settings, for messages, such as "solver exact".
      **options: values of some fields.

    Raises:
      ValueError: an unknown option, or a value out of range.
    """
    names = [field.name for field in dataclasses.fields(config)]
    if unknown := sorted(set(options) - set(names)):
        hint = did_you_mean(unknown[0], names)
        raise ValueError(f"the {whose} has no option {', '.join(unknown)}; it has {', '.join(names) or 'none'}{hint}")
    return config(**options)


def fitting_lanes(board: Board, platform: str, *, cpu: int, accelerator: int, least: int = 1, step: int = 1) -> int:
    """The automatic number of lanes, scaled so that all lanes have about as many candidates as on 9x9.

    Args:
      board: the board.
      platform: "cpu", "gpu" or "tpu".
      cpu: lanes on 9x9 on a CPU.
      accelerator: lanes on 9x9 on other platforms.
      least: fewest lanes on any board.
      step: lanes are a multiple of this, unless they are ``least``.
    """
    candidates = (cpu if platform == "cpu" else accelerator) * 9**3
    return max(candidates // board.candidates // step * step, least)


def search_restart(board: Board) -> int | None:
    """The nodes of the first run of an exact search with restarts; None for boards that are searched without.

    They are 100 on 16x16, and more on wider boards, as the number of cells.
    """
    return None if board.side < 12 else max(100, board.cells * 100 // 256)


def search_lanes(board: Board, platform: str) -> int:
    """The automatic number of searches at a time of an exact search with restarts.

    On a CPU the candidates fit its cache. On an accelerator the stacks, one for each lane, fill up to 2 GiB.
    """
    if platform == "cpu":
        return CPU_SEARCHES
    stack_bytes = board.cells**2 * (1 if board.side <= 8 else 2 if board.side <= 16 else 4 * -(-board.side // 32))
    return max(min((1 << 31) // stack_bytes, 1 << 14) // LANES * LANES, LANES)


def chip_bytes(board: Board, platform: str) -> int:
    """Bytes that a block of planes takes on chip with ``settle="pallas"``; platform "gpu" or "tpu"."""
    copies = 1 if platform == "gpu" else 4  # a TPU reads the next block and writes the last one meanwhile
    sizes = (copies * board.candidates, 2 * board.cells, copies)
    return sum(-(-size * PLANE_BYTES[platform] // 1024) * 1024 for size in sizes)


def fits_chip(board: Board, platform: str) -> bool:
    """Whether ``settle="pallas"`` fits a chip of a platform; "cpu" has no limit."""
    return platform not in CHIP_BYTES or chip_bytes(board, platform) <= CHIP_BYTES[platform]


def check_settle(board: Board, settle: str, platform: str, restarts: bool) -> None:
    """Checks that a search can settle so.

    Args:
      board: the board.
      settle: one of ``SETTLES``.
      platform: "cpu", "gpu" or "tpu".
      restarts: whether it is a search with restarts.

    Raises:
      ValueError: it has restarts, or the board's planes don't fit the chip.
    """
    if settle != "pallas":
        return
    if restarts:
        raise ValueError(
            'settle "pallas" runs on planes, and a search with restarts on masks: leave out settle or restart'
        )
    if not fits_chip(board, platform):
        raise ValueError(
            f'settle "pallas" keeps a board on chip: {board} takes {chip_bytes(board, platform):,} bytes there, and a '
            f'{platform.upper()} has {CHIP_BYTES[platform]:,}; use settle "xla"'
        )


def exact_lanes(board: Board, platform: str) -> int:
    """The automatic number of lanes of the exact search that a board is searched by."""
    return (node_lanes if search_restart(board) is None else search_lanes)(board, platform)


def node_lanes(board: Board, platform: str) -> int:
    """The automatic number of nodes in a step of the exact search without restarts.

    They fit the cache of a CPU, and fill an accelerator. On a CPU large boards have few lanes, so that the search of a
    single puzzle stays narrow.
    """
    if platform == "cpu":
        return CPU_LANES if board.side < 12 else 128
    most = (1 << 28) // (4 * board.words)
    return max(1 << min(most.bit_length() - 1, 18), CPU_LANES)
