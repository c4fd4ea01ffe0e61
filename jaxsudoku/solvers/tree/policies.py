"""Move selection of tree searches: Gumbel MuZero, PUCT and UCT, as functions with mctx's interface."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import mctx
from jax import Array

from jaxsudoku.core.board import Board
from jaxsudoku.networks.base import ABSENT, LARGEST, masked_logits
from jaxsudoku.trees import (
    GumbelExtraData,
    Select,
    gumbel_action,
    gumbel_root_action_selection,
    most_visited,
    open_moves,
)

from .evaluators import gumbel_noise
from .tree_config import AlphaSudokuConfig, GuidedConfig, GumbelConfig, MctsConfig

#: (tree of one lane, node) -> the scores of its moves.
Score = Callable[[mctx.Tree, Array], Array]


class Policy(NamedTuple):
    """Functions that select moves.

    Attributes:
      at_root: selects the move of a simulation at the root.
      inside: selects the move at any other node.
      prepare: (logits of roots float32[K, side], seeds uint32[K]) -> their logits in the tree, and its ``extra_data``.
      decide: trees -> the move of each root, int32[K]; one that is not refuted, if any.
    """

    at_root: Select
    inside: Select
    prepare: Callable[[Array, Array], tuple[Array, Any]]
    decide: Callable[[mctx.Tree], Array]


def gumbel(board: Board, config: GumbelConfig) -> Policy:
    """Gumbel MuZero (Danihelka et al. 2022): sequential halving at the root, improved policies below it.

    Like ``mctx.gumbel_muzero_policy``, but moves may be refuted during the search, and each lane has its own noise.
    """
    halve = functools.partial(
        gumbel_root_action_selection,
        num_simulations=config.simulations,
        max_num_considered_actions=min(config.considered, board.side),
    )

    def at_root(key: Array, tree: mctx.Tree, node: Array, depth: Array | int) -> Array:
        del depth
        return halve(key, tree, node)

    def prepare(logits: Array, seed: Array) -> tuple[Array, Any]:
        return logits, GumbelExtraData(_noise(board, config, seed))

    return Policy(at_root, mctx.gumbel_muzero_interior_action_selection, prepare, gumbel_action)


def alphasudoku(board: Board, config: AlphaSudokuConfig) -> Policy:
    """PUCT with the network's priors, by the formula of AlphaZero or of the AlphaSudoku study."""

    def prepare(logits: Array, seed: Array) -> tuple[Array, Any]:
        return masked_logits(logits + _noise(board, config, seed), logits > ABSENT / 2), None

    return _by_score(config, puct(config), prepare)


def puct(config: AlphaSudokuConfig) -> Score:
    """The score of moves by the formula of the settings."""

    def score(tree: mctx.Tree, node: Array) -> Array:
        visits, logits = tree.children_visits[node], tree.children_prior_logits[node]
        if config.formula == "study":  # those of legal digits may sum to less than 1
            prior = jnp.exp(logits - jnp.maximum(jax.nn.logsumexp(logits), 0))
            unvisited = jnp.finfo(jnp.float32).max
        else:
            prior = jax.nn.softmax(logits) * jnp.sqrt(tree.node_visits[node].astype(jnp.float32))
            unvisited = tree.raw_values[node]
        q = jnp.where(visits > 0, tree.qvalues(node), unvisited)
        return q + config.exploration * prior / (1 + visits)

    return score


def mcts(board: Board, config: MctsConfig) -> Policy:
    """UCT (Kocsis and Szepesvari 2006)."""
    del board
    return _by_score(config, uct(config), lambda logits, seed: (logits, None))


def uct(config: MctsConfig) -> Score:
    """The score of moves by UCT: every move once, then the highest upper confidence bound."""

    def score(tree: mctx.Tree, node: Array) -> Array:
        visits = tree.children_visits[node].astype(jnp.float32)
        total = jnp.log(jnp.maximum(tree.node_visits[node].astype(jnp.float32), 1))
        bound = tree.qvalues(node) + config.exploration * jnp.sqrt(total / jnp.maximum(visits, 1))
        return jnp.where(visits > 0, bound, jnp.finfo(jnp.float32).max)

    return score


def _by_score(
    config: AlphaSudokuConfig | MctsConfig, score: Score, prepare: Callable[[Array, Array], tuple[Array, Any]]
) -> Policy:
    """A policy that follows the move with the highest score, and returns the move chosen by ``config.move``."""

    def follow(key: Array, tree: mctx.Tree, node: Array, depth: Array | int) -> Array:
        del key, depth
        there = tree.children_prior_logits[node] > ABSENT / 2
        return jnp.argmax(jnp.where(there, score(tree, node), -jnp.inf))

    def decide(tree: mctx.Tree) -> Array:
        q = tree.qvalues(jnp.full(len(tree.node_visits), mctx.Tree.ROOT_INDEX))
        return most_visited(tree, q) if config.move == "visits" else _most_valued(tree, q)

    return Policy(follow, follow, prepare, decide)


def _noise(board: Board, config: GuidedConfig, seed: Array) -> Array:
    """Noise for the logits of the roots: float32[B, side]."""
    if not config.temperature:
        return jnp.zeros((len(seed), board.side), jnp.float32)
    return jnp.clip(config.temperature * gumbel_noise(board, seed), -LARGEST, LARGEST)


def _most_valued(tree: mctx.Tree, q: Array) -> Array:
    """The root's move with the highest value among those that are not refuted and, if any was, visited: int32[B]."""
    there, visits = open_moves(tree), tree.children_visits[:, mctx.Tree.ROOT_INDEX]
    q = jnp.where(visits > 0, q, jnp.finfo(jnp.float32).min)
    return jnp.argmax(jnp.where(there, q, -jnp.inf), axis=1).astype(jnp.int32)
