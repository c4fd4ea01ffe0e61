"""Evaluates all neighbours of complete grids at once: one swap in a box, or three swaps in three boxes.

Digits are bits of masks (``jaxsudoku.core.masks``). Two masks of every line give the change of the error for any single
swap: the digits that the line holds once (lost if the swap removes one) and the digits that it lacks (gained if the
swap adds one). Three swaps may affect the same line, so for them each line is recombined from the digits that its
boxes contribute, before and after. The constraints of the board are counted again for each neighbour.

Grids are uint8[cells, K]: the batch is the last axis.
"""

from __future__ import annotations

import functools
import itertools
from collections.abc import Callable
from typing import NamedTuple

import jax.numpy as jnp
import numpy as np
from jax import Array, lax

from jaxsudoku.core.board import Board
from jaxsudoku.core.constraints.pruning import broken
from jaxsudoku.core.masks import all_digits, digit_masks
from jaxsudoku.core.planes import any_of, ones_and_twos, slices
from jaxsudoku.runtime.operations import fence
from jaxsudoku.runtime.random import APART, mix

from .boxes import box_of, boxes, lines, most_errors, pairs

#: Swaps in a triple.
TRIPLE = 3

#: Random streams: ties, and the draws of swaps.
_TIES, _DRAWS = np.uint32(0x5851F42D), np.uint32(0x9C8D4C57)

_ALL = np.uint32(0xFFFFFFFF)


class Best(NamedTuple):
    """The best neighbour of each grid; ties are broken at random.

    Attributes:
      grids: uint8[cells, K]; undefined where a grid has no neighbour.
      rise: int32[K], the rise of the error; above any error where there is no neighbour.
      tried: int32[K], the number of neighbours.
    """

    grids: Array
    rise: Array
    tried: Array


def best_swap(board: Board, grids: Array, free: Array, seeds: Array) -> Best:
    """The best neighbour with two free cells of a box swapped.

    Args:
      board: the board.
      grids: uint8[cells, K], complete.
      free: bool[cells, K], the cells that may be swapped.
      seeds: uint32[K], to break ties.
    """
    cells = pairs(board).cells
    allowed = free[cells[:, 0]] & free[cells[:, 1]]
    number, rise = _least(board, rises(board, grids), allowed, seeds)
    first, second = jnp.asarray(cells)[number].T
    here, there = (np.arange(board.cells, dtype=np.int32)[:, None] == cell for cell in (first, second))
    return Best(_exchanged(grids, here, there, 0), rise, allowed.sum(axis=0, dtype=jnp.int32))


def rises(board: Board, grids: Array) -> Array:
    """The rise of the error for each pair in ``boxes.pairs``, including given cells: int8[pairs, K].

    On a board with constraints int32.
    """
    cells, changed = pairs(board)
    bits = digit_masks(grids, board.side)
    ones, twos = ones_and_twos(slices(bits[:, lines(board)], 2))  # [limbs, lines, K]
    nothing = jnp.zeros_like(ones[:, :1])  # of the dummy line
    missed = ~ones & all_digits(board.side)[:, None, None]
    none, once = fence((jnp.concatenate([missed, nothing], 1), jnp.concatenate([ones & ~twos, nothing], 1)))
    first, second = bits[:, cells[:, 0]], bits[:, cells[:, 1]]
    total = jnp.zeros(first.shape[1:], jnp.int8)
    for slot, line in enumerate(changed.T):
        going, coming = (first, second) if slot < changed.shape[1] // 2 else (second, first)
        lost, won = (any_of(slices(shared, 0)) != 0 for shared in (once[:, line] & going, none[:, line] & coming))
        total += lost.astype(jnp.int8) - won.astype(jnp.int8)
    if board.constraints:
        swapped = np.tile(np.arange(board.cells, dtype=np.int32), (len(cells), 1))
        np.put_along_axis(swapped, cells, cells[:, ::-1], axis=1)
        total = total + _further_broken(board, grids, lambda source: grids[source], swapped)
    return total


def _further_broken(board: Board, grids: Array, neighbour: Callable[[Array], Array], which: np.ndarray) -> Array:
    """The rise of the number of broken constraints for the neighbours of each row of ``which``: int32[N, K]."""
    after = lax.map(lambda one: broken(board, neighbour(one).T), jnp.asarray(which))
    return after - broken(board, grids.T)


def best_triple(board: Board, grids: Array, free: Array, seeds: Array, size: int) -> Best:
    """The best of ``size`` neighbours with three swaps in three boxes; other arguments as in ``best_swap``.

    A random swap of free cells is drawn in every box. Each triple of boxes gives one neighbour; after all triples new
    swaps are drawn. A box with fewer than two free cells has no swap, and triples with it give no neighbour.
    """
    threes = _threes(board.side)
    draws = []
    for start in range(0, size, len(threes)):
        seeds = mix(seeds ^ _DRAWS)
        draws.append(_best_of_draw(board, grids, free, seeds, threes[: size - start]))
    return functools.reduce(better, draws)


def better(one: Best, other: Best) -> Best:
    """The better of two neighbours, the first in case of a tie; ``tried`` is added up."""
    grids = jnp.where(other.rise < one.rise, other.grids, one.grids)
    return Best(grids, jnp.minimum(one.rise, other.rise), one.tried + other.tried)


def _best_of_draw(board: Board, grids: Array, free: Array, seeds: Array, threes: np.ndarray) -> Best:
    """Draws one swap in every box; the best neighbour for triples of boxes int32[T, 3]."""
    swapped, able = _drawn(board, grids, free, seeds)
    parts = _parts(board)
    # the digits that each box contributes to each line that it meets, [limbs, lines, m, K]
    old, new = fence(tuple(_brought(board, of, parts.meetings) for of in (grids, swapped)))
    held = fence(any_of(slices(jnp.where(parts.moved[..., None], new[:, parts.lines], old[:, parts.lines]), 2)))
    before = any_of(slices(old, 2))[:, parts.lines]
    lost = fence(_count(before) - _count(held))
    rise = functools.reduce(jnp.add, (lost[of_line] for of_line in parts.of_threes[: len(threes)].T))

    def changed(three: Array) -> Array:
        """The grids with the swaps of three boxes int32[*k, 3]; k is K, or nothing for the same boxes in all grids."""
        return jnp.where((three == box_of(board)[:, None, None]).any(axis=-1), swapped, grids)

    if board.constraints:
        rise = rise + _further_broken(board, grids, changed, threes)
    allowed = able[threes].all(axis=1)
    number, rise = _least(board, rise, allowed, mix(seeds ^ _TIES))
    return Best(changed(jnp.asarray(threes)[number]), rise, allowed.sum(axis=0, dtype=jnp.int32))


def _brought(board: Board, grids: Array, cells: np.ndarray) -> Array:
    """The set of digits in cells int32[*s, c]: masks [limbs, *s, K]. An index past the last cell is an empty cell."""
    bits = digit_masks(jnp.pad(grids, ((0, 1), (0, 0))), board.side)
    return any_of(slices(bits[:, cells], cells.ndim))


def _count(digits: Array) -> Array:
    """The number of digits in masks [limbs, *s]: int8[*s]."""
    return functools.reduce(jnp.add, slices(lax.population_count(digits).astype(jnp.int8), 0))


def _drawn(board: Board, grids: Array, free: Array, seeds: Array) -> tuple[Array, Array]:
    """Applies a random swap in every box: the grids uint8[cells, K], and which boxes have a swap, bool[boxes, K]."""
    table = boxes(board)
    low = np.uint32((1 << board.side.bit_length()) - 1)  # distinct random numbers within a box
    place = np.arange(1, board.side + 1, dtype=np.uint32)[:, None]
    lots = (mix(seeds + table[..., None].astype(np.uint32) * APART) & ~low) | place
    lots = jnp.where(free[table], lots, 0)
    highest = lots.max(axis=1, keepdims=True)
    next_highest = jnp.where(lots == highest, 0, lots).max(axis=1, keepdims=True)
    able = next_highest > 0
    swapped = _exchanged(grids[table], (lots == highest) & able, (lots == next_highest) & able, 1)
    return swapped.reshape(grids.shape)[np.argsort(table.reshape(-1))], able[:, 0]


def _exchanged(grids: Array, here: Array, there: Array, axis: int) -> Array:
    """Swaps the digits at two masks, each with at most one place along the axis."""
    one, other = (jnp.where(at, grids, 0).sum(axis=axis, keepdims=True, dtype=grids.dtype) for at in (here, there))
    return jnp.where(here, other, jnp.where(there, one, grids))


def _least(board: Board, rise: Array, allowed: Array, seeds: Array) -> tuple[Array, Array]:
    """The index of the smallest allowed rise [N, K], with ties broken at random, and this rise: int32[K] each."""
    number = np.arange(len(rise), dtype=np.uint32)[:, None]
    low = np.uint32((1 << len(rise).bit_length()) - 1)
    rise = fence(jnp.where(allowed, rise, jnp.iinfo(rise.dtype).max))
    least = rise.min(axis=0)
    lots = (mix(seeds + number * APART) & ~low) | number
    lot = jnp.where(rise == least, lots, _ALL).min(axis=0) & low
    none = least == jnp.iinfo(rise.dtype).max
    return jnp.where(none, 0, lot).astype(jnp.int32), jnp.where(none, most_errors(board), least.astype(jnp.int32))


# ---------------------------------------------------------------------- tables


class Parts(NamedTuple):
    """Parts of lines that triples of boxes may change; a part is a line and the subset of its boxes in the triple.

    Attributes:
      meetings: int32[lines, m, c], the cells of a line in each of its boxes, padded with the number of cells.
      lines: int32[S], the line of each part.
      moved: bool[S, m], the boxes of each part, among those of its line.
      of_threes: int32[T, lines], the part of each line that a triple changes.
    """

    meetings: np.ndarray
    lines: np.ndarray
    moved: np.ndarray
    of_threes: np.ndarray


@functools.lru_cache(maxsize=32)
def _parts(board: Board) -> Parts:
    """The parts of a board's lines."""
    numbers = box_of(board)
    met = [sorted(set(numbers[line].tolist())) for line in lines(board)]
    shared = {
        (number, box): line[numbers[line] == box] for number, line in enumerate(lines(board)) for box in met[number]
    }
    most, widest = max(map(len, met)), max(map(len, shared.values()))
    meetings = np.full((len(met), most, widest), board.cells, np.int32)
    for (number, box), cells in shared.items():
        meetings[number, met[number].index(box), : len(cells)] = cells
    parts: dict[tuple[int, frozenset[int]], int] = {}
    of_threes = [
        [parts.setdefault((number, frozenset(three) & set(of_line)), len(parts)) for number, of_line in enumerate(met)]
        for three in _threes(board.side).tolist()
    ]
    moved = np.zeros((len(parts), most), bool)
    for part, (number, those) in enumerate(parts):
        moved[part, [met[number].index(box) for box in those]] = True
    return Parts(meetings, np.array([number for number, _ in parts]), moved, np.array(of_threes))


@functools.lru_cache(maxsize=32)
def _threes(side: int) -> np.ndarray:
    """All triples of boxes, int32[T, 3], in a fixed shuffled order."""
    threes = np.array(list(itertools.combinations(range(side), TRIPLE)), np.int32)
    return np.random.default_rng(0).permutation(threes)
