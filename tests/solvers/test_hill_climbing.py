"""Hill climbing: neighbours against grids judged from scratch, local optima by brute force, and what settings do."""

from __future__ import annotations

import functools
import itertools
import operator

import jax
import numpy as np
import pytest
import reference
from hypothesis import given, settings
from hypothesis import strategies as st

import jaxsudoku as js
from jaxsudoku import solvers
from jaxsudoku.core.constraints import Cage, Chain, Distinct
from jaxsudoku.engine.solution import Status
from jaxsudoku.runtime.random import as_key
from jaxsudoku.solvers import population
from jaxsudoku.solvers.population import boxes, hill_climbing, neighbours, random_keys
from jaxsudoku.solvers.queue import Start

FOUR = reference.SMALL["4x4"]
FIVE = reference.SMALL["jigsaw-5"]
RULED = reference.SMALL["diagonal-4"].with_(Chain((1, 6, 11)), Cage((9, 10, 14), (8,)), Distinct((0, 7)), Chain((2, 7)))
BOARDS = {"jigsaw-5": FIVE, "constrained": RULED}
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
    """The digits that lines miss (those that they repeat, as boxes are right), and the constraints that are broken."""
    broken = [not one.holds(grid[list(one.cells)].astype(int), one.numbers, board.side) for one in board.constraints]
    return reference.repeats(board, grid) + sum(map(bool, broken))


def keeps_boxes(board, grid, puzzle):
    """Whether a grid keeps the givens and holds every digit once in every box."""
    every = list(range(1, board.side + 1))
    kept = (grid == puzzle)[puzzle > 0].all()
    return kept and all(sorted(grid[list(box)].tolist()) == every for box in board.region_houses)


def full_grids(board, puzzles, seed):
    return reference.arranged(board, puzzles.T, seed).T


decoded = jax.jit(random_keys.decoded, static_argnums=0)

SEEDS = st.integers(0, 2**32 - 1)


# ---------------------------------------------------------------------- random keys


@pytest.mark.parametrize("board", [FIVE, js.Board.classic(6)], ids=["jigsaw-5", "2x3"])
@settings(max_examples=5)
@given(seed=SEEDS)
def test_digits_follow_the_order_of_the_keys(board, seed):
    puzzles = givens_of(board, seed)
    keys = np.random.default_rng(seed).integers(5, size=puzzles.shape).astype(np.float32)
    grids = np.asarray(decoded(board, puzzles, keys))
    for puzzle, order, grid in zip(puzzles.T, keys.T, grids.T, strict=True):
        assert keeps_boxes(board, grid, puzzle)
        for box in board.region_houses:
            free = sorted((order[cell], place, cell) for place, cell in enumerate(box) if not puzzle[cell])
            digits = [grid[cell] for *_, cell in free]
            assert digits == sorted(digits)


def test_random_keys_make_every_arrangement_as_likely_as_any_other():
    puzzles = np.zeros((16, 2400), np.uint8)
    keys = np.random.default_rng(0).integers(2**32, size=puzzles.shape, dtype=np.uint32)
    first = np.asarray(decoded(FOUR, puzzles, keys))[[0, 1, 4, 5]]  # the first box: 24 arrangements, 100 each
    _, counts = np.unique(first, axis=1, return_counts=True)
    assert len(counts) == 24
    assert ((counts - 100) ** 2 / 100).sum() < 60


# ---------------------------------------------------------------------- neighbours


def draws(board):
    """Triples that are tried: more than there are, so that swaps are drawn twice."""
    return 3 + len(list(itertools.combinations(range(board.side), 3)))


@functools.partial(jax.jit, static_argnums=0)
def around(board, grids, free, seeds):
    """The rise of every swap, the best swap, and the best of three swaps."""
    return (
        neighbours.rises(board, grids),
        neighbours.best_swap(board, grids, free, seeds),
        neighbours.best_triple(board, grids, free, seeds, draws(board)),
    )


@functools.cache
def surroundings(board):
    """Puzzles [K, cells], of which the first is full, grids [K, cells], and what is around them."""
    puzzles = givens_of(board, 4)
    puzzles[:, 0] = full_grids(board, puzzles, 1)[:, 0]  # where nothing is free there is no swap
    grids = full_grids(board, puzzles, 5)
    rises, swap, triple = around(board, grids, puzzles == 0, np.arange(SIZE, dtype=np.uint32))
    return puzzles.T, grids.T, np.asarray(rises).T, *(jax.tree.map(np.asarray, best) for best in (swap, triple))


@BY_BOARD
def test_what_swaps_do_is_what_grids_say_from_scratch(board):
    _, grids, rises, *_ = surroundings(board)
    for grid, of_grid in zip(grids, rises, strict=True):
        before = missing(board, grid)
        for (one, other), rise in zip(boxes.pairs(board).cells, of_grid, strict=True):
            swapped = grid.copy()
            swapped[[one, other]] = grid[[other, one]]
            assert rise == missing(board, swapped) - before


def test_digits_beyond_a_word_count():
    """Digit 33 has bit 0 of the second word."""
    board = js.Board.classic(33)
    puzzles = givens_of(board, 0, 2, share=0.9)
    grids = full_grids(board, puzzles, 0)

    @jax.jit
    def judged(grids, free):
        triple = neighbours.best_triple(board, grids, free, np.uint32([0, 1]), 40)
        return boxes.errors(board, grids), neighbours.rises(board, grids), triple

    errors, rises, best = jax.tree.map(np.asarray, judged(grids, puzzles == 0))
    np.testing.assert_array_equal(errors, [missing(board, grid) for grid in grids.T])
    pairs = boxes.pairs(board).cells
    high = np.flatnonzero((grids[pairs] == 33).any(axis=(1, 2)))
    for number in np.random.default_rng(0).choice(high, 30, replace=False):
        for lane, grid in enumerate(grids.T):
            swapped = grid.copy()
            swapped[pairs[number]] = grid[pairs[number, ::-1]]
            assert rises[number, lane] == missing(board, swapped) - missing(board, grid)
    for grid, after, rise in zip(grids.T, best.grids.T, best.rise, strict=True):
        assert (after != grid).sum() == 6
        assert missing(board, after) == missing(board, grid) + rise


@BY_BOARD
def test_the_best_swap_is_as_good_as_any(board):
    puzzles, grids, _, best, _ = surroundings(board)
    for lane, (puzzle, grid, after) in enumerate(zip(puzzles, grids, best.grids.T, strict=True)):
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
    best = jax.jit(neighbours.best_swap, static_argnums=0)(FOUR, many, many > 0, np.arange(size, dtype=np.uint32))
    _, counts = np.unique(best.grids, axis=1, return_counts=True)
    assert len(counts) == equal
    assert ((counts - size / equal) ** 2 / (size / equal)).sum() < 30


@BY_BOARD
def test_three_swaps_are_in_three_boxes_and_judged_rightly(board):
    puzzles, grids, *_, best = surroundings(board)
    for lane, (puzzle, grid, after) in enumerate(zip(puzzles, grids, best.grids.T, strict=True)):
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


@functools.cache
def climbs(**options):
    """The puzzles [cells, K], and the states after each step until all are over, the first that of the beginning."""
    puzzles = givens_of(FIVE, 6)
    method = hill_climbing.method(FIVE, population.HillClimbingConfig(**options))

    def move(now, _):
        now = method.select(method.done(now), now, method.step(now))
        return now, now

    @functools.partial(jax.jit, compiler_options=js.compiler_options())
    def run(start):
        now = method.init(start)
        return now, jax.lax.scan(move, now, length=80)[1]

    first, later = jax.tree.map(np.asarray, run(Start(puzzles.T, None, np.arange(SIZE, dtype=np.uint32), None)))
    assert later.done[-1].all()
    count = 1 + int(later.done.all(axis=1).argmax())
    return puzzles, [first, *(jax.tree.map(operator.itemgetter(number), later) for number in range(count))]


@pytest.mark.parametrize("options", [{}, {"neighbourhood": "super", "triples": 30}], ids=["swaps", "super"])
def test_a_climb_ends_where_no_neighbour_is_better(options):
    puzzles, states = climbs(**options)
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
    _, states = climbs(sideways=3)
    same, most = np.zeros(SIZE, int), 0
    for before, after in itertools.pairwise(states):
        moved = (before.grids != after.grids).any(axis=0)
        assert (after.error <= before.error).all()
        same = np.where(moved & (after.error == before.error), same + 1, 0)
        most = max(most, same.max())
    assert most == 3
    assert states[-1].error.mean() < climbs()[1][-1].error.mean()


def test_restarts_never_make_it_worse():
    (puzzles, few), (_, many) = climbs(), climbs(restarts=4)
    assert (many[-1].best <= few[-1].best).all()
    assert many[-1].best.mean() < few[-1].best.mean()
    assert many[-1].restarts.max() == 4
    for before, after in itertools.pairwise(many):
        assert (after.best <= before.best).all()
    for puzzle, grid, error in zip(puzzles.T, many[-1].record.T, many[-1].best, strict=True):
        assert keeps_boxes(FIVE, grid, puzzle)
        assert missing(FIVE, grid) == error


def test_iterations_are_all_neighbours_and_where_climbs_begin():
    puzzles, states = climbs()
    number = np.array([len(list(swaps_of(FIVE, puzzle, puzzle))) for puzzle in puzzles.T])
    steps, left = np.divmod(states[-1].iterations - 1, number)
    assert (left == 0).all()
    assert (steps > 0).any()
    last = climbs(restarts=4)[1][-1]
    lost = last.best > 0
    assert lost.any()
    np.testing.assert_array_equal((last.iterations - 5)[lost] % number[lost], 0)


# ---------------------------------------------------------------------- the solver


def test_puzzles_are_solved_sooner_or_later_and_each_on_its_own():
    known = solvers.get("hill-climbing")
    config = solvers.make_config(known, restarts=50, sideways=5, lanes=5).resolve(FOUR, "cpu")
    call = jax.jit(lambda puzzles, key: known.run(FOUR, puzzles, key, config), compiler_options=js.compiler_options())

    def run(puzzles, seed=0):
        return jax.tree.map(np.asarray, call(puzzles, as_key(seed)))

    puzzles = np.zeros((SIZE, 16), np.uint8)
    puzzles[1::2] = givens_of(FOUR, 9, SIZE // 2).T
    found = run(puzzles)
    assert (found.status[::2] == Status.SOLVED).all()
    assert all(reference.is_solution(FOUR, grid) for grid in found.grids[::2])
    assert len(np.unique(found.grids[::2], axis=0)) > 1
    looked = found.status != Status.INVALID
    assert {*found.status[looked]} == {Status.SOLVED, Status.UNSOLVED}
    np.testing.assert_array_equal((found.stats["errors"] == 0)[looked], (found.status == Status.SOLVED)[looked])
    # whatever else there is, but not with another seed
    puzzles[1::2] = 0
    for one, other in zip(jax.tree.leaves(run(puzzles)), jax.tree.leaves(found), strict=True):
        np.testing.assert_array_equal(one[::2], other[::2])
    assert (run(puzzles, 1).iterations[::2] != found.iterations[::2]).any()


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
