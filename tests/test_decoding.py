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

import jaxsudoku as js
from jaxsudoku import batches, networks, solvers
from jaxsudoku.networks import Architecture, Forward, Network, NetworkModule, Outputs
from jaxsudoku.solution import Status
from jaxsudoku.solvers import decoding
from jaxsudoku.solvers.queue import Start
from jaxsudoku.solvers.roots import make_roots

FOUR = reference.SMALL["4x4"]
SIZE = 96


@dataclasses.dataclass(frozen=True)
class TableConfig:
    """No sizes."""


class Table(NetworkModule):
    """Says the same of every position: one number a candidate, so that no symmetry leaves it as it is."""

    def __init__(self, config, board, *, rngs):
        self.logits = nnx.Param(jnp.zeros((board.side, board.cells)))

    def __call__(self, candidates):
        return Outputs(jnp.broadcast_to(self.logits[...], candidates.shape), jnp.zeros(len(candidates)))


def table(logits, board=FOUR):
    return Network("table", Forward(Table, TableConfig(), board), {"logits": jnp.asarray(logits, jnp.float32)})


def oracle(confidence=20.0):
    """Knows the grid of the pattern."""
    return table(confidence * (reference.pattern(FOUR) == np.arange(1, 5)[:, None]))


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

    def iterate(self, candidates, carry, iterations):
        return carry + iterations

    def readout(self, candidates, carry):
        outputs = self(candidates)
        return outputs._replace(policy=outputs.policy * (carry[:, :, None] - 2))


def slow():
    """Comes to know the grid of the pattern: 0.71 at its third look, 0.95 at the fourth, 0.9926 at the fifth."""
    forward = Forward(Slow, SlowConfig(), FOUR)
    return Network("slow", forward, jax.tree.map(lambda logits: logits * 2 / 20, oracle().params))


def of_the_pattern(size=SIZE):
    """Puzzles of the pattern, from empty to full."""
    rng = np.random.default_rng(0)
    return np.array([reference.blanked(reference.pattern(FOUR), number % 17, rng) for number in range(size)])


@functools.cache
def kernel(solver, board, options):
    known = solvers.get(solver)
    config = solvers.make_config(known, **dict(options))
    run = functools.partial(known.run, board)
    return jax.jit(
        lambda puzzles, key, network: run(puzzles, key, config, network), compiler_options=js.compiler_options()
    )


def run(solver, puzzles, network, board=FOUR, seed=0, **options):
    call = kernel(solver, board, tuple(sorted({"lanes": 32, "complete": False, **options}.items())))
    return jax.tree.map(np.asarray, call(puzzles, jax.random.key(seed), network))


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


def test_an_oracle_is_asked_once_a_cell_or_once_for_all_that_it_is_sure_of():
    puzzles = of_the_pattern()
    empty = (puzzles == 0).sum(axis=1)
    one = run("iterative", puzzles, oracle(), rules="none")
    np.testing.assert_array_equal(one.stats["network_calls"], empty)
    all_sure = run("iterative", puzzles, oracle(), rules="none", sure=0.9)
    np.testing.assert_array_equal(all_sure.stats["network_calls"], empty > 0)
    unsure = run("iterative", puzzles, oracle(2.0), rules="none", sure=0.9)  # 7.4 of 10.4
    np.testing.assert_array_equal(unsure.stats["network_calls"], empty)
    for found in (one, all_sure, unsure):
        assert (found.status == Status.SOLVED).all()
        assert (found.grids == reference.pattern(FOUR)).all()
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
    ruled = run("iterative", puzzles[:20], oracle(0.1), rules="naked", complete=True)
    np.testing.assert_array_equal(ruled.status, Status.SOLVED)
    np.testing.assert_array_equal(ruled.grids, found.grids[:20])
    assert (ruled.stats["network_calls"] <= 1).all()
    assert (ruled.iterations <= found.iterations[:20]).all() and ruled.iterations.sum() < found.iterations[:20].sum()
    # one that is wrong changes nothing: the surest cell is filled as ever
    options = {"rules": "naked", "patience": 2}
    for solver in ("iterative", "one-shot"):
        some = {name: options[name] for name in options if solver == "iterative" or name != "rules"}
        one, other = (run(solver, puzzles, opinion(), complete=complete, **some) for complete in (True, False))
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
    for solver in ("iterative", "one-shot"):
        found = run(solver, puzzles, slow(), rules="none", patience=20, complete=True)
        assert (found.status == Status.SOLVED).all()
        calls = found.stats["network_calls"]
        assert (calls[empty > 8] == 3).all() and (calls <= 3).all()


def test_the_surest_cell_comes_first():
    """An opinion on one cell, wrong, is followed though the others are right: there is no way back."""
    logits = np.array(oracle(2.0).params["logits"])
    logits[:, 0] = [0, 9, 0, 0]
    puzzle = np.zeros((SIZE, 16), np.uint8)
    found = run("iterative", puzzle, table(logits), rules="none")
    assert (reference.pattern(FOUR)[0], found.status[0]) == (1, Status.UNSOLVED)
    logits[:, 0] = [1, 1.9, 0, 0]  # the least sure of all: it comes last, where one digit is left
    assert run("iterative", puzzle, table(logits), rules="naked").status[0] == Status.SOLVED


def test_digits_that_clash_end_an_attempt_at_once():
    ones = np.zeros((4, 16))
    ones[0] = 5
    found = run("iterative", np.zeros((SIZE, 16), np.uint8), table(ones), rules="none")
    assert (found.status == Status.UNSOLVED).all()
    assert (found.stats["network_calls"] == 2).all()
    np.testing.assert_array_equal(np.unique(found.grids), [0, 1])  # what was filled; the judge leaves it out


@pytest.mark.parametrize(
    ("options", "looks"),
    [
        ({"patience": 3}, 3),
        pytest.param({"patience": 4}, 4, marks=pytest.mark.slow),
        pytest.param({"patience": 20}, 5, marks=pytest.mark.slow),
        pytest.param({"patience": 20, "confident": 0.7}, 3, marks=pytest.mark.slow),
    ],
)
def test_it_thinks_on_until_it_is_confident_or_out_of_patience(options, looks):
    puzzles = of_the_pattern()
    empty = (puzzles == 0).sum(axis=1)
    found = run("iterative", puzzles, slow(), rules="none", **options)
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
    votes = run("iterative", puzzles, slow(), rules="none", patience=3, votes=2)
    assert (votes.stats["network_calls"] % 2 == 0).all() and (votes.stats["network_calls"][empty > 8] >= 6).all()


def test_one_shot_fills_all_in_one_call():
    puzzles = of_the_pattern()
    empty = (puzzles == 0).sum(axis=1)
    found = run("one-shot", puzzles, oracle())
    assert (found.status == Status.SOLVED).all()
    assert (found.grids == reference.pattern(FOUR)).all()
    np.testing.assert_array_equal(found.stats["network_calls"], empty > 0)
    np.testing.assert_array_equal(found.iterations, np.maximum(empty, 1))
    wrong = run("one-shot", puzzles, opinion())
    assert (wrong.status[empty == 16] == Status.UNSOLVED).all()
    np.testing.assert_array_equal(wrong.stats["network_calls"], empty > 0)


# ---------------------------------------------------------------------- lanes, runs, votes


#: Solver, board, givens and rules with which random opinions solve some puzzles at once, more in several runs, not all.
UNCERTAIN = [("iterative", reference.SMALL["2x3"], 8, "naked"), ("one-shot", FOUR, 4, "singles")]

uncertain = pytest.mark.parametrize(("solver", "board", "givens", "rules"), UNCERTAIN, ids=["iterative", "one-shot"])

RUNS = {"runs": 4, "temperature": 1.0}


@pytest.mark.slow
@uncertain
def test_lanes_change_nothing(solver, board, givens, rules):
    puzzles = reference.solvable(board, SIZE, givens=givens)
    some = RUNS | {"runs": 2 if solver == "iterative" else 4}
    few, many = (
        run(solver, puzzles, opinion(board), board, rules=rules, **some, complete=True, lanes=lanes)
        for lanes in (32, 96)
    )
    for one, other in zip(jax.tree.leaves(few), jax.tree.leaves(many), strict=True):
        np.testing.assert_array_equal(one, other)
    assert len(set(few.stats["network_calls"].tolist())) > 3  # lanes are free at different times
    assert {Status.SOLVED, Status.UNSOLVED} == set(few.status.tolist())


@pytest.mark.slow
@uncertain
def test_runs_solve_more(solver, board, givens, rules):
    puzzles = reference.solvable(board, SIZE, givens=givens)
    once = run(solver, puzzles, opinion(board), board, rules=rules)
    often = run(solver, puzzles, opinion(board), board, rules=rules, **RUNS)
    solved, more = once.status == Status.SOLVED, often.status == Status.SOLVED
    assert more[solved].all()  # the first run is the same
    assert more.sum() > solved.sum()
    np.testing.assert_array_equal(often.grids[solved], once.grids[solved])
    np.testing.assert_array_equal(often.stats["network_calls"][solved], once.stats["network_calls"][solved])
    assert (often.stats["network_calls"][~solved] > once.stats["network_calls"][~solved]).all()
    assert (often.iterations[~solved] > once.iterations[~solved]).all()
    assert all(
        reference.is_solution(board, grid, puzzle)
        for grid, puzzle in zip(often.grids[more], puzzles[more], strict=True)
    )


@uncertain
def test_a_key_decides_the_noise(solver, board, givens, rules):
    puzzles = reference.solvable(board, SIZE, givens=givens)
    one, again, other = (run(solver, puzzles, opinion(board), board, seed, rules=rules, **RUNS) for seed in (1, 1, 2))
    np.testing.assert_array_equal(one.stats["network_calls"], again.stats["network_calls"])
    assert (one.stats["network_calls"] != other.stats["network_calls"]).any()
    # equal puzzles go different ways, too
    twice = run(solver, np.repeat(puzzles[: SIZE // 2], 2, axis=0), opinion(board), board, rules=rules, **RUNS)
    assert (twice.stats["network_calls"][::2] != twice.stats["network_calls"][1::2]).any()


def test_votes_are_counted_as_calls():
    puzzles = of_the_pattern()
    found = run("iterative", puzzles, oracle(), rules="none", votes=3)
    assert (found.stats["network_calls"] % 3 == 0).all()
    empty = (puzzles == 0).all(axis=1)
    assert (found.stats["network_calls"][empty] > 3).all()


def look(network, cubes):
    """The probabilities at a first look."""
    carry = network.apply.initialize_carry(network.params, cubes)
    return decoding._probabilities(network, cubes, carry, jnp.ones(len(cubes), bool))[0]


def voted(network, cubes, keys, votes, again):
    """The mean of votes at a first look."""
    carry = network.apply.initialize_carry(network.params, cubes)
    carry = jax.tree.map(lambda leaf: jnp.stack([leaf] * votes), carry)
    return decoding._voted(FOUR, network, cubes, keys, votes, again, carry, jnp.ones(len(cubes), bool))[0]


def test_votes_of_an_equivariant_network_change_nothing():
    network = networks.make_network("cube", FOUR, **reference.TINY["cube"])
    cubes = jnp.asarray(np.random.default_rng(0).random((32, 4, 16)) < 0.7)
    keys = jax.random.split(jax.random.key(0), 32)

    @functools.partial(jax.jit, compiler_options=js.compiler_options())
    def both(network):
        return look(network, cubes), voted(network, cubes, keys, 3, jnp.zeros(32, bool))

    plain, mean = both(network)
    np.testing.assert_allclose(mean, plain, atol=1e-5)
    assert plain.std() > 1e-3
    np.testing.assert_allclose(plain.sum(axis=1), np.asarray(cubes).any(axis=1), atol=1e-5)
    np.testing.assert_array_equal(np.asarray(plain)[~np.asarray(cubes)], 0)


def test_a_lone_vote_sees_the_board_as_it_is_but_for_later_runs():
    cubes = jnp.ones((32, 4, 16), bool)
    keys = jax.random.split(jax.random.key(0), 32)
    again = jnp.arange(32) % 2 == 1
    lone = jax.jit(lambda network: voted(network, cubes, keys, 1, again))(opinion())
    plain = look(opinion(), cubes)
    np.testing.assert_allclose(lone[::2], plain[::2], rtol=1e-6)
    assert not np.isclose(lone[1::2], plain[1::2]).all(axis=(1, 2)).any()
    # what comes back is an opinion on the same cells: the same cells' distributions, rearranged
    np.testing.assert_allclose(
        np.sort(lone.ravel()[: 64 * 2].reshape(2, 64)), np.sort(plain[:2].reshape(2, 64)), rtol=1e-5
    )


@pytest.mark.slow
def test_partial_grids_are_kept_for_whoever_asks():
    puzzles = reference.unique(FOUR, 8)
    network = networks.make_network("cube", FOUR, **reference.TINY["cube"])
    zeros, kept = (
        js.solve(puzzles, FOUR, solver="one-shot", network=network, lanes=32, keep_partial=keep)
        for keep in (False, True)
    )
    unsolved = zeros.status == Status.UNSOLVED
    assert unsolved.any()
    np.testing.assert_array_equal(kept.status, zeros.status)
    assert not zeros.grids[unsolved].any() and kept.grids[unsolved].all()
    np.testing.assert_array_equal(kept.grids[puzzles > 0], puzzles[puzzles > 0])
    # the exact search keeps nothing of a puzzle that it gave up
    given_up = js.solve(np.zeros((1, 16), np.uint8), FOUR, budget=1, keep_partial=True)
    assert given_up.status.tolist() == [Status.UNSOLVED] and not given_up.grids.any()


@pytest.mark.slow
def test_lanes_take_all_that_they_hold_along():
    """A step of a few lanes is that of these lanes among all of them, with the features that the network carries."""
    config = decoding.IterativeConfig(rules="none", votes=2, patience=3, confident=1.0)
    network = networks.make_network("cube", FOUR, **reference.TINY["cube"])
    method = decoding._method(FOUR, jax.random.key(0), config, network, decoding._surest_of(config), "none")
    puzzles = jnp.asarray(reference.unique(FOUR, 8))
    nodes = make_roots(FOUR, puzzles, "none").nodes[:, :8]
    step = jax.jit(method.step)
    state = step(method.init(Start(puzzles, nodes, jnp.zeros(8, jnp.uint32), jnp.arange(8))))
    assert all(leaf.shape[0] == 2 and leaf.shape[-2] == 8 for leaf in jax.tree.leaves(state.carry))
    places = jnp.array([6, 1, 3])
    few, all_of_them = step(method.gather(places, state)), step(state)
    for one, other in zip(jax.tree.leaves(few), jax.tree.leaves(method.gather(places, all_of_them)), strict=True):
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

DOOR = {"solver": "one-shot", "lanes": 32, "batch_size": SIZE}


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
    found = js.solve(of_the_pattern(6).reshape(3, 2, 16), network=oracle(), **DOOR)
    assert [x.shape for x in jax.tree.leaves(found)] == [(3, 2, 16), (3, 2), (3, 2), (3, 2)]
    nothing = js.solve(np.zeros((0, 16), int), network=oracle(), **DOOR)
    assert [x.shape for x in jax.tree.leaves(nothing)] == [(0, 16), (0,), (0,), (0,)]


def test_a_network_is_for_guided_solvers_alone():
    with pytest.raises(
        ValueError, match="the solver exact takes no network; those that do are guided-exact, iterative,"
    ):
        js.solve(of_the_pattern(), network=oracle())


def test_a_network_of_any_board_serves_the_board_at_hand():
    six = reference.SMALL["2x3"]
    network = networks.make_network("cube", FOUR, **reference.TINY["cube"])
    moved = networks.for_board(network, six)
    assert moved.board == six
    assert moved.params is network.params
    assert networks.for_board(network, FOUR) is network
    full = np.array([reference.full_grid(six, np.random.default_rng(0))])
    assert js.solve(full, network=network, **DOOR).status == Status.SOLVED


def test_a_network_of_another_board_is_refused(monkeypatch):
    monkeypatch.setitem(networks.NETWORKS, "table", Architecture("table", "for tests", Table, TableConfig))
    with pytest.raises(ValueError, match="the network table is for a board of 4x4 .*, not for one of 6x6"):
        js.solve(np.zeros((3, 36), int), network=oracle(), **DOOR)
