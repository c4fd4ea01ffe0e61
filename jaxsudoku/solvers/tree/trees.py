"""Operations of tree searches on mctx's trees: one simulation at a time, each tree at its own pace.

``mctx.search`` grows all trees of a batch in step. These functions change the rows of one node of each tree alone, so
a caller may let every tree stop, wait or start anew when it likes. They are pure, and know nothing of puzzles: any
``mctx.Tree`` of any environment will do. K is the number of trees, M their room for nodes, A the number of actions.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import mctx
import numpy as np
from jax import Array, lax

from jaxsudoku.runtime.operations import select

#: The least logit of a move that may be taken; illegal and refuted moves have less.
_LEAST = -5e8
#: The logit that a refuted move gets.
_REFUTED = -1e9

#: Selects a move, as mctx calls such functions: (key, one tree, node, depth) to the move.
Select = Callable[[Any, mctx.Tree, Array, Any], Array]


class Nodes(NamedTuple):
    """One node for each tree.

    Attributes:
      embedding: pytree [K, ...].
      logits: float32[K, A], the priors of its moves; of those that may not be taken, below -5e8.
      value: float32[K].
      reward: float32[K], of the move that leads there.
      discount: float32[K], of the value, seen from the node above.
    """

    embedding: Any
    logits: Array
    value: Array
    reward: Array | float = 0.0
    discount: Array | float = 1.0


def empty(size: int, nodes: Nodes, extra: Any = None) -> mctx.Tree:
    """Trees without nodes, with room for ``size``; nodes of their shapes may be added."""
    width, actions = nodes.logits.shape
    rows = (width, size)
    number, real = jnp.zeros(rows, jnp.int32), jnp.zeros(rows, jnp.float32)
    moves, reals = jnp.zeros((*rows, actions), jnp.int32), jnp.zeros((*rows, actions), jnp.float32)
    return mctx.Tree(
        node_visits=number,
        raw_values=real,
        node_values=real,
        parents=number,
        action_from_parent=number,
        children_index=moves,
        children_prior_logits=reals,
        children_visits=moves,
        children_rewards=reals,
        children_discounts=reals,
        children_values=reals,
        embeddings=jax.tree.map(lambda leaf: jnp.zeros((*rows, *leaf.shape[1:]), leaf.dtype), nodes.embedding),
        root_invalid_actions=jnp.zeros((width, actions), jnp.float32),
        extra_data=extra,
    )


def _lane(tree: mctx.Tree) -> Array:
    return jnp.arange(len(tree.node_visits), dtype=jnp.int32)


def put_roots(tree: mctx.Tree, chosen: Array, roots: Nodes, extra: Any = None) -> mctx.Tree:
    """New trees, of a root alone that counts as visited once, in the place of the chosen ones bool[K].

    ``extra`` [K, ...] takes the place of their ``extra_data``.
    """
    end = tree.parents.shape[1]
    tree = _put(tree, jnp.where(chosen, 0, end), roots, jnp.full(len(chosen), mctx.Tree.NO_PARENT, jnp.int32), 1)
    invalid = (roots.logits < _LEAST).astype(jnp.float32)
    return tree.replace(
        root_invalid_actions=jnp.where(chosen[:, None], invalid, tree.root_invalid_actions),
        extra_data=select(chosen, extra, tree.extra_data),
    )


def add_nodes(tree: mctx.Tree, chosen: Array, nodes: Nodes, index: Array, parent: Array, move: Array) -> mctx.Tree:
    """Adds a node at a free ``index`` int32[K] to the chosen trees bool[K], below a move of its parent int32[K]."""
    end, lane = tree.parents.shape[1], _lane(tree)
    tree = _put(tree, jnp.where(chosen, index, end), nodes, parent, 0)
    above = jnp.where(chosen, parent, end)

    def edge(rows: Array, value: Any) -> Array:
        return rows.at[lane, above, move].set(value, mode="drop")

    return tree.replace(
        action_from_parent=tree.action_from_parent.at[lane, jnp.where(chosen, index, end)].set(move, mode="drop"),
        children_index=edge(tree.children_index, index),
        children_rewards=edge(tree.children_rewards, nodes.reward),
        children_discounts=edge(tree.children_discounts, nodes.discount),
    )


def _put(tree: mctx.Tree, index: Array, nodes: Nodes, parent: Array, visits: int) -> mctx.Tree:
    lane = _lane(tree)

    def put(rows: Array, values: Any) -> Array:
        return rows.at[lane, index].set(values, mode="drop")

    nothing = np.float32(0)
    return tree.replace(
        node_visits=put(tree.node_visits, visits),
        raw_values=put(tree.raw_values, nodes.value),
        node_values=put(tree.node_values, nodes.value),
        parents=put(tree.parents, parent),
        action_from_parent=put(tree.action_from_parent, mctx.Tree.NO_PARENT),
        children_index=put(tree.children_index, mctx.Tree.UNVISITED),
        children_prior_logits=put(tree.children_prior_logits, nodes.logits),
        children_visits=put(tree.children_visits, 0),
        children_rewards=put(tree.children_rewards, nothing),
        children_discounts=put(tree.children_discounts, nothing),
        children_values=put(tree.children_values, nothing),
        embeddings=jax.tree.map(put, tree.embeddings, nodes.embedding),
    )


def descend(
    tree: mctx.Tree, chosen: Array, at_root: Select, inside: Select, ended: Array | None = None
) -> tuple[Array, Array, Array]:
    """Follows moves down the chosen trees bool[K], from the roots to moves that no node is below yet.

    Args:
      tree: the trees.
      chosen: bool[K].
      at_root: selects the move of a root.
      inside: selects the move of any other node.
      ended: bool[K, M], nodes that have no moves; None for none.

    Returns:
      The last node int32[K], its move int32[K], and whether this leads to a new node, bool[K]; elsewhere the node is
      one that has ended, or the tree was not chosen.
    """
    lane, root = _lane(tree), jnp.zeros(len(chosen), jnp.int32)
    over = jnp.zeros(tree.parents.shape, bool) if ended is None else ended
    key = jax.random.key(0)  # one for all: mctx's selections draw nothing, or between equal moves alone

    def selected(node: Array, depth: Array) -> Array:
        with jax.numpy_dtype_promotion("standard"):  # mctx mixes integers and floats
            first, later = (
                jax.vmap(choose, (None, 0, 0, None))(key, tree, node, depth) for choose in (at_root, inside)
            )
        return jnp.where(depth == 0, first, later).astype(jnp.int32)

    def further(now: tuple[Array, Array, Array, Array]) -> tuple[Array, Array, Array, Array]:
        node, move, depth, going = now
        node = jnp.where(going & (depth > 0), tree.children_index[lane, node, move], node)
        move = jnp.where(going, selected(node, depth), move)
        going &= ~over[lane, node] & (tree.children_index[lane, node, move] != mctx.Tree.UNVISITED)
        return node, move, depth + 1, going

    start = (root, root, jnp.int32(0), chosen)
    node, move, _, _ = lax.while_loop(lambda now: now[3].any(), further, start)
    return node, move, chosen & ~over[lane, node]


def back_up(tree: mctx.Tree, chosen: Array, leaf: Array) -> mctx.Tree:
    """Adds the raw values of leaves int32[K] of the chosen trees to the means above them, and a visit to all these.

    The leaf itself gets a visit too, and keeps its value.
    """
    lane, end = _lane(tree), tree.parents.shape[1]
    visits = tree.node_visits.at[lane, jnp.where(chosen, leaf, end)].add(1, mode="drop")

    def up(now: tuple[mctx.Tree, Array, Array, Array]) -> tuple[mctx.Tree, Array, Array, Array]:
        tree, node, value, going = now
        above, move = tree.parents[lane, node], tree.action_from_parent[lane, node]
        there = jnp.where(going, above, end)
        value = tree.children_rewards[lane, above, move] + tree.children_discounts[lane, above, move] * value
        count = tree.node_visits[lane, above].astype(jnp.float32)
        mean = (tree.node_values[lane, above] * count + value) / (count + 1)
        tree = tree.replace(
            node_visits=tree.node_visits.at[lane, there].add(1, mode="drop"),
            node_values=tree.node_values.at[lane, there].set(mean, mode="drop"),
            children_visits=tree.children_visits.at[lane, there, move].add(1, mode="drop"),
            children_values=tree.children_values.at[lane, there, move].set(tree.node_values[lane, node], mode="drop"),
        )
        return tree, above, value, going & (above != mctx.Tree.ROOT_INDEX)

    start = (tree.replace(node_visits=visits), leaf, tree.raw_values[lane, leaf], chosen & (leaf != 0))
    return lax.while_loop(lambda now: now[3].any(), up, start)[0]


def open_moves(tree: mctx.Tree, node: Array | int = mctx.Tree.ROOT_INDEX) -> Array:
    """The moves of a node of each tree, int32[K], that are neither illegal nor refuted: bool[K, A]."""
    found: Array = tree.children_prior_logits[_lane(tree), node] > _LEAST
    return found


def refute(tree: mctx.Tree, chosen: Array, node: Array) -> mctx.Tree:
    """Backs up that nodes int32[K] of the chosen trees are lost: the move to such a node gets the logit of an illegal
    one, and a node without another move is lost as well. A root without open moves is lost.
    """
    lane, end = _lane(tree), tree.parents.shape[1]

    def up(now: tuple[Array, Array, Array]) -> tuple[Array, Array, Array]:
        logits, here, lost = now
        parent, move = tree.parents[lane, here], tree.action_from_parent[lane, here]
        logits = logits.at[lane, jnp.where(lost, parent, end), move].set(_REFUTED, mode="drop")
        lost &= ~(logits[lane, parent] > _LEAST).any(axis=1) & (parent != mctx.Tree.ROOT_INDEX)
        return logits, parent, lost

    start = (tree.children_prior_logits, node, chosen & (node != mctx.Tree.ROOT_INDEX))
    logits, *_ = lax.while_loop(lambda now: now[2].any(), up, start)
    return tree.replace(children_prior_logits=logits)


def with_root(tree: mctx.Tree, node: Array) -> mctx.Tree:
    """The trees with a node int32[K] as the root, and all that is below it; other nodes are out of reach.

    Rows keep their places but for that of the root. Nodes that are out of reach still take up room.
    """
    lane, end = _lane(tree), tree.parents.shape[1]

    def moved(rows: Array) -> Array:
        return rows.at[:, 0].set(rows[lane, node])

    children = tree.children_index[lane, node]
    below = jnp.where(children == mctx.Tree.UNVISITED, end, children)
    names = ("node_visits", "raw_values", "node_values", "children_index", "children_prior_logits", "children_visits")
    edges = ("children_rewards", "children_discounts", "children_values")
    return tree.replace(
        **{name: moved(tree[name]) for name in (*names, *edges)},
        parents=tree.parents.at[lane[:, None], below].set(mctx.Tree.ROOT_INDEX, mode="drop"),
        embeddings=jax.tree.map(moved, tree.embeddings),
    )
