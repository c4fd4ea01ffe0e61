"""Positions for solving by techniques: planes of candidates, filled cells and givens.

A position is *basic*: no open cell has a candidate whose digit is filled in one of its houses. Techniques take a basic
position, and ``place`` and ``eliminate`` return one.

Cells are numbered as in ``Board``, so candidates have the shape [side, cells, W]. Houses of all kinds are read and
written through index tables.
"""

from __future__ import annotations

import functools
from typing import NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jax import Array

from jaxsudoku.core.board import Board
from jaxsudoku.core.constraints.clues import Clues
from jaxsudoku.core.house_tables import ragged
from jaxsudoku.core.planes import Givens, any_of, ones_and_twos, pack_lanes, planes_to_words, slices, words_to_planes
from jaxsudoku.runtime.operations import cpu_fence, fence


class Position(NamedTuple):
    """Positions of 32 W puzzles, one bit each.

    Attributes:
      candidates: uint32[side, cells, W], the digit of a filled cell, the remaining digits of an open one.
      filled: uint32[cells, W], the filled cells, including givens.
      given: uint32[cells, W], the cells of givens and of clues, which no unique rectangle has.
    """

    candidates: Array
    filled: Array
    given: Array


def start(board: Board, givens: Givens, clues: Clues | None = None) -> Position:
    """The positions of puzzles before any technique: digits of filled cells are removed from their houses.

    The clues of the puzzles have rows [width, 32 W].
    """
    filled = ~givens.empty.reshape(board.cells, -1)
    digits = givens.digits.reshape(board.side, board.cells, -1)
    candidates = givens.candidates.reshape(digits.shape)
    given = filled
    if clues is not None and clues.form.overlap:
        _, _, places = clues.form.split(clues.rows)
        given = fence(filled | jax.vmap(pack_lanes)(places[0] < clues.form.slots))
    return Position(fence(candidates & ~seen(board, digits) | digits), filled, given)


def place(board: Board, position: Position, placed: Array) -> Position:
    """Fills cells with candidates uint32[side, cells, W], at most one a cell, and removes them from their houses."""
    cells = cpu_fence(any_of(slices(placed, 0)))
    return Position(take(board, position.candidates, placed, cells), position.filled | cells, position.given)


def take(board: Board, candidates: Array, taken: Array, cells: Array) -> Array:
    """The candidates left after placing one in each of some cells and removing it from their houses: [side, cells, W].

    Args:
      board: the board.
      candidates: uint32[side, cells, W].
      taken: uint32[side, cells, W], the placed candidates.
      cells: uint32[cells, W], their cells.
    """
    return fence(candidates & ~seen(board, taken) & ~cells[None] | taken)


def eliminate(position: Position, removed: Array) -> Position:
    """Removes candidates uint32[side, cells, W]."""
    return position._replace(candidates=position.candidates & ~removed)


def pack(position: Position) -> Array:
    """Positions as words, uint32[words, 32 W]: the bits of the candidates, the filled cells and the givens."""
    parts = (position.candidates.reshape(-1, position.filled.shape[-1]), position.filled, position.given)
    return planes_to_words(jnp.concatenate(parts))


def unpack(board: Board, words: Array) -> Position:
    """Positions from words, the inverse of ``pack``."""
    planes = words_to_planes(words)
    candidates, filled, given = jnp.split(
        planes[: board.candidates + 2 * board.cells], [board.candidates, board.candidates + board.cells]
    )
    return Position(candidates.reshape(board.side, board.cells, -1), filled, given)


# ---------------------------------------------------------------------- houses


def in_houses(board: Board, cells: Array, houses: tuple[int, ...] | None = None) -> list[Array]:
    """Gathers the members of houses: planes [*b, cells, W] to ``side`` planes [*b, houses, W], the n-th of all houses.

    Args:
      board: the board.
      cells: the planes.
      houses: numbers of houses in ``board.houses``; None for all.
    """
    table = np.asarray(board.houses, np.int32)
    table = table if houses is None else table[list(houses)]
    return [jnp.take(cells, column, axis=-2) for column in table.T]


def to_cells(board: Board, folded: Array, houses: tuple[int, ...] | None = None) -> Array:
    """For each cell the OR over its houses: planes [*b, houses, W] to [*b, cells, W].

    Args:
      board: the board.
      folded: the planes.
      houses: their numbers in ``board.houses``; None for all.
    """
    padded = jnp.pad(folded, [*[(0, 0)] * (folded.ndim - 2), (0, 1), (0, 0)])  # zeros, for the index -1
    return any_of([padded[..., column, :] for column in _places(board, houses).T])


def seen(board: Board, cells: Array) -> Array:
    """The cells that see a set cell, i.e. share a house with another set cell: planes [*b, cells, W], same shape.

    These are unset cells in a house with a set cell, and all cells in a house with two set cells.
    """
    ones, twos = fence(ones_and_twos(in_houses(board, cells)))
    return fence(to_cells(board, ones) & ~cells | to_cells(board, twos))


def lanes_with(planes: Array) -> Array:
    """The lanes in which any plane is set: uint32[..., W] to uint32[W]."""
    while planes.ndim > 1:
        planes = fence(any_of(slices(planes, 0)))
    return planes


@functools.lru_cache(maxsize=64)
def _places(board: Board, houses: tuple[int, ...] | None) -> np.ndarray:
    """int32[cells, m]: the places of each cell's houses in ``houses``, padded with -1."""
    numbers = range(len(board.houses)) if houses is None else houses
    return ragged(
        [[place for place, number in enumerate(numbers) if cell in board.houses[number]] for cell in range(board.cells)]
    )


def places_of_digit(candidates: Array, assumed: Array) -> tuple[Array, Array]:
    """The places for the assumed digit of each lane, and the assumed cell: uint32[cells, W] each.

    Args:
      candidates: uint32[side, cells, W].
      assumed: uint32[side, cells, W], one candidate of each lane.
    """
    digit = fence(any_of(slices(assumed, 1)))
    places = [plane & chosen for plane, chosen in zip(slices(candidates, 0), slices(digit, 0), strict=True)]
    return fence(any_of(places)), fence(any_of(slices(assumed, 0)))
