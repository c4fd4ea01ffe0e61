"""Random-key encoding: one real number per cell; their order within a box assigns missing digits to open cells.

Any vector decodes to a grid that keeps the givens and holds every digit once in every box (Bean 1994, Genetic
algorithms and random keys for sequencing and optimization). So optimizers of real vectors can search grids, and random
vectors give random grids, uniform over the arrangements of each box.
"""

from __future__ import annotations

import jax.numpy as jnp
import numpy as np
from jax import Array

from jaxsudoku.core.board import Board
from jaxsudoku.runtime.operations import fence
from jaxsudoku.runtime.random import APART, mix

from .boxes import boxes


def random_grids(board: Board, givens: Array, seeds: Array) -> Array:
    """Random grids uint8[cells, K] that keep givens of the same shape, from seeds uint32[K]."""
    return decoded(board, givens, mix(seeds + np.arange(board.cells, dtype=np.uint32)[:, None] * APART))


def decoded(board: Board, givens: Array, keys: Array) -> Array:
    """Decodes keys to grids: in each box the lowest missing digit goes to the open cell with the lowest key, and so on.

    Args:
      board: the board.
      givens: uint8[cells, K], 0 = open, no digit twice in a box.
      keys: real or integer [cells, K]; keys of given cells are ignored, and equal keys are in the order of cells.

    Returns:
      uint8[cells, K].
    """
    table = boxes(board)
    cells, order = fence((givens[table], keys[table]))  # [box, place, K]
    free = cells == 0
    turn_of_cell = jnp.zeros(cells.shape, jnp.int8)
    place = np.arange(board.side)[:, None]
    for other in range(board.side):
        earlier = (order[:, other, None] < order) | ((order[:, other, None] == order) & (other < place))
        turn_of_cell += (free[:, other, None] & earlier).astype(jnp.int8)
    turn = jnp.zeros_like(free[:, 0], jnp.int8)
    full = cells
    for digit in range(1, board.side + 1):
        missing = fence(~(cells == digit).any(axis=1))
        taken = free & missing[:, None] & (turn_of_cell == turn[:, None])
        full = jnp.where(taken, jnp.uint8(digit), full)
        turn += missing.astype(jnp.int8)
    return full.reshape(givens.shape)[np.argsort(table.reshape(-1))]
