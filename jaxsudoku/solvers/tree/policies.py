"""Three ways to grow a tree of positions, as thin compositions over mctx.

All take positions that are evaluated, add nodes to a tree until the simulations are spent or nothing is left to be
searched (``trees.proving``), and tell the move that each root should make.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import mctx
from jax import Array

from jaxsudoku import env
from jaxsudoku.board import Board
from jaxsudoku.networks.base import ABSENT, LARGEST, masked_logits
from jaxsudoku.random import mix

from .config import AlphaSudokuConfig, GuidedConfig, GumbelConfig, MctsConfig
from .evaluators import Evaluate, Evaluation, gumbel_noise, lowest
from .proofs import Node, alive, proving


class Thought(NamedTuple):
    """What a search came to.

    Attributes:
      tree: mctx's tree, of ``trees.Node``.
      move: int32[B], the digit to take in the root's cell, counted from 0; one that is alive, where there is one.
    """

    tree: mctx.Tree
    move: Array


#: (parameters, evaluated roots, seeds uint32[B]) to a ``Thought``.
Think = Callable[[Any, Evaluation, Array], Thought]

#: (tree of one lane, node) to the scores of its moves.
Score = Callable[[mctx.Tree, Array], Array]


def gumbel(board: Board, config: GumbelConfig, evaluate: Evaluate) -> Think:
    """Gumbel MuZero (Danihelka et al. 2022): sequential halving at the root, improved policies below it.

    It is ``mctx.gumbel_muzero_policy``, but for moves that are refuted on the way, and for noise of each lane's own.
    """
    follow = mctx.gumbel_muzero_interior_action_selection
    halve = functools.partial(
        mctx.gumbel_muzero_root_action_selection,
        num_simulations=config.simulations,
        max_num_considered_actions=min(config.considered, board.side),
    )

    def at_root(key: Array, tree: mctx.Tree, node: Array) -> Array:
        # halving counts on equal visits; once a move is refuted and its visits are of no use, it is left for good
        refuted = (tree.children_prior_logits[node] <= ABSENT / 2) & (tree.root_invalid_actions == 0)
        return jnp.where(refuted.any(), follow(key, tree, node, jnp.int32(0)), halve(key, tree, node))

    def think(params: Any, root: Evaluation, seed: Array) -> Thought:
        noise = _noise(board, config, seed)
        extra = mctx.GumbelMuZeroExtraData(root_gumbel=noise)
        tree = _search(board, config, evaluate, params, root, seed, at_root, follow, extra)
        with jax.numpy_dtype_promotion("standard"):
            q = jax.vmap(mctx.qtransform_completed_by_mix_value, (0, None))(tree, mctx.Tree.ROOT_INDEX)
        return Thought(tree, _most_visited(tree, noise + root.logits + q))

    return think


def alphasudoku(board: Board, config: AlphaSudokuConfig, evaluate: Evaluate) -> Think:
    """PUCT on the network's priors: AlphaZero's, or as the AlphaSudoku study has it."""

    def score(tree: mctx.Tree, node: Array) -> Array:
        visits = tree.children_visits[node]
        prior = jax.nn.softmax(tree.children_prior_logits[node])
        unknown = jnp.float32(0)
        if config.formula == "alphazero":
            prior *= jnp.sqrt(tree.node_visits[node].astype(jnp.float32))
            unknown = tree.raw_values[node]
        q = jnp.where(visits > 0, tree.qvalues(node), unknown)
        return q + config.exploration * prior / (1 + visits)

    search = _by_score(board, config, evaluate, score)

    def think(params: Any, root: Evaluation, seed: Array) -> Thought:
        logits = masked_logits(root.logits + _noise(board, config, seed), root.logits > ABSENT / 2)
        return search(params, root._replace(logits=logits), seed)

    return think


def mcts(board: Board, config: MctsConfig, evaluate: Evaluate) -> Think:
    """UCT (Kocsis and Szepesvari 2006): every move once, then by the upper bounds of their confidence intervals."""

    def score(tree: mctx.Tree, node: Array) -> Array:
        visits = tree.children_visits[node].astype(jnp.float32)
        total = jnp.log(jnp.maximum(tree.node_visits[node].astype(jnp.float32), 1))
        bound = tree.qvalues(node) + config.exploration * jnp.sqrt(total / jnp.maximum(visits, 1))
        return jnp.where(visits > 0, bound, jnp.finfo(jnp.float32).max)

    return _by_score(board, config, evaluate, score)


def _by_score(board: Board, config: GuidedConfig | MctsConfig, evaluate: Evaluate, score: Score) -> Think:
    """A search that follows the move of the highest score, and in the end makes the one most visited."""

    def follow(key: Array, tree: mctx.Tree, node: Array, depth: Array | int = 0) -> Array:
        del key, depth
        there = tree.children_prior_logits[node] > ABSENT / 2
        return jnp.argmax(jnp.where(there, score(tree, node), -jnp.inf)).astype(jnp.int32)

    def think(params: Any, root: Evaluation, seed: Array) -> Thought:
        tree = _search(board, config, evaluate, params, root, seed, follow, follow, None)
        q = tree.qvalues(jnp.full(len(seed), mctx.Tree.ROOT_INDEX))
        return Thought(tree, _most_visited(tree, q))

    return think


def _noise(board: Board, config: GuidedConfig, seed: Array) -> Array:
    """What is added to the logits of the roots, float32[B, side]."""
    if not config.temperature:
        return jnp.zeros((len(seed), board.side), jnp.float32)
    return jnp.clip(config.temperature * gumbel_noise(board, seed), -LARGEST, LARGEST)


def _most_visited(tree: mctx.Tree, score: Array) -> Array:
    """The root's move that is alive and most visited, of those the one of the highest score: int32[B]."""
    there, visits = alive(tree)[:, mctx.Tree.ROOT_INDEX], tree.children_visits[:, mctx.Tree.ROOT_INDEX]
    visits = jnp.where(there, visits, -1)
    best = visits == visits.max(axis=1, keepdims=True)
    return jnp.argmax(jnp.where(best & there, score, -jnp.inf), axis=1).astype(jnp.int32)


def _search(
    board: Board,
    config: GuidedConfig | MctsConfig,
    evaluate: Evaluate,
    params: Any,
    root: Evaluation,
    seed: Array,
    at_root: Callable[..., Array],
    follow: Callable[..., Array],
    extra: Any,
) -> mctx.Tree:
    """mctx's search over the positions below the roots."""

    def expand(params: Any, key: Array, move: Array, node: Node) -> tuple[mctx.RecurrentFnOutput, Node]:
        del key  # a lane's randomness is its own
        state = env.step(node.state, move, board, config.rules)
        seed = mix(node.seed ^ mix(move.astype(jnp.uint32) + 1))
        known = evaluate(params, state, seed)
        over = state.terminated
        worth = jnp.where(state.solved, 1.0, lowest(config)).astype(jnp.float32)
        output = mctx.RecurrentFnOutput(
            reward=jnp.where(over, worth, 0.0),
            discount=jnp.where(over, 0.0, 1.0).astype(jnp.float32),
            prior_logits=jnp.where(over[:, None], ABSENT, known.logits),
            value=jnp.where(over, 0.0, known.value),
        )
        return output, Node(known.state, known.answer, known.found, known.looked, known.calls, seed)

    nothing = jnp.zeros(len(seed), jnp.int32)
    top = Node(root.state, root.answer, root.found, nothing, nothing, seed)
    with jax.numpy_dtype_promotion("standard"):  # mctx mixes integers and floats
        return mctx.search(
            params,
            jax.random.key(0),
            root=mctx.RootFnOutput(prior_logits=root.logits, value=root.value, embedding=top),
            recurrent_fn=expand,
            root_action_selection_fn=at_root,
            interior_action_selection_fn=follow,
            num_simulations=config.simulations,
            invalid_actions=(root.logits <= ABSENT / 2).astype(jnp.float32),
            extra_data=extra,
            loop_fn=proving,
        )
