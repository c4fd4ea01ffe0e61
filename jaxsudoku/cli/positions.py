"""Positions in play: answers within the candidates that an input lists. Loads JAX when it computes."""

from __future__ import annotations

import numpy as np

from jaxsudoku.core.board import Board
from jaxsudoku.core.host_rules import allowed_candidates
from jaxsudoku.engine.solution import Solution, Status
from jaxsudoku.io import Chunk


class SolvedWithin:
    """Keeps solutions within the candidates of their puzzles, which solvers do not see.

    A solution of the filled cells that is not within the candidates is replaced by that of an exact search within them,
    if the solver is the exact search; of other solvers the puzzle then counts as unsolved.

    Args:
      board: the board.
      solver: the name of the solver.

    Attributes:
      outside: puzzles of other solvers that count as unsolved.
    """

    def __init__(self, board: Board, solver: str) -> None:
        self.outside = 0
        self._board, self._solver = board, solver

    def __call__(self, chunk: Chunk, solution: Solution[np.ndarray]) -> Solution[np.ndarray]:
        """The solutions of a chunk, within its candidates."""
        rows = _outside(chunk, solution)
        if not len(rows):
            return solution
        grids, status = solution.grids.copy(), solution.status.copy()
        if self._solver == "exact":
            counts, grids[rows] = _searched(self._board, chunk, rows, limit=1)
            status[rows] = np.where(counts > 0, Status.SOLVED, Status.UNSATISFIABLE)
        else:
            self.outside += len(rows)
            grids[rows], status[rows] = 0, Status.UNSOLVED
        return solution._replace(grids=grids, status=status)

    @property
    def note(self) -> str:
        """What the summary says of ``outside``."""
        if not self.outside:
            return ""
        found = "1 solution is" if self.outside == 1 else f"{self.outside:,} solutions are"
        return f"; {found} not within the candidates of the input, which --solver exact searches"


class CountedWithin:
    """Counts solutions within the candidates of the puzzles.

    Args:
      board: the board.
      limit: stop at this many solutions.
    """

    def __init__(self, board: Board, limit: int) -> None:
        self._board, self._limit = board, limit

    def __call__(self, chunk: Chunk, counts: np.ndarray) -> np.ndarray:
        """The counts int32[n] of a chunk, within its candidates."""
        rows = np.flatnonzero(chunk.listed & (counts > 0))
        if not len(rows):
            return counts
        counts = counts.copy()
        counts[rows], _ = _searched(self._board, chunk, rows, self._limit)
        return counts


def left_after(chunk: Chunk, board: Board, rules: str) -> np.ndarray:
    """The candidates bool[side, cells] of the only puzzle of a chunk that its houses, its input and rules leave.

    Args:
      chunk: the puzzle.
      board: the board.
      rules: one of ``config.RULES``.
    """
    (grid,) = chunk.grids
    candidates = allowed_candidates(grid, board)
    candidates &= chunk.candidates_of([0])[0]
    if rules == "none":
        return candidates
    import jax

    from jaxsudoku.core.planes import cubes_to_planes, pad_lanes, planes_to_cubes
    from jaxsudoku.core.propagation import propagate

    def after(cubes: jax.Array) -> jax.Array:
        return planes_to_cubes(propagate(cubes_to_planes(pad_lanes(cubes), board), board, rules), board)

    return np.asarray(jax.jit(after)(candidates[None]))[0]


def _outside(chunk: Chunk, solution: Solution[np.ndarray]) -> np.ndarray:
    """The rows that are solved, but not within the candidates of the chunk."""
    rows = np.flatnonzero(chunk.listed & (np.asarray(solution.status) == Status.SOLVED))
    if not len(rows):
        return rows
    grids = solution.grids[rows]
    allowed = np.take_along_axis(chunk.candidates_of(rows), grids[:, None].astype(int) - 1, axis=1)[:, 0]
    found: np.ndarray = rows[(~allowed & (chunk.grids[rows] == 0)).any(axis=1)]
    return found


def _searched(board: Board, chunk: Chunk, rows: np.ndarray, limit: int) -> tuple[np.ndarray, np.ndarray]:
    """The counts and the first solutions of some puzzles of a chunk within their candidates."""
    from jaxsudoku.exact.uniqueness import solve_and_count

    grids, counts = solve_and_count(chunk.grids[rows], board, chunk.candidates_of(rows), limit=limit)
    return counts, grids
