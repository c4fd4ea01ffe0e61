"""The rules: what each deduces, that none says too much, and that they treat all lanes, digits and lines alike."""

from __future__ import annotations

import functools
import itertools

import jax
import numpy as np
import pytest
import reference
from hypothesis import given, settings
from hypothesis import strategies as st

from jaxsudoku import compiler_options, propagation
from jaxsudoku.board import Board

pytestmark = pytest.mark.quick

RULES = propagation.RULES
BOARDS = {**reference.SMALL, **reference.NINE}

every_board = pytest.mark.parametrize("board", BOARDS.values(), ids=BOARDS)
small_boards = pytest.mark.parametrize("board", reference.SMALL.values(), ids=reference.SMALL)
every_rule = pytest.mark.parametrize("rules", RULES)


@functools.cache
def kernel(function, board, **settings):
    return jax.jit(functools.partial(function, board=board, **settings), compiler_options=compiler_options())


def on_candidates(function, board, left, **settings):
    """Runs a rule on candidates bool[B, side, cells], in any number of lanes."""
    size = len(left)
    filled_up = np.concatenate([left, np.ones((-size % 64, *left.shape[1:]), bool)])
    cubes = filled_up.reshape(-1, *(board.side,) * 3)
    after = [
        reference.to_lanes(kernel(function, board, **settings)(reference.from_lanes(cubes[start : start + 64])))
        for start in range(0, len(cubes), 64)
    ]
    return np.concatenate(after)[:size].reshape(left.shape)


def propagated(board, left, rules="locked", rounds=None):
    return on_candidates(propagation.propagate, board, left, rules=rules, rounds=rounds)


def swept(board, left, rules="locked"):
    return on_candidates(propagation.sweep, board, left, rules=rules)


def digits_of(board, grids):
    return np.asarray(grids)[:, None] == np.arange(1, board.side + 1)[:, None]


# ---------------------------------------------------------------------- what each rule deduces


@every_board
@pytest.mark.parametrize("rules", RULES[1:])
def test_the_fixpoint_is_the_plain_rules(board, rules):
    left = reference.candidates(board, reference.solvable(board, 32, givens=board.cells // 3))
    plain = np.array([reference.deduce(board, one, rules) for one in left])
    assert (plain != left).any()
    np.testing.assert_array_equal(propagated(board, left, rules), plain)


@every_board
def test_a_naked_single_leaves_its_houses(board):
    """Each lane has one cell with one candidate."""
    left = np.ones((board.cells, board.side, board.cells), bool)
    expected = left.copy()
    for cell in range(board.cells):
        left[cell, :, cell] = expected[cell, :, cell] = np.arange(board.side) == cell % board.side
        expected[cell, cell % board.side, list(reference.peers(board)[cell])] = False
    for rules in ("naked", "singles"):
        np.testing.assert_array_equal(swept(board, left, rules), expected)


@every_board
def test_a_hidden_single_takes_its_cell_and_leaves_its_houses(board):
    """Each lane has one house (row, column, box or region, extra) with one place for one digit."""
    cases = [(house, cell) for house in board.houses for cell in house]
    left = np.ones((len(cases), board.side, board.cells), bool)
    expected = left.copy()
    for lane, (house, cell) in enumerate(cases):
        digit = lane % board.side
        left[lane, digit, list(set(house) - {cell})] = False
        expected[lane, :, cell] = np.arange(board.side) == digit
        expected[lane, digit, list(reference.peers(board)[cell])] = False
    found = swept(board, left, "singles")
    # irregular houses may overlap so far that one hidden single makes another
    assert not (found & ~expected).any()
    if board.box is not None:
        np.testing.assert_array_equal(found, expected)
    np.testing.assert_array_equal(propagated(board, left, "naked"), left)


@every_board
def test_a_locked_candidate_leaves_the_rest_of_the_other_house(board):
    """Each lane has one house whose places for one digit all lie in another: pointing, claiming, and their likes."""
    overlapping = [(one, other) for one in board.houses for other in board.houses if len(set(one) & set(other)) > 1]
    cases = [(set(one), set(other)) for one, other in overlapping if set(one) != set(other)]
    left = np.ones((len(cases), board.side, board.cells), bool)
    expected = left.copy()
    for lane, (one, other) in enumerate(cases):
        digit = lane % board.side
        left[lane, digit, list(one - other)] = False
        expected[lane, digit, list((one - other) | (other - one))] = False
    found = on_candidates(propagation.locked_candidates, board, left)
    # where houses overlap further, one deduction may lead to the next in the same round
    assert not (found & ~expected).any()
    if not board.extra and board.box is not None:
        np.testing.assert_array_equal(found, expected)
    sample = np.arange(0, len(cases), 7)
    plain = np.array([reference.deduce(board, left[lane], "locked") for lane in sample])
    np.testing.assert_array_equal(propagated(board, left[sample]), plain)


@pytest.mark.parametrize(
    ("board", "house", "places", "cleared"),
    [
        # digit 4's places in a house, and cells that it goes from
        pytest.param(Board.classic(), "box 3", [27, 28, 29], [*range(30, 36)], id="pointing along a row"),
        pytest.param(Board.classic(), "box 3", [28, 46], [1, 10, 19, 55, 64, 73], id="pointing along a column"),
        pytest.param(Board.classic(), "row 3", [27, 29], [36, 37, 38, 45, 46, 47], id="claiming in a row"),
        pytest.param(Board.classic(), "column 1", [28, 46], [27, 29, 36, 38, 45, 47], id="claiming in a column"),
        pytest.param(Board.classic(6), "box 0", [0, 2], [3, 4, 5], id="2x3 pointing along a row"),
        pytest.param(Board.classic(6), "box 0", [1, 7], [13, 19, 25, 31], id="2x3 pointing along a column"),
        pytest.param(Board.classic(6), "row 0", [0, 1], [6, 7, 8], id="2x3 claiming in a row"),
        pytest.param(Board.classic(6), "column 1", [13, 19], [12, 14, 18, 20], id="2x3 claiming in a column"),
        pytest.param(Board.diagonal(), "box 0", [0, 20], [30, 40, 50, 60, 70, 80], id="pointing along a diagonal"),
        pytest.param(Board.diagonal(), "extra 1", [8, 24], [6, 7, 15, 17, 25, 26], id="claiming in a diagonal"),
        pytest.param(Board.windoku(), "extra 0", [10, 11], [9, *range(13, 18)], id="pointing out of a window"),
        pytest.param(reference.SMALL["jigsaw-5"], "box 0", [0, 2], [3, 4], id="irregular pointing"),
        pytest.param(reference.SMALL["jigsaw-5"], "row 0", [3, 4], [7, 8, 9], id="irregular claiming"),
    ],
)
def test_known_positions(board, house, places, cleared):
    kind, number = house.split()
    cells = board.houses[("row", "column", "box", "extra").index(kind) * board.side + int(number)]
    left = np.ones((1, board.side, board.cells), bool)
    left[0, 3, sorted(set(cells) - set(places))] = False
    gone = left & ~propagated(board, left)
    assert set(cleared) <= set(np.flatnonzero(gone[0, 3]))
    assert not gone[0, np.arange(board.side) != 3].any()
    np.testing.assert_array_equal(propagated(board, left, "singles"), left)


# ---------------------------------------------------------------------- soundness and order


@settings(max_examples=40)
@given(data=st.data(), board=reference.boards)
def test_no_rule_removes_what_a_solution_uses(data, board):
    puzzle = data.draw(reference.puzzles(board))
    found = np.array(reference.solutions(board, puzzle, 300)).reshape(-1, board.cells)
    before = reference.candidates(board, puzzle[None])
    fixpoints = {rules: propagated(board, before, rules)[0] for rules in RULES}
    used = digits_of(board, found).any(axis=0)
    for rules, left in fixpoints.items():
        assert not (used & ~left).any(), rules
        assert not (left & ~before[0]).any(), rules
    for weaker, stronger in itertools.pairwise(RULES):
        if len(found):
            assert not (fixpoints[stronger] & ~fixpoints[weaker]).any(), (weaker, stronger)


@every_board
@every_rule
def test_a_round_only_removes_and_the_fixpoint_stays(board, rules):
    rng = np.random.default_rng(0)
    left = rng.random((64, board.side, board.cells)) < rng.choice([0.2, 0.5, 0.8, 0.95], (64, 1, 1))
    left[:32] = reference.candidates(board, reference.batch(board, 32))
    assert not (swept(board, left, rules) & ~left).any()
    fixpoint = propagated(board, left, rules)
    assert not (fixpoint & ~left).any()
    np.testing.assert_array_equal(swept(board, fixpoint, rules), fixpoint)
    np.testing.assert_array_equal(propagated(board, fixpoint, rules), fixpoint)


@every_board
def test_each_level_deduces_at_least_as_much(board):
    left = reference.candidates(board, reference.solvable(board, 64, givens=board.cells // 3))
    levels = [propagated(board, left, rules) for rules in RULES]
    np.testing.assert_array_equal(levels[0], left)
    for lower, higher in itertools.pairwise(levels):
        assert not (higher & ~lower).any()


def test_rounds_are_sweeps():
    board = reference.SMALL["2x3"]
    left = reference.candidates(board, reference.unique(board, 64))
    fixpoint = propagated(board, left)
    np.testing.assert_array_equal(propagated(board, left, rounds=0), left)
    after = left
    for rounds in (1, 2, 3):
        after = swept(board, after)
        assert (after != fixpoint).any()
        np.testing.assert_array_equal(propagated(board, left, rounds=rounds), after)
    np.testing.assert_array_equal(propagated(board, left, rounds=100), fixpoint)


@small_boards
@given(seed=st.integers(0, 2**32 - 1))
@settings(max_examples=10)
def test_lanes_are_independent(board, seed):
    rng = np.random.default_rng(seed)
    left = reference.candidates(board, reference.batch(board, 64, seed))
    after = propagated(board, left)
    order = rng.permutation(64)
    np.testing.assert_array_equal(propagated(board, left[order]), after[order])
    kept = rng.random(64) < 0.5
    noise = rng.random(left.shape) < 0.7
    np.testing.assert_array_equal(propagated(board, np.where(kept[:, None, None], left, noise))[kept], after[kept])


def test_none_leaves_everything_and_unknown_rules_are_refused():
    board = reference.SMALL["4x4"]
    cubes = jax.numpy.zeros((4, 4, 4, 1), np.uint32)
    assert propagation.propagate(cubes, board, "none") is cubes
    assert propagation.sweep(cubes, board, "none") is cubes
    for function in (propagation.propagate, propagation.sweep):
        with pytest.raises(ValueError, match="unknown rules 'guess': choose one of none, naked, singles, locked"):
            function(cubes, board, "guess")


# ---------------------------------------------------------------------- symmetry in, symmetry out


def transposed(board):
    """The board with rows and columns swapped, and the cells to take for it."""
    cells = np.arange(board.cells).reshape(board.side, board.side).T.reshape(-1)
    if board.box is None:
        return Board(board.side, regions=tuple(np.asarray(board.regions)[cells])), cells
    place = np.argsort(cells)
    extra = tuple(tuple(place[list(house)]) for house in board.extra)
    return Board(board.side, box=board.box[::-1], extra=extra), cells


@every_board
@pytest.mark.parametrize("rules", RULES[1:])
def test_digits_are_alike(board, rules):
    left = reference.candidates(board, reference.batch(board, 64))
    order = np.random.default_rng(0).permutation(board.side)
    np.testing.assert_array_equal(swept(board, left[:, order], rules), swept(board, left, rules)[:, order])
    np.testing.assert_array_equal(propagated(board, left[:, order], rules), propagated(board, left, rules)[:, order])


@small_boards
def test_rows_and_columns_are_alike(board):
    left = reference.candidates(board, reference.batch(board, 64))
    other, cells = transposed(board)
    np.testing.assert_array_equal(propagated(other, left[..., cells]), propagated(board, left)[..., cells])


@pytest.mark.parametrize("name", ["4x4", "2x3", "3x2", "9x9"])
def test_bands_and_lines_in_them_are_alike(name):
    board = BOARDS[name]
    left = reference.candidates(board, reference.batch(board, 64))
    rng = np.random.default_rng(0)
    for _ in range(5):
        cells = reference.lines(board, rng)
        for run in (swept, propagated):
            np.testing.assert_array_equal(run(board, left[..., cells]), run(board, left)[..., cells])


@pytest.mark.parametrize("name", ["diagonal-4", "diagonal", "windoku"])
def test_a_quarter_turn_keeps_diagonals_and_windows(name):
    board = BOARDS[name]
    left = reference.candidates(board, reference.batch(board, 64))
    cells = np.rot90(np.arange(board.cells).reshape(board.side, board.side)).reshape(-1)
    np.testing.assert_array_equal(propagated(board, left[..., cells]), propagated(board, left)[..., cells])


# ---------------------------------------------------------------------- outcomes


@every_board
def test_outcomes_are_exact(board):
    rng = np.random.default_rng(0)
    grids = np.array([reference.full_grid(board, rng) for _ in range(64)])
    left = digits_of(board, grids)
    for lane in range(8, 64):
        cell = rng.integers(board.cells)
        if lane < 16:  # a wrong digit
            left[lane, :, cell] = np.roll(left[lane, :, cell], 1)
        elif lane < 24:  # no digit
            left[lane, :, cell] = False
        elif lane < 32:  # a choice
            left[lane, :, cell] = True
        elif lane < 48:
            left[lane] |= rng.random(left[lane].shape) < 0.5
        else:
            left[lane] &= rng.random(left[lane].shape) < 0.99
    no_candidate = (left.sum(axis=1) == 0).any(axis=1)
    no_place = np.any([~left[:, :, list(house)].any(axis=2) for house in board.houses], axis=(0, 2))
    settled = (left.sum(axis=1) == 1).all(axis=1)
    dead, solved = map(
        reference.to_lanes,
        kernel(propagation.outcome, board)(reference.from_lanes(left.reshape(-1, *(board.side,) * 3))),
    )
    np.testing.assert_array_equal(dead, no_candidate | no_place)
    np.testing.assert_array_equal(solved, settled & ~dead)
    assert solved[:8].all()
    assert dead[8:24].all()
    assert not (dead | solved)[24:48].any()


@every_board
def test_duplicated_givens_are_found(board):
    grids = reference.with_repeats(board)
    planes = reference.from_lanes(digits_of(board, grids).reshape(-1, *(board.side,) * 3))
    repeated = reference.to_lanes(kernel(propagation.duplicated_givens, board)(planes))
    np.testing.assert_array_equal(repeated, [reference.is_clash(board, grid) for grid in grids])
    assert not repeated[:16].any()
