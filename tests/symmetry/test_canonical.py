"""Canonical forms: those that brute force finds, the same for all that is equivalent and for nothing else."""

from __future__ import annotations

import itertools
import re
from pathlib import Path

import jax
import numpy as np
import pytest
import reference

import jaxsudoku as js
from jaxsudoku.core.board import Board
from jaxsudoku.explanation import proof
from jaxsudoku.symmetry import canonical, hashes, solution_hashes

NINE = Board.classic()
SHIPPED = Path(js.__file__).parent / "puzzles" / "9x9.txt"

#: The permutations of rows that keep bands whole, int64[1296, 9]; of columns and stacks too.
ORDERS = np.array(
    [
        [3 * band + row for band, rows in zip(bands, each, strict=True) for row in rows]
        for bands in itertools.permutations(range(3))
        for each in itertools.product(itertools.permutations(range(3)), repeat=3)
    ]
)


def most_symmetrical() -> np.ndarray:
    """The solved grid that has the most automorphisms, 648: uint8[81]."""
    band, row, stack, column = np.indices((3, 3, 3, 3), np.uint8).reshape(4, 81)
    return 3 * ((row + stack) % 3) + (band + column) % 3 + 1


@pytest.fixture(scope="module")
def solved() -> np.ndarray:
    """The solutions of puzzles that are shipped, and two grids of many symmetries; uint8[122, 81]."""
    found = [proof.count(puzzle, NINE, None, 10_000) for puzzle in js.read_puzzles(SHIPPED, NINE)[:120]]
    assert all(each.number == 1 for each in found)
    return np.array([*(each.first for each in found), reference.pattern(NINE), most_symmetrical()], np.uint8)


def moved(rng: np.random.Generator, *grids: np.ndarray) -> list[np.ndarray]:
    """The images of grids uint8[n, 81] under random symmetries, the n-th of each under the same."""
    size = len(grids[0])
    rows, columns = ORDERS[rng.integers(1296, size=(2, size))]
    cells = 9 * rows[:, :, None] + columns[:, None, :]
    cells = np.where(rng.random((size, 1, 1)) < 0.5, cells, cells.swapaxes(1, 2)).reshape(size, 81)
    labels = np.zeros((size, 10), np.uint8)
    labels[:, 1:] = rng.permuted(np.tile(np.arange(1, 10), (size, 1)), axis=1)
    return [np.take_along_axis(labels, np.take_along_axis(each, cells, 1).astype(int), 1) for each in grids]


def punctured(rng: np.random.Generator, grids: np.ndarray, givens: int = 30) -> np.ndarray:
    return np.array([reference.blanked(grid, givens, rng) for grid in grids])


def by_brute_force(solution: np.ndarray, puzzle: np.ndarray) -> tuple[np.ndarray, np.ndarray, int]:
    """The forms of a solution and of its puzzle, and how many symmetries lead to the first, from all 3,359,232."""
    arranged, blanked = (
        np.moveaxis(np.stack([grid, grid.T])[:, :, ORDERS], 2, 1)
        for grid in (solution.reshape(9, 9), puzzle.reshape(9, 9))
    )
    labels = np.zeros((2, 1296, 9, 10), np.uint8)  # of the digits, by the row that comes first
    np.put_along_axis(labels, arranged.astype(int), np.arange(1, 10, dtype=np.uint8), axis=-1)
    numbers = np.empty((2, 1296, 9, 9), np.int64)  # each row read as a number, by the row that comes first
    for first in range(9):
        relabelled = np.take_along_axis(labels[:, :, first, None], arranged.astype(int), axis=-1)
        numbers[:, :, first] = relabelled @ 10 ** np.arange(8, -1, -1)
    turned, columns, rows = (axis.ravel() for axis in np.indices((2, 1296, 1296)))
    form = []
    for row in range(9):
        number = numbers[turned, columns, ORDERS[rows, 0], ORDERS[rows, row]]
        least = number == number.min()
        turned, columns, rows = turned[least], columns[least], rows[least]
        form += [int(digit) for digit in str(number.min())]
    first = ORDERS[rows, 0]
    images = [
        tuple(label[blank[order]].ravel())
        for label, blank, order in zip(
            labels[turned, columns, first], blanked[turned, columns], ORDERS[rows], strict=True
        )
    ]
    return np.array(form), np.array(min(images)), len(images)


def test_forms_are_those_of_brute_force(solved):
    rng = np.random.default_rng(0)
    grids = solved[-3:]
    puzzles = punctured(rng, grids, 24)
    forms, puzzle_forms, automorphisms = zip(*map(by_brute_force, grids, puzzles), strict=True)
    np.testing.assert_array_equal(canonical(grids), forms)
    np.testing.assert_array_equal(canonical(puzzles, grids), puzzle_forms)
    assert automorphisms == (1, 54, 648)


def test_equivalent_grids_have_the_same_form(solved):
    rng = np.random.default_rng(1)
    forms = canonical(solved)
    assert forms.dtype == np.uint8
    np.testing.assert_array_equal(canonical(*moved(rng, solved)), forms)
    np.testing.assert_array_equal(canonical(forms), forms)
    assert all(reference.is_solution(NINE, form) for form in forms[:20])


def test_other_grids_have_other_forms(solved):
    assert len(np.unique(canonical(solved), axis=0)) == len(solved)


def test_equivalent_puzzles_have_the_same_form(solved):
    rng = np.random.default_rng(2)
    puzzles = punctured(rng, solved)
    forms = canonical(puzzles, solved)
    images, solutions = moved(rng, puzzles, solved)
    np.testing.assert_array_equal(canonical(images, solutions), forms)
    # a form is a puzzle of as many givens, whose solution is the form of the solution
    solution_forms = canonical(solved)
    assert ((forms > 0).sum(axis=1) == 30).all()
    np.testing.assert_array_equal(forms, np.where(forms > 0, solution_forms, 0))
    np.testing.assert_array_equal(canonical(forms, solution_forms), forms)


@pytest.mark.parametrize("givens", [1, 4, 17])
def test_a_puzzle_of_the_most_symmetrical_grid_has_one_form(givens):
    rng = np.random.default_rng(3)
    solution = most_symmetrical()
    images = moved(rng, *(np.tile(grid, (20, 1)) for grid in (reference.blanked(solution, givens, rng), solution)))
    assert len(np.unique(canonical(*images), axis=0)) == 1


def test_a_clue_less_is_another_puzzle(solved):
    rng = np.random.default_rng(4)
    grids = solved[:60]
    puzzles = punctured(rng, grids)
    fewer = puzzles.copy()
    for puzzle in fewer:
        puzzle[rng.choice(np.flatnonzero(puzzle))] = 0
    assert (canonical(puzzles, grids) != canonical(fewer, grids)).any(axis=1).all()
    # where the solution has no automorphism, no two pairs of clues are equivalent
    pairs = np.array(
        [np.where(np.isin(np.arange(81), pair), grids[0], 0) for pair in itertools.combinations(range(30), 2)]
    )
    assert len(np.unique(canonical(pairs, np.tile(grids[0], (len(pairs), 1))), axis=0)) == len(pairs)


def test_puzzles_are_solved_where_no_solution_is_named(solved):
    grids, puzzles = solved[:24].reshape(2, 12, 81), js.read_puzzles(SHIPPED, NINE)[:24].reshape(2, 12, 81)
    mixed = np.where(np.arange(12)[:, None] % 3 == 0, grids, puzzles)
    np.testing.assert_array_equal(canonical(mixed), canonical(mixed, grids))


@pytest.mark.parametrize("shape", [(), (1,), (2, 3), (2, 0), (0,)])
def test_any_batch_shape(solved, shape):
    grids = np.resize(solved, (*shape, 81))
    forms = canonical(grids)
    assert forms.shape == grids.shape
    assert hashes(forms).shape == shape
    alone = [canonical(grid) for grid in grids.reshape(-1, 81)]
    np.testing.assert_array_equal(forms.reshape(-1, 81), np.array(alone, np.uint8).reshape(-1, 81))


def test_a_grid_has_its_form_wherever_it_stands(solved):
    np.testing.assert_array_equal(canonical(solved[::-1])[::-1], canonical(solved))


def test_the_input_is_left_alone(solved):
    puzzle, solution = reference.blanked(solved[0], 40, np.random.default_rng(5)), solved[0].copy()
    before = puzzle.copy(), solution.copy()
    form = canonical(puzzle, solution)
    form[:] = 0
    np.testing.assert_array_equal((puzzle, solution), before)


def test_hashes_tell_forms_apart(solved):
    forms = canonical(solved)
    assert hashes(forms).dtype == np.uint64
    assert len(np.unique(hashes(forms))) == len(forms)
    changed = np.tile(forms[0], (81, 1))
    np.fill_diagonal(changed, 0)
    assert len(np.unique(hashes(changed))) == 81
    # what is stored beside a training set must not change
    assert hashes(canonical(most_symmetrical())) == 146933516529278932


# ---------------------------------------------------------------------- errors


def raises(message: str, *arguments: np.ndarray) -> None:
    with pytest.raises(ValueError, match=re.escape(message)):
        canonical(*arguments)


@pytest.mark.parametrize("shape", [(), (80,), (9, 8), (4, 256)])
def test_other_boards_are_refused(shape):
    raises(
        f"grids of shape {shape}; canonical forms are for the classic 9x9 board, [..., 81]", np.ones(shape, np.uint8)
    )
    with pytest.raises(ValueError, match="forms of shape"):
        hashes(np.ones(shape, np.uint8))


def test_what_is_wrong_is_named(solved):
    grids = solved[:60].copy()
    raises("grids of dtype int64; they must be uint8", grids.astype(np.int64))
    raises("solutions of dtype float32", grids, grids.astype(np.float32))
    raises("solutions of shape (59, 81) for grids of shape (60, 81)", grids, grids[1:])
    puzzles, solutions = punctured(np.random.default_rng(6), grids), grids.copy()
    puzzles[-1] = solutions[-1]
    puzzles[-1, 7] = solutions[-1, 8]
    raises("grid 59 disagrees with its solution", puzzles, solutions)
    raises("grid 5, 9 disagrees with its solution", puzzles.reshape(6, 10, 81), solutions.reshape(6, 10, 81))
    raises("the grid disagrees with its solution", puzzles[-1], solutions[-1])
    solutions[58, [3, 4]] = solutions[58, [4, 3]]
    raises("grid 58 has a solution that is not solved", puzzles, solutions)
    raises("grid 58 is full but not solved", solutions)


def test_squares_have_forms(solved):
    grids = solved[:4]
    forms = canonical(grids)
    square = canonical(grids.reshape(2, 2, 9, 9))
    assert square.shape == (2, 2, 9, 9)
    np.testing.assert_array_equal(square.reshape(4, 81), forms)
    np.testing.assert_array_equal(hashes(square), hashes(forms).reshape(2, 2))
    np.testing.assert_array_equal(solution_hashes(grids.reshape(2, 2, 9, 9)), hashes(forms).reshape(2, 2))
    broken = grids.reshape(2, 2, 9, 9).copy()
    broken[1, 0, 0, 0] = broken[1, 0, 0, 1]
    raises("grid 1, 0 is full but not solved", broken)


def test_traced_grids_are_refused(solved):
    for function in (canonical, hashes, solution_hashes):
        with pytest.raises(TypeError, match="are traced, but this function runs on the host"):
            jax.jit(function)(solved[:2])


@pytest.mark.parametrize("value", [10, 17, 64, 255])
def test_a_value_that_is_no_digit_is_refused(solved, value):
    grids = solved[:3].copy()
    grids[1][grids[1] == 1] = value
    raises("grid 1 is full but not solved", grids)
    raises("grid 1 disagrees with its solution", grids, solved[:3])


def test_a_puzzle_without_its_one_solution_is_refused(solved):
    grids = solved[:4].copy()
    grids[2][grids[2] <= 2] = 0  # these two digits may be swapped
    raises("grid 0, 2 has several solutions", grids[None])
    grids[1, :2] = 0
    grids[1, 0] = grids[1, 2]
    raises("grid 1 has no solution", grids)
    grids[1, 0] = 10
    raises("grid 1 has no solution", grids)


# ---------------------------------------------------------------------- many


def test_many_classes_are_as_many_forms(solved):
    images = moved(np.random.default_rng(7), np.repeat(solved, 8, axis=0))[0]
    forms = canonical(images).reshape(len(solved), 8, 81)
    assert (forms == forms[:, :1]).all()
    assert len(np.unique(forms.reshape(-1, 81), axis=0)) == len(solved)


@pytest.mark.slow
def test_the_puzzles_of_17_clues_are_not_equivalent(shared_data):
    path = shared_data / "17clue.txt"
    if not path.is_file():
        pytest.skip(f"no puzzles of 17 clues: {path} is no file")
    puzzles = js.read_puzzles(path, NINE)
    solutions = js.solve(puzzles).grids
    forms = canonical(puzzles, solutions)
    assert len(np.unique(forms, axis=0)) == len(np.unique(hashes(forms))) == len(puzzles) == 24576
    np.testing.assert_array_equal(canonical(*moved(np.random.default_rng(8), puzzles, solutions)), forms)
