"""Searches for any number of puzzles, in lanes that never idle: the root moves on, backs out, and makes way.

Every search adds to the trees of K lanes. Then a root moves on along its tree, as far as the search has looked well
into it, and what it leaves undecided on the way is put on the lane's stack: the position without the digits that were
taken or refuted. A root that is proven dead backs out to the last of these. So no puzzle is lost to an early wrong
move: with enough budget it is solved, or proven to have no solution. A lane whose puzzle came to its end takes the next
one before the next search.

Positions on the stack are ones that no rule was applied to yet. A root that moves on to where its tree has not been is
put there as well, and the lane backs out to it at once; so do lanes begin. Roots thus meet the rules at one place,
which is compiled once.

What a lane does depends on its puzzle and on that puzzle's own seed alone, so results are the same whatever the number
of lanes, up to the rounding of the network's sums.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
from jax import Array, lax

from jaxsudoku import env, symmetry
from jaxsudoku.board import Board
from jaxsudoku.mixing import mix
from jaxsudoku.planes import GROUP
from jaxsudoku.roots import Roots, make_roots
from jaxsudoku.solution import Solution, Status

from .config import SearchConfig
from .evaluation import Evaluate, Evaluation


class Lanes(NamedTuple):
    """K lanes at work.

    Attributes:
      known: the roots, evaluated where ``seen``; an answer that was found is a root that is solved.
      seen: bool[K].
      puzzle: int32[K], whose they are; N for an idle lane.
      attempt: int32[K], how often the puzzle was begun anew.
      spent: int32[K], grids looked at in this attempt.
      looked: int32[K], grids looked at, in all attempts.
      calls: int32[K], positions that the network looked at, likewise.
      searches: int32[K], likewise.
      stack: uint32[K, cells, words], what to go back to, packed candidates; every entry comes of a position with more
        filled cells than that of the one below it, so there is room.
      depth: int32[K], how much that is.
    """

    known: Evaluation
    seen: Array
    puzzle: Array
    attempt: Array
    spent: Array
    looked: Array
    calls: Array
    searches: Array
    stack: Array
    depth: Array

    @property
    def state(self) -> env.State:
        """The roots' positions."""
        return self.known.state

    def at(self, state: env.State, changed: Array) -> Lanes:
        """The lanes with other roots, not seen yet, where changed."""
        state = env.where(changed, state, self.state)
        return self._replace(known=self.known._replace(state=state), seen=self.seen & ~changed)

    def push(self, nodes: Array, chosen: Array) -> Lanes:
        """The lanes with packed candidates uint32[K, words] on their stacks, where bool[K] is chosen."""
        lane = jnp.arange(len(chosen), dtype=jnp.int32)
        stack = self.stack.at[jnp.where(chosen, lane, len(lane)), self.depth].set(nodes, mode="drop")
        return self._replace(stack=stack, depth=self.depth + chosen.astype(jnp.int32))

    def leave(self, nodes: Array, chosen: Array) -> Lanes:
        """The lanes that go to packed candidates uint32[K, words] next, to which no rule was applied yet."""
        after = self.push(nodes, chosen)
        return after.at(self.state._replace(dead=jnp.ones_like(chosen), solved=jnp.zeros_like(chosen)), chosen)

    def looking(self, at: Array, calls: Array | int = 0) -> Lanes:
        """The lanes after they looked at so many grids int32[K] more."""
        return self._replace(spent=self.spent + at, looked=self.looked + at, calls=self.calls + calls)


#: A search of each lane's root, all of which are evaluated: (parameters, lanes, seeds uint32[K]) to the lanes with
#: roots further on, at an answer (solved), or proven dead.
Advance = Callable[[Any, Lanes, Array], Lanes]


def search_all(
    board: Board, puzzles: Array, key: Array, config: SearchConfig, evaluate: Evaluate, advance: Advance, params: Any
) -> Solution:
    """Solves puzzles by searches.

    Args:
      board: the board.
      puzzles: uint8[N, cells], 0 = empty.
      key: a JAX key; each puzzle's randomness comes from it and from the puzzle's index.
      config: the settings.
      evaluate: what a position is worth.
      advance: what a search makes of the lanes.
      params: parameters of both.

    Returns:
      A ``Solution``; ``iterations`` int32[N] are the grids that were looked at, ``network_calls`` int32[N].
    """
    size = puzzles.shape[0]
    if not size:
        nothing = jnp.zeros(0, jnp.int32)
        return Solution(puzzles, jnp.zeros(0, jnp.int8), nothing, nothing)
    width = min(config.lanes or GROUP, size + -size % GROUP)
    roots = make_roots(board, puzzles, config.rules, width)
    host = _Host(board, roots, key, config)

    def search(now: tuple[Lanes, Array, Solution]) -> tuple[Lanes, Array, Solution]:
        lanes, taken, found = now
        lanes = _look(evaluate, params, host.seeds(lanes), lanes)
        lanes = advance(params, lanes, host.seeds(lanes))
        return host.settle(lanes._replace(searches=lanes.searches + 1), taken, found)

    looked_at = (roots.status != Status.INVALID).astype(jnp.int32)
    found = Solution(roots.grids, roots.status, looked_at, jnp.zeros(size, jnp.int32))
    start = host.settle(host.first(evaluate, params, width), jnp.int32(width), found)
    return lax.while_loop(lambda now: (now[0].puzzle < size).any(), search, start)[2]


class _Host:
    """Where lanes get their puzzles, and leave their answers; N puzzles."""

    def __init__(self, board: Board, roots: Roots, key: Array, config: SearchConfig) -> None:
        self.board, self.roots, self.config = board, roots, config
        self.size = len(roots.status)
        self.key = key

    def seeds(self, lanes: Lanes) -> Array:
        """A seed for each lane's next search: uint32[K]."""
        own = jax.vmap(lambda puzzle: jax.random.bits(jax.random.fold_in(self.key, puzzle), dtype=jnp.uint32))(
            lanes.puzzle
        )
        return mix(own + lanes.searches.astype(jnp.uint32))

    def first(self, evaluate: Evaluate, params: Any, width: int) -> Lanes:
        """The lanes with the first puzzles, about to begin."""
        none = jnp.zeros(width, jnp.int32)
        every = jnp.ones(width, bool)
        nothing = env.State(jnp.zeros((width, self.board.words), jnp.uint32), none, every, ~every)
        shapes = jax.eval_shape(evaluate, params, nothing, none.astype(jnp.uint32))
        known = jax.tree.map(lambda leaf: jnp.zeros(leaf.shape, leaf.dtype), shapes)._replace(state=nothing)
        puzzle = self.roots.waiting.at[jnp.arange(width)].get(mode="fill", fill_value=self.size)
        stack = jnp.zeros((width, self.board.cells, self.board.words), jnp.uint32)
        lanes = Lanes(known, ~every, puzzle, none, none, none, none, none, stack, none)
        return lanes.push(self._nodes(puzzle), every)

    def settle(self, lanes: Lanes, taken: Array, found: Solution) -> tuple[Lanes, Array, Solution]:
        """Goes on until every lane has a root to be searched, or is idle.

        Puzzles that came to their end make way for the next, dead roots back out, spent attempts begin anew, and with
        rules "none" cells with one choice are filled.
        """

        def once(now: tuple[tuple[Lanes, Array, Solution], Array]) -> tuple[tuple[Lanes, Array, Solution], Array]:
            whole, _ = now
            lanes = whole[0]
            spent, forced = self._spent(lanes), self._forced(lanes)
            over = lanes.state.dead | lanes.state.solved | spent | (forced >= 0)
            unsettled = (over & (lanes.puzzle < self.size)).any()
            return lax.cond(unsettled, lambda: self._once(*whole, spent, forced), lambda: whole), unsettled

        return lax.while_loop(lambda now: now[1], once, ((lanes, taken, found), jnp.bool_(True)))[0]

    def _spent(self, lanes: Lanes) -> Array:
        budget = self.config.budget
        return (lanes.spent >= budget) & ~lanes.state.solved if budget else jnp.zeros(lanes.seen.shape, bool)

    def _forced(self, lanes: Lanes) -> Array:
        """The digit of roots that have a cell with one choice, else -1; only rules "none" leave such a cell."""
        if self.config.rules != "none":
            return jnp.full(lanes.puzzle.shape, -1, jnp.int32)
        legal = env.legal(lanes.state, self.board)
        one = (legal.sum(axis=1, dtype=jnp.int32) == 1) & ~lanes.state.dead & ~lanes.state.solved
        return jnp.where(one, legal.argmax(axis=1).astype(jnp.int32), -1)

    def _once(
        self, lanes: Lanes, taken: Array, found: Solution, spent: Array, forced: Array
    ) -> tuple[Lanes, Array, Solution]:
        busy = lanes.puzzle < self.size
        solved, dead = lanes.state.solved, lanes.state.dead
        refuted = dead & (lanes.depth == 0)
        last = lanes.attempt == self.config.restarts
        ended = busy & (solved | refuted | (spent & last))
        record = functools.partial(self._record, lanes, ended, refuted & ~solved, found)
        found = lax.cond(ended.any(), record, lambda: found)

        turn = jnp.cumsum(ended, dtype=jnp.int32)
        following = self.roots.waiting.at[taken + turn - 1].get(mode="fill", fill_value=self.size)
        anew = ended | (busy & spent)
        back = busy & dead & ~anew
        filled = busy & (forced >= 0) & ~anew

        puzzle = jnp.where(ended, following, lanes.puzzle)
        attempt = jnp.where(ended, 0, lanes.attempt + (busy & spent).astype(jnp.int32))
        top = jnp.take_along_axis(lanes.stack, jnp.maximum(lanes.depth - 1, 0)[:, None, None], axis=1)[:, 0]
        others = jnp.arange(self.board.side) != forced[:, None]
        nodes = env.where(back, top, env.without(lanes.state, others, self.board))
        nodes = env.where(anew, self._begin(puzzle, attempt, anew), nodes)
        state = env.settled(nodes, self.board, self.config.rules)
        idle = puzzle >= self.size
        state = state._replace(dead=state.dead | idle, solved=state.solved & ~idle)
        lanes = lanes._replace(
            puzzle=puzzle, attempt=attempt, depth=jnp.where(anew, 0, lanes.depth - back.astype(jnp.int32)),
            spent=jnp.where(anew, 0, lanes.spent), looked=jnp.where(ended, 0, lanes.looked),
            calls=jnp.where(ended, 0, lanes.calls), searches=jnp.where(ended, 0, lanes.searches),
        )  # fmt: skip
        changed = back | filled | anew
        return lanes.at(state, changed).looking(changed.astype(jnp.int32)), taken + turn[-1], found

    def _record(self, lanes: Lanes, ended: Array, refuted: Array, found: Solution) -> Solution:
        """The answers, with those of the lanes that ended."""
        solved = lanes.state.solved
        grids = env.grids(lanes.state, self.board)
        if self.config.restarts:
            grids = symmetry.apply(symmetry.invert(self._seen_as(lanes.puzzle, lanes.attempt)), grids)
        status = jnp.where(solved, Status.SOLVED, jnp.where(refuted, Status.UNSATISFIABLE, Status.UNSOLVED))
        target = jnp.where(ended, lanes.puzzle, self.size)
        assert found.network_calls is not None
        return Solution(
            found.grids.at[target].set(jnp.where(solved[:, None], grids, 0), mode="drop"),
            found.status.at[target].set(status.astype(jnp.int8), mode="drop"),
            found.iterations.at[target].set(lanes.looked, mode="drop"),
            found.network_calls.at[target].set(lanes.calls, mode="drop"),
        )

    def _nodes(self, puzzle: Array) -> Array:
        """The packed candidates of puzzles int32[K]; of idle lanes any."""
        return self.roots.nodes.at[:, puzzle].get(mode="clip").T

    def _begin(self, puzzle: Array, attempt: Array, anew: Array) -> Array:
        """The packed candidates that attempts begin with, those after the first under a random symmetry."""
        nodes = self._nodes(puzzle)
        if not self.config.restarts:
            return nodes

        def turned() -> Array:
            cubes = env.cubes(nodes, self.board).reshape(-1, *(self.board.side,) * 3)
            seen = symmetry.apply_candidates(self._seen_as(puzzle, attempt), cubes)
            return env.packed(seen.reshape(len(puzzle), self.board.side, -1), self.board)

        return lax.cond((anew & (attempt > 0)).any(), turned, lambda: nodes)

    def _seen_as(self, puzzle: Array, attempt: Array) -> symmetry.Symmetry:
        """The symmetries under which attempts see their puzzles; the first sees it as it is."""

        def drawn(puzzle: Array, attempt: Array) -> symmetry.Symmetry:
            return symmetry.sample(jax.random.fold_in(jax.random.fold_in(self.key, puzzle), attempt), self.board)

        plain = symmetry.identity(self.board, puzzle.shape)
        return env.where(attempt > 0, jax.vmap(drawn)(puzzle, attempt), plain)


def _look(evaluate: Evaluate, params: Any, seed: Array, lanes: Lanes) -> Lanes:
    """The lanes with all roots evaluated."""

    def look() -> Lanes:
        fresh = ~lanes.seen
        known = evaluate(params, lanes.state._replace(dead=lanes.state.dead | ~fresh), seed)  # the others play nothing
        # what is looked at is counted once, as a root that was come to
        calls = jnp.where(fresh, known.calls, 0)
        after = lanes._replace(known=env.where(fresh, known, lanes.known), seen=jnp.ones_like(fresh))
        return after.looking(jnp.where(fresh, known.looked - 1, 0), calls)

    over = lanes.state.dead | lanes.state.solved
    return lax.cond((lanes.seen | over).all(), lambda: lanes, look)
