"""What a position is worth, and which digit to try first: by a network, or by playing on.

An evaluator is a pure function of parameters, positions and a seed for each; searches know nothing else of networks.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jax import Array, lax

from jaxsudoku import env
from jaxsudoku.board import Board
from jaxsudoku.networks import Network
from jaxsudoku.networks.base import ABSENT, Outputs, finite_outputs, masked_logits
from jaxsudoku.random import key_of, mix

from .config import GuidedConfig, MctsConfig


class Evaluation(NamedTuple):
    """What is known of B positions.

    Attributes:
      state: the positions, with the cell named that moves are about.
      logits: float32[B, side], of the digits for that cell, ``ABSENT`` for those that are not legal.
      value: float32[B], from ``lowest`` to 1.
      answer: uint32[B, words], where playing on led to; None if nothing was played.
      found: bool[B], whether that is a solution, or the position itself is one.
      looked: int32[B], grids that were looked at.
      calls: int32[B], positions that a network was asked about; none for those that are over.
    """

    state: env.State
    logits: Array
    value: Array
    answer: Array | None
    found: Array
    looked: Array
    calls: Array


#: (parameters, positions, seeds uint32[B]) to their ``Evaluation``.
Evaluate = Callable[[Any, env.State, Array], Evaluation]


def by_network(board: Board, config: GuidedConfig, network: Network) -> Evaluate:
    """Evaluates by a network, whose parameters it takes, and by playing on with it if ``config`` says so."""
    heeded = config.prior == "network" or config.value in ("network", "both") or config.cell != "fewest"

    def look(params: Any, state: env.State) -> tuple[env.State, Array, Array]:
        """The positions with their cells named, the logits of its digits, and the value from 0 to 1."""
        size = len(state.cell)
        logits, value = jnp.zeros((size, board.side), jnp.float32), jnp.full(size, 0.5, jnp.float32)
        choices = env.legal_placement_mask(state, board)
        if heeded:
            outputs = asked(network, params, env.observe(state, board), ~state.terminated, config.chunk)
            if config.cell != "fewest":
                state = state._replace(cell=named(config.cell, choices, outputs.policy))
            if config.prior == "network":
                logits = jnp.take_along_axis(outputs.policy, state.cell[:, None, None], axis=2)[:, :, 0]
            if config.value in ("network", "both"):
                value = jax.nn.sigmoid(outputs.value)
        legal = jnp.take_along_axis(choices, state.cell[:, None, None], axis=2)[:, :, 0]
        return state, masked_logits(logits, legal), value

    def draw(logits: Array, seed: Array) -> Array:
        return jnp.argmax(logits + gumbel_noise(board, mix(seed ^ _PLAYING)), axis=1).astype(jnp.int32)

    def choose(params: Any, position: env.State, seed: Array) -> tuple[env.State, Array]:
        position, logits, _ = look(params, position)
        return position, draw(logits, seed)

    def evaluate(params: Any, state: env.State, seed: Array) -> Evaluation:
        state, logits, value = look(params, state)
        over = state.terminated
        calls = jnp.where(over, 0, jnp.int32(heeded))
        if config.value in ("network", "none"):
            one = jnp.ones(seed.shape, jnp.int32)
            return Evaluation(state, logits, _scaled(config, value), None, state.solved, one, calls)
        first = env.step(state, draw(logits, seed), board, config.rules)
        end, looked = play(board, config.rules, first, mix(seed), functools.partial(choose, params))
        reward = _reward(board, config, end)
        value = reward if config.value == "rollout" else (reward + value) / 2
        calls += jnp.where(over, 0, (looked - 1) * jnp.int32(heeded))  # nobody was asked about a game's last grid
        looked = jnp.where(over, 1, looked + 1)
        return Evaluation(state, logits, _scaled(config, value), end.nodes, end.solved, looked, calls)

    return evaluate


def asked(network: Network, params: Any, cubes: Array, wanted: Array, chunk: int | None) -> Outputs:
    """The outputs of a network for the positions that are wanted; those of the others are undefined.

    Args:
      network: the network.
      params: its parameters.
      cubes: bool[B, side, cells], the positions' candidates.
      wanted: bool[B].
      chunk: how many it looks at together; None for all B, wanted or not.

    Returns:
      ``Outputs`` for B positions, as ``finite_outputs`` gives them; zeros where they are not wanted if ``chunk`` is
      less than B.
    """
    size = len(wanted)

    def call(cubes: Array) -> Outputs:
        return finite_outputs(network.apply(params, cubes), cubes)

    if chunk is None or chunk >= size:
        return call(cubes)
    (order,) = jnp.nonzero(wanted, size=size + -size % chunk, fill_value=size)
    order = order.astype(jnp.int32)

    def look(number: Array, outputs: Outputs) -> Outputs:
        rows = lax.dynamic_slice_in_dim(order, number * chunk, chunk)
        seen = call(cubes.at[rows].get(mode="fill", fill_value=False))
        return jax.tree.map(lambda old, new: old.at[rows].set(new, mode="drop"), outputs, seen)

    shapes = jax.eval_shape(call, cubes)
    nothing = jax.tree.map(lambda leaf: jnp.zeros(leaf.shape, leaf.dtype), shapes)
    return lax.fori_loop(jnp.int32(0), -(-wanted.sum(dtype=jnp.int32) // chunk), look, nothing)


#: Sets the noise of playing on apart from that of the root's moves.
_PLAYING = np.uint32(0x51ED270B)


def gumbel_noise(board: Board, seed: Array) -> Array:
    """Gumbel noise for the digits of a cell, by the seeds uint32[B]: float32[B, side]."""
    return jax.vmap(lambda seed: jax.random.gumbel(key_of(seed), (board.side,), jnp.float32))(seed)


def lowest(config: GuidedConfig | MctsConfig) -> float:
    """What a position without a solution is worth; one that is solved is worth 1."""
    return -1.0 if config.reward == "signed" else 0.0


def _scaled(config: GuidedConfig | MctsConfig, worth: Array) -> Array:
    """A worth from 0 to 1 on the scale of the settings."""
    return lowest(config) + (1 - lowest(config)) * worth


def named(rule: str, choices: Array, policy: Array) -> Array:
    """The cell that a network names.

    Args:
      rule: "surest", the cell whose digit it is surest of; or of the cells with fewest choices that one ("likely"),
        the one whose digit it is least sure of ("doubtful"), or the first ("fewest").
      choices: bool[B, side, cells], the choices of open cells; of filled cells none.
      policy: float32[B, side, cells], its logits.

    Returns:
      int32[B]; nothing sensible where there is no choice.
    """
    count = choices.sum(axis=1, dtype=jnp.int32)
    count = jnp.where(count > 0, count, choices.shape[1] + 1)
    eligible = count <= choices.shape[1] if rule == "surest" else count == count.min(axis=1, keepdims=True)
    sure = jnp.where(choices, jax.nn.softmax(policy, axis=1, where=choices), 0.0).max(axis=1)
    score = {"fewest": jnp.zeros_like(sure), "doubtful": 1 - sure}.get(rule, sure)
    return jnp.where(eligible, score, -1.0).argmax(axis=1).astype(jnp.int32)


def by_rollouts(board: Board, config: MctsConfig) -> Evaluate:
    """Evaluates by filling cells with fewest choices at random, until the puzzle is solved or a cell has none left."""

    def choose(position: env.State, seed: Array) -> tuple[env.State, Array]:
        return position, random_choice(env.legal_action_mask(position, board), seed)

    def evaluate(params: Any, state: env.State, seed: Array) -> Evaluation:
        del params
        end, looked = play(board, config.rules, state, seed, choose)
        logits = jnp.where(env.legal_action_mask(state, board), jnp.float32(0), ABSENT)
        value = _scaled(config, _reward(board, config, end))
        return Evaluation(state, logits, value, end.nodes, end.solved, looked, jnp.zeros_like(looked))

    return evaluate


def play(
    board: Board,
    rules: str,
    state: env.State,
    seed: Array,
    choose: Callable[[env.State, Array], tuple[env.State, Array]],
) -> tuple[env.State, Array]:
    """Plays on until every position is terminated.

    Args:
      board: the board.
      rules: what is deduced after every move.
      state: the positions.
      seed: uint32[B].
      choose: (positions, seeds) to the positions with their cells named, and the digits to take there int32[B].

    Returns:
      where it ends, and how many grids were looked at, int32[B], the first one included.
    """

    def playing(now: tuple[env.State, Array, Array]) -> Array:
        return ~now[0].terminated.all()

    def move(now: tuple[env.State, Array, Array]) -> tuple[env.State, Array, Array]:
        position, seed, looked = now
        looked += (~position.terminated).astype(jnp.int32)
        named, action = choose(position, seed)
        return env.step(named, action, board, rules), mix(seed + 1), looked

    end, _, looked = lax.while_loop(playing, move, (state, seed, jnp.ones(seed.shape, jnp.int32)))
    return end, looked


def random_choice(options: Array, seed: Array) -> Array:
    """The number of one of the options bool[B, m], each as likely, by the seeds uint32[B]: int32[B]."""
    count = options.sum(axis=1, dtype=jnp.uint32)
    wanted = (mix(seed) % jnp.maximum(count, 1)).astype(jnp.int32)
    rank = jnp.cumsum(options, axis=1, dtype=jnp.int32) - 1
    return jnp.argmax(options & (rank == wanted[:, None]), axis=1).astype(jnp.int32)


def _reward(board: Board, config: GuidedConfig | MctsConfig, end: env.State) -> Array:
    """What an end is worth, float32[B] from 0 to 1: whether it is a solution, or the share of filled cells."""
    if config.reward == "solved":
        return end.solved.astype(jnp.float32)
    return (env.grids(end, board) > 0).mean(axis=1, dtype=jnp.float32)
