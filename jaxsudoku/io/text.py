"""Reading one puzzle or position from a text in memory."""

from __future__ import annotations

import collections
import io
import math
import re
from typing import Any

import numpy as np

from jaxsudoku.board import Board

from .cells import separated
from .chunk import Chunk
from .format import Beginning
from .frames import may_be_row, plain, row_widths
from .json_lines import flat_cells
from .library import cells_of_line
from .positions import all_candidates
from .read import detect_table, header_of, read_chunks, warn_listed
from .sections import SadMan, puzzle_lines


def parse(text: str, board: Board | None = None) -> np.ndarray:
    """Reads one puzzle from a text in any form that ``read_chunks`` accepts, except Parquet.

    Candidates that the text lists are left out with a warning; ``parse_position`` reads them.

    Args:
      text: the puzzle.
      board: its board; None for the board that a comment in the text names, or else the classic board of its size.

    Returns:
      uint8[cells], values 0 (blank) to side.

    Raises:
      ValueError: the text is malformed, names another board, or holds no puzzle or several.
      TypeError: it is not a string.
    """
    chunk = _parsed(text, board)
    if chunk.listed.any():
        warn_listed(1, "io.parse_position reads them")
    return np.asarray(chunk.grids[0])


def parse_position(text: str, board: Board | None = None) -> tuple[np.ndarray, np.ndarray]:
    """Reads one position in play: a pencil-mark grid, a line of HoDoKu's library, or any puzzle.

    Args:
      text, board: as in ``parse``.

    Returns:
      the filled cells, uint8[cells], 0 = open; and the candidates, bool[side, cells], all digits in the open cells of a
      text that lists none.

    Raises:
      ValueError, TypeError: as ``parse`` does.
    """
    chunk = _parsed(text, board)
    (grid,) = chunk.grids
    if chunk.candidates is None:
        return grid, all_candidates(grid, math.isqrt(len(grid)))
    return grid, chunk.candidates[0]


def board_of_text(text: str) -> Board:
    """The board that a text names, or else the classic one of its only puzzle's size, which may be malformed.

    Raises:
      ValueError: the text holds no puzzle, or no board has that size.
    """
    start = Beginning("<text>", text.encode(errors="surrogateescape"))
    named = header_of(start).board
    return _board_of(_side_of(start)) if named is None else Board.named(named)


def _parsed(text: str, board: Board | None) -> Chunk:
    """The only puzzle of a text."""
    if not isinstance(text, str):
        raise TypeError(f"parse reads the text of one puzzle, not a {type(text).__name__}")
    data = text.encode(errors="surrogateescape")
    start = Beginning("<text>", data)
    if board is None and header_of(start).board is None:
        board = _board_of(_side_of(start))
    chunks = list(read_chunks(io.BytesIO(data), board))
    for chunk in chunks:
        for error in chunk.errors:
            raise ValueError(error.cause)
    count = sum(map(len, chunks))
    if count != 1:
        raise ValueError(f"{count} puzzles in the text; parse reads one, read_puzzles a file of many")
    return Chunk.join(chunks)


def _side_of(start: Beginning) -> int:
    """The side of the board of the only puzzle in a text.

    Raises:
      ValueError: the number of cells is not a square, or the first record of a table is malformed.
    """
    if not start.lines:
        raise ValueError("no puzzle in the text")
    lines = start.lines
    if SadMan.sniff(start, 0) is not None:
        lines = [line for line in puzzle_lines(lines, 0) if line.strip()]
    table = detect_table(start)
    record = None if table is None else table.first_record()
    if record is not None and "puzzle" in record.fields:
        puzzle: Any = record.fields["puzzle"]
        if isinstance(puzzle, list):
            return _side_of_cells(len(flat_cells(puzzle)))
        lines = [str(puzzle).encode(errors="replace")]
    if cells := max(map(cells_of_line, lines)):
        return _side_of_cells(cells)
    # A drawing has at least as many rows as a row has cells, separated or not; it may have titles, too.
    rows = collections.Counter(width for line in map(plain, lines) if may_be_row(line) for width in row_widths(line))
    drawn = [width for width, count in rows.items() if width <= count]
    if drawn:
        return max(drawn)  # of "12|34" the cells rather than the two parts
    numbers = separated(lines[0]) or lines[0].replace(b",", b" ").split()
    single = len(numbers) > 1 and all(len(number) <= 2 for number in numbers)
    cells = len(numbers) if single else len(re.split(rb"[\s,;#]", lines[0].strip())[0])
    return _side_of_cells(cells)


def _side_of_cells(cells: int) -> int:
    side = math.isqrt(cells)
    if side * side != cells or not side:
        raise ValueError(f"{cells} cells; a 9x9 board has 81, and {cells} is not a square number")
    return side


def _board_of(side: int) -> Board:
    """The classic board of a side; if no boxes fit it, another board of that side, as regions do not matter here."""
    try:
        return Board.classic(side)
    except ValueError:
        return Board(side, box=(1, side))
