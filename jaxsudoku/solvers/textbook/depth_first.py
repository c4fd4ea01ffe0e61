"""Depth-first search: a path of nodes from the root to where the search is, each with the children left to explore.

That path is all there is to remember, with actions "any" too, where a grid is come to in every order of its placements
and is to be explored once. What was explored is known from the path alone: when a node's child by a placement has been
explored to its end, so has every grid below the node that holds this placement, in whatever order it would be come to.
So a placement that was tried at a node is banned below its later children. This does what a closed set of all grids
does, and needs no table.

With rules a banned placement may also be deduced; then the grid was explored, and is left at once. That rests on rules
that come to the same end in any order, as they do where they find no contradiction. A placement that they refuted is
banned like any other: with it, nothing is left below.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jax import Array

from jaxsudoku.board import Board
from jaxsudoku.planes import select
from jaxsudoku.random import APART, mix
from jaxsudoku.solution import Solution
from jaxsudoku.solvers.queue import Answer, Method, Start, run, saturating_add

from .config import DepthFirstConfig
from .nodes import Look, first_cell, first_placement, grids, in_cell, literal, look, place, unpacked


class Frame(NamedTuple):
    """Nodes of paths, [K, ...] or [K, depth, ...].

    Attributes:
      nodes: uint32[words], the node.
      legal: uint32[words], its legal placements; None where nothing asks for them, with actions "cell".
      pending: uint32[words], those that are to be explored yet; at least one.
    """

    nodes: Array
    legal: Array | None
    pending: Array


class Path(NamedTuple):
    """K searches.

    Attributes:
      frames: the nodes [K, cells] of the path that have children left.
      depth: int32[K], how many these are.
      nodes: uint32[K, words], the node that is looked at next; of a search that is over the last one.
      banned: uint32[K, words], placements below which all was explored; None with actions "cell".
      seeds: uint32[K].
      steps: int32[K].
      explored: int32[K], nodes that were explored, the root among them.
      solved: bool[K].
      refuted: bool[K], whether all was explored.
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

    Pure; to be jitted with ``board`` and ``config`` static.

    Args:
      board: the board.
      puzzles: uint8[N, cells], 0 = empty.
      key: a JAX key; each puzzle's randomness comes from it and from the puzzle's index.
      config: the settings.

    Returns:
      A ``Solution``. UNSATISFIABLE is said where all nodes were explored. ``iterations`` int32[N] are the nodes that
      were explored, which means taken from the frontier and tested for being solved, dead or to be expanded, the root
      among them; 0 of an INVALID puzzle.
    """
    lanes = config.resolve(board, "cpu").lanes
    return run(method(board, config), board, puzzles, key, rules=config.rules, lanes=lanes)


def method(board: Board, config: DepthFirstConfig) -> Method[Path]:
    """Depth-first search as the settings say; a step looks at one node, expands it, and goes on to its first child."""

    def init(start: Start) -> Path:
        nodes = start.nodes.T
        size = len(nodes)
        number, false = jnp.zeros(size, jnp.int32), jnp.zeros(size, bool)
        nothing = jnp.zeros_like(nodes) if config.actions == "any" else None
        frame = Frame(nodes, nothing, nodes)
        frames = jax.tree.map(lambda leaf: jnp.zeros((size, board.cells, board.words), leaf.dtype), frame)
        return Path(frames, number, nodes, nothing, start.seeds, number, number, false, false)

    def step(path: Path) -> Path:
        seen = look(board, path.nodes, config.rules)
        known = jnp.zeros_like(seen.dead)
        if path.banned is not None:  # what a dead node is filled with means nothing
            known = ~seen.dead & (seen.filled & path.banned).any(axis=1)
        noise = mix(path.seeds ^ path.steps.astype(jnp.uint32) * APART)
        pending = _children(board, config, path, seen, noise)
        deeper = ~(seen.dead | known) & pending.any(axis=1)
        lane = jnp.arange(len(noise))
        at = jnp.where(deeper, path.depth, path.depth - 1)
        above = jax.tree.map(lambda leaf: leaf[lane, jnp.maximum(at, 0)], path.frames)
        here = Frame(seen.nodes, None if above.legal is None else seen.legal, pending)
        frame = select(deeper, here, above)
        digit, cell = _first_child(board, config, frame, noise)
        left = frame.pending & ~literal(board, digit, cell)
        # a node whose last child this is needs no coming back
        more = left.any(axis=1)
        to = jnp.where(more & (at >= 0), at, board.cells)
        frames = jax.tree.map(
            lambda leaf, value: leaf.at[lane, to].set(value, mode="drop"), path.frames, frame._replace(pending=left)
        )
        return Path(
            frames=frames,
            depth=jnp.maximum(at + more.astype(jnp.int32), 0),
            nodes=jnp.where(seen.solved[:, None], seen.nodes, place(board, frame.nodes, digit, cell)),
            banned=None if frame.legal is None else frame.legal & ~frame.pending,
            seeds=path.seeds,
            steps=path.steps + 1,
            explored=saturating_add(path.explored, (~known).astype(jnp.int32)),
            solved=seen.solved,
            refuted=~seen.solved & (at < 0),
        )

    def done(path: Path) -> Array:
        spent = (path.explored >= config.budget) if config.budget else jnp.zeros_like(path.solved)
        return path.solved | path.refuted | spent

    def postprocess(path: Path) -> Answer:
        return Answer(grids(board, path.nodes), path.solved, path.refuted, jnp.maximum(path.explored, 1), {})

    def select_lanes(chosen: Array, one: Path, other: Path) -> Path:
        # the frames of a new path hold nothing yet
        merged = select(chosen, one._replace(frames=None), other._replace(frames=None))
        return merged._replace(frames=other.frames)

    return Method(init, step, done, postprocess, select=select_lanes)


def _children(board: Board, config: DepthFirstConfig, path: Path, seen: Look, noise: Array) -> Array:
    """The placements that lead from the nodes to children yet to be explored, uint32[K, words]."""
    if path.banned is not None:
        return seen.legal & ~path.banned
    rank = jnp.zeros(seen.empty.shape, jnp.uint32)
    if config.order == "random":
        rank = _drawn(noise, seen.empty.shape[1:])
    elif config.order == "sorted":
        rank = seen.counts
    return seen.legal & in_cell(board, first_cell(seen.empty, rank))


def _first_child(board: Board, config: DepthFirstConfig, frame: Frame, noise: Array) -> tuple[Array, Array]:
    """The pending placement that comes first: digit and cell, int32[K]."""
    pending = unpacked(board, frame.pending)
    rank = jnp.zeros((len(noise), 1, 1), jnp.uint32)
    if config.order == "random":
        rank = _drawn(~noise, pending.shape[1:])  # or the cell that was drawn would tell its digit
    elif config.order == "sorted" and frame.legal is not None:  # else all that is pending is of one cell
        rank = unpacked(board, frame.legal).sum(axis=1, keepdims=True, dtype=jnp.uint32)
    return first_placement(pending, rank)


def _drawn(noise: Array, shape: tuple[int, ...]) -> Array:
    """Random numbers of each node, from its noise uint32[K]: uint32[K, *shape]."""
    number = np.arange(1, np.prod(shape) + 1, dtype=np.uint32).reshape(shape) * APART
    return mix(noise.reshape(-1, *(1,) * len(shape)) ^ number)
