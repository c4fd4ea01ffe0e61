"""The exact search as a solver."""

from __future__ import annotations

import jax
import jax.numpy as jnp
from jax import Array

from jaxsudoku import exact as exact_search
from jaxsudoku.core.board import Board
from jaxsudoku.engine.solution import Solution
from jaxsudoku.exact.config import ExactConfig


def exact(board: Board, puzzles: Array, key: Array, config: ExactConfig, /) -> Solution:
    """Complete search; as all solvers pure, to be jitted with ``board`` and ``config`` static.

    Args:
      board: the board.
      puzzles: uint8[N, cells], 0 = empty.
      key: a JAX key, for the order "random".
      config: the settings.

    Returns:
      A ``Solution``; ``iterations`` int32[N] are the nodes that were visited.
    """
    found = exact_search.search(puzzles, board, order_seeds(config, puzzles, key), config=config)
    return Solution(found.grids, found.status, found.iterations, {})


def order_seeds(config: ExactConfig, puzzles: Array, key: Array) -> Array | None:
    """The ``seeds`` uint32[N] of a search of puzzles uint8[N, cells] in the order "random"; None for "fixed"."""
    return jax.random.bits(key, puzzles.shape[:1], jnp.uint32) if config.order == "random" else None
