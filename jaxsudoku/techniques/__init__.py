"""Human solving techniques on bit-planes: names, scores, and rating of puzzles in batches."""

from .registry import TECHNIQUES, Kind, Technique

__all__ = ["TECHNIQUES", "Kind", "Technique"]
