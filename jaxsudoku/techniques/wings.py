"""Wings: cells with two candidates by which an assumed candidate leads to a contradiction.

If the assumed candidate removes one of a cell's two candidates, the cell, a wing, takes the other one. If the wings
together leave a pivot cell without a candidate (XY-wing, XYZ-wing), or a house without a place for a digit (W-wing),
the assumed candidate is refuted.
"""

from __future__ import annotations

import jax.numpy as jnp
import numpy as np
from jax import Array

from jaxsudoku.core.board import Board
from jaxsudoku.core.planes import any_of, at_least, at_least_two, ones_and_twos, slices
from jaxsudoku.runtime.operations import fence

from .position import in_houses, lanes_with, seen, to_cells


def xy_wing(board: Board, candidates: Array, assumed: Array) -> Array:
    """XY-wing: a pivot with two candidates, both removed by wings: uint32[W], the refuted lanes.

    Args:
      board: the board.
      candidates: uint32[side, cells, W].
      assumed: uint32[side, cells, W], one candidate of each lane.
    """
    bivalue, _ = _by_count(candidates)
    reached = _reached(board, candidates, assumed, bivalue)
    return lanes_with(bivalue & _without(candidates, reached))


def xyz_wing(board: Board, candidates: Array, assumed: Array) -> Array:
    """XYZ-wing: a pivot with three candidates, one removed by the assumption and two by wings; see ``xy_wing``."""
    bivalue, trivalue = _by_count(candidates)
    dead = candidates & seen(board, assumed)
    reached = _reached(board, candidates, assumed, bivalue)
    return lanes_with(trivalue & fence(any_of(slices(dead, 0))) & _without(candidates, dead | reached))


def w_wing(board: Board, candidates: Array, assumed: Array) -> Array:
    """W-wing: a house with two places for a digit, both removed by wings; see ``xy_wing``."""
    bivalue, _ = _by_count(candidates)
    reached = _reached(board, candidates, assumed, bivalue)
    _, two, three = at_least(in_houses(board, candidates), 3)
    alive = any_of(in_houses(board, fence(candidates & ~reached)))
    return lanes_with(two & ~three & ~alive)


def seeing_two_pairs(board: Board, candidates: Array) -> Array:
    """Candidates that see cells with two different pairs of their digit and another: uint32[side, cells, W].

    XY-wings and XYZ-wings refute no other candidates.
    """
    pairs = _pairs(candidates)
    return candidates & at_least_two(slices(seen(board, pairs), 0))


def seeing_pair_twice(board: Board, candidates: Array) -> Array:
    """Candidates that see two cells with the same pair, or one in two houses: uint32[side, cells, W].

    W-wings refute no other candidates, except W-wings with a single wing on boards with irregular houses.
    """
    pairs = _pairs(candidates)
    if board.irregular_houses:
        return candidates & any_of(slices(seen(board, pairs), 0))
    ones, twos = fence(ones_and_twos(in_houses(board, pairs)))
    families = [tuple(range(start, start + board.side)) for start in range(0, 3 * board.side, board.side)]
    spread = [to_cells(board, jnp.take(ones, np.asarray(family), axis=-2), family) for family in families]
    return candidates & any_of(slices(to_cells(board, twos) | at_least_two(spread), 0))


def _pairs(candidates: Array) -> Array:
    """The cells with two candidates, by both: uint32[side, side, cells, W], zeros where the digits are the same."""
    bivalue, _ = _by_count(candidates)
    different = np.where(np.eye(len(candidates), dtype=bool), np.uint32(0), ~np.uint32(0))
    return fence(candidates[:, None] & (candidates & bivalue[None])[None] & different[:, :, None, None])


def _reached(board: Board, candidates: Array, assumed: Array, bivalue: Array) -> Array:
    """The candidates that wings remove: those that see the digit that a wing takes."""
    dead = fence(candidates & seen(board, assumed))
    touched = bivalue & any_of(slices(dead, 0))
    return candidates & seen(board, fence(candidates & ~dead & touched[None]))


def _by_count(candidates: Array) -> tuple[Array, Array]:
    """The cells with two candidates, and those with three: uint32[cells, W] each."""
    _, two, three, four = at_least(slices(candidates, 0), 4)
    return fence((two & ~three, three & ~four))


def _without(candidates: Array, removed: Array) -> Array:
    """The cells whose candidates are all removed: uint32[cells, W]."""
    return ~any_of(slices(candidates & ~removed, 0))
