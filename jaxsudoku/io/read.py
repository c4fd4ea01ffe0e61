"""Reading puzzles: detects the format and the board, then reads the puzzles in chunks.

The data flow::

    source -> open_pieces -> line_blocks -> Format.read -> check_column -> rechunk
              decompressed   whole lines    chunks of any size             chunks of one size
"""

from __future__ import annotations

import contextlib
import dataclasses
import itertools
import re
from collections.abc import Callable, Collection, Iterator
from typing import BinaryIO, NamedTuple

import numpy as np

from jaxsudoku.core.board import Board

from .arrays import NumpyArray
from .chunk import Chunk, NoPuzzlesError, PuzzleFileError, rechunk
from .columns import BOARD_COLUMN
from .constraint_column import read_constraints
from .csv_tables import CsvTable
from .drawn import Drawn
from .exchanged import Exchanged
from .foreign import foreign_kind, kind_of_lines
from .format import Beginning, Format
from .header import BoardCheck, Header, board_in_column, read_header, resolve_board
from .json_lines import JsonLines
from .lines import Lines
from .open_sudoku import OpenSudoku
from .parquet import Parquet
from .sections import SadMan
from .source import Source, line_blocks, open_pieces, open_source, unified_lines
from .zeros import ZeroBasedError, check_zeros

#: The formats in the order in which they are tried; the last one accepts any text.
FORMATS: tuple[type[Format], ...] = (
    NumpyArray,
    Parquet,
    OpenSudoku,
    SadMan,
    Exchanged,
    JsonLines,
    CsvTable,
    Drawn,
    Lines,
)


#: Excel's first line of a CSV, which names the separator.
_SEPARATOR = re.compile(rb'\A"?sep=[^\n]?"?\r?\n', re.IGNORECASE)

#: Maximum number of cells of a block's grids; a block may have a grid for every two bytes.
_MOST_CELLS = 1 << 26


def without_separator(head: bytes) -> bytes:
    """The beginning of a file with Excel's line for the separator of a CSV replaced by a blank line."""
    return _SEPARATOR.sub(b"\n", head)


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
    """The format of an input with this beginning if it is a table, whatever its board."""
    tables = (kind.sniff(start, 0) for kind in FORMATS if kind.is_table)
    return next((table for table in tables if table is not None), None)


class SliceFormat(NamedTuple):
    """Properties of a slice of a file that can't be detected in the slice itself.

    Attributes:
      form: constructs its format.
      first: whether it is the beginning of the file.
      groups: the row groups of Parquet to read; None for all.
      before: the number of rows before them.
      numbers: as in ``BoardCheck``.
    """

    form: Callable[[Beginning], Format]
    first: bool = True
    groups: range | None = None
    before: int = 0
    numbers: bool = False


class PuzzleFile:
    """An open input of puzzles whose beginning has been read; made by ``open_puzzles`` and ``open_slice``.

    Args:
      stream: the input, which stays open.
      name: its name, for messages.
      board, column: as in ``read_chunks``.
      zero_based: as in ``read_chunks``.
      known: the properties of a slice; None for a whole file, whose format is detected.

    Attributes:
      name: name of the input, for messages.
      board: the board of the puzzles.
      names_board: whether the input itself names its board.
      numbers: as in ``BoardCheck``.
      unique: whether the comments at the top state that each puzzle has exactly one solution.
      constrained: whether the puzzles have constraints of their own, known after ``has_puzzles``.
      read: the number of puzzles read so far.
      count: the number of all puzzles, if known: for Parquet, and when all are read.
    """

    def __init__(
        self,
        stream: BinaryIO,
        name: str,
        board: Board | None,
        column: str | None,
        *,
        zero_based: bool = False,
        known: SliceFormat | None = None,
    ) -> None:
        self.name = name
        self.stream = stream
        self._known = known
        self._zero_based = zero_based
        first = known is None or known.first
        groups, before = (None, 0) if known is None else (known.groups, known.before)
        self._start = Beginning(name, b"", column, stream, groups, before)
        self._blocks: Iterator[bytes] = iter(())
        self._failure: Exception | None = None
        self._begun: Iterator[Chunk] | None = None
        self.read = 0
        self.constrained = False
        self.count: int | None = None
        header = Header()
        try:
            pieces, compression = open_pieces(stream, name, plain=not first)
            head = next(pieces)
            binary = next((kind for kind in FORMATS if first and kind.magic and head.startswith(kind.magic)), None)
            if binary is not None and compression is not None:
                raise PuzzleFileError(f"{name}: a {binary.name} file within {compression} data: decompress it first")
            if binary is None:
                self._blocks = line_blocks(unified_lines(itertools.chain([head], pieces)), name)
                head = next(self._blocks, b"")
                if first and (kind := foreign_kind(head)) is not None and not OpenSudoku.begins(head):
                    raise NoPuzzlesError(f"{name}: {kind}")
                head = without_separator(head) if first else head
            self._start = dataclasses.replace(self._start, head=head)
            header = header_of(self._start) if known is None else header
        except (OSError, PuzzleFileError) as failure:  # raised when puzzles are read, like later errors
            self._failure = failure
        self.unique, self.names_board = header.unique, header.board is not None
        self.numbers = header.in_table if known is None else known.numbers
        self.board = resolve_board(header, board, name)

    @property
    def format(self) -> Format:
        """The format; raises PuzzleFileError if a column is named, but the input is not a table."""
        return detect_format(self._start, self.board.side) if self._known is None else self._known.form(self._start)

    def chunks(self, chunk_size: int = 65536, *, skip: int = 0, keep: Collection[str] = ()) -> Iterator[Chunk]:
        """The puzzles, which can be read once; arguments, result and errors as in ``read_chunks``."""
        return rechunk(self._read(keep) if self._begun is None else self._begun, chunk_size, skip)

    def has_puzzles(self, keep: Collection[str] = ()) -> bool:
        """Whether there is a puzzle, well-formed or not; reads ahead, and ``chunks`` uses this ``keep``."""
        chunks = self._read(keep)
        first = next((chunk for chunk in chunks if len(chunk)), None)
        self._begun = itertools.chain([] if first is None else [first], chunks)
        self.constrained = first is not None and first.constraints is not None
        return first is not None

    def check(self) -> tuple[str, ...]:
        """Finds errors at the beginning of the input now, instead of when puzzles are read.

        Returns:
          Names of the columns of a table except that of puzzles, for JSON lines the keys of the first object; empty for
          other texts.

        Raises:
          PuzzleFileError: a table has no column of puzzles, or the input is damaged before its first puzzle.
          OSError: it can't be read.
        """
        if self._failure is not None:
            raise self._failure
        return self.format.check(self._board_check())

    def check_zeros(self) -> None:
        """Reads as far as needed to find whether digits are counted from 0.

        Raises:
          ZeroBasedError: digits are counted from 0. Other errors are raised when the puzzles are read.
        """
        try:
            next((None for chunk in self._read(()) if (chunk.grids == self.board.side).any()), None)
        except ZeroBasedError:
            raise
        except PuzzleFileError:
            return

    def _board_check(self) -> BoardCheck:
        return BoardCheck(self.board, self.name, self._zero_based, self.numbers)

    def _read(self, keep: Collection[str]) -> Iterator[Chunk]:
        if self._failure is not None:
            raise self._failure
        check = self._board_check()
        blocks = itertools.chain([self._start.head] if self._start.head else [], self._blocks)
        kind = self.format
        self.count = kind.count()
        chunks = check.check_column(kind.read(_bounded(blocks, check.board.cells), check, keep))
        chunks = read_constraints(chunks, check.board, self.name)
        if self._known is None and not self._zero_based:  # for a slice, the whole file was checked
            chunks = check_zeros(chunks, self.name, check.board.side)
        for chunk in chunks:
            self.read += len(chunk)
            yield chunk
        self.count = self.read
        if not self.read and self._known is None and self._start.lines and not kind.is_table:
            raise NoPuzzlesError(f"{self.name}: no puzzle in it: {kind_of_lines(self._start.lines)}")


@contextlib.contextmanager
def open_puzzles(
    source: Source, board: Board | None = None, *, column: str | None = None, zero_based: bool = False
) -> Iterator[PuzzleFile]:
    """Opens an input of puzzles in any form that ``read_chunks`` accepts, and reads its beginning.

    Args:
      source, board, column, zero_based: as in ``read_chunks``. A file object is left open.

    Returns:
      A context manager that gives a ``PuzzleFile``.

    Raises:
      OSError: the input is missing or unreadable.
      PuzzleFileError: the input names another board than ``board``, or one that does not exist.
    """
    opened, name = open_source(source)
    with opened as stream:
        yield PuzzleFile(stream, name, board, column, zero_based=zero_based)


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
    zero_based: bool = False,
) -> Iterator[Chunk]:
    """Streams the puzzles of an input of any size, with constant memory.

    The format is detected from the first lines:

    - one puzzle per line, as characters (``.0*_-`` are blanks, ``A`` is 10; anything after white space, ``,``, ``;`` or
      ``#`` is ignored) or as numbers;
    - CSV, separated by commas, semicolons or tabs, with a header and one of ``PUZZLE_COLUMNS``, such as ``puzzle``, or
      with a single column;
    - JSON lines, each an object with a key ``puzzle`` whose value is a text, a list of integers or a list of rows; also
      as an array of one value a line;
    - drawn grids in any frame, also as rows of cells separated by commas, semicolons or tabs (an empty one is a blank),
      or as lists of a programming language;
    - pencil-mark grids, in which a cell lists its candidates, as 1259, and is filled if it has one;
    - puzzles with constraints that f-puzzles, SudokuPad and others exchange, one on each line, see ``parse_variant``;
    - files of SadMan Sudoku, with a section ``[Puzzle]`` or without, and lines of HoDoKu's library;
    - Parquet with a column ``puzzle``;
    - arrays of numpy (.npy), integers [puzzles, cells], with 0 for a blank, or 1 if digits go from 2 on.

    All but the last two may be compressed by gzip, xz, bzip2 or Zstandard (extra ``zstd`` before Python 3.14), and may
    be UTF-16. Blank lines and lines that start with ``#`` are skipped; any other line without a puzzle counts as a
    malformed one.

    Args:
      source: a path, a URL such as ``s3://...`` (with the extra ``cluster``), ``-`` for the standard input, or a binary
        file object.
      board: the board of all puzzles; None for the board that the input names (see ``read_board``), or else the
        classic 9x9 board.
      chunk_size: number of puzzles in each chunk except the last.
      skip: number of puzzles to skip at the beginning.
      keep: columns among ``ANSWER_COLUMNS`` (solution, status, iterations ...) to carry along in ``extras``. None by
        default, as new answers replace them.
      column: name of the column of puzzles in a table, or of their key in JSON lines; by default ``puzzle``.
      zero_based: whether digits are counted from 0, so that 0 is the first digit and not a blank; they are read as 1 to
        ``side``.

    Returns:
      Iterator of ``Chunk``, none for an empty input. The file is opened at once, and read while iterating.

    Raises:
      OSError: the input is missing or unreadable.
      PuzzleFileError: the input can't be read further: truncated or damaged compressed data or Parquet, a table without
        a column of puzzles, a quote that is never closed, a comment that names another board. Raised after all puzzles
        before the fault.
    """
    if chunk_size < 1 or skip < 0:
        raise ValueError(f"chunk_size must be at least 1 and skip at least 0, not {chunk_size} and {skip}")
    opened, name = open_source(source)

    def chunks() -> Iterator[Chunk]:
        with opened as stream:
            puzzles = PuzzleFile(stream, name, board, column, zero_based=zero_based)
            yield from puzzles.chunks(chunk_size, skip=skip, keep=keep)

    return chunks()


def _bounded(blocks: Iterator[bytes], cells: int) -> Iterator[bytes]:
    """Cuts blocks of whole lines so that grids with this many cells, one per line, fit into memory."""
    most = max(1, _MOST_CELLS // cells)
    for block in blocks:
        if len(block) // 2 > most and block.count(b"\n") > most:
            ends = np.flatnonzero(np.frombuffer(block, np.uint8) == ord("\n"))[most - 1 :: most] + 1
            for start, end in itertools.pairwise([0, *ends.tolist(), len(block)]):
                if end > start:
                    yield block[start:end]
        else:
            yield block


def header_of(start: Beginning) -> Header:
    """The comments at the top of a text, and the board named there or in the first record of a table."""
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
    return Header(header.about, board, record.line, in_table=True)
