"""Generation of puzzles with a unique solution, by clue count, minimality or rating, and of instances with holes.

``config`` has the settings, ``grids`` makes random solved grids, ``reduction`` removes clues, ``attempt`` is the kernel
that does both for a batch, ``holes`` the one of solved grids with holes, ``requests`` what both take and give, and
``generator`` repeats attempts until it has the puzzles. Settings load no JAX.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

from .generate_config import ATTEMPTS, HOLES, GenerateConfig, check_settings

if TYPE_CHECKING:
    from .generator import GenerationError, Generator, generate
    from .requests import Puzzles

__all__ = [
    "ATTEMPTS",
    "HOLES",
    "GenerateConfig",
    "GenerationError",
    "Generator",
    "Puzzles",
    "check_settings",
    "generate",
]


if not TYPE_CHECKING:

    def __getattr__(name: str) -> Any:
        if name not in __all__:
            raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
        module = "requests" if name == "Puzzles" else "generator"
        return getattr(importlib.import_module(f"{__name__}.{module}"), name)
