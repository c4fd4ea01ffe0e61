"""Tree search policies as thin compositions over mctx: Gumbel MuZero, PUCT and UCT.

A policy takes evaluated roots, runs simulations until they are spent or every lane is decided (``proofs.prove_loop``),
and returns the tree and a move for each root.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import mctx
from jax import Array

from jaxsudoku.core import env
from jaxsudoku.core.board import Board
from jaxsudoku.networks.base import ABSENT, LARGEST, masked_logits
from jaxsudoku.runtime.random import mix

from .evaluators import Evaluate, Evaluation, gumbel_noise, lowest
from .proofs import Node, open_moves, prove_loop
from .tree_config import AlphaSudokuConfig, GuidedConfig, GumbelConfig, MctsConfig


class Decision(NamedTuple):
    """The result of a search.

    Attributes:
      tree: mctx's tree of ``proofs.Node``.
      move: int32[B], the digit for the root's cell, from 0; one that is not refuted, if there is any.
    """

    tree: mctx.Tree
    move: Array


#: (parameters, evaluated roots, seeds uint32[B]) to a ``Decision``.
Policy = Callable[[Any, Evaluation, Array], Decision]

#: (tree of one lane, node) to the scores of its moves.
Score = Callable[[mctx.Tree, Array], Array]


def gumbel(board: Board, config: GumbelConfig, evaluate: Evaluate) -> Policy:
    """Gumbel MuZero (Danihelka et al. 2022): sequential halving at the root, improved policies below it.

    As ``mctx.gumbel_muzero_policy``, but moves may be refuted during the search, and every lane has its own noise.
    """
    follow = mctx.gumbel_muzero_interior_action_selection
    halve = functools.partial(
        mctx.gumbel_muzero_root_action_selection,
        num_simulations=config.simulations,
        max_num_considered_actions=min(config.considered, board.side),
    )

    def at_root(key: Array, tree: mctx.Tree, node: Array) -> Array:
        # sequential halving needs equal visits; after a refutation the interior rule takes over
        refuted = (tree.children_prior_logits[node] <= ABSENT / 2) & (tree.root_invalid_actions == 0)
        return jnp.where(refuted.any(), follow(key, tree, node, jnp.int32(0)), halve(key, tree, node))

    def decide(params: Any, root: Evaluation, seed: Array) -> Decision:
        noise = _noise(board, config, seed)
        extra = mctx.GumbelMuZeroExtraData(root_gumbel=noise)
        tree = _search(board, config, evaluate, params, root, seed, _Selection(at_root, follow, extra))
        with jax.numpy_dtype_promotion("standard"):
            q = jax.vmap(mctx.qtransform_completed_by_mix_value, (0, None))(tree, mctx.Tree.ROOT_INDEX)
        return Decision(tree, _most_visited(tree, noise + root.logits + q))

    return decide


def alphasudoku(board: Board, config: AlphaSudokuConfig, evaluate: Evaluate) -> Policy:
    """PUCT with the network's priors, by the formula of AlphaZero or of the AlphaSudoku study."""
    search = _by_score(board, config, evaluate, puct(config))

    def decide(params: Any, root: Evaluation, seed: Array) -> Decision:
        logits = masked_logits(root.logits + _noise(board, config, seed), root.logits > ABSENT / 2)
        return search(params, root._replace(logits=logits), seed)

    return decide


def puct(config: AlphaSudokuConfig) -> Score:
    """The score of moves by the formula of the settings."""

    def score(tree: mctx.Tree, node: Array) -> Array:
        visits, logits = tree.children_visits[node], tree.children_prior_logits[node]
        if config.formula == "study":  # its probabilities are of all digits, so those of legal ones may add up to less
            prior = jnp.exp(logits - jnp.maximum(jax.nn.logsumexp(logits), 0))
            unvisited = jnp.finfo(jnp.float32).max
        else:
            prior = jax.nn.softmax(logits) * jnp.sqrt(tree.node_visits[node].astype(jnp.float32))
            unvisited = tree.raw_values[node]
        q = jnp.where(visits > 0, tree.qvalues(node), unvisited)
        return q + config.exploration * prior / (1 + visits)

    return score


def mcts(board: Board, config: MctsConfig, evaluate: Evaluate) -> Policy:
    """UCT (Kocsis and Szepesvari 2006)."""
    return _by_score(board, config, evaluate, uct(config))


def uct(config: MctsConfig) -> Score:
    """The score of moves by UCT: every move once, then the highest upper confidence bound."""

    def score(tree: mctx.Tree, node: Array) -> Array:
        visits = tree.children_visits[node].astype(jnp.float32)
        total = jnp.log(jnp.maximum(tree.node_visits[node].astype(jnp.float32), 1))
        bound = tree.qvalues(node) + config.exploration * jnp.sqrt(total / jnp.maximum(visits, 1))
        return jnp.where(visits > 0, bound, jnp.finfo(jnp.float32).max)

    return score


def _by_score(board: Board, config: AlphaSudokuConfig | MctsConfig, evaluate: Evaluate, score: Score) -> Policy:
    """A search that follows the move of the highest score and returns the move that ``config.move`` says."""

    def follow(key: Array, tree: mctx.Tree, node: Array, depth: Array | int = 0) -> Array:
        del key, depth
        return highest_move(score, tree, node)

    def decide(params: Any, root: Evaluation, seed: Array) -> Decision:
        tree = _search(board, config, evaluate, params, root, seed, _Selection(follow, follow))
        return Decision(tree, best_move(config, tree))

    return decide


def highest_move(score: Score, tree: mctx.Tree, node: Array) -> Array:
    """The move of the highest score at a node of one tree, of those that are neither illegal nor refuted: int32[]."""
    there = tree.children_prior_logits[node] > ABSENT / 2
    return jnp.argmax(jnp.where(there, score(tree, node), -jnp.inf)).astype(jnp.int32)


def best_move(config: AlphaSudokuConfig | MctsConfig, tree: mctx.Tree) -> Array:
    """The move of each root that ``config.move`` says: int32[B]."""
    q = tree.qvalues(jnp.full(len(tree.node_visits), mctx.Tree.ROOT_INDEX))
    return _most_visited(tree, q) if config.move == "visits" else _most_valued(tree, q)


def _noise(board: Board, config: GuidedConfig, seed: Array) -> Array:
    """Noise for the logits of the roots: float32[B, side]."""
    if not config.temperature:
        return jnp.zeros((len(seed), board.side), jnp.float32)
    return jnp.clip(config.temperature * gumbel_noise(board, seed), -LARGEST, LARGEST)


def _most_visited(tree: mctx.Tree, score: Array) -> Array:
    """The most visited of the root's moves that are not refuted, of equal ones the highest score: int32[B]."""
    there, visits = open_moves(tree)[:, mctx.Tree.ROOT_INDEX], tree.children_visits[:, mctx.Tree.ROOT_INDEX]
    visits = jnp.where(there, visits, -1)
    best = visits == visits.max(axis=1, keepdims=True)
    return jnp.argmax(jnp.where(best & there, score, -jnp.inf), axis=1).astype(jnp.int32)


def _most_valued(tree: mctx.Tree, q: Array) -> Array:
    """The root's move of the highest value, of those that are not refuted and were visited if any was: int32[B]."""
    there, visits = open_moves(tree)[:, mctx.Tree.ROOT_INDEX], tree.children_visits[:, mctx.Tree.ROOT_INDEX]
    q = jnp.where(visits > 0, q, jnp.finfo(jnp.float32).min)
    return jnp.argmax(jnp.where(there, q, -jnp.inf), axis=1).astype(jnp.int32)


class _Selection(NamedTuple):
    """How a search chooses moves: at the roots and inside the trees, as mctx calls these functions; what it carries."""

    at_root: Callable[..., Array]
    inside: Callable[..., Array]
    extra: Any = None


def _search(
    board: Board,
    config: GuidedConfig | MctsConfig,
    evaluate: Evaluate,
    params: Any,
    root: Evaluation,
    seed: Array,
    selection: _Selection,
) -> mctx.Tree:
    """mctx's search over the positions below the roots."""

    def expand(params: Any, key: Array, move: Array, node: Node) -> tuple[mctx.RecurrentFnOutput, Node]:
        del key  # every lane has its own seed
        state = env.step(node.state, move, board, config.rules)
        seed = mix(node.seed ^ mix(move.astype(jnp.uint32) + 1))
        evaluation = evaluate(params, state, seed)
        over = state.terminated
        reward = jnp.where(state.solved, 1.0, lowest(config)).astype(jnp.float32)
        output = mctx.RecurrentFnOutput(
            reward=jnp.where(over, reward, 0.0),
            discount=jnp.where(over, 0.0, 1.0).astype(jnp.float32),
            prior_logits=jnp.where(over[:, None], ABSENT, evaluation.logits),
            value=jnp.where(over, 0.0, evaluation.value),
        )
        return output, Node.of(evaluation, seed)

    nothing = jnp.zeros(len(seed), jnp.int32)
    top = Node(root.state, root.answer, root.found, nothing, nothing, seed)
    with jax.numpy_dtype_promotion("standard"):  # mctx mixes integers and floats
        return mctx.search(
            params,
            jax.random.key(0),
            root=mctx.RootFnOutput(prior_logits=root.logits, value=root.value, embedding=top),
            recurrent_fn=expand,
            root_action_selection_fn=selection.at_root,
            interior_action_selection_fn=selection.inside,
            num_simulations=config.simulations,
            invalid_actions=(root.logits <= ABSENT / 2).astype(jnp.float32),
            extra_data=selection.extra,
            loop_fn=prove_loop,
        )
