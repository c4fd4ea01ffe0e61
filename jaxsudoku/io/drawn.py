"""Grids drawn over several lines, with or without frames and titles, or as rows of separated cells."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator

import numpy as np

from .cells import Malformed, check_values, decode_text, separated, split_row
from .chunk import Chunk, LineError
from .format import Beginning, Format
from .header import BoardCheck

_FRAME = bytes.maketrans(b"|!=+:'", b"      ")
_FRAME_ONLY = re.compile(rb"[\s|!=+:'.*_-]*")
_TITLE = re.compile(rb"\s*[A-Za-z]{2,}([\s:#\d]|$)")


class Drawn(Format):
    """A grid over several lines.

    Args:
      start: the beginning of the input.
      dashes: whether a line of ``side`` dashes is a row of blanks rather than a frame.
    """

    name = "drawn grids"

    def __init__(self, start: Beginning, dashes: bool) -> None:
        super().__init__(start)
        self._dashes = dashes

    @classmethod
    def sniff(cls, start: Beginning, side: int) -> Drawn | None:
        if any(_is_puzzle(line, side) for line in start.lines):
            return None
        dashes = _dashes_are_blanks(start.lines, side)
        return cls(start, dashes) if any(_row(line, side, dashes) for line in start.lines) else None

    def read(self, blocks: Iterator[bytes], check: BoardCheck, keep: Collection[str] = ()) -> Iterator[Chunk]:
        drawing = _Drawing(check.board.side, self.start.name, self._dashes)
        for first, block in check.cut_all(blocks):
            for line, text in enumerate(block.split(b"\n")[:-1], start=first):
                drawing.add(line, text)
            yield drawing.take()
        drawing.end()
        yield drawing.take()


def without_frame(line: bytes) -> bytes:
    """The line without its frame; empty if it has nothing else."""
    return b"" if _is_frame(line, 0, False) else line.translate(_FRAME)


def _is_puzzle(line: bytes, side: int) -> bool:
    try:
        decode_text(line, side)
    except Malformed:
        return False
    return True


def _row(line: bytes, side: int, dashes: bool = False) -> list[bytes] | None:
    """The cells of a drawn row, None if the line is not a row."""
    return None if _is_frame(line, side, dashes) else split_row(line.translate(_FRAME), side)


def _dashes_are_blanks(lines: list[bytes], side: int) -> bool:
    """Whether some row has dashes for blanks next to other cells: then a line of dashes is a row, not a frame."""
    rows = (_row(line, side) for line in lines if b"-" in line)
    return any(row is not None and b"-" in row and set(row) != {b"-"} for row in rows)


def _is_frame(line: bytes, side: int, dashes: bool) -> bool:
    if not _FRAME_ONLY.fullmatch(line) or separated(line, side) is not None:  # tabs alone may be a row of blanks
        return False
    if dashes and not set(line) & set(b"+=") and split_row(line.translate(_FRAME), side):
        return False
    return b"--" in line or b"==" in line or not set(line) & set(b".*_-")


class _Drawing:
    """The grid being read, and the finished ones that have not been taken."""

    def __init__(self, side: int, name: str, dashes: bool) -> None:
        self._side, self._name, self._dashes = side, name, dashes
        self._rows: list[np.ndarray] = []
        self._start = 0
        self._fault: LineError | None = None
        self._done: list[tuple[np.ndarray, int, LineError | None]] = []

    def add(self, line: int, text: bytes) -> None:
        """Reads the next line; a blank line or a title ends the grid."""
        if not text.strip() and separated(text, self._side) is None:
            self.end()
            return
        if text.startswith(b"#") or _is_frame(text, self._side, self._dashes):
            return
        try:
            row = self._values(text)
        except Malformed as cause:
            if _TITLE.match(text):
                self.end()
                return
            # A malformed line counts as a row, so that the grids after this one keep their places.
            row = np.zeros(self._side, np.uint8)
            self._fault = self._fault or LineError(self._name, line, str(cause))
        self._start = self._start if self._rows else line
        self._rows.append(row)
        if len(self._rows) == self._side:
            self.end()

    def end(self) -> None:
        """Finishes the grid; it is malformed if it lacks rows."""
        if not self._rows:
            return
        if len(self._rows) < self._side and self._fault is None:
            cause = f"the grid ends after {len(self._rows)} of {self._side} rows"
            self._fault = LineError(self._name, self._start, cause)
        whole = np.zeros(self._side**2, np.uint8) if self._fault else np.concatenate(self._rows)
        self._done.append((whole, self._start, self._fault))
        self._rows, self._fault = [], None

    def take(self) -> Chunk:
        """The finished grids."""
        grids = np.array([grid for grid, _, _ in self._done], np.uint8).reshape(-1, self._side**2)
        good = np.array([error is None for _, _, error in self._done], bool)
        lines = np.array([line for _, line, _ in self._done], np.int64)
        errors = tuple(error for _, _, error in self._done if error is not None)
        self._done = []
        return Chunk(grids, good, lines, errors)

    def _values(self, text: bytes) -> np.ndarray:
        row, number = text.translate(_FRAME), len(self._rows) + 1
        cells = split_row(row, self._side)
        if cells is not None:
            try:
                return check_values(cells, self._side)
            except Malformed as cause:
                raise Malformed(f"row {number} of the grid: {cause}") from None
        parts = separated(row) or _parts(row, self._side)
        foreign = next((place for place, part in enumerate(parts, 1) if split_row(part, 1) is None), None)
        if foreign is not None:
            shown = parts[foreign - 1].decode(errors="backslashreplace")
            raise Malformed(f"row {number} of the grid: {shown!r}, number {foreign} of the line, is not a cell")
        raise Malformed(f"row {number} of the grid has {len(parts)} cells, not {self._side}")


def _parts(row: bytes, side: int) -> list[bytes]:
    """What stands for cells in a malformed row: its words if they may be numbers, else its characters."""
    words = row.split()
    if side > 9 and len(words) > 1 and max(map(len, words)) == 2:
        return words
    joined = b"".join(words)
    return [joined[cell : cell + 1] for cell in range(len(joined))]
