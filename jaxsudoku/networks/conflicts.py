"""Conflicts of candidates: pairs that a constraint of a board does not allow together. No JAX."""

from __future__ import annotations

import functools
from typing import NamedTuple

import numpy as np

from jaxsudoku.core.board import Board
from jaxsudoku.core.house_tables import ragged


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
    excluded = np.zeros((cells, side), bool)
    pairs = np.zeros((cells, cells, side, side), bool)  # of a cell and another, a digit there and one here
    for group in board.constraint_groups:
        number, size = group.cells.shape
        masks = np.full((size, number, size, side), digits.sum(), np.uint32)
        masks[np.arange(size), :, np.arange(size)] = digits  # a lane for each cell and each digit of it
        left = group.kind.prune(
            list(masks.reshape(size, number, size * side)), [each[:, None] for each in group.numbers.T], side
        )
        kept = np.stack(left, axis=-1).reshape(number, size, side, size)[..., None] & digits != 0
        dead = ~kept.any(axis=-1).all(axis=-1)  # [number, size, side]
        np.logical_or.at(excluded, group.cells, dead)
        for one in range(size):
            for other in set(range(size)) - {one}:
                np.logical_or.at(pairs, (group.cells[:, one], group.cells[:, other]), ~kept[:, one, :, other])
    pairs |= pairs.transpose(1, 0, 3, 2)
    for house in board.houses:
        pairs[np.ix_(house, house)] &= ~np.eye(side, dtype=bool)
    pairs &= ~(excluded[:, None, :, None] | excluded[None, :, None])
    related = pairs.transpose(2, 0, 3, 1).reshape(board.candidates, board.candidates)
    table = ragged([np.flatnonzero(row).tolist() for row in related])
    return Conflicts(excluded.T, np.where(table < 0, board.candidates, table).astype(np.int32))
