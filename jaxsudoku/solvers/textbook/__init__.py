"""Textbook solvers, batched: depth-first and best-first search over partly filled grids, and candidate elimination.

A node is a partly filled grid with its legal placements; the searches share ``nodes``.
"""

from .textbook_config import BestFirstConfig, DepthFirstConfig, EliminationConfig

__all__ = ["BestFirstConfig", "DepthFirstConfig", "EliminationConfig"]
