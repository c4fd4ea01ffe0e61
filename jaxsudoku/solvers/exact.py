"""The exact search as a solver."""

from __future__ import annotations

from jax import Array

from jaxsudoku import exact as exact_search
from jaxsudoku.core.board import Board
from jaxsudoku.core.constraints.clues import Clues
from jaxsudoku.engine.solution import Solution
from jaxsudoku.exact.exact_config import ExactConfig
from jaxsudoku.exact.uniqueness import order_seeds


def exact(
    board: Board,
    puzzles: Array,
    key: Array,
    config: ExactConfig,
    excluded: Array | None = None,
    /,
    clues: Clues | None = None,
) -> Solution:
    """Complete search. Pure; jit it with ``board`` and ``config`` static.

    Args:
      board: the board.
      puzzles: uint8[N, cells], 0 = empty.
      key: a JAX key, for the order "random".
      config: the settings.
      excluded: bool[N, side, cells], digits that empty cells may not take; None for none.
      clues: the constraints of each puzzle; None for those of the board alone.

    Returns:
      A ``Solution``; ``iterations`` int32[N] are the nodes that were visited.
    """
    seeds = order_seeds(config, puzzles, key)
    found = exact_search.search(puzzles, board, seeds, excluded, clues=clues, config=config)
    return Solution(found.grids, found.status, found.iterations, {})
