"""Grids drawn over several lines, with or without frames and titles, as digits, separated cells, or pencil marks."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator, Sequence
from typing import NamedTuple

import numpy as np

from .cells import Malformed, check_values, decode_text, separated, split_row
from .chunk import Chunk, LineError
from .format import Beginning, Format
from .frames import framed_cells, is_barred, is_frame, plain, row_cells, without_frame
from .header import BoardCheck
from .positions import all_candidates, check_listed, split_listed

#: A line of words, also as in "W-Wing: 4/1".
_TITLE = re.compile(rb"\s*(\d-)?([A-Za-z]+-)*[A-Za-z]{2,}([\s:#\d]|$)")


class _Blanks(NamedTuple):
    """What stands for blanks besides the usual characters.

    Attributes:
      dashes: a line of ``side`` dashes is a row of blanks rather than a frame.
      spaces: so is a line of spaces between bars.
    """

    dashes: bool
    spaces: bool


class Drawn(Format):
    """A grid over several lines.

    Args:
      start: the beginning of the input.
      blanks: what stands for blanks.
    """

    name = "drawn grids"

    def __init__(self, start: Beginning, blanks: _Blanks) -> None:
        super().__init__(start)
        self._blanks = blanks

    @classmethod
    def sniff(cls, start: Beginning, side: int) -> Drawn | None:
        if any(_is_puzzle(line, side) for line in start.lines):
            return None
        lines = [plain(line) for line in start.lines]
        blanks = _blanks_among(lines, side)
        return cls(start, blanks) if any(_is_row(line, side, blanks) for line in lines) else None

    def read(self, blocks: Iterator[bytes], check: BoardCheck, keep: Collection[str] = ()) -> Iterator[Chunk]:
        drawing = _Drawing(check.board.side, self.start.name, self._blanks)
        for first, block in check.cut_all(blocks):
            for line, text in enumerate(block.split(b"\n")[:-1], start=first):
                drawing.add(line, text)
            yield drawing.take()
        drawing.end()
        yield drawing.take()


def _is_puzzle(line: bytes, side: int) -> bool:
    try:
        decode_text(line, side)
    except Malformed:
        return False
    return True


def _is_row(line: bytes, side: int, blanks: _Blanks) -> bool:
    """Whether a plain line is a row."""
    if _is_frame(line, side, blanks):
        return False
    return row_cells(line, side) is not None or split_listed(without_frame(line), side) is not None


def _is_frame(line: bytes, side: int, blanks: _Blanks) -> bool:
    """Whether a plain line is part of the frame alone."""
    if blanks.spaces and is_barred(line) and framed_cells(line, side) is not None:
        return False
    return is_frame(line, side, blanks.dashes)


def _blanks_among(lines: Sequence[bytes], side: int) -> _Blanks:
    """What stands for blanks in plain lines.

    Dashes do if some row has them next to other cells, and spaces if some row cannot be read otherwise.
    """
    rows = [line for line in lines if not is_frame(line, side)]
    dashed = (split_row(without_frame(line), side) for line in rows if b"-" in line)
    dashes = any(row is not None and b"-" in row and set(row) != {b"-"} for row in dashed)
    spaced = (line for line in rows if split_row(without_frame(line), side) is None)
    return _Blanks(dashes, any(framed_cells(line, side) is not None for line in spaced))


class _Drawing:
    """The grid being read, and the finished ones that have not been taken."""

    def __init__(self, side: int, name: str, blanks: _Blanks) -> None:
        self._side, self._name, self._blanks = side, name, blanks
        self._rows: list[_Row] = []
        self._start = 0
        self._fault: LineError | None = None
        self._done: list[tuple[_Row, int, LineError | None]] = []

    def add(self, line: int, text: bytes) -> None:
        """Reads the next line; a blank line or a title ends the grid."""
        text = plain(text)
        if not text.strip() and separated(text, self._side) is None:
            self.end()
            return
        if text.startswith(b"#") or _is_frame(text, self._side, self._blanks):
            return
        try:
            row = self._row(line, text)
        except Malformed as cause:
            if _TITLE.match(text):
                self.end()
                return
            # A malformed line counts as a row, so that the grids after this one keep their places.
            row = _Row(line, np.zeros(self._side, np.uint8))
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
        self._fault = self._fault or self._unlisted()
        whole = _Row(self._start, np.zeros(self._side**2, np.uint8)) if self._fault else _stacked(self._rows)
        self._done.append((whole, self._start, self._fault))
        self._rows, self._fault = [], None

    def take(self) -> Chunk:
        """The finished grids."""
        grids = np.array([grid.values for grid, _, _ in self._done], np.uint8).reshape(-1, self._side**2)
        good = np.array([error is None for _, _, error in self._done], bool)
        lines = np.array([line for _, line, _ in self._done], np.int64)
        errors = tuple(error for _, _, error in self._done if error is not None)
        candidates = None
        if any(grid.candidates is not None for grid, _, _ in self._done):
            candidates = np.stack([_candidates(grid, self._side) for grid, _, _ in self._done])
        self._done = []
        return Chunk(grids, good, lines, errors, candidates=candidates)

    def _unlisted(self) -> LineError | None:
        """The error of a grid in which some cells list candidates and others are blank."""
        if all(row.candidates is None for row in self._rows):
            return None
        for number, row in enumerate(self._rows, 1):
            if row.candidates is None and not row.values.all():
                cell = f"row {number}, column {int(np.argmin(row.values)) + 1}"
                return LineError(self._name, row.line, f"{cell} lists no candidates, but other cells do")
        return None

    def _row(self, line: int, text: bytes) -> _Row:
        row, number = without_frame(text), len(self._rows) + 1
        cells = row_cells(text, self._side)
        single = cells is not None and max(map(len, cells)) == 1
        listed = None if single else split_listed(row, self._side)
        try:
            if listed is not None:
                return _Row(line, *check_listed(listed, self._side))
            if cells is not None:
                return _Row(line, check_values(cells, self._side))
        except Malformed as cause:
            raise Malformed(f"row {number} of the grid: {cause}") from None
        words = row.split()
        if len(words) != self._side and any(row.candidates is not None for row in self._rows):
            raise Malformed(f"row {number} of the grid has {len(words)} cells, not {self._side}")
        parts = separated(row) or _parts(row, self._side)
        foreign = next((place for place, part in enumerate(parts, 1) if split_row(part, 1) is None), None)
        if foreign is not None:
            shown = parts[foreign - 1].decode(errors="backslashreplace")
            raise Malformed(f"row {number} of the grid: {shown!r}, number {foreign} of the line, is not a cell")
        raise Malformed(f"row {number} of the grid has {len(parts)} cells, not {self._side}")


class _Row(NamedTuple):
    """A row, or a whole grid, and its line.

    Attributes:
      line: its number, from 1.
      values: uint8[m], digits, 0 = open.
      candidates: bool[side, m]; None if none are listed.
    """

    line: int
    values: np.ndarray
    candidates: np.ndarray | None = None


def _candidates(row: _Row, side: int) -> np.ndarray:
    return all_candidates(row.values, side) if row.candidates is None else row.candidates


def _stacked(rows: Sequence[_Row]) -> _Row:
    """The grid of rows."""
    values = np.concatenate([row.values for row in rows])
    if all(row.candidates is None for row in rows):
        return _Row(rows[0].line, values)
    return _Row(rows[0].line, values, np.concatenate([_candidates(row, len(rows)) for row in rows], axis=1))


def _parts(row: bytes, side: int) -> list[bytes]:
    """What stands for cells in a malformed row: its words if they may be numbers, else its characters."""
    words = row.split()
    if side > 9 and len(words) > 1 and max(map(len, words)) == 2:
        return words
    joined = b"".join(words)
    return [joined[cell : cell + 1] for cell in range(len(joined))]
