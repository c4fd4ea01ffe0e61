"""Techniques applied to blocks of positions, by their numbers in a list, so that one program holds all of them.

Techniques that refute candidates get a lane for each candidate of an open cell, so a few positions fill many lanes.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence

import jax.numpy as jnp
import numpy as np
from jax import Array, lax

from jaxsudoku.board import Board
from jaxsudoku.planes import fence, one_candidate, unpack_lanes, words_to_planes
from jaxsudoku.sharding import vary_as

from .position import Position, lanes_with, pack, place, unpack
from .registry import Kind, Technique


def search(board: Board, techniques: Sequence[Technique], number: Array, position: Position, lanes: int) -> Array:
    """The candidates that one of several techniques of a kind places or removes: uint32[side, cells, W].

    Args:
      board: the board.
      techniques: the techniques, all of the same kind.
      number: int32, the place of the technique to apply.
      position: the positions.
      lanes: candidates that are refuted at a time, a multiple of 32.
    """
    functions = [functools.partial(technique.run, board) for technique in techniques]
    if techniques[0].kind is not Kind.REFUTES:
        return fence(lax.switch(number, functions, position))
    opened = fence(position.candidates & ~position.filled[None])
    worth = [functools.partial(_worth, board, technique) for technique in techniques]
    assumable = opened & lax.switch(number, worth, position.candidates)
    return fence(_refuted(board, functions, number, position, fence(assumable), lanes))


def _worth(board: Board, technique: Technique, candidates: Array) -> Array:
    """The candidates that are worth assuming."""
    return candidates if technique.candidates is None else technique.candidates(board, candidates)


def fill(board: Board, techniques: Sequence[Technique], position: Position) -> tuple[Position, Array]:
    """Fills cells by techniques that place candidates, in each lane by the first one that finds any, until none does.

    Returns:
      the positions, and uint32[techniques, W], the lanes in which each technique was used.
    """

    def one_round(state: tuple[Position, Array, Array]) -> tuple[Position, Array, Array]:
        position, used, _ = state
        rest = ~jnp.zeros_like(position.filled[0])
        placed = jnp.zeros_like(position.candidates)
        now = []
        for technique in techniques:
            found = fence(technique.run(board, position) & rest)
            now.append(lanes_with(found))
            placed, rest = fence((placed | found, rest & ~now[-1]))
        return place(board, position, placed), used | jnp.stack(now), (~rest).any()

    used = jnp.zeros((len(techniques), position.filled.shape[-1]), jnp.uint32)
    start = (position, vary_as(position.filled, used), vary_as(position.filled, jnp.bool_(True)))
    position, used, _ = lax.while_loop(lambda state: state[-1], one_round, start)
    return position, used


def _refuted(
    board: Board,
    functions: Sequence[Callable[[Array, Array], Array]],
    technique: Array,
    position: Position,
    assumable: Array,
    lanes: int,
) -> Array:
    """Those of the assumable candidates that the technique at a place refutes, ``lanes`` of them at a time."""
    words = pack(position)
    groups = assumable.shape[-1]
    flat = assumable.reshape(-1)  # a word for each candidate and group of positions
    counts = lax.population_count(flat).astype(jnp.int32)
    ends = fence(jnp.cumsum(counts, dtype=jnp.int32))
    total = ends[-1]

    def some(state: tuple[Array, Array]) -> tuple[Array, Array]:
        start, refuted = state
        number = start + jnp.arange(lanes, dtype=jnp.int32)
        word = fence(jnp.minimum(jnp.searchsorted(ends, number, side="right"), flat.size - 1).astype(jnp.int32))
        bit = fence(_nth_bit(flat[word], number - (ends - counts)[word]))
        copies = jnp.take(words, bit * groups + word % groups, axis=1)
        assumed = words_to_planes(one_candidate(word // groups, board).T)[: board.candidates]
        assumed = assumed.reshape(board.side, board.cells, -1)
        wrong = lax.switch(technique, functions, unpack(board, copies).candidates, fence(assumed))
        wrong = unpack_lanes(wrong) & (number < total)
        # no two lanes have the same bit, so adding sets it
        return start + lanes, refuted.at[word].add(jnp.where(wrong, jnp.uint32(1) << bit.astype(jnp.uint32), 0))

    state = (vary_as(flat, jnp.int32(0)), jnp.zeros_like(flat))
    return lax.while_loop(lambda state: state[0] < total, some, state)[1].reshape(assumable.shape)


def _nth_bit(words: Array, number: Array) -> Array:
    """The place of the n-th set bit of each word uint32[m], n from 0: int32[m]."""
    place = jnp.zeros_like(number)
    for width in (16, 8, 4, 2, 1):
        low = (words >> place.astype(jnp.uint32)) & np.uint32((1 << width) - 1)
        count = lax.population_count(low).astype(jnp.int32)
        beyond = number >= count
        number = jnp.where(beyond, number - count, number)
        place = jnp.where(beyond, place + width, place)
    return place
