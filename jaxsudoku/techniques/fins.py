"""Finned fish: a fish with additional places, the fins; the removed candidate sees all fins."""

from __future__ import annotations

import itertools

import jax.numpy as jnp
from jax import Array, lax

from jaxsudoku.core.board import Board
from jaxsudoku.core.planes import any_of, at_least, at_least_two, slices
from jaxsudoku.runtime.operations import fence

from .position import places_of_digit, seen


def finned_fish(board: Board, candidates: Array, assumed: Array, size: int) -> Array:
    """Refutes assumptions that leave ``size`` rows too few columns for the digit, or vice versa: uint32[W], lanes.

    Args:
      board: the board.
      candidates: uint32[side, cells, W].
      assumed: uint32[side, cells, W], one candidate of each lane.
      size: the number of rows.
    """
    places, cell = places_of_digit(candidates, assumed)
    left = fence(places & ~seen(board, cell[None])[0])
    shape = (board.side, board.side, -1)
    matrix, original, own = (plane.reshape(shape) for plane in (left, places, cell))
    in_rows = _too_few(matrix, original, own, size)
    return in_rows | _too_few(matrix.swapaxes(0, 1), original.swapaxes(0, 1), own.swapaxes(0, 1), size)


def _too_few(matrix: Array, places: Array, own: Array, size: int) -> Array:
    """The lanes in which ``size`` rows of uint32[n, n, W] have places left in fewer columns only.

    The row of the assumption and rows where the digit is filled do not count. At least one of the places that the
    assumption removes is a fin, outside these columns and the column of the assumption; without fins it is a fish.
    """
    chosen = jnp.asarray(list(itertools.combinations(range(matrix.shape[0]), size)), jnp.int32)
    column = fence(any_of(slices(own, 0)))
    other = fence(at_least_two(slices(places, 1)) & ~any_of(slices(own, 1)))

    def add(index: Array, refuted: Array) -> Array:
        rows = [chosen[index][place] for place in range(size)]
        union, before = (
            any_of([lax.dynamic_index_in_dim(planes, row, keepdims=False) for row in rows])
            for planes in (matrix, places)
        )
        fins = any_of(slices(before & ~union & ~column, 0))
        others = [lax.dynamic_index_in_dim(other, row, keepdims=False) for row in rows]
        fewer = fins & ~at_least(slices(union, 0), size)[size - 1]
        for row in others:
            fewer = fewer & row
        return refuted | fewer

    return lax.fori_loop(0, len(chosen), add, jnp.zeros_like(other[0]))
