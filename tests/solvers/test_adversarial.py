"""Networks that say anything at all: no solver takes their word for a proof, and calls are counted as they happen."""

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
from jaxsudoku import compiler_options, networks, solvers
from jaxsudoku.engine.solution import Status
from jaxsudoku.evaluation import forward
from jaxsudoku.networks import ABSENT, Forward, Network, NetworkModule, Outputs, weights
from jaxsudoku.networks.base import LARGEST, finite_outputs, masked_logits
from jaxsudoku.solvers import decoding, tree
from jaxsudoku.solvers.queue import Method
from jaxsudoku.solvers.tree import policies

FOUR = reference.SMALL["4x4"]
LARGE = float(np.finfo(np.float32).max)

#: Every guided solver, with settings under which the network is needed on a 4x4 board.
SETTINGS = {
    "guided-exact": {"rules": "naked", "rounds": 1, "chunk": 1},
    "iterative": {"rules": "naked", "runs": 2},
    "one-shot": {"rules": "none", "runs": 2},
    "gumbel": {"rules": "none", "simulations": 4, "chunk": 1},
    "alphasudoku": {"rules": "none", "simulations": 4, "chunk": 1, "temperature": 1.0},
    "mcgs": {"rules": "naked", "simulations": 8, "chunk": 1},
}
assert set(SETTINGS) == {name for name, solver in solvers.SOLVERS.items() if solver.guided}


@dataclasses.dataclass(frozen=True)
class NoConfig:
    """No sizes."""


#: What was shown to the network since this was cleared: the candidates of each call.
SHOWN = []


class Fixed(NetworkModule):
    """Outputs that are its parameters: one pair for positions with an even number of candidates, one for the others."""

    def __init__(self, config, board, *, rngs):
        self.policy = nnx.Param(jnp.zeros((2, board.side, board.cells)))
        self.value = nnx.Param(jnp.zeros(2))

    def __call__(self, candidates):
        jax.debug.callback(lambda shown: SHOWN.append(np.asarray(shown)), candidates)
        kind = candidates.sum(axis=(1, 2), dtype=jnp.int32) % 2
        return Outputs(self.policy[...][kind], self.value[...][kind])


def fixed(policy, value):
    shape = (2, FOUR.side, FOUR.cells)
    params = {
        "policy": np.broadcast_to(np.asarray(policy, np.float32), shape),
        "value": np.full(2, value, np.float32),
    }
    return Network("fixed", Forward(Fixed, NoConfig(), FOUR), params)


def spotted(odd, usual=0.0):
    """Random logits with some of another kind among them."""
    rng = np.random.default_rng(2)
    shape = (2, FOUR.side, FOUR.cells)
    return np.where(rng.random(shape) < 0.3, odd, rng.normal(size=shape) + usual)


ADVERSARIES = {
    "uniform": fixed(0.0, 0.0),
    "all NaN": fixed(np.nan, np.nan),
    "all -inf": fixed(-np.inf, -np.inf),
    "all +inf": fixed(np.inf, np.inf),
    "all lowest": fixed(-LARGE, -LARGE),
    "all highest": fixed(LARGE, LARGE),
    "low": fixed(-1e9, 0.0),
    "large": fixed(spotted(1e38), 1e38),
    "very small": fixed(spotted(-1e38), -1e38),
    "both extremes": fixed(np.where(spotted(5.0) > 1, LARGE, -LARGE), 1e38),
    "some NaN": fixed(spotted(np.nan), 0.0),
    "some -inf": fixed(spotted(-np.inf), 0.0),
    "some +inf": fixed(spotted(np.inf), 0.0),
    "NaN for some positions": fixed(np.array([0.0, np.nan])[:, None, None], 0.0),
    "NaN values": fixed(spotted(1.0), np.nan),
    "infinite values": fixed(spotted(1.0), np.inf),
    "a digit alone": fixed(np.where(np.arange(FOUR.side) == 0, 1000.0, 0.0)[:, None], 0.0),
}


#: Puzzles without a solution, which naked singles do not refute in the first two, nor clashes in the others.
HOPELESS = ("2..11.........12", "23......3..2...3", "....2..3...1.4..", "..3..2..4.1.....", "3.4.......1..2..")


@functools.cache
def puzzles():
    """Puzzles with solutions, and some without."""
    hopeless = [[int(digit) for digit in text.replace(".", "0")] for text in HOPELESS]
    return np.concatenate([reference.solvable(FOUR, 8, givens=4), np.array(hopeless, np.uint8)])


@functools.cache
def solvable():
    found = np.array([bool(reference.count(FOUR, puzzle, 1)) for puzzle in puzzles()])
    assert found.sum() == 8
    return found


@functools.cache
def kernel(name):
    """The solver as a compiled function of puzzles and network; its settings are those above."""
    solver = solvers.get(name)
    config = solvers.make_config(solver, lanes=32, **SETTINGS[name]).resolve(FOUR, "cpu")
    return jax.jit(
        lambda puzzles, network: solver.run(FOUR, puzzles, jax.random.key(0), config, network),
        compiler_options=compiler_options(),
    )


def solved_by(name, network):
    """The solutions; no second loop is compiled for the last puzzles of decoders, which changes nothing."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(decoding, "Method", functools.partial(Method, narrow_from=1000))
        return jax.tree.map(np.asarray, kernel(name)(puzzles(), network))


# ---------------------------------------------------------------------- proofs


@pytest.mark.parametrize(
    "name",
    # the tree searches and one-shot are slow to compile
    [
        pytest.param(name, marks=[pytest.mark.slow] * (name in ("gumbel", "alphasudoku", "mcgs", "one-shot")))
        for name in SETTINGS
    ],
)
def test_nothing_that_a_network_says_is_a_proof(name):
    complete = solvers.get(name).complete
    for kind, network in ADVERSARIES.items():
        SHOWN.clear()
        found = solved_by(name, network)
        jax.effects_barrier()
        for puzzle, grid, status, has_one in zip(puzzles(), found.grids, found.status, solvable(), strict=True):
            right = Status.SOLVED if has_one else Status.UNSATISFIABLE if complete else Status.UNSOLVED
            assert status == right or (status == Status.UNSOLVED and not complete), kind
            assert status != Status.SOLVED or reference.is_solution(FOUR, grid, puzzle)
        assert found.stats["network_calls"].any(), "the network is needed"
        if complete:
            assert (found.iterations[8:10] > 1).all(), "a search refutes these"
            # one position at a time is shown, so calls can be counted apart from the solver
            assert found.stats["network_calls"].sum() == len(SHOWN), kind
            assert (found.stats["network_calls"] < found.iterations).any()
            assert all(len(cubes) == 1 and (cubes.sum(axis=1) > 1).any() for cubes in SHOWN), "open positions alone"


# ---------------------------------------------------------------------- outputs and parameters


finite = jax.jit(finite_outputs)


@pytest.mark.parametrize("dtype", ["float32", "bfloat16", "float16"])
def test_outputs_that_are_not_finite_are_uniform_and_without_a_value(dtype):
    candidates = np.random.default_rng(0).random((5, FOUR.side, FOUR.cells)) < 0.7
    policy = np.random.default_rng(1).normal(size=candidates.shape)
    for row, odd in enumerate([np.nan, np.inf, -np.inf], 1):
        policy[(row, *np.argwhere(candidates[row])[0])] = odd
    policy[4][~candidates[4]] = np.nan  # what is not there is not looked at
    value = np.array([3.0, np.nan, np.inf, -np.inf, -2.0])
    outputs = Outputs(policy.astype(jnp.dtype(dtype)), value.astype(jnp.dtype(dtype)))
    found = finite(outputs, candidates)
    assert found.policy.dtype == found.value.dtype == jnp.float32
    np.testing.assert_array_equal(found.value, [3.0, 0.0, 0.0, 0.0, -2.0])
    expected = np.where(np.arange(5)[:, None, None] % 4 == 0, np.asarray(outputs.policy, np.float32), 0.0)
    np.testing.assert_array_equal(found.policy, np.where(candidates, expected, np.float32(ABSENT)))


def test_present_candidates_are_never_taken_for_absent():
    logits = np.array([np.nan, -np.inf, np.inf, -LARGE, LARGE, -1e9, 2.5, -7.0], np.float32)
    masked = jax.jit(masked_logits)
    bounded = masked(logits, np.ones(8, bool))
    np.testing.assert_array_equal(bounded, [0, -LARGEST, LARGEST, -LARGEST, LARGEST, -LARGEST, 2.5, -7.0])
    np.testing.assert_array_equal(masked(logits, np.zeros(8, bool)), np.full(8, ABSENT, np.float32))


def test_noise_of_any_temperature_refutes_nothing():
    config = tree.AlphaSudokuConfig(temperature=1e30)
    noise = jax.jit(lambda seeds: policies._noise(FOUR, config, seeds))(np.arange(64, dtype=np.uint32))
    assert (np.abs(noise) <= LARGEST).all()


@pytest.mark.parametrize("dtype", ["float32", "bfloat16"])
def test_finite_weights_that_overflow_inside(dtype):
    """Huge weights make features infinite in the middle of a network; the solver is none the worse for it."""
    network = random_network(FOUR, "cube", dtype=dtype)
    huge = dataclasses.replace(network, params=jax.tree.map(lambda leaf: leaf * np.float32(3e37), network.params))
    candidates = reference.candidates(FOUR, puzzles()[:5])
    outputs = jax.tree.map(np.asarray, huge(candidates))
    assert not np.isfinite(outputs.policy[candidates]).any()
    found = finite(outputs, candidates)
    assert (np.asarray(found.policy)[candidates] == 0).all() and np.isfinite(found.value).all()


def broken(network, **changes):
    """The network with other parameters."""
    return dataclasses.replace(network, params=network.params | changes)


def test_solvers_refuse_parameters_that_are_none_of_the_network():
    network = random_network(FOUR, "cube")
    size = network.params["bias"].size
    one_nan = np.where(np.arange(size) == 3, np.nan, 0).astype(np.float32)
    cases = {
        "bias has 1 of 8 values that are not finite": {"bias": one_nan},
        "bias has 8 of 8 values that are not finite": {"bias": np.full(size, 1e300)},
        r"bias is \[1\], not \[8\]": {"bias": np.zeros(1, np.float32)},
        "bias is int32": {"bias": np.zeros(size, np.int32)},
        "more is not one of its tensors": {"more": np.zeros(1, np.float32)},
    }
    for cause, changes in cases.items():
        for use in (
            lambda given: js.solve(puzzles(), FOUR, solver="one-shot", network=given),
            lambda given: js.evaluate(given, puzzles()),
            networks.check_network,
        ):
            with pytest.raises(ValueError, match=cause):
                use(broken(network, **changes))
    networks.check_network(broken(network, bias=np.zeros(size, jnp.bfloat16)))


def test_files_with_parameters_that_are_not_finite_are_refused(tmp_path, monkeypatch):
    network = random_network(FOUR, "cube")
    kernel = network.params["embed"]["kernel"].copy()
    kernel[0, :3] = np.inf
    wrong = broken(network, embed={"kernel": kernel})
    with pytest.raises(ValueError, match="embed.kernel has 3 of 16 values that are not finite"):
        js.save_network(wrong, tmp_path / "net")
    assert not list(tmp_path.iterdir())
    with monkeypatch.context() as patch:
        patch.setattr(weights, "_not_finite", lambda tensors: "")
        path = js.save_network(wrong, tmp_path / "net")
    with pytest.raises(networks.NetworkFileError, match=r"net.safetensors: embed.kernel has 3 of 16 values"):
        js.load_network(path)


@pytest.mark.parametrize(("kind", "count"), [("infinite values", 13), ("NaN for some positions", 5)])
def test_an_evaluation_of_outputs_that_are_not_finite_is_refused(kind, count):
    with pytest.raises(ValueError, match=f"outputs of the network fixed are not finite for {count} of 13"):
        forward.predict(ADVERSARIES[kind], puzzles(), "naked")


def test_labels_that_make_no_sense_are_refused():
    network = ADVERSARIES["uniform"]
    few = puzzles()[:2]
    for labels, cause in (
        ({"rating": [-1.0, 2.0]}, "rating holds infinite or negative values"),
        ({"rating": [np.inf, 2.0]}, "rating holds infinite or negative values"),
        ({"difficulty": [-np.inf, 2.0]}, "difficulty holds infinite"),
        ({"solutions": np.full(few.shape, -1)}, "outside 0..4"),
        ({"solutions": np.ones(few.shape)}, "they must be integers"),
    ):
        with pytest.raises(ValueError, match=cause):
            js.evaluate(network, few, **labels)


def test_what_a_network_is_shown_must_be_candidates():
    network = random_network(FOUR, "cube")
    cubes = reference.candidates(FOUR, puzzles()[:5])
    network(cubes)
    for wrong in (cubes.astype(np.float32), cubes.astype(np.uint8), cubes[0], cubes[:, :, :9], puzzles()):
        with pytest.raises(ValueError, match=r"takes bool\[B, 4, 16\]"):
            network(wrong)


def test_a_network_is_checked_for_the_board_that_it_solves():
    """Parameters of one architecture under the name of another that serves every board."""
    axial = random_network(FOUR, "axial")
    with pytest.raises(ValueError, match="cube is for a board of 4x4 with 2x2 boxes, not for one of 6x6"):
        js.solve(np.zeros((1, 36), np.uint8), solver="one-shot", network=dataclasses.replace(axial, name="cube"))


def test_a_completion_by_probabilities_of_zero_ends():
    """After the digit of which the network is certain, the rules leave only candidates of probability 0."""
    found = solved_by("iterative", ADVERSARIES["a digit alone"])
    solved = found.status == Status.SOLVED
    assert solved.any() and not solved[~solvable()].any()
    assert all(
        reference.is_solution(FOUR, grid, puzzle)
        for grid, puzzle in zip(found.grids[solved], puzzles()[solved], strict=True)
    )
