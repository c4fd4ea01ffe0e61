"""Lines of HoDoKu's library: one position per line, as an example of a technique.

The form is ``:technique:digits:values:deleted:eliminations:placements:extra``. A value is a digit, ``+`` and a digit if
it was placed in play, or a blank; a deleted candidate is its digit, row and column. See
http://hodoku.sourceforge.net/en/libs.php.
"""

from __future__ import annotations

import re

import numpy as np

from jaxsudoku.core.board import Board
from jaxsudoku.core.host_rules import all_candidates, allowed_candidates

from .cells import Cells, Digits, Malformed, Marks, grid_of, wrong_length

#: At least 8 characters of values distinguish a line from a drawn row with colons.
_LINE = re.compile(rb"\s*+:[^:]*+:[^:]*+:\s*+[\d.+][^:\s]{7,}+\s*+(?::|\Z)")
#: Only the values, with or without deleted candidates, as in 6...8+4...:314 916.
_MARKED = re.compile(rb"\s*+([\d.+]++)\s*+(?::\s*+((?:[1-9]{3}[ \t\r,]*+)*+)(::?\s*+\Z|::|\Z))?")
_VALUE = re.compile(rb"\+?.", re.DOTALL)
_DELETED = re.compile(rb"[1-9]{3}")


def is_library_line(line: bytes) -> bool:
    """Whether a line has the form of a library line; its values may be malformed."""
    return _LINE.match(line) is not None


def cells_of_line(line: bytes) -> int:
    """The number of cells in a library line; 0 for any other line."""
    return len(line.split(b":")[3].strip().replace(b"+", b"")) if is_library_line(line) else 0


def decode_line(line: bytes, digits: Digits) -> Cells:
    """The position in a line of a library: the filled cells, the candidates, and the cells that are not given.

    Raises:
      Malformed: with the cause.
    """
    fields = line.strip().split(b":")
    if len(fields) < 4:
        raise Malformed("a line of a library has the form :technique:digits:values:deleted:eliminations:placements:")
    return _decode(fields[3], line.index(fields[3]), b"".join(fields[4:5]), digits)


def is_marked(line: bytes, cells: int) -> bool:
    """Whether a line has only the values of a library line, with marks of placed cells or deleted candidates."""
    match = _MARKED.match(line)
    if match is None or len(match[1]) - match[1].count(b"+") != cells:
        return False
    deleted = (match[2] or b"").replace(b",", b" ").split()
    # a number of three digits alone may be anything
    return b"+" in match[1] or len(deleted) > 1 or (len(deleted) == 1 and match[3].startswith(b":"))


def decode_marked(line: bytes, digits: Digits) -> Cells:
    """``decode_line`` for a line for which ``is_marked`` holds."""
    match = _MARKED.match(line)
    assert match is not None
    return _decode(match[1], match.start(1), match[2] or b"", digits)


def _decode(values: bytes, start: int, deleted: bytes, digits: Digits) -> Cells:
    """The position from values, which begin at the byte ``start`` of their line, and deleted candidates."""
    side = digits.side
    if side > 9 or digits.zero_based:
        raise Malformed("a line of a library has a board up to 9x9, with digits from 1 on")
    read, placed = _values(values, digits, start + 1)
    candidates = all_candidates(read.grid, side)
    for text in deleted.replace(b",", b" ").split():
        shown = text.decode(errors="backslashreplace")
        if not _DELETED.fullmatch(text) or max(text) - ord("0") > side:
            raise Malformed(
                f"the deleted candidate {shown!r} is not a digit, a row and a column, each from 1 to {side}"
            )
        digit, row, column = (byte - ord("1") for byte in text)
        cell = row * side + column
        if read.grid[cell] == digit + 1:
            raise Malformed(f"the deleted candidate {shown!r} is the digit of its cell")
        candidates[digit, cell] = False
    return read._replace(marks=Marks(candidates, placed if placed.any() else None))


def _values(text: bytes, digits: Digits, column: int) -> tuple[Cells, np.ndarray]:
    """The filled cells of a line, and which of them are not given, bool[cells]; the text begins at ``column``."""
    if unplaced := re.search(rb"\+(?!\d)", text):
        raise Malformed(f"'+' at column {column + unplaced.start()} has no digit after it")
    tokens = list(_VALUE.finditer(text.strip()))
    column += len(text) - len(text.lstrip())
    if len(tokens) != digits.cells:
        raise Malformed(wrong_length(len(tokens), digits.side))
    digit = [token[0].removeprefix(b"+") for token in tokens]
    read = grid_of(digit, digits, lambda cell: f"at column {column + tokens[cell].end() - 1}")
    return read, np.array([len(token[0]) > 1 for token in tokens]) & (read.grid > 0)


def library_line(grid: np.ndarray, candidates: np.ndarray, board: Board, placed: np.ndarray | None = None) -> str:
    """Formats a position as a line of HoDoKu's library; the inverse of reading.

    Args:
      grid: uint8[cells], the filled cells.
      candidates: bool[side, cells], the digits that each cell may hold.
      board: the board, up to 9x9.
      placed: bool[cells], the filled cells that are not given; None for none.

    Raises:
      ValueError: the board is larger, or the arrays have other shapes.
    """
    side = board.side
    if side > 9:
        raise ValueError(f"HoDoKu's library is for boards up to 9x9, not {board}")
    if grid.shape != (board.cells,) or candidates.shape != (side, board.cells):
        raise ValueError(
            f"a position has shapes ({board.cells},) and ({side}, {board.cells}), not {grid.shape} and so on"
        )
    marks = [False] * board.cells if placed is None else placed.tolist()
    values = "".join(
        "+" * mark + str(digit) if digit else "." for digit, mark in zip(grid.tolist(), marks, strict=True)
    )
    gone = np.argwhere((allowed_candidates(grid, board) & ~candidates & (grid == 0)).T).tolist()
    deleted = " ".join(f"{digit + 1}{cell // side + 1}{cell % side + 1}" for cell, digit in gone)
    return f":0000:x:{values}:{deleted}::"
