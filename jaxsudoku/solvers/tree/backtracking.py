"""Tree search with backtracking at the root, as a ``queue.Method`` for K puzzles.

Every search grows the trees of K lanes. Then each root moves along its tree as far as the search has explored it well,
and pushes the alternatives on the lane's stack: the position without the digits tried or refuted. A refuted root pops
the stack. So the search is complete: with enough budget a puzzle is solved or proven to have no solution.

The rules are not applied to positions on the stack. A root that leaves its tree is pushed; the next ``prepare`` pops it
and applies the rules. ``prepare`` also starts new puzzles, so the rules for roots are compiled once.

A lane depends only on its puzzle and the puzzle's seed, so results are the same for any number of lanes, up to the
rounding of the network's sums.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jax import Array, lax

from jaxsudoku import symmetry
from jaxsudoku.core import env
from jaxsudoku.core.board import Board
from jaxsudoku.core.planes import GROUP
from jaxsudoku.engine.solution import Solution
from jaxsudoku.runtime.operations import select
from jaxsudoku.runtime.random import mix
from jaxsudoku.solvers.queue import Answer, Method, Start, run, select_but

from .evaluators import Evaluate, Evaluation
from .tree_config import SearchConfig


class Lanes(NamedTuple):
    """K puzzles.

    Attributes:
      root: the roots and, where ``evaluated``, their evaluations; a solution that was found is a solved root.
      evaluated: bool[K].
      puzzle: int32[K], the indices of the puzzles in the batch.
      origin: uint32[K, words], the packed candidates at the start of an attempt.
      fresh: bool[K], whether the puzzle is new, and its first attempt has not begun.
      attempt: int32[K], attempts before this one.
      spent: int32[K], grids evaluated in this attempt.
      iterations: int32[K], grids evaluated in all attempts.
      changes: int32[K], changes of the grid that is looked at in all attempts: the grids evaluated, the nodes expanded
        and the moves of the root.
      calls: int32[K], positions evaluated by the network in all attempts.
      searches: int32[K], searches in all attempts.
      stack: uint32[K, cells, words], alternatives to return to, packed candidates. An entry has more filled cells than
        the one below it, so the stack cannot overflow.
      depth: int32[K], entries on the stack.
      record: what a ``Recorder`` keeps of each puzzle; None without one.
      storage: as of ``Recorder``.
    """

    root: Evaluation
    evaluated: Array
    puzzle: Array
    origin: Array
    fresh: Array
    attempt: Array
    spent: Array
    iterations: Array
    changes: Array
    calls: Array
    searches: Array
    stack: Any
    depth: Array
    record: Any = None
    storage: Any = None

    @property
    def state(self) -> env.State:
        """The roots' positions."""
        return self.root.state

    @property
    def top(self) -> Array:
        """The entries on top of the stacks, uint32[K, words]; undefined where a stack is empty."""
        top: Array = jnp.take_along_axis(self.stack, jnp.maximum(self.depth - 1, 0)[:, None, None], axis=1)[:, 0]
        return top

    def with_roots(self, state: env.State, changed: Array) -> Lanes:
        """The lanes with new roots, not evaluated yet, where changed."""
        state = select(changed, state, self.state)
        return self._replace(root=self.root._replace(state=state), evaluated=self.evaluated & ~changed)

    def push(self, nodes: Array, chosen: Array) -> Lanes:
        """Pushes packed candidates uint32[K, words] on the stacks of the chosen lanes bool[K]."""
        lane = jnp.arange(len(chosen), dtype=jnp.int32)
        stack = self.stack.at[jnp.where(chosen, lane, len(lane)), self.depth].set(nodes, mode="drop")
        return self._replace(stack=stack, depth=self.depth + chosen.astype(jnp.int32))

    def go_to(self, nodes: Array, chosen: Array) -> Lanes:
        """Sends the chosen lanes to packed candidates uint32[K, words], to which no rule was applied yet."""
        after = self.push(nodes, chosen)
        return after.with_roots(
            self.state._replace(refuted=jnp.ones_like(chosen), solved=jnp.zeros_like(chosen)), chosen
        )

    def add_counts(self, iterations: Array, calls: Array | int = 0) -> Lanes:
        """Adds to the numbers of grids evaluated int32[K] and of network calls."""
        return self._replace(
            spent=self.spent + iterations,
            iterations=self.iterations + iterations,
            changes=self.changes + iterations,
            calls=self.calls + calls,
        )

    def add_changes(self, more: Array) -> Lanes:
        """Adds to the number of changes int32[K] those without a grid that is evaluated."""
        return self._replace(changes=self.changes + more)


#: ``queue.Method.narrow_from``. Below this a step mostly costs the network's time, which skips idle lanes.
_NARROW_FROM = 256

#: Searches from the evaluated roots, then moves them: (parameters, lanes, seeds uint32[K]) to lanes whose roots are
#: deeper or terminated.
Advance = Callable[[Any, Lanes, Array], Lanes]


class Recorder(NamedTuple):
    """Keeps results of a puzzle's searches; ``Advance`` updates ``Lanes.record``.

    Attributes:
      empty: the number of lanes to the records of new puzzles.
      stats: records to results by name, [K, ...], which ``Solution.stats`` holds.
      storage: the number of lanes to storage that new puzzles need not clear.
    """

    empty: Callable[[int], Any]
    stats: Callable[[Any], dict[str, Array]]
    storage: Callable[[int], Any] = lambda width: None


def search_all(
    board: Board,
    puzzles: Array,
    key: Array,
    config: SearchConfig,
    evaluate: Evaluate,
    advance: Advance,
    params: Any,
    recorder: Recorder | None = None,
) -> Solution:
    """Solves puzzles by searches.

    Args:
      board: the board.
      puzzles: uint8[N, cells], 0 = empty.
      key: a JAX key; each puzzle's randomness comes from it and from the puzzle's index.
      config: the settings.
      evaluate: the evaluator.
      advance: the search.
      params: parameters of both.
      recorder: what is kept of the searches; None for nothing.

    Returns:
      A ``Solution``; ``iterations`` int32[N] are the grids evaluated.
    """
    method = _method(_Roots(board, config, key), evaluate, advance, params, recorder)
    return run(method, board, puzzles, key, rules=config.rules, lanes=config.lanes or GROUP)


def _method(
    roots: _Roots, evaluate: Evaluate, advance: Advance, params: Any, recorder: Recorder | None = None
) -> Method[Lanes]:
    board, config = roots.board, roots.config
    stats: dict[str, int | np.ndarray] = {"network_calls": 0, "changes": 1}
    if recorder:
        shapes = jax.eval_shape(lambda: recorder.stats(recorder.empty(1)))
        stats |= {name: np.zeros(leaf.shape[1:], leaf.dtype) for name, leaf in shapes.items()}

    def init(start: Start) -> Lanes:
        width = len(start.puzzle)
        none, no = jnp.zeros(width, jnp.int32), jnp.zeros(width, bool)
        nothing = env.State(jnp.zeros((width, board.words), jnp.uint32), none, ~no, no)
        shapes = jax.eval_shape(evaluate, params, nothing, none.astype(jnp.uint32))
        root = jax.tree.map(lambda leaf: jnp.zeros(leaf.shape, leaf.dtype), shapes)._replace(state=nothing)
        stack = jnp.zeros((width, board.cells, board.words), jnp.uint32)
        kept = (recorder.empty(width), recorder.storage(width)) if recorder else ()
        counts = (none,) * 6
        return Lanes(root, no, start.puzzle, start.nodes.T, ~no, *counts, stack, none, *kept)

    def step(lanes: Lanes) -> Lanes:
        lanes = _evaluate_roots(evaluate, params, roots.seeds(lanes), lanes)
        lanes = advance(params, lanes, roots.seeds(lanes))
        return lanes._replace(searches=lanes.searches + 1)

    def done(lanes: Lanes) -> Array:
        refuted = lanes.state.refuted & (lanes.depth == 0)
        spent = roots.over_budget(lanes) & (lanes.attempt == config.restarts)
        return (lanes.state.solved | refuted | spent) & ~lanes.fresh

    def ready(lanes: Lanes) -> Array:
        return ~(lanes.fresh | lanes.state.terminated | roots.over_budget(lanes) | (roots.forced(lanes) >= 0))

    def postprocess(lanes: Lanes) -> Answer:
        grids = env.grids(lanes.state, board)
        if config.restarts:
            grids = symmetry.apply(symmetry.invert(roots.symmetries(lanes)), grids)
        refuted = lanes.state.refuted & (lanes.depth == 0) & config.proves
        kept = recorder.stats(lanes.record) if recorder else {}
        stats = {"network_calls": lanes.calls, "changes": lanes.changes, **kept}
        return Answer(grids, lanes.state.solved, refuted, lanes.iterations, stats)

    return Method(
        init,
        step,
        done,
        postprocess,
        stats,
        select=select_but("stack", "storage"),
        ready=ready,
        prepare=roots.prepare,
        narrow_from=_NARROW_FROM,
    )


class _Roots:
    """Moves of roots between searches: new attempts, backtracking, cells with one candidate."""

    def __init__(self, board: Board, config: SearchConfig, key: Array) -> None:
        self.board, self.config, self.key = board, config, key

    def seeds(self, lanes: Lanes) -> Array:
        """A seed for each lane's next search: uint32[K]."""
        own = jax.vmap(lambda puzzle: jax.random.bits(jax.random.fold_in(self.key, puzzle), dtype=jnp.uint32))(
            lanes.puzzle
        )
        return mix(own + lanes.searches.astype(jnp.uint32))

    def over_budget(self, lanes: Lanes) -> Array:
        """Lanes whose attempt has spent its budget: bool[K]."""
        budget, spent = self.config.budget, lanes.spent if self.config.proves else lanes.changes
        return (spent >= budget) & ~lanes.state.solved if budget else jnp.zeros(lanes.evaluated.shape, bool)

    def forced(self, lanes: Lanes) -> Array:
        """The digit of a cell with one candidate, else -1: int32[K]; only rules "none" leave such cells.

        A search without proofs makes such a move as any other.
        """
        if self.config.rules != "none" or not self.config.proves:
            return jnp.full(lanes.puzzle.shape, -1, jnp.int32)
        legal = env.legal_action_mask(lanes.state, self.board)
        one = (legal.sum(axis=1, dtype=jnp.int32) == 1) & ~lanes.state.terminated
        return jnp.where(one, legal.argmax(axis=1).astype(jnp.int32), -1)

    def prepare(self, lanes: Lanes, busy: Array) -> Lanes:
        """One move of the roots that are not ready for a search; idle lanes become refuted."""
        spent, forced = busy & ~lanes.fresh & self.over_budget(lanes), self.forced(lanes)
        again = spent & (lanes.attempt < self.config.restarts)
        anew = (busy & lanes.fresh) | again
        back = busy & lanes.state.refuted & (lanes.depth > 0) & ~anew & ~spent
        filled = busy & (forced >= 0) & ~anew & ~spent
        lanes = lanes._replace(attempt=lanes.attempt + again.astype(jnp.int32))

        others = jnp.arange(self.board.side) != forced[:, None]
        nodes = select(back, lanes.top, env.exclude(lanes.state, others, self.board))
        nodes = select(anew, self._begin(lanes, anew), nodes)
        state = env.from_nodes(nodes, self.board, self.config.rules)
        lanes = lanes._replace(
            fresh=lanes.fresh & ~busy,
            depth=jnp.where(anew, 0, lanes.depth - back.astype(jnp.int32)),
            spent=jnp.where(anew, 0, lanes.spent),
        )
        changed = back | filled | anew
        lanes = lanes.with_roots(state, changed).add_counts(changed.astype(jnp.int32))
        idle = lanes.state._replace(refuted=lanes.state.refuted | ~busy, solved=lanes.state.solved & busy)
        return lanes._replace(root=lanes.root._replace(state=idle))

    def _begin(self, lanes: Lanes, anew: Array) -> Array:
        """The packed candidates of new attempts, under a random symmetry after the first."""
        if not self.config.restarts:
            return lanes.origin

        def turned() -> Array:
            cubes = env.unpack(lanes.origin, self.board).reshape(-1, *(self.board.side,) * 3)
            turned_cubes = symmetry.apply_candidates(self.symmetries(lanes), cubes)
            return env.pack(turned_cubes.reshape(len(lanes.puzzle), self.board.side, -1), self.board)

        return lax.cond((anew & (lanes.attempt > 0)).any(), turned, lambda: lanes.origin)

    def symmetries(self, lanes: Lanes) -> symmetry.Symmetry:
        """The symmetries of attempts; the identity for the first."""

        def drawn(puzzle: Array, attempt: Array) -> symmetry.Symmetry:
            return symmetry.sample(jax.random.fold_in(jax.random.fold_in(self.key, puzzle), attempt), self.board)

        plain = symmetry.identity(self.board, lanes.puzzle.shape)
        return select(lanes.attempt > 0, jax.vmap(drawn)(lanes.puzzle, lanes.attempt), plain)


def without_backtracking(advance: Advance) -> Advance:
    """An advance that keeps no alternatives: a puzzle ends when its root is refuted, which then proves nothing."""

    def once(params: Any, lanes: Lanes, seed: Array) -> Lanes:
        lanes = advance(params, lanes, seed)
        # a root that leaves its tree is refuted and lies on the stack, above its alternatives
        waiting = lanes.state.refuted & (lanes.depth > 0)
        return lanes._replace(stack=lanes.stack.at[:, 0].set(lanes.top), depth=waiting.astype(jnp.int32))

    return once


def _evaluate_roots(evaluate: Evaluate, params: Any, seed: Array, lanes: Lanes) -> Lanes:
    """Evaluates the roots that are not evaluated yet."""

    new, over = ~lanes.evaluated, lanes.state.terminated

    def evaluate_new() -> Evaluation:
        wanted = lanes.state._replace(refuted=lanes.state.refuted | ~new)  # no rollouts for the others
        return select(new, evaluate(params, wanted, seed), lanes.root)

    root = lax.cond((lanes.evaluated | over).all(), lambda: lanes.root, evaluate_new)
    # the root itself was counted when the lane moved there, but not that it is expanded
    lanes = lanes._replace(root=root, evaluated=lanes.evaluated | ~(lanes.evaluated | over).all())
    counted = new & ~over
    lanes = lanes.add_counts(jnp.where(counted, root.iterations - 1, 0), jnp.where(counted, root.calls, 0))
    return lanes.add_changes(counted.astype(jnp.int32))
