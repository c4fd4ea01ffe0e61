"""Sizes of subsets in almost locked sets. No JAX."""

from __future__ import annotations

from jaxsudoku.core.board import Board


def subset_sizes(board: Board) -> range:
    """The sizes: one to four cells, as far as the board allows.

    One cell is included because a set of two becomes one when its other cell is filled.
    """
    return range(1, min(4, board.side // 2) + 1)
