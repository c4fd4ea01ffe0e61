"""Assumptions: one lane for each candidate of a block of positions, in which this candidate is assumed to be true."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from typing import NamedTuple, TypeVar

import jax
import jax.numpy as jnp
import numpy as np
from jax import Array, lax

from jaxsudoku.core.board import Board
from jaxsudoku.core.constraints.clues import Clues
from jaxsudoku.core.planes import one_candidate, words_to_planes
from jaxsudoku.runtime.operations import fence
from jaxsudoku.runtime.sharding import vary_as

from .position import Position, pack, unpack

T = TypeVar("T")


class Assumptions(NamedTuple):
    """Some of the candidates of positions, one per lane.

    Attributes:
      word: int32[32 W], which word of the flattened candidates uint32[side, cells, groups] each is in.
      bit: int32[32 W], its bit in the word.
      real: bool[32 W], whether the lane has a candidate.
      candidates: uint32[side, cells, W], the candidates of its position.
      assumed: uint32[side, cells, W], the one that is assumed.
      clues: the clues of its puzzle, rows [width, 32 W]; None for none.
    """

    word: Array
    bit: Array
    real: Array
    candidates: Array
    assumed: Array
    clues: Clues | None


def assume_each(
    board: Board,
    position: Position,
    assumable: Array,
    lanes: int,
    visit: Callable[[T, Assumptions], T],
    result: T,
    clues: Clues | None = None,
) -> T:
    """Folds over the assumable candidates uint32[side, cells, groups] of positions, ``lanes`` of them at a time.

    The clues of the positions' puzzles have rows [width, 32 groups].
    """
    words = pack(position)
    groups = assumable.shape[-1]
    flat = assumable.reshape(-1)  # one word per candidate and group of positions
    counts = lax.population_count(flat).astype(jnp.int32)
    ends = fence(jnp.cumsum(counts, dtype=jnp.int32))
    total = ends[-1]

    def some(state: tuple[Array, T]) -> tuple[Array, T]:
        start, result = state
        number = start + jnp.arange(lanes, dtype=jnp.int32)
        word = fence(jnp.minimum(jnp.searchsorted(ends, number, side="right"), flat.size - 1).astype(jnp.int32))
        bit = fence(_nth_bit(flat[word], number - (ends - counts)[word]))
        place = bit * groups + word % groups
        copies = jnp.take(words, place, axis=1)
        own = None if clues is None else dataclasses.replace(clues, rows=fence(jnp.take(clues.rows, place, axis=1)))
        assumed = words_to_planes(one_candidate(word // groups, board).T)[: board.candidates]
        assumed = fence(assumed.reshape(board.side, board.cells, -1))
        found = Assumptions(word, bit, number < total, unpack(board, copies).candidates, assumed, own)
        return start + lanes, visit(result, found)

    varying = jax.tree.map(lambda leaf: vary_as(flat, leaf), result)
    return lax.while_loop(lambda state: state[0] < total, some, (vary_as(flat, jnp.int32(0)), varying))[1]


def _nth_bit(words: Array, number: Array) -> Array:
    """The position of the n-th set bit of each word uint32[m], n from 0: int32[m]."""
    place = jnp.zeros_like(number)
    for width in (16, 8, 4, 2, 1):
        low = (words >> place.astype(jnp.uint32)) & np.uint32((1 << width) - 1)
        count = lax.population_count(low).astype(jnp.int32)
        beyond = number >= count
        number = jnp.where(beyond, number - count, number)
        place = jnp.where(beyond, place + width, place)
    return place
