"""Every solver by name, behind one signature, and judged by one judge.

A solver is a pure function to be jitted::

    run(board, puzzles uint8[B, cells], key, config)
        -> Solution(grids uint8[B, cells], status int8[B], iterations int32[B], stats)

with a frozen dataclass of settings, each of which has a default; the command line and ``jaxsudoku.solve`` offer every
field under its own name. A guided solver takes a network of the board, ``networks.Network``, as a fifth argument, and
reports in ``stats["network_calls"]``, int32[B], how many positions it evaluated. A solver that works on full grids
reports in ``stats["errors"]``, int32[B], what is wrong with the best of them. Before a solution leaves the library
``judge`` asks ``grid.is_solved``, so that no solver can claim a false solve.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from typing import Any, Literal

import jax
import jax.numpy as jnp
import numpy as np
from jax import Array, lax

from jaxsudoku import classic, decoding, exact, population, search
from jaxsudoku.board import Board, board_of_grids
from jaxsudoku.grid import is_solved
from jaxsudoku.settings import Config, Positive, Rounds, SearchRules, Words, settings_of
from jaxsudoku.solution import Solution, Status
from jaxsudoku.suggestions import did_you_mean

#: Puzzles that the judge looks at together: few enough for their houses to stay in a CPU's cache.
_JUDGED_TOGETHER = 2048

#: What a solver does: (board, puzzles, key, config), and of a guided one (board, puzzles, key, config, network), to its
#: ``Solution``; ``board`` and ``config`` are static.
Run = Callable[..., Solution]


#: What guided solvers report, and what those that work on full grids do.
CALLS, ERRORS = ("network_calls",), ("errors",)


@dataclasses.dataclass(frozen=True)
class Solver:
    """A solver as the registry knows it.

    Attributes:
      name: what users call it.
      summary: one line for the help text.
      run: the solver.
      config: frozen dataclass of its settings.
      complete: whether it always ends with SOLVED, UNSATISFIABLE or INVALID when no budget stops it.
      stats: the names of the numbers in ``Solution.stats`` of every solution.
    """

    name: str
    summary: str
    run: Run
    config: type
    complete: bool
    stats: tuple[str, ...] = ()

    @property
    def guided(self) -> bool:
        """Whether it takes a network."""
        return "network_calls" in self.stats


def judge(puzzles: Array, solution: Solution, board: Board | None = None, *, keep_partial: bool = False) -> Solution:
    """Checks every grid that is claimed as solved.

    Args:
      puzzles: uint8[N, cells].
      solution: what a solver answered.
      board: the board; None for the classic one of the puzzles' size.
      keep_partial: whether grids of UNSOLVED puzzles are kept.

    Returns:
      The solution, but UNSOLVED where a claimed grid breaks a rule or a given. Where it is not SOLVED there are zeros;
      with ``keep_partial``, of UNSOLVED puzzles what the solver came to, or the givens where it kept nothing.
    """
    board, _ = board_of_grids(np.shape(puzzles), board)
    size = puzzles.shape[0]
    if not size:
        return solution
    claimed = solution.status == Status.SOLVED
    together = min(_JUDGED_TOGETHER, size)

    def block(number: Array, true: Array) -> Array:
        start = jnp.minimum(number * together, size - together)
        grids, givens = (lax.dynamic_slice_in_dim(x, start, together) for x in (solution.grids, puzzles))
        return lax.dynamic_update_slice_in_dim(true, is_solved(grids, board, givens), start, axis=0)

    last = jnp.max(jnp.where(claimed, jnp.arange(1, size + 1, dtype=jnp.int32), 0))
    true = lax.fori_loop(0, -(-last // together), block, jnp.zeros(size, bool))
    status = jnp.where(claimed & ~true, jnp.int8(Status.UNSOLVED), solution.status)
    grids = jnp.where((claimed & true)[:, None], solution.grids, 0)
    if keep_partial:
        kept = jnp.where(solution.grids.any(axis=1, keepdims=True), solution.grids, puzzles)
        grids = jnp.where((status == Status.UNSOLVED)[:, None], kept, grids)
    return solution._replace(grids=grids, status=status)


@dataclasses.dataclass(frozen=True)
class ExactConfig(Config):
    """Settings of the exact search.

    Attributes:
      rules: what is deduced at every node: naked, singles or locked, each with all that the one before it does.
      rounds: rounds of the rules in a step, up to 1000.
      budget: nodes after which a puzzle is left UNSOLVED; None for no limit.
      restart: nodes after which a puzzle is begun anew in a random order, then twice as many, and so on, or never; None
        suits the board (boards below 12x12 never).
      order: order of branching: fixed, or random by the key.
      lanes: nodes in a step, a multiple of 32; None suits the machine.
    """

    rules: SearchRules = "locked"
    rounds: Rounds = 5
    budget: Positive | None = None
    restart: Positive | Literal["never"] | None = None
    order: Literal["fixed", "random"] = "fixed"
    lanes: Words | None = None

    def resolve(self, board: Board, platform: str) -> ExactConfig:
        """Chooses the lanes, and when to restart: a descent of the whole block through a large board must fit in."""
        lanes = self.lanes or exact.fitting_lanes(board, platform)
        restart = self.restart or ("never" if board.side < 12 else 4 * board.side * lanes)
        return dataclasses.replace(self, lanes=lanes, restart=restart)


def exact_search(board: Board, puzzles: Array, key: Array, config: ExactConfig, limit: int = 1) -> exact.Search:
    """``exact.search`` as an ``ExactConfig`` says; ``puzzles`` uint8[B, cells]."""
    seeds = jax.random.bits(key, puzzles.shape[:1], jnp.uint32) if config.order == "random" else None
    return exact.search(
        puzzles,
        board,
        seeds,
        limit=limit,
        budget=config.budget,
        restart=None if config.restart == "never" else config.restart,
        rules=config.rules,
        rounds=config.rounds,
        lanes=config.lanes or exact.CPU_LANES,
    )


def _run_exact(board: Board, puzzles: Array, key: Array, config: ExactConfig, /) -> Solution:
    found = exact_search(board, puzzles, key, config)
    return Solution(found.grids, found.status, found.iterations, {})


#: Every solver, by name.
SOLVERS: dict[str, Solver] = {
    solver.name: solver
    for solver in (
        Solver(
            "exact",
            "complete search on bit-planes: finds the solution or proves there is none",
            _run_exact,
            ExactConfig,
            complete=True,
        ),
        Solver(
            "guided-exact",
            "complete search on bit-planes that branches as a network says",
            search.guided_exact,
            search.GuidedExactConfig,
            complete=True,
            stats=CALLS,
        ),
        Solver(
            "iterative",
            "a network's surest cell, then the rules, and so on without ever going back",
            decoding.iterative,
            decoding.IterativeConfig,
            complete=False,
            stats=CALLS,
        ),
        Solver(
            "one-shot",
            "all open cells at once, as a network sees them",
            decoding.one_shot,
            decoding.OneShotConfig,
            complete=False,
            stats=CALLS,
        ),
        Solver(
            "gumbel",
            "tree search by a network: Gumbel MuZero, with proofs and a way back",
            search.gumbel,
            search.GumbelConfig,
            complete=True,
            stats=CALLS,
        ),
        Solver(
            "alphasudoku",
            "tree search by a network: PUCT, with proofs and a way back",
            search.alphasudoku,
            search.AlphaSudokuConfig,
            complete=True,
            stats=CALLS,
        ),
        Solver(
            "mcgs",
            "graph search by a network: digits in any order, with proofs and a way back",
            search.mcgs,
            search.McgsConfig,
            complete=True,
            stats=CALLS,
        ),
        Solver(
            "mcts",
            "tree search by random rollouts: UCT, with proofs and a way back",
            search.mcts,
            search.MctsConfig,
            complete=True,
        ),
        Solver(
            "depth-first",
            "textbook depth-first search over partly filled grids, in three orders",
            classic.depth_first,
            classic.DepthFirstConfig,
            complete=True,
        ),
        Solver(
            "best-first",
            "textbook greedy best-first search over partly filled grids, by three heuristics",
            classic.best_first,
            classic.BestFirstConfig,
            complete=False,
        ),
        Solver(
            "elimination",
            "textbook candidate elimination, alone or with depth-first or best-first search behind",
            classic.elimination,
            classic.EliminationConfig,
            complete=True,
        ),
        Solver(
            "annealing",
            "simulated annealing and replica exchange of full grids",
            population.annealing,
            population.AnnealingConfig,
            complete=False,
            stats=ERRORS,
        ),
        Solver(
            "evolution",
            "combinatorial evolution by a hive of workers and explorers",
            population.evolution,
            population.EvolutionConfig,
            complete=False,
            stats=ERRORS,
        ),
        Solver(
            "hill-climbing",
            "textbook hill climbing of full grids: the best swap at every step, and restarts",
            population.hill_climbing,
            population.HillClimbingConfig,
            complete=False,
            stats=ERRORS,
        ),
        Solver(
            "evosax",
            "differential evolution, particle swarm or a genetic algorithm on random keys (extra evosax)",
            population.evosax,
            population.EvosaxConfig,
            complete=False,
            stats=ERRORS,
        ),
    )
}


def get(name: str) -> Solver:
    """The solver of that name.

    Raises:
      ValueError: there is none; the message lists those there are.
    """
    if name not in SOLVERS:
        raise ValueError(f"unknown solver {name!r}: choose one of {', '.join(SOLVERS)}{did_you_mean(name, SOLVERS)}")
    return SOLVERS[name]


def guided() -> str:
    """The names of the solvers that take a network, as they are listed in messages."""
    return ", ".join(name for name, solver in SOLVERS.items() if solver.guided)


def graded() -> str:
    """The names of the solvers that work on full grids, as they are listed in messages."""
    return ", ".join(name for name, solver in SOLVERS.items() if "errors" in solver.stats)


def make_config(solver: Solver, /, **options: Any) -> Any:
    """The solver's settings with the named options.

    Raises:
      ValueError: an option that the solver does not have, or a value out of its range.
    """
    return settings_of(solver.config, f"solver {solver.name}", **options)
