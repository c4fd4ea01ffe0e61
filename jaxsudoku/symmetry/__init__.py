"""Symmetries of a board, which map solved grids to solved grids, and canonical forms of 9x9 grids."""

from .group import Symmetry, apply, apply_candidates, compose, identity, invert, order, sample
from .minlex import canonical, hashes, solution_hashes

__all__ = [
    "Symmetry",
    "apply",
    "apply_candidates",
    "canonical",
    "compose",
    "hashes",
    "identity",
    "invert",
    "order",
    "sample",
    "solution_hashes",
]
