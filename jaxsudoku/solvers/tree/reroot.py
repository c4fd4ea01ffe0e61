"""How a root moves on along the tree that a search has grown."""

from __future__ import annotations

from typing import Any

import jax
import jax.numpy as jnp
import mctx
from jax import Array, lax

from jaxsudoku import env
from jaxsudoku.board import Board
from jaxsudoku.planes import select

from .backtracking import Advance, Lanes
from .config import TreeConfig
from .evaluators import Evaluation
from .policies import Think
from .proofs import Node, alive


def along_tree(board: Board, config: TreeConfig, think: Think) -> Advance:
    """Searches, then moves the roots on.

    A root goes to an answer if the tree holds one. Else it makes the move that the search chose, and goes on to the
    most visited child as long as that had its share of the simulations.
    """

    def advance(params: Any, lanes: Lanes, seed: Array) -> Lanes:
        return _move_on(board, config, lanes, *think(params, lanes.known, seed))

    return advance


def _move_on(board: Board, config: TreeConfig, lanes: Lanes, tree: mctx.Tree, move: Array) -> Lanes:
    """The lanes after a search: at an answer, at a proof, or at a root further on."""
    node: Node = tree.embeddings
    lane = jnp.arange(len(lanes.seen), dtype=jnp.int32)
    lanes = lanes.looking(node.looked.sum(axis=1, dtype=jnp.int32), node.calls.sum(axis=1, dtype=jnp.int32))
    open_moves = alive(tree)

    def position(here: Array) -> env.State:
        return jax.tree.map(lambda leaf: leaf[lane, here], node.state)

    def going(now: tuple[Lanes, Array, Array, Array]) -> Array:
        return now[3].any()

    def walk(now: tuple[Lanes, Array, Array, Array]) -> tuple[Lanes, Array, Array, Array]:
        lanes, here, move, walking = now
        state = position(here)
        others = jnp.arange(board.side) != move[:, None]
        left = open_moves[lane, here] & others
        lanes = lanes.push(env.exclude(state, ~left, board), walking & left.any(axis=1))
        child = tree.children_index[lane, here, move]
        known = (child != tree.UNVISITED) & (node.looked[lane, child] > 0)
        reached = Evaluation(
            position(child), tree.children_prior_logits[lane, child], tree.raw_values[lane, child],
            None if node.answer is None else node.answer[lane, child], node.found[lane, child],
            node.looked[lane, child], node.calls[lane, child],
        )  # fmt: skip
        lanes = lanes._replace(known=select(walking & known, reached, lanes.known))
        lanes = lanes.leave(env.exclude(state, others, board), walking & ~known)
        visits = jnp.where(open_moves[lane, child], tree.children_visits[lane, child], 0)
        deeper = visits.max(axis=1) >= max(config.reuse * config.simulations, 1)
        return lanes, child, visits.argmax(axis=1).astype(jnp.int32), walking & known & deeper & ~decided

    answered, refuted = node.found.any(axis=1), node.state.refuted[:, tree.ROOT_INDEX]
    over = answered | refuted
    # what the tree of such a lane grew after that depends on the other lanes
    decided = open_moves[:, tree.ROOT_INDEX].sum(axis=1, dtype=jnp.int32) <= 1
    first = node.found.argmax(axis=1)
    answer = position(first) if node.answer is None else lanes.state._replace(nodes=node.answer[lane, first])
    answer = answer._replace(refuted=jnp.zeros_like(over), solved=jnp.ones_like(over))
    lanes = lanes.at(lanes.state._replace(refuted=jnp.ones_like(over)), refuted).at(answer, answered)
    root = jnp.zeros(len(lane), jnp.int32)
    return lax.while_loop(going, walk, (lanes, root, move, ~over))[0]
