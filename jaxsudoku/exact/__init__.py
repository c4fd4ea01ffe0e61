"""Exact search: complete, for batches of puzzles, on any board.

There are two searches behind one interface, ``dispatch``. ``stack`` keeps one stack of nodes for the whole batch; it
suits small boards. ``weighted`` searches one puzzle in each lane, with restarts and learned conflict weights; it suits
large boards. Settings load no JAX.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

from .exact_config import ExactConfig

if TYPE_CHECKING:
    from .dispatch import guided_search, search
    from .plan import SearchResult

__all__ = ["ExactConfig", "SearchResult", "guided_search", "search"]


if not TYPE_CHECKING:

    def __getattr__(name: str) -> Any:
        if name not in __all__:
            raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
        return getattr(importlib.import_module(f"{__name__}.dispatch"), name)
