"""Grids of digits: are they valid, are they solved. The last judge of every solver.

Grids are uint8[*b, cells], row by row, 0 = empty. These checks share no code with the planes and rules that solvers
use, so that they can judge them: a house is the set of its digits, a bit each in one 32-bit word.
"""

from __future__ import annotations

import jax.numpy as jnp
import numpy as np
from jax import Array, lax

from jaxsudoku.board import Board


def is_valid(board: Board, grids: Array) -> Array:
    """Whether no house holds a digit twice and every value lies in 0..side; empty cells are fine.

    Args:
      board: the board.
      grids: uint8[*b, cells].

    Returns:
      bool[*b].
    """
    return (conflicts(board, grids) == 0) & (grids <= board.side).all(axis=-1)


def is_solved(board: Board, grids: Array, givens: Array | None = None) -> Array:
    """Whether every house holds every digit and, where givens are named, the grid keeps them.

    Args:
      board: the board.
      grids: uint8[*b, cells].
      givens: uint8[*b, cells], 0 = free, or None.

    Returns:
      bool[*b].
    """
    full = np.uint32((1 << board.side) - 1)
    # a value above the side is no digit, so its houses lack one
    whole = (lax.optimization_barrier(_house_digits(board, grids)) == full).all(axis=0)
    if givens is not None:
        whole &= ((givens == 0) | (givens == grids)).all(axis=-1)
    return whole


def conflicts(board: Board, grids: Array) -> Array:
    """How many cells repeat a digit of their house, summed over all houses: 0 where no rule is broken.

    Args:
      board: the board.
      grids: uint8[*b, cells].

    Returns:
      int32[*b]; a digit that stands k times in a house counts k - 1.
    """
    bits = _digit_bits(board, grids)
    filled = bits != 0
    total = sum(filled[member].astype(jnp.int32) for member in np.asarray(board.houses).T)
    distinct = lax.population_count(_house_digits(board, grids)).astype(jnp.int32)
    return (total - distinct).sum(axis=0, dtype=jnp.int32)


def _house_digits(board: Board, grids: Array) -> Array:
    """The set of digits in each house, uint32[houses, *b], digit d being bit d - 1."""
    bits = _digit_bits(board, grids)
    digits = jnp.zeros((len(board.houses), *grids.shape[:-1]), jnp.uint32)
    for member in np.asarray(board.houses).T:
        digits = digits | bits[member]
    return digits


def _digit_bits(board: Board, grids: Array) -> Array:
    """Each cell's digit as a bit, uint32[cells, *b]; 0 for an empty cell and for a value above the side."""
    if not grids.ndim or grids.shape[-1] != board.cells:
        raise ValueError(f"grids of shape {tuple(grids.shape)}; a board of {board} takes [..., {board.cells}]")
    cells = lax.optimization_barrier(jnp.moveaxis(grids, -1, 0)).astype(jnp.uint32)
    known = (cells > 0) & (cells <= board.side)
    return lax.optimization_barrier(jnp.where(known, jnp.uint32(1) << ((cells - 1) & 31), jnp.uint32(0)))
