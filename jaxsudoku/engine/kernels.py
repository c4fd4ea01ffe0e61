"""Kernels: what an ``Engine`` runs on batches of items, puzzles for the most part."""

from __future__ import annotations

from collections.abc import Hashable
from typing import Any, NamedTuple, Protocol

import jax
import numpy as np

from jaxsudoku.core.board import Board

#: Items of the smallest program.
SMALL = 32


class Limits(NamedTuple):
    """Sizes of automatic batches.

    Attributes:
      fewest: items for which a CPU's thread is worth a batch of its own.
      most: the most items in a batch on a device; None for as many as fit the memory.
    """

    fewest: int
    most: int | None = None


class Kernel(Hashable, Protocol):
    """A pure function of a batch of items, hashable and compared by value."""

    def resolve(self, board: Board, platform: str) -> Kernel:
        """The kernel with automatic settings chosen for a board and a platform."""

    def row(self, board: Board) -> jax.ShapeDtypeStruct:
        """The shape and dtype (unsigned) of an item. Batches are padded with items of the largest value."""

    def extra_bytes(self, board: Board) -> int:
        """Bytes of an item's results, beyond those of a puzzle's solution."""

    def limits(self, board: Board, platform: str) -> Limits:
        """The sizes of automatic batches. Called on the resolved kernel."""

    def small(self, board: Board, platform: str) -> Kernel | None:
        """The kernel for at most ``SMALL`` items, with settings that suit so few; None if these are the same."""

    @property
    def compiler_options(self) -> dict[str, str]:
        """Further options for the compiler."""

    def __call__(self, board: Board, items: jax.Array, key: jax.Array, number: jax.Array, /) -> Any:
        """A pytree of arrays with leading axis B, for items [B, ...].

        ``number`` uint32 differs between batches and devices. The engine's ``shared`` follows as further arguments.
        """


class KernelDefaults:
    """Base of kernels whose results are small, and whose batches have no other limit than memory."""

    def extra_bytes(self, board: Board) -> int:
        """No extra bytes."""
        return 0

    def limits(self, board: Board, platform: str) -> Limits:
        """Batches that are worth a thread, as large as fit."""
        return Limits(fewest_items(board))

    def small(self, board: Board, platform: str) -> Kernel | None:
        """No other kernel."""
        return None

    @property
    def compiler_options(self) -> dict[str, str]:
        """No further options."""
        return {}


class PuzzleItems(KernelDefaults):
    """Base of kernels whose items are puzzles. Padding is INVALID puzzles, which need no search.

    Attributes:
      listed: whether an item is a puzzle and its candidates, as ``with_candidates`` makes them.
    """

    listed: bool = False

    def row(self, board: Board) -> jax.ShapeDtypeStruct:
        """A puzzle, uint8[cells]; with candidates uint8[1 + side, cells]."""
        return jax.ShapeDtypeStruct((1 + board.side, board.cells) if self.listed else (board.cells,), np.uint8)

    def extra_bytes(self, board: Board) -> int:
        """The bytes of a puzzle's candidates."""
        return board.candidates if self.listed else 0

    def split(self, items: jax.Array) -> tuple[jax.Array, jax.Array | None]:
        """The puzzles uint8[B, cells] of items, and the digits that are no candidates, bool[B, side, cells] or None."""
        return (items[:, 0], items[:, 1:] == 0) if self.listed else (items, None)


def with_candidates(puzzles: np.ndarray, candidates: np.ndarray | None) -> np.ndarray:
    """Items uint8[N, 1 + side, cells] of puzzles uint8[N, cells] and candidates bool[N, side, cells]; None for all."""
    return puzzles if candidates is None else np.concatenate([puzzles[:, None], candidates], axis=1, dtype=np.uint8)


def fewest_items(board: Board) -> int:
    """Items for which a thread is worth a batch of its own: 1,024 of 9x9, fewer of wider boards, which take longer."""
    return min(1024, max(1, 1024 * 9**3 // board.candidates))
