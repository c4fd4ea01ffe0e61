"""The environment of tree searches, compared with the reference at every position."""

from __future__ import annotations

import functools

import chex
import jax
import numpy as np
import pytest
import reference

from jaxsudoku import compiler_options, env
from jaxsudoku.board import Board
from jaxsudoku.planes import cubes_to_planes
from jaxsudoku.propagation import RULES

BOARDS = {name: reference.SMALL[name] for name in ("4x4", "2x3", "jigsaw-5")}
SIZE = 40


@functools.cache
def jitted(function, board, **settings):
    return jax.jit(functools.partial(function, board=board, **settings), compiler_options=compiler_options())


def sparse(board):
    """Solvable puzzles with few givens."""
    return reference.solvable(board, SIZE, givens=board.cells // 6)


def host(function, board, *arguments, **settings):
    return jax.tree.map(np.asarray, jitted(function, board, **settings)(*arguments))


def row(state, lane):
    """One position of several."""
    return jax.tree.map(lambda leaf: leaf[lane], state)


def choices(board, left):
    """The candidates that may be taken: bool[side, cells]."""
    is_open = left.sum(axis=0) > 1
    taken = left.copy()
    for cell in np.flatnonzero(~is_open):
        taken[left[:, cell].argmax(), list(reference.peers(board)[cell])] = False
    return taken & is_open


def is_refuted(board, left):
    """Whether a cell or a house has no choice left, or a house holds a digit twice."""
    sole = np.where(left.sum(axis=0) == 1, left.argmax(axis=0) + 1, 0)
    seen = np.where(left.sum(axis=0) == 1, left, choices(board, left))
    places = all(seen[:, sorted(house)].any(axis=1).all() for house in board.houses)
    return not seen.any(axis=0).all() or not places or bool(reference.repeats(board, sole))


#: All rules on one board, and the strongest on those with other boxes.
GAMES = [("4x4", rules) for rules in RULES] + [
    ("2x3", "locked"),
    pytest.param("jigsaw-5", "locked", marks=pytest.mark.slow),
]


@pytest.mark.parametrize(("name", "rules"), GAMES)
def test_a_game_of_random_moves(name, rules):
    board = BOARDS[name]
    rng = np.random.default_rng(1)
    state = host(env.init, board, sparse(board), rules=rules)
    lived = 0
    for _ in range(5):
        seen = host(env.observe, board, state)
        legal = host(env.legal_action_mask, board, state)
        placements = host(env.legal_placement_mask, board, state)
        playing = ~state.terminated
        for lane in np.flatnonzero(playing):
            there = choices(board, seen[lane])
            np.testing.assert_array_equal(placements[lane], there)
            counts = np.where(seen[lane].sum(axis=0) > 1, there.sum(axis=0), board.side + 1)
            assert state.cell[lane] == counts.argmin()
            np.testing.assert_array_equal(legal[lane], there[:, state.cell[lane]])
        action = np.array([rng.choice(np.flatnonzero(row)) if row.any() else 0 for row in legal], np.int32)
        after = host(env.step, board, state, action, rules=rules)
        found, grids = host(env.observe, board, after), host(env.grids, board, after)
        for lane in range(SIZE):
            if not playing[lane]:
                chex.assert_trees_all_equal(row(after, lane), row(state, lane))
                continue
            chosen = seen[lane].copy()
            chosen[:, state.cell[lane]] = np.arange(board.side) == action[lane]
            left = chosen if rules == "none" else reference.deduce(board, chosen, rules)
            if after.refuted[lane]:
                assert not after.solved[lane]
                assert is_refuted(board, left)
                continue
            if not reference.count(board, np.where(chosen.sum(axis=0) == 1, chosen.argmax(axis=0) + 1, 0), 1):
                continue  # what is left of a contradiction depends on the order of the rules
            assert not is_refuted(board, left)
            lived += 1
            np.testing.assert_array_equal(found[lane], left)
            filled = left.sum(axis=0) == 1
            assert after.solved[lane] == filled.all()
            np.testing.assert_array_equal(grids[lane], np.where(filled, left.argmax(axis=0) + 1, 0))
        state = after
    assert lived > SIZE / 4


def test_a_position_that_is_open_has_a_move():
    """Candidates in which the singles find two digits for one cell: both stay, though neither may be taken."""
    board = BOARDS["4x4"]
    known = (
        "0100001011100001110110000111010100011011111000100010010011111111",
        "0011110010111111110101001111111011101110101010110111110111100011",
        "0010111101101111110100111111110101111000111010010111111110100011",
    )
    cubes = np.random.default_rng(0).random((1024, board.side, board.cells)) < 0.55
    cubes[: len(known)] = np.array([list(text) for text in known]).reshape(-1, board.side, board.cells) == "1"
    state = host(env.from_nodes, board, host(env.pack, board, cubes), rules="singles")
    left, movable = host(env.observe, board, state), host(env.legal_action_mask, board, state).any(axis=1)
    lanes = np.flatnonzero((left.sum(axis=1) > 1).any(axis=1) & left.any(axis=1).all(axis=1))
    assert len(lanes) >= 32
    np.testing.assert_array_equal(state.refuted[lanes], [is_refuted(board, left[lane]) for lane in lanes])
    assert state.refuted[: len(known)].all()
    assert movable[~state.terminated].all()


@pytest.mark.parametrize("rules", ["none", "singles"])
def test_bad_givens_are_refuted(rules):
    board = BOARDS["4x4"]
    puzzles = np.zeros((4, board.cells), np.uint8)
    puzzles[0, :2] = 1
    puzzles[1, 3] = board.side + 1
    puzzles[2] = reference.pattern(board)
    state = host(env.init, board, puzzles, rules=rules)
    np.testing.assert_array_equal(state.refuted, [True, True, False, False])
    np.testing.assert_array_equal(state.solved, [False, False, True, False])
    np.testing.assert_array_equal(host(env.grids, board, state)[2], puzzles[2])


@pytest.mark.parametrize("board", BOARDS.values(), ids=BOARDS)
def test_a_placement_is_a_step_in_any_cell(board):
    rng = np.random.default_rng(5)
    state = host(env.init, board, sparse(board), rules="naked")
    seen, placements = host(env.observe, board, state), host(env.legal_placement_mask, board, state)
    playing = np.flatnonzero(placements.any(axis=(1, 2)))
    chosen = np.zeros(SIZE, np.int32)
    chosen[playing] = [rng.choice(np.flatnonzero(placements[lane])) for lane in playing]
    placed = host(env.place, board, state, chosen, rules="naked")
    named = host(env.step, board, state._replace(cell=chosen % board.cells), chosen // board.cells, rules="naked")
    chex.assert_trees_all_equal(placed, named)
    found = host(env.observe, board, placed)
    assert (chosen % board.cells != state.cell)[playing].any()
    for lane in playing[~placed.refuted[playing]]:
        taken = seen[lane].copy()
        taken[:, chosen[lane] % board.cells] = np.arange(board.side) == chosen[lane] // board.cells
        np.testing.assert_array_equal(found[lane], reference.deduce(board, taken, "naked"))


@pytest.mark.parametrize("board", BOARDS.values(), ids=BOARDS)
def test_digits_are_taken_from_a_cell_and_nothing_else(board):
    rng = np.random.default_rng(2)
    state = host(env.init, board, sparse(board), rules="naked")
    seen = host(env.observe, board, state)
    gone = rng.random((SIZE, board.side)) < 0.4
    nodes = host(env.exclude, board, state, gone)
    left = host(env.observe, board, state._replace(nodes=nodes))
    for lane in range(SIZE):
        expected = seen[lane].copy()
        expected[gone[lane], state.cell[lane]] = False
        np.testing.assert_array_equal(left[lane], expected)
    settled = host(env.from_nodes, board, nodes, rules="naked")
    again = host(env.pack, board, np.resize(left, (64, *left.shape[1:])))
    np.testing.assert_array_equal(nodes, again[:SIZE])
    for lane in np.flatnonzero(~settled.refuted):
        expected = reference.deduce(board, left[lane], "naked")
        np.testing.assert_array_equal(host(env.observe, board, settled)[lane], expected)


def test_other_dtypes_and_shapes_are_refused():
    board = BOARDS["4x4"]
    state = env.init(np.zeros((2, board.cells), np.uint8), board)
    for wrong in (state._replace(nodes=state.nodes.astype(np.int32)), state._replace(refuted=state.refuted[:1])):
        with pytest.raises(AssertionError):
            env.observe(wrong, board)
    with pytest.raises(AssertionError):
        env.pack(np.zeros((2, board.side, board.cells), np.uint8), board)


def test_the_cell_of_a_wide_board_is_the_first_with_fewest_choices():
    board = Board.classic(36)
    cubes = np.random.default_rng(0).random((3, board.side, board.cells)) < 0.3
    cubes[1, 1:] = False  # no open cell
    cubes[1, 0] = True
    planes = cubes_to_planes(np.concatenate([cubes, np.zeros((29, board.side, board.cells), bool)]), board)
    is_open = cubes.sum(axis=1) > 1
    cell = jitted(env._fewest, board)(choices=env._of_open_cells(planes, planes))
    count = np.where(is_open, cubes.sum(axis=1), board.side + 1)
    np.testing.assert_array_equal(cell[:3], count.argmin(axis=1))


def test_programs_grow_with_the_side_not_with_the_cells():
    sizes = []
    for side in (9, 36):
        puzzles = np.zeros((1, side**2), np.uint8)
        traced = jax.jit(functools.partial(env.init, board=Board.classic(side))).trace(puzzles)
        sizes.append(traced.lower().as_text().count("\n"))
    assert sizes[1] < 5 * sizes[0]
