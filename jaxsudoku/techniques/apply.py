"""Applies techniques to blocks of positions, by their numbers in a list, so that one program contains all of them.

Techniques that refute candidates get a lane for each candidate of an open cell, so a few positions fill many lanes.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from typing import Any

import jax.numpy as jnp
from jax import Array, lax

from jaxsudoku.core.board import Board
from jaxsudoku.core.constraints.clues import Clues
from jaxsudoku.core.planes import unpack_lanes
from jaxsudoku.runtime.operations import fence
from jaxsudoku.runtime.sharding import vary_as

from .assumptions import Assumptions, assume_each
from .follow import chained
from .position import Position, lanes_with, place
from .registry import Kind, Technique


def search(
    board: Board,
    techniques: Sequence[Technique],
    number: Array,
    position: Position,
    lanes: int,
    clues: Clues | None = None,
) -> Array:
    """The candidates that one of several techniques of a kind places or removes: uint32[side, cells, W].

    Args:
      board: the board.
      techniques: the techniques, all of the same kind.
      number: int32, the place of the technique to apply.
      position: the positions.
      lanes: candidates that are tested at a time, a multiple of 32.
      clues: the clues of the positions' puzzles, rows [width, 32 W]; None for none.
    """
    kind = techniques[0].kind
    if kind in (Kind.PLACES, Kind.REMOVES):
        return fence(lax.switch(number, [_bound(board, technique, clues) for technique in techniques], position))
    opened = fence(position.candidates & ~position.filled[None])
    worth = [functools.partial(_worth, board, technique) for technique in techniques]
    assumable = fence(opened & lax.switch(number, worth, position.candidates))

    def consequences(some: Assumptions) -> Any:
        functions = [_bound(board, technique, some.clues) for technique in techniques]
        return lax.switch(number, functions, some.candidates, some.assumed)

    find = _refuted if kind is Kind.REFUTES else chained
    return fence(find(board, consequences, position, assumable, lanes, clues))


def _bound(board: Board, technique: Technique, clues: Clues | None) -> Callable[..., Any]:
    """The function of a technique with its first argument and, if it takes any, clues."""
    return functools.partial(technique.run, board, **({"clues": clues} if technique.clues else {}))


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

    if not techniques:
        return position, jnp.zeros((0, position.filled.shape[-1]), jnp.uint32)
    used = jnp.zeros((len(techniques), position.filled.shape[-1]), jnp.uint32)
    start = (position, vary_as(position.filled, used), vary_as(position.filled, jnp.bool_(True)))
    position, used, _ = lax.while_loop(lambda state: state[-1], one_round, start)
    return position, used


def _refuted(
    board: Board,
    refute: Callable[[Assumptions], Array],
    position: Position,
    assumable: Array,
    lanes: int,
    clues: Clues | None,
) -> Array:
    """The assumable candidates that a function refutes; ``lanes`` of them are tested at a time."""

    def mark(refuted: Array, some: Assumptions) -> Array:
        wrong = unpack_lanes(refute(some)) & some.real
        # no two lanes have the same bit, so adding sets it
        bits = jnp.where(wrong, jnp.uint32(1) << some.bit.astype(jnp.uint32), 0)
        return refuted.at[some.word].add(bits)

    flat = jnp.zeros_like(assumable.reshape(-1))
    return assume_each(board, position, assumable, lanes, mark, flat, clues).reshape(assumable.shape)
