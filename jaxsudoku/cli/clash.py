"""Why givens clash or a solution is wrong, found on the host for the few puzzles that need telling."""

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
    return f"the givens clash: {_first_clash(board, grid)}"


def unsolved(board: Board, puzzles: np.ndarray, solutions: np.ndarray) -> np.ndarray:
    """Whether solutions are wrong: not complete, clashing, or without the givens; two uint8[n, cells] to bool[n]."""
    misfits = (solutions == 0) | ((puzzles > 0) & (puzzles != solutions))
    return misfits.any(axis=1) | clashing(board, solutions)


def describe_unsolved(board: Board, puzzle: np.ndarray, solution: np.ndarray) -> str:
    """Why a solution uint8[cells] is wrong, as in "the solution is wrong: 5 twice in row 1".

    Raises:
      ValueError: it is right.
    """
    misfits = np.flatnonzero((solution == 0) | ((puzzle > 0) & (puzzle != solution)))
    if not len(misfits):
        return f"the solution is wrong: {_first_clash(board, solution)}"
    cell = int(misfits[0])
    row, column = divmod(cell, board.side)
    given = f", where {puzzle[cell]} is given" if puzzle[cell] else ""
    return f"the solution is wrong: {solution[cell] or 'nothing'} in row {row + 1}, column {column + 1}{given}"


def _first_clash(board: Board, grid: np.ndarray) -> str:
    """As in "5 twice in row 1"; raises ValueError where nothing clashes."""
    for number, house in enumerate(board.houses):
        times = np.bincount(grid[list(house)])
        times[0] = 0
        if times.max() > 1:
            digit = int(np.argmax(times > 1))
            often = "twice" if times[digit] == 2 else f"{times[digit]} times"
            return f"{digit} {often} in {_house_name(board, number)}"
    raise ValueError("nothing clashes")


def _house_name(board: Board, number: int) -> str:
    kind, index = divmod(number, board.side)
    names = ("row", "column", "region" if board.box is None else "box")
    if kind < len(names):
        return f"{names[kind]} {index + 1}"
    return f"extra house {number - len(names) * board.side + 1}"
