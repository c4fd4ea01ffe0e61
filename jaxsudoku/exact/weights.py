"""Branching by conflict weights: the cell with the smallest ratio of candidates to weight, and its rarest digit.

A cell's weight grows with each contradiction at this cell, so the search soon branches where a puzzle is hard
("dom/wdeg": Boussemart, Hemery, Lecoutre and Sais, Boosting systematic search by weighting constraints, 2004).

All functions work on masks [limbs, side, side, B], see ``jaxsudoku.core.masks``; lanes are independent.
"""

from __future__ import annotations

import functools

import jax.numpy as jnp
import numpy as np
from jax import Array, lax

from jaxsudoku.core.board import Board
from jaxsudoku.core.masks import LIMB, count_digits, digit_masks
from jaxsudoku.core.planes import count_planes, slices
from jaxsudoku.runtime.operations import fence
from jaxsudoku.runtime.random import APART, mix

#: The share of the gained weight that is kept at a restart.
_DECAY = 0.8
#: Random part of a cell's weight, drawn at each restart, which breaks ties.
_SPREAD = 0.02
#: Random part of a digit's score, which is between 0 and the number of houses of a cell.
_JITTER = 0.01
#: Scores and digits are compared as one integer, whose low bits are the digit.
_DIGIT_BITS = 6


def first_weights(board: Board, seeds: Array) -> Array:
    """Initial weights float32[side, side, B] from seeds uint32[B]: 1 and a random part."""
    cells = (jnp.arange(1, board.cells + 1, dtype=jnp.uint32) * APART).reshape(board.side, board.side, 1)
    return 1 + _fraction(mix(cells ^ seeds)) * np.float32(_SPREAD)


def raised(weights: Array, masks: Array, dead: Array) -> Array:
    """Adds 1 to the weights of cells without candidates in the lanes ``dead`` bool[B]."""
    empty = (masks == 0).all(axis=0)
    return jnp.where(empty & dead, weights + 1, weights)


def renewed(board: Board, weights: Array, seeds: Array) -> Array:
    """The weights after a restart: a share of the gained weight, and a new random part."""
    return first_weights(board, seeds) + (weights - 1) * np.float32(_DECAY)


def weighted_cell(masks: Array, weights: Array) -> Array:
    """The open cell with fewest candidates divided by its weight, int32[B]; some cell in lanes without an open one."""
    side = masks.shape[1]
    bits = (side * side - 1).bit_length()
    count = count_digits(masks)
    score = jnp.where(count > 1, count.astype(jnp.float32) / weights, np.finfo(np.float32).max)
    # positive floats are ordered like their bits; the low bits make room for the cell
    cells = np.arange(side * side, dtype=np.int32).reshape(side, side, 1)
    keys = (lax.bitcast_convert_type(score, jnp.int32) & ~np.int32((1 << bits) - 1)) | cells
    best = functools.reduce(jnp.minimum, slices(keys, 0))  # a chain of slices: XLA does not vectorize its own reduction
    return fence(functools.reduce(jnp.minimum, slices(fence(best), 0)) & np.int32((1 << bits) - 1))


def rarest_digit(board: Board, masks: Array, cell: Array, seeds: Array, shuffled: Array) -> tuple[Array, Array]:
    """The digit to try in a cell: the one with fewest places in the cell's houses.

    Args:
      board: the board.
      masks: the candidates.
      cell: int32[B], a cell of each lane.
      seeds: uint32[B], which decide between equal digits.
      shuffled: bool[B], lanes that draw a random digit instead.

    Returns:
      the cell's candidates, and the digit as a mask with one bit, both [limbs, B].
    """
    limbs, side, lanes = masks.shape[0], board.side, masks.shape[-1]
    table = _houses_around(board)
    members = fence(jnp.asarray(table)[:, :, cell])
    lane = np.arange(lanes, dtype=np.int32)
    flat = masks.reshape(limbs, -1)
    padded = bool((table == board.cells).any())  # past the last cell
    around = flat.at[:, members * lanes + lane].get(mode="fill" if padded else "promise_in_bounds", fill_value=0)
    places = fence(count_planes(slices(fence(around), 2)))
    score = jnp.zeros((side, lanes), jnp.float32)
    for house in range(table.shape[0]):  # in a padded house every digit has as many places, 0
        count = sum(_by_digit(bits[:, house], side) << place for place, bits in enumerate(places))
        score = score + 1 / jnp.maximum(count, 1).astype(jnp.float32)
    digits = np.arange(side, dtype=np.int32)[:, None]
    drawn = _fraction(mix(seeds ^ (digits + 1).astype(np.uint32) * APART))
    score = jnp.where(shuffled, drawn, score + drawn * np.float32(_JITTER))
    here = fence(flat.at[:, cell * lanes + lane].get(mode="promise_in_bounds"))
    low = np.int32((1 << _DIGIT_BITS) - 1)
    keys = jnp.where(_by_digit(here, side) > 0, (lax.bitcast_convert_type(score, jnp.int32) & ~low) | digits, -1)
    digit = functools.reduce(jnp.maximum, slices(fence(keys), 0)) & low
    return here, fence(digit_masks(digit + 1, side))


def _by_digit(masks: Array, side: int) -> Array:
    """Masks [limbs, B] as int32[side, B], 1 for each digit that they hold."""
    parts = []
    for limb, word in enumerate(slices(masks, 0)):
        digits = np.arange(min(side - LIMB * limb, LIMB), dtype=np.uint32)[:, None]
        parts.append((word.astype(jnp.uint32)[None] >> digits) & 1)
    return jnp.concatenate(parts).astype(jnp.int32)


def _fraction(bits: Array) -> Array:
    """Random bits uint32 as float32 in [0, 1)."""
    return (bits >> 8).astype(jnp.float32) * np.float32(1 / (1 << 24))


@functools.lru_cache(maxsize=8)
def _houses_around(board: Board) -> np.ndarray:
    """int32[m, side, cells]: the cells of each cell's houses; m is the maximum of houses; padded with ``cells``."""
    around: list[list[tuple[int, ...]]] = [[] for _ in range(board.cells)]
    for house in board.houses:
        for cell in house:
            around[cell].append(house)
    most = max(map(len, around))
    padding = (board.cells,) * board.side
    return np.array([[*houses, *[padding] * (most - len(houses))] for houses in around], dtype=np.int32).transpose(
        1, 2, 0
    )
