"""CSV: reads puzzles from a column of a table separated by commas, semicolons or tabs; writes tables with commas.

Quoted fields may be long, contain newlines, and lack their closing quote. Blocks without quotes, comments or blank
lines are read with numpy, others with the csv module.
"""

from __future__ import annotations

import bisect
import contextlib
import csv
import functools
import math
import re
import threading
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from typing import Any, NamedTuple

import numpy as np

from .cells import Cause, Digits, is_cell
from .chunk import Chunk, PuzzleFileError
from .columns import (
    ANSWER_COLUMNS,
    KNOWN_SOLUTION_COLUMNS,
    PUZZLE_COLUMNS,
    Columns,
    choose_columns,
    plain_names,
    same_name,
)
from .decode import decode_block, decode_texts, is_puzzle
from .format import Beginning, Format, Record
from .frames import plain, row_cells
from .header import BoardCheck
from .lines import line_spans
from .source import LONGEST_LINE

#: Delimiters of fields, the most common one first.
DELIMITERS = (b",", b";", b"\t")

#: It has two letters, so that a cell or its name, as r1, is none.
_COLUMN_NAME = re.compile(r"[A-Za-z_][^\WA-Za-z_]*+[A-Za-z_][\w .-]*+")
#: The name of a column without others: no title, which may have digits after it.
_SINGLE_NAME = re.compile(rb'"?[A-Za-z_]{3,}+"?')
#: Lock for the csv module's limit of the length of fields, which all threads share.
_LIMIT = threading.Lock()


class CsvTable(Format):
    """A header, then a record per puzzle.

    Args:
      start: the beginning of the input.
      delimiter: the delimiter of fields, one character.
    """

    name = "CSV"
    is_table = True

    def __init__(self, start: Beginning, delimiter: bytes) -> None:
        super().__init__(start)
        self.delimiter = delimiter

    @classmethod
    def sniff(cls, start: Beginning, side: int) -> CsvTable | None:
        """A header names the column of puzzles, several columns, or one with a puzzle below it."""
        wanted = PUZZLE_COLUMNS if start.column is None else (start.column,)
        if not start.lines:
            return None
        tables = [cls(start, delimiter) for delimiter in DELIMITERS]
        for table in tables:
            if any(same_name(name, other) for name in table.names() for other in wanted) and not table._is_title(side):
                return table
        for table in tables:
            names = table.names()
            if len(names) > 1 and not _is_grid(names[0], side) and table._names_columns():
                return table
        if len(start.lines) > 1 and is_single_name(start.lines[0]) and is_puzzle(start.lines[1], side):
            return tables[0] if not any(delimiter in start.lines[1] for delimiter in DELIMITERS) else None
        return None

    def _is_title(self, side: int) -> bool:
        """Whether the only name is the title of a drawn grid."""
        row = plain(self._records[1]).strip()
        if len(self.names()) > 1 or b'"' in row or is_puzzle(row, side or math.isqrt(len(row))):
            return False
        return row_cells(row, side or len(row)) is not None

    def _names_columns(self) -> bool:
        """Whether the fields of the first record look like names of columns, rather than cells or a title."""
        names = self.names()
        if all(map(_COLUMN_NAME.fullmatch, names)):
            return True
        cells = all(is_cell(name.encode(errors="surrogateescape")) for name in names)
        letters = all(name[:1].isalpha() for name in names) and not cells
        return letters and self._records[1].count(self.delimiter) == len(names) - 1

    @functools.cached_property
    def _records(self) -> tuple[bytes, bytes]:
        """The header, and the record after it, empty if there is none."""
        data = b"".join(line + b"\n" for line in self.start.lines)
        end = record_end(data, 0, self.delimiter)
        if end + 1 >= len(data):
            return data[:end], b""
        return data[:end], data[end + 1 : record_end(data, end + 1, self.delimiter)]

    def header(self) -> bytes:
        return self._records[0]

    def names(self) -> list[str]:
        return column_names(self.header(), self.delimiter)

    def first_record(self) -> Record | None:
        record = self._records[1]
        names = plain_names(self.names())
        puzzle = choose_columns(names, "header", self.start.column).puzzle
        if not record:
            return None
        try:
            fields = read_record(record, self.delimiter)
        except csv.Error as error:
            raise PuzzleFileError(f"the first record is malformed ({error})") from error
        found = dict(zip(names, fields, strict=False))
        if puzzle < len(fields):
            found["puzzle"] = fields[puzzle]
        head = self.start.head
        first = head.index(record.partition(b"\n")[0])  # blank lines within a field are not in the record
        return Record(found, 1 + head.count(b"\n", 0, first))

    def read(self, blocks: Iterator[bytes], check: BoardCheck, keep: Collection[str] = ()) -> Iterator[Chunk]:
        columns: Columns | None = None
        names: list[str] = []
        name = self.start.name
        quoted = WithinQuotes(self.delimiter)
        for line, block in check.cut_all(whole_records(blocks, name, self.delimiter), quoted):
            at = 0
            while columns is None and at < len(block):
                end = record_end(block, at, self.delimiter)
                head, at = block[at:end], end + 1
                if head.strip() and not head.startswith(b"#"):
                    names = column_names(head, self.delimiter)
                    columns = choose_columns(names, f"{name}:{line}", self.start.column, keep)
                line += head.count(b"\n") + 1
            if columns is None or at >= len(block):
                continue
            chunk = self._plain_chunk(block[at:], line, columns, check.digits)
            chunks = self._quoted_chunk(block[at:], line, columns, check.digits) if chunk is None else [chunk]
            for chunk in chunks:
                yield from self._without_headers(chunk, names, columns)

    def _without_headers(self, chunk: Chunk, names: list[str], columns: Columns) -> Iterator[Chunk]:
        """The rows of a chunk without the headers of joined files; raises the error for one with other columns."""
        folded = [name.strip().lower() for name in names]
        others = {*KNOWN_SOLUTION_COLUMNS, *ANSWER_COLUMNS, *folded}
        own = folded[columns.puzzle]
        others -= {own, *PUZZLE_COLUMNS}
        first = 0
        for error in chunk.errors:
            text = (error.text or "").strip().lower()
            if not text or (text != own and text not in others):
                continue
            row = int(np.searchsorted(chunk.lines, error.line))
            if text in others:
                yield chunk[first:row]
                raise PuzzleFileError(
                    f"{self.start.name}:{error.line}: a header with {error.text!r} in the column of puzzles: join "
                    "tables whose columns have the same order"
                )
            fields = {name: str(values[row]).strip().lower() for name, values in chunk.extras.items()}
            if all(fields[name] == folded[at] for name, at in columns.extras.items()):
                yield chunk[first:row]
                first = row + 1
        yield chunk[first:]

    def _plain_chunk(self, block: bytes, line: int, columns: Columns, digits: Digits) -> Chunk | None:
        """Reads the chunk of a block with numpy; None if it has quotes, comments, or blank or uneven lines."""
        raw = np.frombuffer(block, np.uint8)
        starts, ends = line_spans(block)
        delimiters = np.flatnonzero(raw == ord(self.delimiter))
        if b'"' in block or len(delimiters) != len(ends) * (columns.width - 1):
            return None
        ends = ends - (raw[ends - 1] == ord("\r"))
        further = raw[ends - 1] == ord("\r")  # the csv module drops all of them
        blank = np.isin(raw[starts], np.frombuffer(b" \t", np.uint8))
        if columns.width == 1 and any(block[starts[row] : ends[row]].isspace() for row in np.flatnonzero(blank)):
            return None
        if further.any() or (starts >= ends).any() or (raw[starts] == ord("#")).any():
            return None
        bounds = np.concatenate([starts[:, None] - 1, delimiters.reshape(len(ends), -1), ends[:, None]], axis=1)
        if (bounds[:, 1] < starts).any() or (bounds[:, -2] > ends).any():
            return None

        def texts(column: int) -> list[str]:
            spans = zip((bounds[:, column] + 1).tolist(), bounds[:, column + 1].tolist(), strict=True)
            return [block[first:last].decode(errors="surrogateescape") for first, last in spans]

        puzzle = columns.puzzle
        read = decode_block(block, bounds[:, puzzle] + 1, bounds[:, puzzle + 1], digits)
        extras: dict[str, list[Any]] = {name: texts(at) for name, at in columns.extras.items()}
        return Chunk.of(read, np.arange(line, line + len(starts)), self.start.name, extras)

    def _quoted_chunk(self, block: bytes, line: int, columns: Columns, digits: Digits) -> Iterator[Chunk]:
        """Reads the chunk of a block with the csv module; errors are raised after all records before them."""
        records: list[list[str]] = []
        numbers: list[int] = []
        misfits: dict[int, str] = {}
        fault = None
        lines = [f"{text}\n" for text in block.decode(errors="surrogateescape").split("\n")[:-1]]
        start = 0
        with csv_reader(lines, self.delimiter) as reader:
            try:
                for record in reader:
                    # a quoted # does not begin a comment
                    if record and not lines[start].startswith("#") and (len(record) > 1 or record[0].strip()):
                        if len(record) == columns.width + 1 and not record[-1].strip():
                            record.pop()  # a delimiter at the end
                        if len(record) != columns.width:
                            cause = f"{len(record)} fields; the header names {columns.width}"
                            misfits[len(records)] = Cause(cause, self.delimiter.decode().join(record))
                            record = [""] * columns.width
                        records.append(record)
                        numbers.append(line + start)
                    start = reader.line_num
            except csv.Error as error:
                fault = PuzzleFileError(f"{self.start.name}:{line + start}: {error}")
                fault.__cause__ = error
        puzzles = [record[columns.puzzle].encode(errors="surrogateescape") for record in records]
        read = decode_texts(puzzles, digits)
        read.causes |= misfits
        extras: dict[str, list[Any]] = {name: [record[at] for record in records] for name, at in columns.extras.items()}
        yield Chunk.of(read, np.array(numbers, np.int64), self.start.name, extras)
        if fault is not None:
            raise fault


def _is_grid(text: str, side: int) -> bool:
    """Whether a text has the length of a grid; if the side is unknown (0), of any board from 4x4 on."""
    if side:
        return len(text) == side * side
    side = math.isqrt(len(text))
    return side > 3 and is_puzzle(text.encode(errors="backslashreplace"), side)


def is_single_name(line: bytes) -> bool:
    """Whether a line looks like the name of the only column of a table."""
    return _SINGLE_NAME.fullmatch(line.strip()) is not None


def column_names(line: bytes, delimiter: bytes) -> list[str]:
    """The names in a header; none if it is malformed."""
    try:
        return [field.strip() for field in read_record(line, delimiter)]
    except csv.Error:  # a carriage return within the line: these are not names of columns
        return []


@contextlib.contextmanager
def csv_reader(lines: Iterable[str], delimiter: bytes) -> Iterator[Any]:
    """A context with a ``csv.reader`` that allows fields as long as ``whole_records`` does."""
    with _LIMIT:
        before = csv.field_size_limit()
        csv.field_size_limit(max(before, 2 * LONGEST_LINE))
        try:
            yield csv.reader(lines, delimiter=delimiter.decode())
        finally:
            csv.field_size_limit(before)


def read_record(record: bytes, delimiter: bytes = b",") -> list[str]:
    """The fields of one record, empty for an empty record; raises ``csv.Error`` if it is malformed."""
    text = record.decode(errors="surrogateescape").rstrip("\r\n")
    with csv_reader([text], delimiter) as reader:
        return next(reader, [])


def record_end(data: bytes, start: int, delimiter: bytes) -> int:
    """The end of the record that begins at ``start``, the beginning of a line: a newline outside of quotes."""
    end = data.index(b"\n", start)
    if b'"' not in data[start:end]:
        return end
    for match in _quoted_field(delimiter).finditer(data, max(0, start - 1)):
        if match.start(1) > end:
            break
        end = max(end, data.find(b"\n", match.end()))
    return end


class WithinQuotes:
    """Whether a position in whole records is within a quoted field; caches the analysis of the last records.

    Args:
      delimiter: what separates fields, one character.
    """

    def __init__(self, delimiter: bytes) -> None:
        self._field = _quoted_field(delimiter)
        self._data, self._spans = b"", list[tuple[int, int]]()

    def __call__(self, data: bytes, at: int) -> bool:
        if data is not self._data:
            self._data = data
            self._spans = [(match.start(1), match.end()) for match in self._field.finditer(data)]
        before = bisect.bisect_left(self._spans, (at, 0)) - 1
        return before >= 0 and self._spans[before][0] < at < self._spans[before][1]


def whole_records(blocks: Iterator[bytes], name: str, delimiter: bytes) -> Iterator[bytes]:
    """Cuts blocks of whole lines again so that no quoted field extends over two blocks.

    Args:
      blocks: blocks of whole lines.
      name: the file's name, for messages.
      delimiter: what separates fields, one character.

    Raises:
      PuzzleFileError: a quote is never closed, or is closed on a later line in the middle of a field because one is
        missing; the message names the line of the opening quote. Raised after all records before it.
    """
    held, line = b"", 1

    def unclosed(at: int, where: str = "") -> PuzzleFileError:
        number = line + held.count(b"\n", 0, at)
        return PuzzleFileError(f"{name}:{number}: a quote is opened here and never closed{where}")

    for block in blocks:
        held = held + block if held else block
        whole, open_at, failed = _split(held, delimiter) if b'"' in held else (len(held), None, False)
        if whole:
            yield held[:whole]
        if open_at is not None and (failed or len(held) - whole > LONGEST_LINE):
            raise unclosed(open_at, "" if failed else f" within {LONGEST_LINE} bytes")
        line += held.count(b"\n", 0, whole)
        held = held[whole:]
    if held:
        raise unclosed(_split(held, delimiter)[1] or 0)


def _split(data: bytes, delimiter: bytes) -> tuple[int, int | None, bool]:
    """The end of the last whole record; the position of an open quote after it; whether it can't be closed any more."""
    ends = (delimiter, b"\r", b"\n", b"")
    record = done = 0
    for match in _quoted_field(delimiter).finditer(data):
        opened = match.start(1)
        newline = data.rfind(b"\n", done, opened)
        record = newline + 1 if newline >= 0 else record
        done = match.end()
        if not match[2]:
            return record, opened, False
        if data[done : done + 1] not in ends and b"\n" in match[0][1:]:
            return record, opened, True
    return len(data), None, False


@functools.cache
def _quoted_field(delimiter: bytes) -> re.Pattern[bytes]:
    """Pattern of a quoted field after the start of a line or a delimiter; the second group is empty if not closed."""
    return re.compile(rb"(?:\A|[\r\n" + re.escape(delimiter) + rb'])(")(?:[^"]++|"")*+("|\Z)')


def csv_header(names: Iterable[str]) -> bytes:
    """The header of a CSV with these columns."""
    return f"{_quoted([names])[0]}\n".encode(errors="surrogateescape")


def csv_records(plain: Sequence[Iterable[str]], others: Sequence[Iterable[Any]]) -> bytes:
    """The records of a CSV, at least one.

    Args:
      plain: the first columns, whose fields need no quotes; joining them is five times as fast as the csv module.
      others: the columns after them, with values that the csv module accepts.
    """
    records: Iterable[str]
    if not others:
        records = map(",".join, zip(*plain, strict=True))
    elif not plain:
        records = _quoted(zip(*others, strict=True))
    else:
        records = map(",".join, zip(*plain, _quoted(zip(*others, strict=True)), strict=True))
    return ("\n".join(records) + "\n").encode(errors="surrogateescape")


def needs_quotes(texts: Iterable[str]) -> bool:
    """Whether any field of a column needs quotes."""
    text = "".join(texts)
    return any(character in text for character in ',"\r\n')


def _quoted(records: Iterable[Iterable[Any]]) -> list[str]:
    """Records as the csv module writes them, without the newline at the end."""
    lines: list[str] = []
    # The module of Python 3.11 quotes carriage returns only if the line terminator has one.
    csv.writer(_Sink(lambda line: lines.append(line[:-2])), lineterminator="\r\n").writerows(records)
    return lines


class _Sink(NamedTuple):
    write: Callable[[str], object]
