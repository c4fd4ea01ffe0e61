"""Greedy best-first search over complete grids: explores the known unexplored grid with the smallest error next.

The grids and their neighbours are those of hill climbing: boxes hold every digit once, and a neighbour has two free
cells of a box swapped. Unlike hill climbing, the search can return to earlier grids, so it does not end at a local
optimum. Explored grids are kept in a closed set, and none is explored twice.

A stored frontier would have about 150 grids per explored one (9x9). Instead, each explored grid stores only its next
neighbour, in order of the error and then of the pair's number. When that neighbour is taken, the following one is found
by evaluating all neighbours again (partial expansion; Yoshizumi et al. 2000). The order is that of the textbook's
queue; ties go to the child of the grid explored last.
"""

from __future__ import annotations

from typing import NamedTuple

import jax.numpy as jnp
import numpy as np
from jax import Array

from jaxsudoku.core.board import Board
from jaxsudoku.engine.solution import Solution
from jaxsudoku.runtime.operations import select
from jaxsudoku.runtime.random import APART, mix
from jaxsudoku.solvers.queue import Answer, Method, Start, run

from .boxes import ERRORS, errors, full_grids, pairs
from .neighbours import rises
from .population_config import BestFirstSwapsConfig
from .random_keys import random_grids

#: Random streams: the initial grid, and the two halves of a grid's signature.
_GRIDS, _SIGNATURES = np.uint32(0x1B873593), (np.uint32(0xCC9E2D51), np.uint32(0x85EBCA6B))

#: Greater than any key of a neighbour.
_NEVER = np.int32(2**31 - 1)


class Explored(NamedTuple):
    """The explored grids of K puzzles, in the order of exploration, [K, room, ...].

    Attributes:
      grids: uint8[cells].
      signature: uint32[2], of the grid.
      error: int32, of the grid.
      next: int32, the key of its next neighbour: the error, then the number of the swapped pair. ``_NEVER`` if none is
        left.
    """

    grids: Array
    signature: Array
    error: Array
    next: Array


class Searches(NamedTuple):
    """State of the searches of K puzzles.

    Attributes:
      explored: the explored grids, in the first ``size`` places.
      free: bool[K, cells], cells without a given.
      size: int32[K], grids explored.
      best: int32[K], the lowest error so far.
      record: uint8[K, cells], the grid with this error.
      done: bool[K].
    """

    explored: Explored
    free: Array
    size: Array
    best: Array
    record: Array
    done: Array


def best_first_swaps(board: Board, puzzles: Array, key: Array, config: BestFirstSwapsConfig, /) -> Solution:
    """Greedy best-first search over complete grids; arguments as in ``annealing``.

    Returns:
      A ``Solution``. ``iterations`` int32[N] are the grids explored, including the initial one; ``errors`` int32[N] the
      errors of the best grid, see ``boxes``.
    """
    return run(
        method(board, config), board, puzzles, key, rules=config.rules, lanes=config.lanes or 1, record=config.record
    )


def method(board: Board, config: BestFirstSwapsConfig) -> Method[Searches]:
    """The search as a ``queue.Method``; a step takes the frontier's first neighbour, and explores it if it is new."""
    room = config.budget

    def init(start: Start) -> Searches:
        free, size = start.grids == 0, len(start.seeds)
        grids = random_grids(board, start.grids.T, mix(start.seeds ^ _GRIDS)).T
        error = errors(board, grids.T)
        first = Explored(grids, _signature(board, grids), error, _next(board, grids, free, error))
        explored = Explored(
            *(jnp.zeros((size, room, *leaf.shape[1:]), leaf.dtype).at[:, 0].set(leaf) for leaf in first)
        )
        one = jnp.ones(size, jnp.int32)
        return Searches(explored, free, one, error, grids, _over(room, one, error, first.next))

    def step(searches: Searches) -> Searches:
        explored, size = searches.explored, searches.size
        lane, place = jnp.arange(len(size)), jnp.arange(room, dtype=jnp.int32)
        waiting = jnp.where(place < size[:, None], explored.next, _NEVER)
        # by the error only; ties go to the grid explored last, then to its first neighbour
        value = jnp.where(waiting == _NEVER, _NEVER, waiting // len(pairs(board).cells))
        least = value.min(axis=1, keepdims=True)
        at = jnp.where(value == least, place, -1).max(axis=1)
        parent = Explored(*(leaf[lane, at] for leaf in explored))
        grids, error = _taken(board, parent)
        signature = _signature(board, grids)
        same = (explored.signature == signature[:, None]).all(axis=2) & (place < size[:, None])
        new = ~same.any(axis=1) & ~searches.done
        later = _next(board, parent.grids, searches.free, parent.error, parent.next)
        own = _next(board, grids, searches.free, error)
        # known grids and searches that are over are written past the end, which drops them
        to, of_parent = jnp.where(new, size, room), jnp.where(searches.done, room, at)
        stored = Explored(
            *(
                leaf.at[lane, to].set(value, mode="drop")
                for leaf, value in zip(explored, (grids, signature, error, own), strict=True)
            )
        )
        waiting = stored.next.at[lane, of_parent].set(later, mode="drop")
        size = size + new.astype(jnp.int32)
        better = new & (error < searches.best)
        best = jnp.where(better, error, searches.best)
        left = jnp.where(place < size[:, None], waiting, _NEVER).min(axis=1)
        return Searches(
            stored._replace(next=waiting),
            searches.free,
            size,
            best,
            jnp.where(better[:, None], grids, searches.record),
            _over(room, size, best, left),
        )

    def postprocess(searches: Searches) -> Answer:
        return full_grids(searches.record, searches.best, searches.size)

    return Method(
        init,
        step,
        lambda searches: searches.done,
        postprocess,
        ERRORS,
        select=_select,
        error=lambda searches: searches.best,
    )


def _select(chosen: Array, one: Searches, other: Searches) -> Searches:
    """``operations.select``; of the explored grids only the first is selected, as a new search writes only this one."""
    begun = (state._replace(explored=Explored(*(leaf[:, 0] for leaf in state.explored))) for state in (one, other))
    selected = select(chosen, *begun)
    stored = [leaf.at[:, 0].set(first) for leaf, first in zip(other.explored, selected.explored, strict=True)]
    return selected._replace(explored=Explored(*stored))


def _over(room: int, size: Array, best: Array, left: Array) -> Array:
    """Whether searches are over: solved, out of room, or without further neighbours; bool[K]."""
    return (best == 0) | (size == room) | (left == _NEVER)


def _next(board: Board, grids: Array, free: Array, error: Array, after: Array | None = None) -> Array:
    """The smallest key of a neighbour of grids uint8[K, cells]; if given, only keys above ``after`` int32[K] count."""
    cells = pairs(board).cells
    number = np.arange(len(cells), dtype=np.int32)[:, None]
    key = (error + rises(board, grids.T).astype(jnp.int32)) * len(cells) + number  # [pairs, K]
    allowed = free.T[cells[:, 0]] & free.T[cells[:, 1]]
    if after is not None:
        allowed &= key > after
    least: Array = jnp.where(allowed, key, _NEVER).min(axis=0)
    return least


def _taken(board: Board, parent: Explored) -> tuple[Array, Array]:
    """The next neighbours of grids, uint8[K, cells], and their errors; the grid itself if it has none."""
    cells = pairs(board).cells
    there = parent.next != _NEVER
    number = jnp.where(there, parent.next % len(cells), 0)
    first, second = jnp.asarray(cells)[number].T
    lane = jnp.arange(len(number))
    grids = parent.grids
    swapped = grids.at[lane, first].set(grids[lane, second]).at[lane, second].set(grids[lane, first])
    error = jnp.where(there, parent.next // len(cells), parent.error)
    return jnp.where(there[:, None], swapped, grids), error


def _signature(board: Board, grids: Array) -> Array:
    """64 bits of grids uint8[K, cells] as uint32[K, 2]: sums of random numbers of each cell's digit (Zobrist 1970)."""
    of_cell = np.arange(board.cells, dtype=np.uint32) * np.uint32(board.side + 1)
    numbers = grids.astype(jnp.uint32) + of_cell
    parts = [mix(mix(numbers * APART + stream)).sum(axis=1, dtype=jnp.uint32) for stream in _SIGNATURES]
    return jnp.stack(parts, axis=1)
