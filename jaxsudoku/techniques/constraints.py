"""Constraints as a technique: each removes the candidates that it excludes by itself."""

from __future__ import annotations

from jax import Array

from jaxsudoku.core.board import Board
from jaxsudoku.core.constraints.clues import Clues
from jaxsudoku.core.constraints.pruning import prune
from jaxsudoku.core.layouts import Planes

from .position import Position


def constraints(board: Board, position: Position, clues: Clues | None = None) -> Array:
    """What each constraint of the board and of the puzzles alone excludes.

    Args:
      board: the board.
      position: the positions.
      clues: the clues of the lanes' puzzles, rows [width, 32 W]; None for none.

    Returns:
      uint32[side, cells, W], the candidates to remove.
    """
    layout, candidates = Planes(board), position.candidates
    kept = layout.from_masks(prune(board, layout.to_masks(candidates), clues), candidates)
    return candidates & ~kept
