"""Continuous batching: a finished lane takes the next puzzle from the queue.

A ``Method`` works on K puzzles step by step; ``run`` applies it to any number of puzzles. The rules run on all puzzles
first, and only puzzles that they leave open enter the queue. Once the queue is empty and few puzzles are left, these
move into fewer lanes, for which a second loop is compiled (from ``Method.narrow_from`` lanes on). A puzzle's result
depends only on the puzzle and its own random seed, so it is the same for any number of lanes and any batch.

A puzzle may have several runs, until one solves it. Each run is a round of the queue over the puzzles that are still
unsolved.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Mapping
from typing import Any, Generic, NamedTuple, TypeVar

import jax
import jax.numpy as jnp
import numpy as np
from jax import Array, lax

from jaxsudoku.core import planes
from jaxsudoku.core.board import Board
from jaxsudoku.core.tuning import NARROWER
from jaxsudoku.engine.solution import Solution, Status
from jaxsudoku.runtime import operations
from jaxsudoku.runtime.random import mix
from jaxsudoku.runtime.settings import MOST
from jaxsudoku.solvers.roots import Roots, make_roots

State = TypeVar("State")


class Start(NamedTuple):
    """K new puzzles.

    Attributes:
      grids: uint8[K, cells], the givens and the digits placed by the rules, 0 = open.
      nodes: uint32[words, K], the packed candidates left by the rules.
      seeds: uint32[K], a random seed for each.
      puzzle: int32[K], their indices in the batch.
      run: int32[K], the number of each one's run, from 0.
    """

    grids: Array
    nodes: Array
    seeds: Array
    puzzle: Array
    run: Array | int = 0


class Answer(NamedTuple):
    """The results of K puzzles.

    Attributes:
      grids: uint8[K, cells], the best grids.
      solved: bool[K], whether they are solutions.
      refuted: bool[K], whether the puzzle is proven to have no solution.
      iterations: int32[K], grids evaluated, including the root.
      stats: further results [K, ...] by name, as in ``Solution.stats``.
    """

    grids: Array
    solved: Array
    refuted: Array
    iterations: Array
    stats: dict[str, Array]


def select_but(*fields: str) -> Callable[[Array, Any, Any], Any]:
    """``operations.select``, except that these fields are always those of the second: storage that is not cleared."""

    def select(chosen: Array, one: Any, other: Any) -> Any:
        nothing = dict.fromkeys(fields)
        selected = operations.select(chosen, one._replace(**nothing), other._replace(**nothing))
        return selected._replace(**{field: getattr(other, field) for field in fields})

    return select


def gather_first(lanes: Array, state: State) -> State:
    """The leaves at indices int32[k] of the first axis."""
    return jax.tree.map(lambda leaf: leaf[lanes], state)


def select_last(chosen: Array, one: State, other: State) -> State:
    """``operations.select`` along the last axis."""
    return jax.tree.map(lambda x, y: jnp.where(chosen, x, y), one, other)


def gather_last(lanes: Array, state: State) -> State:
    """``gather_first`` along the last axis."""
    return jax.tree.map(lambda leaf: leaf[..., lanes], state)


class Method(NamedTuple, Generic[State]):
    """An iterative solver for K puzzles.

    Attributes:
      init: ``Start`` -> the state of new puzzles, a pytree.
      step: state -> state after one step of all lanes. Results for lanes that are done are ignored.
      done: state -> bool[K], whether a puzzle needs no further step.
      postprocess: state -> an ``Answer``; read where ``done``.
      stats: the names in ``Answer.stats``, each with its value for puzzles that the rules refute: an int, or an array
        of another dtype or further axes. It is 0 for puzzles that the rules solve.
      select: (bool[K], state, state) -> the state with lanes of the first where True, of the second elsewhere.
      gather: (indices int32[k], state) -> the state of these lanes.
      error: state -> int32[K], the best error so far, for ``record``; None for a method without errors.
      narrow_from: minimum number of lanes for which a second loop for the last few puzzles is worth its compilation;
        None if it never is, as idle lanes cost little.
    """

    init: Callable[[Start], State]
    step: Callable[[State], State]
    done: Callable[[State], Array]
    postprocess: Callable[[State], Answer]
    stats: Mapping[str, int | np.ndarray] = {}
    select: Callable[[Array, State, State], State] = operations.select
    gather: Callable[[Array, State], State] = gather_first
    error: Callable[[State], Array] | None = None
    narrow_from: int | None = NARROWER + 1


def saturating_add(total: Array, more: Array | int) -> Array:
    """The sum of counts int32[K], saturated at the maximum of int32."""
    return total + jnp.minimum(more, MOST - total)


def run(
    method: Method[Any],
    board: Board,
    puzzles: Array,
    key: Array,
    *,
    rules: str,
    lanes: int,
    record: int = 0,
    runs: int = 1,
    ahead: bool = False,
) -> Solution:
    """Solves puzzles by a method.

    Args:
      method: the method.
      board: the board.
      puzzles: uint8[N, cells], 0 = empty.
      key: a JAX key; each puzzle's seed comes from it and from the puzzle's index.
      rules: one of ``tuning.RULES``, applied to all puzzles first.
      lanes: puzzles worked on together.
      record: steps of each puzzle in ``stats["history"]``; with 0 there is none.
      runs: maximum number of runs of a puzzle, until it is solved. Iterations and stats are totals of its runs.
      ahead: whether idle lanes begin further runs of puzzles whose earlier runs are not over. The first run that solves
        a puzzle ends the others, so totals, and the solution of a puzzle with several, depend on the lanes.

    Returns:
      A ``Solution``, UNSATISFIABLE where the rules or the method refute a puzzle. UNSOLVED puzzles have the method's
      last or best grids; ``solvers.judge`` removes them unless ``keep_partial`` is set.
    """
    size = puzzles.shape[0]
    history = {"history": jnp.full((size, record), -1, jnp.int32)} if record else {}
    values = {name: np.int32(value) if isinstance(value, int) else value for name, value in method.stats.items()}
    if not size:
        nothing = jnp.zeros(0, jnp.int32)
        stats = {name: jnp.zeros((0, *value.shape), value.dtype) for name, value in values.items()}
        return Solution(puzzles, nothing.astype(jnp.int8), nothing, stats | history)
    width = min(lanes, size * runs if ahead else size)
    roots = make_roots(board, puzzles, rules, min(width, size))
    queue = _Queue(board, roots, jax.random.bits(key, (size,), jnp.uint32), runs, ahead)
    looked = (roots.status != Status.INVALID).astype(jnp.int32)
    solved = roots.status == Status.SOLVED
    stats = {
        name: jnp.where(solved.reshape(-1, *(1 for _ in value.shape)), value.dtype.type(0), value)
        for name, value in values.items()
    }
    found = Solution(roots.grids, roots.status, looked, stats | history)
    if runs > 1:
        found = _without_counts(found, roots.waiting)

    # all lanes begin in the finished state, so that ``init`` is compiled once
    nobody = jnp.full(width, size, jnp.int32)
    shapes = jax.eval_shape(lambda: method.init(queue.at(nobody, queue.first())))
    state = jax.tree.map(lambda leaf: jnp.zeros(leaf.shape, leaf.dtype), shapes)
    now = _Lanes(state, nobody, nobody, jnp.ones(width, bool), queue.first(), found)
    narrows = method.narrow_from is not None and width >= method.narrow_from
    few = -(-width // NARROWER) if narrows else 0

    def many(now: _Lanes) -> Array:
        return (now.busy.sum() > few) | queue.more(now.round)

    def some(now: _Lanes) -> Array:
        return now.busy.any()

    now = lax.while_loop(many, functools.partial(_turn, method, queue, many, refills=True), now)
    if few:
        left = _narrowed(few, method, now)
        now = lax.while_loop(some, functools.partial(_turn, method, queue, some, refills=False), left)
    return now.found


def placed(nodes: Array, board: Board) -> Array:
    """The digits of cells with one candidate left, 0 elsewhere: uint32[words, K] to uint8[K, cells]."""
    candidates = planes.nodes_to_planes(planes.pad_lanes(nodes, 1), board)
    single = candidates & ~planes.at_least_two(planes.slices(candidates, 0))
    return planes.planes_to_grids(single, board)[: nodes.shape[1]]


class _Lanes(NamedTuple):
    """State of the loop.

    Attributes:
      state: the method's state.
      puzzle: int32[K], the index of each lane's puzzle; N for an idle lane.
      steps: int32[K], steps taken for the puzzle.
      ended: bool[K], whether the puzzle is done and its answer is not stored yet.
      round: the state of the queue.
      found: the solutions so far.
    """

    state: Any
    puzzle: Array
    steps: Array
    ended: Array
    round: _Round
    found: Solution

    @property
    def busy(self) -> Array:
        """bool[K], whether lanes have a puzzle."""
        return self.puzzle < len(self.found.status)


class _Round(NamedTuple):
    """A round of the queue: one run of each puzzle in it.

    Attributes:
      waiting: int32[N], the puzzles of this round, padded with N.
      size: int32[], their number.
      taken: int32[], how many of them lanes have taken.
      run: int32[], the number of the round.
    """

    waiting: Array
    size: Array
    taken: Array
    run: Array

    def numbers(self, places: Array) -> Array:
        """The puzzles at these places of the queue; N past its end."""
        return self.waiting.at[places].get(mode="fill", fill_value=len(self.waiting))


class _Queue:
    """The queue of open puzzles, in order."""

    def __init__(self, board: Board, roots: Roots, seeds: Array, runs: int, ahead: bool) -> None:
        self.board, self.roots, self.seeds = board, roots, seeds
        self.runs, self.ahead = runs, ahead

    def first(self) -> _Round:
        """The first round, of all open puzzles."""
        waiting = self.roots.waiting
        return _Round(waiting, (waiting < len(waiting)).sum(dtype=jnp.int32), jnp.int32(0), jnp.int32(0))

    def more(self, now: _Round) -> Array:
        """Whether lanes may take further puzzles, in this or a later round."""
        return (now.taken < now.size) | (now.run + 1 < self.runs)

    def begins(self, now: _Round, busy: Array) -> Array:
        """Whether the next round may begin, while lanes ``busy`` bool[K] work on the last puzzles of this one."""
        over = (now.taken >= now.size) & (now.run + 1 < self.runs)
        return over if self.ahead else over & ~busy.any()

    def next(self, now: _Round, busy: Array, status: Array) -> _Round:
        """The next round, over the unsolved puzzles of this one, if it may begin; else this one."""
        size = len(now.waiting)
        unsolved = status.at[now.waiting].get(mode="fill", fill_value=Status.SOLVED) == Status.UNSOLVED
        place = jnp.where(unsolved, jnp.cumsum(unsolved, dtype=jnp.int32) - 1, size)
        waiting = jnp.full(size, size, jnp.int32).at[place].set(now.waiting, mode="drop", unique_indices=True)
        later = _Round(waiting, unsolved.sum(dtype=jnp.int32), jnp.int32(0), now.run + 1)
        begins = self.begins(now, busy)
        return jax.tree.map(lambda one, other: jnp.where(begins, one, other), later, now)

    def at(self, places: Array, now: _Round) -> Start:
        """The starts of the puzzles at these places of the queue; undefined past its end."""
        puzzle = jnp.minimum(now.numbers(places), len(self.seeds) - 1)
        nodes = self.roots.nodes[:, puzzle]
        run = jnp.broadcast_to(now.run, puzzle.shape)
        return Start(placed(nodes, self.board), nodes, mix(self.seeds[puzzle]), puzzle, run)


def _without_counts(found: Solution, waiting: Array) -> Solution:
    """The solutions with counts set to 0 for open puzzles."""

    def cleared(leaf: Array) -> Array:
        return leaf.at[waiting].set(0, mode="drop")

    return found._replace(iterations=cleared(found.iterations), stats=jax.tree.map(cleared, found.stats))


def _turn(
    method: Method[Any], queue: _Queue, going: Callable[[_Lanes], Array], now: _Lanes, *, refills: bool
) -> _Lanes:
    """Stores answers, refills idle lanes if asked to, and takes steps while ``going`` until there is more to store."""

    def further(now: _Lanes) -> Array:
        wanting = now.ended.any()
        if refills and queue.runs > 1:
            takes = (now.round.taken < now.round.size) | queue.begins(now.round, now.busy)
            wanting |= ~now.busy.all() & takes
        return going(now) & ~wanting

    now = (_refill if refills else _store_answers)(method, queue, now)
    return lax.while_loop(further, functools.partial(_step, method), now)


def _step(method: Method[Any], now: _Lanes) -> _Lanes:
    """Takes a step of all lanes."""
    state = method.step(now.state)
    found = now.found
    if "history" in found.stats and method.error is not None:
        history = found.stats["history"].at[now.puzzle, now.steps].set(method.error(state), mode="drop")
        found = found._replace(stats=found.stats | {"history": history})
    return _Lanes(state, now.puzzle, now.steps + 1, now.busy & method.done(state), now.round, found)


def _store_answers(method: Method[Any], queue: _Queue, now: _Lanes) -> _Lanes:
    """Stores the answers of ended runs, and frees their lanes and all other lanes of solved puzzles."""
    size = len(now.found.status)
    answer = method.postprocess(now.state)
    known = [jnp.int8(status) for status in (Status.SOLVED, Status.UNSATISFIABLE)]
    status = jnp.select([answer.solved, answer.refuted], known, jnp.int8(Status.UNSOLVED))
    ended, stored = now.ended, now.ended
    if queue.runs > 1:
        ended, stored = _ended_and_stored(now, answer.solved)

    def put(leaf: Array, value: Array) -> Array:
        return leaf.at[jnp.where(stored, now.puzzle, size)].set(value, mode="drop")

    def count(leaf: Array, value: Array) -> Array:
        if queue.runs == 1:
            return put(leaf, value)
        return leaf.at[jnp.where(ended, now.puzzle, size)].add(value, mode="drop")

    stats = {name: count(now.found.stats[name], value) for name, value in answer.stats.items()}
    found = Solution(
        put(now.found.grids, answer.grids),
        put(now.found.status, status),
        count(now.found.iterations, answer.iterations),
        now.found.stats | stats,
    )
    return now._replace(puzzle=jnp.where(ended, size, now.puzzle), ended=jnp.zeros_like(now.ended), found=found)


def _ended_and_stored(now: _Lanes, solved: Array) -> tuple[Array, Array]:
    """The lanes whose runs are over, and those of them whose answers are stored, at most one per puzzle: bool[K] each.

    A run is also over if another run has solved the puzzle.
    """
    size, lane = len(now.found.status), jnp.arange(len(now.puzzle), dtype=jnp.int32)
    wins = now.ended & solved
    over = (now.found.status == Status.SOLVED).at[jnp.where(wins, now.puzzle, size)].set(True, mode="drop")
    rank = jnp.where(wins, lane, lane + len(lane))  # solutions first
    best = jnp.full(size, 2 * len(lane), jnp.int32).at[jnp.where(now.ended, now.puzzle, size)].min(rank, mode="drop")
    first = now.ended & (best.at[now.puzzle].get(mode="fill", fill_value=-1) == rank)
    before = now.found.status.at[now.puzzle].get(mode="fill", fill_value=Status.UNSOLVED) == Status.SOLVED
    ended = now.ended | (now.busy & over.at[now.puzzle].get(mode="fill", fill_value=False))
    return ended, first & ~before


def _refill(method: Method[Any], queue: _Queue, now: _Lanes) -> _Lanes:
    """Stores the answers of ended runs, and gives idle lanes the next puzzles of the queue."""
    now = _store_answers(method, queue, now)
    size = len(now.found.status)
    current = now.round if queue.runs == 1 else queue.next(now.round, now.busy, now.found.status)
    idle = ~now.busy
    turn = jnp.cumsum(idle, dtype=jnp.int32)
    places = jnp.where(idle, current.taken + turn - 1, size)
    puzzle = jnp.where(idle, current.numbers(places), now.puzzle)
    begins = idle & (puzzle < size)
    return now._replace(
        state=method.select(begins, method.init(queue.at(places, current)), now.state),
        puzzle=puzzle,
        steps=jnp.where(begins, 0, now.steps),
        round=current._replace(taken=current.taken + begins.sum(dtype=jnp.int32)),
    )


def _narrowed(width: int, method: Method[Any], now: _Lanes) -> _Lanes:
    """Compacts the busy lanes, and pads with idle ones up to the width."""
    (lanes,) = jnp.nonzero(now.busy, size=width, fill_value=0)
    there = jnp.arange(width) < now.busy.sum()
    return now._replace(
        state=method.gather(lanes, now.state),
        puzzle=jnp.where(there, now.puzzle[lanes], len(now.found.status)),
        steps=now.steps[lanes],
        ended=now.ended[lanes] & there,
    )
