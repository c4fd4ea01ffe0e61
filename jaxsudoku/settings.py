"""What solvers' settings have in common: checks of their values, and how many lanes there are."""

from __future__ import annotations

import dataclasses
import math
from typing import Any

from jaxsudoku.board import Board
from jaxsudoku.suggestions import did_you_mean

#: The most that an integer setting may be, and where counts of grids and nodes stop: kernels count in int32.
MOST = 2**31 - 1

#: Lanes of a kernel come in multiples of this: the bits of a word.
LANES = 32

#: How many times fewer lanes the last puzzles of a queue have. A second program is compiled for them.
NARROWER = 8


def settings_of(config: type, whose: str, **options: Any) -> Any:
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


def one_of(config: object, name: str, options: tuple[str, ...]) -> None:
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
