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
from jaxsudoku.runtime.operations import select
from jaxsudoku.runtime.random import key_of, mix

from ..votes import draw, under_symmetry
from .tree_config import LOOKS, AlphaSudokuConfig, GuidedConfig, MctsConfig, keeps_looks


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
      looks: uint32[B, LOOKS], hashes of these positions, then 0; None if they are not kept.
    """

    state: env.State
    logits: Array
    value: Array
    answer: Array | None
    found: Array
    iterations: Array
    calls: Array
    looks: Array | None = None


class Rollout(NamedTuple):
    """Rollouts from B positions.

    Attributes:
      end: the final positions.
      iterations: int32[B], the grids on the way, including the first.
      calls: int32[B], the positions on the way that the network evaluated.
      looks: as of ``Evaluation``.
    """

    end: env.State
    iterations: Array
    calls: Array
    looks: Array | None


class _Look(NamedTuple):
    """What a network says of B positions.

    Attributes:
      state: the positions with their cells chosen.
      choices: bool[B, side, cells], the legal digits of open cells.
      policy: float32[B, side, cells], logits.
      value: float32[B], from 0 to 1.
      asked: bool[B], whether the network was asked; elsewhere the logits are 0 and the value is one half.
    """

    state: env.State
    choices: Array
    policy: Array
    value: Array
    asked: Array

    def logits(self) -> Array:
        """The logits of the digits in the cells, of legal ones: float32[B, side]."""
        cell = self.state.cell[:, None, None]
        logits = jnp.take_along_axis(self.policy, cell, axis=2)[:, :, 0]
        return masked_logits(logits, jnp.take_along_axis(self.choices, cell, axis=2)[:, :, 0])

    def log_probabilities(self) -> Array:
        """As ``logits``, normalised over all digits that the network considers, legal or not; 0 where not asked."""
        look = self._replace(policy=jax.nn.log_softmax(self.policy, axis=1))
        return jnp.where(self.asked[:, None], look.logits(), look._replace(policy=0 * self.policy).logits())


#: The probability from which the rule "either" takes the surest cell.
_CERTAIN = 0.99

#: (parameters, positions, seeds uint32[B]) to their ``Evaluation``.
Evaluate = Callable[[Any, env.State, Array], Evaluation]


def by_network(board: Board, config: GuidedConfig, network: Network) -> Evaluate:
    """Evaluates by a network, and by rollouts with its policy if ``config.value`` asks for them."""
    uses_network = config.prior == "network" or config.value in ("network", "both") or config.cell != "fewest"
    plays, surest = config.plays, config.rollout == "surest"
    votes = jnp.int32(config.votes * uses_network)
    as_study = isinstance(config, AlphaSudokuConfig) and config.formula == "study"

    def look(params: Any, state: env.State, seed: Array, spare: Array | bool) -> _Look:
        """Looks at positions but those that are terminated or to be spared."""
        size = len(state.cell)
        choices = env.legal_placement_mask(state, board)
        policy, value = jnp.zeros((size, board.side, board.cells), jnp.float32), jnp.full(size, 0.5, jnp.float32)
        asked = ~state.terminated & uses_network & ~jnp.asarray(spare)
        if uses_network:
            cubes = env.observe(state, board)
            outputs = apply_where(network, params, cubes, asked, config.chunk, config.votes, seed)
            if plays and surest:  # elsewhere, outputs of positions that are not asked are not read
                outputs = select(asked, outputs, Outputs(masked_logits(policy, cubes), 0 * value))
            if config.prior == "network" or config.cell != "fewest":
                policy = outputs.policy
            if config.cell != "fewest":
                state = state._replace(cell=choose_cell(config.cell, choices, policy))
            if config.prior != "network":
                policy = 0 * policy
            if config.value in ("network", "both"):
                value = jax.nn.sigmoid(outputs.value)
        return _Look(state, choices, policy, value, asked)

    def drawn(seen: _Look, seed: Array) -> Array:
        noise = gumbel_noise(board, mix(seed ^ _ROLLOUT))
        return jnp.argmax(seen.logits() + noise, axis=1).astype(jnp.int32) * board.cells + seen.state.cell

    def sure(seen: _Look, seed: Array) -> Array:
        return surest_placement(seen.choices, seen.policy, mix(seed ^ _ROLLOUT))

    place = sure if surest else drawn

    def choose(params: Any, position: env.State, seed: Array) -> tuple[Array, Array]:
        spare = has_single(env.legal_placement_mask(position, board)) if surest else False
        seen = look(params, position, seed, spare)
        return place(seen, seed), seen.asked

    def evaluate(params: Any, state: env.State, seed: Array) -> Evaluation:
        spare = surest and config.value == "rollout" and has_single(env.legal_placement_mask(state, board))
        seen = look(params, state, seed, spare)
        state, value, calls = seen.state, seen.value, jnp.where(seen.asked, votes, 0)
        logits = seen.log_probabilities() if as_study else seen.logits()
        if not plays:
            one = jnp.ones(seed.shape, jnp.int32)
            return Evaluation(state, logits, _scaled(config, value), None, state.solved, one, calls)
        first = env.place(state, place(seen, seed), board, config.rules)
        looks = _no_looks(board, state, seen.asked) if keeps_looks(config) else None
        played = rollout(board, config.rules, first, mix(seed), functools.partial(choose, params), looks)
        reward = _reward(board, config, played.end)
        value = reward if config.value == "rollout" else (reward + value) / 2
        calls += jnp.where(state.terminated, 0, played.calls * votes)
        iterations = jnp.where(state.terminated, 1, played.iterations + 1)
        end = played.end
        return Evaluation(state, logits, _scaled(config, value), end.nodes, end.solved, iterations, calls, played.looks)

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


def terminal_value(board: Board, config: GuidedConfig | MctsConfig, state: env.State) -> Array:
    """The reward of positions that can't be continued, on the scale of the settings: float32[B]."""
    return _scaled(config, _reward(board, config, state))


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

    def choose(position: env.State, seed: Array) -> tuple[Array, Array]:
        if config.proofs:
            cell = position.cell
            digit = random_choice(env.legal_action_mask(position, board), seed)
            return digit * board.cells + cell, jnp.zeros_like(position.solved)
        return random_placement(env.legal_placement_mask(position, board), seed), jnp.zeros_like(position.solved)

    def evaluate(params: Any, state: env.State, seed: Array) -> Evaluation:
        del params
        played = rollout(board, config.rules, state, seed, choose)
        end = played.end
        logits = jnp.where(env.legal_action_mask(state, board), jnp.float32(0), ABSENT)
        value = _scaled(config, _reward(board, config, end))
        return Evaluation(state, logits, value, end.nodes, end.solved, played.iterations, played.calls)

    return evaluate


def rollout(
    board: Board,
    rules: str,
    state: env.State,
    seed: Array,
    choose: Callable[[env.State, Array], tuple[Array, Array]],
    looks: Array | None = None,
) -> Rollout:
    """Plays until every position is terminated.

    Args:
      board: the board.
      rules: rules applied after every move.
      state: the positions.
      seed: uint32[B].
      choose: (positions, seeds) to the placements there, int32[B], and whether the network evaluated them, bool[B].
      looks: hashes of positions seen before, as of ``Evaluation``, to which those on the way are added, as far as there
        is room; None if they are not kept.
    """

    def playing(now: tuple[env.State, Array, Rollout]) -> Array:
        return ~now[0].terminated.all()

    def move(now: tuple[env.State, Array, Rollout]) -> tuple[env.State, Array, Rollout]:
        position, seed, so_far = now
        placement, asked = choose(position, seed)
        asked &= ~position.terminated
        looks = so_far.looks
        if looks is not None:
            seen = jnp.where(asked, hash_nodes(board, position.nodes), 0)
            used = (looks != 0).sum(axis=1, dtype=jnp.int32)
            looks = looks.at[jnp.arange(len(used)), used].set(seen, mode="drop")
        after = env.place(position, placement, board, rules)
        iterations = so_far.iterations + (~position.terminated).astype(jnp.int32)
        calls = so_far.calls + asked.astype(jnp.int32)
        return after, mix(seed + 1), Rollout(after, iterations, calls, looks)

    one = jnp.ones(seed.shape, jnp.int32)
    end, _, played = lax.while_loop(playing, move, (state, seed, Rollout(state, one, 0 * one, looks)))
    return played._replace(end=end)


def _no_looks(board: Board, state: env.State, asked: Array) -> Array:
    """The hashes of the positions that were asked, with room for further ones."""
    first = jnp.where(asked, hash_nodes(board, state.nodes), 0)
    return jnp.zeros((len(first), LOOKS), jnp.uint32).at[:, 0].set(first)


def has_single(choices: Array) -> Array:
    """Whether positions have a cell with one legal digit: bool[B, side, cells] to bool[B]."""
    return (choices.sum(axis=1, dtype=jnp.int32) == 1).any(axis=1)


def random_placement(choices: Array, seed: Array) -> Array:
    """A random digit of a random cell with fewest choices bool[B, side, cells]: placements int32[B]."""
    count = choices.sum(axis=1, dtype=jnp.int32)
    count = jnp.where(count > 0, count, choices.shape[1] + 1)
    cell = random_choice(count == count.min(axis=1, keepdims=True), seed)
    there = jnp.take_along_axis(choices, cell[:, None, None], axis=2)[:, :, 0]
    return random_choice(there, mix(seed ^ _ROLLOUT)) * choices.shape[2] + cell


def surest_placement(choices: Array, policy: Array, seed: Array) -> Array:
    """The step of a rollout that takes the surest digit.

    Args:
      choices: bool[B, side, cells], the legal digits of open cells.
      policy: float32[B, side, cells], logits; digits that are not legal may be taken too.
      seed: uint32[B].

    Returns:
      placements int32[B]: of a random cell with one legal digit, or else the most probable one of all open cells.
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
    """Random words, one for each value of each byte of a packed position: uint32[4 words, 256]."""
    return np.random.default_rng(0x5EED).integers(0, 2**32, (4 * board.words, 256), np.uint32)


def hash_nodes(board: Board, nodes: Array) -> Array:
    """A Zobrist hash of packed candidates uint32[K, words], a table for each byte instead of each bit: uint32[K]."""
    parts = (nodes[:, :, None] >> np.arange(0, 32, 8, dtype=np.uint32)) & 0xFF
    drawn = jnp.asarray(_keys(board))[np.arange(4 * board.words), parts.reshape(len(nodes), -1)]
    return lax.reduce(drawn, np.uint32(0), lax.bitwise_xor, (1,))
