"""Formatting of grids as text: lines, and columns of a table."""

from __future__ import annotations

import functools
import itertools
from collections.abc import Iterator, Sequence
from typing import overload

import numpy as np

from jaxsudoku.core.board import Board

#: The text for a missing grid: no solution, or no puzzle.
NO_GRID = b"-"


def format_grids(grids: np.ndarray, board: Board) -> bytes:
    """Grids as text, a line each: a character per cell (``.`` for a blank) up to a side of 9, else spaced integers.

    Args:
      grids: uint8[n, cells], values 0 (blank) to side.
      board: their board.

    Raises:
      ValueError: the shape is another, or a value lies outside 0..side.
    """
    return format_lines(grids, board.side)


def format_lines(grids: np.ndarray, side: int, absent: np.ndarray | None = None) -> bytes:
    """``format_grids`` with ``-`` for grids where ``absent`` bool[n] is set."""
    text, kept = _lines(grids, side, absent)
    return text.tobytes() if kept is None else text[kept].tobytes()


def _lines(grids: np.ndarray, side: int, absent: np.ndarray | None) -> tuple[np.ndarray, np.ndarray | None]:
    """Lines and kept characters, as from ``_characters``, with ``-`` where ``absent`` is set."""
    grids = np.asarray(grids)
    if grids.ndim != 2 or grids.shape[1] != side * side:
        raise ValueError(f"grids must have shape (n, {side * side}), not {grids.shape}")
    if grids.size and not 0 <= grids.min() <= grids.max() <= side:
        raise ValueError(f"a grid holds a value outside 0..{side}")
    text, kept = _characters(grids.astype(np.uint8, copy=False), side)
    if absent is not None and absent.any():
        kept = np.ones(text.shape, bool) if kept is None else kept
        text[absent, :2] = np.frombuffer(NO_GRID + b"\n", np.uint8)
        kept[absent] = np.arange(text.shape[1]) < 2
    return text, kept


def _characters(grids: np.ndarray, side: int) -> tuple[np.ndarray, np.ndarray | None]:
    """Lines as uint8[n, width], and bool[n, width] of the characters to keep, None for all."""
    if side <= 9:
        text = np.empty((len(grids), side * side + 1), np.uint8)
        np.add(grids, np.uint8(ord("0")), out=text[:, :-1])
        if not grids.all():
            text[:, :-1] -= (grids == 0) * np.uint8(ord("0") - ord("."))
        text[:, -1] = ord("\n")
        return text, None
    # Three characters per cell: the tens (dropped below 10), the units, and a separator.
    parts = np.stack([grids // 10 + ord("0"), grids % 10 + ord("0"), np.full_like(grids, ord(" "))], axis=-1)
    kept = np.ones(parts.shape, bool)
    kept[..., 0] = grids >= 10
    parts[:, -1, -1] = ord("\n")
    shape = (len(grids), 3 * side * side)
    return parts.reshape(shape), kept.reshape(shape)


class GridColumn(Sequence[str]):
    """A column of grids as texts in one buffer; made by ``grid_column``.

    Attributes:
      data: the concatenated texts, ASCII.
      bounds: int64[n + 1], the beginning of each text, and the end of the last.
    """

    def __init__(self, data: bytes, bounds: np.ndarray) -> None:
        self.data, self.bounds = data, bounds

    @functools.cached_property
    def texts(self) -> list[str]:
        """The texts as a list."""
        text, bounds = self.data.decode(), self.bounds.tolist()
        return [text[start:end] for start, end in itertools.pairwise(bounds)]

    def __len__(self) -> int:
        return len(self.bounds) - 1

    def __iter__(self) -> Iterator[str]:
        return iter(self.texts)

    @overload
    def __getitem__(self, index: int) -> str: ...
    @overload
    def __getitem__(self, index: slice) -> list[str]: ...
    def __getitem__(self, index: int | slice) -> str | list[str]:
        return self.texts[index]


def grid_column(grids: np.ndarray, board: Board, absent: np.ndarray | None = None) -> GridColumn:
    """Grids uint8[n, cells] as texts in the form of ``format_grids``; ``-`` where ``absent`` bool[n] is set."""
    text, kept = _lines(grids, board.side, absent)
    count, width = text.shape
    if kept is None:
        return GridColumn(text[:, :-1].tobytes(), np.arange(count + 1) * (width - 1))
    kept &= text != ord("\n")
    bounds = np.concatenate([[0], np.cumsum(kept.sum(axis=1))])
    return GridColumn(text[kept].tobytes(), bounds)
