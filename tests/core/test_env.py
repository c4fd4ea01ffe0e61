"""The environment of tree searches, compared with the reference at every position."""

from __future__ import annotations

import functools

import chex
import jax
import numpy as np
import pytest
import reference

from jaxsudoku import compiler_options, draw, env
from jaxsudoku.core.board import Board
from jaxsudoku.core.tuning import RULES
from jaxsudoku.testing.solver import constrained

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


def look(state, board):
    """All that is said of positions: candidates, legal digits, legal placements and grids."""
    return (
        env.observe(state, board),
        env.legal_action_mask(state, board),
        env.legal_placement_mask(state, board),
        env.grids(state, board),
    )


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


#: Rules and boards, the strongest rules where boxes are no squares.
GAMES = [("4x4", "none"), ("4x4", "naked"), ("4x4", "singles"), ("2x3", "locked")]
assert {rules for _, rules in GAMES} == set(RULES)


@pytest.mark.parametrize(("name", "rules"), [*GAMES, pytest.param("jigsaw-5", "locked", marks=pytest.mark.slow)])
def test_a_game_of_random_moves(name, rules):
    board = BOARDS[name]
    rng = np.random.default_rng(1)
    state = host(env.init, board, sparse(board), rules=rules)
    lived = 0
    for _ in range(5):
        seen, legal, placements, _ = host(look, board, state)
        playing = ~state.terminated
        for lane in np.flatnonzero(playing):
            there = choices(board, seen[lane])
            np.testing.assert_array_equal(placements[lane], there)
            counts = np.where(seen[lane].sum(axis=0) > 1, there.sum(axis=0), board.side + 1)
            assert state.cell[lane] == counts.argmin()
            np.testing.assert_array_equal(legal[lane], there[:, state.cell[lane]])
        action = np.array([rng.choice(np.flatnonzero(row)) if row.any() else 0 for row in legal], np.int32)
        after = host(env.step, board, state, action, rules=rules)
        found, _, _, grids = host(look, board, after)
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
            if not solvable(board, chosen):
                continue
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
    left, legal, _, _ = host(look, board, state)
    movable = legal.any(axis=1)
    lanes = np.flatnonzero((left.sum(axis=1) > 1).any(axis=1) & left.any(axis=1).all(axis=1))
    assert len(lanes) >= 32
    np.testing.assert_array_equal(state.refuted[lanes], [is_refuted(board, left[lane]) for lane in lanes])
    assert state.refuted[: len(known)].all()
    assert movable[~state.terminated].all()


@pytest.mark.parametrize("rules", ["none", "singles"])
def test_bad_givens_are_refuted(rules):
    board = BOARDS["4x4"]
    puzzles = np.zeros((SIZE, board.cells), np.uint8)
    puzzles[0, :2] = 1
    puzzles[1, 3] = board.side + 1
    puzzles[2] = reference.pattern(board)
    state = host(env.init, board, puzzles, rules=rules)
    np.testing.assert_array_equal(state.refuted, np.arange(SIZE) < 2)
    np.testing.assert_array_equal(state.solved, np.arange(SIZE) == 2)
    np.testing.assert_array_equal(host(look, board, state)[3][2], puzzles[2])


def test_without_rules_a_house_without_a_place_for_a_digit_is_no_end():
    board = reference.SMALL["4x4"]
    puzzle = np.zeros((SIZE, board.cells), np.uint8)
    puzzle[:, [0, 1, 7]] = 1, 2, 3  # 3 has no place in row 1, whose two open cells may both take 4
    assert not host(env.init, board, puzzle, rules="none").refuted.any()
    assert host(env.init, board, puzzle, rules="naked").refuted.all()


def test_a_position_may_end_once_no_digit_can_be_placed_anywhere():
    """Random games in any cell, and by steps: open cells without a digit are no end, and illegal digits are one."""
    board, rng = BOARDS["4x4"], np.random.default_rng(0)
    state = host(env.init, board, sparse(board), rules="none", end="board")
    stuck = 0
    for turn in range(board.cells):
        seen, legal, placements, _ = host(look, board, state)
        playing = ~state.terminated
        np.testing.assert_array_equal(placements.any(axis=(1, 2))[playing], True)
        assert legal[playing].any(axis=1).all()  # the cell of a step is one that can be filled
        stuck += int((choiceless(board, seen) & playing).sum())
        wrong = rng.random(SIZE) < 0.02
        masks = [mask != bad if mask.any() else ~mask for mask, bad in zip(placements, wrong, strict=True)]
        chosen = np.array([rng.choice(np.flatnonzero(mask)) for mask in masks], np.int32)
        if turn % 2:
            chosen = np.where(wrong, chosen, legal.argmax(axis=1) * board.cells + state.cell).astype(np.int32)
        illegal = ~placements.reshape(SIZE, -1)[np.arange(SIZE), chosen]
        after = host(env.place, board, state, chosen, rules="none", end="board")
        left = host(look, board, after)[2].any(axis=(1, 2))
        np.testing.assert_array_equal(after.refuted[playing], (illegal | ~(left | after.solved))[playing])
        state = after
    assert state.terminated.all() and stuck > SIZE / 4
    with pytest.raises(ValueError, match='"board" with rules "none"'):
        jax.eval_shape(functools.partial(env.init, board=board, rules="naked", end="board"), sparse(board))


def choiceless(board, seen):
    """Whether an open cell has no digit that may be taken: bool[N]."""
    return np.array([((left.sum(axis=0) > 1) & ~choices(board, left).any(axis=0)).any() for left in seen])


@pytest.mark.parametrize("rules", ["none", pytest.param("singles", marks=pytest.mark.slow)])
def test_constraints_bound_moves_and_ends(rules):
    """Random games: no move of a solution is illegal, and a game ends as solved with a solution, never with another."""
    board, rng = constrained(), np.random.default_rng(0)
    state = host(env.init, board, sparse(board), rules=rules)
    solved = refuted = fewer = 0
    for _ in range(board.cells):
        _, _, placements, grids = host(look, board, state)
        for lane in np.flatnonzero(~state.terminated):
            found = np.array(reference.solutions(board, grids[lane], 99), np.uint8).reshape(-1, board.cells)
            used = reference.candidates(board, found).any(axis=0) & (grids[lane] == 0)
            assert not (used & ~placements[lane]).any()
            by_houses = choices(board, reference.candidates(board, grids[lane : lane + 1])[0])
            fewer += int((by_houses & ~placements[lane]).sum())
        lanes = placements.reshape(SIZE, -1)
        chosen = np.array([rng.choice(np.flatnonzero(row)) if row.any() else 0 for row in lanes], np.int32)
        after = host(env.place, board, state, chosen, rules=rules)
        grids = host(look, board, after)[3]
        for lane in np.flatnonzero(~state.terminated & after.terminated):
            if after.solved[lane]:
                assert reference.is_solution(board, grids[lane])
            solved, refuted = solved + int(after.solved[lane]), refuted + int(after.refuted[lane])
        state = after
    assert state.terminated.all() and solved and refuted and fewer


def test_a_placement_that_a_constraint_excludes_is_illegal():
    board = constrained()
    state = host(env.init, board, np.zeros((SIZE, board.cells), np.uint8), rules="none")
    largest_in_bulb = np.full(SIZE, 3 * board.cells + 1, np.int32)
    assert host(env.place, board, state, largest_in_bulb, rules="none").refuted.all()


def test_a_digit_that_is_there_already_is_illegal():
    board = BOARDS["4x4"]
    state = host(env.init, board, sparse(board), rules="none")
    filled = sparse(board).argmax(axis=1)
    again = (sparse(board).max(axis=1).astype(np.int32) - 1) * board.cells + filled
    assert host(env.place, board, state, again, rules="none").refuted.all()


def test_ended_episodes_go_on_with_another_puzzle():
    board = BOARDS["4x4"]
    starts = host(env.init, board, sparse(board), rules="none")
    words = np.array([3, 4], np.uint32)
    state = jax.tree.map(np.asarray, jax.jit(env.reset, static_argnums=2)(words, starts, SIZE))
    rows = {nodes.tobytes() for nodes in starts.nodes}
    assert {nodes.tobytes() for nodes in state.nodes} <= rows and len(np.unique(state.nodes, axis=0)) > SIZE / 4
    placements = host(look, board, state)[2].reshape(SIZE, -1)
    chosen = np.where(np.arange(SIZE) % 2, placements.argmax(axis=1), placements.argmin(axis=1)).astype(np.int32)
    run = jax.jit(functools.partial(env.play, board=board, rules="none"), compiler_options=compiler_options())
    played = jax.tree.map(np.asarray, run(words, state, chosen, starts))
    chex.assert_trees_all_equal(played.last, host(env.place, board, state, chosen, rules="none"))
    np.testing.assert_array_equal(played.done, played.last.terminated)
    assert played.done[::2].all() and not played.done.all() and not played.reward.any()
    for lane in range(SIZE):
        if played.done[lane]:
            assert played.state.nodes[lane].tobytes() in rows
        else:
            chex.assert_trees_all_equal(row(played.state, lane), row(played.last, lane))
    solved = state._replace(solved=np.arange(SIZE) < 2)
    np.testing.assert_array_equal(env.reward(state, solved), np.arange(SIZE) < 2)
    np.testing.assert_array_equal(env.reward(solved, solved), np.zeros(SIZE))


@pytest.mark.parametrize("name", BOARDS)
def test_specs_are_those_of_the_functions(name):
    board = BOARDS[name]
    state = jax.eval_shape(functools.partial(env.init, board=board), np.zeros((SIZE, board.cells), np.uint8))
    seen, _, placements, _ = jax.eval_shape(functools.partial(look, board=board), state)
    spec, action = env.observation_spec(board), env.action_spec(board)
    assert (spec.shape, spec.dtype, spec.minimum, spec.maximum) == (seen.shape[1:], seen.dtype, 0, 1)
    size = placements.shape[1] * placements.shape[2]
    assert action == ((), np.int32, 0, size - 1) and env.num_actions(board) == size


def test_positions_are_rendered_as_grids_are_drawn():
    board = BOARDS["4x4"]
    puzzles = sparse(board)
    assert env.render(host(env.init, board, puzzles, rules="none"), board) == [draw(row, board) for row in puzzles]


@pytest.mark.parametrize("name", ["4x4", pytest.param("jigsaw-5", marks=pytest.mark.slow)])
def test_a_placement_is_a_step_in_any_cell(name):
    board = BOARDS[name]
    rng = np.random.default_rng(5)
    state = host(env.init, board, sparse(board), rules="naked")
    seen, _, placements, _ = host(look, board, state)
    playing = np.flatnonzero(placements.any(axis=(1, 2)))
    chosen = np.zeros(SIZE, np.int32)
    chosen[playing] = [rng.choice(np.flatnonzero(placements[lane])) for lane in playing]
    placed = host(env.place, board, state, chosen, rules="naked")
    named = host(env.step, board, state._replace(cell=chosen % board.cells), chosen // board.cells, rules="naked")
    chex.assert_trees_all_equal(placed, named)
    found = host(look, board, placed)[0]
    assert (chosen % board.cells != state.cell)[playing].any()
    for lane in playing[~placed.refuted[playing]]:
        taken = seen[lane].copy()
        taken[:, chosen[lane] % board.cells] = np.arange(board.side) == chosen[lane] // board.cells
        np.testing.assert_array_equal(found[lane], reference.deduce(board, taken, "naked"))


@pytest.mark.parametrize(
    ("name", "rules"), [("2x3", "locked"), pytest.param("jigsaw-5", "naked", marks=pytest.mark.slow)]
)
def test_digits_are_taken_from_a_cell_and_nothing_else(name, rules):
    board = BOARDS[name]
    rng = np.random.default_rng(2)
    state = host(env.init, board, sparse(board), rules=rules)
    seen = host(look, board, state)[0]
    gone = rng.random((SIZE, board.side)) < 0.4
    nodes = host(env.exclude, board, state, gone)
    left = host(look, board, state._replace(nodes=nodes))[0]
    for lane in range(SIZE):
        expected = seen[lane].copy()
        expected[gone[lane], state.cell[lane]] = False
        np.testing.assert_array_equal(left[lane], expected)
    settled = host(env.from_nodes, board, nodes, rules=rules)
    again = host(env.pack, board, np.resize(left, (64, *left.shape[1:])))
    np.testing.assert_array_equal(nodes, again[:SIZE])
    found = host(look, board, settled)[0]
    for lane in np.flatnonzero(~settled.refuted):
        if rules == "naked" or solvable(board, left[lane]):
            np.testing.assert_array_equal(found[lane], reference.deduce(board, left[lane], rules))


def solvable(board, left):
    """Whether the filled cells of candidates leave a solution; else what is left depends on the order of the rules."""
    return reference.count(board, np.where(left.sum(axis=0) == 1, left.argmax(axis=0) + 1, 0), 1)


def test_other_dtypes_and_shapes_are_refused():
    board = BOARDS["4x4"]
    no = np.zeros(2, bool)
    state = env.State(np.zeros((2, board.words), np.uint32), np.zeros(2, np.int32), no, no)
    jax.eval_shape(functools.partial(env.observe, board=board), state)
    for wrong in (state._replace(nodes=state.nodes.astype(np.int32)), state._replace(refuted=no[:1])):
        with pytest.raises(AssertionError):
            env.observe(wrong, board)
    with pytest.raises(AssertionError):
        env.pack(np.zeros((2, board.side, board.cells), np.uint8), board)


def cells(planes, board):
    """The cells to play of candidates all of which are legal."""
    return env._fewest(board, env._of_open_cells(planes, planes))


def test_the_cell_of_a_wide_board_is_the_first_with_fewest_choices():
    board = Board.classic(36)
    cubes = np.random.default_rng(0).random((3, board.side, board.cells)) < 0.3
    cubes[1, 1:] = False  # no open cell
    cubes[1, 0] = True
    is_open = cubes.sum(axis=1) > 1
    planes = reference.from_lanes(np.pad(cubes, ((0, 29), (0, 0), (0, 0)))).reshape(*(board.side,) * 3, 1)
    cell = jitted(cells, board)(planes)
    count = np.where(is_open, cubes.sum(axis=1), board.side + 1)
    np.testing.assert_array_equal(cell[:3], count.argmin(axis=1))


def test_programs_grow_with_the_side_not_with_the_cells():
    sizes = []
    for side in (9, 36):
        puzzles = np.zeros((1, side**2), np.uint8)
        traced = jax.jit(functools.partial(env.init, board=Board.classic(side))).trace(puzzles)
        sizes.append(traced.lower().as_text().count("\n"))
    assert sizes[1] < 5 * sizes[0]
