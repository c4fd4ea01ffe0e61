"""Symmetric patterns of clues: orbits of cells that are all given or all blank. No JAX."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Literal

import numpy as np

from jaxsudoku.core.board import Board

#: The symmetries of the cells with clues.
Pattern = Literal["none", "half-turn", "quarter-turn", "left-right", "top-bottom", "diagonal", "antidiagonal", "full"]

#: The generators of each symmetry: maps of (row, column) on a board of side n.
PATTERNS: dict[str, tuple[Callable[[int, int, int], tuple[int, int]], ...]] = {
    "none": (),
    "half-turn": (lambda n, r, c: (n - 1 - r, n - 1 - c),),
    "quarter-turn": (lambda n, r, c: (c, n - 1 - r),),
    "left-right": (lambda n, r, c: (r, n - 1 - c),),
    "top-bottom": (lambda n, r, c: (n - 1 - r, c),),
    "diagonal": (lambda n, r, c: (c, r),),
    "antidiagonal": (lambda n, r, c: (n - 1 - c, n - 1 - r),),
    "full": (lambda n, r, c: (c, n - 1 - r), lambda n, r, c: (r, n - 1 - c)),
}


@functools.lru_cache(maxsize=64)
def orbits_of(board: Board, pattern: str) -> np.ndarray:
    """The orbits of cells under a pattern, int32[m, width], padded with the number of cells."""
    side = board.side
    orbits: list[list[int]] = []
    seen: set[int] = set()
    for cell in range(board.cells):
        if cell in seen:
            continue
        orbit = [cell]
        for member in orbit:
            images = [move(side, *divmod(member, side)) for move in PATTERNS[pattern]]
            orbit += dict.fromkeys(r * side + c for r, c in images if r * side + c not in orbit)
        seen.update(orbit)
        orbits.append(orbit)
    width = max(map(len, orbits))
    return np.array([orbit + [board.cells] * (width - len(orbit)) for orbit in orbits], np.int32)


def clue_counts(board: Board, pattern: str) -> list[int]:
    """The numbers of clues that are possible under a pattern, ascending."""
    sums = 1  # bit n: whether some orbits have n cells in all
    for size in (orbits_of(board, pattern) < board.cells).sum(axis=1).tolist():
        sums |= sums << size
    return [number for number in range(board.cells + 1) if sums >> number & 1]
