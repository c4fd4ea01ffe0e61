"""Evaluation of networks: how often their digits are right, and whether their value is calibrated.

``evaluate`` measures a network on puzzles and returns a ``Report``, which prints as tables, is written as JSON, and is
drawn by ``plot`` (extra ``plot``).
"""

from .plot import plot
from .report import Bin, Calibration, Level, Report, Score
from .run import EvaluateConfig, evaluate

__all__ = [
    "Bin",
    "Calibration",
    "EvaluateConfig",
    "Level",
    "Report",
    "Score",
    "evaluate",
    "plot",
]
