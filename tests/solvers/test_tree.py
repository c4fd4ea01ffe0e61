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

from jaxsudoku import compiler_options, env, solvers
from jaxsudoku.core import propagation
from jaxsudoku.engine.solution import Status
from jaxsudoku.networks import Outputs
from jaxsudoku.networks.base import ABSENT
from jaxsudoku.runtime.random import as_key
from jaxsudoku.solvers import tree
from jaxsudoku.solvers.guided_exact import guided_branch
from jaxsudoku.solvers.queue import Start
from jaxsudoku.solvers.roots import make_roots
from jaxsudoku.solvers.tree import backtracking, evaluators, graph, policies, proofs
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
    config = tree.AlphaSudokuConfig(simulations=1, rules="none", temperature=1.0)
    evaluate = evaluators.by_network(FOUR, config, random_network(FOUR))
    think = policies.alphasudoku(FOUR, config, evaluate)
    puzzles, seed = hard(FOUR, "none", 32), np.arange(32, dtype=np.uint32)

    @functools.partial(jax.jit, compiler_options=compiler_options())
    def both(params):
        root = evaluate(params, env.init(puzzles, FOUR, "none"), seed)
        return root.logits, think(params, root, seed).tree.children_prior_logits[:, 0]

    plain, drawn = map(np.asarray, both(random_network(FOUR).params))
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
    assert set(whole.stats) == {"changes"}
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
    dead = np.zeros((width, nodes), bool)
    dead[:, 3] = True
    state = env.State(np.zeros((width, nodes, 2), np.uint32), np.zeros((width, nodes), np.int32), dead, ~dead & False)
    nothing = np.zeros((width, nodes), np.int32)
    node = proofs.Node(state, None, ~dead & False, nothing, nothing, nothing.astype(np.uint32))
    tree = tree_of(logits, parents, taken, node)

    @jax.jit
    def proved(tree):
        proven = proofs._prove(tree, 3)
        return proofs.open_moves(proven), proven.embeddings.state.refuted, proofs.decided(proven)

    left, refuted, decided = map(np.asarray, proved(tree))
    assert not left[0, [1, 2]].any()
    np.testing.assert_array_equal(left[0, 0], [False, True, False, False])
    np.testing.assert_array_equal(left[1, 2], [True, False, False, False])
    np.testing.assert_array_equal(left[1, [0, 1]], logits[1, [0, 1]] > 0)
    np.testing.assert_array_equal(
        refuted[:, :5], [[False, True, True, True, False], [False, False, False, True, False]]
    )
    np.testing.assert_array_equal(decided, [True, False])


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
    config = tree.GumbelConfig(simulations=12, considered=4, rules="none")
    evaluate = evaluators.by_network(board, config, net)
    think = policies.gumbel(board, config, evaluate)
    puzzles, seed = reference.solvable(board, 4, givens=4), np.arange(4, dtype=np.uint32)

    @functools.partial(jax.jit, compiler_options=compiler_options())
    def both(params):
        root = evaluate(params, env.init(puzzles, board, "none"), seed)
        ours = think(params, root, seed)

        def expand(params, key, move, state):
            after = env.step(state, move, board, "none")
            known = evaluate(params, after, seed)
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
    np.testing.assert_array_equal(ours.move, theirs.action)
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
    ask = jax.jit(functools.partial(evaluators.apply_where, counted, chunk=together))
    some, every = (jax.tree.map(np.asarray, found) for found in (ask(net.params, cubes, wanted), net(cubes)))
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
        ask = jax.jit(functools.partial(evaluators.apply_where, net, (), chunk=chunk, votes=votes))
        found = shares(ask(cubes, wanted, seeds=seeds).policy, cubes)
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
    ask = functools.partial(evaluators.apply_where, net, net.params, cubes, every, None)
    one, three = jax.jit(lambda seeds: (ask(), ask(3, seeds)))(np.arange(12, dtype=np.uint32))
    np.testing.assert_allclose(one.value, three.value, atol=1e-4)
    np.testing.assert_allclose(shares(one.policy, cubes), shares(three.policy, cubes), atol=1e-5)


# ---------------------------------------------------------------------- rollouts


def test_rollouts_tell_what_they_came_to():
    board = FOUR
    evaluate = evaluators.by_rollouts(board, tree.MctsConfig(rules="naked", reward="solved"))
    puzzles = hard(board, "none")

    @functools.partial(jax.jit, compiler_options=compiler_options())
    def played(puzzles, seed):
        state = env.init(puzzles, board, "naked")
        known = evaluate((), state, seed)
        return state.terminated, known._replace(state=None), env.grids(state._replace(nodes=known.answer), board)

    terminated, known, ends = jax.tree.map(np.asarray, played(puzzles, np.arange(SIZE, dtype=np.uint32)))
    np.testing.assert_array_equal(known.value, known.found.astype(np.float32))
    assert all(reference.is_solution(board, ends[lane], puzzles[lane]) for lane in np.flatnonzero(known.found))
    assert (known.iterations[terminated] == 1).all()
    assert known.found.any()
    assert (known.iterations > 1).any()


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

    def grown(puzzles, seed):
        evaluate = {
            "mcts": lambda: evaluators.by_rollouts(FOUR, config),
            "mcgs": lambda: graph.by_network(FOUR, config, given),
        }.get(name, lambda: evaluators.by_network(FOUR, config, given))()
        method = backtracking._method(backtracking._Roots(FOUR, config, as_key(0)), evaluate, None, given.params)
        nodes = make_roots(FOUR, puzzles, config.rules).nodes[:, : len(puzzles)]
        first = method.init(Start(puzzles, nodes, seed, jnp.arange(len(puzzles))))
        if name == "mcgs":
            return first, graph.grow(FOUR, config, evaluate, given.params, first.root)
        return first, getattr(policies, name)(FOUR, config, evaluate)(given.params, first.root, seed).tree

    with jax.numpy_dtype_promotion("strict"):  # no dtype is promoted unseen either
        made = jax.eval_shape(grown, np.zeros((64, FOUR.cells), np.uint8), np.zeros(64, np.uint32))
    assert sum(leaf.size * leaf.dtype.itemsize for leaf in jax.tree.leaves(made)) == 64 * config.lane_bytes(FOUR)
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
