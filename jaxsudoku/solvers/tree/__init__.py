"""Tree search over mctx, and graph search, guided by a network or by random rollouts.

``search`` has the solvers. ``jaxsudoku.env`` is the game that they play, ``evaluators`` say what a position is worth,
``policies`` how a tree grows (thin compositions over mctx), ``proofs`` what is proven in it, ``reroot`` how a root
moves on in it, and ``backtracking`` how a refuted root goes back. ``graph`` is a search that merges transpositions.
"""

from .tree_config import AlphaSudokuConfig, GumbelConfig, McgsConfig, MctsConfig

__all__ = ["AlphaSudokuConfig", "GumbelConfig", "McgsConfig", "MctsConfig"]
