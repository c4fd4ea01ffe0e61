"""What every solver answers: grids, a status for each, and how many grids it looked at to find it."""

from __future__ import annotations

import enum
from typing import Any, NamedTuple


class Status(enum.IntEnum):
    """How the work on one puzzle ended."""

    UNSOLVED = 0  #: the budget was spent before an answer was found
    SOLVED = 1  #: the grid is complete, keeps the givens and breaks no rule
    UNSATISFIABLE = 2  #: proved to have no solution
    INVALID = 3  #: the givens clash, or a value lies outside 0..side


class Solution(NamedTuple):
    """The answer to a batch of puzzles; a pytree.

    Attributes:
      grids: uint8[*b, cells], the solved grid where ``status`` is SOLVED, else zeros.
      status: int8[*b], one of ``Status``.
      iterations: int32[*b], grids looked at (nodes of the search tree).
      network_calls: int32[*b], positions that a network evaluated for the puzzle: open ones alone, as those that the
        rules solve or refute are not shown to it, each time that it is shown. What is computed for lanes that are idle
        or not in need of it, to fill a block, is not counted. None, which is no leaf, of a solver without a network.
      errors: int32[*b], what is wrong with the best grid found, 0 where a puzzle is solved, -1 where no grid was looked
        at, as the givens clash or the rules refute them; None of a solver that does not work on full grids.
      history: int32[*b, steps], the least error after each step, -1 after the last one; None unless it was asked for.
    """

    grids: Any
    status: Any
    iterations: Any
    network_calls: Any = None
    errors: Any = None
    history: Any = None
