"""Locked candidates: if all places for a digit in a house lie in another house, its other cells lose the digit."""

from __future__ import annotations

import functools

import jax.numpy as jnp
import numpy as np
from jax import Array

from jaxsudoku.core.board import Board
from jaxsudoku.core.house_tables import ragged
from jaxsudoku.core.layouts import with_zero_plane
from jaxsudoku.core.planes import any_of
from jaxsudoku.runtime.operations import fence

from .locked_pairs import locked_pairs
from .position import Position


def pointing(board: Board, position: Position) -> Array:
    """Pointing: the confined house is a box, region or further house. uint32[side, cells, W], candidates to remove."""
    return _locked(board, position, from_lines=False)


def claiming(board: Board, position: Position) -> Array:
    """Claiming: the confined house is a row or column. uint32[side, cells, W], candidates to remove."""
    return _locked(board, position, from_lines=True)


def _locked(board: Board, position: Position, from_lines: bool) -> Array:
    common, outside, affected = _tables(board, from_lines)
    if not len(outside):
        return jnp.zeros_like(position.candidates)
    padded = with_zero_plane(position.candidates)
    # a house without any place for the digit locks nothing
    inside = any_of([padded[:, column] for column in common.T])
    elsewhere = any_of([padded[:, column] for column in outside.T])
    confined = with_zero_plane(fence(inside & ~elsewhere))
    return position.candidates & any_of([confined[:, column] for column in affected.T])


@functools.lru_cache(maxsize=32)
def _tables(board: Board, from_lines: bool) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Cells in both houses of each pair, cells of the confined house only, and the pairs that affect each cell."""
    sets = [(set(board.houses[one]), set(board.houses[other])) for one, other in locked_pairs(board, from_lines)]
    affected: list[list[int]] = [[] for _ in range(board.cells)]
    for number, (one, other) in enumerate(sets):
        for cell in other - one:
            affected[cell].append(number)
    return (
        ragged([sorted(one & other) for one, other in sets]),
        ragged([sorted(one - other) for one, other in sets]),
        ragged(affected),
    )
