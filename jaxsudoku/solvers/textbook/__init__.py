"""Textbook solvers, batched: depth-first and best-first search over partly filled grids, and candidate elimination.

``nodes`` is what the searches share: a node is a partly filled grid with its legal digits.
"""

from .config import BestFirstConfig, DepthFirstConfig, EliminationConfig

__all__ = ["BestFirstConfig", "DepthFirstConfig", "EliminationConfig"]
