"""Almost locked sets: follows the consequences of an assumed candidate through sets that it locks.

A set of k cells of a house with k + 1 digits is almost locked: if a candidate excludes one of its digits, the others
are locked in the set, and the rest of the house loses them. Likewise, if a candidate confines the places for a digit in
a house to the intersection with another house, they are locked there.
"""

from __future__ import annotations

from jax import Array

from jaxsudoku.core.board import Board
from jaxsudoku.core.layouts import Planes
from jaxsudoku.core.planes import any_of, exactly_one, slices
from jaxsudoku.core.propagation import classify
from jaxsudoku.runtime.operations import fence

from .locked import claiming, pointing
from .position import Position, take
from .singles import clashing, singles
from .subset_sizes import subset_sizes
from .subsets import naked_subsets, short_of_digits


def almost_locked_sets(board: Board, candidates: Array, assumed: Array) -> Array:
    """Refutes assumed candidates whose locked sets lead to an immediate contradiction: uint32[W], the refuted lanes.

    ALS-XZ, ALS-XY-wing and death blossom are such patterns. The contradiction is a cell without a candidate, a house
    without a place for a digit, two cells of a house that must take the same digit, two digits that must take the same
    cell, or a few cells of a house with fewer digits than there are cells.

    Args:
      board: the board.
      candidates: uint32[side, cells, W], basic; a cell with one candidate counts as filled.
      assumed: uint32[side, cells, W], one candidate of each lane.
    """
    return _consequences(board, candidates, assumed)[2]


def links(board: Board, candidates: Array, assumed: Array) -> tuple[Array, Array]:
    """The candidates that the assumed one makes true and false through locked candidates and almost locked sets.

    Arguments are those of ``almost_locked_sets``.

    Returns:
      the candidates that are true and those that are false, uint32[side, cells, W] each. The assumed one is true; in
      lanes with a contradiction it is false too.
    """
    placed, left, refuted = _consequences(board, candidates, assumed)
    return fence((assumed | placed, candidates & ~left | assumed & refuted))


def _consequences(board: Board, candidates: Array, assumed: Array) -> tuple[Array, Array, Array]:
    """The singles and the remaining candidates, uint32[side, cells, W] each, and the lanes with a contradiction."""
    filled = exactly_one(slices(candidates, 0))
    cell = any_of(slices(assumed, 0))
    done = fence(filled | cell)
    left = take(board, candidates, assumed, cell)
    position = Position(left, done, done)
    left = fence(left & ~(pointing(board, position) | claiming(board, position)))
    # filled cells get every digit, so that they are part of no subset
    subsets = [naked_subsets(board, Position(left | done[None], done, done), size) for size in subset_sizes(board)]
    left = fence(left & ~any_of(subsets))
    opened = Position(left | done[None], done, done)
    placed = singles(board, left)
    refuted = [
        classify(Planes(board), left.reshape(*(board.side,) * 3, -1))[0],
        clashing(board, placed),
        *(short_of_digits(board, opened, size) for size in subset_sizes(board)),
    ]
    return placed & ~done[None], left, fence(any_of(refuted))
