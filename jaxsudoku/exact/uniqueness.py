"""Solutions of puzzles and their counts by the exact search; a count of 1 proves that the solution is unique."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax import Array

from jaxsudoku import exact
from jaxsudoku.core.board import Board
from jaxsudoku.core.constraints.clues import ClueForm, Clues
from jaxsudoku.core.constraints.house_sums import with_house_sums
from jaxsudoku.engine.batches import Engine
from jaxsudoku.engine.kernels import Limits, PuzzleItems, as_items, fewest_items
from jaxsudoku.exact.exact_config import ExactConfig
from jaxsudoku.runtime.terminal.progress import Report

#: The smallest batches worth a thread: puzzles per lane, and in total.
_WORTH_A_THREAD, _WORTH_AT_LEAST = 4, 256


def solve_and_count(
    puzzles: np.ndarray,
    board: Board,
    candidates: np.ndarray | None = None,
    *,
    clues: Clues | None = None,
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
      clues: the constraints of each puzzle; None for those of the board alone.
      limit: stop at this many solutions of a puzzle.
      batch_size, devices: as in ``solve``.
      report: called with the number of finished puzzles and of all.

    Returns:
      the first solutions found, uint8[N, cells], zeros where there is none; and the counts, int32[N]: 1 proves that a
      puzzle has one solution.
    """
    clues = None if clues is None else with_house_sums(clues, board)
    kernel = CountKernel(ExactConfig(), limit, candidates is not None, None if clues is None else clues.form)
    found = Engine(kernel, board, 0, batch_size, devices).run(as_items(puzzles, candidates, clues), report)
    return found.grids, found.counts


@dataclasses.dataclass(frozen=True)
class CountKernel(PuzzleItems):
    """Solves puzzles and counts their solutions: a ``kernels.Kernel`` that gives a ``SearchResult``.

    Attributes:
      config: the settings.
      limit: maximum number of solutions of a puzzle to find.
      grids: whether the first solutions are wanted; else ``grids`` are uint8[N, 0].
    """

    config: ExactConfig
    limit: int = 2
    listed: bool = False
    form: ClueForm | None = None
    grids: bool = True

    def resolve(self, board: Board, platform: str) -> CountKernel:
        """The kernel with automatic settings chosen for a machine."""
        config = self.config if self.form is None else self.config.with_clues(self.limit)
        return dataclasses.replace(self, config=config.resolve(board, platform))

    def limits(self, board: Board, platform: str) -> Limits:
        """Limits on the size of batches, see ``lane_limits``."""
        return lane_limits(board, self.config)

    def small(self, board: Board, platform: str) -> CountKernel | None:
        """The kernel for a few puzzles."""
        config = self.config.small(board, platform, self.limit)
        return None if config is None else dataclasses.replace(self, config=config)

    def __call__(self, board: Board, items: Array, key: Array, number: Array, /) -> exact.SearchResult:
        puzzles, excluded, clues = self.split(board, items)
        seeds = order_seeds(self.config, puzzles, jax.random.fold_in(key, number))
        found = exact.search(puzzles, board, seeds, excluded, clues=clues, limit=self.limit, config=self.config)
        return found if self.grids else found._replace(grids=found.grids[:, :0])


def lane_limits(board: Board, config: Any) -> Limits:
    """Limits on the size of batches of a solver with lanes; a batch of a few times the lanes is worth a thread."""
    return Limits(min(fewest_items(board), max(_WORTH_A_THREAD * config.lanes, _WORTH_AT_LEAST)))


def order_seeds(config: ExactConfig, puzzles: Array, key: Array) -> Array | None:
    """The ``seeds`` uint32[N] of a search of puzzles uint8[N, cells] in the order "random"; None for "fixed"."""
    return jax.random.bits(key, puzzles.shape[:1], jnp.uint32) if config.order == "random" else None
