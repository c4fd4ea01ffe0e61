"""The exact search: counts and solutions against brute force, whatever the batch, the stack and the order."""

from __future__ import annotations

import dataclasses
import functools
import math
import re

import chex
import hypothesis
import jax
import jax.numpy as jnp
import numpy as np
import pytest
import reference
from hypothesis import given
from hypothesis import strategies as st

from jaxsudoku import compiler_options, exact, shipped
from jaxsudoku.core import branching as branching_order
from jaxsudoku.core import masks
from jaxsudoku.core.board import Board
from jaxsudoku.core.constraints import Cage, Chain, Distinct, Sum
from jaxsudoku.core.constraints.clues import Clues
from jaxsudoku.engine.solution import Status
from jaxsudoku.exact import stack, weighted

#: Puzzles that are searched together, so that a board and its settings are compiled once.
BATCH = 64

FOUR, SIX = reference.SMALL["4x4"], reference.SMALL["2x3"]

#: Searches with the weakest rules branch most; up to 1000 solutions, all are counted.
WEAK = {"rules": "naked", "rounds": 1, "limit": 1000}

#: Another form of nodes.
BANDS = {"settle": "bands", "rounds": 1, "limit": 1000}

#: Boards with settings, which have each level of rules.
SEARCHES = {
    "4x4": (FOUR, WEAK),
    "2x3": (SIX, {"limit": 5, "lanes": 64}),
    "jigsaw-5": (reference.SMALL["jigsaw-5"], {"limit": 1, "rules": "singles"}),
    "4x4-bands": (FOUR, BANDS),
}


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
@pytest.mark.parametrize(("board", "settings"), SEARCHES.values(), ids=SEARCHES)
def test_brute_force_agrees(board, settings):
    puzzles = reference.batch(board, BATCH, seed=5)
    puzzles[0] = 0
    puzzles[1, 0] = board.side + 1
    found = search(board, puzzles, **settings)
    check(board, puzzles, found, settings["limit"])
    assert set(found.status) == {Status.SOLVED, Status.UNSATISFIABLE, Status.INVALID}


@pytest.mark.quick
@pytest.mark.parametrize("name", ["4x4", "2x3"])
@hypothesis.settings(max_examples=25)
@given(data=st.data())
def test_brute_force_agrees_on_any_puzzle(name, data):
    board, settings = SEARCHES[name]
    puzzle = data.draw(reference.puzzles(board))
    check(board, puzzle[None], search(board, puzzle[None], **settings), settings["limit"])


#: Constraints that place digits in the same round, the cages of houses, and others that these digits may break.
RELATED = (
    (Chain((13, 14, 9), (), "not differ by 1"), Distinct((8, 2, 15))),
    (Chain((12, 2, 8, 11), (), "not differ by 1"),),
    (Chain((13, 14, 9), (), "differ by 1"), Distinct((8, 2, 15)), Sum((0, 11), (4,))),
)


@pytest.mark.parametrize("restart", ["never", 20])
def test_constraints_hold_for_the_digits_of_the_last_round(restart):
    every = np.array(reference.solutions(FOUR, [0] * 16, 288))
    held = [np.all([one.holds(every[:, one.cells].T, one.numbers, 4) for one in own], axis=0).sum() for own in RELATED]
    cages = tuple(Cage(house, (10,)) for house in FOUR.houses)
    clues = Clues.of([(*own, *cages) for own in RELATED], FOUR)
    found = kernel(FOUR, lanes=32, restart=restart, **WEAK)(np.zeros((3, FOUR.cells), np.uint8), clues=clues)
    np.testing.assert_array_equal(found.counts, held)


@pytest.mark.slow
def test_brute_force_agrees_on_a_wider_board():
    board = Board.classic()
    puzzles = np.concatenate([reference.batch(board, 24), reference.unique(board, 8)])
    check(board, puzzles, search(board, puzzles, limit=2, lanes=64), 2)


def test_boards_with_but_two_digits():
    board = Board.classic(2, box=(1, 2))
    puzzles = np.array([[digit, 0, 0, other] for digit in range(4) for other in range(4)], np.uint8)
    check(board, puzzles, search(board, puzzles, **WEAK), 1000)


def test_there_are_288_grids_of_side_four():
    found = search(FOUR, np.zeros((1, FOUR.cells), np.uint8), **WEAK)
    assert found.counts == 288
    assert found.status == Status.SOLVED


# ---------------------------------------------------------------------- batches


@pytest.mark.quick
def test_another_size_of_batch_and_wide_numbers_change_nothing():
    puzzles = reference.unique(FOUR, BATCH)
    puzzles[3::5, 0] = puzzles[3::5].max(axis=1)  # some clash
    whole = search(FOUR, puzzles, **WEAK)
    with jax.enable_x64(True):
        part = fresh_kernel(FOUR, lanes=32, **WEAK)(puzzles[:33])
    for found, expected in zip(part, whole, strict=True):
        assert found.dtype == expected.dtype
        np.testing.assert_array_equal(found, expected[:33])


def test_no_puzzles():
    for seeds in (None, np.zeros(0, np.uint32)):
        found = jax.eval_shape(
            functools.partial(exact.search, board=FOUR), np.zeros((0, FOUR.cells), np.uint8), seeds=seeds
        )
        assert [x.shape for x in found] == [(0, FOUR.cells), (0,), (0,), (0,)]
        assert [x.dtype for x in found] == ["uint8", "int8", "int32", "int32"]


@pytest.mark.parametrize("name", ["4x4", "2x3", "4x4-bands"])
def test_lanes_are_independent(name):
    """A puzzle's answer is the same wherever it stands and whatever stands beside it."""
    board, settings = SEARCHES[name]
    rng = np.random.default_rng(0)
    puzzles = reference.batch(board, BATCH)
    puzzles[::2] = reference.unique(board, BATCH // 2)
    found = search(board, puzzles, **settings)
    order = rng.permutation(BATCH)
    moved = search(board, puzzles[order], **settings)
    for kind in ("status", "counts"):
        np.testing.assert_array_equal(getattr(moved, kind), getattr(found, kind)[order])
    unique = found.counts == 1
    np.testing.assert_array_equal(found.grids[unique], moved.grids[np.argsort(order)][unique])
    # nodes that don't come to the limit are all visited
    whole = found.counts < settings["limit"]
    np.testing.assert_array_equal(found.iterations[whole], moved.iterations[np.argsort(order)][whole])
    crowded = search(board, np.where(np.arange(BATCH)[:, None] % 2, 0, puzzles), **settings)
    np.testing.assert_array_equal(crowded.status[::2], found.status[::2])
    np.testing.assert_array_equal(crowded.counts[::2], found.counts[::2])
    np.testing.assert_array_equal(crowded.grids[::2][unique[::2]], found.grids[::2][unique[::2]])


# ---------------------------------------------------------------------- budget and stack


def check_unfinished(puzzles, found):
    """Judges a search that did not come to an end for all puzzles: what it says is true, and the rest is empty."""
    decided = found.status != Status.UNSOLVED
    whole = search(FOUR, puzzles, **WEAK)
    assert decided.any()
    assert not decided.all()
    np.testing.assert_array_equal(found.status[decided], whole.status[decided])
    assert (found.counts <= whole.counts).all()
    assert not found.counts[~decided].any()
    assert not found.grids[~decided].any()
    for puzzle, grid in zip(puzzles[found.counts > 0], found.grids[found.counts > 0], strict=True):
        assert reference.is_solution(FOUR, grid, puzzle)


@pytest.mark.parametrize("settings", [{}, {"restart": 2}], ids=["plain", "restarts"])
def test_a_budget_stops_but_never_lies(settings):
    puzzles = reference.batch(FOUR, BATCH)
    puzzles[:8] = 0
    check_unfinished(puzzles, search(FOUR, puzzles, budget=5, **WEAK, **settings))


@pytest.mark.quick
def test_restarts_give_the_same_answers_in_a_random_order():
    """And count all solutions."""
    puzzles = reference.batch(FOUR, BATCH)
    puzzles[:8] = 0
    found = search(FOUR, puzzles, np.arange(BATCH), restart=1, **WEAK)
    check(FOUR, puzzles, found, 1000)
    # each seed that is not 0 tries digits in an order of its own
    assert len({tuple(grid) for grid in found.grids[1:8]}) > 3


@pytest.mark.quick
def test_all_lanes_search_parts_of_one_puzzle():
    """The parts are disjoint, and nothing is left out: each solution is counted once, whatever restarts."""
    for puzzle in (np.zeros(16, np.uint8), *reference.batch(FOUR, 8)):
        check(FOUR, puzzle[None], search(FOUR, puzzle[None], np.zeros(1), restart=1, **WEAK), 1000)


def test_few_levels_and_undivided_searches():
    """A puzzle that needs more levels is left unsolved; results of undivided searches are independent of the batch."""
    puzzles = reference.batch(FOUR, BATCH)
    puzzles[:8] = 0
    seeds = np.where(np.arange(BATCH) % 2, np.arange(BATCH), 0)
    settings = {**WEAK, "restart": 2, "split": False, "levels": 4}
    found = search(FOUR, puzzles, seeds, **settings)
    check_unfinished(puzzles, found)
    order = np.random.default_rng(0).permutation(BATCH)[:17]
    few = search(FOUR, puzzles[order], seeds[order], **settings)
    for part, whole in zip(few, found, strict=True):
        np.testing.assert_array_equal(part, whole[order])


#: A search in a random order, with a budget that is never spent.
SEEDED = {**WEAK, "budget": 10**6}


@pytest.mark.parametrize("platform", [pytest.param("gpu", marks=pytest.mark.slow), "tpu"])
def test_accelerators_run_other_forms_with_the_same_results(monkeypatch, platform):
    puzzles = np.concatenate([reference.batch(FOUR, BATCH - 8), np.zeros((8, FOUR.cells), np.uint8)])
    seeds = np.arange(BATCH, dtype=np.uint32)
    expected = search(FOUR, puzzles, seeds, **SEEDED)

    def form(*operands, default, **forms):
        return forms.get(platform, default)(*operands)

    monkeypatch.setattr(jax.lax, "platform_dependent", form)
    found = fresh_kernel(FOUR, lanes=32, **SEEDED)(puzzles, seeds=seeds)
    jax.tree.map(np.testing.assert_array_equal, found, expected)


@pytest.mark.slow
def test_a_wide_block_gives_the_same_answers():
    """Its planes have two axes of lanes."""
    puzzles = reference.batch(FOUR, BATCH)
    found, expected = (search(FOUR, puzzles, lanes=lanes, **WEAK) for lanes in (1 << 15, 32))
    np.testing.assert_array_equal(found.status, expected.status)
    np.testing.assert_array_equal(found.counts, expected.counts)
    for puzzle, grid in zip(puzzles[found.counts > 0], found.grids[found.counts > 0], strict=True):
        assert reference.is_solution(FOUR, grid, puzzle)


@functools.cache
def program_text(platform, **settings):
    """The program of a search of 8 puzzles for a platform, not compiled."""
    traced = traced_search(**settings)
    return traced.lower(lowering_platforms=(platform,)).as_text()


@functools.cache
def traced_search(**settings):
    return jax.jit(functools.partial(exact.search, board=FOUR, **settings)).trace(
        np.zeros((8, 16), np.uint8), seeds=np.zeros(8, np.uint32)
    )


#: Settings with which the most values are gathered.
TRACED = {"rules": "naked", "rounds": 3, "budget": 100, "limit": 2}


def test_a_tpu_gathers_no_single_words():
    sizes = re.findall(r'"stablehlo\.gather".*slice_sizes = array<i64: ([\d, ]+)>', program_text("tpu", **TRACED))
    assert sizes
    assert all(math.prod(map(int, size.split(","))) > 1 for size in sizes)


@pytest.mark.parametrize("platform", ["cpu", "tpu"])
def test_only_a_cpu_works_in_loops(platform):
    """Through solutions to be stored, and through stacks to be copied."""
    # roots, the search, pairs of rounds, grids; on a CPU also the storing of solutions
    assert program_text(platform, **TRACED).count("stablehlo.while") == (5 if platform == "cpu" else 4)
    weighted_text = program_text(platform, rules="naked", restart=9, rounds=1)
    assert weighted_text.count("stablehlo.while") == (3 if platform == "cpu" else 1)


@pytest.mark.parametrize("side", [4, 36])
def test_stacks_are_the_same_lane_by_lane_and_at_once(side):
    """The first on a CPU, the second on accelerators."""
    rng = np.random.default_rng(side)
    limbs, lanes, levels = masks.limbs(side), 32, 3
    dtype = masks.mask_dtype(side)

    def drawn(*shape):
        return rng.integers(1, np.iinfo(dtype).max, shape, dtype=dtype)

    stacks, words, others = (
        drawn(lanes, levels, limbs * side**2),
        drawn(limbs, side, side, lanes),
        drawn(limbs, lanes),
    )
    cell, depth = (rng.integers(0, most, lanes, dtype=np.int32) for most in (side**2, levels))
    chosen = rng.random(lanes) < 0.5

    @jax.jit
    def run(stacks, words, cell, others, depth, chosen):
        pushes = (weighted._push_one_by_one, weighted._push_at_once)
        pops = (weighted._pop_one_by_one, weighted._pop_at_once)
        pushed = [push(stacks, words, cell, others, depth, chosen) for push in pushes]
        return pushed, [pop(pushed[0], words + 1, depth + 1, chosen) for pop in pops]

    (pushed, at_once), (popped, popped_at_once) = jax.tree.map(
        np.asarray, run(stacks, words, cell, others, depth, chosen)
    )
    np.testing.assert_array_equal(at_once, pushed)
    changed = (pushed != stacks).any(axis=2)
    np.testing.assert_array_equal(changed, chosen[:, None] & (np.arange(levels) == depth[:, None]))
    np.testing.assert_array_equal(popped_at_once, popped)
    expected = words + np.ones((), dtype)
    for lane in np.flatnonzero(chosen):
        expected[..., lane] = words[..., lane]
        expected.reshape(limbs, -1, lanes)[:, cell[lane], lane] = others[:, lane]
    np.testing.assert_array_equal(popped, expected)


def test_a_stack_that_is_nearly_full_goes_on_depth_first(monkeypatch):
    puzzles = np.concatenate([np.zeros((32, FOUR.cells), np.uint8), reference.batch(FOUR, BATCH - 32)])
    expected = search(FOUR, puzzles, **WEAK)
    monkeypatch.setattr(stack.StackPlan, "capacity", 48)  # less than two blocks
    found = jax.tree.map(np.asarray, fresh_kernel(FOUR, lanes=32, **WEAK)(puzzles))
    assert (found.counts[:32] == 288).all()
    # all nodes are visited, so the order in which they are taken leaves no trace but which grid is first
    for kind in ("status", "counts", "iterations"):
        np.testing.assert_array_equal(getattr(found, kind), getattr(expected, kind))
    for puzzle, grid, count in zip(puzzles, found.grids, found.counts, strict=True):
        assert reference.is_solution(FOUR, grid, puzzle) == (count > 0)


# ---------------------------------------------------------------------- random order


def test_a_seed_of_zero_is_the_fixed_order_and_a_large_budget_changes_nothing():
    puzzles = reference.batch(FOUR, BATCH)
    found = search(FOUR, puzzles, np.zeros(BATCH), **SEEDED)
    jax.tree.map(np.testing.assert_array_equal, found, search(FOUR, puzzles, **WEAK))


def test_a_random_order_gives_the_same_answers():
    puzzles = reference.batch(FOUR, BATCH)
    seeds = np.random.default_rng(0).integers(0, 2**32, BATCH, dtype=np.uint32)
    found = search(FOUR, puzzles, seeds, **SEEDED)
    check(FOUR, puzzles, found, 1000)
    jax.tree.map(np.testing.assert_array_equal, search(FOUR, puzzles, seeds, **SEEDED), found)


@pytest.mark.parametrize("settings", [SEEDED, BANDS], ids=["xla", "bands"])
def test_seeds_choose_among_solutions(settings):
    found = search(FOUR, np.zeros((BATCH, FOUR.cells), np.uint8), np.arange(BATCH), **settings)
    assert all(reference.is_solution(FOUR, grid) for grid in found.grids)
    assert len(np.unique(found.grids, axis=0)) > BATCH // 2
    # no cell and no digit is left out
    assert min(len(np.unique(cell)) for cell in found.grids.T) == 4


# ---------------------------------------------------------------------- one transformation after another


@pytest.mark.parametrize(
    ("board", "settings", "several"),
    [
        pytest.param(FOUR, WEAK, False, id="one digit"),
        pytest.param(FOUR, WEAK, True, id="digits"),
        pytest.param(FOUR, BANDS, False, id="one digit in bands"),
        pytest.param(FOUR, {**WEAK, "restart": 8}, False, id="one digit with restarts"),
        pytest.param(reference.SMALL["diagonal-4"], {"restart": 2}, True, id="digits with restarts"),
    ],
)
def test_excluded_digits_of_empty_cells_are_not_taken(board, settings, several):
    """Counted against all solutions of the puzzle. Givens keep their digits."""
    puzzles = reference.unique(board, BATCH)
    rng = np.random.default_rng(2)
    puzzles *= rng.random(puzzles.shape) < 0.8  # some have several solutions now
    cubes = rng.random((BATCH, board.side, board.cells)) < 0.08
    excluded = cubes
    if not several:  # the first of the digits of a cell
        excluded = np.where(cubes.any(axis=1), cubes.argmax(axis=1) + 1, 0).astype(np.uint8)
        cubes = excluded[:, None] == np.arange(1, 5)[:, None]
    found = jax.tree.map(np.asarray, kernel(board, **{**settings, "limit": 3, "lanes": 32})(puzzles, excluded=excluded))
    counts = set()
    for row, puzzle in enumerate(puzzles):
        kept = ~cubes[row] | (puzzle > 0)

        def allowed(grid, kept=kept):
            return kept[np.array(grid) - 1, np.arange(board.cells)].all()

        expected = min(sum(map(allowed, reference.solutions(board, puzzle, 2_000))), 3)
        counts.add(expected)
        assert found.counts[row] == expected
        if expected:
            assert reference.is_solution(board, found.grids[row], puzzle) and allowed(found.grids[row])
    assert counts == {0, 1, 2, 3}, "the puzzles test something"
    assert (cubes & (puzzles[:, None] > 0)).any()
    with pytest.raises(ValueError, match=r"excluded \w+\[\d+, 3\]; it must be uint8\[.*\] or bool\["):
        exact.search(puzzles, board, None, excluded[..., :3].reshape(-1, 3), lanes=32)


def test_vmap():
    puzzles = reference.batch(FOUR, 32)
    expected = search(FOUR, puzzles, **WEAK)
    one_of_two = functools.partial(exact.search, board=FOUR, lanes=32, **{**WEAK, "limit": 2})
    found = jax.jit(jax.vmap(one_of_two), compiler_options=compiler_options())(puzzles.reshape(2, 16, -1))
    grids, status, counts, _ = (np.asarray(part).reshape(32, *part.shape[2:]) for part in found)
    np.testing.assert_array_equal(status, expected.status)
    np.testing.assert_array_equal(counts, np.minimum(expected.counts, 2))
    for puzzle, grid, count in zip(puzzles, grids, counts, strict=True):
        assert reference.is_solution(FOUR, grid, puzzle) == (count > 0)


def test_a_board_and_its_equal_are_traced_once():
    traced = jax.jit(
        chex.assert_max_traces(exact.search, n=1),
        static_argnames=("board", "rules", "lanes"),
        compiler_options=compiler_options(),
    )
    puzzles = reference.unique(FOUR, 8)
    for board in (Board.classic(4), Board(4, box=(2, 2)), Board.named("2x2")):
        assert traced.eval_shape(puzzles, board, rules="naked", lanes=32).counts.shape == (8,)
    with pytest.raises(AssertionError, match="traced > 1 times"):
        traced.eval_shape(puzzles[:5], Board.classic(4), rules="naked", lanes=32)


def test_dtypes():
    with jax.enable_x64(True), jax.numpy_dtype_promotion("strict"):
        found = jax.eval_shape(
            functools.partial(exact.search, board=FOUR, budget=9, **WEAK),
            jax.ShapeDtypeStruct((7, FOUR.cells), np.uint8),
            seeds=jax.ShapeDtypeStruct((7,), np.uint32),
        )
    assert [(x.shape, x.dtype.name) for x in found] == [
        ((7, FOUR.cells), "uint8"),
        ((7,), "int8"),
        ((7,), "int32"),
        ((7,), "int32"),
    ]


# ---------------------------------------------------------------------- what is refused


@pytest.mark.parametrize(
    ("puzzles", "options", "cause"),
    [
        (np.zeros((2, 15), np.uint8), {}, r"grids of shape \(2, 15\); a board of 4x4"),
        (np.zeros(16, np.uint8), {}, r"puzzles of shape \(16,\)"),
        (np.zeros((2, 16), np.int32), {}, "puzzles of dtype int32"),
        (np.zeros((2, 16), np.uint8), {"limit": 0}, "limit must be at least 1, not 0"),
        (np.zeros((2, 16), np.uint8), {"restart": 9, "branch": print}, "restarts chooses its own branches"),
        (np.zeros((2, 16), np.uint8), {"order": "random"}, 'the order "random" needs seeds'),
        (np.zeros((2, 16), np.uint8), {"rouns": 1}, "the exact search has no option rouns; .* did you mean 'rounds'"),
        (np.zeros((2, 16), np.uint8), {"limit": np.int64(2**32 + 1)}, "limit must be at most 2147483647"),
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
@hypothesis.settings(max_examples=3)
@given(any_board(st.integers(2, 8)))
def test_any_board_is_traced(board):
    puzzles = jax.ShapeDtypeStruct((3, board.cells), np.uint8)
    found = jax.eval_shape(functools.partial(exact.search, board=board, lanes=32), puzzles)
    assert found.grids.shape == puzzles.shape


def test_a_branch_of_another_shape_is_refused():
    def branch(board, planes, branching):
        return jnp.zeros((3 * board.side - 1, *branching.shape), jnp.uint32)

    for side in (4, 12):  # a search that a branch guides has no restarts, on a large board either
        cause = rf"branch returned uint32\[{3 * side - 1}, 1\]; it must return uint32\[{3 * side}, 1\]"
        with pytest.raises(ValueError, match=cause):
            jax.eval_shape(
                functools.partial(exact.guided_search, branch=branch, rules="naked", lanes=32),
                np.zeros((1, side**2), np.uint8),
            )


@pytest.mark.slow
def test_the_first_branchings_alone_are_by_branch():
    puzzles = reference.solvable(FOUR, 32, givens=2)

    def first(board, planes, branching):
        return branching_order.choose(board, planes, None)

    def last(board, planes, branching):
        literal = branching_order.choose(board, planes[::-1], None)
        return jnp.concatenate([literal[: board.side][::-1], literal[board.side :]])

    def run(branch, most):
        settings = {"board": FOUR, "rules": "naked", "rounds": 1, "lanes": 32, "guided_branches": most}
        run = jax.jit(functools.partial(exact.guided_search, branch=branch, **settings))
        return jax.tree.map(np.asarray, run(puzzles))

    plain = search(FOUR, puzzles, rules="naked", rounds=1)
    throughout = run(last, None)[1]
    assert (throughout > 3).sum() > 8
    # a step has one node of a puzzle at first, then both children
    for branch, most, counted in ((first, 1, 1), (last, 2, 3)):
        found, branches = run(branch, most)
        assert (found.status == Status.SOLVED).all()
        assert all(map(functools.partial(reference.is_solution, FOUR), found.grids, puzzles))
        np.testing.assert_array_equal(branches > 0, throughout > 0)
        assert most <= branches.max() <= counted
        if branch is first:
            np.testing.assert_array_equal(found.grids, plain.grids)


@pytest.mark.slow
def test_bands_find_what_planes_find():
    """Shipped puzzles, some with a wrong digit or without some givens."""
    board = Board.classic(9)
    puzzles = np.concatenate([shipped.load(f"9x9-{level}")[:180] for level in ("easy", "hard", "extreme")])
    rng = np.random.default_rng(4)
    puzzles[np.arange(0, 540, 5), rng.integers(81, size=108)] = rng.integers(10, size=108)
    puzzles[::7] *= (rng.random((78, 81)) < 0.9).astype(np.uint8)
    by_planes, in_bands = (
        jax.tree.map(np.asarray, kernel(board, lanes=128, limit=2, settle=settle)(puzzles))
        for settle in ("xla", "bands")
    )
    np.testing.assert_array_equal(in_bands.status, by_planes.status)
    np.testing.assert_array_equal(in_bands.counts, by_planes.counts)
    one = by_planes.counts == 1
    np.testing.assert_array_equal(in_bands.grids[one], by_planes.grids[one])
    assert {0, 1, 2} == set(by_planes.counts)
    assert set(by_planes.status) == {Status.SOLVED, Status.UNSATISFIABLE, Status.INVALID}
