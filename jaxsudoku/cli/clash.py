"""Why givens clash, found on the host for the few puzzles that need telling."""

from __future__ import annotations

import numpy as np

from jaxsudoku.board import Board


def clashing(board: Board, grids: np.ndarray) -> np.ndarray:
    """Whether some house holds a digit twice; uint8[n, cells] to bool[n]."""
    found = np.zeros(len(grids), bool)
    for house in board.houses:
        digits = np.sort(grids[:, house], axis=1)
        found |= ((digits[:, 1:] == digits[:, :-1]) & (digits[:, 1:] > 0)).any(axis=1)
    return found


def describe_clash(board: Board, grid: np.ndarray) -> str:
    """The first clash of a grid uint8[cells], as in "the givens clash: 5 twice in row 1".

    Raises:
      ValueError: nothing clashes.
    """
    for number, house in enumerate(board.houses):
        times = np.bincount(grid[list(house)])
        times[0] = 0
        if times.max() > 1:
            digit = int(np.argmax(times > 1))
            often = "twice" if times[digit] == 2 else f"{times[digit]} times"
            return f"the givens clash: {digit} {often} in {_house_name(board, number)}"
    raise ValueError("these givens don't clash")


def _house_name(board: Board, number: int) -> str:
    kind, index = divmod(number, board.side)
    names = ("row", "column", "region" if board.box is None else "box")
    if kind < len(names):
        return f"{names[kind]} {index + 1}"
    return f"extra house {number - len(names) * board.side + 1}"
