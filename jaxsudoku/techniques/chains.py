"""Chains: a candidate that implies its own negation, link by link, is false.

A true candidate makes the others of its cell and its houses false (weak links). A false candidate makes the other one
of a pair true: of a cell with two candidates, or of a house with two places for a digit (strong links). Each link has
one premise, so chains are paths; all paths of a candidate are followed at once.
"""

from __future__ import annotations

from typing import Literal, NamedTuple

import jax.numpy as jnp
from jax import Array, lax

from jaxsudoku.core.board import Board
from jaxsudoku.core.planes import at_least, ones_and_twos, slices
from jaxsudoku.runtime.operations import fence
from jaxsudoku.runtime.sharding import vary_as

from .position import in_houses, lanes_with, to_cells

#: Which links a chain may have. "colours": pairs of places in houses, and the houses of the assumed candidate; "digit":
#: links in houses; "pairs": pairs in cells, weak links in houses; "all": all of them.
Links = Literal["colours", "digit", "pairs", "all"]


class _State(NamedTuple):
    """Consequences of the assumptions.

    Attributes:
      true, false: uint32[side, cells, W], candidates.
      refuted: uint32[W], lanes with a contradiction.
      changed: bool, whether the last round found anything.
    """

    true: Array
    false: Array
    refuted: Array
    changed: Array


def chain(board: Board, candidates: Array, assumed: Array, links: Links) -> Array:
    """Lanes in which the assumed candidate implies a contradiction: uint32[W].

    Args:
      board: the board.
      candidates: uint32[side, cells, W].
      assumed: uint32[side, cells, W], one candidate of each lane.
      links: the links to use.
    """
    pairs_of_cells = _pairs(slices(candidates, 0))[None] if links in ("pairs", "all") else None
    pairs_of_houses = _pairs(in_houses(board, candidates)) if links != "pairs" else None

    def one_round(state: _State) -> _State:
        true, false, refuted, _ = state
        ones, twos = fence(ones_and_twos(in_houses(board, true)))
        refuted = refuted | lanes_with(twos)
        if links == "colours" and pairs_of_houses is not None:
            ones = fence(ones & pairs_of_houses)
        spread = to_cells(board, ones)
        if links in ("all", "pairs"):
            one, two = fence(ones_and_twos(slices(true, 0)))
            refuted = refuted | lanes_with(two[None])
            spread = spread | one[None]
        falsified = fence(false | (candidates & spread & ~true))
        refuted = refuted | lanes_with(true & falsified)
        verified = jnp.zeros_like(true)
        if pairs_of_houses is not None:
            one, two = fence(ones_and_twos(in_houses(board, falsified)))
            refuted = refuted | lanes_with(two & pairs_of_houses)
            verified = to_cells(board, fence(one & pairs_of_houses))
        if pairs_of_cells is not None:
            one, two = fence(ones_and_twos(slices(falsified, 0)))
            refuted = refuted | lanes_with(two[None] & pairs_of_cells)
            verified = verified | (one[None] & pairs_of_cells)
        verified = fence(true | (candidates & ~falsified & verified))
        changed = ((verified ^ true) | (falsified ^ false)) & ~refuted
        return _State(verified, falsified, refuted, (changed != 0).any())

    dead = jnp.zeros_like(assumed)
    if links == "colours":  # the assumed candidate itself may not be part of a pair
        dead = fence(candidates & to_cells(board, ones_and_twos(in_houses(board, assumed))[0]) & ~assumed)
    nothing = jnp.zeros_like(assumed[0, 0])
    state = _State(assumed, dead, nothing, *vary_as(assumed, (jnp.bool_(True),)))
    return lax.while_loop(lambda state: state.changed, one_round, state).refuted


def _pairs(planes: list[Array]) -> Array:
    """Where exactly two of the planes are set."""
    _, two, three = at_least(planes, 3)
    return fence(two & ~three)
