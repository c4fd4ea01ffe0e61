"""Nodes of the textbook searches: partly filled grids and their legal placements.

A node is packed as its candidates, uint32[words]: a filled cell has only its digit; an empty cell has the candidates
left by the rules, or every digit without rules. Sets of placements (a digit in a cell) are packed in the same way. The
axis of nodes comes first here, as searches gather nodes from paths and queues.
"""

from __future__ import annotations

import functools
from typing import NamedTuple

import jax.numpy as jnp
import numpy as np
from jax import Array

from jaxsudoku.core.board import Board
from jaxsudoku.core.planes import (
    GROUP,
    any_of,
    count_planes,
    exactly_one,
    nodes_to_planes,
    one_candidate,
    planes_to_nodes,
    slices,
    unpack_lanes,
)
from jaxsudoku.core.propagation import legal, settle
from jaxsudoku.runtime.operations import fence

#: Greater than any rank.
_LAST = 2**32 - 1


class Inspection(NamedTuple):
    """K nodes after the rules were applied.

    Attributes:
      nodes: uint32[K, words], the nodes.
      legal: uint32[K, words], placements in empty cells that neither a filled cell nor a constraint excludes.
      filled: uint32[K, words], the placements of filled cells.
      empty: bool[K, cells], the cells that are not filled.
      counts: uint32[K, cells], the number of legal digits of each cell.
      dead: bool[K], whether the rules refute the node; False is possible although a cell has no legal digit.
      solved: bool[K], whether the grid is complete and correct.
    """

    nodes: Array
    legal: Array
    filled: Array
    empty: Array
    counts: Array
    dead: Array
    solved: Array


def inspect(board: Board, nodes: Array, rules: str) -> Inspection:
    """Applies the rules to nodes uint32[K, words] until nothing changes; K is any number."""
    size = len(nodes)
    planes = nodes_to_planes(jnp.pad(nodes.T, ((0, 0), (0, -size % GROUP))), board)
    planes, dead, solved = settle(planes, board, rules)
    filled = fence(exactly_one(slices(planes, 0)))
    # rules leave no candidate that clashes
    free = legal(planes, board) if rules == "none" else planes
    choices = fence(free & ~filled[None])
    counts = any_of(
        [unpack_cells(board, bits).astype(jnp.uint32) << at for at, bits in enumerate(count_planes(slices(choices, 0)))]
    )

    def packed(planes: Array) -> Array:
        return planes_to_nodes(fence(planes), board).T

    empty = unpack_cells(board, ~filled)
    parts = packed(planes), packed(choices), packed(planes & filled[None]), empty, counts
    return Inspection(*(part[:size] for part in (*parts, unpack_lanes(dead), unpack_lanes(solved))))


def unpack_cells(board: Board, planes: Array) -> Array:
    """One truth value a cell, uint32[side, side, W], as bool[32 W, cells]."""
    bits = fence(planes).reshape(board.cells, 1, -1) >> np.arange(GROUP, dtype=np.uint32)[:, None]
    return (bits & 1).astype(bool).reshape(board.cells, -1).T


def unpacked(board: Board, packed: Array) -> Array:
    """Unpacks placements: uint32[K, words] to bool[K, side, cells]."""
    bits = packed[:, :, None] >> np.arange(GROUP, dtype=np.uint32) & 1
    return bits.astype(bool).reshape(len(packed), -1)[:, : board.candidates].reshape(-1, board.side, board.cells)


def digits_in(board: Board, placements: Array, cell: Array) -> Array:
    """The digits of placements uint32[K, words] in a cell int32[K]: bool[K, side]."""
    number = np.arange(board.side, dtype=np.int32) * board.cells + cell[:, None]
    bits = jnp.take_along_axis(placements, number // GROUP, axis=1) >> (number % GROUP).astype(jnp.uint32) & 1
    return bits.astype(bool)


def grids(board: Board, filled: Array) -> Array:
    """The digits of placements, at most one a cell, packed as uint32[K, words]: uint8[K, cells], 0 = none."""
    digits = np.arange(1, board.side + 1, dtype=np.uint8)[:, None]
    return jnp.where(unpacked(board, filled), digits, np.uint8(0)).sum(axis=1, dtype=jnp.uint8)


def literal(board: Board, digit: Array, cell: Array) -> Array:
    """Packs a single placement; digits from 0 and cells int32[*b] to uint32[*b, words]."""
    return one_candidate(digit * board.cells + cell, board)


def in_cell(board: Board, cell: Array) -> Array:
    """All placements in a cell, packed: int32[*b] to uint32[*b, words]."""
    return jnp.asarray(_cells(board))[cell]


def place(board: Board, nodes: Array, digit: Array, cell: Array) -> Array:
    """Places digits, from 0, in cells of nodes uint32[*b, words]; applies no rules."""
    return nodes & (~in_cell(board, cell) | literal(board, digit, cell))


def first_cell(among: Array, rank: Array) -> Array:
    """The allowed cell of lowest rank, the first in case of a tie.

    Args:
      among: bool[K, cells], the allowed cells.
      rank: uint32[K, cells]; shares a word with the cell's number, so it must leave room for the bits of one.

    Returns:
      int32[K].
    """
    return _first(among, rank, np.arange(among.shape[1], dtype=np.uint32))


def first_placement(among: Array, rank: Array) -> tuple[Array, Array]:
    """The lowest-ranked placement of ``among`` bool[K, side, cells], ties cell by cell: digit, cell, int32[K] each."""
    size, side, cells = among.shape
    number = np.arange(side, dtype=np.uint32)[:, None] + np.arange(cells, dtype=np.uint32) * side
    rank = jnp.broadcast_to(rank, among.shape).reshape(size, -1)
    first = _first(among.reshape(size, -1), rank, number.reshape(-1))
    return first % side, first // side


def _first(among: Array, rank: Array, number: np.ndarray) -> Array:
    # rank and number in one word: argmin is slow
    bits = (len(number) - 1).bit_length()
    least = jnp.where(among, rank << bits | number, np.uint32(_LAST)).min(axis=1)
    return jnp.minimum(least & ((1 << bits) - 1), len(number) - 1).astype(jnp.int32)


@functools.lru_cache(maxsize=32)
def _cells(board: Board) -> np.ndarray:
    """All placements in each cell, packed: uint32[cells, words]."""
    table = np.zeros((board.cells, board.words * GROUP), bool)
    for cell in range(board.cells):
        table[cell, np.arange(board.side) * board.cells + cell] = True
    return (table.reshape(board.cells, board.words, GROUP) << np.arange(GROUP, dtype=np.uint32)).sum(2, dtype=np.uint32)
