"""Complete grids whose boxes are permutations: the representation of all population solvers.

A grid keeps the givens and holds every digit once in every box; its error is the number of digits missing from its
other houses, the lines, plus the number of broken constraints of the board. A neighbour is the grid with two free cells
of a box swapped. On a jigsaw board the regions are the boxes.
"""

from __future__ import annotations

import functools
import itertools
from typing import NamedTuple

import jax.numpy as jnp
import numpy as np
from jax import Array, lax

from jaxsudoku.core.board import Board
from jaxsudoku.core.constraints.pruning import broken
from jaxsudoku.core.masks import digit_masks
from jaxsudoku.core.planes import any_of
from jaxsudoku.runtime.operations import fence
from jaxsudoku.solvers.queue import Answer

#: ``queue.Method.stats`` of these solvers; -1 where the rules refute a puzzle.
ERRORS = {"errors": -1}


def full_grids(grids: Array, error: Array, iterations: Array) -> Answer:
    """The answer for complete grids uint8[K, cells] with errors int32[K]."""
    solved = error == 0
    return Answer(grids, solved, jnp.zeros_like(solved), iterations, {"errors": error})


@functools.lru_cache(maxsize=32)
def boxes(board: Board) -> np.ndarray:
    """The cells of each box or region, int32[side, side]."""
    return np.array(board.region_houses, np.int32)


@functools.lru_cache(maxsize=32)
def box_of(board: Board) -> np.ndarray:
    """The number of each cell's box or region, int32[cells]."""
    numbers = np.empty(board.cells, np.int32)
    numbers[boxes(board)] = np.arange(board.side)[:, None]
    return numbers


@functools.lru_cache(maxsize=32)
def lines(board: Board) -> np.ndarray:
    """The cells of each line, a house other than a box: row, column or extra house; int32[lines, side]."""
    regions = set(board.region_houses)
    return np.array([house for house in board.houses if house not in regions], np.int32)


class Pairs(NamedTuple):
    """All pairs of cells in the same box, and the lines that swapping them changes.

    Attributes:
      cells: int32[pairs, 2], in a fixed shuffled order.
      lines: int32[pairs, m]: the first half of m has the lines that contain only the first cell, the second half those
        that contain only the second cell; padded with the number of lines.
    """

    cells: np.ndarray
    lines: np.ndarray


@functools.lru_cache(maxsize=32)
def pairs(board: Board) -> Pairs:
    """The pairs of a board."""
    cells = np.array([pair for box in boxes(board) for pair in itertools.combinations(box, 2)], np.int32)
    cells = np.random.default_rng(0).permutation(cells)
    through = [set(np.flatnonzero((lines(board) == cell).any(axis=1)).tolist()) for cell in range(board.cells)]
    half = max(map(len, through))
    changed = np.full((len(cells), 2 * half), len(lines(board)), np.int32)
    for number, (first, second) in enumerate(cells.tolist()):
        for place, alone in ((0, through[first] - through[second]), (half, through[second] - through[first])):
            changed[number, place : place + len(alone)] = sorted(alone)
    return Pairs(cells, changed)


@functools.lru_cache(maxsize=32)
def most_in_a_line(board: Board) -> int:
    """Maximum number of boxes that a line meets, and so of equal digits in a line if boxes are permutations."""
    return max(len(set(box_of(board)[line].tolist())) for line in lines(board))


def most_errors(board: Board) -> int:
    """An error that no grid exceeds."""
    return lines(board).size + len(board.constraints)


def errors(board: Board, grids: Array) -> Array:
    """The number of digits missing from lines, summed over all lines, and of broken constraints; 0 where it is solved.

    Args:
      board: the board.
      grids: uint8[cells, *b], complete.

    Returns:
      int32[*b].
    """
    bits = fence(digit_masks(grids, board.side))
    held = fence(any_of([bits[:, column] for column in lines(board).T]))
    missing: Array = lines(board).size - lax.population_count(held).astype(jnp.int32).sum(axis=(0, 1), dtype=jnp.int32)
    return missing + broken(board, jnp.moveaxis(grids, 0, -1)) if board.constraints else missing
