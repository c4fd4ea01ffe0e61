"""The curriculum: of the puzzles that are offered, the network plays those that it is least sure of.

A network that filled all open cells at once would be right with the product of its highest probabilities, as it sees
them. Where this is near 0 or 1 there is little to learn: the puzzle is out of reach, or known. So puzzles are drawn in
proportion to p (1 - p), and get harder as the network gets better.
"""

from __future__ import annotations

import jax
import jax.numpy as jnp
from jax import Array

from jaxsudoku import env
from jaxsudoku.core.board import Board
from jaxsudoku.networks import Forward, Network, Params
from jaxsudoku.solvers.looks import Looker, apply_where
from jaxsudoku.solvers.tree.tree_config import GumbelConfig, McgsConfig

#: The lowest log-weight; puzzles that the rules decide have it too.
_LEAST = -60.0


def foreseen(
    board: Board, config: GumbelConfig | McgsConfig, forward: Forward, params: Params, puzzles: Array
) -> Array:
    """The logarithm of the probability that the network gives to its own surest solution, float32[N].

    Args:
      board: the board.
      config: the resolved settings of the search, whose rules come first.
      forward: the network.
      params: its parameters.
      puzzles: uint8[N, cells]; those that the rules solve or refute have 0.
    """
    state = env.init(puzzles, board, config.rules)
    candidates = env.observe(state, board)
    looker = Looker(Network("self-play", forward, params), config.chunk)
    outputs, _ = apply_where(looker, params, candidates, ~state.terminated)
    surest = jax.nn.log_softmax(outputs.policy, axis=1).max(axis=1)
    surest = jnp.where(candidates.sum(axis=1) > 1, surest, 0.0).sum(axis=1)
    return jnp.where(state.terminated, 0.0, jnp.minimum(surest, 0.0))


def least_sure(log_probability: Array, size: int, key: Array) -> Array:
    """Draws puzzles without repetition in proportion to p (1 - p): int32[size].

    Args:
      log_probability: float32[N], log p, N at least ``size``.
      size: number of puzzles.
      key: a JAX key.
    """
    weight = log_probability + jnp.log(-jnp.expm1(log_probability))
    noise = jax.random.gumbel(key, log_probability.shape)
    return jax.lax.top_k(jnp.maximum(weight, _LEAST) + noise, size)[1]


def fill_by_loss(puzzles: Array, truth: Array, losses: Array, key: Array) -> Array:
    """Fills random cells of puzzles, so that their numbers of open cells are drawn in proportion to a loss.

    As DeepSudoku does, by the policy's loss; a puzzle has at most the open cells that it had, and at least one of them.

    Args:
      puzzles: uint8[N, cells], 0 = empty, none of them full.
      truth: uint8[N, cells], their solutions.
      losses: float32[cells + 1], by number of open cells.
      key: a JAX key.
    """
    number_key, order_key = jax.random.split(key)
    is_open, number = puzzles == 0, jnp.arange(len(losses))
    possible = (number > 0) & (number <= is_open.sum(axis=1, keepdims=True))
    wanted = jax.random.categorical(number_key, jnp.where(possible, jnp.log(losses), -jnp.inf))
    order = jnp.where(is_open, jax.random.uniform(order_key, puzzles.shape), 2.0)
    rank = jnp.argsort(jnp.argsort(order, axis=1), axis=1)
    return jnp.where(rank < wanted[:, None], 0, truth).astype(jnp.uint8)
