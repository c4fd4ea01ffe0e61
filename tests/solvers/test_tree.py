"""Tree search: what is proven in trees, that no puzzle is lost, and what a search costs."""

from __future__ import annotations

import dataclasses
import functools
import types
import typing

import jax
import jax.numpy as jnp
import mctx
import numpy as np
import pytest
import reference
from random_networks import random_network

from jaxsudoku import compiler_options, env, solvers, trees
from jaxsudoku.core import propagation
from jaxsudoku.engine.solution import Status
from jaxsudoku.networks import Outputs, make_network
from jaxsudoku.networks.base import ABSENT, Halt
from jaxsudoku.runtime.random import as_key
from jaxsudoku.solvers import tree
from jaxsudoku.solvers.guided_exact import guided_branch
from jaxsudoku.solvers.network_calls import NetworkCaller, apply_where
from jaxsudoku.solvers.tree import backtracking, evaluators, graph, policies, proving, simulation
from jaxsudoku.solvers.tree.tree_config import Cell

FOUR = reference.SMALL["4x4"]
SIX = reference.SMALL["2x3"]
SIZE = 64


@functools.cache
def is_over(board, rules):
    return jax.jit(lambda puzzles: env.init(puzzles, board, rules).terminated, compiler_options=compiler_options())


@functools.cache
def hard(board, rules="naked", size=SIZE):
    """Puzzles that weak rules leave open: some have solutions, every fourth has none, which only a search finds out."""
    puzzles = reference.solvable(board, size, givens=board.cells // 5)
    puzzles[::4] = np.resize(without_solution(board, rules), (len(puzzles[::4]), board.cells))
    return puzzles


def without_solution(board, rules):
    """Puzzles without a solution that the rules don't refute."""
    rng = np.random.default_rng(3)
    puzzles = reference.solvable(board, 1024, seed=4, givens=board.cells // 3)
    for puzzle in puzzles:
        puzzle[rng.choice(np.flatnonzero(puzzle == 0))] = rng.integers(1, board.side + 1)
    parts = np.split(puzzles, len(puzzles) // SIZE)
    left = puzzles[~np.concatenate([np.asarray(is_over(board, rules)(part)) for part in parts])]
    left = left[[not reference.count(board, puzzle, 1) for puzzle in left]]
    assert len(left)
    return left


@functools.cache
def kernel(name, board, **options):
    solver = solvers.get(name)
    config = solvers.make_config(solver, **options).resolve(board, "cpu")
    given = (random_network(board),) if solver.guided else ()
    return jax.jit(
        lambda puzzles, key: solver.run(board, puzzles, key, config, *given), compiler_options=compiler_options()
    )


def run(name, board, puzzles, seed=0, **options):
    compiled = kernel(name, board, **dict(sorted(options.items())))  # one kernel, whatever the order of its options
    return jax.tree.map(np.asarray, compiled(puzzles, as_key(seed)))


# ---------------------------------------------------------------------- cells


@pytest.mark.parametrize(
    ("rule", "cell"), [("fewest", 3), ("likely", 6), ("doubtful", 5), ("surest", 9), ("either", 9)]
)
def test_the_cell_that_a_network_names(rule, cell):
    """Cells 3 to 6 have two choices, 1 and 9 have three, the others are filled; the network is sure of some."""
    choices, policy = np.zeros((2, 4, 16), bool), np.full((2, 4, 16), ABSENT, np.float32)
    choices[0, :3, [1, 9]] = choices[0, 1:3, 3:7] = True
    policy[0, :, 1] = policy[0, :, 9] = [0.0, 1.0, -1.0, ABSENT]
    policy[0, 0, 9] = 8.0
    policy[0, 1:3, 3:7] = np.array([[2.0, 0.0], [0.0, 3.0], [1.0, 0.9], [5.0, 0.0]]).T
    choose = jax.jit(functools.partial(evaluators.choose_cell, rule))
    assert choose(choices, policy)[0] == cell
    policy[0, 0, 9], policy[0, 1, 6] = 4.0, 4.0  # now no digit has a probability of 0.99
    expected = {"surest": 6, "either": 5}.get(rule, cell)
    assert choose(choices, policy)[0] == expected


@pytest.mark.slow
def test_the_exact_search_branches_on_a_candidate_of_an_open_cell():
    board = reference.SMALL["jigsaw-5"]
    planes = planes_of(board, hard(board))
    branching = np.full(planes.shape[-1], 0xFFFFFFFF, np.uint32)

    @functools.partial(jax.jit, compiler_options=compiler_options())
    def branches(planes):
        return {
            cell: guided_branch(random_network(board), cell, chunk=5)(board, planes, branching)
            for cell in typing.get_args(Cell)
        }

    cubes = reference.to_lanes(planes).reshape(-1, board.side, board.cells)
    playing = np.flatnonzero((cubes.sum(axis=1) > 1).any(axis=1))
    assert len(playing) > 16
    chosen = set()
    for literal in jax.tree.map(np.asarray, branches(planes)).values():
        lanes = (literal[:, None, :] >> np.arange(32, dtype=np.uint32)[:, None] & 1).reshape(3, board.side, -1)
        assert (lanes.sum(axis=1) == 1).all()
        digit, row, column = lanes.argmax(axis=1)[:, playing]
        left = cubes[playing, :, row * board.side + column]
        assert left[np.arange(len(playing)), digit].all() and (left.sum(axis=1) > 1).all()
        chosen.add(tuple(row * board.side + column))
    assert len(chosen) > 1


def planes_of(board, puzzles):
    """The planes of puzzles after naked singles."""
    planes = reference.from_lanes(reference.candidates(board, puzzles)).reshape(*(board.side,) * 3, -1)
    return np.asarray(jax.jit(lambda planes: propagation.propagate(planes, board, "naked"))(planes))


@pytest.mark.slow
def test_a_temperature_draws_among_legal_digits():
    config = tree.AlphaSudokuConfig(simulations=1, rules="none", temperature=1.0, chunk=8, pooled=False)
    network = random_network(FOUR)
    search = proving.search(FOUR, config, policies.alphasudoku(FOUR, config))
    puzzles, seed = hard(FOUR, "none", 32), np.arange(32, dtype=np.uint32)

    @functools.partial(jax.jit, compiler_options=compiler_options())
    def both(params):
        evaluator = evaluators.by_network(FOUR, config, network)
        state = env.init(puzzles, FOUR, "none")
        lanes = simulation.grow(FOUR, config, evaluator, search, params, state, seed)
        return lanes.root.logits, lanes.tree.children_prior_logits[:, 0]

    plain, drawn = map(np.asarray, both(network.params))
    legal = plain > ABSENT / 2
    noise = (drawn - plain)[legal & (drawn > ABSENT / 2)]  # a move may have been refuted
    assert (drawn[~legal] <= ABSENT / 2).all()
    assert len(np.unique(noise)) > 30 and 0.5 < noise.std() < 2.5


# ---------------------------------------------------------------------- no puzzle is lost


#: Each search, with settings that take it all ways through its code.
SEARCHES = {
    "gumbel, by its own cells": ("gumbel", {"cell": "surest", "temperature": 1.0, "reuse": 1.0, "votes": 2}),
    "alphasudoku, playing on": (
        "alphasudoku",
        {"rules": "none", "formula": "study", "value": "both", "reward": "signed", "temperature": 2.0},
    ),
    "alphasudoku, without a network": ("alphasudoku", {"prior": "uniform", "value": "none", "cell": "fewest"}),
}


@pytest.mark.slow  # what every solver is tried with goes most of these ways
@pytest.mark.parametrize("kind", SEARCHES)
def test_every_puzzle_is_decided(kind):
    name, options = SEARCHES[kind]
    rules = options.get("rules", "naked")
    board = FOUR if rules == "none" else SIX
    puzzles = hard(board, rules)
    found = run(name, board, puzzles, **{"rules": rules, "lanes": 32, "simulations": 4} | options)
    for puzzle, grid, status in zip(puzzles, found.grids, found.status, strict=True):
        assert status == (Status.SOLVED if reference.count(board, puzzle, 1) else Status.UNSATISFIABLE)
        assert status != Status.SOLVED or reference.is_solution(board, grid, puzzle)
    refuted = found.status == Status.UNSATISFIABLE
    assert refuted.any() and (found.iterations[refuted] > 1).all()
    heeded = options.get("prior") != "uniform"
    votes, calls = options.get("votes", 1), found.stats["network_calls"]
    assert (calls[~refuted] > 0).all() == heeded
    assert (calls % votes == 0).all() and (calls <= votes * found.iterations).all()


@pytest.mark.slow
def test_restarts_see_a_puzzle_anew_when_its_budget_is_spent():
    """And other lanes change nothing."""
    puzzles, options = hard(FOUR, "none"), {"rules": "none", "simulations": 4, "reward": "signed", "reuse": 1.0}
    whole = run("mcts", FOUR, puzzles, **options, lanes=32)
    truth = [Status.SOLVED if reference.count(FOUR, puzzle, 1) else Status.UNSATISFIABLE for puzzle in puzzles]
    np.testing.assert_array_equal(whole.status, truth)
    assert set(whole.stats) == {"simulations", "changes"}
    part = run("mcts", FOUR, puzzles, **options, lanes=64, budget=5, restarts=2)
    once = (part.status != Status.UNSOLVED) & (part.iterations < 5)
    assert once.any()
    for one, other in zip(jax.tree.leaves(part), jax.tree.leaves(whole), strict=True):
        np.testing.assert_array_equal(one[once], other[once])
    solved = part.status == Status.SOLVED
    assert (part.iterations[solved] > 10).any()  # not by the first attempt
    assert all(map(functools.partial(reference.is_solution, FOUR), part.grids[solved], puzzles[solved]))
    left = part.status == Status.UNSOLVED
    assert left.any() and (part.iterations[left] >= 15).all()


# ---------------------------------------------------------------------- what is proven in a tree


def test_a_refuted_move_is_taken_up_to_all_ancestors_that_have_no_other():
    """Node 0 has moves 0 and 1, to 1 and 4; 1 has move 2, to 2; 2 has move 3, to 3, which is refuted."""
    width, nodes, side = 2, 6, 4
    logits = np.full((width, nodes, side), ABSENT, np.float32)
    for node, moves in {0: (0, 1), 1: (2,), 2: (3,), 3: (), 4: (0,)}.items():
        logits[:, node, list(moves)] = 0.5
    logits[1, 2, 0] = 0.1  # in the second lane node 2 has another move
    parents, taken = np.full((width, nodes), -1), np.full((width, nodes), -1)
    parents[:, 1:5], taken[:, 1:5] = [0, 1, 2, 0], [0, 2, 3, 1]
    node = np.arange(width * nodes).reshape(width, nodes)
    tree = tree_of(logits, parents, taken, node)

    @jax.jit
    def refuted(tree):
        lost = trees.refute(tree, np.array([True, True]), np.array([3, 3]))
        return [trees.open_moves(lost, np.full(width, node)) for node in range(5)]

    left = np.stack([np.asarray(each) for each in refuted(tree)], axis=1)
    assert not left[0, [1, 2]].any()
    np.testing.assert_array_equal(left[0, 0], [False, True, False, False])
    np.testing.assert_array_equal(left[1, 2], [True, False, False, False])
    np.testing.assert_array_equal(left[1, [0, 1]], logits[1, [0, 1]] > 0)


def tree_of(logits, parents, taken, node):
    width, nodes, side = logits.shape
    zeros = np.zeros((width, nodes, side), np.float32)
    return mctx.Tree(
        node_visits=np.ones((width, nodes), np.int32),
        raw_values=np.zeros((width, nodes), np.float32),
        node_values=np.zeros((width, nodes), np.float32),
        parents=parents.astype(np.int32),
        action_from_parent=taken.astype(np.int32),
        children_index=np.full(zeros.shape, -1, np.int32),
        children_prior_logits=logits,
        children_visits=zeros.astype(np.int32),
        children_rewards=zeros,
        children_discounts=zeros,
        children_values=zeros,
        embeddings=node,
        root_invalid_actions=np.zeros((width, side), np.float32),
        extra_data=None,
    )


# ---------------------------------------------------------------------- beside mctx alone


@pytest.mark.slow
def test_gumbel_is_that_of_mctx_where_nothing_is_proven():
    """On a nearly empty board no short search comes to an end, so both grow the same tree."""
    board, net = SIX, random_network(SIX)
    config = tree.GumbelConfig(simulations=12, considered=4, rules="none", complete=False, chunk=4, pooled=False)
    evaluator = evaluators.by_network(board, config, net)
    search = proving.search(board, config, policies.gumbel(board, config))
    puzzles, seed = reference.solvable(board, 4, givens=4), np.arange(4, dtype=np.uint32)

    @functools.partial(jax.jit, compiler_options=compiler_options())
    def both(params):
        def evaluate(state):
            choices = env.legal_placement_mask(state, board)
            outputs = net.apply(params, env.observe(state, board))
            return evaluator.read(evaluators.View(state, choices, ~state.terminated, outputs))

        start = env.init(puzzles, board, "none")
        ours, root = simulation.grow(board, config, evaluator, search, params, start, seed), evaluate(start)

        def expand(params, key, move, state):
            after = env.step(state, move, board, "none")
            known = evaluate(after)
            one = jnp.ones(4)
            return mctx.RecurrentFnOutput(
                reward=0 * one, discount=one, prior_logits=known.logits, value=known.value
            ), known.state

        with jax.numpy_dtype_promotion("standard"):
            theirs = mctx.gumbel_muzero_policy(
                params,
                jax.random.key(0),
                mctx.RootFnOutput(prior_logits=root.logits, value=root.value, embedding=root.state),
                expand,
                12,
                max_num_considered_actions=4,
                gumbel_scale=0.0,
                invalid_actions=(root.logits <= ABSENT / 2).astype(jnp.float32),
            )
        return ours, theirs

    ours, theirs = both(net.params)
    np.testing.assert_array_equal(jax.jit(policies.gumbel(board, config).decide)(ours.tree), theirs.action)
    np.testing.assert_array_equal(ours.tree.children_visits, theirs.search_tree.children_visits)
    np.testing.assert_array_equal(ours.tree.children_index, theirs.search_tree.children_index)
    np.testing.assert_allclose(ours.tree.node_values, theirs.search_tree.node_values, atol=1e-6)


# ---------------------------------------------------------------------- the network


@pytest.mark.parametrize("together", [5, None, *(pytest.param(size, marks=pytest.mark.slow) for size in (8, 64))])
def test_a_network_is_asked_what_is_wanted_and_no_more(together):
    net, cubes = random_network(FOUR), np.random.default_rng(0).random((40, FOUR.side, FOUR.cells)) < 0.6
    wanted = np.random.default_rng(1).random(40) < 0.4
    looked = []

    def counting(params, cubes):
        jax.debug.callback(lambda seen: looked.append(len(seen)), cubes)
        return net.apply(params, cubes)

    counted = dataclasses.replace(net, apply=counting)
    ask = jax.jit(functools.partial(apply_where, NetworkCaller(counted, together)))
    some, every = (jax.tree.map(np.asarray, found) for found in (ask(net.params, cubes, wanted)[0], net(cubes)))
    for one, other in zip(some, every, strict=True):
        np.testing.assert_allclose(one[wanted], other[wanted], atol=1e-5)
    jax.effects_barrier()
    assert looked == ([together] * -(-wanted.sum() // together) if together in (5, 8) else [40])


@pytest.mark.parametrize("chunk", [5, pytest.param(None, marks=pytest.mark.slow)])
def test_votes_are_the_mean_of_what_a_network_says_under_symmetries(chunk):
    """A network that favours digits and cells by their numbers has hardly any favourites under many symmetries."""
    cubes = np.random.default_rng(0).random((12, FOUR.side, FOUR.cells)) < 0.6
    favours = (np.linspace(3, 0, FOUR.side)[:, None] + np.linspace(3, 0, FOUR.cells)).astype(np.float32)
    wanted, seeds = np.ones(12, bool), np.arange(12, dtype=np.uint32)

    def favouring(params, cubes):
        return Outputs(jnp.where(cubes, favours, 0), cubes[:, 0].mean(axis=1))

    def unfairness(votes):
        net = types.SimpleNamespace(apply=favouring, board=FOUR)
        ask = jax.jit(functools.partial(apply_where, NetworkCaller(net, chunk, votes=votes), ()))
        found = shares(ask(cubes, wanted, seeds)[0].policy, cubes)
        np.testing.assert_allclose(found.sum(axis=1)[cubes.any(axis=1)], 1, rtol=1e-5)
        return np.abs(found - cubes / np.maximum(cubes.sum(axis=1, keepdims=True), 1)).mean()

    assert unfairness(64) < 0.3 * unfairness(1)


def shares(logits, cubes):
    """The probabilities of the candidates of a cell."""
    powers = np.where(cubes, np.exp(np.asarray(logits, np.float64)), 0)
    return powers / np.maximum(powers.sum(axis=1, keepdims=True), 1e-9)


def test_votes_do_not_change_an_equivariant_network():
    cubes = np.random.default_rng(0).random((12, FOUR.side, FOUR.cells)) < 0.6
    net, every = random_network(FOUR, "cube"), np.ones(12, bool)
    ask = [
        functools.partial(apply_where, NetworkCaller(net, None, votes=votes), net.params, cubes, every)
        for votes in (1, 3)
    ]
    one, three = jax.jit(lambda seeds: [each(seeds)[0] for each in ask])(np.arange(12, dtype=np.uint32))
    np.testing.assert_allclose(one.value, three.value, atol=1e-4)
    np.testing.assert_allclose(shares(one.policy, cubes), shares(three.policy, cubes), atol=1e-5)


def test_a_pool_changes_no_look():
    """Positions leave a pool and enter it one by one; what is seen of each is what is seen of it alone."""
    net, width = make_network("cube", key=0, board=SIX, **reference.TINY["cube"] | {"iterations": 12}), 40
    cubes = np.random.default_rng(0).random((width, SIX.side, SIX.cells)) < np.linspace(0.2, 0.9, width)[:, None, None]
    wanted, seeds = np.random.default_rng(1).random(width) < 0.8, np.zeros(width, np.uint32)
    alone, pooled = (NetworkCaller(net, chunk, Halt(12, 0.6), pooled=chunk > 1) for chunk in (1, 16))

    certain = net.params | {"policy": jax.tree.map(lambda leaf: 8 * leaf, net.params["policy"])}
    look = jax.jit(functools.partial(pooled.evaluate, certain))
    pool, left, every = pooled.empty(certain, width), wanted, []
    for others in (True, True, False, False, False, False, False):  # while others go on it waits until it is full
        seen, pool = look(pool, jnp.asarray(cubes), left, seeds, others)
        every.append(jax.tree.map(np.asarray, seen))
        left = left & ~every[-1].lanes
    ask = jax.jit(functools.partial(apply_where, alone, certain))
    outputs, spent = jax.tree.map(np.asarray, ask(jnp.asarray(cubes), wanted))
    np.testing.assert_array_equal(sum(seen.lanes.astype(int) for seen in every), wanted)  # each once
    for seen in every:
        np.testing.assert_array_equal(seen.spent[seen.lanes], spent[seen.lanes])
        np.testing.assert_allclose(seen.outputs.policy[seen.lanes], outputs.policy[seen.lanes], atol=1e-3)
        np.testing.assert_allclose(seen.outputs.value[seen.lanes], outputs.value[seen.lanes], atol=1e-3)
    assert {4, 12} <= set(spent[wanted].tolist()) <= {4, 8, 12}
    assert wanted.sum() - every[0].lanes.sum() - every[1].lanes.sum() < 16  # fewer than the pool holds


@pytest.mark.slow
def test_a_search_with_a_pool_decides_every_puzzle():
    puzzles, solver = hard(SIX), solvers.get("gumbel")
    options = {"rules": "naked", "simulations": 4, "sure": 0.6, "lanes": 32, "pooled": True, "chunk": 16}
    config = solvers.make_config(solver, **options).resolve(SIX, "cpu")
    solve = functools.partial(solver.run, SIX)
    compiled = jax.jit(solve, static_argnums=2, compiler_options=compiler_options())
    found = jax.tree.map(np.asarray, compiled(puzzles, as_key(0), config, random_network(SIX, "cube", iterations=12)))
    truth = [Status.SOLVED if reference.count(SIX, puzzle, 1) else Status.UNSATISFIABLE for puzzle in puzzles]
    np.testing.assert_array_equal(found.status, truth)


@pytest.mark.slow
def test_a_completion_saves_looks_and_proves_nothing():
    puzzles, options = hard(SIX), {"rules": "naked", "lanes": 32, "simulations": 4}
    plain, completed = (run("gumbel", SIX, puzzles, **options, complete=complete) for complete in (False, True))
    np.testing.assert_array_equal(plain.status, completed.status)
    solved = completed.status == Status.SOLVED
    assert all(map(functools.partial(reference.is_solution, SIX), completed.grids[solved], puzzles[solved]))
    looks = [found.stats["network_calls"][solved].sum() for found in (plain, completed)]
    assert looks[1] < 0.8 * looks[0]
    for found in (plain, completed):  # where nothing is found, the same is proven
        refuted = found.status == Status.UNSATISFIABLE
        assert (found.stats["network_calls"][refuted] <= found.iterations[refuted]).all()


def test_searches_by_a_network_have_as_many_simulations():
    """Of two bases of a dataclass, the first one decides about a default."""
    guided = [tree.GumbelConfig(), tree.AlphaSudokuConfig()]
    assert {(config.simulations, config.rules) for config in guided} == {(256, "locked")}


# ---------------------------------------------------------------------- rollouts


def test_rollouts_tell_what_they_came_to():
    board = FOUR
    config = tree.MctsConfig(rules="naked", reward="solved", simulations=1)
    evaluator = evaluators.by_rollouts(board, config)
    search = proving.search(board, config, policies.mcts(board, config))
    puzzles = hard(board, "none")

    @functools.partial(jax.jit, compiler_options=compiler_options())
    def played(puzzles, seed):
        state = env.init(puzzles, board, "naked")
        lanes = simulation.grow(board, config, evaluator, search, (), state, seed)
        return state.terminated, lanes._replace(tree=None), env.grids(state._replace(nodes=lanes.answer), board)

    terminated, lanes, ends = jax.tree.map(np.asarray, played(puzzles, np.arange(SIZE, dtype=np.uint32)))
    first = ~terminated & (lanes.done == 0)  # the first rollout found a solution
    np.testing.assert_array_equal(lanes.root.value[~terminated] == 1, first[~terminated])
    assert first.any() and (~first & ~terminated & lanes.found).any()
    assert all(reference.is_solution(board, ends[lane], puzzles[lane]) for lane in np.flatnonzero(lanes.found))
    assert not lanes.iterations[terminated].any()
    assert (lanes.iterations[~terminated] > 1).any()


def test_a_random_choice_is_fair():
    options = np.broadcast_to(np.array([True, False, True, True]), (6000, 4))
    chosen = np.asarray(jax.jit(evaluators.random_choice)(options, np.arange(6000, dtype=np.uint32)))
    np.testing.assert_allclose(np.bincount(chosen, minlength=4) / 6000, [1 / 3, 0, 1 / 3, 1 / 3], atol=0.03)


# ---------------------------------------------------------------------- settings, memory, dtypes


@pytest.mark.parametrize(
    ("name", "setting"),
    [
        ("gumbel", "strict"),
        *((name, "x64") for name in ("alphasudoku", "mcgs")),
        *(pytest.param(name, "x64", marks=pytest.mark.slow) for name in ("gumbel", "mcts")),
    ],
)
def test_dtypes_are_the_same_under_every_setting(name, setting):
    solver = solvers.get(name)
    options = {"value": "both", "temperature": 1.0} if name == "alphasudoku" else {}
    config = solvers.make_config(solver, simulations=2, budget=9, restarts=1, **options).resolve(FOUR, "cpu")
    given = (random_network(FOUR),) if solver.guided else ()
    with jax.enable_x64(True) if setting == "x64" else jax.numpy_dtype_promotion("strict"):
        found = jax.eval_shape(
            lambda key: solver.run(FOUR, np.zeros((3, FOUR.cells), np.uint8), key, config, *given), as_key(0)
        )
    assert [leaf.dtype for leaf in jax.tree.leaves(found)] == ["uint8", "int8", *["int32"] * (1 + len(solver.stats))]


@pytest.mark.parametrize(
    ("name", "options"),
    [
        ("gumbel", {}),
        pytest.param("alphasudoku", {"value": "rollout"}, marks=pytest.mark.slow),
        ("mcts", {"rules": "none"}),
        ("mcgs", {"placements": 8, "transpositions": False}),
    ],
)
def test_memory_is_what_is_predicted(name, options):
    solver = solvers.get(name)
    config = solvers.make_config(solver, simulations=6, lanes=64, **options).resolve(FOUR, "cpu")
    given = random_network(FOUR)

    def made():
        evaluator = {
            "mcts": lambda: evaluators.by_rollouts(FOUR, config),
            "mcgs": lambda: graph.by_network(FOUR, config, given),
        }.get(name, lambda: evaluators.by_network(FOUR, config, given))()
        if name == "mcgs":
            search = graph.search(FOUR, config)
        else:
            search = proving.search(FOUR, config, getattr(policies, name)(FOUR, config))
        roots = backtracking.Roots(FOUR, config, as_key(0))
        return simulation.Simulation(FOUR, config, evaluator, search, given.params, roots).empty(64)

    with jax.numpy_dtype_promotion("strict"):  # no dtype is promoted unseen either
        shapes = jax.eval_shape(made)
    assert sum(leaf.size * leaf.dtype.itemsize for leaf in jax.tree.leaves(shapes)) == 64 * config.lane_bytes(FOUR)
    assert f"{config.lane_bytes(FOUR):,} bytes a puzzle" in config.summary(FOUR)


def test_lanes_are_cut_to_what_there_is_room_for():
    solver = solvers.get("gumbel")
    config = solvers.make_config(solver, simulations=1000, lanes=1 << 20).resolve(FOUR, "cpu")
    assert config.lanes * config.lane_bytes(FOUR) <= 1 << 30
    assert config.lanes >= 32


@pytest.mark.parametrize(
    ("kind", "options", "cause"),
    [
        ("gumbel", {"simulations": 0}, "simulations must be at least 1, not 0"),
        ("gumbel", {"rules": "hidden"}, "unknown rules 'hidden': choose one of none, naked, singles, locked"),
        ("gumbel", {"cell": "first"}, "unknown cell 'first': choose one of fewest, likely, doubtful, surest"),
        ("gumbel", {"considered": 0}, "considered must be at least 1, not 0"),
        ("gumbel", {"temperature": float("nan")}, "temperature must be a number, not nan"),
        ("gumbel", {"reuse": 0.0}, "reuse must be above 0 and at most 1, not 0.0"),
        ("gumbel", {"restarts": 2}, "restarts need a budget"),
        ("alphasudoku", {"formula": "ucb"}, "unknown formula 'ucb': choose one of study, alphazero"),
        ("alphasudoku", {"prior": "none"}, "unknown prior 'none': choose one of network, uniform"),
        ("mcts", {"lanes": 33}, "lanes must be a multiple of 32, not 33"),
        ("mcts", {"budget": -1}, "budget must be at least 1, not -1"),
    ],
)
def test_a_setting_out_of_its_range_is_refused(kind, options, cause):
    with pytest.raises(ValueError, match=cause):
        solvers.make_config(solvers.get(kind), **options)
