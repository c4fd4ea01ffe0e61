"""Moves roots along the trees that a search has grown."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
import mctx
from jax import Array, lax

from jaxsudoku.core import env
from jaxsudoku.core.board import Board
from jaxsudoku.runtime.operations import select

from .backtracking import Advance, Lanes
from .evaluators import Evaluation
from .policies import Decision, Policy
from .proofs import Node, open_moves
from .tree_config import TreeConfig

#: (lanes before a search, its decision, seeds uint32[K]) to the lanes' records after it.
Record = Callable[[Lanes, Decision, Array], Any]


def along_tree(board: Board, config: TreeConfig, policy: Policy, record: Record | None = None) -> Advance:
    """Searches, then moves the roots.

    A root goes to an answer if the tree holds one. Otherwise it makes the chosen move, and continues to the most
    visited child as long as this has a share ``config.reuse`` of the simulations. ``record`` keeps what it needs of
    every search.
    """

    def advance(params: Any, lanes: Lanes, seed: Array) -> Lanes:
        decision = policy(params, lanes.root, seed)
        if record:
            lanes = lanes._replace(record=record(lanes, decision, seed))
        return _move(board, config, lanes, *decision)

    return advance


def _move(board: Board, config: TreeConfig, lanes: Lanes, tree: mctx.Tree, move: Array) -> Lanes:
    """The lanes after a search: at an answer, at a refutation, or at a deeper root."""
    node: Node = tree.embeddings
    lane = jnp.arange(len(lanes.evaluated), dtype=jnp.int32)
    lanes = lanes.add_counts(node.iterations.sum(axis=1, dtype=jnp.int32), node.calls.sum(axis=1, dtype=jnp.int32))
    lanes = lanes.add_changes((node.iterations > 0).sum(axis=1, dtype=jnp.int32))
    moves_left = open_moves(tree)

    def position(here: Array) -> env.State:
        return jax.tree.map(lambda leaf: leaf[lane, here], node.state)

    def going(now: tuple[Lanes, Array, Array, Array]) -> Array:
        return now[3].any()

    def walk(now: tuple[Lanes, Array, Array, Array]) -> tuple[Lanes, Array, Array, Array]:
        lanes, here, move, walking = now
        state = position(here)
        others = jnp.arange(board.side) != move[:, None]
        left = moves_left[lane, here] & others
        lanes = lanes.push(env.exclude(state, ~left, board), walking & left.any(axis=1))
        child = tree.children_index[lane, here, move]
        visited = (child != tree.UNVISITED) & (node.iterations[lane, child] > 0)
        reached = Evaluation(
            state=position(child),
            logits=tree.children_prior_logits[lane, child],
            value=tree.raw_values[lane, child],
            answer=None if node.answer is None else node.answer[lane, child],
            found=node.found[lane, child],
            iterations=node.iterations[lane, child],
            calls=node.calls[lane, child],
        )
        lanes = lanes._replace(root=select(walking & visited, reached, lanes.root))
        lanes = lanes.add_changes((walking & visited).astype(jnp.int32))
        lanes = lanes.go_to(env.exclude(state, others, board), walking & ~visited)
        visits = jnp.where(moves_left[lane, child], tree.children_visits[lane, child], 0)
        deeper = visits.max(axis=1) >= max(config.reuse * config.simulations, 1)
        return lanes, child, visits.argmax(axis=1).astype(jnp.int32), walking & visited & deeper & ~one_move_left

    answered, refuted = node.found.any(axis=1), node.state.refuted[:, tree.ROOT_INDEX]
    over = answered | refuted
    # a lane with one move left stops early, but mctx still counts its visits while other lanes search:
    # so it makes this move only, whatever the counts say
    one_move_left = moves_left[:, tree.ROOT_INDEX].sum(axis=1, dtype=jnp.int32) <= 1
    first = node.found.argmax(axis=1)
    answer = position(first) if node.answer is None else lanes.state._replace(nodes=node.answer[lane, first])
    answer = answer._replace(refuted=jnp.zeros_like(over), solved=jnp.ones_like(over))
    lanes = lanes.with_roots(lanes.state._replace(refuted=jnp.ones_like(over)), refuted).with_roots(answer, answered)
    start = jnp.zeros(len(lane), jnp.int32)
    return lax.while_loop(going, walk, (lanes, start, move, ~over))[0]
