"""Methods of evosax on random keys: grids are right whatever the keys, populations end, and errors are the best's."""

from __future__ import annotations

import sys

import jax
import jax.numpy as jnp
import numpy as np
import pytest
import reference

import jaxsudoku as js
from jaxsudoku import solvers
from jaxsudoku.solution import Status
from jaxsudoku.solvers import population
from jaxsudoku.solvers.population import boxes, evosax, firefly
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
    init, step = jax.jit(method.init), jax.jit(method.step)
    now = init(Start(jnp.asarray(puzzles), None, jnp.arange(8, dtype=jnp.uint32), None))
    best, iterations = np.asarray(now.best), 1
    for number in range(8):
        now = step(now)
        answer = method.postprocess(now)
        assert (answer.stats["errors"] <= best).all()
        best = np.asarray(answer.stats["errors"])
        grids = np.asarray(answer.grids)
        np.testing.assert_array_equal(boxes.errors(FIVE, grids.T), best)
        assert (grids == puzzles)[puzzles > 0].all()
        for box in FIVE.region_houses:
            assert (np.sort(grids[:, list(box)], axis=1) == np.arange(1, 6)).all()
        iterations += (2 if number % 4 == 0 else 1) * MEMBERS
        np.testing.assert_array_equal(answer.iterations, iterations)
        np.testing.assert_array_equal(method.done(now), (best == 0) | (number == 7))
    assert (best > 0).any()


def test_keys_beyond_all_numbers_make_grids_too():
    members = np.array([np.nan, np.inf, -np.inf, 1, 2] * 10, np.float32).reshape(1, 2, 25)
    _, grids, fitness = evosax._evaluate(FIVE, jnp.zeros((1, 25), jnp.uint8), members)
    assert (np.bincount(grids[0], minlength=6)[1:] == 5).all()
    assert np.isfinite(fitness).all()


def run(puzzles, lanes, seed=0, **options):
    known = solvers.get("evosax")
    config = solvers.make_config(known, lanes=lanes, population=MEMBERS, **options).resolve(FOUR, "cpu")
    call = jax.jit(lambda puzzles, key: known.run(FOUR, puzzles, key, config), compiler_options=js.compiler_options())
    return jax.tree.map(np.asarray, call(puzzles, jax.random.key(seed)))


def test_fireflies_move_towards_brighter_ones_alone():
    members = jax.random.uniform(jax.random.key(0), (5, 7))
    swarm = firefly.Firefly(5, members[0])
    params = swarm.default_params._replace(noise=0.0)
    fitness = jnp.array([3.0, 1.0, 2.0, 1.0, 5.0])
    state = swarm.init(jax.random.key(1), members, fitness, params)
    moved, state = swarm.ask(jax.random.key(2), state, params)
    expected = np.array(members)
    for brighter in range(5):  # one after the other, as in the paper
        for other in range(5):
            if fitness[brighter] < fitness[other]:
                way = expected[brighter] - expected[other]
                expected[other] += np.exp(-6 * (way**2).mean()) * way
    np.testing.assert_allclose(moved, expected, rtol=1e-5)
    np.testing.assert_array_equal(moved[1::2], members[1::2])  # none is brighter
    state, _ = swarm.tell(jax.random.key(3), moved, fitness, state._replace(noise=jnp.float32(1)), params)
    assert state.noise == np.float32(params.cooling)


@pytest.mark.slow
def test_a_puzzle_depends_on_itself_and_its_seed_alone(algorithms):
    puzzles = np.concatenate([reference.unique(FOUR, 6), puzzles_of(FOUR, 6)])
    options = {"rules": "none", "generations": 5, "restarts": 1}
    whole, few = run(puzzles, 12, **options), run(puzzles, 5, **options)
    for one, other in zip(jax.tree.leaves(whole), jax.tree.leaves(few), strict=True):
        np.testing.assert_array_equal(one, other)
    assert (whole.iterations[whole.status == Status.UNSOLVED] == 1 + 2 * 6 * MEMBERS).all()
    assert {Status.SOLVED, Status.UNSOLVED} <= {*whole.status}
    np.testing.assert_array_equal(
        whole.stats["errors"][whole.status < Status.INVALID] == 0, whole.status[whole.status < 3] == 1
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
