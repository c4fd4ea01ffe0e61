"""``explain`` and ``hint``: explanations of a puzzle that is proved to have one solution."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from jaxsudoku.board import Board
from jaxsudoku.inputs import as_puzzles
from jaxsudoku.techniques.registry import get
from jaxsudoku.uniqueness import solve_and_count

from .steps import Explanation, Step, explained, steps_of


def explain(puzzle: Any, board: Board | None = None, *, techniques: Sequence[str] | None = None) -> Explanation:
    """Explains how people solve a puzzle: the steps, always by the simplest technique that helps.

    Args:
      puzzle: one puzzle, in any form that ``solve`` takes.
      board: the board; None for the classic one of the puzzle's size.
      techniques: names of the techniques to use; None for all of ``techniques.TECHNIQUES``.

    Returns:
      the steps, and whether they solve the puzzle. Printed it is a line for each step.

    Raises:
      ValueError: several puzzles, one without exactly one solution, or an unknown technique.
    """
    array, board = _proper(puzzle, board)
    return explained(array, board, _names(techniques))


def hint(puzzle: Any, board: Board | None = None, *, techniques: Sequence[str] | None = None) -> Step | None:
    """The next step of a puzzle: the first of ``explain``; None if it is complete or no technique helps.

    Args and errors are those of ``explain``.
    """
    array, board = _proper(puzzle, board)
    return next(steps_of(array, board, _names(techniques)), None)


def _names(techniques: Sequence[str] | None) -> list[str] | None:
    """The names of techniques as the registry has them."""
    return None if techniques is None else [get(name).name for name in techniques]


def _proper(puzzle: Any, board: Board | None) -> tuple[np.ndarray, Board]:
    """A puzzle uint8[cells], and its board."""
    array, board = as_puzzles(puzzle, board)
    if array.ndim != 1:
        raise ValueError(f"puzzles of shape {array.shape}; one puzzle is explained at a time")
    _, counts = solve_and_count(array[None], board)
    if counts[0] != 1:
        several = "several solutions" if counts[0] else "no solution"
        raise ValueError(f"the puzzle has {several}; only a puzzle with exactly one can be explained")
    return array, board
