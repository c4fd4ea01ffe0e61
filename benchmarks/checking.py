"""Judging grids with numpy alone, so that no figure rests on the library's own word."""

from __future__ import annotations

import math

import numpy as np

#: Grids looked at together.
_BLOCK = 1 << 16


def box_shape(side: int) -> tuple[int, int]:
    """(rows, columns) of a box of the classic board: the squarest, no taller than wide."""
    rows = max(r for r in range(1, math.isqrt(side) + 1) if side % r == 0)
    return rows, side // rows


def clashing(puzzles: np.ndarray) -> np.ndarray:
    """Which puzzles have givens that break a rule by themselves: bool[N] of uint8[N, cells]."""
    side = math.isqrt(puzzles.shape[1])
    rows, columns = box_shape(side)
    row, column = np.divmod(np.arange(side * side), side)
    box = row // rows * (side // columns) + column // columns
    clash = np.zeros(len(puzzles), bool)
    for number in range(side):
        for houses in (row, column, box):
            house = np.sort(puzzles[:, houses == number], axis=1)
            clash |= ((house[:, 1:] == house[:, :-1]) & (house[:, 1:] > 0)).any(axis=1)
    return clash


def rightly_solved(puzzles: np.ndarray, grids: np.ndarray) -> np.ndarray:
    """Which grids are complete, keep their puzzle's givens, and hold every digit once in each row, column and box.

    Args:
      puzzles: uint8[N, cells], 0 = empty.
      grids: uint8[N, cells].

    Returns:
      bool[N].
    """
    right = np.zeros(len(grids), bool)
    for start in range(0, len(grids), _BLOCK):
        block = slice(start, start + _BLOCK)
        right[block] = _right(puzzles[block], grids[block])
    return right


def _right(puzzles: np.ndarray, grids: np.ndarray) -> np.ndarray:
    side = math.isqrt(grids.shape[1])
    rows, columns = box_shape(side)
    inside = ((grids >= 1) & (grids <= side)).all(axis=1)
    kept = ((puzzles == 0) | (puzzles == grids)).all(axis=1)
    digits = np.uint32(1) << (np.clip(grids, 1, side).astype(np.uint32) - 1)
    square = digits.reshape(-1, side, side)
    boxes = digits.reshape(-1, side // rows, rows, side // columns, columns)
    full = np.uint32((1 << side) - 1)
    seen = (
        np.bitwise_or.reduce(square, axis=2),
        np.bitwise_or.reduce(square, axis=1),
        np.bitwise_or.reduce(np.bitwise_or.reduce(boxes, axis=4), axis=2),
    )
    houses = [(union == full).reshape(len(grids), -1).all(axis=1) for union in seen]
    return inside & kept & np.logical_and.reduce(houses)
