"""Operations on mctx's trees, each on one node of every tree, so that each tree may go on at its own pace.

``mctx.search`` grows all trees of a batch in step. With these functions a caller may let every tree stop, wait or start
anew when it likes. K is the number of trees, M their room for nodes, A the number of actions.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import mctx
from jax import Array, lax

from jaxsudoku.runtime.operations import select
from jaxsudoku.runtime.random import split

#: The least logit of a move that may be taken; illegal and refuted moves have less.
LEAST = -5e8
#: The logit that a refuted move gets.
REFUTED = -1e9

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
    number, real = jnp.zeros(rows, jnp.int32), jnp.zeros(rows, nodes.value.dtype)
    moves, reals = jnp.zeros((*rows, actions), jnp.int32), jnp.zeros((*rows, actions), nodes.value.dtype)
    return mctx.Tree(
        node_visits=number,
        raw_values=real,
        node_values=real,
        parents=number,
        action_from_parent=number,
        children_index=moves,
        children_prior_logits=reals.astype(nodes.logits.dtype),
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
    invalid = (roots.logits < LEAST).astype(jnp.float32)
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

    return tree.replace(
        node_visits=put(tree.node_visits, visits),
        raw_values=put(tree.raw_values, nodes.value),
        node_values=put(tree.node_values, nodes.value),
        parents=put(tree.parents, parent),
        action_from_parent=put(tree.action_from_parent, mctx.Tree.NO_PARENT),
        children_index=put(tree.children_index, mctx.Tree.UNVISITED),
        children_prior_logits=put(tree.children_prior_logits, nodes.logits),
        children_visits=put(tree.children_visits, 0),
        children_rewards=put(tree.children_rewards, 0.0),
        children_discounts=put(tree.children_discounts, 0.0),
        children_values=put(tree.children_values, 0.0),
        embeddings=jax.tree.map(put, tree.embeddings, nodes.embedding),
    )


def descend(
    tree: mctx.Tree,
    chosen: Array,
    at_root: Select,
    inside: Select,
    ended: Array | None = None,
    keys: Array | None = None,
) -> tuple[Array, Array, Array]:
    """Follows moves down the chosen trees bool[K], from the roots to moves that no node is below yet.

    Args:
      tree: the trees.
      chosen: bool[K].
      at_root: selects the move of a root.
      inside: selects the move of any other node.
      ended: bool[K, M], nodes that have no moves; None for none.
      keys: a key for each tree, for selections that draw, used as mctx does; None if they draw nothing, or between
        equal moves alone.

    Returns:
      The last node int32[K], its move int32[K], and whether this leads to a new node, bool[K]; elsewhere the node is
      one that has ended, or the tree was not chosen.
    """
    lane, root = _lane(tree), jnp.zeros(len(chosen), jnp.int32)
    over = jnp.zeros(tree.parents.shape, bool) if ended is None else ended
    one = jax.random.key(0) if keys is None else None

    def selected(key: Any, node: Array, depth: Array) -> Array:
        axes = (None if keys is None else 0, 0, 0, None)
        with jax.numpy_dtype_promotion("standard"):  # mctx mixes integers and floats
            first, later = (jax.vmap(choose, axes)(key, tree, node, depth) for choose in (at_root, inside))
        return jnp.where(depth == 0, first, later).astype(jnp.int32)

    def further(now: tuple[Array, Array, Array, Array, Any]) -> tuple[Array, Array, Array, Array, Any]:
        node, move, depth, going, key = now
        drawn = one
        if key is not None:
            key, drawn = split(key)
        node = jnp.where(going & (depth > 0), tree.children_index[lane, node, move], node)
        move = jnp.where(going, selected(drawn, node, depth), move)
        going &= ~over[lane, node] & (tree.children_index[lane, node, move] != mctx.Tree.UNVISITED)
        return node, move, depth + 1, going, key

    start = (root, root, jnp.int32(0), chosen, keys)
    node, move, *_ = lax.while_loop(lambda now: now[3].any(), further, start)
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
        count = tree.node_visits[lane, above].astype(value.dtype)
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
    found: Array = tree.children_prior_logits[_lane(tree), node] > LEAST
    return found


def refute(tree: mctx.Tree, chosen: Array, node: Array, two_players: bool = False) -> mctx.Tree:
    """Backs up that nodes int32[K] of the chosen trees are lost.

    The move to a lost node gets the logit of an illegal one, and a node without another move is lost as well. A root
    without open moves is lost.

    With ``two_players`` who move in turn, a node is lost for the player to move, so the one above is won (MCTS-Solver,
    Winands et al. 2008): all moves but the winning one get that logit, and so does the move to it. A root that is won
    has its winning move alone.
    """
    lane, end = _lane(tree), tree.parents.shape[1]

    def up(now: tuple[Array, Array, Array]) -> tuple[Array, Array, Array]:
        logits, here, lost = now
        parent, move = tree.parents[lane, here], tree.action_from_parent[lane, here]
        lost &= logits[lane, parent, move] > LEAST  # what lies below a refuted move proves nothing
        if two_players:
            winning = jnp.arange(tree.num_actions, dtype=jnp.int32) == move[:, None]
            won = jnp.where(winning, logits[lane, parent], REFUTED)
            logits = logits.at[lane, jnp.where(lost, parent, end)].set(won, mode="drop")
            lost &= parent != mctx.Tree.ROOT_INDEX
            parent, move = tree.parents[lane, parent], tree.action_from_parent[lane, parent]
        logits = logits.at[lane, jnp.where(lost, parent, end), move].set(REFUTED, mode="drop")
        lost &= ~(logits[lane, parent] > LEAST).any(axis=1) & (parent != mctx.Tree.ROOT_INDEX)
        return logits, parent, lost

    start = (tree.children_prior_logits, node, chosen & (node != mctx.Tree.ROOT_INDEX))
    logits, *_ = lax.while_loop(lambda now: now[2].any(), up, start)
    return tree.replace(children_prior_logits=logits)


def with_root(tree: mctx.Tree, node: Array) -> mctx.Tree:
    """The trees with a node int32[K] as the root, and all that is below it; other nodes are out of reach.

    Rows keep their places but for that of the root. Nodes that are out of reach still take up room: ``compacted``.
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


def compacted(tree: mctx.Tree) -> mctx.Tree:
    """The trees with their rows renumbered in order, so that those that the roots do not reach are free again."""
    lane, end = _lane(tree)[:, None], tree.parents.shape[1]
    row = jnp.arange(end, dtype=jnp.int32)
    parents, moves = jnp.maximum(tree.parents, 0), jnp.maximum(tree.action_from_parent, 0)
    joined = (tree.children_index[lane, parents, moves] == row) & (tree.node_visits > 0)
    above = jnp.where(joined, parents, row)
    for _ in range(end.bit_length()):  # each time twice as far up
        above = above[lane, above]
    reached = (above == mctx.Tree.ROOT_INDEX) & (tree.node_visits[:, :1] > 0)
    place = jnp.cumsum(reached, axis=1, dtype=jnp.int32) - 1
    order, used = jnp.argsort(~reached, axis=1, stable=True), row <= place[:, -1:]

    def kept(rows: Array) -> Array:
        rows = rows[lane, order]
        return jnp.where(used.reshape(*used.shape, *[1] * (rows.ndim - 2)), rows, jnp.zeros_like(rows))

    def moved(rows: Array) -> Array:
        there = place[lane.reshape(-1, *[1] * (rows.ndim - 1)), jnp.maximum(rows, 0)]
        return kept(jnp.where(rows < 0, rows, there))

    names = ("node_visits", "raw_values", "node_values", "children_prior_logits", "children_visits")
    edges = ("children_rewards", "children_discounts", "children_values")
    return tree.replace(
        **{name: kept(tree[name]) for name in (*names, *edges)},
        children_index=moved(tree.children_index),
        parents=moved(tree.parents.at[:, 0].set(mctx.Tree.NO_PARENT)),
        action_from_parent=kept(tree.action_from_parent.at[:, 0].set(mctx.Tree.NO_PARENT)),
        embeddings=jax.tree.map(kept, tree.embeddings),
    )


def subtree(tree: mctx.Tree, action: Array) -> mctx.Tree:
    """The trees below an action int32[K] of their roots, with its visits and values; all other rows are free again.

    A tree has no nodes afterwards where nothing was below the action, and where this is negative: a search starts it
    anew. ``extra_data`` stays as it is.
    """
    child = tree.children_index[_lane(tree), mctx.Tree.ROOT_INDEX, jnp.maximum(action, 0)]
    there = (action >= 0) & (child != mctx.Tree.UNVISITED) & (tree.node_visits[:, 0] > 0)
    tree = with_root(tree, jnp.where(there, child, mctx.Tree.ROOT_INDEX))
    tree = compacted(tree.replace(node_visits=jnp.where(there[:, None], tree.node_visits, 0)))
    return tree.replace(root_invalid_actions=(~open_moves(tree)).astype(tree.root_invalid_actions.dtype))


def size(tree: mctx.Tree) -> Array:
    """The rows of each tree that hold a node, which come first: int32[K]."""
    return (tree.node_visits > 0).sum(axis=1, dtype=jnp.int32)


def most_visited(tree: mctx.Tree, score: Array, kept: Array | None = None) -> Array:
    """The most visited of the open moves of each root, of equal ones that of the highest score [K, A]: int32[K].

    Of the visits those of ``kept`` int32[K, A] do not count.
    """
    there, visits = open_moves(tree), tree.children_visits[:, mctx.Tree.ROOT_INDEX]
    visits = jnp.where(there, visits if kept is None else visits - kept, -1)
    best = visits == visits.max(axis=1, keepdims=True)
    return jnp.argmax(jnp.where(best & there, score, -jnp.inf), axis=1).astype(jnp.int32)
