"""Mastermind: strategies that find a secret code in few guesses, evaluated for all secrets of a game at once.

``build`` grows the whole strategy of a player as a tree; ``evaluate`` plays all secrets against it. ``PLAYERS`` lists
the players, from random codes to the proven optimum; ``players`` says how to add one. Games, players and their settings
load no JAX; other names are imported on first use.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

from .games import as_game, bulls_and_cows
from .peg_game import PegGame
from .player_config import (
    EntropyConfig,
    GreedyConfig,
    LookaheadConfig,
    MctsConfig,
    OptimalConfig,
    PersistentUctConfig,
    RandomConfig,
    StochasticMuZeroConfig,
)
from .players import PLAYERS, Player, Policy
from .positions import Positions
from .rules import CodeError, Game, GameError
from .word_game import WordGame

if TYPE_CHECKING:
    from .feedbacks import consistent, feedback, feedback_table
    from .formats import draw_tree, load_tree, save_tree
    from .improvement import improve
    from .mapped_files import MemoError
    from .optimal import SearchLimitError
    from .persistent_uct import SearchTree, SearchTreeError
    from .proof import Proof, prove
    from .report import Report, build, evaluate, plot, table
    from .session import AttemptsError, CodeBreaker, CodeMaker, InconsistentError
    from .trees import Tree, TreeError, grow, replay

__all__ = ["PLAYERS", "Player", "Policy", "Positions"]
__all__ += ["EntropyConfig", "GreedyConfig", "LookaheadConfig", "MctsConfig", "OptimalConfig", "RandomConfig"]
__all__ += ["PersistentUctConfig", "SearchTree", "SearchTreeError", "StochasticMuZeroConfig"]
__all__ += ["CodeError", "Game", "GameError", "PegGame", "WordGame", "as_game", "bulls_and_cows"]
__all__ += ["consistent", "feedback", "feedback_table"]
__all__ += ["SearchLimitError", "Tree", "TreeError", "draw_tree", "grow", "improve", "load_tree", "replay", "save_tree"]
__all__ += ["MemoError", "Proof", "prove"]
__all__ += [
    "AttemptsError",
    "CodeBreaker",
    "CodeMaker",
    "InconsistentError",
    "Report",
    "build",
    "evaluate",
    "plot",
    "table",
]

_LAZY = {
    "feedbacks": ("consistent", "feedback", "feedback_table"),
    "formats": ("draw_tree", "load_tree", "save_tree"),
    "improvement": ("improve",),
    "mapped_files": ("MemoError",),
    "optimal": ("SearchLimitError",),
    "persistent_uct": ("SearchTree", "SearchTreeError"),
    "proof": ("Proof", "prove"),
    "report": ("Report", "build", "evaluate", "plot", "table"),
    "session": ("AttemptsError", "CodeBreaker", "CodeMaker", "InconsistentError"),
    "trees": ("Tree", "TreeError", "grow", "replay"),
}

if not TYPE_CHECKING:  # with __getattr__ a type checker accepts any name

    def __getattr__(name: str) -> Any:
        for module, names in _LAZY.items():
            if name in names:
                return getattr(importlib.import_module(f".{module}", __name__), name)
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
