"""The rules: what each deduces, that none says too much, and that they treat all lanes, digits and lines alike."""

from __future__ import annotations

import functools
import itertools

import jax
import numpy as np
import pytest
import reference
from mask_words import from_masks, to_masks

import jaxsudoku as js
from jaxsudoku import compiler_options
from jaxsudoku.core import propagation, tuning
from jaxsudoku.core.board import Board
from jaxsudoku.core.layouts import Masks, Planes
from jaxsudoku.testing.rule import check_deductions

pytestmark = pytest.mark.quick

RULES = tuning.RULES

#: The kinds of boards: irregular regions, boxes that are no squares, diagonals, and windows.
BOARDS = {name: {**reference.SMALL, **reference.NINE}[name] for name in ("jigsaw-5", "2x3", "diagonal-4", "windoku")}
#: Boards whose houses coincide, or of which no two share two cells.
ODD = {
    "latin": Board.jigsaw(((np.arange(5)[:, None] + np.arange(5)) % 5).tolist()),
    "rows are boxes": Board(4, box=(1, 4)),
    "repeated": Board(3, box=(3, 1), extra=((0, 1, 2), (0, 4, 8))),
}
every_board = pytest.mark.parametrize("board", BOARDS.values(), ids=BOARDS)
every_layout = pytest.mark.parametrize("form", [Planes, Masks])

LANES = 64


@functools.cache
def kernel(layout):
    """All that is asked about candidates of a layout, as one program."""

    def run(left):
        fixpoints = {rules: propagation.fixpoint(layout, left, rules) for rules in RULES}
        rounds = {rules: propagation.sweep(layout, left, rules) for rules in RULES}
        locked = propagation.locked_candidates(layout, left)
        outcome, duplicated = propagation.classify(layout, left), propagation.duplicated_givens(layout, left)
        return {"propagate": fixpoints, "sweep": rounds, "locked": locked, "outcome": outcome, "duplicated": duplicated}

    return jax.jit(run, compiler_options=compiler_options())


def run(board, left, form=Planes):
    """What the kernel says about candidates bool[B, side, cells], by lanes."""
    return _run(form(board), left.tobytes())


@functools.cache
def _run(layout, data):
    board = layout.board
    left = np.frombuffer(data, bool).reshape(-1, board.side, board.cells)
    size = len(left)
    filled_up = np.concatenate([left, np.ones((-size % LANES, *left.shape[1:]), bool)])

    def by_kernel(left):
        if isinstance(layout, Masks):
            return jax.tree.map(
                lambda x: from_masks(x) if x.ndim > 1 else np.asarray(x), kernel(layout)(to_masks(left))
            )
        planes = reference.from_lanes(left.reshape(-1, *(board.side,) * 3))
        return jax.tree.map(reference.to_lanes, kernel(layout)(planes))

    parts = [by_kernel(filled_up[start : start + LANES]) for start in range(0, len(filled_up), LANES)]

    def joined(*parts):
        lanes = np.concatenate(parts)[:size]
        return lanes.reshape(left.shape) if lanes.ndim > 1 else lanes

    return jax.tree.map(joined, *parts)


def propagated(board, left, rules="locked"):
    return run(board, left)["propagate"][rules]


def swept(board, left, rules="locked"):
    return run(board, left)["sweep"][rules]


def digits_of(board, grids):
    return np.asarray(grids)[:, None] == np.arange(1, board.side + 1)[:, None]


# ---------------------------------------------------------------------- what each rule deduces


@every_layout
@pytest.mark.parametrize("board", [*BOARDS.values(), *ODD.values()], ids=[*BOARDS, *ODD])
def test_the_fixpoint_is_the_plain_rules(board, form):
    left = reference.candidates(board, reference.solvable(board, 16, givens=board.cells // 3))
    fixpoints = run(board, left, form)["propagate"]
    for rules in RULES[1:]:
        plain = np.array([reference.deduce(board, one, rules) for one in left])
        assert (plain != left).any()
        np.testing.assert_array_equal(fixpoints[rules], plain)


@every_board
def test_a_naked_single_leaves_its_houses(board):
    """Each lane has one cell with one candidate."""
    left = np.ones((board.cells, board.side, board.cells), bool)
    expected = left.copy()
    for cell in range(board.cells):
        left[cell, :, cell] = expected[cell, :, cell] = np.arange(board.side) == cell % board.side
        expected[cell, cell % board.side, list(reference.peers(board)[cell])] = False
    found = run(board, left)["sweep"]
    for rules in ("naked", "singles"):
        np.testing.assert_array_equal(found[rules], expected)


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
    everything = run(board, left)
    found = everything["sweep"]["singles"]
    # irregular houses may overlap so far that one hidden single makes another
    assert not (found & ~expected).any()
    if board.box is not None:
        np.testing.assert_array_equal(found, expected)
    np.testing.assert_array_equal(everything["propagate"]["naked"], left)


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
    everything = run(board, left)
    found = everything["locked"]
    # where houses overlap further, one deduction may lead to the next in the same round
    assert not (found & ~expected).any()
    if not board.extra and board.box is not None:
        np.testing.assert_array_equal(found, expected)
    sample = np.arange(0, len(cases), 7)
    plain = np.array([reference.deduce(board, left[lane], "locked") for lane in sample])
    np.testing.assert_array_equal(everything["propagate"]["locked"][sample], plain)


@pytest.mark.parametrize(
    ("board", "house", "places", "cleared"),
    [
        # digit 4's places in a house, and cells that it goes from
        pytest.param(BOARDS["2x3"], "box 0", [0, 2], [3, 4, 5], id="pointing along a row"),
        pytest.param(BOARDS["2x3"], "box 0", [1, 7], [13, 19, 25, 31], id="pointing along a column"),
        pytest.param(BOARDS["2x3"], "row 0", [0, 1], [6, 7, 8], id="claiming in a row"),
        pytest.param(BOARDS["2x3"], "column 1", [13, 19], [12, 14, 18, 20], id="claiming in a column"),
        pytest.param(BOARDS["windoku"], "box 3", [27, 28, 29], [*range(30, 36)], id="9x9 pointing along a row"),
        pytest.param(BOARDS["windoku"], "column 1", [28, 46], [27, 29, 36, 38, 45, 47], id="9x9 claiming in a column"),
        pytest.param(BOARDS["diagonal-4"], "box 0", [0, 5], [10, 15], id="pointing along a diagonal"),
        pytest.param(BOARDS["diagonal-4"], "extra 1", [3, 6], [2, 7], id="claiming in a diagonal"),
        pytest.param(BOARDS["windoku"], "extra 0", [10, 11], [9, *range(13, 18)], id="pointing out of a window"),
        pytest.param(BOARDS["jigsaw-5"], "box 0", [0, 2], [3, 4], id="irregular pointing"),
        pytest.param(BOARDS["jigsaw-5"], "row 0", [3, 4], [7, 8, 9], id="irregular claiming"),
    ],
)
def test_known_positions(board, house, places, cleared):
    kind, number = house.split()
    cells = board.houses[("row", "column", "box", "extra").index(kind) * board.side + int(number)]
    left = np.ones((1, board.side, board.cells), bool)
    left[0, 3, sorted(set(cells) - set(places))] = False
    found = run(board, left)["propagate"]
    gone = left & ~found["locked"]
    assert set(cleared) <= set(np.flatnonzero(gone[0, 3]))
    assert not gone[0, np.arange(board.side) != 3].any()
    np.testing.assert_array_equal(found["singles"], left)


# ---------------------------------------------------------------------- soundness and order


@every_layout
@every_board
def test_every_rule_keeps_its_promises(board, form):
    check_deductions(lambda left: run(board, left, form)["locked"], board)
    for kind, rules in itertools.product(("sweep", "propagate"), RULES):
        check_deductions(lambda left, kind=kind, rules=rules: run(board, left, form)[kind][rules], board)


@every_board
def test_the_fixpoint_stays(board):
    rng = np.random.default_rng(0)
    left = rng.random((64, board.side, board.cells)) < rng.choice([0.2, 0.5, 0.8, 0.95], (64, 1, 1))
    left[:32] = reference.candidates(board, reference.batch(board, 32))
    for rules, fixpoint in run(board, left)["propagate"].items():
        again = run(board, fixpoint)
        np.testing.assert_array_equal(again["sweep"][rules], fixpoint)
        np.testing.assert_array_equal(again["propagate"][rules], fixpoint)


@every_board
def test_each_level_deduces_at_least_as_much(board):
    left = reference.candidates(board, reference.solvable(board, 64, givens=board.cells // 3))
    levels = [run(board, left)["propagate"][rules] for rules in RULES]
    np.testing.assert_array_equal(levels[0], left)
    for lower, higher in itertools.pairwise(levels):
        assert not (higher & ~lower).any()


def test_rounds_are_sweeps():
    board = BOARDS["2x3"]
    left = reference.candidates(board, reference.unique(board, 64))
    fixpoint = propagated(board, left)

    @jax.jit  # the number of rounds is traced, so that there is one program
    def rounds_of(planes, rounds):
        return propagation.propagate(planes, board, rounds=rounds)

    def after_rounds(rounds):
        planes = rounds_of(reference.from_lanes(left.reshape(-1, *(board.side,) * 3)), rounds)
        return reference.to_lanes(planes).reshape(left.shape)

    np.testing.assert_array_equal(after_rounds(0), left)
    after = left
    for rounds in (1, 2, 3):
        after = swept(board, after)
        assert (after != fixpoint).any()
        np.testing.assert_array_equal(after_rounds(rounds), after)
    np.testing.assert_array_equal(after_rounds(100), fixpoint)


def test_a_rule_that_removes_a_solution_is_found():
    with pytest.raises(AssertionError, match=r"a candidate that a solution uses: digit 1 in cell 0\n  puzzle: [\d ]+$"):
        js.testing.check_rule(lambda planes, board: planes.at[0, 0, 0].set(0))


@pytest.mark.parametrize(
    ("where", "words"),
    [
        (lambda left: left.sum() < 2450, "the result of a lane depends on the other lanes: digit"),
        (lambda left: np.arange(64)[:, None, None] < 32, "the result of a lane depends on its place: digit"),
        (lambda left: left.sum(axis=(1, 2), keepdims=True) > 40, "removes less where fewer candidates are left: digit"),
    ],
)
def test_a_rule_that_some_lanes_lack_is_found(where, words):
    board = reference.SMALL["4x4"]
    peers = np.array([[other in cells for other in range(16)] for cells in reference.peers(board)])

    def naked(left):
        sole = left & (left.sum(axis=1, keepdims=True) == 1)
        return left & ~((sole @ peers) & where(left))

    with pytest.raises(AssertionError, match=words):
        check_deductions(naked, board)
    with pytest.raises(AssertionError, match="the rule adds a candidate: digit"):
        check_deductions(np.ones_like, board)


def test_none_leaves_everything_and_unknown_rules_are_refused():
    board = reference.SMALL["4x4"]
    cubes = jax.device_put(np.zeros((4, 4, 4, 1), np.uint32))
    assert propagation.propagate(cubes, board, "none") is cubes
    assert propagation.sweep(Planes(board), cubes, "none") is cubes
    with pytest.raises(ValueError, match="unknown rules 'guess': choose one of none, naked, singles, locked"):
        propagation.propagate(cubes, board, "guess")


# ---------------------------------------------------------------------- symmetry in, symmetry out


def assert_alike(board, change, other=None):
    """Rounds and fixpoints commute with a change of candidates bool[B, side, cells]."""
    left = reference.candidates(board, reference.batch(board, 64))
    found, changed = run(board, left), run(other or board, change(left))
    for kind in ("sweep", "propagate"):
        for rules in RULES[1:]:
            np.testing.assert_array_equal(changed[kind][rules], change(found[kind][rules]))


@every_board
def test_digits_are_alike(board):
    order = np.random.default_rng(0).permutation(board.side)
    assert_alike(board, lambda left: left[:, order])


def test_rows_and_columns_are_alike():
    cells = np.arange(36).reshape(6, 6).T.reshape(-1)
    assert_alike(BOARDS["2x3"], lambda left: left[..., cells], reference.SMALL["3x2"])


def test_bands_and_lines_in_them_are_alike():
    board = BOARDS["2x3"]
    rng = np.random.default_rng(0)
    for _ in range(5):
        cells = reference.lines(board, rng)
        assert_alike(board, lambda left, cells=cells: left[..., cells])


@pytest.mark.parametrize("name", ["diagonal-4", "windoku"])
def test_a_quarter_turn_keeps_diagonals_and_windows(name):
    board = BOARDS[name]
    cells = np.rot90(np.arange(board.cells).reshape(board.side, board.side)).reshape(-1)
    assert_alike(board, lambda left: left[..., cells])


# ---------------------------------------------------------------------- outcomes


@pytest.mark.parametrize(("board", "form"), [*((board, Masks) for board in BOARDS.values()), (ODD["latin"], Planes)])
def test_a_clash_of_singles_is_a_contradiction_after_one_round(board, form):
    left = np.ones((len(board.houses), board.side, board.cells), bool)
    for lane, house in enumerate(board.houses):
        for cell in house[:2]:
            left[lane, :, cell] = np.arange(board.side) == 0
    dead, _ = run(board, run(board, left, form)["sweep"]["naked"], form)["outcome"]
    assert dead.all()


@every_layout
@every_board
def test_outcomes_are_exact(board, form):
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
    dead, solved = run(board, left, form)["outcome"]
    np.testing.assert_array_equal(dead, no_candidate | no_place)
    np.testing.assert_array_equal(solved, settled & ~dead)
    assert solved[:8].all()
    assert dead[8:24].all()
    assert not (dead | solved)[24:48].any()


@every_layout
@every_board
def test_duplicated_givens_are_found(board, form):
    grids = reference.with_repeats(board)
    repeated = run(board, digits_of(board, grids), form)["duplicated"]
    np.testing.assert_array_equal(repeated, [reference.is_clash(board, grid) for grid in grids])
    assert not repeated[:16].any()
