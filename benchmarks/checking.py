"""Checks of grids with numpy only, independent of the library's own checks."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from jaxsudoku.core.board import Board

#: Grids checked at a time.
_BLOCK = 1 << 16


def box_shape(side: int) -> tuple[int, int]:
    """(rows, columns) of a box of the classic board: the squarest, no taller than wide."""
    rows = max(r for r in range(1, math.isqrt(side) + 1) if side % r == 0)
    return rows, side // rows


def houses(side: int, board: Board | None = None) -> np.ndarray:
    """int[houses, side], the cells of each row, column, box or region, and further house.

    Args:
      side: the side of the grid.
      board: the description of the board, the only thing taken from the library; by default the classic one.
    """
    cells = np.arange(side * side)
    row, column = np.divmod(cells, side)
    rows, columns = (board and board.box) or box_shape(side)
    regions = row // rows * (side // columns) + column // columns
    if board is not None and board.regions:
        regions = np.array(board.regions)
    found = [cells[labels == label] for labels in (row, column, regions) for label in range(side)]
    return np.array([*found, *(board.extra if board is not None else ())])


def clashing(puzzles: np.ndarray, board: Board | None = None) -> np.ndarray:
    """Which puzzles have givens that clash: bool[N] of uint8[N, cells]; board as in ``houses``."""
    clash = np.zeros(len(puzzles), bool)
    for cells in houses(math.isqrt(puzzles.shape[1]), board):
        house = np.sort(puzzles[:, cells], axis=1)
        clash |= ((house[:, 1:] == house[:, :-1]) & (house[:, 1:] > 0)).any(axis=1)
    return clash


def rightly_solved(puzzles: np.ndarray, grids: np.ndarray, board: Board | None = None) -> np.ndarray:
    """Which grids are complete, keep their puzzle's givens, and have every digit once in each house.

    Args:
      puzzles: uint8[N, cells], 0 = empty.
      grids: uint8[N, cells].
      board: as in ``houses``.

    Returns:
      bool[N].
    """
    right = np.zeros(len(grids), bool)
    for start in range(0, len(grids), _BLOCK):
        block = slice(start, start + _BLOCK)
        right[block] = _right(puzzles[block], grids[block], board)
    return right


def _right(puzzles: np.ndarray, grids: np.ndarray, board: Board | None) -> np.ndarray:
    side = math.isqrt(grids.shape[1])
    right = ((grids >= 1) & (grids <= side)).all(axis=1) & ((puzzles == 0) | (puzzles == grids)).all(axis=1)
    digits = np.uint64(1) << (np.clip(grids, 1, side).astype(np.uint64) - np.uint64(1))
    full = np.uint64((1 << side) - 1)
    for cells in houses(side, board):
        right &= np.bitwise_or.reduce(digits[:, cells], axis=1) == full
    return right
