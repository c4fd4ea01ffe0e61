"""Grids drawn over several lines, with or without frames and titles, as digits, separated cells, or pencil marks."""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Iterator, Sequence
from typing import NamedTuple

import numpy as np

from .cells import SHIFTED, Cells, Malformed, Marks, check_cells, grid_of, is_shifted, separated, split_row
from .chunk import Chunk, LineError
from .decode import is_puzzle
from .format import Beginning, Format
from .frames import framed_cells, is_barred, is_frame, plain, row_cells, without_frame
from .header import BoardCheck
from .positions import all_candidates, check_listed, split_listed

#: A line of words, also as in "W-Wing: 4/1", "// Grid_01" and "1: easy".
_TITLE = re.compile(
    rb"\s*+(?:\d++[:.)]\s*+)?(?:[=/*~'\"<(#-]++\s*+)?(\d-)?([A-Za-z]+-)*[A-Za-z\x80-\xff]{2,}([\s:#\d_,.)'\">-]|$)"
)
#: A line with the size of a board, or another number.
_SIZE = re.compile(rb"\s*+(?:[A-Za-z]++\s*+[=:]\s*+)?(\d++)(?:\s*+[x*,\s]\s*+(\d++))?[\s:]*+")


#: A number before a part of the frame and an empty field.
_LABEL = re.compile(rb"\s*+\d{1,2}\s*+[:|\[({\])}]\s*+[,;]|\s*+\d{1,2} *+[:|\[({\])}] *+\t")
#: Grids that are held back until something separates them from the next.
_MOST_DENSE = 1 << 12


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
    """The grid being read, and the finished ones that have not been taken.

    Blank lines may separate the bands of a grid, of as many rows each. Grids in bands that follow each other without a
    longer gap or a title are finished together: if bands are left, it is unknown where each grid begins.
    """

    def __init__(self, check: BoardCheck, name: str, blanks: _Blanks) -> None:
        self._digits, self._name, self._blanks = check.digits, name, blanks
        self._sizes = {str(size).encode() for size in (check.board.side, *(check.board.box or ()))}
        self._rows: list[_Row] = []  # since the last blank line
        self._fault: LineError | None = None  # the first one of these rows
        self._bands: list[_Row] = []  # rows of the same grid before them
        self._band_fault: LineError | None = None
        self._run: list[_Grid] = []  # finished grids in bands
        self._height = 0  # rows of a band; 0 while there are none
        self._blank, self._between = 0, 0  # blank lines before the next row, and between bands
        self._begun = False  # whether a row, rather than a title or a blank line, came last
        self._loose: LineError | None = None  # a number between grids, after which no row has come
        self._sized = False  # whether the line before gave the size of the board
        self._dense: list[tuple[list[_Row], _Grid]] = []  # finished grids without anything between them
        self._done: list[_Grid] = []

    def add(self, line: int, text: bytes) -> None:
        """Reads the next line; a title ends the grid, and so does a blank line that separates no bands."""
        text, side = plain(text), self._digits.side
        if not text.strip() and separated(text, side) is None:
            self._blank, self._begun = self._blank + 1, False
            self._end_rows()
            return
        if text.startswith(b"#") or _is_frame(text, side, self._blanks):
            return
        try:
            row = self._row(line, text)
        except Malformed as cause:
            number = self._is_size(text) or len(b"".join(without_frame(text).split()).strip(b"-")) <= side // 2 + 1
            between = not self._begun or (self._dense and not self._rows)
            if _TITLE.match(text) or (number and between):
                self._loose = LineError(self._name, line, str(cause)) if number and self._begun else None
                self.end()
                return
            # A malformed line counts as a row, so that the grids after this one keep their places.
            row = _Row(line, [b"."] * side)
            self._fault = self._fault or LineError(self._name, line, str(cause))
        if self._height and self._blank:
            self._between = self._between or self._blank
            if self._blank > self._between:
                self._end_run()
        self._blank, self._begun, self._loose = 0, True, None
        self._rows.append(row)
        if len(self._rows) == side:
            rows, fault = self._rows, self._fault
            self._rows, self._fault = [], None
            self._end_run()
            self._dense.append((rows, self._grid(rows, fault)))
            if len(self._dense) > _MOST_DENSE:
                self._end_dense()

    def end(self) -> None:
        """Finishes the grid, and those before it in bands; it is malformed if it lacks rows."""
        self._end_rows()
        self._end_run()
        self._blank, self._begun = 0, False

    def finish(self) -> None:
        """Finishes the last grid; a number right after a grid may be what is left of the next one."""
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
        self._rows, self._fault = [], None
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

    def _end_dense(self, left: Sequence[_Row] = ()) -> None:
        """Finishes grids without anything between them, and so many rows after them."""
        rows = [row.cells for grid, _ in self._dense for row in grid] + [row.cells for row in left]
        cause = _doubt(rows, self._digits.side) if self._dense else None
        for _, grid in self._dense:
            self._done.append(grid if cause is None or grid.fault else self._malformed(grid.line, cause))
        self._dense = []

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

    def _grid(self, rows: list[_Row], fault: LineError | None) -> _Grid:
        """The grid of rows, of which some are malformed if there is a fault."""
        side, line = self._digits.side, rows[0].line
        if fault is not None:
            return self._malformed(line, fault.cause)._replace(fault=fault)
        if len(rows) < side:
            return self._malformed(line, f"the grid ends after {len(rows)} of {side} rows")
        try:
            if all(row.shifted for row in rows):
                raise Malformed(SHIFTED)
            if any(row.listed for row in rows):
                return _Grid(self._listed(rows), line)
            return _Grid(grid_of([cell for row in rows for cell in row.cells], self._digits, _place(side)), line)
        except Malformed as cause:
            fault = LineError(self._name, line if cause.cell is None else rows[cause.cell // side].line, str(cause))
            return self._malformed(line, fault.cause)._replace(fault=fault)

    def _listed(self, rows: list[_Row]) -> Cells:
        """The grid of rows, some of which list candidates: all others are filled."""
        side = self._digits.side
        parts = []
        for number, row in enumerate(rows, 1):
            first = (number - 1) * side
            if row.listed:
                parts.append(check_listed(row.cells, side))
                continue
            values = grid_of(row.cells, self._digits).grid
            if not values.all():
                cell = int(np.argmin(values))
                place = f"row {number}, column {cell + 1}"
                raise Malformed(f"{place} lists no candidates, but other cells do", first + cell)
            parts.append((values, all_candidates(values, side)))
        grid, candidates = (np.concatenate(part, axis=-1) for part in zip(*parts, strict=True))
        return Cells(grid, marks=Marks(candidates))

    def _row(self, line: int, text: bytes) -> _Row:
        side = self._digits.side
        row, number = without_frame(text), len(self._bands) + len(self._rows) + 1
        cells = row_cells(text, side)
        single = cells is not None and max(map(len, cells)) == 1
        listed = None if single else split_listed(row, side)
        try:
            if listed is not None:
                check_listed(listed, side)
                return _Row(line, listed, True)
            if cells is not None:
                if _LABEL.match(text):
                    raise Malformed("what stands before the frame is a label or a cell")
                check_cells(cells, self._digits)
                return _Row(line, cells, shifted=is_shifted(row, side))
        except Malformed as cause:
            raise Malformed(f"row {number} of the grid: {cause}") from None
        words = row.split()
        if len(words) != side and any(row.listed for row in (*self._bands, *self._rows)):
            raise Malformed(f"row {number} of the grid has {len(words)} cells, not {side}")
        parts = separated(row) or _parts(row, side)
        foreign = next((place for place, part in enumerate(parts, 1) if split_row(part, 1) is None), None)
        if foreign is not None:
            shown = parts[foreign - 1].decode(errors="backslashreplace")
            raise Malformed(f"row {number} of the grid: {shown!r}, number {foreign} of the line, is not a cell")
        raise Malformed(f"row {number} of the grid has {len(parts)} cells, not {side}")


class _Row(NamedTuple):
    """A row.

    Attributes:
      line: its number, from 1.
      cells: a text for each cell.
      listed: whether they list candidates.
      shifted: whether they may be shifted by one, as in ``is_shifted``.
    """

    line: int
    cells: list[bytes]
    listed: bool = False
    shifted: bool = False


class _Grid(NamedTuple):
    """A finished grid, its first line, and why it is malformed."""

    read: Cells
    line: int
    fault: LineError | None = None


def _doubt(rows: Sequence[list[bytes]], side: int) -> str | None:
    """Why it is unknown where grids that are rows without anything between them begin, None if it is known."""
    if left := len(rows) % side:
        return f"{left} rows are left after grids that nothing separates: where each begins is unknown"
    for period, offsets, least in ((2, (0, 1), side), (3, (0, 1, 2), side), (side + 1, (0, side), 2)):
        for offset in offsets:
            same = rows[offset::period]
            if len(same) >= least and all(row == same[0] for row in same):
                return f"every {period}th row is the same: is it a part of the frame, a label, or a row of cells?"
    return None


def _place(side: int) -> Callable[[int], str]:
    return lambda cell: f"row {cell // side + 1}, column {cell % side + 1}"


def _parts(row: bytes, side: int) -> list[bytes]:
    """What stands for cells in a malformed row: its words if they may be numbers, else its characters."""
    words = row.split()
    if side > 9 and len(words) > 1 and max(map(len, words)) == 2:
        return words
    joined = b"".join(words)
    return [joined[cell : cell + 1] for cell in range(len(joined))]
