"""Puzzles with constraints of their own, or of their board: the constraints hold, and the solution is unique."""

from __future__ import annotations

import functools

import jax
import numpy as np
import pytest
import reference

import jaxsudoku as js
from jaxsudoku.core.board import Board
from jaxsudoku.core.constraints.clues import Clues
from jaxsudoku.generation import VARIANTS, GenerateConfig, check_settings, random_clues
from jaxsudoku.generation.grids import random_grids

FOUR, SIX, NINE = Board.classic(4), Board.classic(6), Board.classic()
#: Boards of side four with constraints that leave few grids.
ORDERED = FOUR.with_(js.constraints.thermometer("r1c1 r1c2 r2c2", side=4))
SIZE = 40


@functools.cache
def grids(board: Board) -> np.ndarray:
    """Solved grids of the board: one with its digits exchanged at random."""
    rng, grid = np.random.default_rng(5), reference.pattern(board)
    return np.array([1 + rng.permutation(board.side)[grid - 1] for _ in range(SIZE)], np.uint8)


def drawn(variant: str, board: Board, rows: slice = slice(None)) -> tuple[random_clues.Drawn, np.ndarray]:
    seeds = random_clues.Seeds(np.arange(SIZE)[rows])
    return random_clues.DRAW[variant](grids(board)[rows], board, seeds)


# ---------------------------------------------------------------------- drawing


@pytest.mark.parametrize("board", [FOUR, SIX, NINE], ids=str)
@pytest.mark.parametrize("variant", VARIANTS)
def test_drawn_constraints_hold_and_fit_the_board(variant, board):
    found, good = drawn(variant, board)
    assert good.mean() > 0.5 and any(len(entries.puzzle) for entries in found.values())
    clues = Clues.of_entries(SIZE, board.cells, found)
    for puzzle, grid in enumerate(grids(board).astype(np.int32)):
        own = clues.constraints(puzzle)
        assert bool(own) == good[puzzle] or variant != "killer"
        for one in own:
            one.checked(board.side)
            assert one.holds([grid[cell] for cell in one.cells], one.numbers, board.side)


@pytest.mark.parametrize("board", [FOUR, NINE], ids=str)
def test_cages_cover_the_grid_and_are_connected(board):
    found, good = drawn("killer", board)
    clues = Clues.of_entries(SIZE, board.cells, found)
    sizes = []
    for puzzle in np.flatnonzero(good):
        cages = [one.cells for one in clues.constraints(puzzle)]
        assert sorted(cell for cage in cages for cell in cage) == list(range(board.cells))
        sizes += map(len, cages)
        for cage in cages:
            reached, left = {cage[0]}, set(cage[1:])
            while near := {cell for cell in left if any(_touch(cell, other, board.side) for other in reached)}:
                reached, left = reached | near, left - near
            assert not left
    assert set(sizes) <= {2, 3, 4, 5}
    if board == NINE:
        assert 2.7 < np.mean(sizes) < 3.3


def _touch(one: int, other: int, side: int) -> bool:
    return abs(one // side - other // side) + abs(one % side - other % side) == 1


@pytest.mark.parametrize(("variant", "least", "most"), [("thermometer", 3, 6), ("arrow", 3, 5)])
def test_lines_share_no_cell_and_their_cells_are_neighbours(variant, least, most):
    clues = Clues.of_entries(SIZE, NINE.cells, drawn(variant, NINE)[0])
    for puzzle in range(SIZE):
        lines = [one.cells for one in clues.constraints(puzzle)]
        cells = [cell for line in lines for cell in line]
        assert len(cells) == len(set(cells))
        for line in lines:
            assert least <= len(line) <= most
            steps = np.abs(np.diff(np.divmod(line, 9), axis=1))
            assert (steps.max(axis=0) == 1).all()


def test_all_dots_of_a_grid_are_drawn():
    clues = Clues.of_entries(SIZE, NINE.cells, drawn("kropki", NINE)[0])
    grid = grids(NINE)[3].reshape(9, 9).astype(int)
    pairs = [(grid[:, :-1], grid[:, 1:]), (grid[:-1], grid[1:])]
    dots = sum(((abs(one - other) == 1) | (one == 2 * other) | (other == 2 * one)).sum() for one, other in pairs)
    assert len(clues.constraints(3)) == dots


@pytest.mark.parametrize("variant", VARIANTS)
def test_constraints_of_a_grid_depend_on_its_seed_alone(variant):
    whole = random_clues.renumbered(drawn(variant, SIX)[0], np.arange(10, 20), np.arange(10))
    part_of_them = drawn(variant, SIX, slice(10, 20))[0]
    assert set(part_of_them) == set(whole)
    for key, entries in part_of_them.items():
        for part, expected in zip(entries, whole[key], strict=True):
            np.testing.assert_array_equal(part, expected)


# ---------------------------------------------------------------------- generation


@functools.cache
def killers() -> js.VariantPuzzles:
    return js.generate_variants(1, 30, "killer", FOUR)


def test_killers_have_one_solution_and_no_givens():
    made = killers()
    assert not made.puzzles.any() and made.puzzles.dtype == np.uint8
    for puzzle, solution in enumerate(made.solutions):
        board = FOUR.with_(made.clues.constraints(puzzle))
        assert [list(found) for found in reference.solutions(board, made.puzzles[puzzle], 2)] == [solution.tolist()]


def test_a_longer_run_begins_with_the_puzzles_of_a_shorter_one():
    whole, part = killers(), js.generate_variants(1, 7, "killer", FOUR)
    np.testing.assert_array_equal(part.solutions, whole.solutions[:7])
    for puzzle in range(7):
        assert set(part.clues.constraints(puzzle)) == set(whole.clues.constraints(puzzle))
    assert (js.generate_variants(2, 7, "killer", FOUR).solutions != part.solutions).any()


def test_puzzles_from_a_number_on_are_those_of_a_longer_run():
    whole, rest = killers(), js.generate_variants(1, 8, "killer", FOUR, first=22)
    np.testing.assert_array_equal(rest.solutions, whole.solutions[22:])
    assert [set(rest.clues.constraints(row)) for row in range(8)] == [
        set(whole.clues.constraints(22 + row)) for row in range(8)
    ]


def test_givens_are_removed_while_the_solution_is_unique():
    made = js.generate_variants(1, 20, "thermometer", FOUR, givens=3)
    assert ((made.puzzles > 0).sum(axis=1) == 3).all()
    for puzzle, solution in enumerate(made.solutions):
        board = FOUR.with_(made.clues.constraints(puzzle))
        (found,) = reference.solutions(board, made.puzzles[puzzle], 2)
        np.testing.assert_array_equal(found, solution)
        assert ((made.puzzles[puzzle] == solution) | (made.puzzles[puzzle] == 0)).all()


@pytest.mark.slow
def test_the_constraints_of_the_board_hold_too():
    made = js.generate_variants(1, 10, "killer", ORDERED)
    for puzzle, solution in enumerate(made.solutions):
        board = ORDERED.with_(made.clues.constraints(puzzle))
        assert reference.is_solution(board, solution) and reference.count(board, [0] * 16, 2) == 1


def test_too_few_attempts_raise_with_the_puzzles_that_were_found():
    with pytest.raises(
        js.GenerationError, match="of 50 puzzles found: 1 attempts at each.*arrow, 0 givens on 4x4"
    ) as error:
        js.generate_variants(1, 50, "arrow", FOUR, givens=0, attempts=1)
    found = error.value.found
    assert len(found.puzzles) == len(found.solutions) == len(found.clues) < 50


def test_bad_arguments_are_named():
    with pytest.raises(ValueError, match="unknown variant 'killers'.*did you mean 'killer'"):
        js.generate_variants(1, 5, "killers")
    with pytest.raises(ValueError, match="givens"):
        js.generate_variants(1, 5, givens=82)


# ---------------------------------------------------------------------- boards with constraints


def test_random_grids_of_a_board_with_constraints_satisfy_them():
    kernel = jax.jit(functools.partial(random_grids, ORDERED), compiler_options=js.compiler_options())
    made = np.asarray(kernel(np.stack([np.full(800, 7), np.arange(800)], axis=1).astype(np.uint32)))
    assert all(reference.is_solution(ORDERED, grid) for grid in made)
    assert len(np.unique(made, axis=0)) == reference.count(ORDERED, [0] * 16, 1000)


def test_puzzles_of_a_board_with_constraints_are_unique_and_minimal():
    made = js.generate(1, 20, ORDERED, batch_size=64)
    for puzzle, solution in zip(made.puzzles, made.solutions, strict=True):
        (found,) = reference.solutions(ORDERED, puzzle, 2)
        np.testing.assert_array_equal(found, solution)
        for cell in np.flatnonzero(puzzle):
            less = puzzle.copy()
            less[cell] = 0
            assert reference.count(ORDERED, less, 2) == 2
    assert made.clues.min() < 4  # what no puzzle without constraints has


def test_constraints_that_order_digits_allow_fewer_clues():
    check_settings(ORDERED, GenerateConfig(clues=1))
    with pytest.raises(ValueError, match="fewer than 3"):
        check_settings(FOUR.with_(js.constraints.anti_king(side=4)), GenerateConfig(clues=1))
