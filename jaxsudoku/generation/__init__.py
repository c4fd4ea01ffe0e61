"""Generates puzzles with a unique solution, by clue count, minimality or rating.

``grids`` makes random solved grids, ``reduction`` takes clues away, ``puzzles`` makes as many puzzles as are asked for.
"""

from .puzzles import ATTEMPTS, GenerateConfig, GenerationError, Generator, Puzzles, generate

__all__ = ["ATTEMPTS", "GenerateConfig", "GenerationError", "Generator", "Puzzles", "generate"]
