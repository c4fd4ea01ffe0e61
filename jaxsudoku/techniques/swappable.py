"""Rectangles of cells whose digits could be swapped: the corners of unique rectangles. No JAX."""

from __future__ import annotations

import functools

import numpy as np

from jaxsudoku.core.board import Board
from jaxsudoku.core.constraints.base import Constraint


@functools.lru_cache(maxsize=32)
def rectangles(board: Board) -> np.ndarray:
    """The rectangles whose corners could swap two digits: bool[side, side, side, side] by two rows and two columns.

    Every house has equally many corners of both diagonals, and every constraint of the board holds after the swap.
    """
    side = board.side
    rows, columns = ~np.eye(side, dtype=bool), ~np.eye(side, dtype=bool)
    allowed: np.ndarray = rows[:, :, None, None] & columns
    for house in board.houses[2 * side :]:
        inside = np.zeros(board.cells, np.int8)
        inside[list(house)] = 1
        cells = inside.reshape(side, side)
        diagonal = cells[:, None, :, None] + cells[None, :, None, :]
        allowed &= diagonal == cells[:, None, None, :] + cells[None, :, :, None]
    if board.constraints:
        _keep_constraints(board, allowed)
    return allowed


def _keep_constraints(board: Board, allowed: np.ndarray) -> None:
    """Removes the rectangles whose swap may break a constraint.

    To swap the digits is to exchange the two columns of the rectangle, or its two rows. So a constraint still holds if
    one of these exchanges turns it into a constraint of the board.
    """
    known = {constraint.normalized() for constraint in board.constraints}
    of_cell: list[list[Constraint]] = [[] for _ in range(board.cells)]
    for constraint in board.constraints:
        for cell in constraint.cells:
            of_cell[cell].append(constraint)

    def keeps(corners: tuple[int, int, int, int]) -> bool:
        a, b, c, d = corners  # row by row
        exchanges = []
        for one, other in (((a, b), (c, d)), ((a, c), (b, d))):
            cells = list(range(board.cells))
            for first, second in (one, other):
                cells[first], cells[second] = second, first
            exchanges.append(cells)
        return all(
            any(constraint.image(cells).normalized() in known for cells in exchanges)
            for corner in corners
            for constraint in of_cell[corner]
        )

    side = board.side
    for top, bottom, left, right in np.argwhere(allowed).tolist():
        if top < bottom and left < right:
            corners = (top * side + left, top * side + right, bottom * side + left, bottom * side + right)
            if not keeps(corners):
                lines, across = [top, bottom], [left, right]
                allowed[np.ix_(lines, lines, across, across)] = False
