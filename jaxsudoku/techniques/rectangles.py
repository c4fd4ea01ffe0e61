"""Unique rectangles: four cells without givens can't hold two digits that could be swapped, if the solution is unique.

The cells are the corners of a rectangle in two rows and two columns such that every house has equally many corners of
both diagonals, and a swap breaks no constraint of the board (``swappable``). If they held only two digits, one on each
diagonal, swapping the digits would give a second solution. So this is impossible in a puzzle with one solution,
whatever candidates are left; filled corners count too.

Two adjacent corners with only two digits are the *floor*, the others are the *roof*.
"""

from __future__ import annotations

from typing import NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jax import Array, lax

from jaxsudoku.core.board import Board
from jaxsudoku.core.planes import any_of, at_least, at_least_two, ones_and_twos, slices
from jaxsudoku.runtime.operations import fence

from .position import Position, in_houses
from .swappable import rectangles


def unique_rectangles(board: Board, position: Position) -> Array:
    """Unique rectangles of the types 1, 2 and 4: uint32[side, cells, W], the candidates to remove.

    - Type 1: three corners have only two digits, so the fourth has neither.
    - Type 2: the roof has one further digit, so one of its cells takes it, and no other cell of their houses does.
    - Type 4: the only places in a house for one of the floor's digits are in the roof. One of the roof's cells takes
      it, so neither takes the other digit.
    """
    side = board.side
    allowed = rectangles(board)
    if not allowed.any():
        return jnp.zeros_like(position.candidates)
    planes = position.candidates.reshape(side, side, side, -1)
    free = ~position.given.reshape(side, side, -1)
    region = np.reshape(board.region_labels, (side, side))
    of_regions = in_houses(board, position.candidates, tuple(range(2 * side, 3 * side)))
    once, twice, thrice = fence(at_least(of_regions, 3))
    counts = (once & ~twice, twice & ~thrice)
    in_rows = _by_rows(planes, free, counts, allowed, region)
    turned = _by_rows(planes.swapaxes(1, 2), free.swapaxes(0, 1), counts, allowed.transpose(2, 3, 0, 1), region.T)
    removed = fence(in_rows) | fence(turned).swapaxes(1, 2)
    return position.candidates & removed.reshape(position.candidates.shape)


def _by_rows(
    planes: Array, free: Array, of_regions: tuple[Array, Array], allowed: np.ndarray, region: np.ndarray
) -> Array:
    """Rectangles with the floor in one row and the roof in another: candidates to remove, uint32[side, side, side, W].

    Args:
      planes: uint32[side, side, side, W], the candidates.
      free: uint32[side, side, W], the cells that are not given.
      of_regions: uint32[side, side, W] by digit and region, where a digit has one place, and where it has two.
      allowed: bool[side, side, side, side], see ``rectangles``.
      region: int[side, side], the region of each cell.
    """
    side = len(region)
    left, right = _pairs(side)
    may = jnp.asarray(allowed[:, :, left, right])  # roof, floor, pair of columns
    same = region[:, left] == region[:, right]
    region_of_pair = jnp.asarray(np.where(same, region[:, left], side).astype(np.int32))  # none: a plane of zeros
    once, twice = (jnp.pad(count, [(0, 0), (0, 1), (0, 0)]) for count in of_regions)
    in_row_once, in_row_twice, thrice = fence(at_least(slices(planes, 2), 3))
    in_row_once, in_row_twice = fence((in_row_once & ~in_row_twice, in_row_twice & ~thrice))

    def of_roof(roof: Array, state: tuple[Array, Array]) -> tuple[Array, Array]:
        row, number = _row_of(planes, roof, 1), _row_of(region_of_pair, roof, 0)
        ends = row[:, left], row[:, right]  # digit, pair of columns
        single = _row_of(in_row_once, roof, 1)[:, None] | once[:, number]
        two = _row_of(in_row_twice, roof, 1)[:, None] | twice[:, number]
        confinable = fence((ends[0] & ends[1] & two) | ((ends[0] ^ ends[1]) & single))

        def of_floor(floor: Array, lost: _Lost) -> _Lost:
            usable = _row_of(free, floor, 0) & _row_of(free, roof, 0)
            good = jnp.where(may[roof, floor][:, None], usable[left] & usable[right], jnp.uint32(0))
            below = _row_of(planes, floor, 1)
            new = _of_floor(below[:, left] | below[:, right], good, ends, confinable)
            return jax.tree.map(jnp.bitwise_or, lost, new)

        nothing = jnp.zeros_like(confinable)
        lost = lax.fori_loop(0, side, of_floor, _Lost(nothing, nothing, nothing))
        of_columns, in_regions = _spread(lost, number, side)
        return (
            lax.dynamic_update_index_in_dim(state[0], of_columns, roof, 0),
            lax.dynamic_update_index_in_dim(state[1], in_regions, roof, 0),
        )

    nothing = jnp.zeros_like(planes)
    from_rows, from_regions = lax.fori_loop(
        0, side, of_roof, (nothing, nothing)
    )  # row of the roof, digit, column or region
    one, two = fence(ones_and_twos(slices(from_regions, 0)))
    elsewhere = fence(two[None] | (one[None] & ~from_regions))  # in a region, by another row
    by_row = elsewhere[np.arange(side)[:, None], :, region]  # row, column, digit
    return from_rows.swapaxes(0, 1) | by_row.transpose(2, 0, 1, 3)


class _Lost(NamedTuple):
    """Deductions from rectangles whose roofs are in one row, uint32[side, pairs, W] by digit and pair of columns.

    Attributes:
      left, right: digits removed from the roof's left and right cells.
      extra: the digit that one of the roof's cells takes, so that no other cell of their houses does.
    """

    left: Array
    right: Array
    extra: Array


def _of_floor(floor: Array, good: Array, roof: tuple[Array, Array], confinable: Array) -> _Lost:
    """Deductions from the rectangles of two rows.

    Args:
      floor: uint32[side, pairs, W], the digits of the floor's cells.
      good: uint32[pairs, W], where there is a rectangle without a given.
      roof: uint32[side, pairs, W] each, the digits of the roof's left and right cells.
      confinable: uint32[side, pairs, W], digits whose only places in a house are in the roof.
    """
    left, right = roof
    good = fence(good & ~at_least(slices(floor, 0), 3)[2])
    floor = fence(floor & good[None])
    # type 1
    beyond_left, beyond_right = (fence(any_of(slices(cell & ~floor, 0))) for cell in roof)
    # type 2
    extra = fence((left | right) & ~floor & good[None])
    extra = extra & ~at_least_two(slices(extra, 0))[None]
    # type 4
    confined = fence(floor & confinable)
    other_digit = floor & ~confined & any_of(slices(confined, 0))[None]
    return fence(_Lost(floor & ~beyond_right[None] | other_digit, floor & ~beyond_left[None] | other_digit, extra))


def _spread(lost: _Lost, number: Array, side: int) -> tuple[Array, Array]:
    """The digits removed from cells of the roofs' row, and from the roofs' regions in other rows.

    Args:
      lost: by pair of columns.
      number: int32[pairs], the region of both cells, ``side`` if they are in two regions.
      side: the board's side.

    Returns:
      uint32[side, side, W] by digit and column, and by digit and region.
    """
    ends = np.eye(side, dtype=bool)[np.stack(_pairs(side))]  # left or right, pair, column
    in_left, in_right, beside = (jnp.asarray(_masks(mask)) for mask in (*ends, ~ends.any(axis=0)))
    regions = jnp.arange(side, dtype=jnp.int32)

    def add(pair: Array, found: tuple[Array, Array]) -> tuple[Array, Array]:
        columns, in_regions = found
        left, right, extra = (_row_of(one, pair, 1)[:, None] for one in lost)
        masks = (_row_of(mask, pair, 0)[:, None] for mask in (in_left, in_right, beside))
        own = jnp.where(regions == number[pair], ~jnp.uint32(0), jnp.uint32(0))[:, None]
        of_columns = [one & mask for one, mask in zip((left, right, extra), masks, strict=True)]
        return columns | any_of(of_columns), in_regions | (extra & own)

    nothing = jnp.zeros_like(lost.extra[:, :side])
    return lax.fori_loop(0, len(in_left), add, (nothing, nothing))


def _pairs(side: int) -> tuple[np.ndarray, np.ndarray]:
    """The left and the right columns of all pairs: int32[pairs] each."""
    left, right = np.triu_indices(side, 1)
    return left.astype(np.int32), right.astype(np.int32)


def _masks(truth: np.ndarray) -> np.ndarray:
    """Truth values as words: all bits set for True, none for False."""
    return np.where(truth, ~np.uint32(0), np.uint32(0))


def _row_of(array: Array, index: Array, axis: int) -> Array:
    """The slice of an array at an index of an axis."""
    return lax.dynamic_index_in_dim(array, index, axis, keepdims=False)
