"""The widest boards from end to end: 1,296 cells and digits beyond 32 bits, compared with plain Python."""

from __future__ import annotations

import functools
import math

import jax
import numpy as np
import pytest
import reference

from jaxsudoku import compiler_options, exact, symmetry
from jaxsudoku.cli import main
from jaxsudoku.core.board import MAX_SIDE, Board
from jaxsudoku.engine.solution import Status
from jaxsudoku.io import format_grids, parse

BOARD = Board.classic(MAX_SIDE)


@pytest.mark.slow
def test_solutions_are_found_and_counted():
    rng = np.random.default_rng(0)
    grids = [reference.full_grid(BOARD, rng) for _ in range(6)]
    puzzles = [reference.blanked(grid, BOARD.cells - 60, rng) for grid in grids]
    puzzles[0] = grids[0]
    cell, other = np.flatnonzero(puzzles[1][: BOARD.side])[:2]
    puzzles[1][cell] = puzzles[1][other]  # a clash
    puzzles[2][cell] = BOARD.side + 1
    # the digit that an empty cell needs, in another empty cell of its row, so that there is no solution
    row = next(row for row in range(BOARD.side) if (puzzles[3].reshape(BOARD.side, -1)[row] == 0).sum() > 1)
    one, another = row * BOARD.side + np.flatnonzero(puzzles[3].reshape(BOARD.side, -1)[row] == 0)[:2]
    puzzles[3][one] = grids[3][another]
    search = jax.jit(
        functools.partial(exact.search, board=BOARD, limit=3, restart=100, lanes=32),
        compiler_options=compiler_options(),
    )
    found = jax.tree.map(np.asarray, search(np.array(puzzles)))
    counts = [0 if reference.is_clash(BOARD, puzzle) else reference.count(BOARD, puzzle, 3) for puzzle in puzzles]
    assert counts[:3] == [1, 0, 0]
    assert min(counts[4:]) > 0
    assert found.counts.tolist() == counts
    invalid = [reference.is_clash(BOARD, puzzle) for puzzle in puzzles]
    for number, (status, count) in enumerate(zip(found.status, counts, strict=True)):
        expected = Status.INVALID if invalid[number] else Status.SOLVED if count else Status.UNSATISFIABLE
        assert status == expected
        if count:
            assert reference.is_solution(BOARD, found.grids[number], puzzles[number])


@pytest.mark.slow
def test_symmetries_keep_solutions():
    grid = reference.full_grid(BOARD, np.random.default_rng(0))
    lines = math.factorial(6) ** 7
    assert symmetry.order(BOARD) == 2 * lines**2 * math.factorial(36)

    @jax.jit
    def moved(grids):
        drawn = symmetry.sample(0, BOARD, 2)
        images = symmetry.apply(drawn, grids)
        return images, symmetry.apply(symmetry.invert(drawn), images)

    images, back = map(np.asarray, moved(np.stack([grid, grid])))
    assert (images != grid).any(axis=1).all()
    assert all(reference.is_solution(BOARD, image) for image in images)
    np.testing.assert_array_equal(back, [grid, grid])


def test_a_drawing_shows_every_digit(tmp_path, capsys):
    grid = reference.full_grid(BOARD, np.random.default_rng(0))
    grid[:36] = np.arange(1, 37)  # a row to be recognised
    grid[36:] = 0
    (tmp_path / "wide.txt").write_bytes(format_grids(grid[None], BOARD))
    assert main(["show", str(tmp_path / "wide.txt"), "--board", str(MAX_SIDE)]) == 0
    drawing = capsys.readouterr().out
    rows = [line for line in drawing.splitlines() if "│" in line]
    assert len(rows) == MAX_SIDE
    numbers = [line.replace("│", " ") for line in rows]
    np.testing.assert_array_equal(parse("\n".join(numbers), BOARD), grid)
