"""Puzzles worked off in slots that never idle: one whose puzzle has come to its end takes the next of the queue.

A method that works on a puzzle step by step says how it begins, what a step is, and what it has come to; here it is
applied to any number of puzzles, K at a time. Behind the end of the queue, when few puzzles are left, they move
together into fewer slots, so that the hardest don't cost what all of them did. What becomes of a puzzle depends on it
and on its own seed alone, so results are the same however many slots there are, and in whatever company.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any, Generic, NamedTuple, TypeVar

import jax
import jax.numpy as jnp
from jax import Array, lax

from jaxsudoku.board import Board
from jaxsudoku.mixing import mix
from jaxsudoku.planes import GROUP, nodes_to_planes, ones_and_twos, planes_to_grids, slices
from jaxsudoku.roots import Roots, make_roots
from jaxsudoku.settings import MOST, NARROWER
from jaxsudoku.solution import Solution, Status

State = TypeVar("State")


class Start(NamedTuple):
    """What K puzzles are when they are begun.

    Attributes:
      grids: uint8[K, cells], the givens and what the rules have placed, 0 = open.
      nodes: uint32[words, K], the packed candidates that the rules have left.
      seeds: uint32[K], each puzzle's own.
    """

    grids: Array
    nodes: Array
    seeds: Array


class View(NamedTuple):
    """What work on K puzzles has come to.

    Attributes:
      over: bool[K], whether there is nothing left to do.
      error: int32[K], that of the best grid so far; 0 where the puzzle is solved.
      looked: int32[K], grids looked at in the last step.
      refuted: bool[K], whether it is proven that there is no solution; over then.
    """

    over: Array
    error: Array
    looked: Array
    refuted: Array


class Method(NamedTuple, Generic[State]):
    """A way to work on puzzles, step by step.

    Attributes:
      begin: the state of puzzles: ``Start`` to a pytree.
      step: a step of all of them.
      view: what they have come to.
      grids: their best grids, uint8[K, cells]; those with an error of 0 are solutions.
      merge: the one state where bool[K], else the other: ``by_first_axis`` where puzzles lie along that of every leaf.
      take: the state of the puzzles at places int32[k] among the K alone: ``of_first_axis`` likewise.
    """

    begin: Callable[[Start], State]
    step: Callable[[State], State]
    view: Callable[[State], View]
    grids: Callable[[State], Array]
    merge: Callable[[Array, State, State], State]
    take: Callable[[Array, State], State]


def by_first_axis(chosen: Array, one: State, other: State) -> State:
    """The one pytree where bool[K] is chosen, else the other, along the first axis of every leaf."""

    def merged(x: Array, y: Array) -> Array:
        return jnp.where(chosen.reshape(-1, *(1,) * (x.ndim - 1)), x, y)

    return jax.tree.map(merged, one, other)


def of_first_axis(lanes: Array, state: State) -> State:
    """What a pytree holds at places int32[k] of the first axis of every leaf."""
    return jax.tree.map(lambda leaf: leaf[lanes], state)


def by_last_axis(chosen: Array, one: State, other: State) -> State:
    """As ``by_first_axis``, along the last."""
    return jax.tree.map(lambda x, y: jnp.where(chosen, x, y), one, other)


def of_last_axis(lanes: Array, state: State) -> State:
    """As ``of_first_axis``, of the last."""
    return jax.tree.map(lambda leaf: leaf[..., lanes], state)


def work_off(
    board: Board, puzzles: Array, key: Array, rules: str, width: int, method: Method[Any], record: int = 0
) -> Solution:
    """Works on puzzles until each has come to its end.

    Args:
      board: the board.
      puzzles: uint8[N, cells], 0 = empty.
      key: a JAX key; each puzzle's seed comes from it and from the puzzle's index.
      rules: what is deduced first, to the end: one of ``propagation.RULES``.
      width: how many puzzles are worked on together.
      method: how.
      record: how many steps of each puzzle the ``history`` has; with 0 there is none.

    Returns:
      A ``Solution`` with ``errors``. SOLVED is an error of 0, UNSATISFIABLE what the rules or the method refute.
    """
    size = puzzles.shape[0]
    history = jnp.full((size, record), -1, jnp.int32) if record else None
    if not size:
        nothing = jnp.zeros(0, jnp.int32)
        return Solution(puzzles, jnp.zeros(0, jnp.int8), nothing, errors=nothing, history=history)
    roots = make_roots(board, puzzles, rules)
    queue = _Queue(board, roots, jax.random.bits(key, (size,), jnp.uint32))
    width = min(width, size)
    looked = (roots.status != Status.INVALID).astype(jnp.int32)
    errors = jnp.where(roots.status == Status.SOLVED, 0, -1)
    found = Solution(roots.grids, roots.status, looked, errors=errors.astype(jnp.int32), history=history)

    def work(follow: Callable[[_Work], _Work], now: _Work) -> _Work:
        now = lax.cond(now.ended.any(), follow, lambda now: now, now)
        state = method.step(now.state)
        view = method.view(state)
        looked = now.found.iterations.at[now.puzzle].get(mode="fill", fill_value=0)
        looked = looked + jnp.minimum(view.looked, MOST - looked)
        found = now.found._replace(iterations=now.found.iterations.at[now.puzzle].set(looked, mode="drop"))
        if found.history is not None:
            noted = found.history.at[now.puzzle, now.steps].set(view.error, mode="drop")
            found = found._replace(history=noted)
        return _Work(state, view, now.puzzle, now.steps + 1, (now.puzzle < size) & view.over, now.taken, found)

    # at first every slot is one whose puzzle has come to its end, so that beginning is compiled once
    nobody = jnp.full(width, size, jnp.int32)
    shapes = jax.eval_shape(lambda: method.begin(queue.at(nobody)))
    state = jax.tree.map(lambda leaf: jnp.zeros(leaf.shape, leaf.dtype), shapes)
    now = _Work(state, method.view(state), nobody, nobody, jnp.ones(width, bool), jnp.int32(0), found)
    waiting = (roots.waiting < size).sum(dtype=jnp.int32)
    few = -(-width // NARROWER) if width > NARROWER else 0

    def many(now: _Work) -> Array:
        return ((now.puzzle < size).sum() > few) | (now.taken < waiting)

    def follow(now: _Work) -> _Work:
        return _begun(queue, method, _put_away(size, method, now))

    now = lax.while_loop(many, functools.partial(work, follow), now)
    if few:  # nothing is begun any more
        left = _narrowed(size, few, method, now)
        end = functools.partial(work, functools.partial(_put_away, size, method))
        now = lax.while_loop(lambda now: (now.puzzle < size).any(), end, left)
    return now.found


class _Work(NamedTuple):
    """Slots at work.

    Attributes:
      state: the method's.
      view: what it has come to.
      puzzle: int32[K], whose the slots are; N for an idle one.
      steps: int32[K], how many the puzzle has had.
      ended: bool[K], whether their puzzles have come to their end, with answers that are not put away yet.
      taken: how many of the queue were taken.
      found: the answers so far.
    """

    state: Any
    view: View
    puzzle: Array
    steps: Array
    ended: Array
    taken: Array
    found: Solution


class _Queue:
    """The open puzzles, in their order."""

    def __init__(self, board: Board, roots: Roots, seeds: Array) -> None:
        self.board, self.roots, self.seeds = board, roots, seeds

    def numbers(self, places: Array) -> Array:
        """The puzzles at these places of the queue; N behind its end."""
        return self.roots.waiting.at[places].get(mode="fill", fill_value=len(self.seeds))

    def at(self, places: Array) -> Start:
        """The starts of the puzzles at these places of the queue; behind its end, nothing sensible."""
        puzzle = jnp.minimum(self.numbers(places), len(self.seeds) - 1)
        width = len(puzzle)
        nodes = self.roots.nodes[:, puzzle]
        planes = nodes_to_planes(jnp.pad(nodes, ((0, 0), (0, -width % GROUP))), self.board)
        placed = planes & ~ones_and_twos(slices(planes, 0))[1]
        grids = planes_to_grids(placed, self.board)[:width]
        return Start(grids, nodes, mix(self.seeds[puzzle]))


def _put_away(size: int, method: Method[Any], now: _Work) -> _Work:
    """Puts the answers of ended puzzles away; their slots are idle then."""
    ended, view = now.ended, now.view
    mine = jnp.where(ended, now.puzzle, size)
    solved = view.error == 0
    known = [jnp.int8(status) for status in (Status.SOLVED, Status.UNSATISFIABLE)]
    status = jnp.select([solved, view.refuted], known, jnp.int8(Status.UNSOLVED))
    grids = jnp.where(solved[:, None], method.grids(now.state), 0)
    assert now.found.errors is not None
    found = now.found._replace(
        grids=now.found.grids.at[mine].set(grids, mode="drop"),
        status=now.found.status.at[mine].set(status, mode="drop"),
        errors=now.found.errors.at[mine].set(view.error, mode="drop"),
    )
    return now._replace(puzzle=jnp.where(ended, size, now.puzzle), ended=jnp.zeros_like(ended), found=found)


def _begun(queue: _Queue, method: Method[Any], now: _Work) -> _Work:
    """Begins the next puzzles of the queue in idle slots, as long as there are any."""
    size = len(queue.seeds)
    idle = now.puzzle == size
    turn = jnp.cumsum(idle, dtype=jnp.int32)
    places = jnp.where(idle, now.taken + turn - 1, size)
    puzzle = jnp.where(idle, queue.numbers(places), now.puzzle)
    begins = idle & (puzzle < size)
    state = method.merge(begins, method.begin(queue.at(places)), now.state)
    return now._replace(
        state=state,
        puzzle=puzzle,
        steps=jnp.where(begins, 0, now.steps),
        taken=now.taken + begins.sum(dtype=jnp.int32),
    )


def _narrowed(size: int, width: int, method: Method[Any], now: _Work) -> _Work:
    """The slots whose puzzles are at work, and idle ones up to the width."""
    busy = now.puzzle < size
    (lanes,) = jnp.nonzero(busy, size=width, fill_value=0)
    there = jnp.arange(width) < busy.sum()
    return _Work(
        state=method.take(lanes, now.state),
        view=jax.tree.map(lambda leaf: leaf[lanes], now.view),
        puzzle=jnp.where(there, now.puzzle[lanes], size),
        steps=now.steps[lanes],
        ended=now.ended[lanes] & there,
        taken=now.taken,
        found=now.found,
    )
