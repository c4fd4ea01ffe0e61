"""The symmetry group of a board: its order, uniform samples, and its action on grids and candidates.

A symmetry relabels the digits and rearranges the lines: a permutation of the rows, one of the columns, and possibly a
transposition, which together map the sets of the board's houses and constraints to themselves. Digits are relabelled
if all constraints allow it (``Constraint.relabels``). ``jaxsudoku.symmetry.chain`` finds the group. All functions here
are pure, and work under ``jax.jit`` and ``jax.vmap``.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Iterable, Sequence
from typing import NamedTuple

import jax.numpy as jnp
import numpy as np
from jax import Array, random

from jaxsudoku.core.board import Board, check_board
from jaxsudoku.runtime import forks
from jaxsudoku.runtime.arrays import AnyArray
from jaxsudoku.runtime.operations import fence
from jaxsudoku.runtime.random import as_key
from jaxsudoku.runtime.settings import whole_number
from jaxsudoku.runtime.sharding import gathered
from jaxsudoku.symmetry.chain import transversals

#: Maximum number of elements of a table into which levels of the chain are multiplied out.
_LARGEST_TABLE = 4096


class Symmetry(NamedTuple):
    """Symmetries of a board; a pytree.

    The grid is transposed first where ``transposed`` is set. Then cell (i, j) of the result comes from cell
    (rows[i], columns[j]), and digit d + 1 becomes digits[d] + 1.

    Attributes:
      transposed: bool[*b].
      rows: int32[*b, side], a permutation of 0..side-1.
      columns: int32[*b, side], likewise.
      digits: int32[*b, side], likewise.
    """

    transposed: Array
    rows: Array
    columns: Array
    digits: Array


# ---------------------------------------------------------------------- elements of the group


def order(board: Board | None = None) -> int:
    """The number of symmetries of a board, relabellings included; None for the classic 9x9 board."""
    board = _or_nine(board)
    relabellings = math.factorial(board.side) if _relabels(board) else 1
    return relabellings * math.prod(map(len, transversals(board)))


def identity(board: Board | None = None, shape: int | Sequence[int] = ()) -> Symmetry:
    """Identities, with batch axes ``shape``; None for the classic 9x9 board."""
    board, shape = _or_nine(board), _axes(shape)
    lines = jnp.broadcast_to(jnp.arange(board.side, dtype=jnp.int32), (*shape, board.side))
    return Symmetry(jnp.zeros(shape, bool), lines, lines, lines)


def sample(key: Array | int, board: Board | None = None, shape: int | Sequence[int] = ()) -> Symmetry:
    """Draws symmetries uniformly and independently from the whole group.

    Args:
      key: a JAX key or a seed.
      board: the board (static); None for the classic 9x9 board.
      shape: the batch axes, or a number of symmetries (static).

    Returns:
      A ``Symmetry`` with batch axes ``shape``.
    """
    board, shape = _or_nine(board), _axes(shape)
    side, tables = board.side, _tables(board)
    lines_key, digits_key = random.split(as_key(key))
    sizes = np.array([len(table) for table in tables], np.int32).reshape(-1, *[1] * len(shape))
    drawn = random.randint(lines_key, (len(tables), *shape), 0, sizes, jnp.int32)
    lines = functools.reduce(_take, [jnp.asarray(table)[places] for table, places in zip(tables, drawn, strict=True)])
    rows, columns = jnp.split((lines % side).astype(jnp.int32), 2, axis=-1)
    if not _relabels(board):
        return identity(board, shape)._replace(transposed=lines[..., 0] >= side, rows=rows, columns=columns)
    return Symmetry(lines[..., 0] >= side, rows, columns, _ranks(random.bits(digits_key, (*shape, side), jnp.uint32)))


def _relabels(board: Board) -> bool:
    """Whether all constraints of a board still hold after any exchange of digits; the others keep digits in place."""
    return all(constraint.relabels for constraint in board.constraints)


def _axes(shape: int | Sequence[int]) -> tuple[int, ...]:
    """Batch axes from a shape or a number; raises ValueError if they are no whole numbers."""
    axes = tuple(shape) if isinstance(shape, Iterable) else (shape,)
    return tuple(whole_number("shape", axis, 0) for axis in axes)


def _or_nine(board: Board | None) -> Board:
    forks.check()
    return Board.classic() if board is None else check_board(board)


def invert(symmetry: Symmetry) -> Symmetry:
    """The inverse symmetries."""
    turned = symmetry.transposed[..., None]
    rows, columns = _inverse(symmetry.rows), _inverse(symmetry.columns)
    return Symmetry(
        symmetry.transposed,
        jnp.where(turned, columns, rows),
        jnp.where(turned, rows, columns),
        _inverse(symmetry.digits),
    )


def compose(first: Symmetry, second: Symmetry) -> Symmetry:
    """The symmetries that apply ``first``, then ``second``; batch axes broadcast.

    Raises:
      ValueError: they belong to boards of different sides, or their batch axes don't fit.
    """
    side, other = first.rows.shape[-1], second.rows.shape[-1]
    if side != other:
        raise ValueError(f"symmetries of a board of side {side} don't combine with those of side {other}")
    turned = second.transposed[..., None]
    return Symmetry(
        first.transposed ^ second.transposed,
        _take(jnp.where(turned, first.columns, first.rows), second.rows),
        _take(jnp.where(turned, first.rows, first.columns), second.columns),
        _take(second.digits, first.digits),
    )


# ---------------------------------------------------------------------- the action on grids and candidates


def apply(symmetry: Symmetry, grids: AnyArray) -> Array:
    """Grids rearranged and relabelled; batch axes broadcast.

    Args:
      symmetry: batch axes *b.
      grids: integers[*b, cells] or [*b, side, side], 0 = empty. Empty cells stay empty and values above the side stay
        as they are.

    Returns:
      The same dtype and form.

    Raises:
      ValueError: grids that are not integers, a wrong number of cells, or batch axes that do not broadcast.
      TypeError: the first argument is no ``Symmetry``.
    """
    side = _side(symmetry)
    grids = jnp.asarray(grids)
    if not jnp.issubdtype(grids.dtype, jnp.integer):
        raise ValueError(f"grids of dtype {grids.dtype}; they must be integers, 0 for an empty cell")
    square = grids.shape[-2:] == (side, side)
    if not square and grids.shape[-1:] != (side**2,):
        raise ValueError(
            f"grids of shape {grids.shape}; symmetries of side {side} take [..., {side**2}] or [..., {side}, {side}]"
        )
    flat = gathered(grids, 2).reshape(*grids.shape[:-2], side**2) if square else gathered(grids, 1)
    moved = _take(flat, _cells(symmetry))
    digits = (symmetry.digits + 1).astype(grids.dtype)
    relabelled = moved
    for digit in range(side):
        relabelled = jnp.where(moved == digit + 1, digits[..., digit, None], relabelled)
    return relabelled.reshape(*relabelled.shape[:-1], side, side) if square else relabelled


def apply_candidates(symmetry: Symmetry, values: AnyArray) -> Array:
    """Values of candidates (marks, scores, policies), rearranged and relabelled; batch axes broadcast.

    Args:
      symmetry: batch axes *b.
      values: any dtype [*b, side, side, side], digit x row x column.

    Returns:
      The same dtype [*b, side, side, side].

    Raises:
      ValueError: the last axes are not [side, side, side], or the batch axes do not broadcast.
      TypeError: the first argument is no ``Symmetry``.
    """
    side = _side(symmetry)
    values = jnp.asarray(values)
    if values.shape[-3:] != (side,) * 3:
        raise ValueError(
            f"values of shape {values.shape}; symmetries of side {side} take [..., {side}, {side}, {side}]"
        )
    sources = _inverse(symmetry.digits)[..., None] * side**2 + _cells(symmetry)[..., None, :]
    moved = _take(values.reshape(*values.shape[:-3], side**3), sources.reshape(*sources.shape[:-2], side**3))
    return moved.reshape(*moved.shape[:-1], side, side, side)


def _side(symmetry: Symmetry) -> int:
    """The side of the symmetries' board; raises TypeError for anything but a ``Symmetry``."""
    forks.check()
    if not isinstance(symmetry, Symmetry):
        raise TypeError(f"the first argument must be a Symmetry, not {type(symmetry).__name__}; the data come second")
    return symmetry.rows.shape[-1]


def _cells(symmetry: Symmetry) -> Array:
    """The cell that each cell of the result comes from, int32[*b, cells]."""
    side = symmetry.rows.shape[-1]
    turned = symmetry.transposed[..., None, None]
    rows, columns = symmetry.rows[..., :, None], symmetry.columns[..., None, :]
    cells = jnp.where(turned, columns * side + rows, rows * side + columns)
    return cells.reshape(*cells.shape[:-2], side**2)


# ---------------------------------------------------------------------- permutations along the last axis


def _take(values: Array, places: Array) -> Array:
    """``values[..., places]`` along the last axis, all other axes broadcast."""
    try:
        batch = jnp.broadcast_shapes(values.shape[:-1], places.shape[:-1])
    except ValueError as error:
        raise ValueError(
            f"batch axes {values.shape[:-1]} and {places.shape[:-1]} don't fit: equal numbers or 1 are wanted"
        ) from error
    values = jnp.broadcast_to(values, (*batch, values.shape[-1]))
    # without the fences each use of a value would recompute its place
    places = fence(jnp.broadcast_to(places, (*batch, places.shape[-1])))
    return fence(jnp.take_along_axis(values, places, axis=-1, mode="promise_in_bounds"))


def _inverse(permutations: Array) -> Array:
    """The inverses of permutations int32[*b, n], by comparing all pairs, faster than a sort or scatter of so few."""
    places = jnp.arange(permutations.shape[-1], dtype=jnp.int32)
    found = permutations[..., None, :] == places[:, None]
    return jnp.where(found, places, 0).sum(axis=-1, dtype=jnp.int32)


def _ranks(values: Array) -> Array:
    """The rank of each value in its row, int32[*b, n]; equal values are ranked in order."""
    earlier = np.tri(values.shape[-1], k=-1, dtype=bool)
    this, other = values[..., :, None], values[..., None, :]
    return ((other < this) | ((other == this) & earlier)).sum(axis=-1, dtype=jnp.int32)


# ---------------------------------------------------------------------- tables


@functools.lru_cache(maxsize=32)
def _tables(board: Board) -> tuple[np.ndarray, ...]:
    """Tables uint8[m, 2 side] of lines; each rearrangement is a unique product of one row from each table."""
    tables = [np.arange(2 * board.side, dtype=np.uint8)[None]]
    for transversal in transversals(board):
        if len(tables[-1]) * len(transversal) <= _LARGEST_TABLE:
            tables[-1] = tables[-1][:, transversal].reshape(-1, 2 * board.side)
        else:
            tables.append(transversal.astype(np.uint8))
    return tuple(tables)
