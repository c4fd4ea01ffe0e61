"""Keeping a data set clear of known puzzles: solved grids are told by the hashes of their canonical forms."""

from __future__ import annotations

from typing import Any

import numpy as np

from jaxsudoku.board import Board
from jaxsudoku.inputs import as_puzzles
from jaxsudoku.symmetry import solution_hashes


def excluded_hashes(exclude: Any, board: Board) -> np.ndarray:
    """The hashes of solutions that a data set must not have, up to symmetry.

    Args:
      exclude: puzzles or solved grids, in any form that ``solve`` takes; or a tuple that begins with these and their
        solutions, arrays of integers [m, 81].
      board: the board of the data set.

    Returns:
      uint64[k], ascending, each once.

    Raises:
      ValueError: the board is not the classic 9x9 one, an array doesn't fit, or a puzzle has not exactly one solution.
    """
    if board != Board.classic():
        raise ValueError(f"exclude compares canonical forms, so it is for the classic 9x9 board, not {board}")
    try:
        solved = isinstance(exclude, tuple) and not any(isinstance(part, str) for part in exclude)
        return np.unique(
            solution_hashes(*(as_puzzles(part, board)[0] for part in (exclude[:2] if solved else [exclude])))
        )
    except ValueError as error:
        raise ValueError(f"exclude: {error}") from error


def is_excluded(solutions: np.ndarray, hashes: np.ndarray) -> np.ndarray:
    """Which solved grids uint8[n, 81] are, up to symmetry, among those of the hashes; bool[n]."""
    return np.isin(solution_hashes(solutions), hashes) if len(hashes) else np.zeros(len(solutions), bool)
