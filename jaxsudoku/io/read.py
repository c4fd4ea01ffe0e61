"""Reading puzzles: finds out the format and the board, then reads chunk after chunk."""

from __future__ import annotations

import contextlib
import dataclasses
import functools
import io
import itertools
import math
import re
from collections.abc import Callable, Collection, Iterator
from typing import BinaryIO

import numpy as np

from jaxsudoku.board import Board

from .cells import Malformed, decode_text, separated
from .chunk import Chunk, LineError, PuzzleFileError
from .drawn import bare_row, dashes_are_blanks, frameless, read_drawn
from .header import BOARD_COLUMN, BoardCheck, Header, board_in_column, read_header, resolve_board
from .json_lines import flat_cells, is_json, json_puzzle, read_json_lines
from .lines import read_lines
from .parquet import parquet_columns, parquet_header, read_parquet
from .quotes import record_end
from .source import PARQUET_MAGIC, Source, line_blocks, open_source, read_pieces, unified_lines
from .tables import Dialect, column_names, find_delimiter, further_columns, plain_names, read_csv, read_fields

Reader = Callable[[Iterator[bytes], int, str, BoardCheck], Iterator[Chunk]]

#: How many lines from the beginning tell the format.
_TELLING_LINES = 200


class PuzzleFile:
    """An open input of puzzles whose beginning has been read; ``open_puzzles`` makes it.

    Attributes:
      name: name of the input, for messages.
      board: the board of the puzzles.
      names_board: whether the input itself names its board.
      unique: whether the comments at the top say that each puzzle has exactly one solution.
    """

    def __init__(self, stream: BinaryIO, name: str, board: Board | None, column: str | None) -> None:
        self.name = name
        self.stream, self._column = stream, column
        self._failure: Exception | None = None
        pieces = read_pieces(stream, name)
        self._head, self._is_parquet = b"", False
        self._blocks: Iterator[bytes] = iter(())
        header = Header()
        try:
            first = next(pieces, b"")
            self._is_parquet = first.startswith(PARQUET_MAGIC)
            if self._is_parquet:
                header = parquet_header(stream, name)
            else:
                self._blocks = line_blocks(unified_lines(itertools.chain([first], pieces)), name)
                self._head = next(self._blocks, b"")
                header = _header_of(self._head, column)
        except (OSError, PuzzleFileError) as failure:  # raised when puzzles are taken, as any later one is
            self._failure = failure
        self.unique, self.names_board = header.unique, header.board is not None
        self.board = resolve_board(header, board, name)

    def chunks(self, chunk_size: int = 65536, *, skip: int = 0, keep: Collection[str] = ()) -> Iterator[Chunk]:
        """The puzzles, to be taken once; arguments, result and errors as in ``read_chunks``."""
        return _rechunk(self._read(keep), chunk_size, skip)

    def check(self) -> tuple[str, ...]:
        """Finds out now, rather than when puzzles are taken, whether the input can be read from its beginning.

        Returns:
          Names of the columns of a table but that of puzzles, of JSON lines those of the first object; none of any
          other text.

        Raises:
          PuzzleFileError: a table has no column of puzzles, or the input is damaged so early that it gives none.
          OSError: it can't be read.
        """
        if self._failure is not None:
            raise self._failure
        side, name, dialect = self.board.side, self.name, Dialect(column=self._column)
        if self._is_parquet:
            return parquet_columns(self.stream, name, dialect)
        lines = _content(self._head)
        if not lines:
            return ()
        delimiter = None if is_json(lines[0]) else find_delimiter(_joined(lines), side, self._column)
        record = lines[0] if delimiter is None else _two_records(lines, delimiter)[0]
        at = (b"\n" + self._head).find(b"\n" + record + b"\n")
        if at >= 0:  # else there are blank lines or comments in a name
            above = self._head[: at + len(record) + 1]  # with the comments, for the line's number
            reader = _reader_of(self._head, side, name, (), self._column)
            for _ in reader(iter([above]), side, name, BoardCheck(self.board, name)):
                pass
        names = _keys_of(record, self._column) if delimiter is None else column_names(record, delimiter)
        return further_columns(names, self._column) if names else ()

    def _read(self, keep: Collection[str]) -> Iterator[Chunk]:
        if self._failure is not None:
            raise self._failure
        side, name, check = self.board.side, self.name, BoardCheck(self.board, self.name)
        if self._is_parquet:
            chunks = read_parquet(self.stream, side, name, Dialect(column=self._column, keep=keep))
        else:
            head, self._head = self._head, b""
            reader = _reader_of(head, side, name, keep, self._column)
            chunks = reader(itertools.chain([head] if head else [], self._blocks), side, name, check)
        yield from check.checked(chunks)


@contextlib.contextmanager
def open_puzzles(source: Source, board: Board | None = None, *, column: str | None = None) -> Iterator[PuzzleFile]:
    """Opens an input of puzzles in any form that ``read_chunks`` takes, and reads its beginning.

    Args:
      source: a path, ``-`` for the standard input, or a binary file object (left open afterwards).
      board: the board of all puzzles; None for that which the input names, or else the classic 9x9 board.
      column: name of the column of puzzles in a table, or of their key in JSON lines; by default ``puzzle``.

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
      source: a path, ``-`` for the standard input, or a binary file object, of which the beginning is read.

    Returns:
      The board, None where none is named.

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

    The format is told from the first lines: a puzzle a line, of characters (``.0*_-`` are blanks, ``A`` is 10; what
    follows white space, ``,``, ``;`` or ``#`` is ignored) or of numbers; CSV, separated by commas, semicolons or tabs,
    with a header and a column ``puzzle`` (or ``quizzes``); JSON lines, each an object with a key ``puzzle`` whose value
    is a text, a list of integers or a list of rows; drawn grids, also as rows of cells that commas, semicolons or tabs
    separate (an empty one is a blank); Parquet with a column ``puzzle``. Any but Parquet may be compressed by gzip, xz,
    bzip2 or Zstandard (extra ``zstd`` before Python 3.14), and be UTF-16. Blank lines and lines that start with ``#``
    are skipped; any other line that holds no puzzle counts as a malformed one.

    Args:
      source: a path, ``-`` for the standard input, or a binary file object.
      board: the board of all puzzles; None for that which the input names (see ``read_board``), or else the classic
        9x9 board.
      chunk_size: puzzles in each chunk but the last.
      skip: number of puzzles to leave out at the beginning.
      keep: columns among ``ANSWER_COLUMNS`` (solution, status, iterations ...) to carry along in ``extras`` too: they
        are answers, which are otherwise left out, as new ones are to come.
      column: name of the column of puzzles in a table, or of their key in JSON lines; by default ``puzzle``.

    Returns:
      Iterator of ``Chunk``, none for an empty input. The file is opened at once, and read as the chunks are taken.

    Raises:
      OSError: the input is missing or unreadable.
      PuzzleFileError: the input as a whole can't be read on: truncated or damaged compressed data or Parquet, a table
        without a column of puzzles, a quote that is never closed, a comment that names another board. All puzzles
        before the damage are given first.
    """
    if chunk_size < 1 or skip < 0:
        raise ValueError(f"chunk_size must be at least 1 and skip at least 0, not {chunk_size} and {skip}")
    opened, name = open_source(source)

    def chunks() -> Iterator[Chunk]:
        with opened as stream:
            yield from PuzzleFile(stream, name, board, column).chunks(chunk_size, skip=skip, keep=keep)

    return chunks()


def read_puzzles(source: Source, board: Board | None = None, *, column: str | None = None) -> np.ndarray:
    """Reads all puzzles of an input, in any form that ``read_chunks`` takes.

    The array does not tell its board: for any but a classic one pass it on, as in
    ``js.solve(js.read_puzzles(path), board=js.io.read_board(path))``.

    Args:
      source: a path, ``-`` for the standard input, or a binary file object.
      board: the board of all puzzles; None for that which the input names (see ``read_board``), or else the classic
        9x9 board.
      column: as in ``read_chunks``.

    Returns:
      uint8[N, cells], values 0 (blank) to side.

    Raises:
      PuzzleFileError: some puzzle is malformed, the input is damaged, or it names another board; the error's ``grids``
        has what could be read.
      OSError: the input is missing or unreadable.
      TypeError: the source is neither a path nor a file that is open in binary mode.
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
    """Reads one puzzle from a text in any form that ``read_chunks`` takes (but Parquet).

    Args:
      text: the puzzle.
      board: its board; None for that which a comment in the text names, or else the classic board of as many cells.

    Returns:
      uint8[cells], values 0 (blank) to side.

    Raises:
      ValueError: the text is malformed, names another board, or holds no puzzle or several.
      TypeError: it is no text.
    """
    if not isinstance(text, str):
        raise TypeError(f"parse reads the text of one puzzle, not a {type(text).__name__}")
    data = text.encode(errors="surrogateescape")
    if board is None and _header_of(data, None).board is None:
        board = _board_of(_side_of(data))
    chunks = list(read_chunks(io.BytesIO(data), board))
    for error in itertools.chain.from_iterable(chunk.errors for chunk in chunks):
        raise ValueError(error.cause)
    count = sum(map(len, chunks))
    if count != 1:
        raise ValueError(f"{count} puzzles in the text; parse reads one, read_puzzles a file of many")
    return np.concatenate([chunk.grids for chunk in chunks])[0]


def _header_of(head: bytes, column: str | None) -> Header:
    """What the comments at the top of a text say, or of a table the first record."""
    header = read_header(head)
    lines = _content(head)
    if header.board is not None or not lines:
        return header
    named, record = None, lines[0]
    try:
        if is_json(record):
            found = json_puzzle(record, Dialect(column=column))[1]
            named = dict(zip(plain_names(found), found.values(), strict=True)).get(BOARD_COLUMN)
        else:
            delimiter = find_delimiter(_joined(lines), 0, column)
            first, record = _two_records(lines, delimiter or b",")
            if delimiter is not None and record:
                named = read_fields(first, record, Dialect(delimiter, column)).get(BOARD_COLUMN)
    except (Malformed, PuzzleFileError):  # reported when puzzles are taken
        return header
    if named is None or (board := board_in_column(named)) is None:
        return header
    return Header(header.about, board, 1 + head[: head.index(record)].count(b"\n"))


def _reader_of(head: bytes, side: int, name: str, keep: Collection[str], column: str | None) -> Reader:
    """The reader of the format in which a text begins.

    Raises:
      PuzzleFileError: a column is named, but the text is no table.
    """
    lines = _content(head)
    if lines and is_json(lines[0]):
        return functools.partial(read_json_lines, dialect=Dialect(column=column, keep=keep))
    if lines and (delimiter := find_delimiter(_joined(lines), side, column)) is not None:
        return functools.partial(read_csv, dialect=Dialect(delimiter, column, keep))
    if column is not None and lines:
        raise PuzzleFileError(f"{name}: no column {column!r}: the first line names no columns")
    if not any(_is_puzzle(line, side) for line in lines):
        dashes = dashes_are_blanks(lines, side)
        if any(bare_row(line, side, dashes) for line in lines):
            return functools.partial(read_drawn, dashes=dashes)
    return read_lines


def _content(head: bytes, count: int = _TELLING_LINES) -> list[bytes]:
    """The first lines that are neither blank nor comments."""
    lines = (match[0] for match in re.finditer(rb"[^\n]+", head))
    return list(itertools.islice((line for line in lines if line.strip() and not line.startswith(b"#")), count))


def _joined(lines: list[bytes]) -> bytes:
    return b"".join(line + b"\n" for line in lines)


def _two_records(lines: list[bytes], delimiter: bytes) -> tuple[bytes, bytes]:
    """The first record of CSV, and the line after it, empty where there is none."""
    data = _joined(lines)
    end = record_end(data, 0, delimiter)
    return data[:end], data[end + 1 :].partition(b"\n")[0]


def _keys_of(line: bytes, column: str | None) -> list[str]:
    """The keys of an object of JSON, none of any other line."""
    if not is_json(line):
        return []
    try:
        return list(json_puzzle(line, Dialect(column=column))[1])
    except Malformed:  # reported when puzzles are taken
        return []


def _is_puzzle(line: bytes, side: int) -> bool:
    try:
        decode_text(line, side)
    except Malformed:
        return False
    return True


def _side_of(data: bytes) -> int:
    """The side of the board of the only puzzle in a text.

    Raises:
      ValueError: the number of cells is no square.
    """
    lines = _content(data)
    if not lines:
        raise ValueError("no puzzle in the text")
    if is_json(lines[0]):
        try:
            puzzle, _ = json_puzzle(lines[0], Dialect())
        except Malformed as error:
            raise ValueError(str(error)) from None
        if isinstance(puzzle, list):
            return _side_of_cells(len(flat_cells(puzzle)))
        lines = [str(puzzle).encode(errors="replace")]
    elif (delimiter := find_delimiter(_joined(lines), 0)) is not None:
        fields = read_fields(*_two_records(lines, delimiter), Dialect(delimiter))
        lines = [fields["puzzle"].encode(errors="surrogateescape")] if "puzzle" in fields else lines
    # A drawing has as many rows as its last one has cells, written apart or together, and may have a title, too.
    rows = [row for line in lines if (row := frameless(line))]
    widths = [{len(row.split()), len(b"".join(row.split())), len(separated(row) or ())} for row in rows]
    drawn = [width for width in (widths[-1] if widths else ()) if 1 < width <= sum(width in row for row in widths)]
    if drawn:
        return max(drawn)  # of "12|34" the cells, not the two parts
    numbers = separated(lines[0]) or lines[0].replace(b",", b" ").split()
    single = len(numbers) > 1 and all(len(number) <= 2 for number in numbers)
    cells = len(numbers) if single else len(re.split(rb"[\s,;#]", lines[0].strip())[0])
    return _side_of_cells(cells)


def _side_of_cells(cells: int) -> int:
    side = math.isqrt(cells)
    if side * side != cells or not side:
        raise ValueError(f"{cells} cells; a 9x9 board has 81, and {cells} is the square of no side")
    return side


def _board_of(side: int) -> Board:
    """The classic board of a side; for sides that no boxes fit a board of that size, as regions do not matter here."""
    try:
        return Board.classic(side)
    except ValueError:
        return Board(side, box=(1, side))


def _rechunk(chunks: Iterator[Chunk], size: int, skip: int) -> Iterator[Chunk]:
    """The same puzzles but the first ``skip``, in chunks of ``size``; what came before a failure is given first."""
    held: list[Chunk] = []
    count = 0
    start = skip
    failure: Exception | None = None
    try:
        for chunk in chunks:
            skipped = min(skip, len(chunk))
            skip -= skipped
            held.append(chunk[skipped:])
            count += len(held[-1])
            if count < size:
                continue
            whole = Chunk.join(held)
            cut = count - count % size
            for first in range(0, cut, size):
                yield dataclasses.replace(whole[first : first + size], start=start)
                start += size
            held = [whole[cut:]]
            count -= cut
    except (OSError, PuzzleFileError) as error:
        failure = error
    if count:
        yield dataclasses.replace(Chunk.join(held), start=start)
    if failure is not None:
        raise failure
