"""Textbook solvers, batched: depth-first and best-first search over partly filled grids, and candidate elimination.

``nodes`` is what a search sees of a partly filled grid, ``path`` is depth-first search, ``queue`` best-first search;
``jaxsudoku.queue`` is the loop around them. The functions here are the solvers.
"""

from __future__ import annotations

import jax.numpy as jnp
from jax import Array

from jaxsudoku.board import Board
from jaxsudoku.queue import run
from jaxsudoku.roots import make_roots
from jaxsudoku.solution import Solution, Status

from . import path
from . import queue as best_first_queue
from .config import BestFirstConfig, DepthFirstConfig, EliminationConfig

__all__ = [
    "BestFirstConfig",
    "DepthFirstConfig",
    "EliminationConfig",
    "best_first",
    "depth_first",
    "elimination",
]


def depth_first(board: Board, puzzles: Array, key: Array, config: DepthFirstConfig, /) -> Solution:
    """Depth-first graph search over partly filled grids (Russell and Norvig, Artificial Intelligence, section 3.4).

    Pure; to be jitted with ``board`` and ``config`` static.

    Args:
      board: the board.
      puzzles: uint8[N, cells], 0 = empty.
      key: a JAX key; each puzzle's randomness comes from it and from the puzzle's index.
      config: the settings.

    Returns:
      A ``Solution``. UNSATISFIABLE is said where all nodes were explored. ``iterations`` int32[N] are the nodes that
      were explored, which means taken from the frontier and tested for being solved, dead or to be expanded, the root
      among them; 0 of an INVALID puzzle.
    """
    lanes = config.resolve(board, "cpu").lanes
    return run(path.method(board, config), board, puzzles, key, rules=config.rules, lanes=lanes)


def best_first(board: Board, puzzles: Array, key: Array, config: BestFirstConfig, /) -> Solution:
    """Greedy best-first search over partly filled grids (Russell and Norvig, section 3.5).

    Arguments and results as of ``depth_first``; ``key`` decides nothing. A puzzle whose queue is full is UNSOLVED.
    """
    lanes = config.resolve(board, "cpu").lanes
    return run(best_first_queue.method(board, config), board, puzzles, key, rules=config.rules, lanes=lanes)


def elimination(board: Board, puzzles: Array, key: Array, config: EliminationConfig, /) -> Solution:
    """Elimination of candidates, then a search that eliminates at every node; arguments and results as of the others.

    What elimination alone leaves open is UNSOLVED; its ``iterations`` are 1.
    """
    if config.then == "depth-first":
        return depth_first(board, puzzles, key, config.depth_first)
    if config.then == "best-first":
        return best_first(board, puzzles, key, config.best_first)
    if not len(puzzles):
        return Solution(puzzles, jnp.zeros(0, jnp.int8), jnp.zeros(0, jnp.int32), {})
    roots = make_roots(board, puzzles, config.rules)
    return Solution(roots.grids, roots.status, (roots.status != Status.INVALID).astype(jnp.int32), {})
