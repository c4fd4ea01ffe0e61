"""Nets: refutes an assumed candidate by rules that may have several premises."""

from __future__ import annotations

import jax.numpy as jnp
from jax import Array, lax

from jaxsudoku.core.board import Board
from jaxsudoku.core.constraints.clues import Clues
from jaxsudoku.core.layouts import Planes
from jaxsudoku.core.planes import any_of, ones_and_twos, slices
from jaxsudoku.core.propagation import classify, fixpoint
from jaxsudoku.runtime.operations import fence
from jaxsudoku.runtime.sharding import vary_as

from .position import in_houses, lanes_with, places_of_digit, seen, take, to_cells
from .singles import clashing, singles


def nishio(board: Board, candidates: Array, assumed: Array) -> Array:
    """Refutes a digit's placement by hidden singles of this digit only: uint32[W], refuted lanes.

    A lane is refuted if a house is left without a place for the digit.

    Args:
      board: the board.
      candidates: uint32[side, cells, W].
      assumed: uint32[side, cells, W], one candidate of each lane.
    """
    places, cell = places_of_digit(candidates, assumed)

    def one_round(state: tuple[Array, Array, Array, Array]) -> tuple[Array, Array, Array, Array]:
        left, placed, refuted, _ = state
        remaining = fence(left & ~seen(board, placed))
        ones, twos = fence(ones_and_twos(in_houses(board, remaining)))
        refuted = refuted | lanes_with(~ones)
        only = fence(placed | (remaining & to_cells(board, fence(ones & ~twos))))
        changed = ((remaining ^ left) | (only ^ placed)) & ~refuted
        return remaining, only, refuted, (changed != 0).any()

    state = (places, cell, jnp.zeros_like(cell[0]), *vary_as(assumed, (jnp.bool_(True),)))
    return lax.while_loop(lambda state: state[-1], one_round, state)[2]


def forcing_chain(board: Board, candidates: Array, assumed: Array, rules: str, clues: Clues | None = None) -> Array:
    """Refutes assumptions by rules, up to a contradiction: uint32[W], refuted lanes.

    Args:
      board: the board.
      candidates: uint32[side, cells, W].
      assumed: uint32[side, cells, W], one candidate of each lane.
      rules: one of ``RULES`` but "none".
      clues: the clues of the lanes' puzzles, rows [width, 32 W]; None for none.
    """
    layout = Planes(board)
    left = take(board, candidates, assumed, any_of(slices(assumed, 0)))
    planes = fixpoint(layout, left.reshape(*(board.side,) * 3, -1), rules, clues=clues)
    settled = fence(planes.reshape(left.shape))
    # rules do not remove clashing singles (two digits for one cell, or two cells of a house for one digit)
    return classify(layout, planes)[0] | clashing(board, singles(board, settled))
