"""Checks of grids of digits: valid, solved, number of conflicts. They verify the results of every solver.

Grids are integers[*b, cells], row by row, 0 = empty. The checks share no code with the planes and rules of the solvers:
the digits of a house are a set, one bit each in 32-bit words.
"""

from __future__ import annotations

import jax.numpy as jnp
import numpy as np
from jax import Array, lax

from jaxsudoku.core.board import Board, board_of_grids
from jaxsudoku.core.constraints.clues import Clues
from jaxsudoku.core.constraints.pruning import broken
from jaxsudoku.runtime import forks
from jaxsudoku.runtime.arrays import AnyArray
from jaxsudoku.runtime.operations import cpu_fence
from jaxsudoku.runtime.sharding import gathered


def is_valid(grids: AnyArray, board: Board | None = None) -> Array:
    """Whether no house holds a digit twice, no constraint is broken, and every value lies in 0..side.

    Empty cells are fine, and so is a constraint with an empty cell.

    Args:
      grids: integers[*b, cells] or [*b, side, side].
      board: the board; None for the classic one of the grids' size.

    Returns:
      bool[*b].

    Raises:
      ValueError: a shape that does not fit the board, or a dtype that is not an integer.
    """
    grids, board = _flat(grids, board)
    return (_conflicts(grids, board) == 0) & ((grids >= 0) & (grids <= board.side)).all(axis=-1)


def is_solved(
    grids: AnyArray, board: Board | None = None, givens: AnyArray | None = None, clues: Clues | None = None
) -> Array:
    """Whether every house holds every digit, all constraints hold, and the grid agrees with the givens.

    Args:
      grids: integers[*b, cells] or [*b, side, side].
      board: the board; None for the classic one of the grids' size.
      givens: like ``grids``, 0 = free; None for no givens.
      clues: the constraints of each grid, for grids [N, cells]; None for those of the board alone.

    Returns:
      bool[*b].

    Raises:
      ValueError: a shape that does not fit the board, or a dtype that is not an integer.
    """
    grids, board = _flat(grids, board)
    # a value above the side sets no bit, so its houses miss a digit
    digits = lax.optimization_barrier(_house_digits(board, grids))
    whole = jnp.stack([word == _all_digits(board, limb) for limb, word in enumerate(digits)]).all(axis=(0, 1))
    if givens is not None:
        givens = _flat(givens, board)[0]
        whole &= ((givens == 0) | (givens == grids)).all(axis=-1)
    if board.constraints or clues is not None:
        whole &= broken(board, grids, clues) == 0
    return whole


def conflicts(grids: AnyArray, board: Board | None = None) -> Array:
    """The number of repeated digits, summed over all houses, and of broken constraints: 0 for a valid grid.

    Args:
      grids: integers[*b, cells] or [*b, side, side].
      board: the board; None for the classic one of the grids' size.

    Returns:
      int32[*b]; a digit that occurs k times in a house counts k - 1.

    Raises:
      ValueError: a shape that does not fit the board, or a dtype that is not an integer.
    """
    return _conflicts(*_flat(grids, board))


def _flat(grids: AnyArray, board: Board | None) -> tuple[Array, Board]:
    """The grids as integers[*b, cells], and their board."""
    forks.check()
    board, batch = board_of_grids(np.shape(grids), board)
    grids = jnp.asarray(grids)
    grids = gathered(grids, grids.ndim - len(batch))
    if not jnp.issubdtype(grids.dtype, jnp.integer):
        raise ValueError(f"grids of dtype {grids.dtype}; they must be integers, 0 for an empty cell")
    return grids.reshape(*batch, board.cells), board


def _conflicts(grids: Array, board: Board) -> Array:
    filled = jnp.stack([bits != 0 for bits in _digit_bits(board, grids)]).any(axis=0)
    total = sum(filled[member].astype(jnp.int32) for member in np.asarray(board.houses).T)
    distinct = lax.population_count(jnp.stack(_house_digits(board, grids))).astype(jnp.int32).sum(axis=0)
    repeated = (total - distinct).sum(axis=0, dtype=jnp.int32)
    return repeated + broken(board, grids) if board.constraints else repeated


def _house_digits(board: Board, grids: Array) -> list[Array]:
    """The set of digits in each house, uint32[houses, *b] for every 32 digits."""
    sets = []
    for bits in _digit_bits(board, grids):
        digits = jnp.zeros((len(board.houses), *grids.shape[:-1]), jnp.uint32)
        for member in np.asarray(board.houses).T:
            digits = digits | bits[member]
        sets.append(digits)
    return sets


def _digit_bits(board: Board, grids: Array) -> list[Array]:
    """Each cell's digit d as bit (d - 1) % 32 of word (d - 1) // 32, uint32[cells, *b] for every 32 digits.

    An empty cell and a value above the side set no bit.
    """
    place = lax.optimization_barrier(jnp.moveaxis(grids, -1, 0)).astype(jnp.uint32) - 1
    bit = jnp.uint32(1) << (place & 31)
    words = [jnp.where((place < board.side) & (place // 32 == limb), bit, 0) for limb in range(-(-board.side // 32))]
    return cpu_fence(words)


def _all_digits(board: Board, limb: int) -> np.uint32:
    """A word of ``_digit_bits`` with the bits of all its digits set."""
    return np.uint32((1 << min(board.side - 32 * limb, 32)) - 1)
