"""Proofs in mctx's trees: refutations are backed up, and decided lanes end the search.

A node holds a position and its evaluation. If the rules refute a new node, this is backed up after the simulation: the
logit of the move that led there becomes ``ABSENT``, as for an illegal move, and a position without moves left is
refuted itself. A lane is decided when it has an answer, its root is refuted, or its root has one move left. The search
ends when all lanes are decided.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import jax.numpy as jnp
import mctx
from jax import Array, lax

from jaxsudoku.core import env
from jaxsudoku.networks.base import ABSENT

from .evaluators import Evaluation


class Node(NamedTuple):
    """The embedding of a node in mctx's tree.

    Attributes:
      state: the position; ``refuted`` once this is proven.
      answer: uint32[B, words], as in ``Evaluation``.
      found: bool[B], likewise.
      iterations: int32[B], likewise; 0 if the lane was already decided.
      calls: int32[B], likewise.
      seed: uint32[B], the seed of the randomness below the node.
    """

    state: env.State
    answer: Array | None
    found: Array
    iterations: Array
    calls: Array
    seed: Array

    @classmethod
    def of(cls, evaluation: Evaluation, seed: Array) -> Node:
        """The node of an evaluated position."""
        return cls(evaluation.state, evaluation.answer, evaluation.found, evaluation.iterations, evaluation.calls, seed)


def open_moves(tree: mctx.Tree) -> Array:
    """The moves that are neither illegal nor refuted: bool[B, nodes, side]."""
    return tree.children_prior_logits > ABSENT / 2


def decided(tree: mctx.Tree) -> Array:
    """The lanes that are decided: bool[B]."""
    node: Node = tree.embeddings
    left = open_moves(tree)[:, mctx.Tree.ROOT_INDEX].sum(axis=1, dtype=jnp.int32)
    return node.found.any(axis=1) | node.state.refuted[:, mctx.Tree.ROOT_INDEX] | (left <= 1)


def prove_loop(lower: int, upper: int, body: Callable[[Any, Any], Any], carry: tuple[Any, mctx.Tree]) -> Any:
    """A ``loop_fn`` for ``mctx.search`` that backs up refutations, and ends when all lanes are decided."""

    def going(now: tuple[Array, Array, Any]) -> Array:
        return (now[0] < upper) & ~now[1].all()

    def simulate(now: tuple[Array, Array, Any]) -> tuple[Array, Array, Any]:
        number, over, (key, before) = now
        node: Node = before.embeddings
        resting = node._replace(state=node.state._replace(refuted=node.state.refuted | over[:, None]))
        key, after = body(number, (key, before.replace(embeddings=resting)))
        tree = _prove(_discard(before, after, number + 1, over), number + 1)
        return number + 1, decided(tree), (key, tree)

    return lax.while_loop(going, simulate, (jnp.int32(lower), decided(carry[1]), carry))[2]


def _discard(before: mctx.Tree, after: mctx.Tree, index: Array, over: Array) -> mctx.Tree:
    """Discards node ``index`` in lanes that were decided before the simulation.

    The node is detached as well: otherwise these trees would grow into long chains, which slow the whole batch.
    """
    old: Node = before.embeddings
    node: Node = after.embeddings

    def kept(then: Array, now: Array) -> Array:
        return jnp.where(over[:, None], then, now)

    node = node._replace(
        state=node.state._replace(refuted=kept(old.state.refuted, node.state.refuted)),
        found=kept(old.found, node.found),
        iterations=kept(old.iterations, node.iterations),
        calls=kept(old.calls, node.calls),
    )
    lane = jnp.arange(len(over), dtype=jnp.int32)
    parent = jnp.where(over, after.parents[:, index], after.parents.shape[1])
    children = after.children_index.at[lane, parent, after.action_from_parent[:, index]].set(
        mctx.Tree.UNVISITED, mode="drop"
    )
    return after.replace(embeddings=node, children_index=children)


def _prove(tree: mctx.Tree, index: Array) -> mctx.Tree:
    """Backs up the refutation of node ``index``."""
    node: Node = tree.embeddings
    lane = jnp.arange(len(node.found), dtype=jnp.int32)
    nowhere = node.found.shape[1]

    def going(now: tuple[Any, Array, Array, Array]) -> Array:
        return now[3].any()

    def up(now: tuple[Any, Array, Array, Array]) -> tuple[Any, Array, Array, Array]:
        logits, refuted, here, proven = now
        parent, move = tree.parents[lane, here], tree.action_from_parent[lane, here]
        logits = logits.at[lane, jnp.where(proven, parent, nowhere), move].set(ABSENT, mode="drop")
        proven &= ~(logits[lane, parent] > ABSENT / 2).any(axis=1)
        refuted = refuted.at[lane, jnp.where(proven, parent, nowhere)].set(True, mode="drop")
        return logits, refuted, parent, proven & (parent != mctx.Tree.ROOT_INDEX)

    new = jnp.full(lane.shape, index)
    start = (tree.children_prior_logits, node.state.refuted, new, node.state.refuted[:, index])
    logits, refuted, *_ = lax.while_loop(going, up, start)
    node = node._replace(state=node.state._replace(refuted=refuted))
    return tree.replace(children_prior_logits=logits, embeddings=node)
