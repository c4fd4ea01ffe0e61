"""Every solver by name, behind one signature, and judged by one judge.

A solver is a pure function to be jitted::

    run(board, puzzles uint8[B, cells], key, config)
        -> Solution(grids uint8[B, cells], status int8[B], iterations int32[B])

with a frozen dataclass of settings, each of which has a default; the command line and ``jaxsudoku.solve`` offer every
field under its own name. A guided solver takes a network of the board, ``networks.Network``, as a fifth argument, and
tells in ``Solution.network_calls``, int32[B], how many positions it looked at. One that works on full grids tells in
``Solution.errors``, int32[B], what is wrong with the best of them. Before a solution leaves the library
``judge`` asks ``grid.is_solved``, so that no solver can claim a false solve.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax import Array, lax

from jaxsudoku import classic, exact, filling, population, search
from jaxsudoku.board import Board, board_of_grids
from jaxsudoku.grid import is_solved
from jaxsudoku.settings import MOST_ROUNDS, Config, at_least, at_most, one_of, settings_of, whole_words
from jaxsudoku.solution import Solution, Status
from jaxsudoku.suggestions import did_you_mean

#: Puzzles that the judge looks at together: few enough for their houses to stay in a CPU's cache.
_JUDGED_TOGETHER = 2048

#: What a solver does: (board, puzzles, key, config), and of a guided one (board, puzzles, key, config, network), to its
#: ``Solution``; ``board`` and ``config`` are static.
Run = Callable[..., Solution]


@dataclasses.dataclass(frozen=True)
class Solver:
    """A solver as the registry knows it.

    Attributes:
      name: what users call it.
      summary: one line for the help text.
      run: the solver.
      config: frozen dataclass of its settings.
      fit: fills in the settings that depend on the machine: (config, board, platform "cpu", "gpu" or "tpu") to config.
      complete: whether it always ends with SOLVED, UNSATISFIABLE or INVALID when no budget stops it.
      guided: whether it takes a network.
      told: what fitted settings come to on a board, in a line; None if there is nothing to tell.
      graded: whether it works on full grids, and tells in ``Solution.errors`` what is wrong with the best one.
    """

    name: str
    summary: str
    run: Run
    config: type
    fit: Callable[[Any, Board, str], Any]
    complete: bool
    guided: bool = False
    told: Callable[[Any, Board], str] | None = None
    graded: bool = False

    @property
    def numbers(self) -> tuple[str, ...]:
        """The further numbers that its solutions have, by their names in ``Solution``."""
        return ("network_calls",) * self.guided + ("errors",) * self.graded


def judge(puzzles: Array, solution: Solution, board: Board | None = None) -> Solution:
    """The solution, but UNSOLVED where a grid claimed as solved breaks a rule or a given; zeros where unsolved."""
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
    return solution._replace(grids=grids, status=status)


@dataclasses.dataclass(frozen=True)
class ExactConfig(Config):
    """Settings of the exact search.

    Attributes:
      rules: what is deduced at every node: naked, singles or locked, each with all that the one before it does.
      rounds: rounds of the rules in a step, up to 1000.
      budget: nodes after which a puzzle is left UNSOLVED; 0 for no limit.
      restart: nodes after which a puzzle is begun anew in a random order, then twice as many, and so on; -1 for never,
        0 suits the board (boards below 12x12 never).
      order: order of branching: fixed, or random by the key.
      lanes: nodes in a step, a multiple of 32; 0 suits the machine.
    """

    rules: str = "locked"
    rounds: int = 5
    budget: int = 0
    restart: int = 0
    order: str = "fixed"
    lanes: int = 0

    def __post_init__(self) -> None:
        super().__post_init__()
        one_of(self, "order", ("fixed", "random"))
        one_of(self, "rules", exact.SEARCH_RULES)
        at_least(self, rounds=1, budget=0, restart=-1)
        at_most(self, rounds=MOST_ROUNDS)
        whole_words(self)


def exact_search(board: Board, puzzles: Array, key: Array, config: ExactConfig, limit: int = 1) -> exact.Search:
    """``exact.search`` as an ``ExactConfig`` says; ``puzzles`` uint8[B, cells]."""
    seeds = jax.random.bits(key, puzzles.shape[:1], jnp.uint32) if config.order == "random" else None
    return exact.search(
        puzzles,
        board,
        seeds,
        limit=limit,
        budget=config.budget or None,
        restart=config.restart if config.restart > 0 else None,
        rules=config.rules,
        rounds=config.rounds,
        lanes=config.lanes or exact.CPU_LANES,
    )


def _fit_exact(config: ExactConfig, board: Board, platform: str) -> ExactConfig:
    """Chooses the lanes, and when to restart: a descent of the whole block through a large board must fit in."""
    lanes = config.lanes or exact.fitting_lanes(board, platform)
    restart = config.restart or (-1 if board.side < 12 else 4 * board.side * lanes)
    return dataclasses.replace(config, lanes=lanes, restart=restart)


def _run_exact(board: Board, puzzles: Array, key: Array, config: ExactConfig, /) -> Solution:
    found = exact_search(board, puzzles, key, config)
    return Solution(found.grids, found.status, found.iterations)


#: Every solver, by name.
SOLVERS: dict[str, Solver] = {
    solver.name: solver
    for solver in (
        Solver("exact", "complete search on bit-planes: finds the solution or proves there is none", _run_exact,
               ExactConfig, _fit_exact, complete=True),
        Solver("guided-exact", "complete search on bit-planes that branches as a network says",
               search.guided_exact, search.GuidedExactConfig, search.fit_exact, complete=True, guided=True),
        Solver("iterative", "a network's surest cell, then the rules, and so on without ever going back",
               filling.iterative, filling.IterativeConfig, filling.fit, complete=False, guided=True),
        Solver("one-shot", "all open cells at once, as a network sees them",
               filling.one_shot, filling.OneShotConfig, filling.fit, complete=False, guided=True),
        Solver("gumbel", "tree search by a network: Gumbel MuZero, with proofs and a way back",
               search.gumbel, search.GumbelConfig, search.fit, complete=True, guided=True, told=search.told),
        Solver("alphasudoku", "tree search by a network: PUCT, with proofs and a way back",
               search.alphasudoku, search.AlphaSudokuConfig, search.fit, complete=True, guided=True, told=search.told),
        Solver("mcgs", "graph search by a network: digits in any order, with proofs and a way back",
               search.mcgs, search.McgsConfig, search.fit, complete=True, guided=True, told=search.told),
        Solver("mcts", "tree search by random rollouts: UCT, with proofs and a way back",
               search.mcts, search.MctsConfig, search.fit, complete=True, told=search.told),
        Solver("depth-first", "textbook depth-first search over partly filled grids, in three orders",
               classic.depth_first, classic.DepthFirstConfig, classic.fit, complete=True),
        Solver("best-first", "textbook greedy best-first search over partly filled grids, by three heuristics",
               classic.best_first, classic.BestFirstConfig, classic.fit, complete=False),
        Solver("elimination", "textbook candidate elimination, alone or with depth-first or best-first search behind",
               classic.elimination, classic.EliminationConfig, classic.fit, complete=True),
        Solver("annealing", "simulated annealing and replica exchange of full grids",
               population.annealing, population.AnnealingConfig, population.fit_annealing, complete=False,
               graded=True),
        Solver("evolution", "combinatorial evolution by a hive of workers and explorers",
               population.evolution, population.EvolutionConfig, population.fit_evolution, complete=False,
               graded=True),
        Solver("hill-climbing", "textbook hill climbing of full grids: the best swap at every step, and restarts",
               population.hill_climbing, population.HillClimbingConfig, population.fit_climbing, complete=False,
               graded=True),
        Solver("evosax", "differential evolution, particle swarm or a genetic algorithm on random keys (extra evosax)",
               population.evosax, population.EvosaxConfig, population.fit_evosax, complete=False, graded=True),
    )
}  # fmt: skip


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
    return ", ".join(name for name, solver in SOLVERS.items() if solver.graded)


def make_config(solver: Solver, /, **options: Any) -> Any:
    """The solver's settings with the named options.

    Raises:
      ValueError: an option that the solver does not have, or a value out of its range.
    """
    return settings_of(solver.config, f"solver {solver.name}", **options)
