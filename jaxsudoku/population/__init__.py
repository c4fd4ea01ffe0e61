"""Solvers that work on full grids, in which something is wrong until they are solved.

Their grids hold every digit once in every box; ``boxes`` is what they share. They prove nothing: a puzzle that has no
solution is one that they do not solve. Each is a ``queue.Method``, so a puzzle's result depends on it and its own seed
alone.
"""

from __future__ import annotations

from typing import Any

from jax import Array

from jaxsudoku.board import Board
from jaxsudoku.queue import Method, run
from jaxsudoku.solution import Solution

from .climbing import HillClimbingConfig
from .config import AnnealingConfig, EvolutionConfig
from .swarms import EvosaxConfig

__all__ = [
    "AnnealingConfig",
    "EvolutionConfig",
    "EvosaxConfig",
    "HillClimbingConfig",
    "annealing",
    "evolution",
    "evosax",
    "hill_climbing",
]


def annealing(board: Board, puzzles: Array, key: Array, config: AnnealingConfig, /) -> Solution:
    """Simulated annealing, and replica exchange.

    Pure; to be jitted with ``board`` and ``config`` static.

    Args:
      board: the board.
      puzzles: uint8[N, cells], 0 = empty.
      key: a JAX key; each puzzle's randomness comes from it and from the puzzle's index.
      config: the settings.

    Returns:
      A ``Solution``. ``iterations`` int32[N] are the grids that were looked at, swaps tried in all chains; ``errors``
      int32[N] the digits that the lines of the best grid miss.
    """
    from . import chains

    return _by(chains.method(board, config), board, puzzles, key, config)


def evolution(board: Board, puzzles: Array, key: Array, config: EvolutionConfig, /) -> Solution:
    """Combinatorial evolution by a hive of workers and explorers; arguments and results as of ``annealing``.

    ``iterations`` int32[N] are a grid an organism and one born in every epoch.
    """
    from . import hive

    return _by(hive.method(board, config), board, puzzles, key, config)


def hill_climbing(board: Board, puzzles: Array, key: Array, config: HillClimbingConfig, /) -> Solution:
    """Steepest ascent over swaps, with steps sideways and random restarts; arguments as of ``annealing``.

    Returns:
      A ``Solution``. ``iterations`` int32[N] are the grids that were looked at, those that climbs begin with and the
      neighbours of all on their way; ``errors`` int32[N] the digits that the lines of the best local optimum miss.
    """
    from . import climbing

    return _by(climbing.method(board, config), board, puzzles, key, config)


def evosax(board: Board, puzzles: Array, key: Array, config: EvosaxConfig, /) -> Solution:
    """Differential evolution, particle swarm or a genetic algorithm on random keys; arguments as of ``annealing``.

    Returns:
      A ``Solution``. ``iterations`` int32[N] are the grids that were looked at, a member each in every generation;
      ``errors`` int32[N] the digits that the lines of the best one miss.

    Raises:
      ImportError: evosax is not installed; the message names the extra.
    """
    from . import swarms

    return _by(swarms.method(board, config), board, puzzles, key, config)


def _by(method: Method[Any], board: Board, puzzles: Array, key: Array, config: Any) -> Solution:
    return run(method, board, puzzles, key, rules=config.rules, lanes=config.lanes or 1, record=config.record)
