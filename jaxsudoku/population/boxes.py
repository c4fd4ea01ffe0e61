"""Grids whose boxes are permutations: what populations are made of.

Every organism, or chain, is a full grid that keeps the givens and holds every digit once in every box; its error counts
what its other houses miss. A neighbour is the grid with two free cells of a box swapped. On a board with irregular
regions these are the boxes.
"""

from __future__ import annotations

import functools
import itertools
from typing import NamedTuple

import jax.numpy as jnp
import numpy as np
from jax import Array

from jaxsudoku.board import Board


@functools.lru_cache(maxsize=32)
def boxes(board: Board) -> np.ndarray:
    """The cells of each box or region, int32[side, side]."""
    return np.array(board.region_houses, np.int32)


@functools.lru_cache(maxsize=32)
def lines(board: Board) -> np.ndarray:
    """The cells of each house that is no box: rows, columns, extra houses; int32[lines, side]."""
    regions = set(board.region_houses)
    return np.array([house for house in board.houses if house not in regions], np.int32)


class Pairs(NamedTuple):
    """Every pair of cells of a box, and what their digits meet in the lines.

    Attributes:
      cells: int32[pairs, 2], in a mixed order.
      others: int32[pairs, slots, side - 1], the other cells of the lines that hold the first cell and not the second,
        in the first half of the slots; of those that hold the second alone in the other half. The board's number of
        cells stands for none.
      used: bool[pairs, slots], whether a slot holds a line.
    """

    cells: np.ndarray
    others: np.ndarray
    used: np.ndarray


@functools.lru_cache(maxsize=32)
def pairs(board: Board) -> Pairs:
    """The pairs of a board."""
    cells = np.array([pair for box in boxes(board) for pair in itertools.combinations(box, 2)], np.int32)
    cells = np.random.default_rng(0).permutation(cells)
    through = [[line for line in lines(board).tolist() if cell in line] for cell in range(board.cells)]
    half = max(map(len, through))
    others = np.full((len(cells), 2 * half, board.side - 1), board.cells, np.int32)
    used = np.zeros((len(cells), 2 * half), bool)
    for number, pair in enumerate(cells.tolist()):
        for first, (mine, theirs) in zip((0, half), (pair, pair[::-1]), strict=True):
            alone = [line for line in through[mine] if theirs not in line]
            for slot, line in enumerate(alone, first):
                others[number, slot] = [cell for cell in line if cell != mine]
                used[number, slot] = True
    return Pairs(cells, others, used)


def filled(board: Board, grids: Array) -> Array:
    """Grids with each box's missing digits in its open cells, both in their order.

    Args:
      board: the board.
      grids: uint8[*b, cells], 0 = open, no digit twice in a box.

    Returns:
      uint8[*b, cells].
    """
    table = boxes(board)
    cells = grids[..., table]  # [*b, box, place]
    digits = jnp.arange(1, board.side + 1, dtype=grids.dtype)
    free = cells == 0
    missing = ~(cells[..., None] == digits).any(axis=-2)
    turn_of_cell = jnp.where(free, jnp.cumsum(free, axis=-1), 0)
    turn_of_digit = jnp.where(missing, jnp.cumsum(missing, axis=-1), -1)
    taken = turn_of_cell[..., None] == turn_of_digit[..., None, :]
    full = jnp.where(free, jnp.where(taken, digits, 0).sum(axis=-1, dtype=grids.dtype), cells)
    return jnp.zeros_like(grids).at[..., table.reshape(-1)].set(full.reshape(*grids.shape[:-1], -1))


def errors(board: Board, grids: Array) -> Array:
    """How many digits the lines miss, summed over all of them: 0 where a grid whose boxes are right is solved.

    Args:
      board: the board.
      grids: uint8[*b, cells].

    Returns:
      int32[*b].
    """
    digits = jnp.arange(1, board.side + 1, dtype=grids.dtype)
    held = (grids[..., lines(board), None] == digits).any(axis=-2)
    return (~held).sum(axis=(-2, -1), dtype=jnp.int32)
