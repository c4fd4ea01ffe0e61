"""The judge, which verifies every grid that a solver reports as solved."""

from __future__ import annotations

import functools

import jax
import jax.numpy as jnp
import numpy as np
from jax import Array, lax

from jaxsudoku.core.board import Board, board_of_grids
from jaxsudoku.core.constraints.clues import Clues
from jaxsudoku.core.grid import is_solved
from jaxsudoku.engine.solution import Solution, Status

#: Puzzles that are checked together on a CPU: few enough for their houses to stay in its cache.
_CPU_CHUNK = 1 << 11
#: Cells that are checked together on an accelerator: many, as every part costs the launches of its kernels.
_CELLS = 1 << 23


@jax.named_scope("judge")
def judge(
    puzzles: Array,
    solution: Solution,
    board: Board | None = None,
    clues: Clues | None = None,
    *,
    keep_partial: bool = False,
) -> Solution:
    """Verifies every grid that is reported as solved.

    Args:
      puzzles: uint8[N, cells].
      solution: the answer of a solver.
      board: the board; None for the classic one of the puzzles' size.
      clues: the constraints of each puzzle; None for those of the board alone.
      keep_partial: whether grids of UNSOLVED puzzles are kept.

    Returns:
      The solution, with status UNSOLVED where a claimed grid breaks a rule or a given. Grids that are not SOLVED are
      zeros; with ``keep_partial`` an UNSOLVED puzzle has the solver's last grid, or its givens if there is none.
    """
    board, _ = board_of_grids(np.shape(puzzles), board)
    size = puzzles.shape[0]
    if not size:
        return solution
    claimed = solution.status == Status.SOLVED
    true = lax.platform_dependent(
        solution.grids,
        puzzles,
        claimed,
        clues,
        cpu=functools.partial(_check, board, _CPU_CHUNK),
        default=functools.partial(_check, board, max(_CELLS // board.cells, _CPU_CHUNK)),
    )
    status = jnp.where(claimed & ~true, jnp.int8(Status.UNSOLVED), solution.status)
    grids = jnp.where((claimed & true)[:, None], solution.grids, 0)
    if keep_partial:
        kept = jnp.where(solution.grids.any(axis=1, keepdims=True), solution.grids, puzzles)
        grids = jnp.where((status == Status.UNSOLVED)[:, None], kept, grids)
    return solution._replace(grids=grids, status=status)


def judge_within(puzzles: np.ndarray, candidates: np.ndarray, solution: Solution) -> Solution[np.ndarray]:
    """Verifies on the host that solved grids use only candidates of their puzzles.

    Args:
      puzzles: uint8[*b, cells].
      candidates: bool[*b, side, cells].
      solution: the solutions, as numpy arrays.

    Returns:
      The solution, with zeros and status UNSOLVED where an open cell has a digit that is not one of its candidates.
    """
    digits = np.maximum(solution.grids, 1)[..., None, :].astype(int) - 1
    allowed = np.take_along_axis(candidates, digits, axis=-2)[..., 0, :]
    outside = (solution.status == Status.SOLVED) & ((puzzles == 0) & ~allowed).any(axis=-1)
    if not outside.any():
        return solution
    grids, status = np.where(outside[..., None], 0, solution.grids), np.where(outside, Status.UNSOLVED, solution.status)
    return solution._replace(grids=grids.astype(np.uint8), status=status.astype(np.int8))


def _check(board: Board, most: int, grids: Array, puzzles: Array, claimed: Array, clues: Clues | None = None) -> Array:
    """Whether grids uint8[N, cells] solve the puzzles, bool[N]; ``most`` are checked at a time.

    False for all grids after the last ``claimed`` one, bool[N].
    """
    size = puzzles.shape[0]
    chunk = min(most, size)

    def block(number: Array, true: Array) -> Array:
        start = jnp.minimum(number * chunk, size - chunk)
        claims, givens, own = jax.tree.map(lambda x: lax.dynamic_slice_in_dim(x, start, chunk), (grids, puzzles, clues))
        return lax.dynamic_update_slice_in_dim(true, is_solved(claims, board, givens, own), start, axis=0)

    last = jnp.max(jnp.where(claimed, jnp.arange(1, size + 1, dtype=jnp.int32), 0))
    return lax.fori_loop(0, -(-last // chunk), block, jnp.zeros(size, bool))
