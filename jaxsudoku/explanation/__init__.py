"""Explanations of puzzles: steps by techniques, the simplest first, each with its reason."""

from .driver import explain, hint, prove, usable
from .steps import Explanation, Step, explained, findings, next_step, steps_of

__all__ = [
    "Explanation",
    "Step",
    "explain",
    "explained",
    "findings",
    "hint",
    "next_step",
    "prove",
    "steps_of",
    "usable",
]
