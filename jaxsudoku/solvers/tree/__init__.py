"""Tree search with mctx, and graph search, guided by a network or by random rollouts.

``search`` has the solvers. ``jaxsudoku.env`` is the environment, ``evaluators`` give values and priors of positions,
``policies`` select moves (by mctx's functions), ``simulation`` is the loop of all searches over ``lanes``, and
``backtracking`` moves roots between searches. The searches are ``proving``, with proofs; ``persistent``, as in the
AlphaSudoku study; and ``graph``, which merges transpositions. ``jaxsudoku.trees`` changes mctx's trees.
"""

from .tree_config import AlphaSudokuConfig, GumbelConfig, McgsConfig, MctsConfig

__all__ = ["AlphaSudokuConfig", "GumbelConfig", "McgsConfig", "MctsConfig"]
