"""Techniques applied to blocks of positions, by their numbers in a list, so that one program holds all of them.

Techniques that refute candidates get a lane for each candidate of an open cell, so a few positions fill many lanes.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence

import jax.numpy as jnp
from jax import Array, lax

from jaxsudoku.board import Board
from jaxsudoku.planes import (
    cubes_to_planes,
    fence,
    one_candidate,
    planes_to_cubes,
    unpack_lanes,
    words_to_planes,
)
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
    """The candidates that are worth to be assumed."""
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
    number: Array,
    position: Position,
    assumable: Array,
    lanes: int,
) -> Array:
    """Those of the assumable candidates that the technique at a place refutes, ``lanes`` of them at a time."""
    words = pack(position)
    opened = planes_to_cubes(assumable.reshape(*(board.side,) * 3, -1), board)
    flat = opened.reshape(-1)  # position, digit, cell
    total = flat.sum(dtype=jnp.int32)
    size = flat.size + -flat.size % lanes
    index = jnp.nonzero(flat, size=size, fill_value=flat.size)[0].astype(jnp.int32)

    def some(state: tuple[Array, Array]) -> tuple[Array, Array]:
        start, refuted = state
        chosen = lax.dynamic_slice(index, (start,), (lanes,))
        lane, candidate = chosen // board.candidates, chosen % board.candidates
        copies = jnp.take(words, jnp.minimum(lane, words.shape[1] - 1), axis=1)
        assumed = words_to_planes(one_candidate(candidate, board).T)[: board.candidates]
        assumed = assumed.reshape(board.side, board.cells, -1)
        wrong = lax.switch(number, functions, unpack(board, copies).candidates, fence(assumed))
        return start + lanes, refuted.at[chosen].set(unpack_lanes(wrong), mode="drop")

    state = (vary_as(flat, jnp.int32(0)), jnp.zeros_like(flat))
    refuted = lax.while_loop(lambda state: state[0] < total, some, state)[1]
    return cubes_to_planes(refuted.reshape(opened.shape), board).reshape(position.candidates.shape)
