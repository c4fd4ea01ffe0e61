"""Registry of solvers, which share one signature.

A solver is a pure function to be jitted::

    run(board, puzzles uint8[B, cells], key, config)
        -> Solution(grids uint8[B, cells], status int8[B], iterations int32[B], stats)

with a frozen dataclass of settings, all with defaults; each field is an option of the same name on the command line and
in ``jaxsudoku.solve``. A guided solver takes a network of the board, ``networks.Network``, as a fifth argument, and
reports the positions evaluated in ``stats["network_calls"]``, int32[B]. A population solver reports the error of its
best grid in ``stats["errors"]``, int32[B]. ``judge`` checks every claimed solution before it is returned.

A new solver is one module with a function of this signature, its settings in a module without JAX, and an entry in
``registry.SOLVERS``. An iterative solver is best written as a ``queue.Method``. Every entry is tested by
``tests/solvers/test_solvers.py``.

Names and settings load no JAX; a solver's module is imported when it first runs.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from jaxsudoku.exact.exact_config import ExactConfig

from .guided_config import GuidedExactConfig, IterativeConfig, OneShotConfig
from .registry import DEFAULT_NETWORK, SOLVERS, Solver, get, make_config, reporting

if TYPE_CHECKING:
    from .judging import judge

__all__ = [
    "DEFAULT_NETWORK",
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
