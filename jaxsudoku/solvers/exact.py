"""The exact search as a solver."""

from __future__ import annotations

import jax
import jax.numpy as jnp
from jax import Array

from jaxsudoku import exact as exact_search
from jaxsudoku.core.board import Board
from jaxsudoku.engine.solution import Solution

from .config import ExactConfig


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
    found = search(board, puzzles, key, config)
    return Solution(found.grids, found.status, found.iterations, {})


def search(board: Board, puzzles: Array, key: Array, config: ExactConfig, limit: int = 1) -> exact_search.SearchResult:
    """``jaxsudoku.exact.search`` as an ``ExactConfig`` says; ``puzzles`` uint8[N, cells]."""
    seeds = jax.random.bits(key, puzzles.shape[:1], jnp.uint32) if config.order == "random" else None
    return exact_search.search(
        puzzles,
        board,
        seeds,
        limit=limit,
        budget=config.budget,
        restart=None if config.restart == "never" else config.restart,
        rules=config.rules,
        rounds=config.rounds,
        lanes=config.lanes,
        settle=config.settle,
    )
