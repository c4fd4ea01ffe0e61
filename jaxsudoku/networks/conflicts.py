"""Conflicts of candidates: pairs that a constraint of a board does not allow together. No JAX."""

from __future__ import annotations

import functools
from typing import NamedTuple

import numpy as np

from jaxsudoku.core.board import Board


class Conflicts(NamedTuple):
    """What the constraints of a board say about single candidates and about pairs, numbered as in ``board``.

    Attributes:
      excluded: bool[side, cells], the candidates that a constraint excludes by itself, such as an odd digit in an even
        cell, or the largest digit in the bulb of a thermometer.
      table: int32[candidates, m], for each other candidate those that can't be true beside it, but for those of the
        same cell and for equal digits in a house; padded with the number of candidates. The relation is symmetric.
    """

    excluded: np.ndarray
    table: np.ndarray


@functools.lru_cache(maxsize=32)
def conflicts_of(board: Board) -> Conflicts:
    """The conflicts of a board, by ``prune`` of its constraints, of any kind.

    A candidate conflicts with those that ``prune`` removes from other cells of the constraint if its cell has no other
    candidate and these cells have all digits.
    """
    side, cells = board.side, board.cells
    digits = np.uint32(1) << np.arange(side, dtype=np.uint32)
    excluded = np.zeros((side, cells), bool)
    found = [np.zeros((2, 0), np.int64)]
    for group in board.constraint_groups:
        number, size = group.cells.shape
        masks = np.full((size, number, size, side), digits.sum(), np.uint32)
        masks[np.arange(size), :, np.arange(size)] = digits  # a lane for each cell and each digit of it
        left = group.kind.prune(
            list(masks.reshape(size, number, size * side)), [each[:, None] for each in group.numbers.T], side
        )
        kept = np.stack(left, axis=-1).reshape(number, size, side, size)[..., None] & digits != 0
        row, place, digit = np.nonzero(~kept.any(axis=-1).all(axis=-1))
        excluded[digit, group.cells[row, place]] = True
        row, place, digit, other, removed = np.nonzero(~kept)
        pair = np.stack([digit * cells + group.cells[row, place], removed * cells + group.cells[row, other]])
        found.append(pair[:, place != other])
    pairs = np.concatenate(found, axis=1)
    one, other = np.divmod(
        np.unique(np.concatenate([pairs, pairs[::-1]], axis=1).T @ [board.candidates, 1]), board.candidates
    )
    in_a_house = np.zeros((cells, cells), bool)
    for house in board.houses:
        in_a_house[np.ix_(house, house)] = True
    known = in_a_house[one % cells, other % cells] & (one // cells == other // cells)
    new = ~(known | excluded.ravel()[one] | excluded.ravel()[other])
    one, other = one[new], other[new]
    counts = np.bincount(one, minlength=board.candidates)
    table = np.full((board.candidates, counts.max()), board.candidates, np.int32)
    table[one, np.arange(len(one)) - (np.cumsum(counts) - counts)[one]] = other  # sorted by ``one``
    return Conflicts(excluded, table)
