"""Where episodes begin."""

from __future__ import annotations

from typing import Any

import jax
import numpy as np

from jaxsudoku.core import env
from jaxsudoku.core.board import Board
from jaxsudoku.engine.inputs import as_puzzles
from jaxsudoku.runtime.devices import compiler_options


def positions(puzzles: Any, board: Board | None, rules: str, end: env.End) -> tuple[env.State, Board]:
    """The positions of puzzles, as numpy arrays, without those that the rules solve or refute; and their board.

    Args:
      puzzles: one or several, in any form that ``js.solve`` takes.
      board, rules, end: as in ``env.init``.

    Raises:
      ValueError: no position is left, or as ``env.init`` and ``js.solve`` do.
    """
    grids, board = as_puzzles(puzzles, board)
    begin = jax.jit(env.init, static_argnums=(1, 2, 3), compiler_options=compiler_options())
    state = jax.tree.map(np.asarray, begin(grids.reshape(-1, board.cells), board, rules, end))
    if state.terminated.all():
        raise ValueError(f"none of {len(state.cell)} puzzles is open under rules {rules!r}: nothing is to be played")
    return env.State(*(leaf[~state.terminated] for leaf in state)), board
