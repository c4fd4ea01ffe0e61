"""Positions in play: answers within the candidates that an input lists. Loads JAX when it computes."""

from __future__ import annotations

import numpy as np

from jaxsudoku.core.board import Board
from jaxsudoku.engine.solution import Solution
from jaxsudoku.io import Chunk, allowed_candidates


class Outside:
    """Counts as unsolved the solutions that are not within the candidates of their puzzles.

    Attributes:
      count: how many there are.
    """

    def __init__(self) -> None:
        self.count = 0

    def __call__(self, chunk: Chunk, solution: Solution[np.ndarray]) -> Solution[np.ndarray]:
        """The solutions of a chunk, within its candidates."""
        if not chunk.listed.any():
            return solution
        from jaxsudoku.solvers.judging import judge_within

        judged = judge_within(chunk.grids, chunk.candidates_of(range(len(chunk))), solution)
        self.count += int((judged.status != solution.status).sum())
        return judged

    @property
    def note(self) -> str:
        """What the summary says of them."""
        if not self.count:
            return ""
        found = "1 solution is" if self.count == 1 else f"{self.count:,} solutions are"
        return f"; {found} not within the candidates of the input, which --solver exact searches"


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
