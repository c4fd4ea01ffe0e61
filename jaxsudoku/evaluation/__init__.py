"""Evaluation of networks: how often their digits are right, and whether their value is calibrated.

``evaluate`` measures a network on puzzles and returns a ``Report``, which prints as tables, is written as JSON, and is
drawn by ``plot`` (extra ``plot``). ``evaluate_bare`` measures a network alone, by numbers of iterations and of runs.
"""

from .bare import BareConfig, BareReport, BareScore, evaluate_bare
from .plot import plot
from .report import Bin, Calibration, Level, Report, Score
from .run import EvaluateConfig, evaluate

__all__ = [
    "BareConfig",
    "BareReport",
    "BareScore",
    "Bin",
    "Calibration",
    "EvaluateConfig",
    "Level",
    "Report",
    "Score",
    "evaluate",
    "evaluate_bare",
    "plot",
]
