"""Conformance check of network architectures."""

from __future__ import annotations

import tempfile
from pathlib import Path
from typing import Any
from unittest import mock

import jax
import numpy as np

from jaxsudoku.core.board import Board
from jaxsudoku.networks import (
    ABSENT,
    NETWORKS,
    Architecture,
    Forward,
    Network,
    NetworkModule,
    Outputs,
    get,
    load_network,
    save_network,
)
from jaxsudoku.runtime.devices import compiler_options

from . import plain
from .failing import require


def check_network(
    network: Network | Architecture | str | type[NetworkModule], config: Any = None, *, board: Board | None = None
) -> None:
    """Checks an architecture, or a network with its parameters, on four positions.

    - Outputs have the documented shapes and dtypes, are finite, and not equal for all candidates.
    - The outputs of a position do not depend on the other positions of the batch nor on its size, and equal those of
      the last iteration of ``unroll``.
    - For architectures: parameters are float32 and depend only on the key; outputs are small before training; saving
      and loading a network preserves every bit.

    Args:
      network: a network, such as from ``networks.from_module``; an entry of the registry, its name, or a module class.
      config: its sizes; None for the defaults of an entry. Required for a class. Small sizes compile quickly.
      board: the board; None for the classic 4x4, or that of a network.

    Raises:
      AssertionError: a property fails; the message names it.
      ValueError: a class without sizes, sizes or a board for a network that has its own, or a board that the
        architecture does not support.
    """
    if isinstance(network, Network):
        if config is not None or board is not None:
            raise ValueError("a Network has its config and its board")
        _check_outputs(network)
        return
    if isinstance(network, str):
        network = get(network)
    if not isinstance(network, Architecture):
        if config is None:
            raise ValueError(f"the class {network.__name__} needs a config")
        network = Architecture(network.__name__, "", network, type(config))
    board = board or Board.classic(4)
    forward = Forward(network.module, network.config() if config is None else config, board)
    made = Network(network.name, forward, _parameters(forward))
    largest = _check_outputs(made)
    require(largest < 4, f"an output before training is {largest}; it should be near 0")
    with mock.patch.dict(NETWORKS, {network.name: network}):
        _check_files(made)


def positions(board: Board, size: int, seed: int = 0) -> tuple[np.ndarray, np.ndarray]:
    """Random positions: solved grids in which some cells are filled, others have random candidates and the right one.

    Returns:
      Candidates bool[B, side, cells], and digits int[B, cells] of 0..side-1.
    """
    rng = np.random.default_rng(seed)
    digits = np.array([plain.full_grid(board, rng) for _ in range(size)]).astype(int) - 1
    right = digits[:, None] == np.arange(board.side)[:, None]
    filled = rng.random((size, 1, board.cells)) < 0.4
    return right | (~filled & (rng.random(right.shape) < 0.6)), digits


def check_outputs(outputs: Outputs, candidates: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Checks outputs for candidates bool[B, side, cells]; returns the policy and the value."""
    policy, value = np.asarray(outputs.policy), np.asarray(outputs.value)
    found = [f"{array.dtype}{list(array.shape)}" for array in (policy, value)]
    right = [f"float32{list(shape)}" for shape in (candidates.shape, candidates.shape[:1])]
    require(found == right, f"policy and value are {found}, not {right}")
    require((policy[~candidates] == ABSENT).all(), "the policy of an absent candidate is not ABSENT")
    for position in np.flatnonzero(~(np.isfinite(policy).all(axis=(1, 2)) & np.isfinite(value))):
        require(False, f"an output of position {position} is not finite", candidates=candidates[position].astype(int))
    require(policy[candidates].std() > 1e-4, "the policy is the same for all candidates")
    return policy, value


def _check_outputs(network: Network) -> float:
    """Checks the outputs for four positions; returns the largest one."""
    candidates, _ = positions(network.board, 4)
    policy, value = check_outputs(network(candidates), candidates)
    _check_independence(network, candidates, policy, value)
    return float(max(np.abs(policy[candidates]).max(), np.abs(value).max()))


def _parameters(forward: Forward) -> Any:
    """Checks initialization; returns the parameters of a key."""
    # a key whose generator compiles quickly, unlike the default one on a CPU; as one program it takes long
    words = (jax.device_put(np.array([seed, 1, 2, 3], np.uint32)) for seed in (0, 0, 1))
    keys = [jax.random.wrap_key_data(word, impl="unsafe_rbg") for word in words]
    params, same, other = (jax.tree.map(np.asarray, forward.init(key)) for key in keys)
    kinds, right = (jax.tree.map(lambda leaf: (leaf.shape, leaf.dtype), tree) for tree in (params, forward.shapes()))
    require(kinds == right, f"the initial parameters are {kinds}, not {right}")
    require(all(leaf.dtype == np.float32 for leaf in jax.tree.leaves(params)), f"parameters are not float32: {kinds}")
    require(_same(params, same), "the same key gives different parameters the second time")
    require(not _same(params, other), "different keys give the same parameters")
    return params


def _same(one: Any, other: Any) -> bool:
    """Whether all arrays of two pytrees are equal bit for bit."""
    trees = [jax.tree.map(lambda leaf: (np.asarray(leaf).tobytes(), leaf.dtype), tree) for tree in (one, other)]
    return trees[0] == trees[1]


def _check_independence(network: Network, candidates: np.ndarray, policy: np.ndarray, value: np.ndarray) -> None:
    """Compares with each position evaluated alone, by ``unroll``."""
    unrolled = jax.jit(Forward.unroll, static_argnums=0, compiler_options=compiler_options())
    iterations = getattr(network.config, "iterations", 1)
    for place in range(len(candidates)):
        alone = candidates[place : place + 1]
        each, _ = jax.tree.map(np.asarray, unrolled(network.apply, network.params, alone))
        shapes, right = (each.policy.shape, each.value.shape), ((iterations, *alone.shape), (iterations, 1))
        require(shapes == right, f"unrolled outputs have the shapes {shapes}, not {right}")
        for name, one, other in (("policy", each.policy, policy), ("value", each.value, value)):
            same = np.allclose(one[-1, 0], other[place], rtol=1e-4, atol=1e-5)
            words = (
                f"the {name} of position {place} depends on the other positions, or is not that of the last iteration"
            )
            require(same, words, candidates=alone.astype(int))


def _check_files(network: Network) -> None:
    with tempfile.TemporaryDirectory() as folder:
        path = save_network(network, Path(folder) / "network")
        first, loaded = path.read_bytes(), load_network(path)
        require(loaded == network, f"{network} was saved, but {loaded} was loaded")
        require(_same(loaded.params, network.params), "saving and loading changes parameters")
        require(
            all(isinstance(leaf, jax.Array) for leaf in jax.tree.leaves(loaded.params)), "parameters must be arrays"
        )
        require(save_network(loaded, path).read_bytes() == first, "saving a loaded network gives another file")
