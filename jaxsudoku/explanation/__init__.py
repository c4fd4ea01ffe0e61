"""Explanations of puzzles: steps by techniques, the simplest first, each with its reason."""

from .steps import Explanation, Step, findings, next_step, steps_of

__all__ = ["Explanation", "Step", "findings", "next_step", "steps_of"]
