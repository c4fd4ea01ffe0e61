"""The rules in numpy: clashes, complete grids and candidates, beside plain Python and ``grid``."""

from __future__ import annotations

import numpy as np
import pytest
import reference

from jaxsudoku.core.board import Board
from jaxsudoku.core.host_rules import allowed_candidates, clashing, clashing_cells, first_clash, is_complete

pytestmark = pytest.mark.quick

BOARDS = {**reference.SMALL, **reference.NINE, "36x36": Board.classic(36)}
every_board = pytest.mark.parametrize("board", BOARDS.values(), ids=BOARDS)


def grids_of(board: Board) -> np.ndarray:
    """Grids uint8[2, 3, cells] from empty to full, with and without clashes, and with values beyond the digits."""
    rng = np.random.default_rng(board.side)
    filled = rng.random((6, board.cells)) < np.array([0, 0.03, 0.1, 0.5, 1, 1])[:, None]
    grids = np.where(filled, rng.integers(1, board.side + 1, filled.shape), 0).astype(np.uint8)
    grids[4, 0] = 255
    return grids.reshape(2, 3, board.cells)


@every_board
def test_clashes_and_candidates_are_those_of_plain_python(board):
    grids = grids_of(board)
    cells, allowed = clashing_cells(grids, board), allowed_candidates(grids, board)
    houses = [[set(house) - {cell} for house in board.houses if cell in house] for cell in range(board.cells)]
    for place in np.ndindex(grids.shape[:-1]):
        grid = grids[place].tolist()
        for cell, digit in enumerate(grid):
            held = {grid[other] for house in houses[cell] for other in house}
            assert cells[place][cell] == (1 <= digit <= board.side and digit in held)
            digits = {digit} if digit else set(range(1, board.side + 1)) - held
            assert {*np.flatnonzero(allowed[place][:, cell]) + 1} == digits - {255}
    np.testing.assert_array_equal(clashing(grids, board), cells.any(axis=-1))
    assert clashing(grids, board).any() and not clashing(grids, board).all()


@pytest.mark.parametrize("board", reference.SMALL.values(), ids=reference.SMALL)
def test_complete_grids_are_the_solutions(board):
    found = np.array(reference.solutions(board, [0] * board.cells, 3), np.uint8)
    assert is_complete(found, board).all()
    for cell in range(board.cells):
        for value in (0, board.side + 1, found[0, (cell + 1) % board.cells]):
            changed = found[0].copy()
            changed[cell] = value
            assert is_complete(changed, board) == (value == found[0, cell])


def test_a_clash_in_words():
    board = Board.diagonal(4)
    grid = np.zeros(16, np.uint8)
    with pytest.raises(ValueError, match="nothing clashes"):
        first_clash(grid, board)
    for cells, words in (((0, 3), "row 1"), ((1, 13), "column 2"), ((2, 7), "box 2"), ((3, 12), "diagonal 2")):
        grid[:] = 0
        grid[list(cells)] = 3
        assert first_clash(grid, board) == f"3 twice in {words}"
    grid[:4] = 2
    assert first_clash(grid, board) == "2 4 times in row 1"
    jigsaw = Board.jigsaw("aabbaabbccddccdd")
    for digits, words in (([0, 3, 0, 0, 3], "3 twice in region 1"), ([3, 3, 3], "3 3 times in row 1")):
        grid[:] = 0
        grid[: len(digits)] = digits
        assert first_clash(grid, jigsaw) == words
