"""Solving techniques of people, on bit-planes: names, scores, and puzzles rated by them in batches."""

from .registry import TECHNIQUES, Kind, Technique

__all__ = ["TECHNIQUES", "Kind", "Technique"]
