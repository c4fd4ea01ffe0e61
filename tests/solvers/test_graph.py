"""Graph search: positions known again, what edges and nodes count, and what a contradiction proves."""

from __future__ import annotations

import functools

import jax
import jax.numpy as jnp
import numpy as np
import pytest
import reference
from random_networks import random_network

from jaxsudoku import compiler_options, env
from jaxsudoku.solvers.tree import McgsConfig, evaluators, graph, simulation

FOUR = reference.SMALL["4x4"]
LANES = 32


def without_solution():
    """Puzzles without a solution whose givens don't clash."""
    rng = np.random.default_rng(3)
    puzzles = reference.solvable(FOUR, 512, seed=4, givens=7)
    for puzzle in puzzles:
        puzzle[rng.choice(np.flatnonzero(puzzle == 0))] = rng.integers(1, FOUR.side + 1)
    hopeless = [not (reference.is_clash(FOUR, puzzle) or reference.count(FOUR, puzzle, 1)) for puzzle in puzzles]
    return puzzles[hopeless][:LANES]


@functools.cache
def kernel(**options):
    """The roots of puzzles and their graphs, as a compiled function."""
    config = McgsConfig(**{"simulations": 24, "rules": "none", "exploration": 4.0, **options})
    network = random_network(FOUR)
    config = config.resolve(FOUR, "cpu")
    evaluator, search = graph.by_network(FOUR, config, network), graph.search(FOUR, config)

    def grow(puzzles):
        state, seeds = env.init(puzzles, FOUR, config.rules), np.zeros(LANES, np.uint32)
        lanes = simulation.grow(FOUR, config, evaluator, search, network.params, state, seeds)
        return lanes._replace(tree=None), lanes.tree

    return jax.jit(grow, compiler_options=compiler_options())


@functools.cache
def grown(*, solvable=True, **options):
    """Graphs from puzzles, and the roots."""
    puzzles = reference.solvable(FOUR, LANES, givens=8) if solvable else without_solution()
    return jax.tree.map(np.asarray, kernel(**options)(puzzles))


@functools.cache
def look():
    """The candidates and the grids of nodes, as a compiled function."""

    def seen(nodes):
        no = jnp.zeros(len(nodes), bool)
        state = env.State(nodes, no.astype("int32"), no, no)
        return env.observe(state, FOUR), env.grids(state, FOUR)

    return jax.jit(seen)


def test_no_position_is_held_twice():
    _, found = grown()
    assert (found.hits > 0).sum() > LANES / 2
    for lane in range(LANES):
        rows = found.state.nodes[lane, : found.size[lane]]
        assert len(np.unique(rows, axis=0)) == len(rows)


@pytest.mark.slow
def test_without_transpositions_every_simulation_adds_a_node():
    _, found = grown(transpositions=False, correction=1.0)
    assert not found.hits.any()
    playing = ~(found.state.solved.any(axis=1) | found.state.refuted[:, 0])
    assert playing.any()
    assert (found.size[playing] == 25).all()


def test_an_edge_leads_to_its_placement():
    _, found = grown()
    for lane in range(4):
        seen = np.asarray(look()(found.state.nodes[lane])[0])
        for node, edge in np.argwhere(found.child[lane] >= 0):
            digit, cell = divmod(int(found.move[lane, node, edge]), FOUR.cells)
            expected = seen[node].copy()
            expected[:, cell] = np.arange(FOUR.side) == digit
            np.testing.assert_array_equal(seen[found.child[lane, node, edge]], expected)


def test_visits_add_up():
    """A node has a visit of its own, and one for each that went on by one of its edges."""
    _, found = grown()
    inner = found.visits > 0
    np.testing.assert_array_equal(found.visits[inner], 1 + found.edge_visits.sum(axis=2)[inner])
    assert (found.value[inner] >= -1e-6).all() and (found.value[inner] <= 1 + 1e-6).all()
    assert ((found.child >= 0) >= (found.edge_visits > 0)).all()


def test_a_node_is_dead_where_all_choices_of_a_cell_are():
    _, found = grown(solvable=False)
    inner, grids = 0, [np.asarray(look()(nodes)[1]) for nodes in found.state.nodes]
    for lane, node in np.argwhere(found.state.refuted):
        assert not reference.count(FOUR, grids[lane][node], 1)
        inner += (found.child[lane, node] >= 0).any()
    assert inner
    for lane in range(LANES):
        for node in np.flatnonzero(~found.state.refuted[lane, : found.size[lane]]):
            move, child = found.move[lane, node], found.child[lane, node]
            own = (move >= 0) & (move % FOUR.cells == found.state.cell[lane, node])
            refuted = (child >= 0) & found.state.refuted[lane, child]
            assert found.state.solved[lane, node] or not refuted[own].all()


def test_hashes_tell_positions_apart():
    rng = np.random.default_rng(0)
    rows = np.unique(rng.integers(0, 2**32, (4096, FOUR.words), np.uint32), axis=0)
    code = jax.jit(functools.partial(evaluators.hash_nodes, FOUR))
    codes = np.asarray(code(rows))
    assert len(np.unique(codes)) > len(rows) - 2  # one pair that meets is a chance in five hundred
    np.testing.assert_array_equal(codes[:9], code(rows[:9]))
