"""Elimination of candidates, optionally followed by a search."""

from __future__ import annotations

import jax.numpy as jnp
from jax import Array

from jaxsudoku.core.board import Board
from jaxsudoku.engine.solution import Solution, Status
from jaxsudoku.solvers.roots import make_roots

from .best_first import best_first
from .depth_first import depth_first
from .textbook_config import EliminationConfig


def elimination(board: Board, puzzles: Array, key: Array, config: EliminationConfig, /) -> Solution:
    """Elimination of candidates, then optionally a search that eliminates at every node.

    Arguments and results as in ``depth_first``. Without a search, a puzzle that elimination leaves open is UNSOLVED,
    with 1 iteration.
    """
    if config.then == "depth-first":
        return depth_first(board, puzzles, key, config.depth_first)
    if config.then == "best-first":
        return best_first(board, puzzles, key, config.best_first)
    if not len(puzzles):
        return Solution(puzzles, jnp.zeros(0, jnp.int8), jnp.zeros(0, jnp.int32), {})
    roots = make_roots(board, puzzles, config.rules)
    return Solution(roots.grids, roots.status, (roots.status != Status.INVALID).astype(jnp.int32), {})
