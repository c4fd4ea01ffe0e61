"""Subsets and fish: k rows of a matrix whose candidates lie in k columns.

A *matrix* is [n rows, n columns] of candidates; the solution has one of them in every row and in every column. It is
the cells and digits of a house (naked subsets), its digits and cells (hidden subsets), or the rows and columns of the
board for one digit (fish). If k rows have candidates in k columns only, the other rows lose these columns.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable

import jax.numpy as jnp
import numpy as np
from jax import Array, lax

from jaxsudoku.core.board import Board
from jaxsudoku.core.planes import any_of, at_least, slices
from jaxsudoku.runtime.operations import fence

from .position import Position, in_houses, lanes_with

#: Maximum number of rows of a matrix for updating all rows at once, through a mask. On wider boards the rows do not fit
#: a core's cache, so each is updated in place: five times as fast on 25x25, but slower on 9x9.
_MASKED = 16


def naked_subsets(board: Board, position: Position, size: int) -> Array:
    """Naked subsets: ``size`` cells of a house with ``size`` digits in all.

    Args:
      board: the board.
      position: the positions.
      size: the number of cells.

    Returns:
      uint32[side, cells, W], the candidates to remove.
    """
    members = jnp.stack(in_houses(board, position.candidates))  # member, digit, house
    return position.candidates & _from_houses(board, _excess(members, size).swapaxes(0, 1))


def hidden_subsets(board: Board, position: Position, size: int) -> Array:
    """Hidden subsets: ``size`` digits of a house with places in ``size`` cells; arguments as in ``naked_subsets``."""
    members = jnp.stack(in_houses(board, position.candidates), axis=1)  # digit, member, house
    return position.candidates & _from_houses(board, _excess(members, size))


def fish(board: Board, position: Position, size: int) -> Array:
    """Fish: ``size`` rows whose places for a digit lie in ``size`` columns, or vice versa.

    Arguments and results as in ``naked_subsets``.
    """
    planes = position.candidates.reshape(board.side, board.side, board.side, -1)
    by_row = planes.transpose(1, 2, 0, 3)  # row, column, digit
    by_column = planes.transpose(2, 1, 0, 3)
    removed = fence(_excess(by_row, size)).transpose(2, 0, 1, 3) | fence(_excess(by_column, size)).transpose(2, 1, 0, 3)
    return position.candidates & removed.reshape(position.candidates.shape)


def short_of_digits(board: Board, position: Position, size: int) -> Array:
    """The lanes in which ``size`` cells of a house have fewer than ``size`` digits: uint32[W]."""
    members = jnp.stack(in_houses(board, position.candidates))

    def add(short: Array, _: Array, union: Array) -> Array:
        return short | ~at_least(slices(union, 0), size)[size - 1]

    return lanes_with(_over_rows(members, size, add, jnp.zeros_like(members[0, 0])))


def _excess(matrix: Array, size: int) -> Array:
    """Entries that the other rows lose: uint32[n, n, m, W], including ones that are not set in ``matrix``."""
    numbers = np.arange(matrix.shape[0], dtype=np.int32)

    def add(removed: Array, picked: Array, union: Array) -> Array:
        lost = fence(union & ~at_least(slices(union, 0), size + 1)[size][None])
        others = (numbers[:, None] != picked).all(axis=1)
        if matrix.shape[0] <= _MASKED:
            return removed | jnp.where(others[:, None, None, None], lost[None], jnp.uint32(0))
        rows = jnp.nonzero(others, size=matrix.shape[0] - size)[0]

        def update(place: Array, removed: Array) -> Array:
            new = lax.dynamic_index_in_dim(removed, rows[place], keepdims=False) | lost
            return lax.dynamic_update_index_in_dim(removed, new, rows[place], 0)

        return lax.fori_loop(0, len(rows), update, removed)

    return _over_rows(matrix, size, add, jnp.zeros_like(matrix))


def _over_rows(matrix: Array, size: int, add: Callable[[Array, Array, Array], Array], result: Array) -> Array:
    """Folds over all choices of ``size`` rows: ``add`` takes the result, the rows' numbers and the OR of the rows."""
    chosen = jnp.asarray(list(itertools.combinations(range(matrix.shape[0]), size)), jnp.int32)

    def one(index: Array, result: Array) -> Array:
        picked = chosen[index]
        rows = [lax.dynamic_index_in_dim(matrix, picked[k], keepdims=False) for k in range(size)]
        return add(result, picked, fence(any_of(rows)))

    return lax.fori_loop(0, len(chosen), one, result)


def _from_houses(board: Board, members: Array) -> Array:
    """Planes [digit, member, house, W] to [digit, cell, W], OR over the houses of a cell."""
    table = np.asarray(board.houses)
    places = [np.argwhere(table == cell) for cell in range(board.cells)]
    width = max(map(len, places))
    index = np.full((board.cells, width), table.size, np.int32)
    for cell, found in enumerate(places):
        index[cell, : len(found)] = found[:, 1] * len(table) + found[:, 0]
    flat = members.reshape(members.shape[0], table.size, -1)
    padded = jnp.pad(flat, [(0, 0), (0, 1), (0, 0)])
    return any_of([padded[:, column] for column in index.T])
