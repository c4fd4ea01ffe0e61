"""Rows of drawn grids, and grids made of rows."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from typing import NamedTuple

import numpy as np

from jaxsudoku.core.host_rules import all_candidates

from .cells import SHIFTED, Cells, Digits, Malformed, Marks, check_cells, grid_of, is_shifted, separated, split_row
from .frames import row_cells, row_widths, without_frame
from .positions import check_listed, split_listed

#: A number before a part of the frame and an empty field.
_LABEL = re.compile(rb"\s*+\d{1,2}\s*+[:|\[({\])}]\s*+[,;]|\s*+\d{1,2} *+[:|\[({\])}] *+\t")


class Row(NamedTuple):
    """A row of a drawn grid.

    Attributes:
      line: the number of its line, from 1.
      cells: a text for each cell.
      listed: whether cells list candidates.
      shifted: whether cells may be shifted by one, as in ``is_shifted``.
      bars: number of bars.
      spaced: whether spaces between bars are blanks.
      delimiters: number of delimiters between and after its cells; 0 if there are none.
      like: for a malformed line, whether it has about as many cells as a row.
    """

    line: int
    cells: list[bytes]
    listed: bool = False
    shifted: bool = False
    bars: int = 0
    spaced: bool = False
    delimiters: int = 0
    like: bool = True

    @classmethod
    def malformed(cls, line: int, text: bytes, side: int) -> Row:
        """A row of blanks in place of a malformed line."""
        like = any(abs(width - side) <= max(1, side // 4) for width in row_widths(text))
        return cls(line, [b"."] * side, like=like)


def grid_of_rows(rows: Sequence[Row], digits: Digits) -> Cells:
    """The grid of these rows.

    Raises:
      Malformed: they are not a grid; a wrong cell is numbered within its row.
    """
    if all(row.shifted for row in rows):
        raise Malformed(SHIFTED)
    if any(row.spaced for row in rows) and len({row.bars for row in rows}) > 1:
        raise Malformed("its rows have different numbers of bars, and blanks between them")
    if any(row.delimiters == digits.side for row in rows):
        for number, row in enumerate(rows):
            if row.delimiters == digits.side - 1 and row.cells[-1] == b".":
                cause = "a row has one delimiter less than others, and its last cell is empty"
                raise Malformed(cause, number * digits.side)
    if any(row.listed for row in rows):
        return _listed(rows, digits)
    return grid_of([cell for row in rows for cell in row.cells], digits, _place(digits.side))


def _listed(rows: Sequence[Row], digits: Digits) -> Cells:
    """The grid of rows of which some list candidates; all other cells are filled."""
    side = digits.side
    parts = []
    for number, row in enumerate(rows, 1):
        first = (number - 1) * side
        if row.listed:
            parts.append(check_listed(row.cells, side))
            continue
        values = grid_of(row.cells, digits).grid
        if not values.all():
            cell = int(np.argmin(values))
            place = f"row {number}, column {cell + 1}"
            raise Malformed(f"{place} lists no candidates, but other cells do", first + cell)
        parts.append((values, all_candidates(values, side)))
    grid, candidates = (np.concatenate(part, axis=-1) for part in zip(*parts, strict=True))
    return Cells(grid, marks=Marks(candidates))


def read_row(line: int, text: bytes, above: Sequence[Row], digits: Digits) -> Row:
    """Reads a row of a drawn grid.

    Args:
      line: its number, from 1.
      text: the plain line.
      above: the rows of the grid above it.
      digits: their notation.

    Raises:
      Malformed: it is not a row.
    """
    side = digits.side
    row, number = without_frame(text), len(above) + 1
    cells = row_cells(text, side)
    single = cells is not None and max(map(len, cells)) == 1
    listed = None if single else split_listed(row, side)
    try:
        if listed is not None:
            check_listed(listed, side)
            return Row(line, listed, True)
        if cells is not None:
            if _LABEL.match(text):
                raise Malformed("the text before the frame may be a label or a cell")
            check_cells(cells, digits)
            spaced = split_row(row, side) is None
            several = 0 if separated(row, side) is None else max(map(row.count, (b",", b";", b"\t")))
            return Row(line, cells, False, is_shifted(row, side), text.count(b"|"), spaced, several)
    except Malformed as cause:
        raise Malformed(f"row {number} of the grid: {cause}") from None
    words = row.split()
    if len(words) != side and any(row.listed for row in above):
        raise Malformed(f"row {number} of the grid has {len(words)} cells, not {side}")
    parts = separated(row) or _parts(row, side)
    foreign = next((place for place, part in enumerate(parts, 1) if split_row(part, 1) is None), None)
    if foreign is not None:
        shown = parts[foreign - 1].decode(errors="backslashreplace")
        raise Malformed(f"row {number} of the grid: {shown!r}, number {foreign} of the line, is not a cell")
    raise Malformed(f"row {number} of the grid has {len(parts)} cells, not {side}")


def is_row_of_digits(word: bytes, side: int) -> bool:
    """Whether a word among others is a row with one character per cell."""
    return len(word) == side and any(byte in b"0123456789." for byte in word) and split_row(word, side) is not None


def _place(side: int) -> Callable[[int], str]:
    return lambda cell: f"row {cell // side + 1}, column {cell % side + 1}"


def _parts(row: bytes, side: int) -> list[bytes]:
    """The cells of a malformed row: its words if they may be numbers, else its characters."""
    words = row.split()
    if side > 9 and len(words) > 1 and max(map(len, words)) == 2:
        return words
    joined = b"".join(words)
    return [joined[cell : cell + 1] for cell in range(len(joined))]
