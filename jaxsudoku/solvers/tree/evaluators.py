"""Evaluators: value and prior of positions, by a network or by rollouts.

An evaluator is a few pure functions of positions and of a network's outputs for them. ``simulation`` applies the rules,
calls the network, and plays rollouts, one step of each lane at a time; so an evaluator has no loop.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Callable
from typing import NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jax import Array, lax

from jaxsudoku.core import env
from jaxsudoku.core.board import Board
from jaxsudoku.networks import Network
from jaxsudoku.networks.base import ABSENT, Halt, Outputs, masked_logits
from jaxsudoku.runtime.random import key_of, mix

from ..network_calls import NetworkCaller, iterations_of
from .tree_config import AlphaSudokuConfig, GuidedConfig, McgsConfig, MctsConfig


class Evaluation(NamedTuple):
    """The evaluation of B positions.

    Attributes:
      state: the positions, with the cell that moves fill.
      logits: float32[B, moves], for the digits in that cell, or for all placements; ``ABSENT`` for illegal ones.
      value: float32[B], from ``lowest`` to 1.
    """

    state: env.State
    logits: Array
    value: Array


class View(NamedTuple):
    """Inputs of an evaluation of B positions.

    Attributes:
      state: the positions.
      choices: bool[B, side, cells], the legal digits of open cells.
      asked: bool[B], whether the network was called for them.
      outputs: the network's outputs; where it was not called, logits of 0 and log-odds of 0. None without a network.
    """

    state: env.State
    choices: Array
    asked: Array
    outputs: Outputs | None

    def logits(self, policy: Array) -> Array:
        """The logits, of ``policy`` [B, side, cells], of the legal digits in the positions' cells: float32[B, side]."""
        cell = self.state.cell[:, None, None]
        logits = jnp.take_along_axis(policy, cell, axis=2)[:, :, 0]
        return masked_logits(logits, jnp.take_along_axis(self.choices, cell, axis=2)[:, :, 0])


class Evaluator(NamedTuple):
    """The functions of an evaluator.

    Attributes:
      caller: the network; None without one.
      spares: (positions, their choices, whether they are on a rollout) -> bool[B], positions that need no network call.
      read: views -> evaluations; for positions that start a rollout the value may be that of the network alone.
      place: one step of the rollouts that complete all evaluated positions: (views, the policy at the start of the
        rollout float32[B, side, cells] or None, seeds) -> placements int32[B]; None without rollouts.
      keeps_policy: whether rollouts use the policy at their start instead of further network calls.
      value: (evaluations before a rollout, its end) -> the values float32[B].
    """

    caller: NetworkCaller | None
    spares: Callable[[env.State, Array, Array], Array]
    read: Callable[[View], Evaluation]
    place: Callable[[View, Array | None, Array], Array] | None = None
    keeps_policy: bool = False
    value: Callable[[Evaluation, env.State], Array] = lambda before, end: before.value


#: Minimum probability for which the rule "either" takes the surest cell.
_CERTAIN = 0.99


def caller_of(config: GuidedConfig | McgsConfig, network: Network, votes: int = 1) -> NetworkCaller:
    """The ``NetworkCaller`` of a network for the resolved settings of a search."""
    iterations = iterations_of(network)
    sure = config.sure if config.sure < 1 else math.inf
    halt = Halt(config.depth or iterations, sure) if iterations else None
    return NetworkCaller(network, config.chunk, halt, votes, bool(config.pooled))


def by_network(board: Board, config: GuidedConfig, network: Network) -> Evaluator:
    """Evaluates by a network, and by rollouts with its policy if ``config.value`` asks for them.

    Without such rollouts, if ``config.complete`` is set, every position is completed with the policy of its evaluation.
    """
    plays, surest, completes = config.plays, config.rollout == "surest", config.completes
    as_study = isinstance(config, AlphaSudokuConfig) and config.formula == "study"

    def spares(state: env.State, choices: Array, rolling: Array) -> Array:
        if completes:
            return rolling
        if plays and surest:
            return has_single(choices) & (rolling | (config.value == "rollout"))
        return jnp.zeros_like(rolling)

    def read(view: View) -> Evaluation:
        policy, value = _policy(view), jnp.full(len(view.asked), 0.5, jnp.float32)
        if config.cell != "fewest":
            cell = choose_cell(config.cell, view.choices, policy)
            view = view._replace(state=view.state._replace(cell=cell))
        if config.prior != "network":
            policy = 0 * policy
        if config.value in ("network", "both") and view.outputs is not None:
            value = jax.nn.sigmoid(view.outputs.value)
        if as_study:  # normalised over all of the network's digits, legal or not
            likely = view.logits(jax.nn.log_softmax(policy, axis=1))
            logits = jnp.where(view.asked[:, None], likely, view.logits(0 * policy))
        else:
            logits = view.logits(policy)
        return Evaluation(view.state, logits, _scaled(config, value))

    def place(view: View, policy: Array | None, seed: Array) -> Array:
        if policy is not None:
            return likeliest_placement(view.choices, policy)
        if surest:
            return surest_placement(view.choices, _policy(view), mix(seed ^ _ROLLOUT))
        seen = read(view)
        digit = jnp.argmax(seen.logits + gumbel_noise(board, mix(seed ^ _ROLLOUT)), axis=1).astype(jnp.int32)
        return digit * board.cells + seen.state.cell

    def valued(before: Evaluation, end: env.State) -> Array:
        if not plays:
            return before.value
        reward = terminal_value(board, config, end)
        return reward if config.value == "rollout" else (reward + before.value) / 2

    caller = caller_of(config, network, config.votes) if config.asks else None
    return Evaluator(caller, spares, read, place if plays or completes else None, completes, valued)


def _policy(view: View) -> Array:
    """The logits of a view, float32[B, side, cells]; 0 without a network."""
    return jnp.zeros(view.choices.shape, jnp.float32) if view.outputs is None else view.outputs.policy


#: Random stream of rollouts, separate from the noise at the root.
_ROLLOUT = np.uint32(0x51ED270B)


def gumbel_noise(board: Board, seed: Array) -> Array:
    """Gumbel noise for the digits of a cell: seeds uint32[B] to float32[B, side]."""
    return jax.vmap(lambda seed: jax.random.gumbel(key_of(seed), (board.side,), jnp.float32))(seed)


def lowest(config: GuidedConfig | MctsConfig) -> float:
    """The value of a position without a solution; that of a solved one is 1."""
    return -1.0 if config.reward == "signed" else 0.0


def terminal_value(board: Board, config: GuidedConfig | MctsConfig, state: env.State) -> Array:
    """The reward of positions that can't be continued, on the scale of the settings: float32[B]."""
    return _scaled(config, _reward(board, config, state))


def _scaled(config: GuidedConfig | MctsConfig, value: Array) -> Array:
    """Converts a value from 0 to 1 to the scale of the settings."""
    return lowest(config) + (1 - lowest(config)) * value


def choose_cell(rule: str, choices: Array, policy: Array) -> Array:
    """The cell to fill next.

    Args:
      rule: one of ``guided_config.Cell``.
      choices: bool[B, side, cells], the candidates of open cells.
      policy: float32[B, side, cells], the network's logits.

    Returns:
      int32[B]; undefined without candidates.
    """
    count = choices.sum(axis=1, dtype=jnp.int32)
    count = jnp.where(count > 0, count, choices.shape[1] + 1)
    fewest, opened = count == count.min(axis=1, keepdims=True), count <= choices.shape[1]
    sure = jnp.where(choices, jax.nn.softmax(policy, axis=1, where=choices), 0.0).max(axis=1)
    certain = opened & (sure >= _CERTAIN)
    eligible, score = {
        "fewest": (fewest, jnp.zeros_like(sure)),
        "likely": (fewest, sure),
        "doubtful": (fewest, 1 - sure),
        "surest": (opened, sure),
        "either": (certain | (fewest & ~certain.any(axis=1, keepdims=True)), jnp.where(certain, sure, 1 - sure)),
    }[rule]
    return jnp.where(eligible, score, -1.0).argmax(axis=1).astype(jnp.int32)


def by_rollouts(board: Board, config: MctsConfig) -> Evaluator:
    """Evaluates by random rollouts, which fill a cell with fewest candidates at every step."""

    def read(view: View) -> Evaluation:
        legal = jnp.take_along_axis(view.choices, view.state.cell[:, None, None], axis=2)[:, :, 0]
        return Evaluation(view.state, jnp.where(legal, jnp.float32(0), ABSENT), jnp.zeros(len(legal), jnp.float32))

    def place(view: View, policy: Array | None, seed: Array) -> Array:
        del policy
        if not config.proofs:
            return random_placement(view.choices, seed)
        legal = jnp.take_along_axis(view.choices, view.state.cell[:, None, None], axis=2)[:, :, 0]
        return random_choice(legal, seed) * board.cells + view.state.cell

    def valued(before: Evaluation, end: env.State) -> Array:
        del before
        return terminal_value(board, config, end)

    return Evaluator(None, lambda state, choices, rolling: jnp.ones_like(rolling), read, place, value=valued)


def has_single(choices: Array) -> Array:
    """Whether positions have a cell with one legal digit: bool[B, side, cells] to bool[B]."""
    return (choices.sum(axis=1, dtype=jnp.int32) == 1).any(axis=1)


def likeliest_placement(choices: Array, policy: Array) -> Array:
    """The most probable of the choices bool[B, side, cells] by logits of whole cells [B, side, cells]: int32[B]."""
    likely = jnp.where(choices, jax.nn.log_softmax(policy, axis=1), -jnp.inf)
    return likely.reshape(len(choices), -1).argmax(axis=1).astype(jnp.int32)


def random_placement(choices: Array, seed: Array) -> Array:
    """A random digit of a random cell with fewest choices bool[B, side, cells]: placements int32[B]."""
    count = choices.sum(axis=1, dtype=jnp.int32)
    count = jnp.where(count > 0, count, choices.shape[1] + 1)
    cell = random_choice(count == count.min(axis=1, keepdims=True), seed)
    there = jnp.take_along_axis(choices, cell[:, None, None], axis=2)[:, :, 0]
    return random_choice(there, mix(seed ^ _ROLLOUT)) * choices.shape[2] + cell


def surest_placement(choices: Array, policy: Array, seed: Array) -> Array:
    """A step of a rollout that places the most probable digit.

    Args:
      choices: bool[B, side, cells], the legal digits of open cells.
      policy: float32[B, side, cells], logits; digits that are not legal may be taken too.
      seed: uint32[B].

    Returns:
      placements int32[B]: in a random cell with one legal digit, or else the most probable one of all open cells.
    """
    size = len(choices)
    opened = choices.any(axis=1, keepdims=True)
    best = jnp.where(opened, jax.nn.softmax(policy, axis=1), -1.0).reshape(size, -1).argmax(axis=1).astype(jnp.int32)
    return jnp.where(has_single(choices), random_placement(choices, seed), best)


def random_choice(options: Array, seed: Array) -> Array:
    """A uniformly random index of the options bool[B, m], by seeds uint32[B]: int32[B]."""
    count = options.sum(axis=1, dtype=jnp.uint32)
    wanted = (mix(seed) % jnp.maximum(count, 1)).astype(jnp.int32)
    rank = jnp.cumsum(options, axis=1, dtype=jnp.int32) - 1
    return jnp.argmax(options & (rank == wanted[:, None]), axis=1).astype(jnp.int32)


def _reward(board: Board, config: GuidedConfig | MctsConfig, end: env.State) -> Array:
    """The reward of final positions, float32[B] from 0 to 1."""
    if config.reward == "solved":
        return end.solved.astype(jnp.float32)
    return (env.grids(end, board) > 0).mean(axis=1, dtype=jnp.float32)


@functools.lru_cache(maxsize=32)
def _keys(board: Board) -> np.ndarray:
    """Random words for Zobrist hashing, one for each value of each byte of a packed position: uint32[4 words, 256]."""
    return np.random.default_rng(0x5EED).integers(0, 2**32, (4 * board.words, 256), np.uint32)


def hash_nodes(board: Board, nodes: Array) -> Array:
    """A Zobrist hash of packed candidates uint32[K, words], with tables for bytes instead of bits: uint32[K]."""
    parts = (nodes[:, :, None] >> np.arange(0, 32, 8, dtype=np.uint32)) & 0xFF
    drawn = jnp.asarray(_keys(board))[np.arange(4 * board.words), parts.reshape(len(nodes), -1)]
    return lax.reduce(drawn, np.uint32(0), lax.bitwise_xor, (1,))
