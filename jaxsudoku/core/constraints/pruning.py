"""Constraints on arrays: pruning of candidates, and the judge's check of grids."""

from __future__ import annotations

import dataclasses
import functools
from typing import Any

import jax.numpy as jnp
import numpy as np
from jax import Array

from jaxsudoku.core.board import Board
from jaxsudoku.core.constraints.clues import Clues
from jaxsudoku.core.constraints.house_sums import implied_groups
from jaxsudoku.core.house_tables import ragged
from jaxsudoku.runtime.operations import fence


def prune(board: Board, masks: Array, clues: Clues | None = None) -> Array:
    """Applies the constraints of a board and the clues of its puzzles once.

    Args:
      board: the board.
      masks: unsigned[cells, B], the candidates of each cell; bit d - 1 is digit d.
      clues: the clues of the lanes' puzzles, with ``rows`` [width, B]; None for none.

    Returns:
      the candidates that are left.
    """
    if board.constraints:
        slots = [
            slot
            for group in implied_groups(board)
            for slot in group.kind.prune(
                [masks[cells] for cells in group.cells.T], [number[:, None] for number in group.numbers.T], board.side
            )
        ]
        kept = _with_all(fence(jnp.concatenate(slots)))
        masks = masks & _all_of([kept[places] for places in _places(board).T])
    if clues is not None and clues.form.groups:
        masks = fence(masks)
        form = clues.form
        slot_cells, numbers, places = form.split(clues.rows)
        read = fence(_take(masks, slot_cells))
        pruned: list[Array] = []
        for group, cells, values in zip(form.groups, form.parts(read), numbers, strict=True):
            pruned += group.kind.prune(cells, [value.astype(jnp.int32) for value in values], board.side)
        kept = _with_all(fence(jnp.concatenate(pruned)))
        masks = masks & _all_of([_take(kept, places[number]) for number in range(form.overlap)])
    return fence(masks)


def clues_of_lanes(clues: Clues, puzzle: Array) -> Clues:
    """The clues of the puzzles int32[B] of lanes, rows [width, B]; undefined for lanes without a puzzle."""
    return dataclasses.replace(clues, rows=fence(clues.rows.at[puzzle].get(mode="clip").T))


def broken(board: Board, grids: Array, clues: Clues | None = None) -> Array:
    """The number of constraints that grids break, int32[*b]; those with an empty cell are not broken yet.

    Args:
      board: the board.
      grids: integers[*b, cells], 0 = empty; with clues [N, cells].
      clues: the clues, rows [N, width]; None for none.
    """
    grids = jnp.asarray(grids).astype(jnp.int32)
    total = jnp.zeros(grids.shape[:-1], jnp.int32)
    for group in board.constraint_groups:
        digits = [grids[..., cells] for cells in group.cells.T]
        total += _count_broken(group.kind, digits, list(group.numbers.T), board.side, True)
    if clues is not None:
        form = clues.form
        slot_cells, numbers, _ = form.split(jnp.asarray(clues.rows).T)
        read = jnp.take_along_axis(grids.T, slot_cells.astype(jnp.int32), axis=0, mode="clip")
        present = form.parts(slot_cells < board.cells)
        for clue, cells, values, there in zip(form.groups, form.parts(read), numbers, present, strict=True):
            digits, own = [cell.T for cell in cells], [value.T.astype(jnp.int32) for value in values]
            total += _count_broken(clue.kind, digits, own, board.side, there[0].T)
    return total


def _count_broken(kind: Any, digits: list[Any], numbers: list[Any], side: int, present: Any) -> Array:
    filled = functools.reduce(lambda x, y: x & y, [(digit > 0) & (digit <= side) for digit in digits])
    counted: Array = (filled & ~kind.holds(digits, numbers, side) & present).sum(axis=-1, dtype=jnp.int32)
    return counted


def _take(values: Array, index: Array) -> Array:
    """Lane by lane, the values [m, B] at ``index`` [k, B]."""
    return jnp.take_along_axis(values, index.astype(jnp.int32), axis=0, mode="clip")


def _with_all(slots: Array) -> Array:
    """Appends a slot with all bits set, for unused places."""
    return jnp.concatenate([slots, jnp.full_like(slots[:1], ~np.zeros((), slots.dtype))])


def _all_of(masks: list[Array]) -> Array:
    return functools.reduce(lambda x, y: x & y, masks)


@functools.lru_cache(maxsize=64)
def _places(board: Board) -> np.ndarray:
    """int32[cells, m]: the slots of the board's constraints that refer to each cell, padded with -1."""
    slots: list[list[int]] = [[] for _ in range(board.cells)]
    start = 0
    for group in implied_groups(board):
        for cells in group.cells.T:
            for number, cell in enumerate(cells):
                slots[cell].append(start + number)
            start += len(cells)
    return ragged(slots)
