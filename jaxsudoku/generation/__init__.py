"""Generation of puzzles with a unique solution, by clue count, minimality or rating, and of instances with holes.

``config`` has the settings, ``grids`` makes random solved grids, ``reduction`` removes clues, ``attempt`` is the kernel
that does both for a batch, ``holes`` the one of solved grids with holes, ``requests`` what both take and give, and
``generator`` repeats attempts until it has the puzzles. ``variants`` makes puzzles with constraints of their own, which
``random_clues`` draws. Settings load no JAX.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

from .generate_config import ATTEMPTS, HOLES, VARIANTS, GenerateConfig, VariantConfig, check_settings

if TYPE_CHECKING:
    from .generator import GenerationError, Generator, generate
    from .requests import Puzzles
    from .variants import VariantGenerator, VariantPuzzles, generate_variants

__all__ = [
    "ATTEMPTS",
    "HOLES",
    "VARIANTS",
    "GenerateConfig",
    "GenerationError",
    "Generator",
    "Puzzles",
    "VariantConfig",
    "VariantGenerator",
    "VariantPuzzles",
    "check_settings",
    "generate",
    "generate_variants",
]


#: The modules of the names that load JAX.
_HOME = {
    "GenerationError": "generator",
    "Generator": "generator",
    "Puzzles": "requests",
    "VariantGenerator": "variants",
    "VariantPuzzles": "variants",
    "generate": "generator",
    "generate_variants": "variants",
}

if not TYPE_CHECKING:

    def __getattr__(name: str) -> Any:
        if name not in _HOME:
            raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
        return getattr(importlib.import_module(f"{__name__}.{_HOME[name]}"), name)
