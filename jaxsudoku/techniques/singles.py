"""Singles, which fill cells: cells with one digit left, and digits with one place left in a house."""

from __future__ import annotations

import jax.numpy as jnp
from jax import Array

from jaxsudoku.core.board import Board
from jaxsudoku.core.planes import at_least_two, exactly_one, slices
from jaxsudoku.runtime.operations import fence

from .locked_pairs import regions
from .position import Position, in_houses, lanes_with, to_cells


def full_houses(board: Board, position: Position) -> Array:
    """The last open cell of a house: uint32[side, cells, W], the candidates to place."""
    last = exactly_one(in_houses(board, ~position.filled))
    return _open(position) & to_cells(board, fence(last))[None]


def hidden_singles_in_regions(board: Board, position: Position) -> Array:
    """Digits with one place in a box, region or further house: uint32[side, cells, W], the candidates to place."""
    return _hidden_singles(board, position, regions(board))


def hidden_singles_in_lines(board: Board, position: Position) -> Array:
    """Digits with one place in a row or column: uint32[side, cells, W], the candidates to place."""
    return _hidden_singles(board, position, tuple(range(2 * board.side)))


def naked_singles(board: Board, position: Position) -> Array:
    """Open cells with one candidate: uint32[side, cells, W], the candidates to place."""
    del board
    return _open(position) & exactly_one(slices(position.candidates, 0))[None]


def singles(board: Board, candidates: Array) -> Array:
    """Naked and hidden singles: the only candidates of a cell, or for a digit in a house: uint32[side, cells, W]."""
    only = to_cells(board, fence(exactly_one(in_houses(board, candidates))))
    return fence(candidates & (only | exactly_one(slices(candidates, 0))[None]))


def clashing(board: Board, placed: Array) -> Array:
    """The lanes in which a cell has two placed candidates, or a house has one digit twice: uint32[W]."""
    return lanes_with(at_least_two(slices(placed, 0))) | lanes_with(at_least_two(in_houses(board, placed)))


def _hidden_singles(board: Board, position: Position, houses: tuple[int, ...]) -> Array:
    """Candidates of open cells that are the only ones for their digit in one of the houses."""
    if not houses:
        return jnp.zeros_like(position.candidates)
    only = fence(exactly_one(in_houses(board, position.candidates, houses)))
    return _open(position) & to_cells(board, only, houses)


def _open(position: Position) -> Array:
    """The candidates of open cells."""
    return position.candidates & ~position.filled[None]
