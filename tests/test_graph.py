"""Graph search: positions known again, what edges and nodes count, and what a contradiction proves."""

from __future__ import annotations

import functools

import jax
import jax.numpy as jnp
import numpy as np
import pytest
import reference

from jaxsudoku import compiler_options, env
from jaxsudoku.networks import make_network
from jaxsudoku.solvers.tree import McgsConfig, graph

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
def grown(*, solvable=True, **options):
    """Graphs from puzzles, and the roots."""
    config = McgsConfig(**{"simulations": 24, "rules": "none", "exploration": 4.0, **options})
    network = make_network("cube", FOUR, **reference.TINY["cube"])
    evaluate = graph.by_network(FOUR, config, network)

    def grow(params, puzzles):
        root = evaluate(params, env.init(puzzles, FOUR, config.rules), jnp.zeros(LANES, jnp.uint32))
        return root, graph.grow(FOUR, config, evaluate, params, root)

    puzzles = reference.solvable(FOUR, LANES, givens=8) if solvable else without_solution()
    return jax.tree.map(np.asarray, jax.jit(grow, compiler_options=compiler_options())(network.params, puzzles))


@pytest.mark.slow
def test_no_position_is_held_twice():
    _, found = grown()
    assert (found.hits > 0).sum() > LANES / 2
    for lane in range(LANES):
        rows = found.state.nodes[lane, : found.size[lane]]
        assert len(np.unique(rows, axis=0)) == len(rows)


def test_without_transpositions_every_simulation_adds_a_node():
    _, found = grown(transpositions=False, correction=1.0)
    assert not found.hits.any()
    playing = ~(found.state.solved.any(axis=1) | found.state.refuted[:, 0])
    assert playing.any()
    assert (found.size[playing] == 25).all()


def test_an_edge_leads_to_its_placement():
    _, found = grown()
    for lane in range(4):
        seen = np.asarray(env.observe(env.State(*(leaf[lane] for leaf in found.state)), FOUR))
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
    _, found = grown(solvable=False, simulations=48)
    inner = 0
    for lane, node in np.argwhere(found.state.refuted):
        assert not reference.count(FOUR, grid_of(found.state.nodes[lane, node]), 1)
        inner += (found.child[lane, node] >= 0).any()
    assert inner
    for lane in range(LANES):
        for node in np.flatnonzero(~found.state.refuted[lane, : found.size[lane]]):
            move, child = found.move[lane, node], found.child[lane, node]
            own = (move >= 0) & (move % FOUR.cells == found.state.cell[lane, node])
            refuted = (child >= 0) & found.state.refuted[lane, child]
            assert found.state.solved[lane, node] or not refuted[own].all()


def grid_of(row):
    state = env.State(jnp.asarray(row)[None], *(jnp.zeros(1, bool),) * 3)
    return np.asarray(env.grids(state, FOUR))[0]


def test_hashes_tell_positions_apart():
    rng = np.random.default_rng(0)
    rows = np.unique(rng.integers(0, 2**32, (4096, FOUR.words), np.uint32), axis=0)
    codes = np.asarray(graph._hash(FOUR, jnp.asarray(rows)))
    assert len(np.unique(codes)) > len(rows) - 2  # one pair that meets is a chance in five hundred
    np.testing.assert_array_equal(codes[:9], np.asarray(graph._hash(FOUR, jnp.asarray(rows[:9]))))
