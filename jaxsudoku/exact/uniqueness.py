"""Solutions of puzzles, and proofs that there is no other one."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence

import jax
import numpy as np
from jax import Array

from jaxsudoku import exact
from jaxsudoku.core.board import Board
from jaxsudoku.core.tuning import CPU_LANES, exact_lanes
from jaxsudoku.engine.batches import Engine, PuzzleItems
from jaxsudoku.runtime.terminal.progress import Report


def solve_and_count(
    puzzles: np.ndarray,
    board: Board,
    candidates: np.ndarray | None = None,
    *,
    limit: int = 2,
    batch_size: int | None = None,
    devices: Sequence[jax.Device] | None = None,
    report: Report = lambda done, count: None,
) -> tuple[np.ndarray, np.ndarray]:
    """Solves puzzles, and counts their solutions up to a limit.

    Args:
      puzzles: uint8[N, cells], 0 = empty.
      board: the board.
      candidates: bool[N, side, cells], the digits that empty cells may take; None for all.
      limit: stop at this many solutions of a puzzle.
      batch_size, devices: as in ``solve``.
      report: called with the number of finished puzzles and of all.

    Returns:
      the first solutions found, uint8[N, cells], zeros where there is none; and the counts, int32[N]: 1 proves that a
      puzzle has one solution.
    """
    kernel = _Solutions(limit, candidates is not None)
    items = puzzles if candidates is None else np.concatenate([puzzles[:, None], candidates], axis=1, dtype=np.uint8)
    solutions, counts = Engine(kernel, board, 0, batch_size, devices).run(items, report)
    return solutions, counts


@dataclasses.dataclass(frozen=True)
class _Solutions(PuzzleItems):
    """Solves puzzles and counts their solutions.

    Attributes:
      limit: the most solutions to find.
      listed: whether an item is uint8[1 + side, cells], a puzzle and its candidates.
    """

    limit: int = 2
    listed: bool = False
    lanes: int = CPU_LANES

    def resolve(self, board: Board, platform: str) -> _Solutions:
        return dataclasses.replace(self, lanes=exact_lanes(board, platform))

    def row(self, board: Board) -> jax.ShapeDtypeStruct:
        puzzle = super().row(board)
        return jax.ShapeDtypeStruct((1 + board.side, *puzzle.shape), puzzle.dtype) if self.listed else puzzle

    def extra_bytes(self, board: Board) -> int:
        return board.candidates if self.listed else 0

    def __call__(self, board: Board, puzzles: Array, key: Array, number: Array, /) -> tuple[Array, Array]:
        puzzles, candidates = (puzzles[:, 0], puzzles[:, 1:]) if self.listed else (puzzles, None)
        excluded = None if candidates is None else candidates == 0
        found = exact.search(puzzles, board, None, excluded, limit=self.limit, lanes=self.lanes)
        return found.grids, found.counts
