"""Parsing of grids drawn over several lines, with or without frames and titles: digits, cells, or pencil marks."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator, Sequence
from typing import NamedTuple

import numpy as np

from .cells import Cells, Malformed, is_cell, separated, split_row
from .chunk import Chunk, LineError
from .decode import is_puzzle
from .drawn_rows import Row, grid_of_rows, is_row_of_digits, read_row
from .format import Beginning, Format
from .frames import framed_cells, is_barred, is_frame, plain, row_cells, without_frame
from .header import BoardCheck
from .positions import split_listed

#: A line of words, also as in "W-Wing: 4/1", "// Grid_01" and "1: easy".
_TITLE = re.compile(
    rb"\s*+(?:\d++[:.)]\s*+)?(?:[=/*~'\"<(#-]++\s*+)?(?:A )?(?:\d-)?"
    rb"(?:[A-Za-z]+-)*[A-Za-z\x80-\xff]{2,}(?:[\s:#\d_,.)'\">-]|$)"
)
#: A line with the size of a board, or another number.
_SIZE = re.compile(rb"\s*+(?:[A-Za-z]++\s*+[=:]\s*+)?(\d++)(?:(?:\s*+[x*,]\s*+|\s++)(\d++))?[\s:]*+")
#: A number as a title, also as in "No. 1", "(1)", "=== 1 ===" and "1/50".
_NUMBER = re.compile(
    rb"[\s*=#(\[<-]*+(?:[A-Za-z]{1,3}[\s\x80-\xff]*+\.?\s*+)?\d++(?:[/. ]\d++|st|nd|rd|th)?[.:]?[\s*=)\]>-]*+"
)
#: Maximum number of grids without separators, which are held back until their end shows where each begins.
_MOST_DENSE = 1 << 14


class _Blanks(NamedTuple):
    """Notations for blanks besides the usual characters.

    Attributes:
      dashes: a line of ``side`` dashes is a row of blanks rather than a frame.
      spaces: whether a line of spaces between bars is a row of blanks.
    """

    dashes: bool
    spaces: bool


class Drawn(Format):
    """A grid over several lines.

    Args:
      start: the beginning of the input.
      blanks: the notation of blanks.
    """

    name = "drawn grids"

    def __init__(self, start: Beginning, blanks: _Blanks) -> None:
        super().__init__(start)
        self._blanks = blanks

    @classmethod
    def sniff(cls, start: Beginning, side: int) -> Drawn | None:
        if any(is_puzzle(line, side) for line in start.lines):
            return None
        lines = [plain(line) for line in start.lines]
        blanks = _blanks_among(lines, side)
        return cls(start, blanks) if any(_is_row(line, side, blanks) for line in lines) else None

    def read(self, blocks: Iterator[bytes], check: BoardCheck, keep: Collection[str] = ()) -> Iterator[Chunk]:
        drawing = _Drawing(check, self.start.name, self._blanks)
        for first, block in check.cut_all(blocks):
            for line, text in enumerate(block.split(b"\n")[:-1], start=first):
                drawing.add(line, text)
            yield drawing.take()
        drawing.finish()
        yield drawing.take()


def _is_row(line: bytes, side: int, blanks: _Blanks) -> bool:
    """Whether a plain line is a row."""
    if _is_frame(line, side, blanks):
        return False
    return row_cells(line, side) is not None or split_listed(without_frame(line), side) is not None


def _is_frame(line: bytes, side: int, blanks: _Blanks) -> bool:
    """Whether a plain line is only a part of the frame."""
    if blanks.spaces and is_barred(line) and framed_cells(line, side) is not None:
        return False
    return is_frame(line, side, blanks.dashes)


def _blanks_among(lines: Sequence[bytes], side: int) -> _Blanks:
    """The notation of blanks in plain lines.

    Dashes are blanks if some row has them next to other cells, spaces if some row cannot be read otherwise.
    """
    rows = [line for line in lines if not is_frame(line, side)]
    dashed = (split_row(without_frame(line), side) for line in rows if b"-" in line)
    dashes = any(row is not None and b"-" in row and set(row) != {b"-"} for row in dashed)
    spaced = (line for line in rows if split_row(without_frame(line), side) is None)
    return _Blanks(dashes, any(framed_cells(line, side) is not None for line in spaced))


class _Drawing:
    """State of the parser: the grid being read, and finished grids that have not been taken.

    Blank lines may separate the bands of a grid, of equal numbers of rows. Grids in bands that follow each other
    without a longer gap or a title are finished together: if bands are left over, it is unknown where each grid begins.
    """

    def __init__(self, check: BoardCheck, name: str, blanks: _Blanks) -> None:
        self._digits, self._name, self._blanks = check.digits, name, blanks
        self._sizes = {str(size).encode() for size in (check.board.side, *(check.board.box or ()))}
        self._rows: list[Row] = []  # since the last blank line
        self._fault: LineError | None = None  # the first one of these rows
        self._bands: list[Row] = []  # rows of the same grid before them
        self._band_fault: LineError | None = None
        self._run: list[_Grid] = []  # finished grids in bands
        self._height = 0  # rows of a band; 0 while there are none
        self._blank, self._between = 0, 0  # blank lines before the next row, and between bands
        self._begun = False  # whether a row, rather than a title or a blank line, came last
        self._open_end = False  # whether the last row ended with a delimiter
        self._loose: LineError | None = None  # a number between grids, after which no row has come
        self._cell = -1  # the line of the last number between grids if it may be a cell, else -1
        self._number = -1  # the line of the last number that is no row; -1 once a row has come
        self._sized = False  # whether the line before gave the size of the board
        self._dense: list[_Dense] = []  # finished grids without anything between them
        self._seams: set[int] = set()  # the rows of this grid before which parts of the frame and comments stand
        self._crowded = False  # whether there are too many of them
        self._cut = 0  # rows of the block before, if they are not a grid
        self._orphans = 0  # rows before these that are not a whole grid
        self._held: list[_Grid] = []  # the grids after orphans, until it is known whether others complete them
        self._done: list[_Grid] = []

    def add(self, line: int, text: bytes) -> None:
        """Reads the next line; the grid ends at a title or at a blank line that does not separate bands."""
        text, side = plain(text), self._digits.side
        if not text.strip() and separated(text, side) is None:
            self._blank, self._begun = self._blank + 1, False
            self._end_rows()
            return
        if text.startswith(b"#") or _is_frame(text, side, self._blanks):
            self._end_bands()
            self._seams.add(len(self._rows))
            return
        try:
            row = read_row(line, text, (*self._bands, *self._rows), self._digits)
            if self._cell == line - 1 and text.strip(b" ")[:1] in (b",", b";", b"\t"):
                raise Malformed("its first cell is empty: it may be the number on the line before")
        except Malformed as cause:
            if self._separates(line, text, LineError(self._name, line, str(cause))):
                return
            # A malformed line counts as a row, so that the grids after this one keep their places.
            row = Row.malformed(line, text, side)
            self._fault = self._fault or LineError(self._name, line, str(cause))
        if self._height and self._blank:
            self._between = self._between or self._blank
            if self._blank > self._between:
                self._end_run()
        self._blank, self._begun, self._loose, self._number = 0, True, None, -1
        self._open_end = text.rstrip(b" \r").endswith((b",", b";", b"\t"))
        self._rows.append(row)
        if len(self._rows) == side:
            rows, fault, seams = self._rows, self._fault, frozenset(self._seams - {0})
            self._orphans = self._orphans or len(self._bands) or self._cut
            self._rows, self._fault, self._seams = [], None, set()
            self._end_run()
            self._dense.append(_Dense(rows, self._grid(rows, fault), seams))
            if len(self._dense) > _MOST_DENSE:
                self._crowded = True
                self._end_dense(crowded=True)

    def end(self) -> None:
        """Finishes the grid, and those before it in bands; it is malformed if it lacks rows."""
        self._end_rows()
        self._release()
        self._end_run()
        self._blank, self._begun, self._cut = 0, False, 0

    def _separates(self, line: int, text: bytes, fault: LineError) -> bool:
        """Whether a line that is not a row ends the grid: a title, a size or a number between grids."""
        side, size = self._digits.side, self._is_size(text)
        closed = self._end_bands()
        if _TITLE.match(text):
            self.end()
            if is_puzzle(text, side) or any(is_row_of_digits(word, side) for word in without_frame(text).split()):
                self._done.append(self._malformed(line, "cells after words, between drawn grids"))
            return True
        between = not self._begun or (not self._rows and (closed or bool(self._dense)) and not self._open_end)
        if not between or not (size or (_NUMBER.fullmatch(text) and self._number < 0)):
            return False
        self._loose, self._number = fault if self._begun else None, line
        self._cell = line if is_cell(text.strip()) else -1
        self.end()
        return True

    def _end_bands(self) -> bool:
        """Finishes a grid in bands whose last band is not followed by a blank line; returns whether there was one."""
        if not self._bands or self._digits.side != len(self._bands) + len(self._rows):
            return False
        self._end_rows()
        return True

    def finish(self) -> None:
        """Finishes the last grid; a number directly after a grid may be the rest of another grid."""
        loose = self._loose
        self.end()
        if loose is not None:
            self._done.append(self._malformed(loose.line, loose.cause))

    def _is_size(self, text: bytes) -> bool:
        """Whether a line before a grid gives the size of its board, or another number after that."""
        found = _SIZE.fullmatch(text)
        self._sized = found is not None and (set(filter(None, found.groups())) <= self._sizes or self._sized)
        return self._sized

    def _end_rows(self) -> None:
        """Finishes the rows since the last blank line, as a band of a grid or as a truncated grid."""
        rows, fault = self._rows, self._fault
        self._end_dense(rows)
        if not rows:
            return
        self._release(len(rows))
        self._cut = len(rows) if self._digits.side % len(rows) else 0
        self._rows, self._fault, self._seams = [], None, set()
        if len(rows) != self._height:
            self._end_run()
        if self._digits.side % len(rows):
            self._done.append(self._grid(rows, fault))
            return
        self._height = len(rows)
        self._bands += rows
        self._band_fault = self._band_fault or fault
        if len(self._bands) == self._digits.side:
            self._run.append(self._grid(self._bands, self._band_fault))
            self._bands, self._band_fault = [], None

    def _end_dense(self, left: Sequence[Row] = (), crowded: bool = False) -> None:
        """Finishes grids without separators, with ``left`` rows after them; more may follow if ``crowded``."""
        cause = _CROWDED if self._crowded else _doubt(self._dense, left, self._digits.side)
        found = [grid for _, grid, _ in self._dense]
        if cause is not None:
            found = [grid if grid.fault else self._malformed(grid.line, cause) for grid in found]
        self._dense, self._crowded = [], crowded
        if found and self._orphans and len(self._held) < _MOST_DENSE:
            self._held += found
        elif found:
            self._release()
            self._done += found

    def _release(self, rows: int = 0) -> None:
        """Releases held grids before ``rows`` rows, which may form a grid with the rows before the held ones."""
        if (self._orphans + rows) % self._digits.side == 0 and self._orphans:
            cause = f"{self._orphans} rows before it and {rows} after it are another grid: where each begins is unknown"
            self._held = [grid if grid.fault else self._malformed(grid.line, cause) for grid in self._held]
        self._done += self._held
        self._held, self._orphans = [], 0

    def _end_run(self) -> None:
        """Finishes grids in bands."""
        left, grids = self._bands, self._run
        if left:
            cause = f"{len(left)} rows are left after grids in bands of {self._height}: where each begins is unknown"
            grids = [grid if grid.fault else self._malformed(grid.line, cause) for grid in grids]
            grids.append(self._grid(left, self._band_fault))
        self._done += grids
        self._bands, self._band_fault, self._run = [], None, []
        self._height = self._between = 0

    def take(self) -> Chunk:
        """The finished grids."""
        none = np.zeros((0, self._digits.cells), np.uint8)
        grids = np.array([read.grid for read, _, _ in self._done], np.uint8) if self._done else none
        good = np.array([error is None for _, _, error in self._done], bool)
        lines = np.array([line for _, line, _ in self._done], np.int64)
        errors = tuple(error for _, _, error in self._done if error is not None)
        marks = {row: read.marks for row, (read, _, _) in enumerate(self._done) if read.marks is not None}
        mixed = np.array([read.mixed for read, _, _ in self._done], bool)
        self._done = []
        return Chunk(grids, good, lines, errors, marks=marks, mixed=mixed if mixed.any() else None)

    def _malformed(self, line: int, cause: str) -> _Grid:
        return _Grid(Cells(np.zeros(self._digits.cells, np.uint8)), line, LineError(self._name, line, cause))

    def _grid(self, rows: list[Row], fault: LineError | None) -> _Grid:
        """The grid of rows; with a fault some of them are malformed."""
        side, line = self._digits.side, rows[0].line
        if fault is not None:
            return self._malformed(line, fault.cause)._replace(fault=fault)
        if len(rows) < side:
            return self._malformed(line, f"the grid ends after {len(rows)} of {side} rows")
        try:
            return _Grid(grid_of_rows(rows, self._digits), line)
        except Malformed as cause:
            fault = LineError(self._name, line if cause.cell is None else rows[cause.cell // side].line, str(cause))
            return self._malformed(line, fault.cause)._replace(fault=fault)


class _Grid(NamedTuple):
    """A finished grid, its first line, and the cause if it is malformed."""

    read: Cells
    line: int
    fault: LineError | None = None


class _Dense(NamedTuple):
    """A finished grid without separators around it: its rows, and those preceded by a part of the frame."""

    rows: list[Row]
    grid: _Grid
    seams: frozenset[int]


_CROWDED = (
    f"more than {_MOST_DENSE:,} grids without anything between them, so one lost row would shift all: put blank "
    "lines between them"
)


def _doubt(dense: Sequence[_Dense], left: Sequence[Row], side: int) -> str | None:
    """The cause why it is unknown where grids without separators begin; None if it is known."""
    if not dense:
        return None
    every = [row for grid in dense for row in grid.rows] + list(left)
    if len(every) % side:
        return f"{len(left)} rows are left after grids that nothing separates: where each begins is unknown"
    if len(dense) > 1 and (other := next((row for row in every if not row.like), None)) is not None:
        return f"line {other.line} is not a row, amid grids that nothing separates: where each begins is unknown"
    if len({grid.seams for grid in dense}) > 1:
        return "the frame is before different rows of grids that nothing else separates: where each begins is unknown"
    rows = [row.cells for row in every]
    for period, offsets, least in ((2, (0, 1), side), (3, (0, 1, 2), side), (side + 1, (0, side), 2)):
        for offset in offsets:
            same = rows[offset::period]
            if len(same) >= least and all(row == same[0] for row in same):
                return f"every {period}th row is the same: is it a part of the frame, a label, or a row of cells?"
    return None
