"""Hill climbing: neighbours against grids judged from scratch, local optima by brute force, and what settings do."""

from __future__ import annotations

import functools
import itertools

import jax
import jax.numpy as jnp
import numpy as np
import pytest
import reference
from hypothesis import given, settings
from hypothesis import strategies as st

import jaxsudoku as js
from jaxsudoku import solvers
from jaxsudoku.solution import Status
from jaxsudoku.solvers import population
from jaxsudoku.solvers.population import boxes, hill_climbing, neighbours, random_keys
from jaxsudoku.solvers.queue import Start

FOUR = reference.SMALL["4x4"]
FIVE = reference.SMALL["jigsaw-5"]
BOARDS = {
    "jigsaw-5": FIVE,
    "2x3": reference.SMALL["2x3"],
    "diagonal-4": reference.SMALL["diagonal-4"],
    "9x9": js.Board.classic(),
}
SIZE = 24

BY_BOARD = pytest.mark.parametrize("board", BOARDS.values(), ids=BOARDS)


def givens_of(board, seed, size=SIZE, share=0.4):
    """Puzzles uint8[cells, K], no digit twice in a box, some of them without a solution."""
    rng = np.random.default_rng(seed)
    grids = np.zeros((board.cells, size), np.uint8)
    for box in board.region_houses:
        grids[list(box)] = rng.permuted(np.tile(np.arange(1, board.side + 1)[:, None], size), axis=0)
    return np.where(rng.random(grids.shape) < share, grids, 0).astype(np.uint8)


def missing(board, grid):
    """The digits that rows, columns and extra houses miss: those that they repeat, as boxes are right."""
    return reference.repeats(board, grid)


def keeps_boxes(board, grid, puzzle):
    """Whether a grid keeps the givens and holds every digit once in every box."""
    every = list(range(1, board.side + 1))
    kept = (grid == puzzle)[puzzle > 0].all()
    return kept and all(sorted(grid[list(box)].tolist()) == every for box in board.region_houses)


@functools.cache
def compiled(function, board, *static):
    return jax.jit(lambda *arrays: function(board, *arrays, *static))


def full_grids(board, puzzles, seed):
    keys = np.random.default_rng(seed).integers(2**32, size=puzzles.shape, dtype=np.uint32)
    return np.asarray(compiled(random_keys.decoded, board)(puzzles, keys))


SEEDS = st.integers(0, 2**32 - 1)


# ---------------------------------------------------------------------- random keys


@BY_BOARD
@settings(max_examples=5)
@given(seed=SEEDS)
def test_digits_follow_the_order_of_the_keys(board, seed):
    puzzles = givens_of(board, seed)
    keys = np.random.default_rng(seed).integers(5, size=puzzles.shape).astype(np.float32)
    grids = np.asarray(compiled(random_keys.decoded, board)(puzzles, keys))
    for puzzle, order, grid in zip(puzzles.T, keys.T, grids.T, strict=True):
        assert keeps_boxes(board, grid, puzzle)
        for box in board.region_houses:
            free = sorted((order[cell], place, cell) for place, cell in enumerate(box) if not puzzle[cell])
            digits = [grid[cell] for *_, cell in free]
            assert digits == sorted(digits)


def test_random_keys_make_every_arrangement_as_likely_as_any_other():
    puzzles = np.zeros((16, 2400), np.uint8)
    first = full_grids(FOUR, puzzles, 0)[[0, 1, 4, 5]]  # the first box: 24 arrangements, 100 each
    _, counts = np.unique(first, axis=1, return_counts=True)
    assert len(counts) == 24
    assert ((counts - 100) ** 2 / 100).sum() < 60


# ---------------------------------------------------------------------- neighbours


@BY_BOARD
@settings(max_examples=3)
@given(seed=SEEDS)
def test_what_swaps_do_is_what_grids_say_from_scratch(board, seed):
    grids = full_grids(board, givens_of(board, seed, 4), seed)
    rises = np.asarray(compiled(neighbours.rises, board)(grids))
    for lane, grid in enumerate(grids.T):
        before = missing(board, grid)
        for (one, other), rise in zip(boxes.pairs(board).cells, rises[:, lane], strict=True):
            swapped = grid.copy()
            swapped[[one, other]] = grid[[other, one]]
            assert rise == missing(board, swapped) - before


def test_digits_beyond_a_word_count():
    """Digit 33 has bit 0 of the second word."""
    board = js.Board.classic(33)
    puzzles = givens_of(board, 0, 2, share=0.9)
    grids = full_grids(board, puzzles, 0)
    np.testing.assert_array_equal(compiled(boxes.errors, board)(grids), [missing(board, grid) for grid in grids.T])
    rises = np.asarray(compiled(neighbours.rises, board)(grids))
    pairs = boxes.pairs(board).cells
    high = np.flatnonzero((grids[pairs] == 33).any(axis=(1, 2)))
    for number in np.random.default_rng(0).choice(high, 30, replace=False):
        for lane, grid in enumerate(grids.T):
            swapped = grid.copy()
            swapped[pairs[number]] = grid[pairs[number, ::-1]]
            assert rises[number, lane] == missing(board, swapped) - missing(board, grid)
    best = jax.tree.map(np.asarray, compiled(neighbours.best_triple, board, 40)(grids, puzzles == 0, np.uint32([0, 1])))
    for grid, after, rise in zip(grids.T, best.grids.T, best.rise, strict=True):
        assert (after != grid).sum() == 6
        assert missing(board, after) == missing(board, grid) + rise


@BY_BOARD
def test_the_best_swap_is_as_good_as_any(board):
    puzzles = givens_of(board, 1)
    puzzles[:, 0] = full_grids(board, puzzles, 1)[:, 0]  # where nothing is free there is no swap
    grids = full_grids(board, puzzles, 2)
    lane_seeds = np.arange(SIZE, dtype=np.uint32)
    best = jax.tree.map(np.asarray, compiled(neighbours.best_swap, board)(grids, puzzles == 0, lane_seeds))
    for lane, (puzzle, grid, after) in enumerate(zip(puzzles.T, grids.T, best.grids.T, strict=True)):
        around = list(swaps_of(board, grid, puzzle))
        assert best.tried[lane] == len(around)
        if around:
            assert best.rise[lane] == min(missing(board, other) for other in around) - missing(board, grid)
            assert any((after == other).all() for other in around)
            assert missing(board, after) == missing(board, grid) + best.rise[lane]
    assert best.tried[0] == 0
    assert best.rise[0] > board.cells


def swaps_of(board, grid, puzzle):
    """All grids that are a swap of free cells away, one after another."""
    for box in board.region_houses:
        for one, other in itertools.combinations([cell for cell in box if not puzzle[cell]], 2):
            swapped = grid.copy()
            swapped[[one, other]] = grid[[other, one]]
            yield swapped


def test_equal_swaps_are_drawn_by_lot():
    puzzle, size = np.zeros((16, 1), np.uint8), 1000
    grid = full_grids(FOUR, puzzle, 3)
    around = np.array(list(swaps_of(FOUR, grid[:, 0], puzzle[:, 0])))
    least = min(missing(FOUR, other) for other in around)
    equal = sum(missing(FOUR, other) == least for other in around)
    assert equal > 1
    many = np.tile(grid, size)
    best = compiled(neighbours.best_swap, FOUR)(many, many > 0, np.arange(size, dtype=np.uint32))
    _, counts = np.unique(best.grids, axis=1, return_counts=True)
    assert len(counts) == equal
    assert ((counts - size / equal) ** 2 / (size / equal)).sum() < 30


@BY_BOARD
def test_three_swaps_are_in_three_boxes_and_judged_rightly(board):
    puzzles = givens_of(board, 4)
    size = 3 + len(list(itertools.combinations(range(board.side), 3)))  # so that swaps are drawn twice
    puzzles[:, 0] = full_grids(board, puzzles, 1)[:, 0]
    grids = full_grids(board, puzzles, 5)
    lane_seeds = np.arange(SIZE, dtype=np.uint32)
    best = jax.tree.map(np.asarray, compiled(neighbours.best_triple, board, size)(grids, puzzles == 0, lane_seeds))
    for lane, (puzzle, grid, after) in enumerate(zip(puzzles.T, grids.T, best.grids.T, strict=True)):
        able = sum((puzzle[list(box)] == 0).sum() > 1 for box in board.region_houses)
        every = able * (able - 1) * (able - 2) // 6
        assert every <= best.tried[lane] <= every + 3
        if every:
            assert keeps_boxes(board, after, puzzle)
            changed = [(after != grid)[list(box)].sum() for box in board.region_houses]
            assert sorted(changed) == [0] * (board.side - 3) + [2] * 3
            assert missing(board, after) == missing(board, grid) + best.rise[lane]
    assert best.tried[0] == 0
    assert best.rise[0] > board.cells
    assert (best.rise < 0).any()


# ---------------------------------------------------------------------- climbs


def climb(board, puzzles, **options):
    """The states after each step until all are over, the first that of the beginning."""
    method = hill_climbing.method(board, population.HillClimbingConfig(**options))
    init, step = jax.jit(method.init), jax.jit(lambda now: method.select(method.done(now), now, method.step(now)))
    states = [init(Start(jnp.asarray(puzzles.T), None, jnp.arange(puzzles.shape[1], dtype=jnp.uint32), None))]
    while not states[-1].done.all():
        states.append(step(states[-1]))
    return [jax.tree.map(np.asarray, state) for state in states]


@pytest.mark.parametrize("options", [{}, {"neighbourhood": "super", "triples": 30}], ids=["swaps", "super"])
def test_a_climb_ends_where_no_neighbour_is_better(options):
    puzzles = givens_of(FIVE, 6)
    states = climb(FIVE, puzzles, **options)
    for before, after in itertools.pairwise(states):
        for lane, (puzzle, grid) in enumerate(zip(puzzles.T, after.grids.T, strict=True)):
            assert keeps_boxes(FIVE, grid, puzzle)
            assert after.error[lane] == missing(FIVE, grid)
            if not before.done[lane]:
                assert after.error[lane] < before.error[lane] or after.done[lane]
    last = states[-1]
    np.testing.assert_array_equal(last.best, last.error)
    np.testing.assert_array_equal(last.record, last.grids)
    for puzzle, grid, error in zip(puzzles.T, last.grids.T, last.error, strict=True):
        assert not error or all(missing(FIVE, other) >= error for other in swaps_of(FIVE, grid, puzzle))
    assert (last.error > 0).any()


def test_steps_sideways_are_so_many_in_a_row():
    puzzles = givens_of(FIVE, 7)
    states = climb(FIVE, puzzles, sideways=3)
    same, most = np.zeros(SIZE, int), 0
    for before, after in itertools.pairwise(states):
        moved = (before.grids != after.grids).any(axis=0)
        assert (after.error <= before.error).all()
        same = np.where(moved & (after.error == before.error), same + 1, 0)
        most = max(most, same.max())
    assert most == 3
    assert states[-1].error.mean() < climb(FIVE, puzzles)[-1].error.mean()


def test_restarts_never_make_it_worse():
    puzzles = givens_of(FIVE, 8, 64)
    few, many = (climb(FIVE, puzzles, restarts=restarts) for restarts in (0, 4))
    assert (many[-1].best <= few[-1].best).all()
    assert many[-1].best.mean() < few[-1].best.mean()
    assert many[-1].restarts.max() == 4
    for before, after in itertools.pairwise(many):
        assert (after.best <= before.best).all()
    for puzzle, grid, error in zip(puzzles.T, many[-1].record.T, many[-1].best, strict=True):
        assert keeps_boxes(FIVE, grid, puzzle)
        assert missing(FIVE, grid) == error


# ---------------------------------------------------------------------- the solver


@functools.cache
def kernel(board, **options):
    known = solvers.get("hill-climbing")
    config = solvers.make_config(known, **options).resolve(board, "cpu")
    call = lambda puzzles, key: known.run(board, puzzles, key, config)  # noqa: E731
    return jax.jit(call, compiler_options=js.compiler_options())


def run(puzzles, seed=0, board=FOUR, **options):
    return jax.tree.map(np.asarray, kernel(board, **options)(puzzles, jax.random.key(seed)))


@pytest.mark.slow
def test_a_puzzle_depends_on_itself_and_its_seed_alone():
    puzzles = givens_of(FIVE, 9, share=0.2).T
    options = {"board": FIVE, "restarts": 3, "sideways": 2}
    whole = run(puzzles, **options, lanes=SIZE)
    few = run(puzzles, **options, lanes=5)
    for one, other in zip(jax.tree.leaves(whole), jax.tree.leaves(few), strict=True):
        np.testing.assert_array_equal(one, other)
    assert (run(puzzles, 1, **options, lanes=SIZE).iterations != whole.iterations).any()


def test_iterations_are_all_neighbours_and_where_climbs_begin():
    puzzles = givens_of(FIVE, 6).T
    puzzles = puzzles[[not reference.is_clash(FIVE, puzzle) for puzzle in puzzles]]
    found = run(puzzles, board=FIVE)
    around = [len(list(swaps_of(FIVE, puzzle, puzzle))) for puzzle in puzzles]
    steps, left = np.divmod(found.iterations - 1, around)
    assert (left == 0).all()
    assert (steps > 0).any()
    again = run(puzzles, board=FIVE, restarts=2)
    lost = again.status == Status.UNSOLVED
    np.testing.assert_array_equal((again.iterations - 3)[lost] % np.array(around)[lost], 0)
    np.testing.assert_array_equal(found.stats["errors"] == 0, found.status == Status.SOLVED)


def test_empty_grids_are_solved_sooner_or_later():
    found = run(np.zeros((8, 16), np.uint8), restarts=50, sideways=5)
    assert (found.status == Status.SOLVED).all()
    assert all(reference.is_solution(FOUR, grid) for grid in found.grids)
    assert len(np.unique(found.grids, axis=0)) > 1


@pytest.mark.parametrize(
    ("options", "cause"),
    [
        ({"rules": "all"}, "unknown rules 'all': choose one of none, naked, singles, locked"),
        ({"neighbourhood": "wide"}, "unknown neighbourhood 'wide': choose one of swaps, super"),
        ({"triples": 0}, "triples must be at least 1, not 0"),
        ({"restarts": -1}, "restarts must be at least 0, not -1"),
    ],
)
def test_a_setting_out_of_its_range_is_refused(options, cause):
    with pytest.raises(ValueError, match=cause):
        population.HillClimbingConfig(**options)


def test_slots_suit_the_board():
    config = population.HillClimbingConfig()
    wide, narrow = config.resolve(js.Board.classic(25), "cpu").lanes, config.resolve(FOUR, "cpu").lanes
    assert 1 <= wide < narrow < config.resolve(FOUR, "gpu").lanes
    assert population.HillClimbingConfig(lanes=7).resolve(FOUR, "gpu").lanes == 7
