"""The symmetries of a board: rearrangements of its lines and digits that turn solved grids into solved grids."""

from .group import Symmetry, apply, apply_candidates, compose, identity, invert, order, sample

__all__ = [
    "Symmetry",
    "apply",
    "apply_candidates",
    "compose",
    "identity",
    "invert",
    "order",
    "sample",
]
