"""Modules of users as networks, and what a network can't be."""

from __future__ import annotations

import dataclasses

import jax
import jax.numpy as jnp
import numpy as np
import pytest
import reference
from flax import nnx

import jaxsudoku as js
from jaxsudoku import networks

BOARD = reference.SMALL["4x4"]
PUZZLES = reference.solvable(BOARD, 5)


class Plain(nnx.Module):
    """A layer for each cell, and what is wrong with the outputs."""

    def __init__(self, side: int = 4, seed: int = 0, fault: str = "") -> None:
        rng = np.random.default_rng(seed)
        self.weights, self.fault = nnx.Param(rng.normal(size=(side, side)).astype(np.float32)), fault

    def __call__(self, candidates):
        policy = jnp.einsum("de,bec->bdc", self.weights[...], candidates.astype(jnp.float32))
        value = policy.mean(axis=(1, 2))
        faults = {
            "policy": (policy.swapaxes(1, 2), value),
            "value": (policy, value[:, None]),
            "batch": (policy[None], value[None, None]),
            "dtype": (policy, value > 0),
            "mixed": (policy - policy.mean(axis=0), value),
            "alone": policy,
            "three": (policy, value, value),
        }
        return faults.get(self.fault, (policy, value))


class Stateful(nnx.Module):
    def __init__(self) -> None:
        self.count = nnx.BatchStat(np.zeros(3))


def own(seed: int = 0) -> networks.Network:
    return networks.from_module(Plain(seed=seed), BOARD)


def test_a_module_is_a_network_with_its_parameters():
    candidates = reference.candidates(BOARD, PUZZLES)
    network, other = own(), own(1)
    outputs = jax.tree.map(np.asarray, network(candidates))
    policy, value = Plain()(candidates)
    np.testing.assert_array_equal(outputs.policy, np.where(candidates, policy, networks.ABSENT))
    np.testing.assert_allclose(outputs.value, value, rtol=1e-6)
    assert network.apply == other.apply and hash(network.apply) == hash(other.apply)  # they share programs
    assert network.name == "Plain" and network.size == 16 and network.apply.iterations == 0


def test_guided_solvers_and_evaluate_take_it():
    solution = js.solve(PUZZLES, solver="iterative", network=own(), lanes=32)
    assert solution.status.shape == (5,)
    assert "Plain, 16 parameters" in str(js.evaluate(own(), reference.unique(BOARD, 5), BOARD, iterative=False))


def test_check_network_takes_it():
    js.testing.check_network(own())
    with pytest.raises(AssertionError, match="policy of position . depends on the other positions"):
        js.testing.check_network(networks.from_module(Plain(fault="mixed"), BOARD))
    with pytest.raises(ValueError, match="a Network has its config and its board"):
        js.testing.check_network(own(), board=BOARD)


@pytest.mark.parametrize("fault", ["policy", "value", "batch", "dtype", "alone", "three"])
def test_other_outputs_are_refused_when_it_is_made(fault):
    words = "it must return a pair" if fault in ("alone", "three") else "the network returns a policy float32"
    with pytest.raises(ValueError, match=f"Plain is not a network for 4x4 .*: {words}"):
        networks.from_module(Plain(fault=fault), BOARD)


def test_what_is_no_network_is_refused():
    with pytest.raises(TypeError, match="a value of type int; it must be a flax.nnx.Module"):
        networks.from_module(3, BOARD)
    with pytest.raises(TypeError, match="Stateful has state besides its parameters, count; .* outside of the module"):
        networks.from_module(Stateful(), BOARD)
    with pytest.raises(ValueError, match="Plain is not a network for 4x4"):
        networks.from_module(Plain(6), BOARD)
    with pytest.raises(TypeError, match="not a value of type Plain; networks.from_module makes one of an NNX module"):
        js.solve(np.zeros((1, 16), np.uint8), solver="gumbel", network=Plain())
    with pytest.raises(TypeError, match="has its parameters already"):
        own().apply.init(jax.random.wrap_key_data(np.zeros(2, np.uint32)))
    with pytest.raises(ValueError, match="only networks of the registry can be saved"):
        networks.save_network(own(), "plain")


def test_solvers_refuse_other_boards_and_parameters_before_compiling():
    with pytest.raises(ValueError, match="the network Plain is for a board of 4x4 .*, not for one of 6x6"):
        js.solve(np.zeros((1, 36), np.uint8), solver="gumbel", network=own())
    spoiled = dataclasses.replace(own(), params={"module": {"weights": np.full((4, 4), np.nan, np.float32)}})
    with pytest.raises(ValueError, match="weights has 16 of 16 values that are not finite"):
        js.solve(PUZZLES, solver="gumbel", network=spoiled)

    def iterations(params):
        return js.solve(PUZZLES, solver="gumbel", network=dataclasses.replace(own(), params=params)).iterations.sum()

    with pytest.raises(TypeError, match="parameters are traced, but this function runs on the host"):
        jax.eval_shape(iterations, own().params)


def test_an_architecture_returns_outputs():
    class Pair(networks.NetworkModule):
        def __init__(self, config, board, *, rngs):
            self.weights = nnx.Param(np.zeros((1,), np.float32))

        def __call__(self, candidates):
            return candidates * self.weights[...], candidates.any(axis=(1, 2)) * self.weights[...]

    forward = networks.Forward(Pair, None, BOARD)
    with pytest.raises(ValueError, match="the network returns a tuple; it must be networks.Outputs"):
        jax.eval_shape(forward, forward.shapes(), np.zeros((2, 4, 16), bool))
