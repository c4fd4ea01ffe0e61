"""Local search over full grids, in which something is wrong until they are solved.

Their grids hold every digit once in every box; ``boxes`` is what they share. They prove nothing: a puzzle that has no
solution is one that they do not solve. Each is a ``queue.Method``, so a puzzle's result depends on it and its own seed
alone.
"""

from .config import AnnealingConfig, EvolutionConfig, EvosaxConfig, HillClimbingConfig

__all__ = ["AnnealingConfig", "EvolutionConfig", "EvosaxConfig", "HillClimbingConfig"]
