"""The sizes of the subsets that almost locked sets become. No JAX."""

from __future__ import annotations

from jaxsudoku.core.board import Board


def subset_sizes(board: Board) -> range:
    """From one cell to four, as far as the board has room for them.

    One cell is there because a set of two is left as one when its other cell is filled.
    """
    return range(1, min(4, board.side // 2) + 1)
