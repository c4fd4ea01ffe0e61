"""The solvers that fill what a network is sure of: what they look at, what it costs, and what further runs change."""

from __future__ import annotations

import dataclasses
import functools

import jax
import jax.numpy as jnp
import numpy as np
import pytest
import reference
from flax import nnx
from random_networks import random_network

import jaxsudoku as js
from jaxsudoku import networks, solvers
from jaxsudoku.engine import batches
from jaxsudoku.engine.solution import Status
from jaxsudoku.networks import Architecture, Forward, Network, NetworkModule, Outputs
from jaxsudoku.runtime.random import as_key
from jaxsudoku.solvers import decoding
from jaxsudoku.solvers.queue import Method, Start
from jaxsudoku.solvers.roots import make_roots

FOUR = reference.SMALL["4x4"]
SIZE = 96

#: Settings of ``solve`` that are one program for 4x4.
DOOR = {"solver": "one-shot", "lanes": 32, "batch_size": SIZE}


@dataclasses.dataclass(frozen=True)
class TableConfig:
    """The log-odds that a position has a solution."""

    value: float = 0.0


class Table(NetworkModule):
    """Says the same of every position: one number a candidate, so that no symmetry leaves it as it is."""

    def __init__(self, config, board, *, rngs):
        self.logits = nnx.Param(jnp.zeros((board.side, board.cells)))
        self.log_odds = getattr(config, "value", 0.0)

    def __call__(self, candidates):
        return Outputs(jnp.broadcast_to(self.logits[...], candidates.shape), jnp.full(len(candidates), self.log_odds))


def table(logits, board=FOUR, value=0.0):
    return Network("table", Forward(Table, TableConfig(value), board), {"logits": np.asarray(logits, np.float32)})


def oracle(confidence=20.0, value=0.0):
    """Knows the grid of the pattern."""
    return table(confidence * (reference.pattern(FOUR) == np.arange(1, 5)[:, None]), value=value)


def opinion(board=FOUR):
    """Guesses at random, always alike."""
    return table(np.random.default_rng(0).normal(size=(board.side, board.cells)), board)


@dataclasses.dataclass(frozen=True)
class SlowConfig:
    """As many iterations a look."""

    iterations: int = 1


class Slow(Table):
    """Believes the opposite of its table at first, nothing after two looks, and ever more of it from then on."""

    def initialize_carry(self, candidates):
        return jnp.zeros((len(candidates), 1))

    def iterate(self, candidates, carry, halt):
        return carry + halt.most, jnp.full(len(candidates), halt.most)

    def readout(self, candidates, carry):
        outputs = self(candidates)
        return outputs._replace(policy=outputs.policy * (carry[:, :, None] - 2))


def slow(iterations=1):
    """Comes to know the grid of the pattern: 0.71 at its third look, 0.95 at the fourth, 0.9926 at the fifth."""
    forward = Forward(Slow, SlowConfig(iterations), FOUR)
    return Network("slow", forward, oracle(2.0).params)


def cube():
    """A recurrent network for any board, in its simpler form."""
    return random_network(FOUR, "cube", maximum=True)


def of_the_pattern(size=SIZE):
    """Puzzles of the pattern, from empty to full."""
    rng = np.random.default_rng(0)
    return np.array([reference.blanked(reference.pattern(FOUR), number % 17, rng) for number in range(size)])


@functools.cache
def kernel(solver, narrow, options):
    known = solvers.get(solver)
    config = solvers.make_config(known, **dict(options))
    run = functools.partial(known.run, FOUR)
    return jax.jit(
        lambda puzzles, key, network: run(puzzles, key, config, network), compiler_options=js.compiler_options()
    )


def run(solver, puzzles, network, seed=0, narrow=False, **options):
    """Solves in 32 lanes; if ``narrow``, the last puzzles in fewer, which makes a program twice as long."""
    call = kernel(solver, narrow, tuple(sorted({"lanes": 32, "complete": False, **options}.items())))
    with pytest.MonkeyPatch.context() as patch:
        if not narrow:
            patch.setattr(decoding, "Method", functools.partial(Method, narrow_from=1000))
        return jax.tree.map(np.asarray, call(puzzles, as_key(seed), network))


# ---------------------------------------------------------------------- what is filled, and what it costs


def test_what_rules_solve_costs_no_call():
    puzzles = np.concatenate([reference.unique(FOUR, 64), reference.solvable(FOUR, 32, givens=2)])
    found = run("iterative", puzzles, opinion(), rules="naked")
    assert (found.status[:64] == Status.SOLVED).all()
    assert not found.stats["network_calls"][:64].any()
    assert (found.iterations[:64] == 1).all()
    assert (found.stats["network_calls"][64:] > 0).all()
    np.testing.assert_array_equal(found.iterations[64:], found.stats["network_calls"][64:])


def test_a_contradiction_among_the_givens_is_no_case_for_the_network():
    puzzles = np.zeros((SIZE, 16), np.uint8)
    puzzles[0, [1, 2, 3, 12]] = 1, 2, 3, 4  # the row's last digit stands below its only place
    puzzles[1, :2] = 1
    puzzles[2, 0] = 5
    found = run("iterative", puzzles, opinion(), rules="naked")
    np.testing.assert_array_equal(found.status[:3], [Status.UNSOLVED, Status.INVALID, Status.INVALID])
    assert not found.stats["network_calls"][:3].any()
    np.testing.assert_array_equal(found.iterations[:3], [1, 0, 0])
    assert (found.stats["network_calls"][3:] > 0).all()


#: No rules, and all cells at once of which the network is sure.
SURE = {"rules": "none", "sure": 0.9}


def test_an_oracle_is_asked_once_a_cell_or_once_for_all_that_it_is_sure_of():
    puzzles = of_the_pattern()
    empty = (puzzles == 0).sum(axis=1)
    one = run("iterative", puzzles, oracle(), rules="naked")
    np.testing.assert_array_equal(one.stats["network_calls"] + (one.stats["network_calls"] == 0), one.iterations)
    assert (one.iterations > 1).any() and (one.iterations <= np.maximum(empty, 1)).all()
    all_sure = run("iterative", puzzles, oracle(), **SURE)
    np.testing.assert_array_equal(all_sure.stats["network_calls"], empty > 0)
    unsure = run("iterative", puzzles, oracle(2.0), **SURE)  # 7.4 of 10.4
    np.testing.assert_array_equal(unsure.stats["network_calls"], empty)
    for found in (one, all_sure, unsure):
        assert (found.status == Status.SOLVED).all()
        assert (found.grids == reference.pattern(FOUR)).all()
    for found in (all_sure, unsure):
        np.testing.assert_array_equal(found.iterations, np.maximum(empty, 1))


@pytest.mark.slow
def test_a_completion_that_is_right_is_the_answer():
    puzzles = of_the_pattern()
    empty = (puzzles == 0).sum(axis=1)
    found = run("iterative", puzzles, oracle(0.1), rules="none", complete=True)  # never sure, but right
    assert (found.status == Status.SOLVED).all()
    assert (found.grids == reference.pattern(FOUR)).all()
    np.testing.assert_array_equal(found.stats["network_calls"], empty > 0)
    np.testing.assert_array_equal(found.iterations, np.maximum(empty, 1))
    # with the rules in between it takes fewer cells
    ruled = run("iterative", puzzles, oracle(0.1), rules="naked", complete=True)
    np.testing.assert_array_equal(ruled.status, Status.SOLVED)
    np.testing.assert_array_equal(ruled.grids, found.grids)
    assert (ruled.stats["network_calls"] <= 1).all()
    assert (ruled.iterations <= found.iterations).all() and ruled.iterations.sum() < found.iterations.sum()
    # one that is wrong changes nothing: the surest cell is filled as ever
    one, other = (run("iterative", puzzles, opinion(), complete=each, rules="naked") for each in (True, False))
    both = (one.status == Status.SOLVED) & (other.status == Status.SOLVED)
    assert (one.status == Status.SOLVED)[other.status == Status.SOLVED].all()
    assert (one.stats["network_calls"] <= other.stats["network_calls"])[both].all()
    failed = one.status != Status.SOLVED
    for mine, yours in zip(jax.tree.leaves(one), jax.tree.leaves(other), strict=True):
        np.testing.assert_array_equal(mine[failed], yours[failed])


def test_a_right_completion_ends_the_patience():
    """A network that comes to know the grid at its third look is right from then on, before it is confident."""
    puzzles = of_the_pattern()
    empty = (puzzles == 0).sum(axis=1)
    found = run("iterative", puzzles, slow(), narrow=True, rules="none", patience=20, complete=True)
    assert (found.status == Status.SOLVED).all()
    calls = found.stats["network_calls"]
    assert (calls[empty > 8] == 3).all() and (calls <= 3).all()


def test_a_right_completion_ends_a_call():
    """A turn of at most 3 of the 8 iterations of a call has 2, and after the second one the network knows the grid."""
    puzzles = of_the_pattern()
    found = run("iterative", puzzles, slow(8), rules="none", complete=True, every=3)
    assert (found.status == Status.SOLVED).all()
    open_ = (puzzles == 0).sum(axis=1) > 8
    assert (found.stats["network_calls"][open_] == 1).all()
    assert (found.stats["network_iterations"][open_] == 4).all()


def test_patience_is_a_number_of_iterations_unless_it_is_one_of_calls():
    config, turn = decoding.IterativeConfig(), decoding._Turn.of
    assert turn(config, slow(64)) == (8, 8, 24)
    assert turn(config, slow(5)) == (5, 1, 39)
    assert turn(config, opinion()).number == 1
    assert turn(decoding.IterativeConfig(patience=2, every=None), slow(64)) == (64, 1, 2)
    assert turn(decoding.OneShotConfig(), slow(64)) == (64, 1, 1)


def test_a_run_ends_where_there_is_little_hope():
    puzzles = of_the_pattern()
    left = (puzzles == 0).sum(axis=1) > 1
    gloomy = oracle(2.0, value=-3.0)  # a probability of 0.047
    ended = run("iterative", puzzles, gloomy, rules="none", hope=0.1)
    np.testing.assert_array_equal(ended.status == Status.UNSOLVED, left)
    assert ended.stats["network_calls"].max() == 1
    for options in ({}, {"hope": 0.1, "complete": True}):  # whoever has the answer needs no hope
        assert (run("iterative", puzzles, gloomy, rules="none", **options).status == Status.SOLVED).all()


def test_the_surest_cell_comes_first():
    """An opinion on one cell, wrong, is followed though the others are right: there is no way back."""
    logits = np.array(oracle(2.0).params["logits"])
    logits[:, 0] = [0, 9, 0, 0]
    puzzle = np.zeros((SIZE, 16), np.uint8)
    found = run("iterative", puzzle, table(logits), **SURE)
    assert (reference.pattern(FOUR)[0], found.status[0]) == (1, Status.UNSOLVED)
    logits[:, 0] = [1, 1.9, 0, 0]  # the least sure of all: it comes last, where one digit is left
    assert run("iterative", puzzle, table(logits), rules="naked").status[0] == Status.SOLVED


def test_digits_that_clash_end_an_attempt_at_once():
    ones = np.zeros((4, 16))
    ones[0] = 2  # not so sure that it fills all at once
    found = run("iterative", np.zeros((SIZE, 16), np.uint8), table(ones), **SURE)
    assert (found.status == Status.UNSOLVED).all()
    assert (found.stats["network_calls"] == 2).all()
    np.testing.assert_array_equal(np.unique(found.grids), [0, 1])  # what was filled; the judge leaves it out


@pytest.mark.slow
@pytest.mark.parametrize(("options", "looks"), [({}, 5), ({"confident": 0.7}, 3)])
def test_it_thinks_on_until_it_is_confident_or_out_of_patience(options, looks):
    puzzles = of_the_pattern()
    empty = (puzzles == 0).sum(axis=1)
    found = run("iterative", puzzles, slow(), rules="none", patience=20, **options)
    assert (found.status == Status.SOLVED).all()
    np.testing.assert_array_equal(found.stats["network_calls"], looks * empty)  # every position is thought about anew
    np.testing.assert_array_equal(found.iterations, np.maximum(empty, 1))


@pytest.mark.slow
def test_patience_ends_and_takes_what_there_is():
    puzzles = of_the_pattern()
    empty = (puzzles == 0).sum(axis=1)
    hasty = run("iterative", puzzles, slow(), rules="none", patience=1)
    assert (hasty.status[empty > 8] == Status.UNSOLVED).all()
    set_in_its_ways = run("iterative", puzzles, oracle(2.0), rules="none", patience=20)  # 0.71, however long it looks
    np.testing.assert_array_equal(set_in_its_ways.stats["network_calls"], empty)
    at_once = run("one-shot", puzzles, slow(), patience=20)
    assert (at_once.status == Status.SOLVED).all()
    np.testing.assert_array_equal(at_once.stats["network_calls"], 5 * (empty > 0))


def test_one_shot_fills_all_in_one_call():
    puzzles = of_the_pattern()
    empty = (puzzles == 0).sum(axis=1)
    found = js.solve(puzzles, network=oracle(), **DOOR)
    assert (found.status == Status.SOLVED).all()
    assert (found.grids == reference.pattern(FOUR)).all()
    np.testing.assert_array_equal(found.stats["network_calls"], empty > 0)
    np.testing.assert_array_equal(found.iterations, np.maximum(empty, 1))
    wrong = js.solve(puzzles, network=opinion(), **DOOR)
    assert (wrong.status[empty == 16] == Status.UNSOLVED).all()
    np.testing.assert_array_equal(wrong.stats["network_calls"], empty > 0)


# ---------------------------------------------------------------------- lanes, runs, votes


#: Settings of one-shot with which random opinions solve some puzzles at once, more in several runs, not all.
UNCERTAIN = {"rules": "naked"}
RUNS = UNCERTAIN | {"runs": 4, "temperature": 1.0}


@pytest.mark.slow
def test_lanes_change_nothing():
    puzzles = reference.solvable(FOUR, SIZE, givens=4)
    few = run("one-shot", puzzles, opinion(), **RUNS)
    many = run("one-shot", puzzles, opinion(), narrow=True, lanes=96, **RUNS)
    for one, other in zip(jax.tree.leaves(few), jax.tree.leaves(many), strict=True):
        np.testing.assert_array_equal(one, other)
    assert len(set(few.stats["network_calls"].tolist())) > 3  # lanes are free at different times
    assert {Status.SOLVED, Status.UNSOLVED} == set(few.status.tolist())


@pytest.mark.slow
def test_runs_solve_more():
    puzzles = reference.solvable(FOUR, SIZE, givens=4)
    once, often = (run("one-shot", puzzles, opinion(), **options) for options in (UNCERTAIN, RUNS))
    solved, more = once.status == Status.SOLVED, often.status == Status.SOLVED
    assert more[solved].all()  # the first run is the same
    assert more.sum() > solved.sum()
    np.testing.assert_array_equal(often.grids[solved], once.grids[solved])
    np.testing.assert_array_equal(often.stats["network_calls"][solved], once.stats["network_calls"][solved])
    assert (often.stats["network_calls"][~solved] > once.stats["network_calls"][~solved]).all()
    assert (often.iterations[~solved] > once.iterations[~solved]).all()
    assert all(
        reference.is_solution(FOUR, grid, puzzle) for grid, puzzle in zip(often.grids[more], puzzles[more], strict=True)
    )


def test_a_key_decides_the_noise():
    puzzles = reference.solvable(FOUR, SIZE, givens=4)
    one, again, other = (run("one-shot", puzzles, opinion(), seed=seed, **RUNS) for seed in (1, 1, 2))
    np.testing.assert_array_equal(one.stats["network_calls"], again.stats["network_calls"])
    assert (one.stats["network_calls"] != other.stats["network_calls"]).any()
    # equal puzzles go different ways, too
    twice = run("one-shot", np.repeat(puzzles[: SIZE // 2], 2, axis=0), opinion(), **RUNS)
    assert (twice.stats["network_calls"][::2] != twice.stats["network_calls"][1::2]).any()


def test_votes_and_looks_are_counted_as_calls():
    """A network that is never confident of what symmetries make of its table is looked at until its patience ends."""
    puzzles = of_the_pattern()
    found = run("iterative", puzzles, slow(), rules="none", votes=3, patience=3)
    filled = np.where((puzzles == 0).any(axis=1), found.iterations, 0)
    np.testing.assert_array_equal(found.stats["network_calls"], 3 * 3 * filled)
    assert (filled > 1).any()


#: A call of one turn.
ONE_CALL = decoding._Turn(64, 1, 1)


def look(network, cubes):
    """The probabilities at a first look."""
    carry = network.apply.initialize_carry(network.params, cubes)
    return decoding._probabilities(network, ONE_CALL, cubes, carry, jnp.ones(len(cubes), bool))[0]


def voted(network, cubes, keys, votes, again):
    """The mean of votes at a first look."""
    carry = network.apply.initialize_carry(network.params, cubes)
    carry = jax.tree.map(lambda leaf: jnp.stack([leaf] * votes), carry)
    fresh = jnp.ones(len(cubes), bool)
    return decoding._voted(FOUR, network, ONE_CALL, cubes, keys, votes, again, carry, fresh)[0]


def test_votes_of_an_equivariant_network_change_nothing():
    cubes = np.random.default_rng(0).random((8, 4, 16)) < 0.7

    @functools.partial(jax.jit, compiler_options=js.compiler_options())
    def both(network, key):
        keys = jax.random.split(key, 8)
        return look(network, cubes), voted(network, cubes, keys, 3, jnp.zeros(8, bool))

    plain, mean = map(np.asarray, both(cube(), as_key(0)))
    np.testing.assert_allclose(mean, plain, atol=1e-5)
    assert plain.std() > 1e-3
    np.testing.assert_allclose(plain.sum(axis=1), cubes.any(axis=1), atol=1e-5)
    np.testing.assert_array_equal(plain[~cubes], 0)


def test_a_lone_vote_sees_the_board_as_it_is_but_for_later_runs():
    cubes = np.ones((32, 4, 16), bool)
    again = np.arange(32) % 2 == 1

    @jax.jit
    def both(network, key):
        return voted(network, cubes, jax.random.split(key, 32), 1, again), look(network, cubes)

    lone, plain = map(np.asarray, both(opinion(), as_key(0)))
    np.testing.assert_allclose(lone[::2], plain[::2], rtol=1e-6)
    assert not np.isclose(lone[1::2], plain[1::2]).all(axis=(1, 2)).any()
    # what comes back is an opinion on the same cells: the same cells' distributions, rearranged
    np.testing.assert_allclose(np.sort(lone[:2].reshape(2, 64)), np.sort(plain[:2].reshape(2, 64)), rtol=1e-5)


@pytest.mark.slow
def test_partial_grids_are_kept_for_whoever_asks():
    puzzles = of_the_pattern()
    zeros, kept = (js.solve(puzzles, FOUR, network=opinion(), keep_partial=keep, **DOOR) for keep in (False, True))
    unsolved = zeros.status == Status.UNSOLVED
    assert unsolved.any()
    np.testing.assert_array_equal(kept.status, zeros.status)
    assert not zeros.grids[unsolved].any() and kept.grids[unsolved].all()
    np.testing.assert_array_equal(kept.grids[puzzles > 0], puzzles[puzzles > 0])


@pytest.mark.slow
def test_the_exact_search_keeps_nothing_of_a_puzzle_that_it_gave_up():
    given_up = js.solve(np.zeros((1, 16), np.uint8), FOUR, budget=1, keep_partial=True)
    assert given_up.status.tolist() == [Status.UNSOLVED] and not given_up.grids.any()


@pytest.mark.slow
def test_lanes_take_all_that_they_hold_along():
    """A step of a few lanes is that of these lanes among all of them, with the features that the network carries."""
    config = decoding.IterativeConfig(rules="none", votes=2, patience=3, confident=1.0)
    method = decoding._method(FOUR, as_key(0), config, slow(), decoding._surest_of(config), "none")
    puzzles = reference.unique(FOUR, 8)

    @jax.jit
    def begun(puzzles):
        nodes = make_roots(FOUR, puzzles, "none").nodes[:, :8]
        return method.init(Start(puzzles, nodes, jnp.zeros(8, jnp.uint32), jnp.arange(8)))

    step, gather = jax.jit(method.step), jax.jit(method.gather)
    state = step(begun(puzzles))
    assert all(leaf.shape[0] == 2 and leaf.shape[-2] == 8 for leaf in jax.tree.leaves(state.carry))
    places = np.array([6, 1, 3])
    few, all_of_them = step(gather(places, state)), step(state)
    for one, other in zip(jax.tree.leaves(few), jax.tree.leaves(gather(places, all_of_them)), strict=True):
        np.testing.assert_allclose(one, other, rtol=1e-4, atol=1e-5)


# ---------------------------------------------------------------------- settings


@pytest.mark.parametrize("solver", ["iterative", "one-shot"])
@pytest.mark.parametrize(
    ("options", "cause"),
    [
        ({"rules": "all"}, "unknown rules 'all': choose one of none, naked, singles, locked"),
        ({"runs": 0}, "runs must be at least 1, not 0"),
        ({"patience": 0}, "patience must be at least 1, not 0"),
        ({"confident": 1.5}, "confident must be at most 1, not 1.5"),
        ({"hope": 1.5}, "hope must be at most 1, not 1.5"),
        ({"every": 0}, "every must be at least 1, not 0"),
        ({"votes": 0}, "votes must be at least 1, not 0"),
        ({"lanes": -32}, "lanes must be at least 1, not -32"),
        ({"lanes": 40}, "lanes must be a multiple of 32, not 40"),
        ({"temperature": -0.5}, "temperature must be at least 0, not -0.5"),
        ({"temperature": float("inf")}, "temperature must be finite, not inf"),
    ],
)
def test_a_setting_out_of_its_range_is_refused(solver, options, cause):
    with pytest.raises(ValueError, match=cause):
        solvers.make_config(solvers.get(solver), **options)


@pytest.mark.parametrize("sure", [0.5, 1.01])
def test_sure_is_more_than_half(sure):
    with pytest.raises(ValueError, match="sure must be above 0.5 and at most 1"):
        decoding.IterativeConfig(sure=sure)


@pytest.mark.parametrize(("side", "cpu", "gpu"), [(4, 704, 46656), (9, 64, 4096), (16, 32, 704), (25, 32, 160)])
def test_wide_boards_take_few_lanes(side, cpu, gpu):
    board = js.Board.classic(side)
    for platform, lanes in (("cpu", cpu), ("gpu", gpu)):
        assert decoding.IterativeConfig().resolve(board, platform).lanes == pytest.approx(lanes, abs=31)
        assert decoding.OneShotConfig(lanes=96).resolve(board, platform).lanes == 96


# ---------------------------------------------------------------------- at the door


def test_other_weights_of_the_same_shapes_are_not_compiled_anew():
    puzzles = of_the_pattern()
    right = js.solve(puzzles, network=oracle(), **DOOR)
    compiled = batches._compile.cache_info().misses
    wrong = js.solve(puzzles, network=opinion(), **DOOR)
    assert batches._compile.cache_info().misses == compiled
    assert (right.status == Status.SOLVED).all()
    assert (wrong.status != Status.SOLVED).any()
    assert right.stats["network_calls"].dtype == np.int32
    assert right.stats["network_calls"].shape == right.status.shape


def test_shapes_are_those_of_the_puzzles():
    found = js.solve(of_the_pattern().reshape(12, 8, 16), network=oracle(), **DOOR)
    assert [x.shape for x in jax.tree.leaves(found)] == [(12, 8, 16), *[(12, 8)] * 4]
    nothing = js.solve(np.zeros((0, 16), int), network=oracle(), **DOOR)
    assert [x.shape for x in jax.tree.leaves(nothing)] == [(0, 16), *[(0,)] * 4]


def test_a_network_is_for_guided_solvers_alone():
    with pytest.raises(
        ValueError, match="the solver exact takes no network; those that do are guided-exact, iterative,"
    ):
        js.solve(of_the_pattern(), network=oracle())


def test_a_network_of_any_board_serves_the_board_at_hand(monkeypatch):
    six = reference.SMALL["2x3"]
    moved = networks.for_board(cube(), six)
    assert moved.board == six
    assert moved.params is cube().params
    assert networks.for_board(cube(), FOUR) is cube()
    # solved by what another test has compiled
    known = Architecture("table", "for tests", Table, TableConfig, any_board=True)
    monkeypatch.setitem(networks.NETWORKS, "table", known)
    elsewhere = dataclasses.replace(oracle(), apply=dataclasses.replace(oracle().apply, board=six))
    assert (js.solve(of_the_pattern(), network=elsewhere, **DOOR).status == Status.SOLVED).all()


def test_a_network_of_another_board_is_refused(monkeypatch):
    monkeypatch.setitem(networks.NETWORKS, "table", Architecture("table", "for tests", Table, TableConfig))
    with pytest.raises(ValueError, match="the network table is for a board of 4x4 .*, not for one of 6x6"):
        js.solve(np.zeros((3, 36), int), network=oracle(), **DOOR)
