"""Verdicts on the number of solutions, for the column ``status`` and summaries of commands that count or rate."""

from __future__ import annotations

import numpy as np

from jaxsudoku.core.board import Board
from jaxsudoku.core.host_rules import clashing
from jaxsudoku.io import Chunk

#: Verdicts: one solution; at least one (limit 1); several; none; clashing givens; malformed; unknown.
UNIQUE, SATISFIABLE, SEVERAL = "unique", "satisfiable", "several"
UNSATISFIABLE, INVALID, MALFORMED, UNSOLVED = "unsatisfiable", "invalid", "malformed", "unsolved"


def verdicts(board: Board, chunk: Chunk, counts: np.ndarray, limit: int) -> np.ndarray:
    """The verdicts on the puzzles of a chunk, object[n].

    Args:
      board: the board.
      chunk: n puzzles.
      counts: int32[n], numbers of solutions up to the limit, 0 if givens clash; negative if unknown.
      limit: the number at which counting stopped.
    """
    words = np.array([UNSATISFIABLE, UNIQUE if limit > 1 else SATISFIABLE, SEVERAL, UNSOLVED], object)
    found: np.ndarray = words[np.where(counts < 0, 3, np.minimum(counts, 2))]
    unsolvable = np.flatnonzero(chunk.good & (counts == 0))
    found[unsolvable[clashing(chunk.grids[unsolvable], board)]] = INVALID
    found[~chunk.good] = MALFORMED
    return found
