"""Tree searches of K puzzles as a ``queue.Method``: each step advances every lane by one position, asynchronously.

A lane is at its root, in a tree, or on a rollout, independently of the others. A step selects the next position of each
lane, applies the rules to all of them at once, calls the network for those that need it, and stores the evaluations. So
the rules and the network are each compiled once, and no lane waits for the slowest search.

A search (``Search``) grows one structure between two moves of a root: a tree of mctx with proofs (``proving``), the
tree of the AlphaSudoku study (``persistent``), or a graph (``graph``).

A lane depends only on its puzzle and the puzzle's seed, so results are the same for any number of lanes, up to the
rounding of the network's sums.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jax import Array

from jaxsudoku import symmetry
from jaxsudoku.core import env
from jaxsudoku.core.board import Board
from jaxsudoku.core.planes import GROUP
from jaxsudoku.engine.solution import Solution
from jaxsudoku.runtime.operations import select
from jaxsudoku.runtime.random import mix
from jaxsudoku.solvers.queue import Answer, Method, Start, run, select_but

from .backtracking import Roots
from .evaluators import Evaluation, Evaluator, View
from .lanes import LOOK, NOTHING, RULES, Lanes, Work
from .tree_config import SearchConfig


class Selected(NamedTuple):
    """The next positions of K searches.

    Attributes:
      nodes: uint32[K, words], packed candidates to which the rules will be applied.
      state: positions that do not need the rules.
      known: bool[K], whether the position is one of ``state``, which is not evaluated.
      seed: uint32[K].
      at: their places in the trees; a pytree of integers [K, ...].
    """

    nodes: Array
    state: env.State
    known: Array
    seed: Array
    at: Any


class Found(NamedTuple):
    """Evaluated positions of K searches.

    Attributes:
      evaluation: the evaluations.
      solved: bool[K], whether a solution was found.
      answer: uint32[K, words], the solution, packed.
    """

    evaluation: Evaluation
    solved: Array
    answer: Array


class Search(NamedTuple):
    """The functions of a search, from a new root until the root moves. All are pure.

    Attributes:
      moves: the number of moves of a position, for the logits.
      at: K -> a pytree of zeros, as ``Selected.at``.
      empty: K -> trees without nodes.
      begin: (lanes, which of them bool[K], seeds uint32[K]) -> lanes whose trees have their evaluated roots.
      over: lanes -> bool[K], whether a search needs no further position.
      select: (lanes, which) -> ``Selected``.
      knows: lanes -> bool[K], whether the current position, after the rules, is already in the tree; None if it never
        is.
      expand: (lanes, which, ``Found``) -> the lanes with positions added to their trees.
      move: (lanes, which, seeds) -> the lanes with their roots moved.
      look: (lanes, which) -> the lanes, after the network evaluated the current positions; None for no change.
    """

    moves: int
    at: Callable[[int], Any]
    empty: Callable[[int], Any]
    begin: Callable[[Lanes, Array, Array], Lanes]
    over: Callable[[Lanes], Array]
    select: Callable[[Lanes, Array], Selected]
    expand: Callable[[Lanes, Array, Found], Lanes]
    move: Callable[[Lanes, Array, Array], Lanes]
    knows: Callable[[Lanes], Array] | None = None
    look: Callable[[Lanes, Array], Lanes] | None = None


class Recorder(NamedTuple):
    """Keeps results of a puzzle's searches; ``Search.move`` updates ``Lanes.record``.

    Attributes:
      empty: number of lanes -> the records of new puzzles.
      stats: records -> results by name, [K, ...], as in ``Solution.stats``.
    """

    empty: Callable[[int], Any]
    stats: Callable[[Any], dict[str, Array]] = lambda record: {}


def search_all(
    board: Board,
    puzzles: Array,
    key: Array,
    config: SearchConfig,
    evaluator: Evaluator,
    search: Search,
    params: Any,
    recorder: Recorder | None = None,
) -> Solution:
    """Solves puzzles by searches.

    Args:
      board: the board.
      puzzles: uint8[N, cells], 0 = empty.
      key: a JAX key; each puzzle's randomness comes from it and from the puzzle's index.
      config: the settings.
      evaluator: the evaluator.
      search: the search.
      params: the network's parameters.
      recorder: keeps results of the searches; None for none.

    Returns:
      A ``Solution``; ``iterations`` int32[N] are the grids evaluated.
    """
    simulation = Simulation(board, config, evaluator, search, params, Roots(board, config, key))
    method = simulation.method(recorder)
    return run(method, board, puzzles, key, rules=config.rules, lanes=config.lanes or GROUP)


def grow(
    board: Board, config: SearchConfig, evaluator: Evaluator, search: Search, params: Any, state: env.State, seed: Array
) -> Lanes:
    """One search from each of K positions.

    Args:
      board: the board.
      config: the settings.
      evaluator: the evaluator.
      search: the search.
      params: the network's parameters.
      state: the positions; those that are terminated are not searched.
      seed: uint32[K].

    Returns:
      The lanes after their searches, before their roots move: ``root`` is evaluated, ``tree`` holds the trees, and
      ``found`` and ``answer`` give solutions found in them.
    """
    roots = Roots(board, config, jax.random.key(0), seed)
    simulation, yes = Simulation(board, config, evaluator, search, params, roots), jnp.ones(len(seed), bool)
    lanes = simulation.empty(len(seed))._replace(live=yes)
    lanes = lanes._replace(root=lanes.root._replace(state=state))

    def going(lanes: Lanes) -> Array:
        return (~lanes.state.terminated & ~simulation.ended(lanes)).any()

    return jax.lax.while_loop(going, simulation.advance, lanes)


class Simulation(NamedTuple):
    """The step of a ``queue.Method`` for a search, in parts."""

    board: Board
    config: SearchConfig
    evaluator: Evaluator
    search: Search
    params: Any
    roots: Roots

    def empty(self, width: int) -> Lanes:
        """K lanes without puzzles."""
        board = self.board
        none, no = jnp.zeros(width, jnp.int32), jnp.zeros(width, bool)
        nodes = jnp.zeros((width, board.words), jnp.uint32)
        nothing = env.State(nodes, none, ~no, no)
        unseen = Evaluation(nothing, jnp.zeros((width, self.search.moves), jnp.float32), jnp.zeros(width, jnp.float32))
        at = self.search.at(width)
        stage, seed = none.astype(jnp.int8), none.astype(jnp.uint32)
        work = Work(stage, nodes, nothing, seed, no, no, unseen, none, none, at)
        shape = (width, board.side, board.cells)
        caller = self.evaluator.caller
        return Lanes(
            root=unseen,
            evaluated=no,
            puzzle=none,
            origin=nodes,
            live=no,
            fresh=no,
            attempt=none,
            spent=none,
            iterations=none,
            changes=none,
            calls=none,
            searches=none,
            simulations=none,
            network_iterations=none,
            searching=no,
            done=none,
            size=none,
            answer=nodes,
            found=no,
            depth=none,
            work=work,
            record=None,
            stack=jnp.zeros((width, board.cells, board.words), jnp.uint32),
            tree=self.search.empty(width),
            policy=jnp.zeros(shape, jnp.float32) if self.evaluator.keeps_policy else None,
            pool=caller.empty(self.params, width) if caller else None,
        )

    def method(self, recorder: Recorder | None = None) -> Method[Lanes]:
        """The searches as a ``queue.Method``."""
        stats: dict[str, int | np.ndarray] = {
            "network_calls": 0,
            "network_iterations": 0,
            "simulations": 0,
            "changes": 1,
        }
        if recorder:
            shapes = jax.eval_shape(lambda: recorder.stats(recorder.empty(1)))
            stats |= {name: np.zeros(leaf.shape[1:], leaf.dtype) for name, leaf in shapes.items()}

        def init(start: Start) -> Lanes:
            width = len(start.puzzle)
            yes = jnp.ones(width, bool)
            lanes = self.empty(width)._replace(puzzle=start.puzzle, origin=start.nodes.T, live=yes, fresh=yes)
            return lanes._replace(record=recorder.empty(width) if recorder else None)

        def postprocess(lanes: Lanes) -> Answer:
            grids = env.grids(lanes.state, self.board)
            if self.config.restarts:
                grids = symmetry.apply(symmetry.invert(self.roots.symmetries(lanes)), grids)
            refuted = lanes.state.refuted & (lanes.depth == 0) & self.config.proves
            kept = recorder.stats(lanes.record) if recorder else {}
            names = ("network_iterations", "simulations", "changes")
            stats = {"network_calls": lanes.calls, **{name: getattr(lanes, name) for name in names}, **kept}
            return Answer(grids, lanes.state.solved, refuted, lanes.iterations, stats)

        return Method(
            init,
            self.step,
            self.roots.done,
            postprocess,
            stats,
            select=select_but("stack", "tree", "policy", "pool"),
            narrow_from=None,
        )

    def step(self, lanes: Lanes) -> Lanes:
        """Advances every lane by one position, then moves the roots of ended searches."""
        lanes = self.advance(lanes)
        ended = self.ended(lanes)
        lanes = self.search.move(lanes, ended, self.roots.seeds(lanes))
        more = ended.astype(jnp.int32)
        return lanes._replace(searching=lanes.searching & ~ended, searches=lanes.searches + more)

    def ended(self, lanes: Lanes) -> Array:
        """Whether a search is over: bool[K]."""
        return lanes.searching & (lanes.done >= 0) & ~lanes.work.busy & self.search.over(lanes)

    def advance(self, lanes: Lanes) -> Lanes:
        """Advances every lane by one position, except those whose searches have ended."""
        lanes = self._settle(self._select(lanes))
        return self._evaluate(*self._look(lanes))

    def _select(self, lanes: Lanes) -> Lanes:
        """Gives idle lanes their next positions: roots to be evaluated, or positions of searches."""
        lanes = self.roots.next(lanes)
        seeds = self.roots.seeds(lanes)
        begins = self.roots.ready(lanes) & lanes.evaluated & ~lanes.searching & ~lanes.work.busy
        begins |= lanes.searching & (lanes.done < 0)
        lanes = self.search.begin(lanes, begins, seeds)
        lanes = lanes._replace(searching=lanes.searching | begins)
        which = lanes.searching & ~lanes.work.busy & ~self.search.over(lanes)
        selected, work = self.search.select(lanes, which), lanes.work
        stage = jnp.where(selected.known, LOOK, RULES).astype(jnp.int8)
        none = jnp.zeros_like(work.calls)
        work = work._replace(
            stage=jnp.where(which, stage, work.stage),
            nodes=select(which, selected.nodes, work.nodes),
            state=select(which, selected.state, work.state),
            seed=jnp.where(which, selected.seed, work.seed),
            rooted=work.rooted & ~which,
            rolling=work.rolling & ~which,
            iterations=jnp.where(which, none + 1, work.iterations),
            calls=jnp.where(which, none, work.calls),
            at=select(which, selected.at, work.at),
        )
        return lanes._replace(work=work)

    def _settle(self, lanes: Lanes) -> Lanes:
        """Applies the rules to the positions at this stage."""
        work = lanes.work
        settled = work.stage == RULES
        state = select(settled, env.from_nodes(work.nodes, self.board, self.config.rules), work.state)
        lanes = lanes._replace(work=work._replace(state=state, stage=jnp.where(settled, jnp.int8(LOOK), work.stage)))
        rooted = settled & work.rooted & ~work.rolling
        lanes = lanes.with_roots(state, rooted).add_counts(rooted.astype(jnp.int32))
        idle = rooted & ~self.roots.ready(lanes)  # a root that is over, or makes another move, is not evaluated
        return lanes._replace(work=lanes.work._replace(stage=jnp.where(idle, jnp.int8(NOTHING), lanes.work.stage)))

    def _look(self, lanes: Lanes) -> tuple[Lanes, View, Array]:
        """The network's results for the positions, and which positions are ready for evaluation, bool[K]."""
        work, caller = lanes.work, self.evaluator.caller
        state = work.state
        here = work.stage == LOOK
        choices = env.legal_placement_mask(state, self.board)
        wanted = here & ~state.terminated & ~self.evaluator.spares(state, choices, work.rolling)
        if self.search.knows is not None:
            wanted &= ~(self.search.knows(lanes) & ~work.rooted & ~work.rolling)
        if caller is None:
            return lanes, View(state, choices, jnp.zeros_like(here), None), here
        others = (self.roots.active(lanes) & ~wanted).any()
        cubes = env.observe(state, self.board)
        seen, pool = caller.evaluate(self.params, lanes.pool, cubes, wanted, work.seed, others)
        asked, votes = wanted & seen.lanes, caller.votes
        outputs = select(asked, seen.outputs, jax.tree.map(jnp.zeros_like, seen.outputs))
        calls = work.calls + jnp.where(asked, votes, 0)
        spent = lanes.network_iterations + jnp.where(asked, seen.spent * votes, 0)
        lanes = lanes._replace(work=work._replace(calls=calls), pool=pool, network_iterations=spent)
        if self.search.look is not None:
            lanes = self.search.look(lanes, asked)
        return lanes, View(state, choices, asked, outputs), here & (seen.lanes | ~wanted)

    def _evaluate(self, lanes: Lanes, view: View, ready: Array) -> Lanes:
        """Evaluates positions, advances rollouts by one step, and adds evaluated positions to the trees."""
        evaluator, work = self.evaluator, lanes.work
        over = view.state.terminated
        evaluation, evaluated, end = evaluator.read(view), ready, view.state
        if evaluator.place is not None:
            evaluation = select(work.rolling, work.before, evaluation)
            policy = lanes.policy
            if policy is not None and view.outputs is not None:
                first = ready & ~work.rolling & view.asked
                policy = jnp.where(first[:, None, None], view.outputs.policy, policy)
            playing = ready & ~over
            if evaluator.keeps_policy:
                playing &= work.rolling | view.asked
            placement = evaluator.place(view, policy, work.seed)
            there = view.state._replace(cell=placement % self.board.cells)
            others = jnp.arange(self.board.side) != (placement // self.board.cells)[:, None]
            work = work._replace(
                stage=jnp.where(playing, jnp.int8(RULES), work.stage),
                nodes=select(playing, env.exclude(there, others, self.board), work.nodes),
                rolling=jnp.where(ready, playing, work.rolling),
                before=select(playing, evaluation, work.before),
                iterations=work.iterations + playing.astype(jnp.int32),
                seed=jnp.where(playing, mix(work.seed + 1), work.seed),
            )
            lanes = lanes._replace(policy=policy)
            evaluated &= ~playing
            value = evaluator.value(evaluation, end)
            evaluation = evaluation._replace(value=jnp.where(evaluation.state.terminated, evaluation.value, value))
        work = work._replace(stage=jnp.where(evaluated, jnp.int8(NOTHING), work.stage))
        lanes = lanes._replace(work=work)
        found = Found(evaluation, end.solved & ~end.refuted, end.nodes)
        rooted = evaluated & work.rooted
        lanes, placed = self._with_roots(lanes, rooted, found), evaluated & ~rooted
        lanes = lanes._replace(simulations=lanes.simulations + placed.astype(jnp.int32))
        return self.search.expand(lanes, placed, found)

    def _with_roots(self, lanes: Lanes, which: Array, found: Found) -> Lanes:
        """Stores the evaluations of roots in the lanes ``which`` bool[K]; their searches begin next."""
        work = lanes.work
        lanes = lanes._replace(
            root=select(which, found.evaluation, lanes.root),
            evaluated=lanes.evaluated | which,
            found=jnp.where(which, found.solved, lanes.found),
            answer=select(which, found.answer, lanes.answer),
            searching=lanes.searching | which,  # regardless of the budget, which is checked between searches
            done=jnp.where(which, -1, lanes.done),
        )
        # the root was counted when the lane moved there, but its expansion was not
        lanes = lanes.add_counts(jnp.where(which, work.iterations - 1, 0), jnp.where(which, work.calls, 0))
        return lanes.add_changes(which.astype(jnp.int32))
