"""Frames of drawn grids, of any characters, and the cells of rows within frames."""

from __future__ import annotations

import math
import re
import string
from collections.abc import Sequence

from .cells import Digits, Malformed, check_cells, is_cell, separated, split_row

_VERTICAL = "│┃║┆┇┊┋╎╏╵╷╹╻╽╿¦｜❘"
_HORIZONTAL = "─━═┄┅┈┉╌╍╴╶╸╺╼╾—–―−"
_BLANK = "·•∙⋅・□▢☐◻␣"
_SPACE = "\u00a0\u2002\u2003\u2007\u2009\u202f\u3000"
#: ASCII replacements of other characters; all further box-drawing characters are corners.
_PLAIN = {
    **dict.fromkeys(range(0x2500, 0x2580), "+"),
    **dict.fromkeys(map(ord, _VERTICAL), "|"),
    **dict.fromkeys(map(ord, _HORIZONTAL), "-"),
    **dict.fromkeys(map(ord, _BLANK), "."),
    **dict.fromkeys(map(ord, _SPACE), " "),
    **{0xFF10 + value: digit for value, digit in enumerate(string.digits)},
}
_FRAME = b"|!=+:'\"`/\\[](){}"
_WITHOUT = bytes.maketrans(_FRAME, b" " * len(_FRAME))
_FRAME_ONLY = re.compile(rb"[\s.*_\-" + re.escape(_FRAME) + rb"]*")
_BARS = re.compile(rb"\|+")
#: Code before a list of rows, as in "grid = np.array([[5, 3", or between its rows.
_ASSIGNED = re.compile(rb"\s*+(?:,\s*+|(?:[A-Za-z][^=\n]*+=\s*+)?(?:[A-Za-z.]++\()?)(?=[\[{])")
#: Beginnings of a comment after a row in a list.
_COMMENT = re.compile(rb"#|//")
#: A blank in a list.
_NONE = re.compile(rb"\b(?:None|null|nan|NaN)\b")
#: Code at the end of a row or a text.
_CLOSING = (b"]", b"}", b")", b'"', b"'")


def plain(line: bytes) -> bytes:
    """The line in ASCII (box drawing, blanks, spaces and digits replaced), without code around rows."""
    if not line.isascii():
        line = line.decode(errors="surrogateescape").translate(_PLAIN).encode(errors="surrogateescape")
    if b"[" in line or b"{" in line:
        line = _COMMENT.split(line.partition(b", dtype=")[0])[0]
        line = _NONE.sub(b".", line[found.end() :] if (found := _ASSIGNED.match(line)) else line)
    text = line.rstrip()
    closed = text.endswith((b",", b";")) and text[:-1].rstrip().endswith(_CLOSING)
    return text[:-1] if closed or (text.endswith(b";") and text.count(b";") == 1) else line


def rows_of_lists(lines: Sequence[bytes], side: int) -> bool:
    """Whether lines that begin with a bracket are rows of grids.

    Args:
      lines: the first lines of a file.
      side: the board's side; 0 if unknown, when lists are rows unless they may be puzzles of a smaller board.
    """
    rows = [line for line in map(plain, lines) if without_frame(line).strip()]
    if side or not rows:
        return bool(rows) and row_cells(rows[0], side) is not None
    widths = [width for width in row_widths(rows[0]) if row_cells(rows[0], width) is not None]
    return any(
        sum(width in row_widths(row) for row in rows) >= width and not _are_puzzles(rows[:width], width)
        for width in widths
    )


def _are_puzzles(rows: Sequence[bytes], cells: int) -> bool:
    """Whether rows with this many cells may each be a puzzle of a board from 4x4 on."""
    side = math.isqrt(cells)
    if side * side != cells or side < 4:
        return False
    try:
        return all(check_cells(row_cells(row, cells) or (), Digits(side)).max(initial=0) <= side for row in rows)
    except Malformed:
        return False


def without_frame(line: bytes) -> bytes:
    """A plain line with its frame replaced by spaces."""
    return line.translate(_WITHOUT)


def is_frame(line: bytes, side: int, dashes: bool = False) -> bool:
    """Whether a plain line is only a part of the frame.

    Args:
      line: the line.
      side: the board's side.
      dashes: whether a line of ``side`` dashes is a row of blanks.
    """
    if not _FRAME_ONLY.fullmatch(line) or separated(line, side) is not None:  # tabs alone may be a row of blanks
        return False
    marks = set(line)
    if dashes and not marks & set(b"+=") and split_row(without_frame(line), side):
        return False
    dotted = b"-" in line and marks & set(b"+=|") and not marks & set(b".*_")
    return b"--" in line or b"==" in line or bool(dotted) or not marks & set(b".*_-")


def is_barred(line: bytes) -> bool:
    """Whether a plain line has only bars and spaces, like a row of blanks or a part of the frame."""
    return b"|" in line and not line.replace(b"|", b"").strip()


def may_be_row(line: bytes) -> bool:
    """Whether a plain line may be a row of a drawing of any board."""
    return is_barred(line) or not is_frame(line, 0)


def row_cells(line: bytes, side: int) -> list[bytes] | None:
    """The cells of a plain line, the row of a drawing; None if it has another form.

    Blanks may be spaces if there are bars at both ends, and between cells or boxes.
    """
    cells = split_row(without_frame(line), side)
    if cells is None or line.count(b"|") > side:  # bars between all cells show blanks
        return framed_cells(line, side) or cells
    return cells


def framed_cells(line: bytes, side: int) -> list[bytes] | None:
    """The cells of a row in which blanks are spaces between bars; None if it has another form."""
    text = line.strip()
    if len(text) < 2 or not text.startswith(b"|") or not text.endswith(b"|"):
        return None
    fields = text[1:-1].split(b"|")
    if len(fields) > side:  # double bars between boxes
        fields = _BARS.split(text)[1:-1]
    if not fields or side % len(fields):
        return None
    width = side // len(fields)
    if width > 1:
        if {len(field) for field in fields} == {2 * width + 1}:  # a space before and after each cell
            if any(field[::2].strip() for field in fields):
                return None
            fields = [field[1::2] for field in fields]
        if {len(field) for field in fields} != {width}:
            return None
        joined = b"".join(fields)
        fields = [joined[cell : cell + 1] for cell in range(side)]
    cells = [without_frame(field).strip() or b"." for field in fields]
    return cells if all(map(is_cell, cells)) and (side > 9 or max(map(len, cells)) == 1) else None


def row_widths(line: bytes) -> set[int]:
    """The possible numbers of cells of a plain line as a row of a drawing."""
    row = without_frame(line)
    fields = len(separated(row) or ())
    ended = fields and row.rstrip(b" \r\n")[-1:] in (b",", b";", b"\t")  # a delimiter may end it
    widths = {len(row.split()), len(b"".join(row.split())), fields, fields - bool(ended)}
    if line.count(b"|") > 1:
        widths |= {side for side in (line.count(b"|") - 1, *_box_widths(line)) if framed_cells(line, side)}
    return widths - {0, 1}


def _box_widths(line: bytes) -> tuple[int, int]:
    """The numbers of cells of a row, without and with a space around each, if there are bars at both ends."""
    inside = len(line.strip()) - line.count(b"|")
    return inside, (inside - line.count(b"|") + 1) // 2
