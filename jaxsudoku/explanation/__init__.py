"""Explanations of puzzles: steps by techniques, the simplest first, each with its reason."""

from .driver import explain, hint
from .steps import Explanation, Step, explained, findings, next_step, steps_of

__all__ = ["Explanation", "Step", "explain", "explained", "findings", "hint", "next_step", "steps_of"]
