"""Tree search with backtracking at the root, as a ``queue.Method`` for K puzzles.

Every search adds to the trees of K lanes. Then a root moves on along its tree, as far as the search has explored it
well, and pushes what it leaves undecided on the lane's stack: the position without the digits that were taken or
refuted. A refuted root pops the stack. So no puzzle is lost to an early wrong move: with enough budget it is solved, or
proven to have no solution.

Positions on the stack are ones that no rule was applied to yet. A root that moves on to where its tree has not been is
pushed there as well and popped at once, and a new puzzle begins in the same way, so the rules for roots are compiled
once, in ``settle``.

A lane depends on its puzzle and on that puzzle's own seed alone, so results are the same for any number of lanes, up to
the rounding of the network's sums.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
from jax import Array, lax

from jaxsudoku import env, symmetry
from jaxsudoku.board import Board
from jaxsudoku.planes import GROUP, select
from jaxsudoku.random import mix
from jaxsudoku.solution import Solution
from jaxsudoku.solvers.queue import Answer, Method, Start, run

from .config import SearchConfig
from .evaluators import Evaluate, Evaluation


class Lanes(NamedTuple):
    """K puzzles.

    Attributes:
      known: the roots, evaluated where ``seen``; a solution that was found is a root that is solved.
      seen: bool[K].
      puzzle: int32[K], their indices in the batch.
      origin: uint32[K, words], the packed candidates that attempts begin with.
      fresh: bool[K], whether an attempt is to begin.
      attempt: int32[K], attempts before this one.
      spent: int32[K], grids looked at in this attempt.
      looked: int32[K], grids looked at, in all attempts.
      calls: int32[K], positions that the network evaluated, likewise.
      searches: int32[K], likewise.
      stack: uint32[K, cells, words], what to go back to, packed candidates; every entry comes of a position with more
        filled cells than that of the one below it, so there is room.
      depth: int32[K], how much that is.
    """

    known: Evaluation
    seen: Array
    puzzle: Array
    origin: Array
    fresh: Array
    attempt: Array
    spent: Array
    looked: Array
    calls: Array
    searches: Array
    stack: Any
    depth: Array

    @property
    def state(self) -> env.State:
        """The roots' positions."""
        return self.known.state

    def at(self, state: env.State, changed: Array) -> Lanes:
        """The lanes with other roots, not seen yet, where changed."""
        state = select(changed, state, self.state)
        return self._replace(known=self.known._replace(state=state), seen=self.seen & ~changed)

    def push(self, nodes: Array, chosen: Array) -> Lanes:
        """The lanes with packed candidates uint32[K, words] on their stacks, where bool[K] is chosen."""
        lane = jnp.arange(len(chosen), dtype=jnp.int32)
        stack = self.stack.at[jnp.where(chosen, lane, len(lane)), self.depth].set(nodes, mode="drop")
        return self._replace(stack=stack, depth=self.depth + chosen.astype(jnp.int32))

    def leave(self, nodes: Array, chosen: Array) -> Lanes:
        """The lanes that go to packed candidates uint32[K, words] next, to which no rule was applied yet."""
        after = self.push(nodes, chosen)
        return after.at(self.state._replace(refuted=jnp.ones_like(chosen), solved=jnp.zeros_like(chosen)), chosen)

    def looking(self, at: Array, calls: Array | int = 0) -> Lanes:
        """The lanes after they looked at so many grids int32[K] more."""
        return self._replace(spent=self.spent + at, looked=self.looked + at, calls=self.calls + calls)


#: Lanes from which on the last few searches get a program of their own. With fewer, what a step costs is the network's
#: share, which idle lanes have none of.
_NARROW_FROM = 256

#: A search of each lane's root, all of which are evaluated: (parameters, lanes, seeds uint32[K]) to the lanes with
#: roots further on, at an answer (solved), or refuted.
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
    method = _method(_Roots(board, config, key), evaluate, advance, params)
    return run(method, board, puzzles, key, rules=config.rules, lanes=config.lanes or GROUP)


def _method(roots: _Roots, evaluate: Evaluate, advance: Advance, params: Any) -> Method[Lanes]:
    board, config = roots.board, roots.config

    def init(start: Start) -> Lanes:
        width = len(start.puzzle)
        none, no = jnp.zeros(width, jnp.int32), jnp.zeros(width, bool)
        nothing = env.State(jnp.zeros((width, board.words), jnp.uint32), none, ~no, no)
        shapes = jax.eval_shape(evaluate, params, nothing, none.astype(jnp.uint32))
        known = jax.tree.map(lambda leaf: jnp.zeros(leaf.shape, leaf.dtype), shapes)._replace(state=nothing)
        stack = jnp.zeros((width, board.cells, board.words), jnp.uint32)
        return Lanes(known, no, start.puzzle, start.nodes.T, ~no, none, none, none, none, none, stack, none)

    def step(lanes: Lanes) -> Lanes:
        lanes = _look(evaluate, params, roots.seeds(lanes), lanes)
        lanes = advance(params, lanes, roots.seeds(lanes))
        return lanes._replace(searches=lanes.searches + 1)

    def done(lanes: Lanes) -> Array:
        refuted = lanes.state.refuted & (lanes.depth == 0)
        spent = roots.spent(lanes) & (lanes.attempt == config.restarts)
        return (lanes.state.solved | refuted | spent) & ~lanes.fresh

    def ready(lanes: Lanes) -> Array:
        return ~(lanes.fresh | lanes.state.terminated | roots.spent(lanes) | (roots.forced(lanes) >= 0))

    def postprocess(lanes: Lanes) -> Answer:
        grids = env.grids(lanes.state, board)
        if config.restarts:
            grids = symmetry.apply(symmetry.invert(roots.seen_as(lanes)), grids)
        refuted = lanes.state.refuted & (lanes.depth == 0)
        return Answer(grids, lanes.state.solved, refuted, lanes.looked, {"network_calls": lanes.calls})

    def select_lanes(chosen: Array, one: Lanes, other: Lanes) -> Lanes:
        # the stack of a new puzzle holds nothing
        selected = select(chosen, one._replace(stack=None), other._replace(stack=None))
        return selected._replace(stack=other.stack)

    return Method(
        init,
        step,
        done,
        postprocess,
        {"network_calls": 0},
        select=select_lanes,
        ready=ready,
        settle=roots.settle,
        narrow_from=_NARROW_FROM,
    )


class _Roots:
    """Moves of roots between searches: beginning, backtracking, filling cells with one choice."""

    def __init__(self, board: Board, config: SearchConfig, key: Array) -> None:
        self.board, self.config, self.key = board, config, key

    def seeds(self, lanes: Lanes) -> Array:
        """A seed for each lane's next search: uint32[K]."""
        own = jax.vmap(lambda puzzle: jax.random.bits(jax.random.fold_in(self.key, puzzle), dtype=jnp.uint32))(
            lanes.puzzle
        )
        return mix(own + lanes.searches.astype(jnp.uint32))

    def spent(self, lanes: Lanes) -> Array:
        """Lanes whose attempt has spent its budget: bool[K]."""
        budget = self.config.budget
        return (lanes.spent >= budget) & ~lanes.state.solved if budget else jnp.zeros(lanes.seen.shape, bool)

    def forced(self, lanes: Lanes) -> Array:
        """The digit of roots that have a cell with one choice, else -1; only rules "none" leave such a cell."""
        if self.config.rules != "none":
            return jnp.full(lanes.puzzle.shape, -1, jnp.int32)
        legal = env.legal_action_mask(lanes.state, self.board)
        one = (legal.sum(axis=1, dtype=jnp.int32) == 1) & ~lanes.state.terminated
        return jnp.where(one, legal.argmax(axis=1).astype(jnp.int32), -1)

    def settle(self, lanes: Lanes, busy: Array) -> Lanes:
        """One move of the roots that are not ready for a search; idle lanes become refuted."""
        spent, forced = busy & ~lanes.fresh & self.spent(lanes), self.forced(lanes)
        again = spent & (lanes.attempt < self.config.restarts)
        anew = (busy & lanes.fresh) | again
        back = busy & lanes.state.refuted & (lanes.depth > 0) & ~anew & ~spent
        filled = busy & (forced >= 0) & ~anew & ~spent
        lanes = lanes._replace(attempt=lanes.attempt + again.astype(jnp.int32))

        top = jnp.take_along_axis(lanes.stack, jnp.maximum(lanes.depth - 1, 0)[:, None, None], axis=1)[:, 0]
        others = jnp.arange(self.board.side) != forced[:, None]
        nodes = select(back, top, env.exclude(lanes.state, others, self.board))
        nodes = select(anew, self._begin(lanes, anew), nodes)
        state = env.from_nodes(nodes, self.board, self.config.rules)
        lanes = lanes._replace(
            fresh=lanes.fresh & ~busy,
            depth=jnp.where(anew, 0, lanes.depth - back.astype(jnp.int32)),
            spent=jnp.where(anew, 0, lanes.spent),
        )
        changed = back | filled | anew
        lanes = lanes.at(state, changed).looking(changed.astype(jnp.int32))
        idle = lanes.state._replace(refuted=lanes.state.refuted | ~busy, solved=lanes.state.solved & busy)
        return lanes._replace(known=lanes.known._replace(state=idle))

    def _begin(self, lanes: Lanes, anew: Array) -> Array:
        """The packed candidates that attempts begin with, those after the first under a random symmetry."""
        if not self.config.restarts:
            return lanes.origin

        def turned() -> Array:
            cubes = env.unpack(lanes.origin, self.board).reshape(-1, *(self.board.side,) * 3)
            seen = symmetry.apply_candidates(self.seen_as(lanes), cubes)
            return env.pack(seen.reshape(len(lanes.puzzle), self.board.side, -1), self.board)

        return lax.cond((anew & (lanes.attempt > 0)).any(), turned, lambda: lanes.origin)

    def seen_as(self, lanes: Lanes) -> symmetry.Symmetry:
        """The symmetries under which attempts see their puzzles; the first sees it as it is."""

        def drawn(puzzle: Array, attempt: Array) -> symmetry.Symmetry:
            return symmetry.sample(jax.random.fold_in(jax.random.fold_in(self.key, puzzle), attempt), self.board)

        plain = symmetry.identity(self.board, lanes.puzzle.shape)
        return select(lanes.attempt > 0, jax.vmap(drawn)(lanes.puzzle, lanes.attempt), plain)


def _look(evaluate: Evaluate, params: Any, seed: Array, lanes: Lanes) -> Lanes:
    """The lanes with all roots evaluated."""

    def look() -> Lanes:
        fresh = ~lanes.seen
        # the others are marked as refuted, which costs no evaluation
        known = evaluate(params, lanes.state._replace(refuted=lanes.state.refuted | ~fresh), seed)
        # what is looked at is counted once, as a root that was come to
        calls = jnp.where(fresh, known.calls, 0)
        after = lanes._replace(known=select(fresh, known, lanes.known), seen=jnp.ones_like(fresh))
        return after.looking(jnp.where(fresh, known.looked - 1, 0), calls)

    over = lanes.state.terminated
    return lax.cond((lanes.seen | over).all(), lambda: lanes, look)
