"""Curriculum: from the offered puzzles, the network plays those about which it is most uncertain.

If a network filled all open cells at once, its predicted probability of success, p, would be the product of its highest
probabilities. If p is near 0 or 1 there is little to learn: the puzzle is too hard, or known. So puzzles are drawn in
proportion to p (1 - p), and get harder as the network improves.
"""

from __future__ import annotations

import jax
import jax.numpy as jnp
from jax import Array

from jaxsudoku import env
from jaxsudoku.core.board import Board
from jaxsudoku.networks import Forward, Network, Params
from jaxsudoku.solvers.network_calls import NetworkCaller, apply_where
from jaxsudoku.solvers.tree.tree_config import GumbelConfig, McgsConfig

#: The lowest log-weight, also of puzzles that the rules decide.
_LEAST = -60.0


def foreseen(
    board: Board, config: GumbelConfig | McgsConfig, forward: Forward, params: Params, puzzles: Array
) -> Array:
    """The log-probability that the network assigns to its most probable digits in all open cells, float32[N].

    Args:
      board: the board.
      config: the resolved settings of the search; its rules are applied first.
      forward: the network.
      params: its parameters.
      puzzles: uint8[N, cells]; puzzles that the rules solve or refute get 0.
    """
    state = env.init(puzzles, board, config.rules)
    candidates = env.observe(state, board)
    caller = NetworkCaller(Network("self-play", forward, params), config.chunk)
    outputs, _ = apply_where(caller, params, candidates, ~state.terminated)
    surest = jax.nn.log_softmax(outputs.policy, axis=1).max(axis=1)
    surest = jnp.where(candidates.sum(axis=1) > 1, surest, 0.0).sum(axis=1)
    return jnp.where(state.terminated, 0.0, jnp.minimum(surest, 0.0))


def least_sure(log_probability: Array, size: int, key: Array) -> Array:
    """Draws puzzles without replacement in proportion to p (1 - p): int32[size].

    Args:
      log_probability: float32[N], log p, N at least ``size``.
      size: number of puzzles.
      key: a JAX key.
    """
    weight = log_probability + jnp.log(-jnp.expm1(log_probability))
    noise = jax.random.gumbel(key, log_probability.shape)
    return jax.lax.top_k(jnp.maximum(weight, _LEAST) + noise, size)[1]


def fill_by_loss(puzzles: Array, truth: Array, losses: Array, key: Array) -> Array:
    """Fills random cells of puzzles so that numbers of open cells are distributed in proportion to a loss.

    As in DeepSudoku, by the policy's loss; a puzzle keeps at least one of its open cells.

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
