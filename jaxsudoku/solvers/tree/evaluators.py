"""Evaluators: value and prior of positions, by a network or by rollouts.

An evaluator is a pure function of parameters, positions and a seed for each. It is all that a search knows of networks.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jax import Array, lax

from jaxsudoku.core import env
from jaxsudoku.core.board import Board
from jaxsudoku.networks import Network
from jaxsudoku.networks.base import ABSENT, LARGEST, Outputs, finite_outputs, masked_logits
from jaxsudoku.runtime.random import key_of, mix

from ..votes import draw, under_symmetry
from .tree_config import GuidedConfig, MctsConfig


class Evaluation(NamedTuple):
    """The evaluation of B positions.

    Attributes:
      state: the positions, with the cell that moves fill.
      logits: float32[B, side], of the digits in that cell, ``ABSENT`` for illegal ones.
      value: float32[B], from ``lowest`` to 1.
      answer: uint32[B, words], the end of a rollout; None without rollouts.
      found: bool[B], whether the answer, or without rollouts the position, is a solution.
      iterations: int32[B], grids evaluated.
      calls: int32[B], positions evaluated by the network; 0 for terminal ones.
    """

    state: env.State
    logits: Array
    value: Array
    answer: Array | None
    found: Array
    iterations: Array
    calls: Array


#: The probability from which the rule "either" takes the surest cell.
_CERTAIN = 0.99

#: (parameters, positions, seeds uint32[B]) to their ``Evaluation``.
Evaluate = Callable[[Any, env.State, Array], Evaluation]


def by_network(board: Board, config: GuidedConfig, network: Network) -> Evaluate:
    """Evaluates by a network, and by rollouts with its policy if ``config.value`` asks for them."""
    uses_network = config.prior == "network" or config.value in ("network", "both") or config.cell != "fewest"

    def infer(params: Any, state: env.State, seed: Array) -> tuple[env.State, Array, Array]:
        """The positions with their cells chosen, the logits of the digits there, and values from 0 to 1."""
        size = len(state.cell)
        logits, value = jnp.zeros((size, board.side), jnp.float32), jnp.full(size, 0.5, jnp.float32)
        choices = env.legal_placement_mask(state, board)
        if uses_network:
            cubes, wanted = env.observe(state, board), ~state.terminated
            outputs = apply_where(network, params, cubes, wanted, config.chunk, config.votes, seed)
            if config.cell != "fewest":
                state = state._replace(cell=choose_cell(config.cell, choices, outputs.policy))
            if config.prior == "network":
                logits = jnp.take_along_axis(outputs.policy, state.cell[:, None, None], axis=2)[:, :, 0]
            if config.value in ("network", "both"):
                value = jax.nn.sigmoid(outputs.value)
        legal = jnp.take_along_axis(choices, state.cell[:, None, None], axis=2)[:, :, 0]
        return state, masked_logits(logits, legal), value

    def draw(logits: Array, seed: Array) -> Array:
        return jnp.argmax(logits + gumbel_noise(board, mix(seed ^ _ROLLOUT)), axis=1).astype(jnp.int32)

    def choose(params: Any, position: env.State, seed: Array) -> tuple[env.State, Array]:
        position, logits, _ = infer(params, position, seed)
        return position, draw(logits, seed)

    def evaluate(params: Any, state: env.State, seed: Array) -> Evaluation:
        state, logits, value = infer(params, state, seed)
        over = state.terminated
        looks = jnp.int32(config.votes * uses_network)
        calls = jnp.where(over, 0, looks)
        if config.value in ("network", "none"):
            one = jnp.ones(seed.shape, jnp.int32)
            return Evaluation(state, logits, _scaled(config, value), None, state.solved, one, calls)
        first = env.step(state, draw(logits, seed), board, config.rules)
        end, iterations = rollout(board, config.rules, first, mix(seed), functools.partial(choose, params))
        reward = _reward(board, config, end)
        value = reward if config.value == "rollout" else (reward + value) / 2
        calls += jnp.where(over, 0, (iterations - 1) * looks)  # no call for the last grid
        iterations = jnp.where(over, 1, iterations + 1)
        return Evaluation(state, logits, _scaled(config, value), end.nodes, end.solved, iterations, calls)

    return evaluate


def apply_where(
    network: Network,
    params: Any,
    cubes: Array,
    wanted: Array,
    chunk: int | None,
    votes: int = 1,
    seeds: Array | None = None,
) -> Outputs:
    """The outputs of a network for the wanted positions; undefined for the others.

    Args:
      network: the network.
      params: its parameters.
      cubes: bool[B, side, cells], the positions' candidates.
      wanted: bool[B].
      chunk: positions evaluated together; None evaluates all B, wanted or not.
      votes: random symmetries under which the network sees each position; 1 shows it as it is.
      seeds: uint32[B], which decide the symmetries; not needed for one vote.

    Returns:
      ``Outputs`` for B positions after ``finite_outputs``, of votes the logarithm of the mean probabilities; undefined
      for positions not wanted.
    """
    size = len(wanted)
    seeds = jnp.zeros(size, jnp.uint32) if seeds is None else seeds

    def call(cubes: Array, seeds: Array) -> Outputs:
        if votes == 1:
            return finite_outputs(network.apply(params, cubes), cubes)
        return _voted(network, params, cubes, jax.vmap(key_of)(mix(seeds ^ _VOTE)), votes)

    if chunk is None or chunk >= size:
        return call(cubes, seeds)
    (order,) = jnp.nonzero(wanted, size=size + -size % chunk, fill_value=size)
    order = order.astype(jnp.int32)

    def evaluate_chunk(number: Array, outputs: Outputs) -> Outputs:
        rows = lax.dynamic_slice_in_dim(order, number * chunk, chunk)
        seen = call(cubes.at[rows].get(mode="fill", fill_value=False), seeds.at[rows].get(mode="fill", fill_value=0))
        return jax.tree.map(lambda old, new: old.at[rows].set(new, mode="drop"), outputs, seen)

    shapes = jax.eval_shape(call, cubes, seeds)
    nothing = jax.tree.map(lambda leaf: jnp.zeros(leaf.shape, leaf.dtype), shapes)
    return lax.fori_loop(jnp.int32(0), -(-wanted.sum(dtype=jnp.int32) // chunk), evaluate_chunk, nothing)


def _voted(network: Network, params: Any, cubes: Array, keys: Array, votes: int) -> Outputs:
    """The means of the network's probabilities under random symmetries, as logits."""
    board = network.board

    def look(seen: Array) -> tuple[Array, Array]:
        outputs = finite_outputs(network.apply(params, seen), seen)
        return jax.nn.softmax(outputs.policy, axis=1, where=seen), jax.nn.sigmoid(outputs.value)

    def vote(total: tuple[Array, Array], number: Array) -> tuple[tuple[Array, Array], None]:
        found = under_symmetry(draw(board, keys, number), board, cubes, look)
        return jax.tree.map(jnp.add, total, found), None

    nothing = jnp.zeros(cubes.shape, jnp.float32), jnp.zeros(len(cubes), jnp.float32)
    (policy, value), _ = lax.scan(vote, nothing, jnp.arange(votes), length=votes)
    policy, value = policy / np.float32(votes), value / np.float32(votes)
    odds = jnp.log(value) - jnp.log1p(-value)
    return Outputs(masked_logits(jnp.log(policy), cubes), jnp.clip(odds, -LARGEST, LARGEST))


#: Separate the noise of rollouts, and the symmetries of votes, from the noise of the root.
_ROLLOUT, _VOTE = np.uint32(0x51ED270B), np.uint32(0x2545F491)


def gumbel_noise(board: Board, seed: Array) -> Array:
    """Gumbel noise for the digits of a cell: seeds uint32[B] to float32[B, side]."""
    return jax.vmap(lambda seed: jax.random.gumbel(key_of(seed), (board.side,), jnp.float32))(seed)


def lowest(config: GuidedConfig | MctsConfig) -> float:
    """The value of a position without a solution; a solved one has 1."""
    return -1.0 if config.reward == "signed" else 0.0


def _scaled(config: GuidedConfig | MctsConfig, value: Array) -> Array:
    """A value from 0 to 1 on the scale of the settings."""
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


def by_rollouts(board: Board, config: MctsConfig) -> Evaluate:
    """Evaluates by random rollouts, which fill a cell with fewest candidates at every move."""

    def choose(position: env.State, seed: Array) -> tuple[env.State, Array]:
        return position, random_choice(env.legal_action_mask(position, board), seed)

    def evaluate(params: Any, state: env.State, seed: Array) -> Evaluation:
        del params
        end, iterations = rollout(board, config.rules, state, seed, choose)
        logits = jnp.where(env.legal_action_mask(state, board), jnp.float32(0), ABSENT)
        value = _scaled(config, _reward(board, config, end))
        return Evaluation(state, logits, value, end.nodes, end.solved, iterations, jnp.zeros_like(iterations))

    return evaluate


def rollout(
    board: Board,
    rules: str,
    state: env.State,
    seed: Array,
    choose: Callable[[env.State, Array], tuple[env.State, Array]],
) -> tuple[env.State, Array]:
    """Plays until every position is terminated.

    Args:
      board: the board.
      rules: rules applied after every move.
      state: the positions.
      seed: uint32[B].
      choose: (positions, seeds) to the positions with their cells chosen, and the digits to place there, int32[B].

    Returns:
      the final positions, and the number of grids on the way, int32[B], including the first.
    """

    def playing(now: tuple[env.State, Array, Array]) -> Array:
        return ~now[0].terminated.all()

    def move(now: tuple[env.State, Array, Array]) -> tuple[env.State, Array, Array]:
        position, seed, iterations = now
        iterations += (~position.terminated).astype(jnp.int32)
        position, action = choose(position, seed)
        return env.step(position, action, board, rules), mix(seed + 1), iterations

    end, _, iterations = lax.while_loop(playing, move, (state, seed, jnp.ones(seed.shape, jnp.int32)))
    return end, iterations


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
