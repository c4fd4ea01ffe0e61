"""How good a network is: how often it is right, at once and step by step, and whether its value can be believed.

``evaluate`` measures a network on puzzles and gives a ``Report``, which prints as tables, is kept as JSON, and is drawn
by ``plot`` (extra ``plot``).
"""

from .plot import plot
from .report import Bin, Calibration, Level, Report, Score
from .run import DEFAULT_RULES, checked_rules, evaluate

__all__ = [
    "DEFAULT_RULES",
    "Bin",
    "Calibration",
    "Level",
    "Report",
    "Score",
    "checked_rules",
    "evaluate",
    "plot",
]
