"""Every solver by name, behind one signature.

A solver is a pure function to be jitted::

    run(board, puzzles uint8[B, cells], key, config)
        -> Solution(grids uint8[B, cells], status int8[B], iterations int32[B], stats)

with a frozen dataclass of settings, each of which has a default; the command line and ``jaxsudoku.solve`` offer every
field under its own name. A guided solver takes a network of the board, ``networks.Network``, as a fifth argument, and
reports in ``stats["network_calls"]``, int32[B], how many positions it evaluated. A solver that works on full grids
reports in ``stats["errors"]``, int32[B], what is wrong with the best of them. Before a solution leaves the library
``judge`` asks ``grid.is_solved``, so that no solver can claim a false solve.

Names and settings load no JAX; a solver's module is imported when it first runs.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from .config import ExactConfig, GuidedExactConfig, IterativeConfig, OneShotConfig
from .registry import SOLVERS, Solver, get, make_config, reporting

if TYPE_CHECKING:
    from .judging import judge

__all__ = [
    "SOLVERS",
    "ExactConfig",
    "GuidedExactConfig",
    "IterativeConfig",
    "OneShotConfig",
    "Solver",
    "get",
    "judge",
    "make_config",
    "reporting",
]


if not TYPE_CHECKING:

    def __getattr__(name: str) -> Any:
        if name != "judge":
            raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
        from .judging import judge

        return judge
