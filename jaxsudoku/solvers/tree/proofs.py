"""Trees of positions as mctx keeps them, and what is proven in them.

A node of the tree holds a position and what was found on evaluating it. If the
rules refute the new node of a simulation, the proof is propagated to its ancestors: the logit of the move to it becomes
``ABSENT``, so the move is not tried again, and a position is refuted when all its moves are. A lane is finished when it
has an answer, or its root is refuted or has one move left; the search ends when all lanes are finished.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import jax.numpy as jnp
import mctx
from jax import Array, lax

from jaxsudoku import env
from jaxsudoku.networks.base import ABSENT


class Node(NamedTuple):
    """What a tree holds of each position.

    Attributes:
      state: the position; ``refuted`` is set by proofs as well.
      answer: uint32[B, words], as in ``Evaluation``.
      found: bool[B], likewise.
      looked: int32[B], likewise; 0 if the lane had already come to its end.
      calls: int32[B], likewise.
      seed: uint32[B], what the randomness below it is made from.
    """

    state: env.State
    answer: Array | None
    found: Array
    looked: Array
    calls: Array
    seed: Array


def alive(tree: mctx.Tree) -> Array:
    """The moves that are neither illegal nor refuted: bool[B, nodes, side]."""
    return tree.children_prior_logits > ABSENT / 2


def finished(tree: mctx.Tree) -> Array:
    """The lanes that need not be searched on: bool[B]."""
    node: Node = tree.embeddings
    left = alive(tree)[:, mctx.Tree.ROOT_INDEX].sum(axis=1, dtype=jnp.int32)
    return node.found.any(axis=1) | node.state.refuted[:, mctx.Tree.ROOT_INDEX] | (left <= 1)


def proving(lower: int, upper: int, body: Callable[[Any, Any], Any], carry: tuple[Any, mctx.Tree]) -> Any:
    """A ``loop_fn`` for ``mctx.search`` that proves after every simulation, and ends with the last lane."""

    def going(now: tuple[Array, Array, Any]) -> Array:
        return (now[0] < upper) & ~now[1].all()

    def simulate(now: tuple[Array, Array, Any]) -> tuple[Array, Array, Any]:
        number, over, (key, before) = now
        node: Node = before.embeddings
        resting = node._replace(state=node.state._replace(refuted=node.state.refuted | over[:, None]))
        key, after = body(number, (key, before.replace(embeddings=resting)))
        tree = _prove(_undone(before, after, number + 1, over), number + 1)
        return number + 1, finished(tree), (key, tree)

    return lax.while_loop(going, simulate, (jnp.int32(lower), finished(carry[1]), carry))[2]


def _undone(before: mctx.Tree, after: mctx.Tree, index: Array, over: Array) -> mctx.Tree:
    """The tree after a simulation that added node ``index``; in lanes that were over before nothing of it counts.

    Nor does the new node hang on the tree there, or those trees would grow to chains that all lanes wait for.
    """
    old: Node = before.embeddings
    node: Node = after.embeddings

    def kept(then: Array, now: Array) -> Array:
        return jnp.where(over[:, None], then, now)

    node = node._replace(
        state=node.state._replace(refuted=kept(old.state.refuted, node.state.refuted)),
        found=kept(old.found, node.found), looked=kept(old.looked, node.looked), calls=kept(old.calls, node.calls),
    )  # fmt: skip
    lane = jnp.arange(len(over), dtype=jnp.int32)
    parent = jnp.where(over, after.parents[:, index], after.parents.shape[1])
    children = after.children_index.at[lane, parent, after.action_from_parent[:, index]].set(
        mctx.Tree.UNVISITED, mode="drop"
    )
    return after.replace(embeddings=node, children_index=children)


def _prove(tree: mctx.Tree, index: Array) -> mctx.Tree:
    """Propagates the refutation of node ``index`` to its ancestors."""
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
