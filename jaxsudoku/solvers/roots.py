"""Root positions of iterative solvers: puzzles after the rules, and the queue of open ones."""

from __future__ import annotations

from typing import NamedTuple

import jax.numpy as jnp
from jax import Array, lax

from jaxsudoku.core.board import Board
from jaxsudoku.core.planes import GROUP, grids_to_planes, pad_grids, planes_to_grids, planes_to_nodes, unpack_lanes
from jaxsudoku.core.propagation import invalid_givens, settle
from jaxsudoku.engine.solution import Status
from jaxsudoku.runtime.operations import fence

#: Minimum number of puzzles to which the rules are applied at a time.
_LANES = 2048


class Roots(NamedTuple):
    """N puzzles after the rules.

    Attributes:
      nodes: uint32[words, N] or wider, the remaining candidates.
      grids: uint8[N, cells], the solution if the rules find it, else zeros.
      status: int8[N]: SOLVED; INVALID; UNSATISFIABLE if the rules refute the puzzle; UNSOLVED if it is open.
      waiting: int32[N], the indices of the open puzzles, in order, padded with N.
    """

    nodes: Array
    grids: Array
    status: Array
    waiting: Array


def make_roots(board: Board, puzzles: Array, rules: str, lanes: int = 0) -> Roots:
    """Applies the rules to puzzles until nothing changes.

    Args:
      board: the board.
      puzzles: uint8[N, cells], 0 = empty.
      rules: one of ``tuning.RULES``.
      lanes: puzzles to which the rules are applied at a time, at least 2048, rounded up to a multiple of 32.
    """
    size = puzzles.shape[0]
    lanes = min(max(_LANES, lanes), size)
    lanes += -lanes % GROUP
    puzzles, active = pad_grids(puzzles, board, lanes)
    padded_size = len(puzzles)

    def block(number: Array, roots: tuple[Array, ...]) -> tuple[Array, ...]:
        start = number * lanes
        givens = grids_to_planes(lax.dynamic_slice_in_dim(puzzles, start, lanes), board)
        invalid = unpack_lanes(invalid_givens(givens, board))
        planes, contradictory, solved = settle(fence(givens.candidates), board, rules)
        contradictory, solved = unpack_lanes(contradictory), unpack_lanes(solved) & ~invalid
        known = [jnp.int8(status) for status in (Status.INVALID, Status.UNSATISFIABLE, Status.SOLVED)]
        status = jnp.select([invalid, contradictory, solved], known, jnp.int8(Status.UNSOLVED))
        made = planes_to_nodes(planes, board), jnp.where(solved[:, None], planes_to_grids(planes, board), 0), status
        return tuple(
            lax.dynamic_update_slice_in_dim(whole, part, start, axis)
            for whole, part, axis in zip(roots, made, (1, 0, 0), strict=True)
        )

    nothing = (
        jnp.zeros((board.words, padded_size), jnp.uint32),
        jnp.zeros((padded_size, board.cells), jnp.uint8),
        jnp.full(padded_size, Status.INVALID, jnp.int8),
    )
    nodes, grids, status = lax.fori_loop(0, -(-active // lanes), block, nothing)
    (waiting,) = jnp.nonzero(status[:size] == Status.UNSOLVED, size=size, fill_value=size)
    return Roots(nodes, grids[:size], status[:size], waiting.astype(jnp.int32))
