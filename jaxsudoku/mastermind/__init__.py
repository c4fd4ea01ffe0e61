"""Mastermind: strategies that find a secret code in as few guesses as can be, all secrets of a game played at once.

``build`` grows a player's whole strategy as a tree, ``evaluate`` plays all secrets against it; ``PLAYERS`` lists the
players, from random codes to the proven optimum.
"""

from .config import (
    EntropyConfig,
    GreedyConfig,
    LookaheadConfig,
    MctsConfig,
    OptimalConfig,
    RandomConfig,
    StochasticMuZeroConfig,
)
from .drawing import draw_tree
from .optimal import SearchLimitError
from .players import PLAYERS, PlayerKind
from .positions import Positions
from .report import Report, build, evaluate, plot, table
from .rules import (
    CodeError,
    Game,
    GameError,
    code_text,
    consistent,
    feedback,
    feedback_table,
    feedback_text,
    index_of,
    parse_code,
    parse_feedback,
)
from .session import CodeBreaker, CodeMaker, InconsistentError
from .storage import load_tree, save_tree
from .trees import Player, Tree, TreeError, grow, replay

__all__ = [
    "PLAYERS",
    "CodeBreaker",
    "CodeError",
    "CodeMaker",
    "EntropyConfig",
    "Game",
    "GameError",
    "GreedyConfig",
    "InconsistentError",
    "LookaheadConfig",
    "MctsConfig",
    "OptimalConfig",
    "Player",
    "PlayerKind",
    "Positions",
    "RandomConfig",
    "Report",
    "SearchLimitError",
    "StochasticMuZeroConfig",
    "Tree",
    "TreeError",
    "build",
    "code_text",
    "consistent",
    "draw_tree",
    "evaluate",
    "feedback",
    "feedback_table",
    "feedback_text",
    "grow",
    "index_of",
    "load_tree",
    "parse_code",
    "parse_feedback",
    "plot",
    "replay",
    "save_tree",
    "table",
]
