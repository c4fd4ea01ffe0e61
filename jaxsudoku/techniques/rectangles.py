"""Unique rectangles: four cells, none given, that could swap two digits would give the puzzle a second solution.

The cells are the corners of a rectangle in two rows and two columns such that every house has as many corners of one
diagonal as of the other. If they held two digits alone, one on each diagonal, the digits could be swapped. In a puzzle
with one solution they therefore never do, whatever candidates are left, so filled corners count too.

A pair of adjacent corners that have two digits alone is the *floor*, the others are the *roof*.
"""

from __future__ import annotations

import functools
import itertools

import jax.numpy as jnp
import numpy as np
from jax import Array, lax

from jaxsudoku.board import Board
from jaxsudoku.planes import any_of, at_least, fence, ones_and_twos, slices

from .position import Position, in_houses


def unique_rectangles(board: Board, position: Position) -> Array:
    """What unique rectangles of the types 1, 2 and 4 exclude: uint32[side, cells, W], the candidates to remove.

    - Type 1: three corners have two digits alone, so the fourth has neither.
    - Type 2: the roof has one further digit, so one of its cells takes it, and no other cell of their houses does.
    - Type 4: one of the floor's digits has no other place in a house than the roof. One of the roof's cells takes it,
      so neither takes the other digit.
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
    """What rectangles with floor and roof in a row each exclude: uint32[side, side, side, W].

    Args:
      planes: uint32[side, side, side, W], the candidates.
      free: uint32[side, side, W], the cells that are not given.
      of_regions: uint32[side, side, W] by digit and region, where a digit has one place, and where it has two.
      allowed: bool[side, side, side, side], as of ``rectangles``.
      region: int[side, side], the region of each cell.
    """
    side = len(region)
    one, other = (np.array(ends, np.int32) for ends in zip(*itertools.combinations(range(side), 2), strict=True))
    rows = np.array(list(itertools.permutations(range(side), 2)), np.int32)
    may = jnp.asarray(np.where(allowed[rows[:, 0], rows[:, 1]][:, one, other], ~np.uint32(0), np.uint32(0)))
    same = region[:, one] == region[:, other]
    region_of_pair = jnp.asarray(np.where(same, region[:, one], side).astype(np.int32))  # none: a plane of zeros
    beside = [np.flatnonzero((one != column) & (other != column)) for column in range(side)]
    once, twice = (jnp.pad(count, [(0, 0), (0, 1), (0, 0)]) for count in of_regions)
    in_row_once, in_row_twice, thrice = fence(at_least(slices(planes, 2), 3))
    in_row_once, in_row_twice = fence((in_row_once & ~in_row_twice, in_row_twice & ~thrice))

    def row_of(array: Array, index: Array, axis: int = 1) -> Array:
        return lax.dynamic_index_in_dim(array, index, axis, keepdims=False)

    def add(index: Array, state: tuple[Array, Array]) -> tuple[Array, Array]:
        removed, from_regions = state
        floor_row, roof_row = jnp.asarray(rows)[index]
        below, above = row_of(planes, floor_row), row_of(planes, roof_row)  # digit, column
        usable = row_of(free, floor_row, 0) & row_of(free, roof_row, 0)
        floor = below[:, one] | below[:, other]  # digit, pair of columns
        left, right = above[:, one], above[:, other]
        digits = slices(floor, 0)
        good = fence(usable[one] & usable[other] & ~at_least(digits, 3)[2] & may[index][:, None])
        floor = fence(floor & good[None])
        # type 1
        beyond_left, beyond_right = (fence(any_of(slices(cell & ~floor, 0))) for cell in (left, right))
        lost_left, lost_right = floor & ~beyond_right[None], floor & ~beyond_left[None]
        # type 2
        extra = fence((left | right) & ~floor & good[None])
        extra = fence(extra & ~ones_and_twos(slices(extra, 0))[1][None])
        # type 4
        number = row_of(region_of_pair, roof_row, 0)
        two = row_of(in_row_twice, roof_row)[:, None] | twice[:, number]
        single = row_of(in_row_once, roof_row)[:, None] | once[:, number]
        confined = fence(floor & ((left & right & two) | ((left ^ right) & single)))
        other_digit = floor & ~confined & any_of(slices(confined, 0))[None]
        lost_left, lost_right = fence((lost_left | other_digit, lost_right | other_digit))
        columns = [
            any_of(
                [lost_left[:, pair] for pair in np.flatnonzero(one == column)]
                + [lost_right[:, pair] for pair in np.flatnonzero(other == column)]
                + [extra[:, pair] for pair in beside[column]]
            )
            for column in range(side)
        ]
        lost = row_of(removed, roof_row) | jnp.stack(columns, axis=1)
        removed = lax.dynamic_update_index_in_dim(removed, lost, roof_row, 1)
        by_region = [
            any_of(slices(jnp.where((number == house)[None, :, None], extra, jnp.uint32(0)), 1))
            for house in range(side)
        ]
        lost = row_of(from_regions, roof_row, 0) | jnp.stack(by_region, axis=1)
        return removed, lax.dynamic_update_index_in_dim(from_regions, lost, roof_row, 0)

    nothing = jnp.zeros_like(planes)
    removed, from_regions = lax.fori_loop(0, len(rows), add, (nothing, nothing))
    by_row = []  # from_regions: row of the roof, digit, region
    for row in range(side):
        elsewhere = fence(any_of([from_regions[roof] for roof in range(side) if roof != row]))
        by_row.append(elsewhere[:, region[row]])
    return removed | jnp.stack(by_row, axis=1)


@functools.lru_cache(maxsize=32)
def rectangles(board: Board) -> np.ndarray:
    """bool[side, side, side, side]: whether two different rows and two different columns form such a rectangle."""
    side = board.side
    rows, columns = ~np.eye(side, dtype=bool), ~np.eye(side, dtype=bool)
    allowed = rows[:, :, None, None] & columns
    for house in board.houses[2 * side :]:
        inside = np.zeros(board.cells, np.int8)
        inside[list(house)] = 1
        cells = inside.reshape(side, side)
        diagonal = cells[:, None, :, None] + cells[None, :, None, :]
        allowed &= diagonal == cells[:, None, None, :] + cells[None, :, :, None]
    return allowed
