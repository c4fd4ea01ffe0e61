"""Self-generated puzzles: the network makes solved grids on empty boards, from which clues are removed.

A game on an empty board, with noise, ends in a solved grid. Clues are removed in random order as far as the solution
stays unique, and a random number of them is restored, so puzzles of all difficulties between the minimal one and the
full grid are offered to the ``curriculum``.
"""

from __future__ import annotations

import jax
import jax.numpy as jnp
from jax import Array

from jaxsudoku.core.board import Board
from jaxsudoku.core.tuning import exact_lanes
from jaxsudoku.engine.solution import Status
from jaxsudoku.generation.reduction import reduce_clues
from jaxsudoku.networks import Forward, Params
from jaxsudoku.solvers.tree.tree_config import GumbelConfig, McgsConfig

from .games import Games, play


def invent(
    board: Board, config: GumbelConfig | McgsConfig, forward: Forward, params: Params, grids: int, key: Array
) -> Games:
    """Plays games on empty boards, each of which ends in a solved grid unless it fails. Pure.

    Args:
      board: the board.
      config: the resolved settings of the search.
      forward: the network.
      params: its parameters.
      grids: number of games.
      key: a JAX key.
    """
    return play(config, forward, params, jnp.zeros((grids, board.cells), jnp.uint8), key, 1)


def remove_clues(board: Board, games: Games, each: int, key: Array, platform: str) -> Array:
    """Puzzles with one solution, made by removing clues from grids of solved games, uint8[N * each, cells].

    Args:
      board: the board.
      games: N games; instead of failed ones, other grids are used more than once. If all failed, the givens of puzzles
        clash, so that nothing is learned from them.
      each: number of puzzles per grid.
      key: a JAX key.
      platform: "cpu", "gpu" or "tpu".
    """
    order_key, number_key, back_key = jax.random.split(key, 3)
    solved = games.status == Status.SOLVED
    (found,) = jnp.nonzero(solved, size=len(solved), fill_value=0)
    row = found[jnp.arange(len(solved)) % jnp.maximum(solved.sum(), 1)]
    grids = jnp.repeat(jnp.where(solved[row, None], games.solutions[row], 0), each, axis=0)
    ranks = jax.random.bits(order_key, grids.shape, jnp.uint32)
    none = jnp.zeros(len(grids), jnp.int32)
    minimal = reduce_clues(board, grids, grids, ranks, none, lanes=exact_lanes(board, platform))
    open_cells = (minimal == 0) & (grids > 0)
    share = jax.random.uniform(number_key, (len(grids), 1))
    back = jax.random.uniform(back_key, grids.shape) < share
    puzzles = jnp.where(open_cells & ~back, 0, grids).astype(jnp.uint8)
    return jnp.where(solved.any(), puzzles, jnp.uint8(1))
