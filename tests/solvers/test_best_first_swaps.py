"""Best-first search over complete grids: the order of a textbook's queue, and what settings do."""

from __future__ import annotations

import functools
import heapq

import jax
import numpy as np
import pytest
import reference

import jaxsudoku as js
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


@functools.cache
def program(board):
    """The states when all searches are over, and the method's error after each step."""
    method = best_first_swaps.method(board, population.BestFirstSwapsConfig(budget=BUDGET))

    def step(now):
        state, history, turn = now
        state = method.step(state)
        return state, history.at[turn].set(method.error(state), mode="drop"), turn + 1

    @jax.jit
    def end(start):
        begun = method.init(start), np.full((2 * BUDGET, SIZE), -1, np.int32), 0
        return jax.lax.while_loop(lambda now: ~method.done(now[0]).all(), step, jax.tree.map(jax.numpy.asarray, begun))

    return end


def searched(board, puzzles):
    """The final states, and the errors by step and puzzle."""
    start = Start(puzzles, None, np.arange(SIZE, dtype=np.uint32), None)
    state, history, steps = jax.tree.map(np.asarray, program(board)(start))
    return state, history[:steps]


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


def test_grids_are_explored_in_the_order_of_a_queue():
    puzzles = puzzles_of(FIVE, 1)
    found, history = searched(FIVE, puzzles)
    sizes, left_optima = [], 0
    for lane, puzzle in enumerate(puzzles):
        grids = found.explored.grids[lane, : found.size[lane]]
        expected = textbook(FIVE, grids[0].tolist(), puzzle == 0, BUDGET)
        assert [tuple(grid) for grid in grids.tolist()] == expected
        errors = [reference.repeats(FIVE, grid) for grid in grids]
        np.testing.assert_array_equal(found.explored.error[lane, : found.size[lane]], errors)
        assert found.best[lane] == min(errors) == reference.repeats(FIVE, found.record[lane])
        assert (np.diff(history[:, lane]) <= 0).all() and history[-1, lane] == found.best[lane]
        sizes.append(len(expected))
        worse = int((np.diff(errors) >= 0).argmax())  # where hill climbing would end
        left_optima += min(errors) < errors[worse]
    assert len(set(sizes)) > 1 and max(sizes) == BUDGET  # some were solved, and some spent the budget
    assert left_optima


def test_a_search_ends_when_everything_was_explored():
    """Two free cells in one box: two grids, and no further neighbour."""
    puzzles = puzzles_of(FIVE, 1)
    grid = reference.full_grid(FIVE, np.random.default_rng(0))
    (first, second, *_), (*_, other, beside) = FIVE.region_houses[0], FIVE.region_houses[3]
    grid[[first, second]] = 0
    grid[[other, beside]] = grid[[beside, other]]  # wrong whatever is swapped
    puzzles[0] = grid
    found, _ = searched(FIVE, puzzles)
    assert found.size[0] == 2 and found.best[0] > 0 and found.done[0]


@pytest.mark.slow
def test_results_depend_on_the_puzzle_and_its_seed_alone():
    """Not on those that had its lane before."""
    puzzles = puzzles_of(FOUR, 2)
    others = puzzles.copy()
    others[::2] = 0
    options = {"solver": "best-first-swaps", "budget": BUDGET, "record": BUDGET, "lanes": 2, "keep_partial": True}
    one, other = (js.solve(these, FOUR, **options) for these in (puzzles, others))
    for values, expected in zip(jax.tree.leaves(one), jax.tree.leaves(other), strict=True):
        np.testing.assert_array_equal(values[1::2], expected[1::2])
    for history, error in zip(one.stats["history"], one.stats["errors"], strict=True):
        lived = history[history >= 0]
        assert (np.diff(lived) <= 0).all() and (not len(lived) or lived[-1] == error)


def test_lanes_suit_the_machine():
    config = population.BestFirstSwapsConfig()
    assert config.resolve(FOUR, "cpu").lanes < config.resolve(FOUR, "gpu").lanes
    assert population.BestFirstSwapsConfig(lanes=3).resolve(FOUR, "gpu").lanes == 3
