"""Kernels: what an ``Engine`` runs on batches of items, puzzles for the most part."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from typing import Any, NamedTuple, Protocol

import jax
import numpy as np

from jaxsudoku.core.board import Board
from jaxsudoku.core.constraints.base import Constraint
from jaxsudoku.core.constraints.clues import ClueForm, Clues
from jaxsudoku.core.constraints.house_sums import with_house_sums
from jaxsudoku.engine.inputs import Marked

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

    def on_host(self, board: Board, items: np.ndarray, results: Any) -> Any:
        """The results for items after further work on the host, in numpy. Called in threads on the resolved kernel.

        Results that stay on devices do without.
        """

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

    def on_host(self, board: Board, items: np.ndarray, results: Any) -> Any:
        """No further work."""
        return results


class PuzzleItems(KernelDefaults):
    """Base of kernels whose items are puzzles. Padding is INVALID puzzles, which need no search.

    Attributes:
      listed: whether an item has the candidates of a puzzle.
      form: the form of the clues that an item has; None for none.
    """

    listed: bool = False
    form: ClueForm | None = None

    def row(self, board: Board) -> jax.ShapeDtypeStruct:
        """An item of ``as_items``."""
        if self.form is not None:
            width = self._rows(board) * board.cells + self.form.width
            return jax.ShapeDtypeStruct((width,), np.uint16)
        return jax.ShapeDtypeStruct((self._rows(board), board.cells) if self.listed else (board.cells,), np.uint8)

    def extra_bytes(self, board: Board) -> int:
        """The bytes of a puzzle's candidates and clues."""
        clues = 0 if self.form is None else 2 * self.form.width
        return clues + (board.candidates if self.listed else 0)

    def split(self, board: Board, items: Any) -> tuple[Any, Any, Clues | None]:
        """The parts of items, arrays of JAX or numpy.

        Returns:
          the puzzles uint8[B, cells]; the digits that are no candidates, bool[B, side, cells] or None; the clues.
        """
        if self.form is None:
            return (items[:, 0], items[:, 1:] == 0, None) if self.listed else (items, None, None)
        end = self._rows(board) * board.cells
        grids, clues = items[:, :end].astype(np.uint8), Clues(self.form, items[:, end:])
        excluded = grids[:, board.cells :].reshape(-1, board.side, board.cells) == 0 if self.listed else None
        return grids[:, : board.cells], excluded, clues

    def _rows(self, board: Board) -> int:
        return 1 + board.side if self.listed else 1


def as_items(puzzles: np.ndarray, candidates: np.ndarray | None = None, clues: Clues | None = None) -> np.ndarray:
    """Items of puzzles uint8[N, cells] with candidates bool[N, side, cells], clues, both or neither.

    Returns:
      uint8[N, cells], with candidates uint8[N, 1 + side, cells]; with clues uint16[N, width], flat, clues last.
    """
    items = puzzles
    if candidates is not None:
        items = np.concatenate([puzzles[:, None], candidates], axis=1, dtype=np.uint8)
    if clues is None:
        return items
    return np.concatenate([items.reshape(len(items), -1), clues.rows], axis=1, dtype=np.uint16)


def as_clues(clues: Clues | Sequence[Sequence[Constraint]] | None, puzzles: Marked) -> Clues | None:
    """Clues of puzzles, or the constraints that they have, with what follows from them and the houses; None for none.

    Raises:
      ValueError: clues of another board or of another number of puzzles, a constraint that does not fit the board, or
        clues of puzzles that have constraints of their own.
    """
    if puzzles.constraints is not None:
        if clues is not None:
            raise ValueError("the puzzles have constraints of their own; leave out clues")
        clues = puzzles.constraints
    if clues is None:
        return None
    board, size = puzzles.board, puzzles.good.size
    if not isinstance(clues, Clues):
        clues = Clues.of(clues, board)
    if len(clues) != size:
        raise ValueError(f"clues of {len(clues)} puzzles for {size} puzzles")
    clues.check(board, size)
    return with_house_sums(clues, board)


def fewest_items(board: Board) -> int:
    """Items for which a thread is worth a batch of its own: 1,024 of 9x9, fewer of wider boards, which take longer."""
    return min(1024, max(1, 1024 * 9**3 // board.candidates))
