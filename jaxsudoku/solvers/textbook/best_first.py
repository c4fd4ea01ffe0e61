"""Best-first search: of all nodes that wait, the one that a heuristic finds most promising is explored next.

Greedy, as the way already gone counts for nothing. The children of a node are the legal digits of its most constrained
cell. Two of them hold different digits in that cell, and so do all that comes of them: a grid can't be come to twice,
so no closed set is needed. A child that the rules refute, or that has an empty cell without a legal digit, leads
nowhere and does not wait.

Each puzzle has a queue of its own with room for so many nodes, in no order: its best is looked for at every step.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jax import Array

from jaxsudoku.board import Board
from jaxsudoku.grid import conflicts
from jaxsudoku.planes import select
from jaxsudoku.solution import Solution
from jaxsudoku.solvers.queue import Answer, Method, Start, run

from .config import BestFirstConfig
from .nodes import Look, digits_in, first_cell, grids, look, place, unpacked

#: A value that no node has.
_NEVER = 2**31 - 1


class Entry(NamedTuple):
    """Nodes that wait, [K, ...].

    Attributes:
      value: int32, what the heuristic says; the smallest is explored first.
      age: int32, the number of the node among all of the puzzle's; of equal values the newest is explored first.
      cell: int32, its most constrained cell.
      digits: uint32, the legal digits of that cell, a bit each; 0 of a solved node, which has none.
      nodes: uint32[words], the node.
    """

    value: Array
    age: Array
    cell: Array
    digits: Array
    nodes: Array


class Queue(NamedTuple):
    """K searches.

    Attributes:
      entries: those that wait, [K, room], of which the first ``size`` count.
      size: int32[K].
      born: int32[K], nodes that ever waited, the root among them; 0 before it was looked at.
      nodes: uint32[K, words], the root before it was looked at, then the node that was last explored.
      explored: int32[K], nodes that were explored, the root among them.
      solved: bool[K].
      full: bool[K], whether there were more nodes than there is room for.
    """

    entries: Any
    size: Array
    born: Array
    nodes: Array
    explored: Array
    solved: Array
    full: Array


def best_first(board: Board, puzzles: Array, key: Array, config: BestFirstConfig, /) -> Solution:
    """Greedy best-first search over partly filled grids (Russell and Norvig, section 3.5).

    Arguments and results as of ``depth_first``; ``key`` decides nothing. A puzzle whose queue is full is UNSOLVED.
    """
    lanes = config.resolve(board, "cpu").lanes
    return run(method(board, config), board, puzzles, key, rules=config.rules, lanes=lanes)


def method(board: Board, config: BestFirstConfig) -> Method[Queue]:
    """Best-first search as the settings say; a step explores one node, and looks at all of its children.

    Its first step looks at the root alone.
    """

    def init(start: Start) -> Queue:
        nodes = start.nodes.T
        size = len(nodes)
        number, false = jnp.zeros(size, jnp.int32), jnp.zeros(size, bool)
        entry = Entry(number, number, number, number.astype(jnp.uint32), nodes)
        entries = jax.tree.map(lambda leaf: jnp.zeros((size, config.room, *leaf.shape[1:]), leaf.dtype), entry)
        return Queue(entries, number, number, nodes, number, false, false)

    def step(queue: Queue) -> Queue:
        begun = queue.born > 0
        hole, best = _pop(queue)
        popped = begun & (queue.size > 0)
        explored = queue.explored + popped.astype(jnp.int32)
        nodes = jnp.where(begun[:, None], best.nodes, queue.nodes)
        children, there = _children(board, begun, best._replace(nodes=nodes))
        seen = look(board, children.reshape(-1, board.words), config.rules)
        born, alive = _judged(board, config, seen)
        enter = there & alive.reshape(there.shape)
        turn = jnp.cumsum(enter, axis=1, dtype=jnp.int32)
        born = jax.tree.map(lambda leaf: leaf.reshape(*there.shape, *leaf.shape[1:]), born)
        born = born._replace(age=queue.born[:, None] + turn - 1)
        left = queue.size - popped.astype(jnp.int32)
        size = left + turn[:, -1]
        return Queue(
            entries=_push(queue, popped, hole, left, born, enter, turn),
            size=jnp.minimum(size, config.room),
            born=queue.born + turn[:, -1],
            nodes=nodes,
            explored=explored,
            solved=popped & (best.digits == 0),
            full=size > config.room,
        )

    def done(queue: Queue) -> Array:
        spent = (queue.explored >= config.budget) if config.budget else jnp.zeros_like(queue.solved)
        return queue.solved | (queue.size == 0) | queue.full | spent

    def postprocess(queue: Queue) -> Answer:
        refuted = (queue.size == 0) & ~queue.solved
        return Answer(grids(board, queue.nodes), queue.solved, refuted, jnp.maximum(queue.explored, 1), {})

    def select_lanes(chosen: Array, one: Queue, other: Queue) -> Queue:
        # the entries of an empty queue hold nothing
        merged = select(chosen, one._replace(entries=None), other._replace(entries=None))
        return merged._replace(entries=other.entries)

    return Method(init, step, done, postprocess, select=select_lanes)


def _pop(queue: Queue) -> tuple[Array, Entry]:
    """The place of the best entry, int32[K], and what it is; nothing sensible of an empty queue."""
    entries = queue.entries
    number = jnp.arange(entries.age.shape[1], dtype=jnp.int32)
    waiting = number < queue.size[:, None]
    value = jnp.where(waiting, entries.value, _NEVER)
    best = waiting & (value == value.min(axis=1, keepdims=True))
    newest = jnp.where(best, entries.age, -1).max(axis=1, keepdims=True)
    at = jnp.where(best & (entries.age == newest), number, 0).max(axis=1)
    return at, jax.tree.map(lambda leaf: leaf[jnp.arange(len(at)), at], entries)


def _children(board: Board, begun: Array, best: Entry) -> tuple[Array, Array]:
    """The node with each digit in its cell, uint32[K, side, words], and which of these there are, bool[K, side].

    Before it has begun the root is its own only child.
    """
    digit = jnp.arange(board.side, dtype=jnp.int32)
    placed = place(board, best.nodes[:, None], digit, best.cell[:, None])
    children = jnp.where(begun[:, None, None], placed, best.nodes[:, None])
    legal = (best.digits[:, None] >> digit.astype(jnp.uint32) & 1).astype(bool)
    return children, jnp.where(begun[:, None], legal, digit == 0)


def _judged(board: Board, config: BestFirstConfig, seen: Look) -> tuple[Entry, Array]:
    """What is to wait of nodes that were looked at, and whether they lead anywhere, bool[K]; ages are not told."""
    cell = first_cell(seen.empty, seen.counts)
    digits = jnp.where(seen.solved, 0, digits_in(board, seen.legal, cell))
    if config.heuristic == "most-constrained":
        value = jnp.where(seen.empty, seen.counts, board.side).min(axis=1)
    elif config.heuristic == "remaining":
        value = seen.counts.sum(axis=1, dtype=jnp.uint32)
    else:
        value = conflicts(grids(board, seen.filled) + _first_digits(unpacked(board, seen.legal)), board)
    value = jnp.where(seen.solved, 0, value).astype(jnp.int32)
    return Entry(value, value, cell, digits, seen.nodes), ~seen.dead & (seen.solved | (digits > 0))


def _first_digits(legal: Array) -> Array:
    """The first legal digit of each cell, 0 where there is none: bool[K, side, cells] to uint8[K, cells]."""
    side = legal.shape[1]
    digits = np.arange(1, side + 1, dtype=np.uint8)[:, None]
    first = jnp.where(legal, digits, np.uint8(side + 1)).min(axis=1)
    return jnp.where(first > side, jnp.uint8(0), first)


def _push(queue: Queue, popped: Array, hole: Array, left: Array, born: Entry, enter: Array, turn: Array) -> Entry:
    """The entries with those that were born: the first of them where one was taken out, the others behind the last.

    Args:
      queue: the queue.
      popped: bool[K], whether an entry was taken out.
      hole: int32[K], where.
      left: int32[K], how many are left.
      born: further ones, [K, side].
      enter: bool[K, side], which of those there are.
      turn: int32[K, side], how many there are up to each.
    """
    room = queue.entries.age.shape[1]
    lane = jnp.arange(len(hole))
    first = popped[:, None] & (turn == 1)
    to = jnp.where(first, hole[:, None], left[:, None] + turn - 1)
    to = jnp.where(enter, to, room)
    # without children the last one moves there
    to_hole = jnp.where(popped & (turn[:, -1] == 0), hole, room)

    def put(leaf: Array, value: Array) -> Array:
        moved = leaf.at[lane, to_hole].set(leaf[lane, jnp.minimum(left, room - 1)], mode="drop")
        return moved.at[lane[:, None], to].set(value, mode="drop")

    return jax.tree.map(put, queue.entries, born)
