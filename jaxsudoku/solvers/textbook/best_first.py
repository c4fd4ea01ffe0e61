"""Greedy best-first search over partly filled grids: explores the frontier node with the best heuristic value next.

The cost of the path so far is ignored. The children of a node are the legal digits of its most constrained cell. They
and their descendants differ in that cell, so no grid is reached twice and no closed set is needed. With actions "any"
the children are the legal digits of every empty cell. Then a grid is reached by every order of its placements, and a
closed set of explored nodes prevents exploring it twice. A child that the rules refute, or that has an empty cell
without a legal digit, does not enter the frontier.

Each puzzle has a frontier of fixed capacity, unordered; every step scans it for the best node.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jax import Array, lax

from jaxsudoku.core.board import Board
from jaxsudoku.core.grid import conflicts
from jaxsudoku.engine.solution import Solution
from jaxsudoku.solvers.queue import Answer, Method, Start, run, select_but

from .nodes import Inspection, digits_in, first_cell, grids, inspect, place, unpacked
from .textbook_config import BestFirstConfig

#: Greater than any heuristic value.
_NEVER = 2**31 - 1


class Entry(NamedTuple):
    """Nodes of frontiers, [K, ...].

    Attributes:
      value: int32, the heuristic value; the smallest is explored first.
      age: int32, the node's serial number; among equal values the newest is explored first.
      cell: int32, its most constrained cell.
      digits: bool[side], the legal digits of that cell; none for a solved node.
      nodes: uint32[words], the node.
    """

    value: Array
    age: Array
    cell: Array
    digits: Array
    nodes: Array


class Queue(NamedTuple):
    """State of K searches.

    Attributes:
      entries: [K, room], the frontier, in the first ``size`` places.
      size: int32[K].
      born: int32[K], nodes that have entered the frontier, including the root; 0 before the first step.
      nodes: uint32[K, words], the root before the first step, then the node explored last.
      closed: uint32[K, budget, words], the explored nodes; None with actions "cell", which never reach a grid twice.
      explored: int32[K], nodes explored, including the root.
      solved: bool[K].
      full: bool[K], whether the frontier overflowed.
    """

    entries: Any
    size: Array
    born: Array
    nodes: Array
    closed: Array | None
    explored: Array
    solved: Array
    full: Array


def best_first(board: Board, puzzles: Array, key: Array, config: BestFirstConfig, /) -> Solution:
    """Greedy best-first search over partly filled grids (Russell and Norvig, section 3.5).

    Arguments and results as in ``depth_first``; ``key`` is not used. A puzzle whose frontier overflows is UNSOLVED.
    """
    lanes = config.resolve(board, "cpu").lanes
    return run(method(board, config), board, puzzles, key, rules=config.rules, lanes=lanes)


def method(board: Board, config: BestFirstConfig) -> Method[Queue]:
    """Best-first search as a ``queue.Method``; a step explores one node and tests all of its children.

    The first step only tests the root.
    """

    def init(start: Start) -> Queue:
        nodes = start.nodes.T
        size = len(nodes)
        number, false = jnp.zeros(size, jnp.int32), jnp.zeros(size, bool)
        entry = Entry(number, number, number, jnp.zeros((size, board.side), bool), nodes)
        entries = jax.tree.map(lambda leaf: jnp.zeros((size, config.room, *leaf.shape[1:]), leaf.dtype), entry)
        closed = jnp.zeros((size, config.budget or 0, board.words), nodes.dtype) if config.actions == "any" else None
        return Queue(entries, number, number, nodes, closed, number, false, false)

    def step(queue: Queue) -> Queue:
        begun = queue.born > 0
        hole, best = _pop(queue)
        popped = begun & (queue.size > 0)
        nodes = jnp.where(begun[:, None], best.nodes, queue.nodes)
        best = best._replace(nodes=nodes)
        if config.actions == "any":
            children, there = _placements(board, begun, best, inspect(board, nodes, config.rules))
        else:
            children, there = _children(board, begun, best)
        node = inspect(board, children.reshape(-1, board.words), config.rules)
        born, alive = _entries(board, config, node)
        enter = there & alive.reshape(there.shape)
        turn = jnp.cumsum(enter, axis=1, dtype=jnp.int32)
        born = jax.tree.map(lambda leaf: leaf.reshape(*there.shape, *leaf.shape[1:]), born)
        born = born._replace(age=queue.born[:, None] + turn - 1)
        left = queue.size - popped.astype(jnp.int32)
        size = left + turn[:, -1]
        explored = queue.explored + popped.astype(jnp.int32)
        after = Queue(
            entries=_push(queue, popped, hole, left, born, enter, turn),
            size=jnp.minimum(size, config.room),
            born=queue.born + turn[:, -1],
            nodes=nodes,
            closed=queue.closed,
            explored=explored,
            solved=popped & ~best.digits.any(axis=1),
            full=size > config.room,
        )
        return after if queue.closed is None else _close(after, queue.closed, popped)

    def done(queue: Queue) -> Array:
        spent = (queue.explored >= config.budget) if config.budget else jnp.zeros_like(queue.solved)
        return queue.solved | (queue.size == 0) | queue.full | spent

    def postprocess(queue: Queue) -> Answer:
        refuted = (queue.size == 0) & ~queue.solved
        return Answer(grids(board, queue.nodes), queue.solved, refuted, jnp.maximum(queue.explored, 1), {})

    return Method(init, step, done, postprocess, select=select_but("entries", "closed"))


def _pop(queue: Queue) -> tuple[Array, Entry]:
    """The place of the best entry, int32[K], and the entry; undefined for an empty frontier."""
    entries = queue.entries
    number = jnp.arange(entries.age.shape[1], dtype=jnp.int32)
    waiting = number < queue.size[:, None]
    value = jnp.where(waiting, entries.value, _NEVER)
    best = waiting & (value == value.min(axis=1, keepdims=True))
    newest = jnp.where(best, entries.age, -1).max(axis=1, keepdims=True)
    at = jnp.where(best & (entries.age == newest), number, 0).max(axis=1)
    return at, jax.tree.map(lambda leaf: leaf[jnp.arange(len(at)), at], entries)


def _children(board: Board, begun: Array, best: Entry) -> tuple[Array, Array]:
    """The children of a node by digit, uint32[K, side, words], and which of them exist, bool[K, side].

    At the first step the only child is the root itself.
    """
    digit = jnp.arange(board.side, dtype=jnp.int32)
    placed = place(board, best.nodes[:, None], digit, best.cell[:, None])
    children = jnp.where(begun[:, None, None], placed, best.nodes[:, None])
    return children, jnp.where(begun[:, None], best.digits, digit == 0)


def _placements(board: Board, begun: Array, best: Entry, node: Inspection) -> tuple[Array, Array]:
    """``_children`` with a child for every digit in every cell, uint32[K, candidates, words], cell by cell."""
    cell, digit = jnp.divmod(jnp.arange(board.candidates, dtype=jnp.int32), board.side)
    placed = place(board, best.nodes[:, None], digit, cell)
    children = jnp.where(begun[:, None, None], placed, best.nodes[:, None])
    legal = jnp.swapaxes(unpacked(board, node.legal), 1, 2).reshape(len(begun), -1)
    legal &= best.digits.any(axis=1)[:, None]  # a solved node has no children
    return children, jnp.where(begun[:, None], legal, np.arange(board.candidates) == 0)


def _close(queue: Queue, closed: Array, popped: Array) -> Queue:
    """Adds the nodes just explored, ``popped`` bool[K], to the closed sets, and removes known nodes from frontiers.

    Known nodes are removed only until the best entry of each frontier is new.
    """
    lane, number = jnp.arange(len(popped)), jnp.arange(closed.shape[1], dtype=jnp.int32)
    closed = closed.at[lane, jnp.where(popped, queue.explored - 1, len(number))].set(queue.nodes, mode="drop")

    def found(queue: Queue) -> tuple[Array, Array]:
        at, best = _pop(queue)
        same = (closed == best.nodes[:, None]).all(axis=2) & (number < queue.explored[:, None])
        return at, (queue.size > 0) & same.any(axis=1)

    def drop(queue: Queue) -> Queue:
        at, known = found(queue)
        size = queue.size - known.astype(jnp.int32)
        to = jnp.where(known, at, queue.entries.age.shape[1])
        entries = jax.tree.map(lambda leaf: leaf.at[lane, to].set(leaf[lane, size], mode="drop"), queue.entries)
        return queue._replace(entries=entries, size=size)

    return lax.while_loop(lambda queue: found(queue)[1].any(), drop, queue)._replace(closed=closed)


def _entries(board: Board, config: BestFirstConfig, node: Inspection) -> tuple[Entry, Array]:
    """Entries of inspected nodes, without ages, and whether the nodes may lead to a solution, bool[K]."""
    cell = first_cell(node.empty, node.counts)
    digits = digits_in(board, node.legal, cell) & ~node.solved[:, None]
    if config.heuristic == "most-constrained":
        value = jnp.where(node.empty, node.counts, board.side).min(axis=1)
    elif config.heuristic == "remaining":
        value = node.counts.sum(axis=1, dtype=jnp.uint32)
    else:
        value = conflicts(grids(board, node.filled) + _first_digits(unpacked(board, node.legal)), board)
    value = jnp.where(node.solved, 0, value).astype(jnp.int32)
    return Entry(value, value, cell, digits, node.nodes), ~node.dead & (node.solved | digits.any(axis=1))


def _first_digits(legal: Array) -> Array:
    """The first legal digit of each cell, 0 where there is none: bool[K, side, cells] to uint8[K, cells]."""
    side = legal.shape[1]
    digits = np.arange(1, side + 1, dtype=np.uint8)[:, None]
    first = jnp.where(legal, digits, np.uint8(side + 1)).min(axis=1)
    return jnp.where(first > side, jnp.uint8(0), first)


def _push(queue: Queue, popped: Array, hole: Array, left: Array, born: Entry, enter: Array, turn: Array) -> Entry:
    """Adds children to the frontier: the first in the place of the removed entry, the others at the end.

    Args:
      queue: the searches.
      popped: bool[K], whether an entry was removed.
      hole: int32[K], its place.
      left: int32[K], entries left.
      born: the children, [K, side].
      enter: bool[K, side], which of them enter.
      turn: int32[K, side], the number that enter up to and including each.
    """
    room = queue.entries.age.shape[1]
    lane = jnp.arange(len(hole))
    first = popped[:, None] & (turn == 1)
    to = jnp.where(first, hole[:, None], left[:, None] + turn - 1)
    to = jnp.where(enter, to, room)
    # without children the last entry moves there
    to_hole = jnp.where(popped & (turn[:, -1] == 0), hole, room)

    def put(leaf: Array, value: Array) -> Array:
        moved = leaf.at[lane, to_hole].set(leaf[lane, jnp.minimum(left, room - 1)], mode="drop")
        return moved.at[lane[:, None], to].set(value, mode="drop")

    return jax.tree.map(put, queue.entries, born)
