"""Transitive closure of links with one premise each: finds candidates that imply a contradiction.

Each candidate of a position has a row of the candidates that it makes true, and one of those that it makes false. The
consequences of a candidate are the union of the rows of all candidates that it makes true, directly or indirectly.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import jax
import jax.numpy as jnp
from jax import Array, lax

from jaxsudoku.core.board import Board
from jaxsudoku.core.constraints.clues import Clues
from jaxsudoku.core.planes import GROUP, pack_lanes, planes_to_words, unpack_lanes

from .assumptions import Assumptions, assume_each
from .position import Position

#: Rows that are updated at a time, as positions have far fewer candidates than boards.
_BLOCK = 128


class _Rows(NamedTuple):
    """Rows of the candidates of P positions, one slot per candidate.

    Attributes:
      true, false: uint32[words, P, slots], the candidates that the candidate of a slot makes true and false.
      candidate: int32[P, slots], the number of the candidate in a slot.
    """

    true: Array
    false: Array
    candidate: Array


def chained(
    board: Board,
    links: Callable[[Assumptions], tuple[Array, Array]],
    position: Position,
    assumable: Array,
    lanes: int,
    clues: Clues | None = None,
) -> Array:
    """The assumable candidates that imply both a candidate and its negation: uint32[side, cells, W].

    Args:
      board: the board.
      links: maps assumptions to the true candidates uint32[side, cells, W], including the assumed one, and the false
        candidates.
      position: the positions.
      assumable: uint32[side, cells, W], the candidates to assume.
      lanes: candidates that are assumed at a time, a multiple of 32.
      clues: as for ``assume_each``.
    """
    groups = assumable.shape[-1]
    chosen = jax.vmap(unpack_lanes)(assumable.reshape(-1, groups))  # bool[candidates, P]
    slot = jnp.cumsum(chosen, axis=0, dtype=jnp.int32) - 1

    def write(rows: _Rows, some: Assumptions) -> _Rows:
        candidate, place = some.word // groups, some.bit * groups + some.word % groups
        at = jnp.where(some.real, slot[candidate, place], rows.candidate.shape[1])
        true, false = (planes_to_words(x.reshape(board.candidates, -1)) for x in links(some))
        return _Rows(
            rows.true.at[:, place, at].set(true, mode="drop"),
            rows.false.at[:, place, at].set(false, mode="drop"),
            rows.candidate.at[place, at].set(candidate, mode="drop"),
        )

    shape = (GROUP * groups, -(-board.candidates // _BLOCK) * _BLOCK)
    none = jnp.zeros((board.words, *shape), jnp.uint32)
    rows = assume_each(board, position, assumable, lanes, write, _Rows(none, none, jnp.zeros(shape, jnp.int32)), clues)
    most = (slot[-1] + 1).max()
    closed = lax.fori_loop(0, most, lambda number, rows: _through(rows, number, -(-most // _BLOCK)), rows)
    contradictory = ((closed.true & closed.false) != 0).any(axis=0)
    refuted = chosen & jnp.take_along_axis(contradictory.T, jnp.maximum(slot, 0), axis=0)
    return jax.vmap(pack_lanes)(refuted).reshape(assumable.shape)


def _through(rows: _Rows, slot: Array, blocks: Array) -> _Rows:
    """Adds the rows of one slot to those of all candidates that make its candidate true (Warshall's algorithm)."""
    candidate = lax.dynamic_index_in_dim(rows.candidate, slot, axis=1, keepdims=False)
    true, false = (lax.dynamic_index_in_dim(x, slot, axis=2, keepdims=True) for x in (rows.true, rows.false))
    word = (candidate // GROUP)[None, :, None]
    bit = (candidate % GROUP).astype(jnp.uint32)[:, None]

    def some(block: Array, rows: _Rows) -> _Rows:
        start = block * _BLOCK
        old = lax.dynamic_slice_in_dim(rows.true, start, _BLOCK, axis=2)
        implied = (jnp.take_along_axis(old, word, axis=0)[0] >> bit) & 1
        mask = jnp.uint32(0) - implied
        new = (old | true & mask, lax.dynamic_slice_in_dim(rows.false, start, _BLOCK, axis=2) | false & mask)
        return rows._replace(
            true=lax.dynamic_update_slice_in_dim(rows.true, new[0], start, axis=2),
            false=lax.dynamic_update_slice_in_dim(rows.false, new[1], start, axis=2),
        )

    return lax.fori_loop(0, blocks, some, rows)
