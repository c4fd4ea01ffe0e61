"""Tree search that keeps its tree from move to move, without proofs: that of the AlphaSudoku study.

A search has a number of simulations. Then the root makes one move, and the next search goes on in the same tree, with
the visits and values below the new root. A position that can't be continued is a leaf as any other, whose reward is
backed up at every visit. Nothing is undone: a puzzle ends when a rollout solves it, or with a root that can't be
continued.

The trees are mctx's, but a tree of all searches is too large for its loop, which copies whole arrays in each step. The
loop here changes the rows of a simulation alone.
"""

from __future__ import annotations

import functools
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import mctx
import numpy as np
from jax import Array, lax

from jaxsudoku.core import env
from jaxsudoku.core.board import Board
from jaxsudoku.runtime.operations import select
from jaxsudoku.runtime.random import mix

from .backtracking import Advance, Lanes, Recorder
from .evaluators import Evaluate, Evaluation, terminal_value
from .policies import Score, best_move, highest_move
from .tree_config import LOOKS, SEEN, AlphaSudokuConfig, MctsConfig, keeps_looks, most_nodes


class Kept(NamedTuple):
    """What K puzzles keep between searches, beside their trees.

    Attributes:
      size: int32[K], the nodes of the tree; 0 where there is none.
      seen: uint32[K, SEEN], the largest of the hashes of positions that the network has seen, descending, then 0; None
        if they are not counted.
      positions: int32[K], their number.
    """

    size: Array
    seen: Array | None
    positions: Array


class _Node(NamedTuple):
    """The embedding of a node: the position, and the seed of the randomness below it."""

    state: env.State
    seed: Array


class _Growth(NamedTuple):
    """The loop of a search.

    Attributes:
      tree: the trees.
      size: int32[K], their nodes.
      done: int32[K], simulations of this search.
      answer: uint32[K, words], packed candidates: a solution, where one was found.
      found: bool[K].
      full: bool[K], whether the solution is a node of the tree.
      iterations, calls: int32[K], grids evaluated and network calls of this search.
      looks: uint32[K, simulations, LOOKS], hashes of positions that the network has seen; None if they are not kept.
    """

    tree: mctx.Tree
    size: Array
    done: Array
    answer: Array
    found: Array
    full: Array
    iterations: Array
    calls: Array
    looks: Array | None


def recorder(board: Board, config: AlphaSudokuConfig | MctsConfig) -> Recorder:
    """What puzzles keep between searches; their trees are storage that new puzzles need not clear."""

    def empty(width: int) -> Kept:
        none = jnp.zeros(width, jnp.int32)
        return Kept(none, jnp.zeros((width, SEEN), jnp.uint32) if keeps_looks(config) else None, none)

    def trees(width: int) -> mctx.Tree:
        rows = (width, most_nodes(config, board))
        number, real = jnp.zeros(rows, jnp.int32), jnp.zeros(rows, jnp.float32)
        moves, reals = (jnp.zeros((*rows, board.side), leaf.dtype) for leaf in (number, real))
        flag = jnp.zeros(rows, bool)
        state = env.State(jnp.zeros((*rows, board.words), jnp.uint32), number, flag, flag)
        return mctx.Tree(
            node_visits=number,
            raw_values=real,
            node_values=real,
            parents=number,
            action_from_parent=number,
            children_index=moves,
            children_prior_logits=reals,
            children_visits=moves,
            children_rewards=reals,  # none: the reward of a leaf is its value
            children_discounts=reals,
            children_values=reals,
            embeddings=_Node(state, number.astype(jnp.uint32)),
            root_invalid_actions=jnp.zeros((width, board.side), jnp.float32),
            extra_data=None,
        )

    return Recorder(empty, lambda kept: {}, trees)


def along_kept_tree(board: Board, config: AlphaSudokuConfig | MctsConfig, evaluate: Evaluate, score: Score) -> Advance:
    """Searches, then moves the roots: to an answer, or by one move."""

    def advance(params: Any, lanes: Lanes, seed: Array) -> Lanes:
        kept: Kept = lanes.record
        grown = _grow(board, config, evaluate, score, params, lanes, seed)
        tree, found = grown.tree, grown.found
        lane, root = jnp.arange(len(found), dtype=jnp.int32), jnp.zeros(len(found), jnp.int32)
        # the study goes on to simulate in the solution, which it expands unless it is in the tree
        left = config.simulations - grown.done
        rest = jnp.where(found, left + ((left > 0) & ~grown.full), 0)
        expanded = grown.size - jnp.where(kept.size == 0, 1, kept.size)
        lanes = lanes.add_counts(grown.iterations, grown.calls).add_changes(expanded + rest + 1)
        if grown.looks is not None and kept.seen is not None:
            new = (kept.size == 0)[:, None, None]
            root_looks = jnp.where(new, jnp.asarray(lanes.root.looks)[:, None], 0)
            kept = with_seen(kept, kept.seen, jnp.concatenate([grown.looks, root_looks], axis=1))
            lanes = lanes._replace(calls=kept.positions)

        move = best_move(config, tree)
        child = tree.children_index[lane, root, move]
        there = child != tree.UNVISITED
        state: env.State = jax.tree.map(lambda leaf: leaf[lane, 0], tree.embeddings.state)
        reached = _evaluation_of(tree, lanes.root, lane, child)
        others = jnp.arange(board.side) != move[:, None]
        moved = lanes._replace(root=select(there, reached, lanes.root))
        moved = moved.go_to(env.exclude(state, others, board), ~there & ~found)
        solved = state._replace(nodes=grown.answer, refuted=jnp.zeros_like(found), solved=jnp.ones_like(found))
        moved = moved.with_roots(solved, found)
        kept = kept._replace(size=jnp.where(there, grown.size, 0))
        return moved._replace(record=kept, storage=with_root(tree, jnp.where(there, child, 0)))

    return advance


def _evaluation_of(tree: mctx.Tree, like: Evaluation, lane: Array, node: Array) -> Evaluation:
    """The evaluation of a node of each tree; what trees do not keep is that of another evaluation."""
    state = jax.tree.map(lambda leaf: leaf[lane, node], tree.embeddings.state)
    logits, value = tree.children_prior_logits[lane, node], tree.raw_values[lane, node]
    return like._replace(state=state, logits=logits, value=value, found=jnp.zeros_like(like.found))


def _grow(
    board: Board,
    config: AlphaSudokuConfig | MctsConfig,
    evaluate: Evaluate,
    score: Score,
    params: Any,
    lanes: Lanes,
    seed: Array,
) -> _Growth:
    """The simulations of a search; the evaluation of a new root counts as the first one."""
    kept: Kept = lanes.record
    new, over = kept.size == 0, lanes.root.found | lanes.state.terminated
    lane, none = jnp.arange(len(new), dtype=jnp.int32), jnp.zeros(len(new), jnp.int32)

    def simulate(now: _Growth) -> _Growth:
        active = ~(over | now.found) & (now.done < config.simulations)
        tree = now.tree
        parent, move, fresh = _descend(tree, score, active)
        above: _Node = jax.tree.map(lambda leaf: leaf[lane, parent], tree.embeddings)
        resting = above.state._replace(refuted=above.state.refuted | ~fresh)  # no rollouts for these lanes
        below = mix(above.seed ^ mix(move.astype(jnp.uint32) + 1))
        leaf = evaluate(params, env.step(resting, move, board, config.rules), below)
        leaf = leaf._replace(
            value=jnp.where(leaf.state.terminated, terminal_value(board, config, leaf.state), leaf.value)
        )
        tree = _add(tree, leaf, below, jnp.where(fresh, now.size, most_nodes(config, board)), parent, move)
        end = jnp.where(fresh, now.size, parent)
        tree = _back_up(tree, jnp.where(active, end, 0), active)
        solved = fresh & leaf.found
        looks = now.looks
        if looks is not None:
            looks = looks.at[lane, jnp.where(fresh, now.done, config.simulations)].set(leaf.looks, mode="drop")
        iterations = jnp.where(fresh, leaf.iterations, active.astype(jnp.int32))
        return _Growth(
            tree,
            now.size + fresh.astype(jnp.int32),
            now.done + active.astype(jnp.int32),
            jnp.where(solved[:, None], leaf.state.nodes if leaf.answer is None else leaf.answer, now.answer),
            now.found | solved,
            now.full | (solved & leaf.state.solved),
            now.iterations + iterations,
            now.calls + jnp.where(fresh, leaf.calls, 0),
            looks,
        )

    root = lanes.root
    answer = root.state.nodes if root.answer is None else root.answer
    tree = _add(lanes.storage, root, seed, jnp.where(new, 0, most_nodes(config, board)), none, none)
    looks = jnp.zeros((len(new), config.simulations, LOOKS), jnp.uint32) if keeps_looks(config) else None
    size, done = jnp.where(new, 1, kept.size), new.astype(jnp.int32)
    start = _Growth(tree, size, done, answer, root.found, root.state.solved, none, none, looks)

    def going(now: _Growth) -> Array:
        return (~(over | now.found) & (now.done < config.simulations)).any()

    return lax.while_loop(going, simulate, start)


def _descend(tree: mctx.Tree, score: Score, active: Array) -> tuple[Array, Array, Array]:
    """Follows the moves of the highest scores from the roots.

    Returns:
      the last node int32[K], the move from there int32[K], and whether it leads to a new node bool[K]; elsewhere the
      node is a leaf that can't be continued.
    """
    lane, none = jnp.arange(len(active), dtype=jnp.int32), jnp.zeros(len(active), jnp.int32)

    def down(now: tuple[Array, Array, Array]) -> tuple[Array, Array, Array]:
        node, _, going = now
        move = jax.vmap(functools.partial(highest_move, score))(tree, node)
        child = tree.children_index[lane, node, move]
        ended = tree.embeddings.state.terminated[lane, node]
        further = going & ~ended & (child != tree.UNVISITED)
        return jnp.where(further, child, node), move, further

    node, move, _ = lax.while_loop(lambda now: now[2].any(), down, (none, none, active))
    return node, move, active & ~tree.embeddings.state.terminated[lane, node]


def _add(tree: mctx.Tree, leaf: Evaluation, seed: Array, node: Array, parent: Array, move: Array) -> mctx.Tree:
    """Adds nodes at indices int32[K], none where these are past the end; node 0 becomes a root."""
    lane, end = jnp.arange(len(node), dtype=jnp.int32), tree.parents.shape[1]
    above = jnp.where((node == 0) | (node == end), end, parent)

    def put(rows: Array, values: Any) -> Array:
        return rows.at[lane, node].set(values, mode="drop")

    return tree.replace(
        node_visits=put(tree.node_visits, (node == 0).astype(jnp.int32)),
        raw_values=put(tree.raw_values, leaf.value),
        node_values=put(tree.node_values, leaf.value),
        parents=put(tree.parents, parent),
        action_from_parent=put(tree.action_from_parent, move),
        children_index=put(tree.children_index, tree.UNVISITED).at[lane, above, move].set(node, mode="drop"),
        children_prior_logits=put(tree.children_prior_logits, leaf.logits),
        children_visits=put(tree.children_visits, 0),
        children_discounts=put(tree.children_discounts, np.float32(1)),
        children_values=put(tree.children_values, np.float32(0)),
        embeddings=jax.tree.map(put, tree.embeddings, _Node(leaf.state, seed)),
    )


def _back_up(tree: mctx.Tree, leaf: Array, active: Array) -> mctx.Tree:
    """Adds the values of leaves to the means of the nodes above them, and a visit to all on the way."""
    lane, end = jnp.arange(len(leaf), dtype=jnp.int32), tree.parents.shape[1]
    value = tree.raw_values[lane, leaf]
    visits = tree.node_visits.at[lane, jnp.where(active, leaf, end)].add(1, mode="drop")

    def up(now: tuple[mctx.Tree, Array, Array]) -> tuple[mctx.Tree, Array, Array]:
        tree, node, going = now
        above, move = tree.parents[lane, node], tree.action_from_parent[lane, node]
        there = jnp.where(going, above, end)
        count = tree.node_visits[lane, above].astype(jnp.float32)
        mean = (tree.node_values[lane, above] * count + value) / (count + 1)
        tree = tree.replace(
            node_visits=tree.node_visits.at[lane, there].add(1, mode="drop"),
            node_values=tree.node_values.at[lane, there].set(mean, mode="drop"),
            children_visits=tree.children_visits.at[lane, there, move].add(1, mode="drop"),
            children_values=tree.children_values.at[lane, there, move].set(tree.node_values[lane, node], mode="drop"),
        )
        return tree, above, going & (above != tree.ROOT_INDEX)

    start = tree.replace(node_visits=visits), leaf, active & (leaf != tree.ROOT_INDEX)
    return lax.while_loop(lambda now: now[2].any(), up, start)[0]


def with_root(tree: mctx.Tree, node: Array) -> mctx.Tree:
    """The trees in which a node int32[K] is in the place of the root; nodes that are not below it are out of reach."""
    lane, end = jnp.arange(len(node), dtype=jnp.int32), tree.parents.shape[1]

    def moved(rows: Array) -> Array:
        return rows.at[:, 0].set(rows[lane, node])

    children = tree.children_index[lane, node]
    below = jnp.where(children == tree.UNVISITED, end, children)
    return tree.replace(
        node_visits=moved(tree.node_visits),
        raw_values=moved(tree.raw_values),
        node_values=moved(tree.node_values),
        parents=tree.parents.at[lane[:, None], below].set(tree.ROOT_INDEX, mode="drop"),
        children_index=moved(tree.children_index),
        children_prior_logits=moved(tree.children_prior_logits),
        children_visits=moved(tree.children_visits),
        children_values=moved(tree.children_values),
        embeddings=jax.tree.map(moved, tree.embeddings),
    )


def with_seen(kept: Kept, seen: Array, hashes: Array) -> Kept:
    """What is kept after the network has seen positions with these hashes uint32[K, n, LOOKS], 0 for none."""
    before = (seen > 0).sum(axis=1, dtype=jnp.int32)
    everything = jnp.concatenate([seen, hashes.reshape(len(hashes), -1)], axis=1)
    ordered = jnp.sort(everything, axis=1, descending=True)
    once = ordered.at[:, 1:].set(jnp.where(ordered[:, 1:] == ordered[:, :-1], 0, ordered[:, 1:]))
    more = (once > 0).sum(axis=1, dtype=jnp.int32) - before
    return kept._replace(seen=jnp.sort(once, axis=1, descending=True)[:, :SEEN], positions=kept.positions + more)
