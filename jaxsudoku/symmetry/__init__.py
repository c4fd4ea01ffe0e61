"""The symmetries of a board: rearrangements of its lines and digits that turn solved grids into solved grids.

Also the canonical form of 9x9 grids, equal exactly for grids that some symmetry turns into one another.
"""

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
