"""What ``sat`` runs on devices, and what it and ``auto``, which is ``exact`` there, then run on the host."""

from __future__ import annotations

import jax.numpy as jnp
import numpy as np
from jax import Array

from jaxsudoku.core.board import Board
from jaxsudoku.core.host_rules import allowed_candidates, is_complete
from jaxsudoku.engine.solution import Solution, Status
from jaxsudoku.exact.exact_config import ExactConfig
from jaxsudoku.solvers.roots import make_roots

from .encoding import formula, grid
from .processes import answers
from .sat_config import AutoConfig, SatConfig

#: Puzzles whose clauses are held at a time.
_FORMULAS = 64


def sat(board: Board, puzzles: Array, key: Array, config: SatConfig, excluded: Array | None = None, /) -> Solution:
    """Finds puzzles with clashing givens, and full grids; ``on_host`` solves the others, which are UNSOLVED here."""
    del key, excluded
    if not len(puzzles):
        return Solution(puzzles, jnp.zeros(0, jnp.int8), jnp.zeros(0, jnp.int32), {})
    roots = make_roots(board, puzzles, "none", config.lanes)
    return Solution(roots.grids, roots.status, jnp.zeros(len(puzzles), jnp.int32), {})


def on_host(
    board: Board,
    puzzles: np.ndarray,
    excluded: np.ndarray | None,
    solution: Solution[np.ndarray],
    config: SatConfig | ExactConfig,
) -> Solution[np.ndarray]:
    """The solution, with the answers of a SAT solver to the puzzles that are UNSOLVED.

    Args:
      board: a board without constraints.
      puzzles: uint8[N, cells].
      excluded: bool[N, side, cells], digits that empty cells may not take; None for none.
      solution: results of ``sat`` or ``exact``.
      config: their resolved settings; nothing is done if they are those of ``exact`` alone.

    Returns:
      SOLVED with a grid that was checked, UNSATISFIABLE, or UNSOLVED after the limit of time. ``iterations`` have the
      conflicts of the SAT solver added.
    """
    waiting = np.flatnonzero(solution.status == Status.UNSOLVED)
    if not waiting.size or not isinstance(config, (SatConfig, AutoConfig)):
        return solution
    assert config.engine is not None  # resolved
    grids, status, iterations = (np.array(array) for array in solution[:3])
    for start in range(0, len(waiting), _FORMULAS):
        rows = waiting[start : start + _FORMULAS]
        candidates = allowed_candidates(puzzles[rows], board)
        if excluded is not None:
            candidates &= ~(excluded[rows] & (puzzles[rows] == 0)[:, None])
        found = answers(config.engine, [formula(each, board) for each in candidates], config.seconds)
        for row, allowed, answer in zip(rows, candidates, found, strict=True):
            if answer is None:
                continue
            true, conflicts = answer
            iterations[row] += min(conflicts, np.iinfo(np.int32).max - iterations[row])
            if true is None:
                grids[row], status[row] = 0, Status.UNSATISFIABLE
                continue
            filled = grid(allowed, true)
            if is_complete(filled, board) and np.all((puzzles[row] == 0) | (filled == puzzles[row])):
                grids[row], status[row] = filled, Status.SOLVED
    return solution._replace(grids=grids, status=status, iterations=iterations)
