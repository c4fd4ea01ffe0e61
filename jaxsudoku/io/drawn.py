"""Grids drawn over several lines, with or without frames and titles, or as rows of separated cells."""

from __future__ import annotations

import re
from collections.abc import Iterator

import numpy as np

from .cells import Malformed, check_values, separated, split_row
from .chunk import Chunk, LineError
from .header import BoardCheck

_FRAME = bytes.maketrans(b"|!=+:'", b"      ")
_FRAME_ONLY = re.compile(rb"[\s|!=+:'.*_-]*")
_TITLE = re.compile(rb"\s*[A-Za-z]{2,}([\s:#\d]|$)")


def bare_row(line: bytes, side: int, dashes: bool = False) -> list[bytes] | None:
    """The cells of a drawn row, or None where the line is no row.

    Args:
      line: a line of the drawing.
      side: number of cells in a row.
      dashes: whether a line of so many dashes is a row of blanks rather than a frame.
    """
    return None if _is_frame(line, side, dashes) else split_row(line.translate(_FRAME), side)


def frameless(line: bytes) -> bytes:
    """The line without its frame; empty where it is nothing else."""
    return b"" if _is_frame(line, 0, False) else line.translate(_FRAME)


def dashes_are_blanks(lines: list[bytes], side: int) -> bool:
    """Whether some row writes its blanks as dashes, next to other cells: then a line of dashes is a row, no frame."""
    rows = (bare_row(line, side) for line in lines if b"-" in line)
    return any(row is not None and b"-" in row and set(row) != {b"-"} for row in rows)


def read_drawn(
    blocks: Iterator[bytes], side: int, name: str, check: BoardCheck, dashes: bool = False
) -> Iterator[Chunk]:
    """A chunk of the grids that end in each block of lines; ``dashes`` as for ``bare_row``.

    Raises:
      PuzzleFileError: a comment names another board.
    """
    drawing = _Drawing(side, name, dashes)
    line = 0
    for block in blocks:
        whole, fault = check.cut(block, line + 1)
        for text in whole.split(b"\n")[:-1]:
            line += 1
            drawing.add(line, text)
        if fault is not None:
            drawing.end()
        yield drawing.take()
        if fault is not None:
            raise fault
    drawing.end()
    yield drawing.take()


def _is_frame(line: bytes, side: int, dashes: bool) -> bool:
    if not _FRAME_ONLY.fullmatch(line) or separated(line, side) is not None:  # tabs alone may be a row of blanks
        return False
    if dashes and not set(line) & set(b"+=") and split_row(line.translate(_FRAME), side):
        return False
    return b"--" in line or b"==" in line or not set(line) & set(b".*_-")


class _Drawing:
    """The grid being read, and the finished ones that were not taken yet."""

    def __init__(self, side: int, name: str, dashes: bool) -> None:
        self.side, self.name, self.dashes = side, name, dashes
        self.rows: list[np.ndarray] = []
        self.start = 0
        self.fault: LineError | None = None
        self.done: list[tuple[np.ndarray, int, LineError | None]] = []

    def add(self, line: int, text: bytes) -> None:
        if not text.strip() and separated(text, self.side) is None:
            self.end()
            return
        if text.startswith(b"#") or _is_frame(text, self.side, self.dashes):
            return
        try:
            row = self._values(text)
        except Malformed as cause:
            if _TITLE.match(text):
                self.end()
                return
            # The line stands for a row, so that the grids after this one keep their places.
            row = np.zeros(self.side, np.uint8)
            self.fault = self.fault or LineError(self.name, line, str(cause))
        self.start = self.start if self.rows else line
        self.rows.append(row)
        if len(self.rows) == self.side:
            self.end()

    def end(self) -> None:
        if not self.rows:
            return
        if len(self.rows) < self.side and self.fault is None:
            cause = f"the grid ends after {len(self.rows)} of {self.side} rows"
            self.fault = LineError(self.name, self.start, cause)
        whole = np.zeros(self.side**2, np.uint8) if self.fault else np.concatenate(self.rows)
        self.done.append((whole, self.start, self.fault))
        self.rows, self.fault = [], None

    def take(self) -> Chunk:
        grids = np.array([grid for grid, _, _ in self.done], np.uint8).reshape(-1, self.side**2)
        good = np.array([error is None for _, _, error in self.done], bool)
        lines = np.array([line for _, line, _ in self.done], np.int64)
        errors = tuple(error for _, _, error in self.done if error is not None)
        self.done = []
        return Chunk(grids, good, lines, errors)

    def _values(self, text: bytes) -> np.ndarray:
        cells = split_row(text.translate(_FRAME), self.side)
        number = len(self.rows) + 1
        if cells is not None:
            try:
                return check_values(cells, self.side)
            except Malformed as cause:
                raise Malformed(f"row {number} of the grid: {cause}") from None
        parts = separated(text.translate(_FRAME))
        if parts is None:
            joined = b"".join(text.translate(_FRAME).split())
            parts = [joined[cell : cell + 1] for cell in range(len(joined))]
        foreign = next((part for part in parts if split_row(part, 1) is None), None)
        if foreign is not None:
            shown = foreign.decode(errors="backslashreplace")
            raise Malformed(f"row {number} of the grid: {shown!r} is no cell")
        raise Malformed(f"row {number} of the grid has {len(parts)} cells, not {self.side}")
