"""The constraints of the board as a technique: each removes the candidates that it excludes by itself."""

from __future__ import annotations

from jax import Array

from jaxsudoku.core.board import Board
from jaxsudoku.core.constraints.pruning import prune
from jaxsudoku.core.layouts import Planes

from .position import Position


def constraints(board: Board, position: Position) -> Array:
    """What each constraint alone excludes: uint32[side, cells, W], the candidates to remove."""
    layout, candidates = Planes(board), position.candidates
    kept = layout.from_masks(prune(board, layout.to_masks(candidates)), candidates)
    return candidates & ~kept
