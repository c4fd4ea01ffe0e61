"""Instances with holes: solved grids with some cells emptied, without a proof of uniqueness.

With balanced holes, numbers of holes of any two houses differ by at most one, which makes instances harder:
Ansótegui, Béjar, Fernàndez, Gomes and Mateu, "The Impact of Balancing on Problem Hardness in a Highly Structured
Domain" (AAAI 2006).

The cells of one digit of a solved grid are one cell in every house. So the cells of k digits of a second random grid
give k holes in every house, and a part of the cells of a further digit gives at most one more.
"""

from __future__ import annotations

import dataclasses

import jax.numpy as jnp
import numpy as np
from jax import Array

from jaxsudoku.core.board import Board
from jaxsudoku.core.tuning import exact_lanes
from jaxsudoku.generation.generate_config import Holes
from jaxsudoku.generation.grids import solved_grids
from jaxsudoku.generation.reduction import count_clues
from jaxsudoku.generation.requests import PADDING, Puzzles, Request, RequestItems, attempt_keys, random_bits
from jaxsudoku.rating import IMPROPER


@dataclasses.dataclass(frozen=True)
class HoleKernel(RequestItems):
    """A ``kernels.Kernel`` that makes instances with ``Request.most`` clues.

    Attributes:
      holes: one of ``HOLES``.
      lanes: as in ``random_grids``.
    """

    holes: Holes
    lanes: int | None = None

    def resolve(self, board: Board, platform: str) -> HoleKernel:
        return dataclasses.replace(self, lanes=exact_lanes(board, platform))

    def __call__(self, board: Board, rows: Array, key: Array, number: Array, /) -> Puzzles:
        request, size = Request(*rows.T), rows.shape[0]
        holes = board.cells - request.most.astype(jnp.int32)
        *seeds, order = attempt_keys(key, request, 5)
        # the places of balanced holes come from a second grid, the next one in the batch
        each = 2 if self.holes == "balanced" else 1
        of_grids, of_symmetries = (jnp.stack(keys[:each], axis=1).reshape(-1) for keys in (seeds[::2], seeds[1::2]))
        wanted = jnp.repeat(request.number != np.uint32(PADDING), each)
        grids = solved_grids(board, of_grids, of_symmetries, wanted, self.lanes).reshape(size, each, -1)
        if self.holes == "balanced":
            blank = balanced_holes(board, grids[:, 1], holes, order)
        else:
            blank = _drawn(order, holes, board.cells)
        solutions = jnp.where(grids.any(axis=2).all(axis=1)[:, None], grids[:, 0], 0)
        puzzles = jnp.where(blank, 0, solutions)
        unrated = jnp.full(size, IMPROPER, jnp.float32)
        return Puzzles(puzzles, solutions, count_clues(puzzles), unrated)  # type: ignore[arg-type]


def balanced_holes(board: Board, grids: Array, holes: Array, keys: Array) -> Array:
    """Balanced holes for each of N grids: numbers of holes of any two houses differ by at most one.

    Args:
      board: the board.
      grids: uint8[N, cells], solved grids with randomly permuted digits.
      holes: int32[N], the number of holes.
      keys: N random keys.

    Returns:
      bool[N, cells].
    """
    digits, more = (holes // board.side).astype(jnp.uint8)[:, None], holes % board.side
    # a digit occurs once in every row: the rows that get a hole of the further digit
    rows = jnp.repeat(_drawn(keys, more, board.side), board.side, axis=1)
    return (grids <= digits) | ((grids == digits + 1) & rows)


def _drawn(keys: Array, counts: Array, size: int) -> Array:
    """Random subsets with ``counts`` int32[N] of ``size`` elements, from N keys; bool[N, size]."""
    ranks = jnp.argsort(jnp.argsort(random_bits(keys, size), axis=1), axis=1)
    return ranks.astype(jnp.int32) < counts[:, None]
