"""Constraint puzzles by the batch, in JAX.

Everything public is reached from here; names are loaded on first use, so that ``import jaxsudoku`` starts no backend
and file handling needs no JAX at all.
"""

import importlib
from typing import TYPE_CHECKING

from jaxsudoku._version import __version__
from jaxsudoku.runtime import forks as forks  # forks are watched from here on

if TYPE_CHECKING:  # what _HOME and _MODULES say, for type checkers and editors
    from jaxsudoku import adapters as adapters
    from jaxsudoku import datasets as datasets
    from jaxsudoku import evaluation as evaluation
    from jaxsudoku import exact as exact
    from jaxsudoku import explanation as explanation
    from jaxsudoku import generation as generation
    from jaxsudoku import io as io
    from jaxsudoku import mastermind as mastermind
    from jaxsudoku import networks as networks
    from jaxsudoku import pictures as pictures
    from jaxsudoku import rating as rating
    from jaxsudoku import shipped as shipped
    from jaxsudoku import solvers as solvers
    from jaxsudoku import symmetry as symmetry
    from jaxsudoku import techniques as techniques
    from jaxsudoku import testing as testing
    from jaxsudoku import trees as trees
    from jaxsudoku.core import board as board
    from jaxsudoku.core import constraints as constraints
    from jaxsudoku.core import env as env
    from jaxsudoku.core import grid as grid
    from jaxsudoku.core import planes as planes
    from jaxsudoku.core.board import Board
    from jaxsudoku.core.constraints.clues import Clues
    from jaxsudoku.core.drawing import draw
    from jaxsudoku.core.grid import conflicts, is_solved, is_valid
    from jaxsudoku.core.propagation import outcome, propagate
    from jaxsudoku.core.status import Status
    from jaxsudoku.engine.grid_pictures import picture
    from jaxsudoku.engine.solution import Solution
    from jaxsudoku.evaluation import evaluate
    from jaxsudoku.explanation import Explanation, Step, explain, hint
    from jaxsudoku.generation import GenerationError, Puzzles, VariantPuzzles, generate, generate_variants
    from jaxsudoku.io import parse, parse_variant, read_puzzles, read_variants
    from jaxsudoku.networks import load_network, make_network, save_network
    from jaxsudoku.pictures import Marks, Picture, plot_history
    from jaxsudoku.rating import rate
    from jaxsudoku.runtime import distributed as distributed
    from jaxsudoku.runtime.devices import compiler_options
    from jaxsudoku.shipped import load
    from jaxsudoku.solvers import SOLVERS
    from jaxsudoku.solvers.driver import count_solutions, solve
    from jaxsudoku.techniques.ratings import TechniqueRatings
    from jaxsudoku.techniques.weakest_rules import weakest_rules

_HOME = {
    "Board": "core.board",
    "Clues": "core.constraints.clues",
    "Explanation": "explanation",
    "GenerationError": "generation",
    "Marks": "pictures",
    "Picture": "pictures",
    "Puzzles": "generation",
    "VariantPuzzles": "generation",
    "SOLVERS": "solvers",
    "Solution": "engine.solution",
    "Status": "core.status",
    "Step": "explanation",
    "TechniqueRatings": "techniques.ratings",
    "compiler_options": "runtime.devices",
    "conflicts": "core.grid",
    "count_solutions": "solvers.driver",
    "draw": "core.drawing",
    "evaluate": "evaluation",
    "explain": "explanation",
    "generate": "generation",
    "generate_variants": "generation",
    "hint": "explanation",
    "is_solved": "core.grid",
    "is_valid": "core.grid",
    "load": "shipped",
    "load_network": "networks",
    "make_network": "networks",
    "outcome": "core.propagation",
    "parse": "io",
    "parse_variant": "io",
    "picture": "engine.grid_pictures",
    "plot_history": "pictures",
    "propagate": "core.propagation",
    "rate": "rating",
    "read_puzzles": "io",
    "read_variants": "io",
    "save_network": "networks",
    "solve": "solvers.driver",
    "weakest_rules": "techniques.weakest_rules",
}

_MODULES = {
    "adapters": "adapters",
    "board": "core.board",
    "constraints": "core.constraints",
    "datasets": "datasets",
    "distributed": "runtime.distributed",
    "env": "core.env",
    "evaluation": "evaluation",
    "exact": "exact",
    "explanation": "explanation",
    "generation": "generation",
    "grid": "core.grid",
    "io": "io",
    "mastermind": "mastermind",
    "networks": "networks",
    "pictures": "pictures",
    "planes": "core.planes",
    "rating": "rating",
    "shipped": "shipped",
    "solvers": "solvers",
    "symmetry": "symmetry",
    "techniques": "techniques",
    "testing": "testing",
    "trees": "trees",
}

__all__ = [
    "SOLVERS",
    "Board",
    "Clues",
    "Explanation",
    "GenerationError",
    "Marks",
    "Picture",
    "Puzzles",
    "Solution",
    "Status",
    "Step",
    "TechniqueRatings",
    "VariantPuzzles",
    "__version__",
    "compiler_options",
    "conflicts",
    "count_solutions",
    "draw",
    "evaluate",
    "explain",
    "generate",
    "generate_variants",
    "hint",
    "is_solved",
    "is_valid",
    "load",
    "load_network",
    "make_network",
    "outcome",
    "parse",
    "parse_variant",
    "picture",
    "plot_history",
    "propagate",
    "rate",
    "read_puzzles",
    "read_variants",
    "save_network",
    "solve",
    "weakest_rules",
]


if not TYPE_CHECKING:  # a type checker that sees __getattr__ takes any name for a public one

    def __getattr__(name):
        if name in _MODULES:
            return importlib.import_module(f"jaxsudoku.{_MODULES[name]}")
        if name in _HOME:
            return getattr(importlib.import_module(f"jaxsudoku.{_HOME[name]}"), name)
        raise AttributeError(f"module 'jaxsudoku' has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted({*__all__, *_MODULES})
