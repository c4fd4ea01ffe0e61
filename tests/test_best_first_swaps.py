"""Best-first search over complete grids: the order of a textbook's queue, and what settings do."""

from __future__ import annotations

import heapq
import itertools

import jax
import jax.numpy as jnp
import numpy as np
import pytest
import reference

import jaxsudoku as js
from jaxsudoku.solution import Status
from jaxsudoku.solvers import population
from jaxsudoku.solvers.population import best_first_swaps, boxes
from jaxsudoku.solvers.queue import Start

FOUR, FIVE = reference.SMALL["4x4"], reference.SMALL["jigsaw-5"]
BUDGET, SIZE = 60, 6


def puzzles_of(board, seed):
    """Puzzles uint8[SIZE, cells], no digit twice in a box, some of them without a solution."""
    rng = np.random.default_rng(seed)
    grids = np.zeros((SIZE, board.cells), np.uint8)
    for box in board.region_houses:
        grids[:, list(box)] = rng.permuted(np.tile(np.arange(1, board.side + 1), (SIZE, 1)), axis=1)
    return np.where(rng.random(grids.shape) < 0.25, grids, 0).astype(np.uint8)


def searched(board, puzzles, budget=BUDGET):
    """The state when all searches are over."""
    method = best_first_swaps.method(board, population.BestFirstSwapsConfig(budget=budget))
    start = Start(jnp.asarray(puzzles), None, jnp.arange(len(puzzles), dtype=jnp.uint32), None)

    @jax.jit
    def end(start):
        return jax.lax.while_loop(lambda state: ~method.done(state).all(), method.step, method.init(start))

    return jax.tree.map(np.asarray, end(start))


def textbook(board, grid, free, budget):
    """The grids that a best-first search with a queue and a closed set explores from a grid, in order."""
    swaps = boxes.pairs(board).cells.tolist()
    frontier, closed, explored = [(0, 0, 0, tuple(grid))], set(), []
    while frontier and len(explored) < budget:
        _, _, _, now = heapq.heappop(frontier)
        if now in closed:
            continue
        closed.add(now)
        explored.append(now)
        if reference.repeats(board, np.array(now)) == 0:
            break
        for number, (first, second) in enumerate(swaps):
            if free[first] and free[second]:
                other = list(now)
                other[first], other[second] = other[second], other[first]
                # of equal values the children of the grid explored last, in the order of pairs
                error = reference.repeats(board, np.array(other))
                heapq.heappush(frontier, (error, -len(explored), number, tuple(other)))
    return explored


@pytest.mark.parametrize("board", [FOUR, FIVE], ids=["4x4", "jigsaw-5"])
def test_grids_are_explored_in_the_order_of_a_queue(board):
    puzzles = puzzles_of(board, 1)
    found = searched(board, puzzles)
    sizes = []
    for lane, puzzle in enumerate(puzzles):
        grids = found.explored.grids[lane, : found.size[lane]]
        expected = textbook(board, grids[0].tolist(), puzzle == 0, BUDGET)
        assert [tuple(grid) for grid in grids.tolist()] == expected
        errors = [reference.repeats(board, grid) for grid in grids]
        np.testing.assert_array_equal(found.explored.error[lane, : found.size[lane]], errors)
        assert found.best[lane] == min(errors) == reference.repeats(board, found.record[lane])
        sizes.append(len(expected))
    assert len(set(sizes)) > 1 and max(sizes) == BUDGET  # some were solved, and some spent the budget


def test_a_search_ends_when_everything_was_explored():
    """Two free cells in one box: two grids, and no further neighbour."""
    solution = js.solve(np.zeros((1, 16), np.uint8), FOUR).grids[0]
    first, second = FOUR.region_houses[0][:2]
    puzzle = solution.copy()
    puzzle[[first, second]] = 0
    other, beside = FOUR.region_houses[3][:2]
    puzzle[[other, beside]] = puzzle[[beside, other]]  # wrong whatever is swapped
    found = searched(FOUR, puzzle[None])
    assert found.size[0] == 2 and found.best[0] > 0 and found.done[0]


@pytest.mark.slow
def test_it_leaves_local_optima_where_hill_climbing_ends():
    puzzles = np.asarray(js.load("9x9-easy"))[:16]
    climbed = js.solve(puzzles, solver="hill-climbing")
    found = js.solve(puzzles, solver="best-first-swaps", budget=300)
    assert found.stats["errors"].mean() < climbed.stats["errors"].mean()
    assert (found.iterations <= 300).all() and (found.iterations > 1).all()
    assert ((found.stats["errors"] == 0) == (found.status == Status.SOLVED)).all()


@pytest.mark.slow
def test_results_depend_on_the_puzzle_and_its_seed_alone():
    """Not on the lanes that are searched together."""
    puzzles = puzzles_of(FOUR, 2)
    one, all_of_them = (
        js.solve(puzzles, FOUR, solver="best-first-swaps", budget=BUDGET, lanes=lanes, keep_partial=True)
        for lanes in (1, SIZE)
    )
    for name, values in zip(one._fields, one, strict=True):
        jax.tree.map(np.testing.assert_array_equal, values, getattr(all_of_them, name))


def test_history_is_of_the_lowest_error():
    puzzles = puzzles_of(FOUR, 3)
    found = js.solve(puzzles, FOUR, solver="best-first-swaps", budget=BUDGET, record=BUDGET)
    for history, error in zip(found.stats["history"], found.stats["errors"], strict=True):
        lived = history[history >= 0]
        assert all(after <= before for before, after in itertools.pairwise(lived))
        assert not len(lived) or lived[-1] == error


def test_lanes_suit_the_machine():
    config = population.BestFirstSwapsConfig()
    assert config.resolve(FOUR, "cpu").lanes < config.resolve(FOUR, "gpu").lanes
    assert population.BestFirstSwapsConfig(lanes=3).resolve(FOUR, "gpu").lanes == 3
