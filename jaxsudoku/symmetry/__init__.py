"""Symmetries of Sudoku: what they do to grids, and forms that they leave alone."""

from .canonical import canonical, hashes

__all__ = ["canonical", "hashes"]
