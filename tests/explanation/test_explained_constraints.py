"""Explanations on boards with constraints: every step is sound, and the proofs count the constraints."""

from __future__ import annotations

import functools
import itertools

import constrained
import numpy as np
import pytest
from reference import solutions

import jaxsudoku as js
from jaxsudoku.core.board import Board
from jaxsudoku.core.host_rules import is_complete
from jaxsudoku.explanation import findings, prove
from jaxsudoku.explanation.proof import count
from jaxsudoku.explanation.view import View
from jaxsudoku.techniques.registry import fits, get
from jaxsudoku.techniques.swappable import rectangles

pytestmark = pytest.mark.quick

FOUR, SIX = Board.classic(4), Board.classic(6)
#: Empty grids that constraints determine, with the solution of each.
DETERMINED = {"thermometers": constrained.FOUR, "cages": constrained.SIX}


@pytest.mark.parametrize("name", DETERMINED)
def test_steps_solve_what_constraints_determine(name):
    board, grid = DETERMINED[name]
    solution = np.array([*map(int, grid)])
    explanation = js.explain("." * board.cells, board)
    assert explanation.solved
    np.testing.assert_array_equal(explanation.grid, solution)
    for step in explanation:
        for row, column, digit in step.eliminate:
            assert solution[(row - 1) * board.side + column - 1] != digit, step
    assert {"constraint", "hidden-single-in-region"} <= {step.technique for step in explanation}


def test_sentences_name_the_constraint():
    board, _ = DETERMINED["cages"]
    texts = [step.text for step in js.explain("." * 36, board) if step.technique == "constraint"]
    assert texts[0] == (
        "The cage of r1c4 and r1c5 with a total of 10 allows only 4 and 6: constraint. So r1c4 and r1c5 are not 1, 2, "
        "3 or 5."
    )
    assert any(text.startswith("By the 45 rule r5c3 is 1: constraint.") for text in texts)
    assert any("with a total of 9 allows only 1 or 2 in r3c4 and 2 or 3 in r3c5: constraint." in text for text in texts)


def test_forcing_chains_apply_constraints():
    board, grid = DETERMINED["thermometers"]
    names = ["full-house", "hidden-single-in-region", "naked-single", "forcing-chain"]
    explanation = js.explain("." * 16, board, techniques=names)
    assert "".join(map(str, explanation.grid)) == grid
    (first,) = (step for step in explanation if step.eliminate == ((1, 1, 1),))
    assert first.text == (
        "If r1c1 is 1: the thermometer of r2c1, r1c1 and r2c2 can't be satisfied; so r1c1 can take no digit: forcing "
        "chain. So r1c1 is not 1."
    )


def test_forcing_chains_come_shortest_first():
    lengths = []
    for cells in range(6):
        view = View(SIX.with_(constrained.SIX[0].constraints[cells:]), np.zeros(36, np.uint8))
        lengths.append([finding.text.count("; ") for finding in findings(view, "forcing-chain")])
    assert lengths == [sorted(own) for own in lengths]
    assert sum(len(set(own)) > 6 for own in lengths) > 3


def test_a_filled_cell_excludes_its_digit_by_a_rule_of_the_whole_board():
    board = SIX.with_(js.constraints.anti_knight(6))
    puzzle = np.zeros(36, np.uint8)
    puzzle[14] = 5
    (finding,) = findings(View(board, puzzle), "constraint")
    moves = {(row, column) for row, column in itertools.product((-2, -1, 1, 2), repeat=2) if abs(row * column) == 2}
    knights = {14 + 6 * row + column for row, column in moves if 0 <= 2 + row < 6 and 0 <= 2 + column < 6}
    seen = View(board, puzzle).layout.sees[14]
    assert finding.remove == tuple((4, cell) for cell in sorted(knights) if not seen >> cell & 1)


@functools.cache
def grids() -> np.ndarray:
    """All 288 solutions of the empty 4x4 board."""
    return np.array(solutions(FOUR, [0] * 16, 300), np.uint8)


@pytest.mark.parametrize("cage", [("r1c1 r1c2 r2c1", 6), ("r1c1 r2c3", 7)])
def test_proofs_count_the_constraints(cage):
    board = FOUR.with_(js.constraints.killer([cage], side=4))
    left = grids()[is_complete(grids(), board)]
    assert 1 < len(left) < 288
    rng = np.random.default_rng(3)
    kinds = set()
    for _ in range(40):
        puzzle = np.where(rng.random(16) < 0.3, left[rng.integers(len(left))], 0).astype(np.uint8)
        number = ((left == puzzle) | (puzzle == 0)).all(axis=1).sum()
        found = count(puzzle, board, None, 1000)
        assert found is not None and found.number == min(number, 2)
        assert prove(puzzle, board).unique == (number == 1)
        kinds.add((found.number, count(puzzle, FOUR, None, 1000).number))
    assert (1, 2) in kinds


SWAPPED = {
    "no constraint": [],
    "a cage along a rectangle": js.constraints.killer([("r1c1 r1c2", 5)], side=4),
    "a cage of three": js.constraints.killer([("r1c1 r1c2 r2c1", 6)], side=4),
    "a thermometer": js.constraints.thermometer("r1c1 r2c2", side=4),
    "a dot": js.constraints.kropki(["r2c2 r2c3"], side=4),
}


@pytest.mark.parametrize("name", SWAPPED)
def test_a_swap_in_a_rectangle_breaks_no_constraint(name):
    board = FOUR.with_(SWAPPED[name])
    allowed, plain = rectangles(board), rectangles(FOUR)
    assert not (allowed & ~plain).any()
    assert (allowed == plain).all() == (name == "no constraint")
    assert allowed.any()
    broken = set()
    for top, bottom, left, right in np.argwhere(plain).tolist():
        corners = [4 * top + left, 4 * top + right, 4 * bottom + left, 4 * bottom + right]
        a, b, c, d = grids()[:, corners].T
        deadly = grids()[(a == d) & (b == c)]
        swapped = deadly.copy()
        swapped[:, corners] = deadly[:, [corners[number] for number in (1, 0, 3, 2)]]
        differ = (is_complete(deadly, board) != is_complete(swapped, board)).any()
        if differ:
            broken.add((top, bottom, left, right))
            assert not allowed[top, bottom, left, right]
    assert bool(broken) == (name != "no constraint")


def test_the_technique_needs_constraints():
    assert not fits(get("constraint"), SIX)
    assert fits(get("constraint"), DETERMINED["cages"][0])
