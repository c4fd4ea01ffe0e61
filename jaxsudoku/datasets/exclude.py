"""Keeping a data set clear of known puzzles: solved grids are told by the hashes of their canonical forms."""

from __future__ import annotations

import dataclasses
from typing import Any

import jax
import numpy as np

from jaxsudoku import exact, symmetry
from jaxsudoku.batches import Engine, TakesPuzzles, as_puzzles
from jaxsudoku.board import Board


def excluded_hashes(exclude: Any, board: Board) -> np.ndarray:
    """The hashes of solutions that a data set must not have, up to symmetry.

    Args:
      exclude: uint8[m, 81] puzzles or solved grids; or a tuple that begins with these and their solutions uint8[m, 81].
      board: the board of the data set.

    Returns:
      uint64[k], ascending, each once.

    Raises:
      ValueError: the board is not the classic 9x9 one, an array doesn't fit, or a puzzle has not exactly one solution.
    """
    if board != Board.classic():
        raise ValueError(f"exclude compares canonical forms, so it is for the classic 9x9 board, not {board}")
    puzzles, solutions = exclude[:2] if isinstance(exclude, tuple) else (exclude, None)
    grids, _ = as_puzzles(puzzles if solutions is None else solutions, board)
    if grids.ndim != 2 or len(grids) != len(puzzles):
        raise ValueError(f"exclude must hold puzzles [m, 81] and as many solutions, not an array of {grids.shape}")
    return np.unique(symmetry.hashes(symmetry.canonical(_completed(grids, board))))


def is_excluded(solutions: np.ndarray, hashes: np.ndarray) -> np.ndarray:
    """Which solved grids uint8[n, 81] are, up to symmetry, among those of the hashes; bool[n]."""
    if not len(hashes):
        return np.zeros(len(solutions), bool)
    return np.isin(symmetry.hashes(symmetry.canonical(solutions)), hashes)


def _completed(grids: np.ndarray, board: Board) -> np.ndarray:
    """The grids uint8[m, cells], with its solution in the place of each that has empty cells."""
    blank = np.flatnonzero((grids == 0).any(axis=1))
    if not len(blank):
        return grids
    found = Engine(_Solve(), board).run(grids[blank])
    if (found.counts != 1).any():
        wrong = blank[(found.counts != 1).argmax()]
        raise ValueError(f"puzzle {wrong} of exclude has not exactly one solution")
    solved = grids.copy()
    solved[blank] = found.grids
    return solved


@dataclasses.dataclass(frozen=True)
class _Solve(TakesPuzzles):
    lanes: int = exact.CPU_LANES

    def fit(self, board: Board, platform: str) -> _Solve:
        return _Solve(exact.fitting_lanes(board, platform))

    def __call__(self, board: Board, puzzles: jax.Array, key: jax.Array, number: jax.Array, /) -> exact.Search:
        return exact.search(board, puzzles, limit=2, lanes=self.lanes)
