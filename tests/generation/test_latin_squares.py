"""Latin squares, futoshiki and calcudoku: random ones without givens, or with few, have the solution they come from."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
import reference

import jaxsudoku as js
from jaxsudoku.core.constraints.base import Constraint


def squares(side: int, count: int) -> np.ndarray:
    """Latin squares uint8[count, side, side]: a cyclic one with its rows, columns and digits exchanged at random."""
    rng, cyclic = np.random.default_rng(side), np.add.outer(np.arange(side), np.arange(side)) % side
    order = [[rng.permutation(side) for _ in range(3)] for _ in range(count)]
    return np.array([1 + digits[cyclic[rows][:, columns]] for rows, columns, digits in order], np.uint8)


def futoshiki(square: np.ndarray) -> list[Constraint]:
    """All inequalities of a square."""
    side = len(square)
    cells = np.arange(side * side).reshape(side, side)
    pairs = [
        *zip(cells[:, :-1].flat, cells[:, 1:].flat, strict=True),
        *zip(cells[:-1].flat, cells[1:].flat, strict=True),
    ]
    digits = square.reshape(-1)
    return js.constraints.futoshiki([sorted(pair, key=lambda cell: digits[cell]) for pair in pairs], side=side)


def calcudoku(square: np.ndarray) -> list[Constraint]:
    """Cages of two cells side by side, of one cell at the end of an odd row, with all operations."""
    side, cages = len(square), []
    for row, digits in enumerate(square.astype(int)):
        start = row % 2 if side % 2 else 0
        cuts = [0, *range(start or 2, side, 2), side]
        for number, (first, last) in enumerate(itertools.pairwise(cuts)):
            own = digits[first:last]
            low, high = sorted(own)[0], sorted(own)[-1]
            operation = "+*-/"[(row + number) % 4]
            if (operation == "/" and high % low) or len(own) == 1:
                operation = "+"
            total = {"+": own.sum(), "*": own.prod(), "-": high - low, "/": high // low}[operation]
            cages.append(([row * side + cell for cell in range(first, last)], int(total), operation))
    return js.constraints.calcudoku(cages, side=side)


def check(side: int, count: int) -> None:
    board = js.Board.named(f"1x{side}")
    made = squares(side, count)
    # half of the puzzles are of either kind, so that one program serves both; few givens make them unique or nearly so
    clues = [calcudoku(square) if number % 2 else futoshiki(square) for number, square in enumerate(made)]
    givens = np.random.default_rng(1).random((count, side * side)) < 0.15
    givens[: count // 2] = False
    puzzles = np.where(givens, made.reshape(count, -1), 0).astype(np.uint8)
    found = js.solve(puzzles, board, clues=clues)
    assert (found.status == js.Status.SOLVED).all()
    for grid, puzzle, own in zip(found.grids, puzzles, clues, strict=True):
        assert reference.is_solution(board.with_(own), grid, puzzle)


def test_futoshiki_and_calcudoku_of_side_five_are_solved():
    check(5, 20)


@pytest.mark.thorough
@pytest.mark.parametrize("side", [7, 9])
def test_futoshiki_and_calcudoku_up_to_side_nine_are_solved(side):
    check(side, 32)
