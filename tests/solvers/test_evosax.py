"""Methods of evosax on random keys: grids are right whatever the keys, populations end, and errors are the best's."""

from __future__ import annotations

import operator
import sys

import jax
import numpy as np
import pytest
import reference

import jaxsudoku as js
from jaxsudoku import solvers
from jaxsudoku.engine.solution import Status
from jaxsudoku.runtime.random import as_key
from jaxsudoku.solvers import population
from jaxsudoku.solvers.population import evosax, firefly
from jaxsudoku.solvers.queue import Start

FOUR = reference.SMALL["4x4"]
FIVE = reference.SMALL["jigsaw-5"]
MEMBERS = 6


@pytest.fixture
def algorithms():
    return pytest.importorskip("evosax.algorithms")


def puzzles_of(board, size):
    """Puzzles with a few givens, most of them without a solution, no digit twice in a box."""
    rng = np.random.default_rng(0)
    grids = np.zeros((size, board.cells), np.uint8)
    for box in board.region_houses:
        grids[:, list(box)] = rng.permuted(np.tile(np.arange(1, board.side + 1), (size, 1)), axis=1)
    return np.where(rng.random(grids.shape) < 0.3, grids, 0).astype(np.uint8)


@pytest.mark.parametrize("algorithm", evosax.ALGORITHMS)
def test_populations_keep_boxes_and_the_best_of_all_grids(algorithms, algorithm):
    puzzles = puzzles_of(FIVE, 8)
    config = population.EvosaxConfig(algorithm=algorithm, population=MEMBERS, generations=4, restarts=1)
    method = evosax.method(FIVE, config)

    def generation(now, _):
        now = method.step(now)
        return now, (method.postprocess(now), method.done(now))

    @jax.jit
    def run(start):
        now = method.init(start)
        return now.best, jax.lax.scan(generation, now, length=8)[1]

    best, seen = jax.tree.map(np.asarray, run(Start(puzzles, None, np.arange(8, dtype=np.uint32), None)))
    iterations = 1
    for number in range(8):
        answer, done = jax.tree.map(operator.itemgetter(number), seen)
        assert (answer.stats["errors"] <= best).all()
        best = answer.stats["errors"]
        assert [reference.repeats(FIVE, grid) for grid in answer.grids] == best.tolist()
        assert (answer.grids == puzzles)[puzzles > 0].all()
        for box in FIVE.region_houses:
            assert (np.sort(answer.grids[:, list(box)], axis=1) == np.arange(1, 6)).all()
        iterations += (2 if number % 4 == 0 else 1) * MEMBERS
        np.testing.assert_array_equal(answer.iterations, iterations)
        np.testing.assert_array_equal(done, (best == 0) | (number == 7))
    assert (best > 0).any()


def test_keys_beyond_all_numbers_make_grids_too():
    members = np.array([np.nan, np.inf, -np.inf, 1, 2] * 10, np.float32).reshape(1, 2, 25)
    evaluate = jax.jit(evosax._evaluate, static_argnums=0)
    _, grids, fitness = jax.tree.map(np.asarray, evaluate(FIVE, np.zeros((1, 25), np.uint8), members))
    assert (np.bincount(grids[0], minlength=6)[1:] == 5).all()
    assert np.isfinite(fitness).all()


def test_fireflies_move_towards_brighter_ones_alone():
    members = np.random.default_rng(0).random((5, 7), np.float32)
    swarm = firefly.Firefly(5, members[0])
    params = swarm.default_params._replace(noise=0.0)
    fitness = np.array([3, 1, 2, 1, 5], np.float32)

    @jax.jit
    def generation(members, fitness):
        state = swarm.init(as_key(1), members, fitness, params)
        moved, state = swarm.ask(as_key(2), state, params)
        return moved, swarm.tell(as_key(3), moved, fitness, state._replace(noise=np.float32(1)), params)[0]

    moved, state = jax.tree.map(np.asarray, generation(members, fitness))
    expected = np.array(members)
    for brighter in range(5):  # one after the other, as in the paper
        for other in range(5):
            if fitness[brighter] < fitness[other]:
                way = expected[brighter] - expected[other]
                expected[other] += np.exp(-6 * (way**2).mean()) * way
    np.testing.assert_allclose(moved, expected, rtol=1e-5)
    np.testing.assert_array_equal(moved[1::2], members[1::2])  # none is brighter
    assert state.noise == np.float32(params.cooling)


@pytest.mark.slow
def test_a_puzzle_depends_on_itself_and_its_seed_alone(algorithms):
    """Not on those that had its lane before."""
    known = solvers.get("evosax")
    config = solvers.make_config(known, lanes=5, population=MEMBERS, rules="none", generations=5, restarts=1)
    call = jax.jit(lambda puzzles: known.run(FOUR, puzzles, as_key(0), config), compiler_options=js.compiler_options())
    puzzles = np.concatenate([reference.unique(FOUR, 6), puzzles_of(FOUR, 6)])
    others = puzzles.copy()
    others[::2] = 0
    found, other = (jax.tree.map(np.asarray, call(these)) for these in (puzzles, others))
    for values, expected in zip(jax.tree.leaves(found), jax.tree.leaves(other), strict=True):
        np.testing.assert_array_equal(values[1::2], expected[1::2])
    assert (found.iterations[found.status == Status.UNSOLVED] == 1 + 2 * 6 * MEMBERS).all()
    assert {Status.SOLVED, Status.UNSOLVED} <= {*found.status}
    np.testing.assert_array_equal(
        found.stats["errors"][found.status < Status.INVALID] == 0, found.status[found.status < 3] == 1
    )


def test_the_extra_is_named_where_it_is_missing(monkeypatch):
    monkeypatch.setitem(sys.modules, "evosax", None)
    monkeypatch.setitem(sys.modules, "evosax.algorithms", None)
    with pytest.raises(ImportError, match=r"the solver evosax needs evosax: pip install 'jaxsudoku\[evosax\]'"):
        evosax.method(FOUR, population.EvosaxConfig())


@pytest.mark.parametrize(
    ("options", "cause"),
    [
        ({"algorithm": "bat"}, "unknown algorithm 'bat': choose one of differential-evolution, particle-swarm"),
        ({"population": 3}, "population must be at least 4, not 3"),
        ({"generations": 0}, "generations must be at least 1, not 0"),
    ],
)
def test_a_setting_out_of_its_range_is_refused(options, cause):
    with pytest.raises(ValueError, match=cause):
        population.EvosaxConfig(**options)


def test_slots_suit_the_population():
    few = population.EvosaxConfig(population=1000).resolve(FOUR, "cpu").lanes
    assert 1 <= few < population.EvosaxConfig(population=10).resolve(FOUR, "cpu").lanes
    assert population.EvosaxConfig(lanes=7).resolve(FOUR, "gpu").lanes == 7
