"""Tree search with proofs: refutations are backed up, and a decided search ends.

The move to a position that the rules refute gets the logit of an illegal one, and a position without moves left is
itself refuted. A search is decided when it has an answer, its root is refuted, or its root has one move left. Then the
root moves along the tree.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import mctx
from jax import Array, lax

from jaxsudoku.core import env
from jaxsudoku.core.board import Board
from jaxsudoku.networks.base import ABSENT
from jaxsudoku.runtime.operations import select
from jaxsudoku.runtime.random import mix
from jaxsudoku.trees import Nodes, add_nodes, back_up, descend, empty, open_moves, put_roots, refute

from .evaluators import Evaluation, lowest
from .lanes import Lanes
from .policies import Policy
from .simulation import Found, Search, Selected
from .tree_config import GuidedConfig, MctsConfig, TreeConfig, most_nodes


class Node(NamedTuple):
    """The embedding of a node: the position, and the seed of the randomness below it."""

    state: env.State
    seed: Array


class At(NamedTuple):
    """The place of a position in the tree: below a move int32[K] of a node int32[K]; and its node's seed uint32[K]."""

    parent: Array
    move: Array
    seed: Array


#: (lanes before their roots move, which of them bool[K], the moves int32[K], seeds uint32[K]) -> their records.
Record = Callable[[Lanes, Array, Array, Array], Any]


def no_tree(board: Board, config: TreeConfig, policy: Policy, width: int) -> mctx.Tree:
    """K trees without nodes."""
    none, no = jnp.zeros(width, jnp.int32), jnp.zeros(width, bool)
    state = env.State(jnp.zeros((width, board.words), jnp.uint32), none, no, no)
    logits, seed = jnp.zeros((width, board.side), jnp.float32), none.astype(jnp.uint32)
    blank = Nodes(Node(state, seed), logits, logits[:, 0])
    return empty(most_nodes(config, board), blank, policy.prepare(logits, seed)[1])


def below(board: Board, tree: mctx.Tree, parent: Array, move: Array) -> tuple[Array, At]:
    """The packed candidates uint32[K, words] below a move int32[K] of a node int32[K], and their place in the tree."""
    above: Node = jax.tree.map(lambda leaf: leaf[jnp.arange(len(parent)), parent], tree.embeddings)
    nodes = env.exclude(above.state, jnp.arange(board.side) != move[:, None], board)
    return nodes, At(parent, move, mix(above.seed ^ mix(move.astype(jnp.uint32) + 1)))


def no_place(width: int) -> At:
    """Placeholder ``At`` for K positions."""
    none = jnp.zeros(width, jnp.int32)
    return At(none, none, none.astype(jnp.uint32))


def search(board: Board, config: GuidedConfig | MctsConfig, policy: Policy, record: Record | None = None) -> Search:
    """A search with proofs.

    Args:
      board: the board.
      config: the settings.
      policy: selects moves.
      record: updates the records after every search.
    """

    def begin(lanes: Lanes, which: Array, seed: Array) -> Lanes:
        root = lanes.root
        logits, extra = policy.prepare(root.logits, seed)
        tree = put_roots(lanes.tree, which, Nodes(Node(root.state, seed), logits, root.value), extra)
        return lanes._replace(tree=tree, size=jnp.where(which, 1, lanes.size), done=jnp.where(which, 0, lanes.done))

    def over(lanes: Lanes) -> Array:
        left = open_moves(lanes.tree).sum(axis=1, dtype=jnp.int32)
        return lanes.found | (left <= 1) | (lanes.done >= config.simulations)

    def chosen(lanes: Lanes, which: Array) -> Selected:
        parent, move, _ = descend(lanes.tree, which, policy.at_root, policy.inside)
        nodes, at = below(board, lanes.tree, parent, move)
        return Selected(nodes, lanes.work.state, jnp.zeros_like(which), at.seed, at)

    def expand(lanes: Lanes, which: Array, found: Found) -> Lanes:
        at: At = lanes.work.at
        evaluation, index = found.evaluation, lanes.size
        state = evaluation.state
        least = lowest(config)
        value = jnp.where(state.solved, 1.0, jnp.where(state.refuted, least, evaluation.value)).astype(jnp.float32)
        logits = jnp.where(state.terminated[:, None], ABSENT, evaluation.logits)
        tree = add_nodes(lanes.tree, which, Nodes(Node(state, at.seed), logits, value), index, at.parent, at.move)
        tree = back_up(tree, which, jnp.where(which, index, 0))
        tree = refute(tree, which & state.refuted, jnp.where(which, index, 0))
        work = lanes.work
        lanes = lanes.add_counts(jnp.where(which, work.iterations, 0), jnp.where(which, work.calls, 0))
        lanes = lanes.add_changes(which.astype(jnp.int32))
        return lanes.grown(tree, which, which, which & found.solved, found.answer)

    def move(lanes: Lanes, which: Array, seed: Array) -> Lanes:
        moves = policy.decide(lanes.tree)
        if record:
            lanes = lanes._replace(record=record(lanes, which, moves, seed))
        return _moved(board, config, lanes, which, moves)

    return Search(
        board.side,
        no_place,
        lambda width: no_tree(board, config, policy, width),
        begin,
        over,
        chosen,
        expand,
        move,
    )


def _moved(board: Board, config: TreeConfig, lanes: Lanes, which: Array, move: Array) -> Lanes:
    """Moves the roots of lanes: to an answer, to a refutation, or along the tree.

    A root makes the chosen move int32[K], and continues to the most visited child as long as this has a share
    ``config.reuse`` of the simulations.
    """
    tree, lane = lanes.tree, jnp.arange(len(which), dtype=jnp.int32)

    def going(now: tuple[Lanes, Array, Array, Array]) -> Array:
        return now[3].any()

    def walk(now: tuple[Lanes, Array, Array, Array]) -> tuple[Lanes, Array, Array, Array]:
        lanes, here, move, walking = now
        state = position(tree, here)
        others = jnp.arange(board.side) != move[:, None]
        left = open_moves(tree, here) & others
        lanes = lanes.push(env.exclude(state, ~left, board), walking & left.any(axis=1))
        child = tree.children_index[lane, here, move]
        visited = child != mctx.Tree.UNVISITED
        reached = Evaluation(
            position(tree, child), tree.children_prior_logits[lane, child], tree.raw_values[lane, child]
        )
        lanes = lanes._replace(root=select(walking & visited, reached, lanes.root))
        lanes = lanes.add_changes((walking & visited).astype(jnp.int32))
        lanes = lanes.go_to(env.exclude(state, others, board), walking & ~visited)
        visits = jnp.where(open_moves(tree, child), tree.children_visits[lane, child], 0)
        deeper = visits.max(axis=1) >= max(config.reuse * config.simulations, 1)
        return lanes, child, visits.argmax(axis=1).astype(jnp.int32), walking & visited & deeper & ~one_move_left

    count = open_moves(tree).sum(axis=1, dtype=jnp.int32)
    refuted, answered = which & (count == 0) & ~lanes.found, which & lanes.found
    one_move_left = count == 1
    state = lanes.state
    answer = state._replace(nodes=lanes.answer, refuted=jnp.zeros_like(which), solved=jnp.ones_like(which))
    lanes = lanes.with_roots(state._replace(refuted=jnp.ones_like(which)), refuted).with_roots(answer, answered)
    start = jnp.zeros(len(lane), jnp.int32)
    return lax.while_loop(going, walk, (lanes, start, move, which & ~refuted & ~answered))[0]


def position(tree: mctx.Tree, node: Array) -> env.State:
    """The positions of nodes int32[K]."""
    lane = jnp.arange(len(node))
    state: env.State = jax.tree.map(lambda leaf: leaf[lane, node], tree.embeddings.state)
    return state
