"""Solutions of puzzles, and proofs that there is no other one."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence

import jax
import numpy as np
from jax import Array

from jaxsudoku import exact
from jaxsudoku.batches import Engine, PuzzleItems
from jaxsudoku.board import Board
from jaxsudoku.config import CPU_LANES, exact_lanes, search_restart
from jaxsudoku.terminal.progress import Report


def solve_and_count(
    puzzles: np.ndarray,
    board: Board,
    *,
    batch_size: int | None = None,
    devices: Sequence[jax.Device] | None = None,
    report: Report = lambda done, count: None,
) -> tuple[np.ndarray, np.ndarray]:
    """Solves puzzles, and counts their solutions up to two.

    Args:
      puzzles: uint8[N, cells], 0 = empty.
      board: the board.
      batch_size, devices: as in ``solve``.
      report: called with the number of finished puzzles and of all.

    Returns:
      the first solutions found, uint8[N, cells], zeros where there is none; and the counts, int32[N]: 1 proves that a
      puzzle has one solution.
    """
    solutions, counts = Engine(_Solutions(), board, 0, batch_size, devices).run(puzzles, report)
    return solutions, counts


@dataclasses.dataclass(frozen=True)
class _Solutions(PuzzleItems):
    """Solves puzzles and counts their solutions up to two."""

    lanes: int = CPU_LANES
    restart: int | None = None

    def resolve(self, board: Board, platform: str) -> _Solutions:
        return _Solutions(exact_lanes(board, platform), search_restart(board))

    def __call__(self, board: Board, puzzles: Array, key: Array, number: Array, /) -> tuple[Array, Array]:
        found = exact.search(puzzles, board, limit=2, lanes=self.lanes, restart=self.restart)
        return found.grids, found.counts
