"""Reads one puzzle or position from a text in memory."""

from __future__ import annotations

import collections
import io
import math
import re
from typing import Any

import numpy as np

from jaxsudoku.core.board import Board

from .cells import separated, sides_by_place
from .chunk import Chunk
from .csv_tables import is_single_name
from .format import Beginning
from .frames import may_be_row, plain, row_widths
from .json_values import flat_cells
from .library import cells_of_line
from .open_sudoku import OpenSudoku, first_puzzle
from .positions import Positions
from .read import detect_table, header_of, read_chunks, without_separator
from .read_whole import check_unconstrained, warn_listed
from .sections import SadMan, puzzle_lines
from .zeros import ZeroBasedError


def parse(text: str, board: Board | None = None, *, zero_based: bool = False) -> np.ndarray:
    """Reads one puzzle from a text in any form that ``read_chunks`` accepts, except Parquet.

    Candidates that the text lists are left out with a warning; ``parse_position`` reads them.

    Args:
      text: the puzzle.
      board: its board; None for the board that a comment in the text names, or else the classic board of its size.
      zero_based: whether digits are counted from 0, as in ``read_chunks``.

    Returns:
      uint8[cells], values 0 (blank) to side.

    Raises:
      ValueError: the text is malformed, names another board, or holds no puzzle or several.
      TypeError: it is not a string.
    """
    chunk = _parsed(text, board, zero_based)
    if chunk.listed.any():
        warn_listed(1, "io.parse_position reads them")
    return np.asarray(chunk.grids[0])


def parse_position(text: str, board: Board | None = None, *, zero_based: bool = False) -> Positions:
    """Reads one position in play: a pencil-mark grid, a line of HoDoKu's library, or any puzzle.

    Args:
      text, board, zero_based: as in ``parse``.

    Returns:
      ``Positions`` without the leading axis: the filled cells, uint8[cells], 0 = open; the candidates, bool[side,
      cells], all digits in the open cells of a text that lists none; and which cells are given, bool[cells].

    Raises:
      ValueError, TypeError: as ``parse`` does.
    """
    chunk = _parsed(text, board, zero_based)
    return Positions(chunk.grids[0], chunk.candidates_of([0])[0], chunk.givens_of([0])[0])


def board_of_text(text: str) -> Board:
    """The board that a text names, or else the classic one with the size of its only puzzle (even if malformed).

    Raises:
      ValueError: the text has no puzzle, or no board has that size.
    """
    start = Beginning("<text>", without_separator(text.encode(errors="backslashreplace")))
    named = header_of(start).board
    return _board_of(_side_of(start)) if named is None else Board.named(named)


def _parsed(text: str, board: Board | None, zero_based: bool) -> Chunk:
    """The only puzzle of a text."""
    if not isinstance(text, str):
        raise TypeError(f"parse reads the text of one puzzle, not a {type(text).__name__}")
    data = text.removeprefix("\ufeff").encode(errors="backslashreplace")
    start = Beginning("<text>", without_separator(data))
    if board is None and header_of(start).board is None:
        board = _board_of(_side_of(start))
    try:
        chunks = list(read_chunks(io.BytesIO(data), board, zero_based=zero_based))
    except ZeroBasedError as fault:
        raise ZeroBasedError(str(fault).partition(": ")[2]) from fault  # without the name of a file
    for chunk in chunks:
        for error in chunk.errors:
            raise ValueError(error.cause)
    count = sum(map(len, chunks))
    if count != 1:
        raise ValueError(f"{count} puzzles in the text; parse reads one, read_puzzles a file of many")
    found = Chunk.join(chunks)
    check_unconstrained(found)
    return found


def _side_of(start: Beginning) -> int:
    """The side of the board of the only puzzle in a text.

    Raises:
      ValueError: the number of cells is not a square, or the first record of a table is malformed.
    """
    if not start.lines:
        raise ValueError("no puzzle in the text")
    lines = start.lines
    if OpenSudoku.begins(start.head):
        lines = [first_puzzle(start.head)]
    if SadMan.sniff(start, 0) is not None:
        lines = [line for line in puzzle_lines(lines, 0) if line.strip()]
    table = detect_table(start)
    record = None if table is None else table.first_record()
    if record is not None and "puzzle" in record.fields:
        puzzle: Any = record.fields["puzzle"]
        if isinstance(puzzle, list):
            return _side_of_cells(len(flat_cells(puzzle)))
        lines = [str(puzzle).encode(errors="backslashreplace")]
    if cells := max(map(cells_of_line, lines)):
        return _side_of_cells(cells)
    # A drawing has at least as many rows as a row has cells, with or without separators; it may also have titles.
    rows = collections.Counter(width for line in map(plain, lines) if may_be_row(line) for width in row_widths(line))
    drawn = [width for width, count in rows.items() if width <= count]
    if drawn:
        side = max(drawn)  # of "12|34" the cells rather than the two parts
        if side - 1 in drawn and all(line.rstrip(b" \r")[-1:] in (b",", b";", b"\t") for line in lines):
            raise ValueError(
                f"rows of {side - 1} cells and a delimiter, or of {side}, the last one empty: name the board"
            )
        return side
    return _side_of_line(lines[len(lines) > 1 and is_single_name(lines[0])])


def _side_of_line(line: bytes) -> int:
    """The side of the board of the puzzle in a line."""
    body = line.split(b"#")[0].replace(b'"', b" ")
    numbers = separated(body) or body.replace(b",", b" ").split()
    if len(numbers) > 1 and all(len(number) <= 2 for number in numbers):
        sizes = [len(numbers), len(numbers) - (not body.rstrip(b" \r\n")[-1:].strip())]  # a tab may end it
        return next(filter(None, map(_side, sizes)), 0) or _side_of_cells(sizes[0])
    words = re.split(rb"[\s,;:=|/]+", body.strip())
    for word in words:
        if sides := sides_by_place(word):
            return sides[0]
    groups = [len(word.replace(b"+", b"")) for word in words]
    total = sum(groups) if len(set(groups)) == 1 else 0
    lengths = (total, *groups)
    whole = [side for side in map(_side, lengths) if side > (3 if len(groups) > 1 else 2)]
    if not whole and len(groups) > 1 and _side(groups[0]):
        raise ValueError(f"{len(groups)} groups of {groups[0]} and other numbers of cells are not a grid")
    return whole[0] if whole else _side_of_cells(groups[0])


def _side(cells: int) -> int:
    """The side of a board with this many cells; 0 if the number is not a square."""
    side = math.isqrt(cells)
    return side if side * side == cells else 0


def _side_of_cells(cells: int) -> int:
    side = _side(cells)
    if not side and cells % 2 == 0 and _side(cells // 2) > 2:
        raise ValueError(
            f"{cells} characters: a puzzle and the map of its regions? Give only the puzzle, and name its board "
            "(jigsaw:MAP)"
        )
    if not side:
        raise ValueError(f"{cells} cells; a 9x9 board has 81, and {cells} is not a square number")
    return side


def _board_of(side: int) -> Board:
    """The classic board of a side; if no boxes fit, another board of that side, as regions do not matter here."""
    try:
        return Board.classic(side)
    except ValueError:
        return Board(side, box=(1, side))
