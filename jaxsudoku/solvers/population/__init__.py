"""Local search over complete grids: annealing, evolution, hill climbing, and evosax on random keys.

All grids hold every digit once in every box (``boxes``); the search removes conflicts in rows, columns and extra
houses. These solvers are incomplete: they never prove that a puzzle has no solution. Each is a ``queue.Method``, so a
puzzle's result is independent of the batch.
"""

from .population_config import AnnealingConfig, BestFirstSwapsConfig, EvolutionConfig, EvosaxConfig, HillClimbingConfig

__all__ = ["AnnealingConfig", "BestFirstSwapsConfig", "EvolutionConfig", "EvosaxConfig", "HillClimbingConfig"]
