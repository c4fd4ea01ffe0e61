"""Masks: the digits of a cell in one word, the layout of candidates for wide boards and few lanes.

A batch of B puzzles is an array of unsigned integers [limbs, side, side, B]: limb x row x column x lane. Bit d of limb
l belongs to digit 32 l + d, so boards up to a side of 32 have one limb. Words are as narrow as the digits allow: 8 bits
up to a side of 8, 16 bits up to 16, else 32 bits.

With masks a few lanes fill a vector register; ``jaxsudoku.planes`` needs 32 lanes for each word of a register. So masks
suit searches of large boards, where few lanes run at a time. The rules of ``jaxsudoku.core.propagation`` work on both.

The lane axis is last. Truth values of lanes are bool[B].
"""

from __future__ import annotations

from typing import Any

import jax.numpy as jnp
import numpy as np
from jax import Array, lax

from jaxsudoku.core.board import Board, board_of_cubes, board_of_grids
from jaxsudoku.core.planes import ones_and_twos, slices
from jaxsudoku.runtime.arrays import AnyArray
from jaxsudoku.runtime.operations import fence

#: Digits per limb.
LIMB = 32


def limbs(side: int) -> int:
    """Number of limbs per cell."""
    return -(-side // LIMB)


def mask_dtype(side: int) -> Any:
    """The dtype of masks: uint8, uint16 or uint32."""
    return np.uint8 if side <= 8 else np.uint16 if side <= 16 else np.uint32


def all_digits(side: int) -> np.ndarray:
    """The mask with all digits, unsigned[limbs]."""
    digits = np.arange(side)
    words = [np.bitwise_or.reduce(1 << (digits[digits // LIMB == limb] % LIMB)) for limb in range(limbs(side))]
    return np.array(words).astype(mask_dtype(side))


def digit_masks(digits: Array, side: int) -> Array:
    """Digits 1..side of integers[...] as masks with one bit, unsigned[limbs, ...]; other values give empty masks."""
    words = []
    for first in range(0, side, LIMB):
        bit = digits.astype(jnp.uint32) - (first + 1)  # lower digits wrap around and are too large
        words.append(jnp.where(bit < min(side - first, LIMB), jnp.uint32(1) << bit, 0))
    return jnp.stack(words).astype(mask_dtype(side))


def grids_to_masks(grids: AnyArray, board: Board | None = None) -> Array:
    """The digits of grids uint8[B, cells], 0 = empty, as masks; empty cells and values above the side are empty."""
    board, _ = board_of_grids(np.shape(grids), board)
    by_cell = fence(jnp.asarray(grids).T)
    return digit_masks(by_cell, board.side).reshape(-1, board.side, board.side, by_cell.shape[-1])


def cubes_to_masks(cubes: AnyArray, board: Board | None = None) -> Array:
    """Candidates bool[B, side, cells] as masks."""
    board = board_of_cubes(np.shape(cubes), board)
    by_cell = fence(jnp.moveaxis(jnp.asarray(cubes), 0, -1))
    digits = jnp.arange(1, board.side + 1)[:, None, None]
    bits = jnp.where(by_cell, digit_masks(digits, board.side), 0)
    masks = jnp.bitwise_or.reduce(bits, axis=1)
    return masks.reshape(-1, board.side, board.side, masks.shape[-1])


def masks_to_grids(masks: Array) -> Array:
    """Grids uint8[B, cells]: the digit of a cell with one candidate, else 0."""
    side, lanes = masks.shape[1], masks.shape[-1]
    ones, twos = cell_ones_and_twos(masks)
    bits = 8 * masks.dtype.itemsize
    digit = jnp.zeros(masks.shape[1:], jnp.int32)
    for limb, word in enumerate(slices(masks, 0)):
        place = LIMB * limb + bits - lax.clz(word).astype(jnp.int32)
        digit = jnp.where(word != 0, place, digit)
    return fence(jnp.where(ones & ~twos, digit, 0).astype(jnp.uint8).reshape(side * side, lanes)).T


def cell_ones_and_twos(masks: Array) -> tuple[Array, Array]:
    """Where a cell has at least one, and at least two, candidates: bool, shaped like ``masks`` without the limbs."""
    words = slices(masks, 0)
    ones, twos = ones_and_twos([word != 0 for word in words])
    for word in words:
        twos = twos | (word & (word - np.ones((), masks.dtype)) != 0)
    return ones, twos


def count_digits(masks: Array) -> Array:
    """The number of candidates of each cell, int32[side, side, B]."""
    return lax.population_count(masks).astype(jnp.int32).sum(axis=0)
