"""Puzzles as clauses for a SAT solver. Numpy only.

A variable is a candidate that the givens leave: a digit in a cell. Every cell has exactly one digit, and every house
has each digit exactly once; "at most one" is encoded pairwise (the extended encoding of Lynce and Ouaknine, 2006).
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from jaxsudoku.core.board import Board


class Formula(NamedTuple):
    """The clauses of a puzzle.

    Attributes:
      groups: int32[n], the literals of the long clauses, each clause followed by 0.
      pairs: int32[k, 2], the clauses of two literals.
    """

    groups: np.ndarray
    pairs: np.ndarray

    def clauses(self) -> list[list[int]]:
        """The literals of each clause."""
        literals, start = self.groups.tolist(), 0
        found: list[list[int]] = self.pairs.tolist()
        for end in np.flatnonzero(self.groups == 0).tolist():
            found.append(literals[start:end])
            start = end + 1
        return found


def formula(candidates: np.ndarray, board: Board) -> Formula:
    """The clauses of a puzzle.

    Args:
      candidates: bool[side, cells], the digits that each cell may hold.
      board: a board without constraints.

    Returns:
      clauses of variables from 1: variable v is the candidate v - 1 of those that ``np.flatnonzero(candidates)`` lists.
      A cell without candidates, or a digit without a place, is an empty clause.
    """
    numbers = np.zeros(candidates.shape, np.int32)
    numbers[candidates] = np.arange(1, np.count_nonzero(candidates) + 1)
    rows = np.concatenate([numbers.T, *(numbers[:, list(house)] for house in board.houses)])
    sizes = np.count_nonzero(rows, axis=1)
    long, pairs = [np.zeros(0, np.int32)], [np.zeros(0, np.int64)]
    for size in np.unique(sizes).tolist():
        groups = rows[sizes == size]
        groups = groups[groups > 0].reshape(len(groups), size)
        long.append(np.pad(groups, [(0, 0), (0, 1)]).ravel())
        one, other = (groups[:, places].ravel().astype(np.int64) for places in np.triu_indices(size, 1))
        pairs.append(np.minimum(one, other) << 32 | np.maximum(one, other))
    each = np.unique(np.concatenate(pairs))  # a row and a box share pairs, which are encoded once
    two = np.stack([-(each >> 32), -(each & (1 << 32) - 1)], axis=1)
    return Formula(np.concatenate(long), two.astype(np.int32))


def grid(candidates: np.ndarray, true: np.ndarray) -> np.ndarray:
    """The grid uint8[cells] in which the variables ``true`` int[cells] of ``formula`` are the digits."""
    digits, cells = np.divmod(np.flatnonzero(candidates)[true - 1], candidates.shape[1])
    filled = np.zeros(candidates.shape[1], np.uint8)
    filled[cells] = digits + 1
    return filled
