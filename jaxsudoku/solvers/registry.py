"""The registry of solvers by name. Loads no JAX until a solver runs."""

from __future__ import annotations

import dataclasses
import functools
import importlib
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from jaxsudoku.exact.exact_config import ExactConfig
from jaxsudoku.runtime.settings import settings_of
from jaxsudoku.runtime.suggestions import did_you_mean

from .guided_config import GuidedExactConfig, IterativeConfig, OneShotConfig
from .population.population_config import (
    AnnealingConfig,
    BestFirstSwapsConfig,
    EvolutionConfig,
    EvosaxConfig,
    HillClimbingConfig,
)
from .sat.sat_config import AutoConfig, SatConfig
from .textbook.textbook_config import BestFirstConfig, DepthFirstConfig, EliminationConfig
from .tree.tree_config import AlphaSudokuConfig, GumbelConfig, McgsConfig, MctsConfig

if TYPE_CHECKING:
    import numpy as np

    from jaxsudoku.core.board import Board
    from jaxsudoku.engine.solution import Solution


#: The network that guided solvers use by default.
DEFAULT_NETWORK = "cube"


@dataclasses.dataclass(frozen=True)
class Solver:
    """An entry of the registry.

    Attributes:
      name: the solver's name.
      summary: one line for the help text.
      function: the solver, or its location, "module:function" below ``jaxsudoku.solvers``.
      config: frozen dataclass of its settings.
      complete: whether it always ends with SOLVED, UNSATISFIABLE or INVALID when no budget stops it.
      stats: the names of the numbers in ``Solution.stats`` of every solution.
      within: whether it can be restricted to candidates, by a fifth argument bool[N, side, cells] of excluded digits.
      clues: whether it supports constraints of each puzzle, by an argument ``clues``.
      constraints: whether it supports boards with constraints.
      on_host: for a solver that is completed on the host, in numpy: (board, puzzles, excluded or None, the function's
        results, config) -> results; or its location.
    """

    name: str
    summary: str
    function: Callable[..., Solution] | str
    config: type
    complete: bool
    stats: tuple[str, ...] = ()
    within: bool = False
    clues: bool = False
    constraints: bool = True
    on_host: Callable[..., Solution] | str | None = None

    @property
    def guided(self) -> bool:
        """Whether it takes a network."""
        return "network_calls" in self.stats

    def check(self, board: Board, clues: bool = False) -> None:
        """Raises ValueError if it supports no constraints of the board, or no clues of puzzles if there are any."""
        if board.constraints and not self.constraints:
            able = ", ".join(name for name, solver in SOLVERS.items() if solver.constraints)
            raise ValueError(f"the solver {self.name} supports no boards with constraints; those that do are {able}")
        if clues and not self.clues:
            able = ", ".join(name for name, solver in SOLVERS.items() if solver.clues)
            raise ValueError(
                f"the solver {self.name} supports no clues, which are constraints of single puzzles: use {able}, or "
                "put the constraints on the board (Board.with_)"
            )

    def run(self, board: Board, puzzles: Any, key: Any, config: Any, /, *further: Any, **named: Any) -> Solution:
        """Calls the function; guided solvers take a network as well.

        Raises:
          ValueError: as ``check`` does.
        """
        self.check(board, named.get("clues") is not None)
        return self._function(board, puzzles, key, config, *further, **named)

    def complete_on_host(
        self,
        board: Board,
        puzzles: np.ndarray,
        excluded: np.ndarray | None,
        solution: Solution[np.ndarray],
        config: Any,
    ) -> Solution[np.ndarray]:
        """The results after the work on the host, if there is any."""
        return solution if self._on_host is None else self._on_host(board, puzzles, excluded, solution, config)

    @functools.cached_property
    def _function(self) -> Callable[..., Solution]:
        return _loaded(self.function)

    @functools.cached_property
    def _on_host(self) -> Callable[..., Solution] | None:
        return None if self.on_host is None else _loaded(self.on_host)


def _loaded(function: Callable[..., Solution] | str) -> Callable[..., Solution]:
    if not isinstance(function, str):
        return function
    module, _, name = function.partition(":")
    found: Callable[..., Solution] = getattr(importlib.import_module(f"jaxsudoku.solvers.{module}"), name)
    return found


#: Every solver, by name.
SOLVERS: dict[str, Solver] = {
    solver.name: solver
    for solver in (
        Solver(
            "exact",
            "complete search on bit-planes: finds the solution or proves there is none",
            "exact:exact",
            ExactConfig,
            complete=True,
            within=True,
            clues=True,
        ),
        Solver(
            "auto",
            "the exact search up to a budget, then a SAT solver in processes of the host (extra sat)",
            "exact:exact",
            AutoConfig,
            complete=True,
            within=True,
            clues=True,
            on_host="sat.solver:on_host",
        ),
        Solver(
            "sat",
            "a SAT solver in processes of the host (extra sat)",
            "sat.solver:sat",
            SatConfig,
            complete=True,
            within=True,
            constraints=False,
            on_host="sat.solver:on_host",
        ),
        Solver(
            "guided-exact",
            "complete search on bit-planes, with branching guided by a network",
            "guided_exact:guided_exact",
            GuidedExactConfig,
            complete=True,
            stats=("network_calls",),
        ),
        Solver(
            "iterative",
            "repeatedly fills a network's most confident cell and applies the rules; no backtracking",
            "decoding:iterative",
            IterativeConfig,
            complete=False,
            stats=("network_calls", "network_iterations"),
        ),
        Solver(
            "one-shot",
            "fills all open cells at once with a network's most probable digits",
            "decoding:one_shot",
            OneShotConfig,
            complete=False,
            stats=("network_calls", "network_iterations"),
        ),
        Solver(
            "gumbel",
            "Gumbel MuZero tree search with a network, proofs and backtracking",
            "tree.search:gumbel",
            GumbelConfig,
            complete=True,
            stats=("network_calls", "network_iterations", "simulations", "changes"),
        ),
        Solver(
            "alphasudoku",
            "PUCT tree search with a network, proofs and backtracking",
            "tree.search:alphasudoku",
            AlphaSudokuConfig,
            complete=True,
            stats=("network_calls", "network_iterations", "simulations", "changes"),
        ),
        Solver(
            "mcgs",
            "Monte-Carlo graph search with a network, transpositions, proofs and backtracking",
            "tree.search:mcgs",
            McgsConfig,
            complete=True,
            stats=("network_calls", "network_iterations", "simulations"),
        ),
        Solver(
            "mcts",
            "UCT tree search with random rollouts, proofs and backtracking",
            "tree.search:mcts",
            MctsConfig,
            complete=True,
            stats=("simulations", "changes"),
        ),
        Solver(
            "depth-first",
            "textbook depth-first search over partly filled grids, in three orders",
            "textbook.depth_first:depth_first",
            DepthFirstConfig,
            complete=True,
        ),
        Solver(
            "best-first",
            "textbook greedy best-first search over partly filled grids, by three heuristics",
            "textbook.best_first:best_first",
            BestFirstConfig,
            complete=False,
        ),
        Solver(
            "elimination",
            "textbook candidate elimination, alone or followed by depth-first or best-first search",
            "textbook.elimination:elimination",
            EliminationConfig,
            complete=True,
        ),
        Solver(
            "annealing",
            "simulated annealing and replica exchange on complete grids",
            "population.annealing:annealing",
            AnnealingConfig,
            complete=False,
            stats=("errors",),
            constraints=False,
        ),
        Solver(
            "evolution",
            "combinatorial evolution with a hive of workers and explorers",
            "population.evolution:evolution",
            EvolutionConfig,
            complete=False,
            stats=("errors",),
        ),
        Solver(
            "hill-climbing",
            "textbook hill climbing on complete grids: the best swap at every step, and restarts",
            "population.hill_climbing:hill_climbing",
            HillClimbingConfig,
            complete=False,
            stats=("errors",),
        ),
        Solver(
            "best-first-swaps",
            "textbook greedy best-first search on complete grids: the best of all swaps seen, with a closed set",
            "population.best_first_swaps:best_first_swaps",
            BestFirstSwapsConfig,
            complete=False,
            stats=("errors",),
        ),
        Solver(
            "evosax",
            "differential evolution, particle swarm or a genetic algorithm on random keys (extra evosax)",
            "population.evosax:evosax",
            EvosaxConfig,
            complete=False,
            stats=("errors",),
        ),
    )
}


def get(name: str) -> Solver:
    """The solver of that name.

    Raises:
      ValueError: the name is unknown; the message lists all solvers.
    """
    if name not in SOLVERS:
        raise ValueError(f"unknown solver {name!r}: choose one of {', '.join(SOLVERS)}{did_you_mean(name, SOLVERS)}")
    return SOLVERS[name]


def reporting(stat: str) -> str:
    """The names of the solvers that report this number in ``Solution.stats``, as a list for messages."""
    return ", ".join(name for name, solver in SOLVERS.items() if stat in solver.stats)


def make_config(solver: Solver, /, **options: Any) -> Any:
    """The solver's settings with the named options.

    Raises:
      ValueError: an option that the solver does not have, or a value out of its range.
    """
    return settings_of(solver.config, f"solver {solver.name}", **options)
