"""Reading puzzles: detects the format and the board, then reads the puzzles in chunks.

The data flow::

    source -> open_pieces -> line_blocks -> Format.read -> check_column -> rechunk
              decompressed   whole lines    chunks of any size             chunks of one size
"""

from __future__ import annotations

import contextlib
import io
import itertools
import math
import re
from collections.abc import Collection, Iterator
from typing import Any, BinaryIO

import numpy as np

from jaxsudoku.board import Board

from .cells import separated
from .chunk import Chunk, LineError, PuzzleFileError, rechunk
from .columns import BOARD_COLUMN
from .csv_tables import CsvTable
from .drawn import Drawn, without_frame
from .format import Beginning, Format
from .header import BoardCheck, Header, board_in_column, read_header, resolve_board
from .json_lines import JsonLines, flat_cells
from .lines import Lines
from .parquet import Parquet
from .source import Source, line_blocks, open_pieces, open_source, unified_lines

#: The formats that are read, in the order in which they are tried; the last one accepts any text.
FORMATS: tuple[type[Format], ...] = (Parquet, JsonLines, CsvTable, Drawn, Lines)


def detect_format(start: Beginning, side: int) -> Format:
    """The format of an input with this beginning, for boards of this side.

    Raises:
      PuzzleFileError: a column is named, but the input is not a table.
    """
    found = next(found for kind in FORMATS if (found := kind.sniff(start, side)) is not None)
    if start.column is not None and not found.is_table and start.lines:
        raise PuzzleFileError(f"{start.name}: no column {start.column!r}: the first line names no columns")
    return found


def detect_table(start: Beginning) -> Format | None:
    """The format of an input with this beginning if it is a table, which does not depend on the board."""
    tables = (kind.sniff(start, 0) for kind in FORMATS if kind.is_table)
    return next((table for table in tables if table is not None), None)


class PuzzleFile:
    """An open input of puzzles whose beginning has been read; made by ``open_puzzles``.

    Attributes:
      name: name of the input, for messages.
      board: the board of the puzzles.
      names_board: whether the input itself names its board.
      unique: whether the comments at the top say that each puzzle has exactly one solution.
    """

    def __init__(self, stream: BinaryIO, name: str, board: Board | None, column: str | None) -> None:
        self.name = name
        self.stream = stream
        self._start = Beginning(name, b"", column, stream)
        self._blocks: Iterator[bytes] = iter(())
        self._failure: Exception | None = None
        header = Header()
        try:
            pieces, compression = open_pieces(stream, name)
            head = next(pieces)
            binary = next((kind for kind in FORMATS if kind.magic and head.startswith(kind.magic)), None)
            if binary is not None and compression is not None:
                raise PuzzleFileError(f"{name}: a {binary.name} file within {compression} data: decompress it first")
            if binary is None:
                self._blocks = line_blocks(unified_lines(itertools.chain([head], pieces)), name)
                head = next(self._blocks, b"")
            self._start = Beginning(name, head, column, stream)
            header = _header_of(self._start)
        except (OSError, PuzzleFileError) as failure:  # raised when puzzles are read, like any later one
            self._failure = failure
        self.unique, self.names_board = header.unique, header.board is not None
        self.board = resolve_board(header, board, name)

    def chunks(self, chunk_size: int = 65536, *, skip: int = 0, keep: Collection[str] = ()) -> Iterator[Chunk]:
        """The puzzles, to be read once; arguments, result and errors as in ``read_chunks``."""
        return rechunk(self._read(keep), chunk_size, skip)

    def check(self) -> tuple[str, ...]:
        """Finds errors at the beginning of the input now, rather than when puzzles are read.

        Returns:
          Names of the columns of a table except that of puzzles, of JSON lines those of the first object; none of any
          other text.

        Raises:
          PuzzleFileError: a table has no column of puzzles, or the input is damaged before its first puzzle.
          OSError: it can't be read.
        """
        if self._failure is not None:
            raise self._failure
        return detect_format(self._start, self.board.side).check(BoardCheck(self.board, self.name))

    def _read(self, keep: Collection[str]) -> Iterator[Chunk]:
        if self._failure is not None:
            raise self._failure
        check = BoardCheck(self.board, self.name)
        blocks = itertools.chain([self._start.head] if self._start.head else [], self._blocks)
        yield from check.check_column(detect_format(self._start, self.board.side).read(blocks, check, keep))


@contextlib.contextmanager
def open_puzzles(source: Source, board: Board | None = None, *, column: str | None = None) -> Iterator[PuzzleFile]:
    """Opens an input of puzzles in any form that ``read_chunks`` accepts, and reads its beginning.

    Args:
      source, board, column: as in ``read_chunks``. A file object is left open.

    Returns:
      A context manager that gives a ``PuzzleFile``.

    Raises:
      OSError: the input is missing or unreadable.
      PuzzleFileError: the input names another board than ``board``, or one that does not exist.
    """
    opened, name = open_source(source)
    with opened as stream:
        yield PuzzleFile(stream, name, board, column)


def read_board(source: Source) -> Board | None:
    """The board that a file of puzzles names.

    A text names it in a comment at its top, ``# board: windoku``; CSV, Parquet and JSON lines in a column ``board``.

    Args:
      source: a path, ``-`` for the standard input, or a binary file object, whose beginning is read.

    Returns:
      The board, None if none is named.

    Raises:
      OSError, PuzzleFileError: as in ``open_puzzles``.
    """
    with open_puzzles(source) as puzzles:
        return puzzles.board if puzzles.names_board else None


def read_chunks(
    source: Source,
    board: Board | None = None,
    *,
    chunk_size: int = 65536,
    skip: int = 0,
    keep: Collection[str] = (),
    column: str | None = None,
) -> Iterator[Chunk]:
    """Streams the puzzles of an input of any size, with flat memory.

    The format is detected by the first lines:

    - a puzzle a line, of characters (``.0*_-`` are blanks, ``A`` is 10; anything after white space, ``,``, ``;`` or
      ``#`` is ignored) or of numbers;
    - CSV, separated by commas, semicolons or tabs, with a header and a column ``puzzle`` (or ``quizzes``);
    - JSON lines, each an object with a key ``puzzle`` whose value is a text, a list of integers or a list of rows;
    - drawn grids, also as rows of cells separated by commas, semicolons or tabs (an empty one is a blank);
    - Parquet with a column ``puzzle``.

    All but Parquet may be compressed by gzip, xz, bzip2 or Zstandard (extra ``zstd`` before Python 3.14), and may be
    UTF-16. Blank lines and lines that start with ``#`` are skipped; any other line without a puzzle counts as a
    malformed one.

    Args:
      source: a path, ``-`` for the standard input, or a binary file object.
      board: the board of all puzzles; None for the board that the input names (see ``read_board``), or else the
        classic 9x9 board.
      chunk_size: number of puzzles in each chunk except the last.
      skip: number of puzzles to leave out at the beginning.
      keep: columns among ``ANSWER_COLUMNS`` (solution, status, iterations ...) to carry along in ``extras``. By default
        none is, as new answers replace them.
      column: name of the column of puzzles in a table, or of their key in JSON lines; by default ``puzzle``.

    Returns:
      Iterator of ``Chunk``, none for an empty input. The file is opened at once, and read while iterating.

    Raises:
      OSError: the input is missing or unreadable.
      PuzzleFileError: the input can't be read on: truncated or damaged compressed data or Parquet, a table without a
        column of puzzles, a quote that is never closed, a comment that names another board. All puzzles before the
        error are given first.
    """
    if chunk_size < 1 or skip < 0:
        raise ValueError(f"chunk_size must be at least 1 and skip at least 0, not {chunk_size} and {skip}")
    opened, name = open_source(source)

    def chunks() -> Iterator[Chunk]:
        with opened as stream:
            yield from PuzzleFile(stream, name, board, column).chunks(chunk_size, skip=skip, keep=keep)

    return chunks()


def read_puzzles(source: Source, board: Board | None = None, *, column: str | None = None) -> np.ndarray:
    """Reads all puzzles of an input, in any form that ``read_chunks`` accepts.

    The array does not contain the board: unless it is classic, pass it on, as in
    ``js.solve(js.read_puzzles(path), board=js.io.read_board(path))``.

    Args:
      source, board, column: as in ``read_chunks``.

    Returns:
      uint8[N, cells], values 0 (blank) to side.

    Raises:
      PuzzleFileError: some puzzle is malformed, the input is damaged, or it names another board; the attribute
        ``grids`` has what could be read.
      OSError: the input is missing or unreadable.
      TypeError: the source is neither a path nor a file open in binary mode.
    """
    with open_puzzles(source, board, column=column) as puzzles:
        grids = [np.zeros((0, puzzles.board.cells), np.uint8)]
        errors: list[LineError] = []
        try:
            for chunk in puzzles.chunks():
                grids.append(chunk.grids)
                errors.extend(chunk.errors)
        except PuzzleFileError as error:
            raise PuzzleFileError(str(error), errors, np.concatenate(grids)) from error
    if errors:
        raise PuzzleFileError.of_lines(errors, np.concatenate(grids))
    return np.concatenate(grids)


def parse(text: str, board: Board | None = None) -> np.ndarray:
    """Reads one puzzle from a text in any form that ``read_chunks`` accepts, except Parquet.

    Args:
      text: the puzzle.
      board: its board; None for the board that a comment in the text names, or else the classic board of its size.

    Returns:
      uint8[cells], values 0 (blank) to side.

    Raises:
      ValueError: the text is malformed, names another board, or holds no puzzle or several.
      TypeError: it is not a string.
    """
    if not isinstance(text, str):
        raise TypeError(f"parse reads the text of one puzzle, not a {type(text).__name__}")
    data = text.encode(errors="surrogateescape")
    start = Beginning("<text>", data)
    if board is None and _header_of(start).board is None:
        board = _board_of(_side_of(start))
    chunks = list(read_chunks(io.BytesIO(data), board))
    for error in itertools.chain.from_iterable(chunk.errors for chunk in chunks):
        raise ValueError(error.cause)
    count = sum(map(len, chunks))
    if count != 1:
        raise ValueError(f"{count} puzzles in the text; parse reads one, read_puzzles a file of many")
    (grid,) = np.concatenate([chunk.grids for chunk in chunks])
    return np.asarray(grid)


def _header_of(start: Beginning) -> Header:
    """The comments at the top of a text, and the board that they or the first record of a table name."""
    header = read_header(start.head)
    if header.board is not None:
        return header
    try:
        table = detect_table(start)
        record = None if table is None else table.first_record()
    except PuzzleFileError:  # raised again when puzzles are read
        return header
    if record is None or (board := board_in_column(record.fields.get(BOARD_COLUMN))) is None:
        return header
    return Header(header.about, board, record.line)


def _side_of(start: Beginning) -> int:
    """The side of the board of the only puzzle in a text.

    Raises:
      ValueError: the number of cells is not a square, or the first record of a table is malformed.
    """
    if not start.lines:
        raise ValueError("no puzzle in the text")
    lines = start.lines
    table = detect_table(start)
    record = None if table is None else table.first_record()
    if record is not None and "puzzle" in record.fields:
        puzzle: Any = record.fields["puzzle"]
        if isinstance(puzzle, list):
            return _side_of_cells(len(flat_cells(puzzle)))
        lines = [str(puzzle).encode(errors="replace")]
    # A drawing has as many rows as its last row has cells, separated or not; it may have a title, too.
    rows = [row for line in lines if (row := without_frame(line))]
    widths = [{len(row.split()), len(b"".join(row.split())), len(separated(row) or ())} for row in rows]
    drawn = [width for width in (widths[-1] if widths else ()) if 1 < width <= sum(width in row for row in widths)]
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
