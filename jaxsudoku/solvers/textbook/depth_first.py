"""Depth-first search over partly filled grids.

The state of a search is the path from the root to the current node, each node with its unexplored children.

With actions "any" a grid can be reached by every order of its placements, but should be explored once. No table of
visited grids is needed: once the child of a node by some placement has been explored, so has every grid below the node
that contains this placement. So a placement tried at a node is banned below the node's later children.

With rules a banned placement may also be deduced. Then the grid was explored before, and the search backtracks. This is
correct because the rules reach the same result in any order, unless they find a contradiction. A placement that the
rules refuted is banned like any other, as no solution below contains it.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jax import Array

from jaxsudoku.core.board import Board
from jaxsudoku.engine.solution import Solution
from jaxsudoku.runtime.operations import select
from jaxsudoku.runtime.random import APART, mix
from jaxsudoku.solvers.queue import Answer, Method, Start, run, saturating_add, select_but

from .nodes import Inspection, first_cell, first_placement, grids, in_cell, inspect, literal, place, unpacked
from .textbook_config import DepthFirstConfig


class Frame(NamedTuple):
    """Nodes on the paths, [K, ...] or [K, depth, ...].

    Attributes:
      nodes: uint32[words], the node.
      legal: uint32[words], its legal placements; None with actions "cell", which do not use them.
      pending: uint32[words], its placements that are not explored yet; at least one.
    """

    nodes: Array
    legal: Array | None
    pending: Array


class Path(NamedTuple):
    """State of K searches.

    Attributes:
      frames: [K, cells], the nodes of the path that have unexplored children.
      depth: int32[K], the number of frames.
      nodes: uint32[K, words], the next node; of a finished search the last one.
      banned: uint32[K, words], placements with fully explored subtrees; None with actions "cell".
      seeds: uint32[K].
      steps: int32[K].
      explored: int32[K], nodes explored, including the root.
      solved: bool[K].
      refuted: bool[K], whether all nodes were explored.
    """

    frames: Any
    depth: Array
    nodes: Array
    banned: Array | None
    seeds: Array
    steps: Array
    explored: Array
    solved: Array
    refuted: Array


def depth_first(board: Board, puzzles: Array, key: Array, config: DepthFirstConfig, /) -> Solution:
    """Depth-first graph search over partly filled grids (Russell and Norvig, Artificial Intelligence, section 3.4).

    Pure; jit it with ``board`` and ``config`` static.

    Args:
      board: the board.
      puzzles: uint8[N, cells], 0 = empty.
      key: a JAX key; each puzzle's randomness comes from it and from the puzzle's index.
      config: the settings.

    Returns:
      A ``Solution``, UNSATISFIABLE where all nodes were explored. ``iterations`` int32[N] are the nodes explored (taken
      from the frontier and tested), including the root; 0 for an INVALID puzzle.
    """
    lanes = config.resolve(board, "cpu").lanes
    return run(method(board, config), board, puzzles, key, rules=config.rules, lanes=lanes)


def method(board: Board, config: DepthFirstConfig) -> Method[Path]:
    """Depth-first search as a ``queue.Method``; a step tests one node, expands it, and goes to its first child."""

    def init(start: Start) -> Path:
        nodes = start.nodes.T
        size = len(nodes)
        number, false = jnp.zeros(size, jnp.int32), jnp.zeros(size, bool)
        nothing = jnp.zeros_like(nodes) if config.actions == "any" else None
        frame = Frame(nodes, nothing, nodes)
        frames = jax.tree.map(lambda leaf: jnp.zeros((size, board.cells, board.words), leaf.dtype), frame)
        return Path(frames, number, nodes, nothing, start.seeds, number, number, false, false)

    def step(path: Path) -> Path:
        node = inspect(board, path.nodes, config.rules)
        known = jnp.zeros_like(node.dead)
        if path.banned is not None:  # the filled cells of a dead node are undefined
            known = ~node.dead & (node.filled & path.banned).any(axis=1)
        noise = mix(path.seeds ^ path.steps.astype(jnp.uint32) * APART)
        pending = _children(board, config, path, node, noise)
        deeper = ~(node.dead | known) & pending.any(axis=1)
        lane = jnp.arange(len(noise))
        at = jnp.where(deeper, path.depth, path.depth - 1)
        above = jax.tree.map(lambda leaf: leaf[lane, jnp.maximum(at, 0)], path.frames)
        here = Frame(node.nodes, None if above.legal is None else node.legal, pending)
        frame = select(deeper, here, above)
        digit, cell = _first_child(board, config, frame, noise)
        left = frame.pending & ~literal(board, digit, cell)
        # a node leaves the path with its last child
        more = left.any(axis=1)
        to = jnp.where(more & (at >= 0), at, board.cells)
        frames = jax.tree.map(
            lambda leaf, value: leaf.at[lane, to].set(value, mode="drop"), path.frames, frame._replace(pending=left)
        )
        return Path(
            frames=frames,
            depth=jnp.maximum(at + more.astype(jnp.int32), 0),
            nodes=jnp.where(node.solved[:, None], node.nodes, place(board, frame.nodes, digit, cell)),
            banned=None if frame.legal is None else frame.legal & ~frame.pending,
            seeds=path.seeds,
            steps=path.steps + 1,
            explored=saturating_add(path.explored, (~known).astype(jnp.int32)),
            solved=node.solved,
            refuted=~node.solved & (at < 0),
        )

    def done(path: Path) -> Array:
        spent = (path.explored >= config.budget) if config.budget else jnp.zeros_like(path.solved)
        return path.solved | path.refuted | spent

    def postprocess(path: Path) -> Answer:
        return Answer(grids(board, path.nodes), path.solved, path.refuted, jnp.maximum(path.explored, 1), {})

    return Method(init, step, done, postprocess, select=select_but("frames"))


def _children(board: Board, config: DepthFirstConfig, path: Path, node: Inspection, noise: Array) -> Array:
    """The placements that lead to unexplored children: uint32[K, words]."""
    if path.banned is not None:
        return node.legal & ~path.banned
    rank = jnp.zeros(node.empty.shape, jnp.uint32)
    if config.order == "random":
        rank = _drawn(noise, node.empty.shape[1:])
    elif config.order == "sorted":
        rank = node.counts
    return node.legal & in_cell(board, first_cell(node.empty, rank))


def _first_child(board: Board, config: DepthFirstConfig, frame: Frame, noise: Array) -> tuple[Array, Array]:
    """The first pending placement: digit and cell, int32[K] each."""
    pending = unpacked(board, frame.pending)
    rank = jnp.zeros((len(noise), 1, 1), jnp.uint32)
    if config.order == "random":
        rank = _drawn(~noise, pending.shape[1:])  # independent of the numbers that drew the cell
    elif config.order == "sorted" and frame.legal is not None:  # otherwise all pending placements are in one cell
        rank = unpacked(board, frame.legal).sum(axis=1, keepdims=True, dtype=jnp.uint32)
    return first_placement(pending, rank)


def _drawn(noise: Array, shape: tuple[int, ...]) -> Array:
    """Random numbers from each node's seed: uint32[K] to uint32[K, *shape]."""
    number = np.arange(1, np.prod(shape) + 1, dtype=np.uint32).reshape(shape) * APART
    return mix(noise.reshape(-1, *(1,) * len(shape)) ^ number)
