"""Explanations of puzzles: steps by techniques, the simplest first, each with its reason."""

from .driver import explain, hint, usable
from .proof import proper_givens, prove
from .search import FUNCTIONS, explained, findings, next_step, steps_of
from .step import Step
from .steps import Explanation

__all__ = [
    "FUNCTIONS",
    "Explanation",
    "Step",
    "explain",
    "explained",
    "findings",
    "hint",
    "next_step",
    "proper_givens",
    "prove",
    "steps_of",
    "usable",
]
