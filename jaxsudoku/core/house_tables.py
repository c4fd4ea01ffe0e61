"""Index tables of a board's houses. No JAX."""

from __future__ import annotations

import functools
from collections.abc import Sequence

import numpy as np

from jaxsudoku.core.board import Board, House


def ragged(rows: Sequence[Sequence[int]]) -> np.ndarray:
    """Rows of numbers as a table int32[rows, most], padded with -1."""
    width = max((len(row) for row in rows), default=0)
    return np.array([[*row, *[-1] * (width - len(row))] for row in rows], dtype=np.int32).reshape(len(rows), width)


@functools.lru_cache(maxsize=32)
def houses_of_cells(board: Board) -> np.ndarray:
    """int32[cells, m]: the irregular houses of each cell, padded with -1."""
    return ragged([[h for h, house in enumerate(board.irregular_houses) if c in house] for c in range(board.cells)])


@functools.lru_cache(maxsize=32)
def intersections(board: Board) -> tuple[np.ndarray, np.ndarray]:
    """The ordered pairs (confined house, affected house) that share two cells or more, one of them irregular.

    Returns:
      outside int32[pairs, m]: cells of the confined house that are not in the affected house, padded with -1;
      affected int32[cells, m]: the pairs whose affected house, but not confined house, has the cell, padded with -1.
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
    return ragged(outside), ragged(affected_by)
