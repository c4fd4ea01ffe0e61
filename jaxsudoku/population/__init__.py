"""Solvers that work on full grids, in which something is wrong until they are solved.

Their grids hold every digit once in every box; ``boxes`` is what they share. They prove nothing: a puzzle that has no
solution is one that they do not solve. Each is a ``slots.Method``, so any number of puzzles is worked off in slots that
never idle, and a puzzle's result depends on it and its own seed alone.
"""

from __future__ import annotations

import dataclasses

from jax import Array

from jaxsudoku.board import Board
from jaxsudoku.slots import work_off
from jaxsudoku.solution import Solution

from .config import AnnealingConfig

__all__ = ["AnnealingConfig", "annealing", "fit"]

#: Words of chains of a 9x9 board that are swept together: few enough for their planes to stay in a CPU's cache.
_WORDS = {"cpu": 128}
_ACCELERATOR_WORDS = 16384


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
    from .chains import method

    return work_off(board, puzzles, key, config.rules, config.slots or 1, method(board, config))


def fit(config: AnnealingConfig, board: Board, platform: str) -> AnnealingConfig:
    """The settings with slots that suit a machine, fewer on a wider board."""
    words = _WORDS.get(platform, _ACCELERATOR_WORDS) * 9**3 // board.candidates
    return dataclasses.replace(config, slots=config.slots or max(words * 32 // config.chains, 1))
