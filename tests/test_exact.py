"""The exact search: counts and solutions against brute force, whatever the batch, the stack and the order."""

from __future__ import annotations

import dataclasses
import functools
import math
import re

import chex
import jax
import jax.numpy as jnp
import numpy as np
import pytest
import reference
from hypothesis import given, settings
from hypothesis import strategies as st

from jaxsudoku import branching as branching_order
from jaxsudoku import compiler_options, exact, masks
from jaxsudoku.board import Board
from jaxsudoku.exact import weighted
from jaxsudoku.solution import Status

#: Puzzles that are searched together, so that a board and its settings are compiled once.
BATCH = 64

FOUR, SIX = reference.SMALL["4x4"], reference.SMALL["2x3"]

small_boards = pytest.mark.parametrize(
    "board",
    [
        pytest.param(board, id=name, marks=[pytest.mark.slow] * (name in ("3x2", "jigsaw-4", "jigsaw-6")))
        for name, board in reference.SMALL.items()
    ],
)


def fresh_kernel(board, **settings):
    return jax.jit(functools.partial(exact.search, board=board, **settings), compiler_options=compiler_options())


kernel = functools.cache(fresh_kernel)


def search(board, puzzles, seeds=None, *, lanes=32, **settings):
    """Searches up to ``BATCH`` puzzles; the batch is filled up with puzzles that are no such thing."""
    size = len(puzzles)
    filled_up = np.full((BATCH, board.cells), 255, np.uint8)
    filled_up[:size] = puzzles
    if seeds is not None:
        seeds = np.resize(np.asarray(seeds, np.uint32), BATCH)
    found = kernel(board, lanes=lanes, **settings)(filled_up, seeds=seeds)
    return jax.tree.map(lambda array: np.asarray(array)[:size], found)


def check(board, puzzles, found, limit):
    """Judges a search that no budget stopped by brute force."""
    for puzzle, grid, status, count, iterations in zip(puzzles, *found, strict=True):
        solutions = reference.solutions(board, puzzle, limit)
        assert count == len(solutions)
        if reference.is_clash(board, puzzle):
            assert status == Status.INVALID
            assert iterations == 0
        else:
            assert status == (Status.SOLVED if solutions else Status.UNSATISFIABLE)
            assert iterations >= 1
        if solutions:
            assert reference.is_solution(board, grid, puzzle)
        else:
            assert not grid.any()


# ---------------------------------------------------------------------- answers


@pytest.mark.quick
@small_boards
def test_brute_force_agrees(board):
    puzzles = reference.batch(board, BATCH, seed=5)
    puzzles[0] = 0
    puzzles[1, 0] = board.side + 1
    found = search(board, puzzles, limit=5)
    check(board, puzzles, found, 5)
    assert set(found.status) == {Status.SOLVED, Status.UNSATISFIABLE, Status.INVALID}


@pytest.mark.quick
@pytest.mark.parametrize(("board", "limits"), [(FOUR, (1, 2, 5)), (SIX, (5,))], ids=["4x4", "2x3"])
@settings(max_examples=50)
@given(data=st.data())
def test_brute_force_agrees_on_any_puzzle(board, limits, data):
    puzzle = data.draw(reference.puzzles(board))
    for limit in limits:
        check(board, puzzle[None], search(board, puzzle[None], limit=limit), limit)


@pytest.mark.parametrize(
    "board",
    [pytest.param(Board.classic(), id="9x9"), pytest.param(Board.windoku(), id="windoku", marks=pytest.mark.slow)],
)
def test_brute_force_agrees_on_wider_boards(board):
    puzzles = np.concatenate([reference.batch(board, 48), reference.unique(board, 16)])
    check(board, puzzles, search(board, puzzles, limit=2, lanes=64), 2)


@pytest.mark.slow
def test_sixteen_by_sixteen():
    board = Board.classic(16)
    puzzles = reference.solvable(board, 32, givens=150)
    puzzles[0, np.flatnonzero(puzzles[0])[0]] += 16
    found = search(board, puzzles)
    np.testing.assert_array_equal(found.status, [Status.INVALID] + 31 * [Status.SOLVED])
    assert all(map(functools.partial(reference.is_solution, board), found.grids[1:], puzzles[1:]))


def test_boards_with_but_two_digits():
    board = Board.classic(2, box=(1, 2))
    puzzles = np.array([[digit, 0, 0, other] for digit in range(4) for other in range(4)], np.uint8)
    check(board, puzzles, search(board, puzzles, limit=5), 5)


@pytest.mark.quick
@pytest.mark.parametrize("rules", exact.SEARCH_RULES)
def test_every_rule_level_gives_the_same_answers(rules):
    """And so does another number of lanes."""
    puzzles = reference.batch(SIX, BATCH)
    check(
        SIX, puzzles, search(SIX, puzzles, limit=5, **({} if rules == "locked" else {"rules": rules, "lanes": 64})), 5
    )


@pytest.mark.parametrize("limit", [1, 5, 1000])
def test_there_are_288_grids_of_side_four(limit):
    found = search(FOUR, np.zeros((1, FOUR.cells), np.uint8), limit=limit)
    assert found.counts == min(limit, 288)
    assert found.status == Status.SOLVED


# ---------------------------------------------------------------------- batches


@pytest.mark.parametrize("size", [1, 33])
def test_any_batch_size_gives_the_same_answers(size):
    puzzles = reference.unique(FOUR, BATCH)
    puzzles[3::5, 0] = puzzles[3::5].max(axis=1)  # some clash
    whole = search(FOUR, puzzles, limit=2)
    part = kernel(FOUR, limit=2, lanes=32)(puzzles[:size])
    for found, expected in zip(part, whole, strict=True):
        assert found.shape == expected[:size].shape
        np.testing.assert_array_equal(found, expected[:size])


def test_no_puzzles():
    for seeds in (None, jnp.zeros(0, jnp.uint32)):
        found = exact.search(jnp.zeros((0, FOUR.cells), jnp.uint8), FOUR, seeds)
        assert [x.shape for x in found] == [(0, FOUR.cells), (0,), (0,), (0,)]
        assert [x.dtype for x in found] == ["uint8", "int8", "int32", "int32"]


@pytest.mark.parametrize("name", ["4x4", "2x3", "jigsaw-5"])
def test_lanes_are_independent(name):
    """A puzzle's answer is the same wherever it stands and whatever stands beside it."""
    board = reference.SMALL[name]
    rng = np.random.default_rng(0)
    puzzles = reference.batch(board, BATCH)
    puzzles[::2] = reference.unique(board, BATCH // 2)
    found = search(board, puzzles, limit=5)
    order = rng.permutation(BATCH)
    moved = search(board, puzzles[order], limit=5)
    for kind in ("status", "counts"):
        np.testing.assert_array_equal(getattr(moved, kind), getattr(found, kind)[order])
    unique = found.counts == 1
    np.testing.assert_array_equal(found.grids[unique], moved.grids[np.argsort(order)][unique])
    # nodes that don't come to the limit are all visited
    whole = found.counts < 5
    np.testing.assert_array_equal(found.iterations[whole], moved.iterations[np.argsort(order)][whole])
    crowded = search(board, np.where(np.arange(BATCH)[:, None] % 2, 0, puzzles), limit=5)
    np.testing.assert_array_equal(crowded.status[::2], found.status[::2])
    np.testing.assert_array_equal(crowded.counts[::2], found.counts[::2])
    np.testing.assert_array_equal(crowded.grids[::2], found.grids[::2])


# ---------------------------------------------------------------------- budget and stack


def test_a_budget_stops_but_never_lies():
    puzzles = reference.batch(FOUR, BATCH)
    puzzles[:8] = 0
    whole = search(FOUR, puzzles, limit=5)
    found = search(FOUR, puzzles, limit=5, budget=2)
    decided = found.status != Status.UNSOLVED
    np.testing.assert_array_equal(found.status[decided], whole.status[decided])
    assert (found.counts <= whole.counts).all()
    assert not found.counts[~decided].any()
    assert not found.grids[~decided].any()
    for puzzle, grid in zip(puzzles[found.counts > 0], found.grids[found.counts > 0], strict=True):
        assert reference.is_solution(FOUR, grid, puzzle)
    assert not decided.all()
    for large, expected in zip(search(FOUR, puzzles, limit=5, budget=10**6), whole, strict=True):
        np.testing.assert_array_equal(large, expected)


@small_boards
def test_restarts_give_the_same_answers(board):
    puzzles = reference.batch(board, BATCH)
    puzzles[:4] = 0
    check(board, puzzles, search(board, puzzles, limit=5, restart=2), 5)


@pytest.mark.quick
def test_restarts_give_the_same_answers_in_a_random_order():
    puzzles = reference.batch(FOUR, BATCH)
    puzzles[:8] = 0
    found = search(FOUR, puzzles, np.arange(BATCH), limit=5, restart=2)
    check(FOUR, puzzles, found, 5)
    # each seed that is not 0 tries digits in an order of its own
    assert len({tuple(grid) for grid in found.grids[1:8]}) > 3


@pytest.mark.parametrize("limit", [1, 5])
def test_restarts_without_a_portfolio_are_independent_of_the_batch(limit):
    puzzles = reference.batch(SIX, BATCH)
    seeds = np.where(np.arange(BATCH) % 2, np.arange(BATCH), 0)
    found = search(SIX, puzzles, seeds, limit=limit, restart=2, portfolio=False)
    check(SIX, puzzles, found, limit)
    order = np.random.default_rng(0).permutation(BATCH)[:17]
    few = search(SIX, puzzles[order], seeds[order], limit=limit, restart=2, portfolio=False)
    for part, whole in zip(few, found, strict=True):
        np.testing.assert_array_equal(part, whole[order])


@pytest.mark.quick
def test_one_puzzle_is_searched_by_all_lanes():
    for puzzle in reference.batch(SIX, 8):
        found = search(SIX, puzzle[None], limit=5, restart=1)
        check(SIX, puzzle[None], found, 5)


@pytest.mark.parametrize("platform", ["gpu", "tpu"])
@pytest.mark.parametrize(
    ("board", "seeded"),
    [
        pytest.param(FOUR, True, id="4x4"),
        pytest.param(SIX, False, id="2x3", marks=pytest.mark.slow),
        pytest.param(reference.SMALL["jigsaw-5"], False, id="jigsaw", marks=pytest.mark.slow),
    ],
)
def test_accelerators_run_other_forms_with_the_same_results(monkeypatch, board, seeded, platform):
    puzzles = np.concatenate([reference.batch(board, BATCH - 8), np.zeros((8, board.cells), np.uint8)])
    seeds = np.arange(BATCH, dtype=np.uint32) if seeded else None
    expected = search(board, puzzles, seeds, limit=5, budget=1000, lanes=64)

    def form(*operands, default, **forms):
        return forms.get(platform, default)(*operands)

    monkeypatch.setattr(jax.lax, "platform_dependent", form)
    found = fresh_kernel(board, limit=5, budget=1000, lanes=64)(puzzles, seeds=seeds)
    jax.tree.map(np.testing.assert_array_equal, found, expected)


@pytest.mark.slow
def test_a_wide_block_gives_the_same_answers():
    """Its planes have two axes of lanes."""
    puzzles = reference.batch(FOUR, BATCH)
    found, expected = (search(FOUR, puzzles, limit=5, lanes=lanes) for lanes in (1 << 15, 64))
    np.testing.assert_array_equal(found.status, expected.status)
    np.testing.assert_array_equal(found.counts, expected.counts)
    for puzzle, grid in zip(puzzles[found.counts > 0], found.grids[found.counts > 0], strict=True):
        assert reference.is_solution(FOUR, grid, puzzle)


@pytest.mark.parametrize("settings", [{}, {"budget": 100, "limit": 2}], ids=["solve", "count"])
def test_a_tpu_gathers_no_single_words(settings):
    traced = jax.jit(functools.partial(exact.search, board=FOUR, **settings)).trace(
        np.zeros((8, 16), np.uint8), seeds=np.zeros(8, np.uint32)
    )
    text = traced.lower(lowering_platforms=("tpu",)).as_text()
    sizes = re.findall(r'"stablehlo\.gather".*slice_sizes = array<i64: ([\d, ]+)>', text)
    assert sizes
    assert all(math.prod(map(int, size.split(","))) > 1 for size in sizes)


@pytest.mark.parametrize("platform", ["cpu", "cuda", "tpu"])
def test_only_a_cpu_stores_solutions_in_a_loop(platform):
    traced = jax.jit(functools.partial(exact.search, board=FOUR)).trace(np.zeros((8, 16), np.uint8))
    text = traced.lower(lowering_platforms=(platform,)).as_text()
    # roots, the search, pairs of rounds, grids; on a CPU also the storing of solutions
    assert text.count("stablehlo.while") == (5 if platform == "cpu" else 4)


@pytest.mark.parametrize("side", [4, 36])
def test_stacks_are_the_same_lane_by_lane_and_at_once(side):
    """The first on a CPU, the second on accelerators."""
    rng = np.random.default_rng(side)
    limbs, lanes, levels = masks.limbs(side), 32, 3
    dtype = masks.mask_dtype(side)

    def drawn(*shape):
        return jnp.asarray(rng.integers(1, np.iinfo(dtype).max, shape, dtype=dtype))

    stacks, words, others = (
        drawn(lanes, levels, limbs * side**2),
        drawn(limbs, side, side, lanes),
        drawn(limbs, lanes),
    )
    cell, depth = (jnp.asarray(rng.integers(0, most, lanes, dtype=np.int32)) for most in (side**2, levels))
    chosen = jnp.asarray(rng.random(lanes) < 0.5)
    pushed = weighted._push_one_by_one(stacks, words, cell, others, depth, chosen)
    at_once = weighted._push_at_once(stacks, words, cell, others, depth, chosen)
    np.testing.assert_array_equal(at_once, pushed)
    changed = (np.asarray(pushed) != stacks).any(axis=2)
    np.testing.assert_array_equal(changed, np.asarray(chosen)[:, None] & (np.arange(levels) == depth[:, None]))
    popped = weighted._pop_one_by_one(pushed, words + 1, depth + 1, chosen)
    np.testing.assert_array_equal(weighted._pop_at_once(pushed, words + 1, depth + 1, chosen), popped)
    expected = np.array(words + 1)
    for lane in np.flatnonzero(chosen):
        expected[..., lane] = words[..., lane]
        expected.reshape(limbs, -1, lanes)[:, cell[lane], lane] = others[:, lane]
    np.testing.assert_array_equal(popped, expected)


@pytest.mark.parametrize(("platform", "loops"), [("cpu", 3), ("cuda", 1), ("tpu", 1)])
def test_only_a_cpu_copies_stacks_in_loops(platform, loops):
    traced = jax.jit(functools.partial(exact.search, board=FOUR, restart=9, rounds=1)).trace(
        np.zeros((8, 16), np.uint8)
    )
    assert traced.lower(lowering_platforms=(platform,)).as_text().count("stablehlo.while") == loops


def test_a_search_that_needs_more_levels_is_left_unsolved():
    puzzles = reference.batch(SIX, BATCH)
    puzzles[:8] = 0
    whole = search(SIX, puzzles, limit=5, restart=50)
    found = search(SIX, puzzles, limit=5, restart=50, levels=3)
    decided = found.status != Status.UNSOLVED
    assert not decided[:8].all()
    assert decided.any()
    settled = decided & (found.counts == 0)
    np.testing.assert_array_equal(found.status[settled], whole.status[settled])
    assert (found.counts <= whole.counts).all()
    for puzzle, grid in zip(puzzles[found.counts > 0], found.grids[found.counts > 0], strict=True):
        assert reference.is_solution(SIX, grid, puzzle)


@pytest.mark.slow  # test_wide solves and counts on this board
def test_the_widest_board_is_searched():
    """Its masks have two words a cell."""
    board = Board.classic(36)
    solution = reference.pattern(board)
    puzzles = np.where(np.random.default_rng(0).random((4, board.cells)) < 0.6, solution, 0).astype(np.uint8)
    puzzles[3, :2] = 36
    found = jax.tree.map(np.asarray, kernel(board, lanes=32, restart=100)(puzzles))
    assert found.status.tolist() == [Status.SOLVED] * 3 + [Status.INVALID]
    for puzzle, grid in zip(puzzles[:3], found.grids[:3], strict=True):
        assert reference.is_solution(board, grid, puzzle)


def test_restarts_count_all_solutions_of_an_empty_board():
    found = search(FOUR, np.zeros((3, FOUR.cells), np.uint8), limit=1000, restart=2)
    assert (found.counts == 288).all()
    assert all(reference.is_solution(FOUR, grid, np.zeros(FOUR.cells)) for grid in found.grids)


def test_restarts_keep_to_the_budget():
    puzzles = reference.batch(FOUR, BATCH)
    puzzles[:8] = 0
    whole = search(FOUR, puzzles, limit=5)
    found = search(FOUR, puzzles, limit=5, restart=2, budget=5)
    decided = found.status != Status.UNSOLVED
    assert not decided.all()
    assert not found.grids[~decided].any()
    np.testing.assert_array_equal(found.status[decided], whole.status[decided])
    assert (found.counts <= whole.counts).all()
    for puzzle, grid in zip(puzzles[found.counts > 0], found.grids[found.counts > 0], strict=True):
        assert reference.is_solution(FOUR, grid, puzzle)


def test_a_stack_that_is_nearly_full_goes_on_depth_first(monkeypatch):
    puzzles = np.concatenate([np.zeros((32, FOUR.cells), np.uint8), reference.batch(FOUR, BATCH - 32)])
    expected = search(FOUR, puzzles, limit=1000)
    monkeypatch.setattr(exact.stack.Plan, "capacity", 48)  # less than two blocks
    found = fresh_kernel(FOUR, limit=1000, lanes=32)(puzzles)
    assert (found.counts[:32] == 288).all()
    # all nodes are visited, so the order in which they are taken leaves no trace but which grid is first
    for kind in ("status", "counts", "iterations"):
        np.testing.assert_array_equal(getattr(found, kind), getattr(expected, kind))
    for puzzle, grid, count in zip(puzzles, np.asarray(found.grids), found.counts, strict=True):
        assert reference.is_solution(FOUR, grid, puzzle) == (count > 0)


# ---------------------------------------------------------------------- random order


@pytest.mark.slow
def test_a_random_order_gives_the_same_answers():
    puzzles = reference.batch(SIX, BATCH)
    for seed in range(3):
        seeds = np.random.default_rng(seed).integers(0, 2**32, BATCH, dtype=np.uint32)
        found = search(SIX, puzzles, seeds, limit=5)
        check(SIX, puzzles, found, 5)
        for again, expected in zip(search(SIX, puzzles, seeds, limit=5), found, strict=True):
            np.testing.assert_array_equal(again, expected)


def test_seeds_choose_among_solutions():
    empty = np.zeros((BATCH, SIX.cells), np.uint8)
    found = search(SIX, empty, np.arange(BATCH), limit=5)
    assert all(reference.is_solution(SIX, grid) for grid in found.grids)
    assert len(np.unique(found.grids, axis=0)) > BATCH // 2
    # no cell and no digit is left out
    assert min(len(np.unique(cell)) for cell in found.grids.T) >= 5


# ---------------------------------------------------------------------- one transformation after another


@pytest.mark.parametrize(
    ("board", "settings"),
    [
        pytest.param(FOUR, {}, id="4x4-plain"),
        pytest.param(FOUR, {"restart": 8}, id="4x4-restarts", marks=pytest.mark.slow),
        pytest.param(SIX, {}, id="2x3-plain", marks=pytest.mark.slow),
        pytest.param(SIX, {"restart": 8}, id="2x3-restarts"),
    ],
)
def test_an_excluded_digit_asks_for_another_solution(board, settings):
    """A cell that is not what it was: counted against all solutions of the puzzle with the cell free."""
    puzzles = reference.unique(board, BATCH)
    cells = np.random.default_rng(1).integers(board.cells, size=len(puzzles))
    rows = np.arange(len(puzzles))
    solutions = np.stack([reference.solutions(board, puzzle, 1)[0] for puzzle in puzzles])
    puzzles[rows, cells] = 0
    excluded = np.zeros_like(puzzles)
    excluded[rows, cells] = solutions[rows, cells]
    found = jax.jit(
        functools.partial(exact.search, board=board, limit=3, lanes=32, **settings), compiler_options=compiler_options()
    )(puzzles, excluded=excluded)
    for row, puzzle in enumerate(puzzles):
        others = [grid for grid in reference.solutions(board, puzzle, 2_000) if grid[cells[row]] != excluded[row].max()]
        assert found.counts[row] == min(len(others), 3)
        if others:
            assert reference.is_solution(board, np.asarray(found.grids[row]), puzzle)
            assert found.grids[row, cells[row]] != excluded[row].max()


@pytest.mark.parametrize(
    ("board", "settings"),
    [pytest.param(FOUR, {}, id="4x4-plain"), pytest.param(SIX, {"restart": 8}, id="2x3-restarts")],
)
def test_any_number_of_digits_of_cells_is_excluded(board, settings):
    puzzles = reference.unique(board, BATCH)
    rng = np.random.default_rng(2)
    puzzles *= rng.random(puzzles.shape) < 0.8  # some have several solutions now
    excluded = rng.random((len(puzzles), board.side, board.cells)) < 0.04
    found = jax.jit(
        functools.partial(exact.search, board=board, limit=3, lanes=32, **settings), compiler_options=compiler_options()
    )(puzzles, excluded=excluded)
    counts = set()
    for row, puzzle in enumerate(puzzles):
        kept = ~excluded[row] | (puzzle > 0)

        def allowed(grid, kept=kept):
            return kept[np.array(grid) - 1, np.arange(board.cells)].all()

        expected = sum(map(allowed, reference.solutions(board, puzzle, 2_000)))
        counts.add(min(expected, 3))
        assert found.counts[row] == min(expected, 3)
        if expected:
            assert reference.is_solution(board, np.asarray(found.grids[row]), puzzle) and allowed(found.grids[row])
    assert counts >= {0, 1, 2}, "the puzzles test something"
    with pytest.raises(ValueError, match=r"excluded bool\[\d+, 3\]; it must be uint8\[.*\] or bool\["):
        exact.search(jnp.asarray(puzzles), board, None, excluded[:, 0, :3], lanes=32)


@pytest.mark.slow
def test_an_excluded_digit_does_not_touch_a_given():
    puzzle = reference.unique(FOUR, 1)
    found = exact.search(jnp.asarray(puzzle), FOUR, None, jnp.asarray(puzzle), lanes=32)
    assert found.status[0] == Status.SOLVED


@pytest.mark.quick
def test_vmap():
    puzzles = reference.batch(FOUR, BATCH)
    expected = search(FOUR, puzzles, limit=2)
    one_of_four = functools.partial(exact.search, board=FOUR, limit=2, lanes=32)
    found = jax.jit(jax.vmap(one_of_four), compiler_options=compiler_options())(puzzles.reshape(4, 16, -1))
    for kind in ("status", "counts"):
        np.testing.assert_array_equal(getattr(found, kind).reshape(-1), getattr(expected, kind))
    for puzzle, grid, count in zip(puzzles, np.asarray(found.grids).reshape(BATCH, -1), expected.counts, strict=True):
        assert reference.is_solution(FOUR, grid, puzzle) == (count > 0)


def test_a_board_and_its_equal_are_traced_once():
    traced = jax.jit(
        chex.assert_max_traces(exact.search, n=1),
        static_argnames=("board", "limit", "lanes"),
        compiler_options=compiler_options(),
    )
    puzzles = reference.unique(FOUR, 8)
    for board in (Board.classic(4), Board(4, box=(2, 2)), Board.named("2x2")):
        assert (traced(puzzles, board, limit=2, lanes=32).counts == 1).all()
    with pytest.raises(AssertionError, match="traced > 1 times"):
        traced.lower(puzzles[:5], Board.classic(4), limit=2, lanes=32)


@pytest.mark.parametrize("setting", ["plain", "x64", "strict"])
def test_dtypes(setting):
    context = {
        "plain": jax.enable_x64(False),
        "x64": jax.enable_x64(True),
        "strict": jax.numpy_dtype_promotion("strict"),
    }[setting]
    with context:
        found = jax.eval_shape(
            functools.partial(exact.search, board=FOUR, budget=9),
            jax.ShapeDtypeStruct((7, FOUR.cells), np.uint8),
            seeds=jax.ShapeDtypeStruct((7,), np.uint32),
        )
    assert [(x.shape, x.dtype.name) for x in found] == [
        ((7, FOUR.cells), "uint8"),
        ((7,), "int8"),
        ((7,), "int32"),
        ((7,), "int32"),
    ]


@pytest.mark.quick
def test_wide_numbers_change_nothing():
    puzzles = reference.batch(FOUR, BATCH)
    expected = search(FOUR, puzzles, limit=5)
    with jax.enable_x64(True):
        found = fresh_kernel(FOUR, limit=5, lanes=32)(puzzles)
    for one, other in zip(found, expected, strict=True):
        assert one.dtype == other.dtype
        np.testing.assert_array_equal(one, other)


# ---------------------------------------------------------------------- what is refused


@pytest.mark.parametrize(
    ("puzzles", "options", "cause"),
    [
        (np.zeros((2, 15), np.uint8), {}, r"grids of shape \(2, 15\); a board of 4x4"),
        (np.zeros(16, np.uint8), {}, r"puzzles of shape \(16,\)"),
        (np.zeros((2, 16), np.int32), {}, "puzzles of dtype int32"),
        (np.zeros((2, 16), np.uint8), {"rules": "none"}, "unknown rules 'none'"),
        (np.zeros((2, 16), np.uint8), {"lanes": 0}, "lanes must be a positive multiple of 32, not 0"),
        (np.zeros((2, 16), np.uint8), {"lanes": 33}, "lanes must be a positive multiple of 32, not 33"),
        (np.zeros((2, 16), np.uint8), {"limit": 0}, "limit must be at least 1, not 0"),
        (np.zeros((2, 16), np.uint8), {"rounds": 0}, "rounds must be at least 1, not 0"),
        (np.zeros((2, 16), np.uint8), {"budget": 0}, "budget must be at least 1, not 0"),
        (np.zeros((2, 16), np.uint8), {"restart": 0}, "restart must be at least 1, not 0"),
        (np.zeros((2, 16), np.uint8), {"restart": 9, "branch": print}, "restarts chooses its own branches"),
        (np.zeros((2, 16), np.uint8), {"rounds": 10**9}, "rounds must be at most 1000, not 1000000000"),
        (np.zeros((2, 16), np.uint8), {"limit": np.int64(2**32 + 1)}, "limit must be at most 2147483647"),
        (np.zeros((2, 16), np.uint8), {"lanes": 32.0}, r"lanes must be a whole number, not 32\.0"),
    ],
)
def test_senseless_arguments_are_refused(puzzles, options, cause):
    with pytest.raises(ValueError, match=cause):
        exact.search(puzzles, FOUR, **options)


# ---------------------------------------------------------------------- boards of any shape


@st.composite
def any_board(draw, sides):
    """A board of irregular regions, which need not hang together, and perhaps further houses; or of boxes."""
    side = draw(sides)
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    extra = tuple(tuple(rng.permutation(side**2)[:side].tolist()) for _ in range(draw(st.integers(0, 2))))
    kind = draw(st.sampled_from(["random", "stripes", "rows", "boxes"]))
    if kind == "boxes":
        height = draw(st.sampled_from([rows for rows in range(1, side + 1) if side % rows == 0]))
        return Board(side, box=(height, side // height), extra=extra)
    rows, columns = np.divmod(np.arange(side**2), side)
    labels = {"random": rng.permutation(side**2) % side, "stripes": (rows + columns) % side, "rows": rows}[kind]
    return dataclasses.replace(Board.jigsaw(labels.tolist()), extra=extra)


@pytest.mark.slow
@settings(max_examples=8)
@given(any_board(st.integers(2, 12)))
def test_any_board_is_traced(board):
    puzzles = jax.ShapeDtypeStruct((3, board.cells), np.uint8)
    found = jax.eval_shape(functools.partial(exact.search, board=board, lanes=32), puzzles)
    assert found.grids.shape == puzzles.shape


@pytest.mark.parametrize(
    "board",
    [
        Board.jigsaw(((np.arange(5)[:, None] + np.arange(5)) % 5).tolist()),  # no two houses share two cells
        Board(4, box=(1, 4)),
        Board(3, box=(3, 1), extra=((0, 1, 2), (0, 4, 8))),
        Board.jigsaw([0, 1, 1, 0]),
    ],
    ids=str,
)
def test_boards_whose_houses_coincide_or_never_meet(board):
    rng = np.random.default_rng(0)
    puzzles = np.zeros((32, board.cells), np.uint8)
    for puzzle in puzzles:
        puzzle[rng.integers(board.cells, size=board.side)] = rng.integers(1, board.side + 1, board.side)
    found = search(board, puzzles, limit=5)
    np.testing.assert_array_equal(found.counts, [reference.count(board, puzzle, 5) for puzzle in puzzles])


def test_a_branch_of_another_shape_is_refused():
    def branch(board, planes, branching):
        return jnp.zeros((3 * board.side - 1, branching.shape[0]), jnp.uint32)

    with pytest.raises(ValueError, match=r"branch returned uint32\[11, 1\]; it must return uint32\[12, 1\]"):
        exact.guided_search(np.zeros((1, 16), np.uint8), branch, lanes=32)


@pytest.mark.slow
def test_the_first_branchings_alone_are_by_branch():
    puzzles = jnp.asarray(reference.solvable(SIX, 32, givens=8))

    def first(board, planes, branching):
        return branching_order.choose(board, planes, None)

    def last(board, planes, branching):
        literal = branching_order.choose(board, planes[::-1], None)
        return jnp.concatenate([literal[: board.side][::-1], literal[board.side :]])

    def run(branch, most):
        return jax.jit(
            functools.partial(exact.guided_search, branch=branch, board=SIX, rules="naked", lanes=32, branchings=most)
        )(puzzles)

    plain = exact.search(puzzles, SIX, rules="naked", lanes=32)
    throughout = run(last, None)[1]
    assert (throughout > 3).sum() > 8
    # a step has one node of a puzzle at first, then both children
    for branch, most, counted in ((first, 1, 1), (last, 1, 1), (last, 2, 3)):
        found, branches = run(branch, most)
        assert (found.status == Status.SOLVED).all()
        assert all(map(functools.partial(reference.is_solution, SIX), found.grids, puzzles))
        np.testing.assert_array_equal(branches > 0, throughout > 0)
        assert most <= branches.max() <= counted
        if branch is first:
            np.testing.assert_array_equal(found.grids, plain.grids)
