"""Index tables of a board's houses. No JAX."""

from __future__ import annotations

import functools
from collections.abc import Sequence

import numpy as np

from jaxsudoku.core.board import Board
from jaxsudoku.core.extra_houses import House


def ragged(rows: Sequence[Sequence[int]], least: int = 0) -> np.ndarray:
    """Rows of numbers as a table int32[rows, most], padded with -1; at least ``least`` wide."""
    width = max((len(row) for row in rows), default=0)
    width = max(width, least)
    return np.array([[*row, *[-1] * (width - len(row))] for row in rows], dtype=np.int32).reshape(len(rows), width)


@functools.lru_cache(maxsize=32)
def houses_of_cells(board: Board) -> np.ndarray:
    """int32[cells, m]: the irregular houses of each cell, padded with -1."""
    return ragged([[h for h, house in enumerate(board.irregular_houses) if c in house] for c in range(board.cells)])


@functools.lru_cache(maxsize=32)
def intersections(board: Board) -> tuple[np.ndarray, np.ndarray]:
    """Where locked candidates apply beyond lines and equal boxes: sets of cells of a house, and the cells they affect.

    If a house has no place for a digit among the cells of a set, the affected cells lose the digit, because they see
    all other cells of the house: in a house of their own, one of the two irregular, or by a constraint of the board.

    Returns:
      outside int32[sets, m]: the cells of each set, padded with -1;
      affected int32[cells, m]: the sets that affect each cell, padded with -1.
    """
    pairs: list[tuple[House, House]] = []
    for one in board.irregular_houses:
        for other in board.houses:
            if 2 <= len(set(one) & set(other)) < board.side:
                pairs += [(one, other)] if other in board.irregular_houses else [(one, other), (other, one)]
    outside = [sorted(set(confined) - set(affected)) for confined, affected in pairs]
    affected_by: list[list[int]] = [[] for _ in range(board.cells)]
    for number, (confined, affected) in enumerate(pairs):
        for cell in set(affected) - set(confined):
            affected_by[cell].append(number)
    numbers: dict[tuple[int, ...], int] = {}
    for cell, differing in enumerate(differing_cells(board)):
        seen = differing.union(*(house for house in board.houses if cell in house))
        for house in board.houses:
            if cell not in house and differing.intersection(house) and len(seen.intersection(house)) > 1:
                cells = tuple(sorted(set(house) - seen))
                if cells not in numbers:
                    numbers[cells] = len(outside)
                    outside.append(list(cells))
                affected_by[cell].append(numbers[cells])
    return ragged(outside, 1), ragged(affected_by, 1)


@functools.lru_cache(maxsize=32)
def differing_cells(board: Board) -> tuple[frozenset[int], ...]:
    """For each cell those that a constraint of the board forbids to hold the same digit."""
    found: list[set[int]] = [set() for _ in range(board.cells)]
    for constraint in board.constraints:
        for one, other in constraint.differing(board.side):
            found[one].add(other)
            found[other].add(one)
    return tuple(map(frozenset, found))
