"""The environment as those of other packages: Gymnasium (extra ``gymnasium``) and jumanji (extra ``jumanji``).

Each is a thin layer over ``jaxsudoku.env``, for all boards and rules. A package is imported when its name is used.
"""

import importlib
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from .gymnasium import GymnasiumEnv, GymnasiumVectorEnv
    from .jumanji import JumanjiEnv

__all__ = ["GymnasiumEnv", "GymnasiumVectorEnv", "JumanjiEnv"]

_HOME = {"GymnasiumEnv": "gymnasium", "GymnasiumVectorEnv": "gymnasium", "JumanjiEnv": "jumanji"}

if not TYPE_CHECKING:  # a type checker that sees __getattr__ takes any name for a public one

    def __getattr__(name):
        if name not in _HOME:
            raise AttributeError(f"module 'jaxsudoku.adapters' has no attribute {name!r}")
        return getattr(importlib.import_module(f"jaxsudoku.adapters.{_HOME[name]}"), name)
