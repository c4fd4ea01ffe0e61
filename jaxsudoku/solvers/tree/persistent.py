"""Tree search of the AlphaSudoku study: keeps its tree from move to move, without proofs.

After a number of simulations the root makes one move, and the next search continues in the same tree, with the visits
and values below the new root. A position that can't be continued is an ordinary leaf; its reward is backed up at every
visit. There is no backtracking: a puzzle ends when a rollout solves it, or at a root that can't be continued.
"""

from __future__ import annotations

from typing import NamedTuple

import jax.numpy as jnp
import mctx
from jax import Array

from jaxsudoku.core import env
from jaxsudoku.core.board import Board
from jaxsudoku.runtime.operations import select
from jaxsudoku.trees import Nodes, add_nodes, back_up, descend, put_roots, with_root

from .evaluators import Evaluation, hash_nodes, terminal_value
from .lanes import Lanes
from .policies import Policy
from .proving import At, Node, below, no_place, no_tree, position
from .simulation import Found, Recorder, Search, Selected
from .tree_config import SEEN, AlphaSudokuConfig, MctsConfig, counts_seen_grids


class Kept(NamedTuple):
    """Records of K puzzles that are kept between searches, besides their trees.

    Attributes:
      seen: uint32[K, SEEN], hashes of the positions that the network has evaluated, padded with 0; None if they are not
        counted.
      positions: int32[K], their number.
      nodes: int32[K], the nodes of the tree when the search began.
      full: bool[K], whether the solution is a node of the tree.
    """

    seen: Array | None
    positions: Array
    nodes: Array
    full: Array


class _At(NamedTuple):
    """The place of a position, and whether it is a new node, bool[K]; otherwise it is the parent itself."""

    place: At
    fresh: Array


def recorder(config: AlphaSudokuConfig | MctsConfig) -> Recorder:
    """The recorder of ``Kept``."""

    def empty(width: int) -> Kept:
        none, no = jnp.zeros(width, jnp.int32), jnp.zeros(width, bool)
        return Kept(jnp.zeros((width, SEEN), jnp.uint32) if counts_seen_grids(config) else None, none, none, no)

    return Recorder(empty)


def search(board: Board, config: AlphaSudokuConfig | MctsConfig, policy: Policy) -> Search:
    """The search of the AlphaSudoku study."""

    def begin(lanes: Lanes, which: Array, seed: Array) -> Lanes:
        new, root, kept = which & (lanes.size == 0), lanes.root, lanes.record
        # the evaluation of a new root counts as the first simulation
        tree = put_roots(lanes.tree, new, Nodes(Node(root.state, seed), root.logits, root.value))
        size = jnp.where(new, 1, lanes.size)
        kept = kept._replace(
            nodes=jnp.where(which, size, kept.nodes), full=jnp.where(which, root.state.solved, kept.full)
        )
        done = jnp.where(which, new.astype(jnp.int32), lanes.done)
        found = lanes.found & ~(which & ~new)
        return lanes._replace(tree=tree, size=size, done=done, found=found, record=kept)

    def over(lanes: Lanes) -> Array:
        return lanes.found | (lanes.done >= config.simulations)

    def chosen(lanes: Lanes, which: Array) -> Selected:
        tree = lanes.tree
        parent, move, fresh = descend(tree, which, policy.at_root, policy.inside, tree.embeddings.state.terminated)
        nodes, at = below(board, tree, parent, move)
        return Selected(nodes, position(tree, parent), ~fresh, at.seed, _At(at, fresh))

    def expand(lanes: Lanes, which: Array, found: Found) -> Lanes:
        at, fresh = lanes.work.at
        new, evaluation, work = which & fresh, found.evaluation, lanes.work
        state, kept = evaluation.state, lanes.record
        value = jnp.where(state.terminated, terminal_value(board, config, state), evaluation.value)
        node = Nodes(Node(state, at.seed), evaluation.logits, value)
        tree = add_nodes(lanes.tree, new, node, lanes.size, at.parent, at.move)
        tree = back_up(tree, which, jnp.where(new, lanes.size, at.parent))
        iterations = jnp.where(new, work.iterations, 1)
        solved = new & found.solved
        lanes = lanes.add_counts(jnp.where(which, iterations, 0), jnp.where(new, work.calls, 0))
        lanes = lanes._replace(record=kept._replace(full=kept.full | (solved & state.solved)))
        return lanes.grown(tree, which, new, solved, found.answer)

    def look(lanes: Lanes, asked: Array) -> Lanes:
        kept: Kept = lanes.record
        if kept.seen is None:
            return lanes
        code = hash_nodes(board, lanes.work.state.nodes)
        new = asked & ~(kept.seen == code[:, None]).any(axis=1)
        lane = jnp.arange(len(new), dtype=jnp.int32)
        seen = kept.seen.at[jnp.where(new, lane, len(lane)), kept.positions].set(code, mode="drop")
        kept = kept._replace(seen=seen, positions=kept.positions + new.astype(jnp.int32))
        return lanes._replace(record=kept)

    def move(lanes: Lanes, which: Array, seed: Array) -> Lanes:
        del seed
        kept, tree, found = lanes.record, lanes.tree, lanes.found & which
        # the study continues to simulate at the solution, which it expands unless it is in the tree
        left = config.simulations - lanes.done
        rest = jnp.where(found, left + ((left > 0) & ~kept.full), 0)
        lanes = lanes.add_changes(jnp.where(which, lanes.size - kept.nodes + rest + 1, 0))
        if kept.seen is not None:
            lanes = lanes._replace(calls=kept.positions)
        moves, lane = policy.decide(tree), jnp.arange(len(which), dtype=jnp.int32)
        child = tree.children_index[lane, 0, moves]
        there = which & (child != mctx.Tree.UNVISITED)
        state, others = position(tree, jnp.zeros_like(child)), jnp.arange(board.side) != moves[:, None]
        logits, value = tree.children_prior_logits[lane, child], tree.raw_values[lane, child]
        reached = Evaluation(position(tree, child), logits, value)
        moved = lanes._replace(root=select(there, reached, lanes.root))
        moved = moved.go_to(env.exclude(state, others, board), which & ~there & ~found)
        solved = state._replace(nodes=lanes.answer, refuted=jnp.zeros_like(found), solved=jnp.ones_like(found))
        moved = moved.with_roots(solved, found)
        size = jnp.where(which & ~there, 0, lanes.size)
        return moved._replace(size=size, tree=with_root(tree, jnp.where(there, child, 0)))

    def at(width: int) -> _At:
        return _At(no_place(width), jnp.zeros(width, bool))

    return Search(
        board.side,
        at,
        lambda width: no_tree(board, config, policy, width),
        begin,
        over,
        chosen,
        expand,
        move,
        look=look,
    )
