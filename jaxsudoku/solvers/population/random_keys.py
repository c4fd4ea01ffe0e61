"""Random keys: a real number a cell says in which order a box's missing digits go to its open cells.

Whatever the numbers are, the grid that they stand for keeps the givens and holds every digit once in every box (Bean
1994, Genetic algorithms and random keys for sequencing and optimization). So methods that move through real vectors
search grids, and random numbers make random grids, every arrangement of a box as likely as any other.
"""

from __future__ import annotations

import jax.numpy as jnp
import numpy as np
from jax import Array

from jaxsudoku.board import Board
from jaxsudoku.planes import fence

from .boxes import boxes


def decoded(board: Board, givens: Array, keys: Array) -> Array:
    """The grids that keys stand for: in each box the least missing digit goes to the open cell of the least key.

    Grids lie along the last axis, so that all is done to whole vectors of them.

    Args:
      board: the board.
      givens: uint8[cells, K], 0 = open, no digit twice in a box.
      keys: real or integer [cells, K]; those of given cells say nothing. Of equal ones the first cell's is the less.

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
