"""Puzzles in a column of a CSV file, whose fields are separated by commas, semicolons or tabs."""

from __future__ import annotations

import csv
import functools
import re
from collections.abc import Collection, Iterable, Iterator
from typing import NamedTuple

import numpy as np

from jaxsudoku.solution import STATS
from jaxsudoku.suggestions import did_you_mean

from .cells import decode_odd, decode_spans, decode_texts
from .chunk import Chunk, LineError, PuzzleFileError
from .format import COLUMNS
from .header import BOARD_COLUMN, BoardCheck
from .lines import line_spans
from .quotes import csv_reader, read_record, record_end, whole_records, within_quotes

#: Names of the column that holds the puzzles, the preferred one first.
PUZZLE_COLUMNS = ("puzzle", "quizzes")
#: Columns of our own outputs: an input that has them was answered before, and gets new answers.
ANSWER_COLUMNS = (*COLUMNS[1:], *STATS)
_KNOWN = frozenset((*PUZZLE_COLUMNS, *ANSWER_COLUMNS, BOARD_COLUMN))
#: What may separate fields, the most usual one first.
DELIMITERS = (b",", b";", b"\t")

_COLUMN_NAME = re.compile(r"[A-Za-z_]\w*[A-Za-z_][\w .-]*")


class Columns(NamedTuple):
    """Which columns of a table matter: how many there are, which holds the puzzles, and those carried along."""

    width: int
    puzzle: int
    extras: dict[str, int]


class Dialect(NamedTuple):
    """What must be known of a table before it is read.

    Attributes:
      delimiter: what separates fields, one character.
      column: name of the column of puzzles, None for one of ``PUZZLE_COLUMNS``.
      keep: columns of answers to carry along, as in ``read_chunks``.
    """

    delimiter: bytes = b","
    column: str | None = None
    keep: Collection[str] = ()


def choose_columns(names: list[str], place: str, keep: Collection[str] = (), column: str | None = None) -> Columns:
    """Finds the puzzles among the columns of a table, and what is carried along: all but answers not in ``keep``.

    Args:
      names: of the columns; those carried along are named as ``plain_names`` does.
      place: where they stand, for messages.
      keep: columns of answers to carry along.
      column: name of the column of puzzles, None for one of ``PUZZLE_COLUMNS``.

    Raises:
      PuzzleFileError: no column holds the puzzles, or two have the same name.
    """
    names = plain_names(names)
    wanted = PUZZLE_COLUMNS if column is None else (column, *(name for name in names if _same(name, column)))
    puzzle = next((names.index(name) for name in wanted if name in names), None)
    if puzzle is None:
        hint = did_you_mean(wanted[0], names)
        advice = "; another one can be named (column, --column)" if column is None and not hint else ""
        raise PuzzleFileError(
            f"{place}: no column named {wanted[0]!r} among {', '.join(map(repr, names))}{hint}{advice}"
        )
    if len(set(names)) < len(names):
        twice = next(name for name in names if names.count(name) > 1)
        raise PuzzleFileError(f"{place}: two columns are named {twice!r}")
    dropped = {*PUZZLE_COLUMNS, *ANSWER_COLUMNS}.difference(keep)
    carried = {name: at for at, name in enumerate(names) if at != puzzle and name not in dropped}
    return Columns(len(names), puzzle, carried)


def plain_names(names: Iterable[str]) -> list[str]:
    """Names of columns without white space around them; those that have a meaning here in lower case."""
    names = [name.strip() for name in names]
    return [name.lower() if name.lower() in _KNOWN else name for name in names]


def column_names(line: bytes, delimiter: bytes) -> list[str]:
    """The names in a header; none where it is malformed."""
    try:
        return [field.strip() for field in read_record(line, delimiter)]
    except csv.Error:  # a carriage return amid the line, which then names no columns
        return []


def further_columns(names: list[str], column: str | None) -> tuple[str, ...]:
    """All columns but the one of puzzles, answers included; raises as ``choose_columns`` does."""
    return tuple(choose_columns(names, "header", (*PUZZLE_COLUMNS, *ANSWER_COLUMNS), column).extras)


def find_delimiter(data: bytes, side: int, column: str | None = None) -> bytes | None:
    """What separates the names of columns in a first record; None where it is no header.

    A header names a column that holds puzzles, or several columns none of which is a grid.

    Args:
      data: the first lines.
      side: of the board.
      column: as for ``choose_columns``.
    """
    wanted = PUZZLE_COLUMNS if column is None else (column,)
    tables = {delimiter: column_names(data[: record_end(data, 0, delimiter)], delimiter) for delimiter in DELIMITERS}
    for delimiter, names in tables.items():
        if any(_same(name, other) for name in names for other in wanted):
            return delimiter
    for delimiter, names in tables.items():
        if len(names) > 1 and len(names[0]) != side * side and all(map(_COLUMN_NAME.fullmatch, names)):
            return delimiter
    return None


def read_fields(header: bytes, record: bytes, dialect: Dialect) -> dict[str, str]:
    """The fields of a record by the names in the header, the puzzle by the name "puzzle".

    Raises:
      PuzzleFileError: as ``choose_columns`` does; the record is malformed.
    """
    names = plain_names(column_names(header, dialect.delimiter))
    puzzle = choose_columns(names, "header", column=dialect.column).puzzle
    try:
        fields = read_record(record, dialect.delimiter)
    except csv.Error as error:
        raise PuzzleFileError(f"the first record is malformed ({error})") from error
    found = dict(zip(names, fields, strict=False))
    if puzzle < len(fields):
        found["puzzle"] = fields[puzzle]
    return found


def read_csv(blocks: Iterator[bytes], side: int, name: str, check: BoardCheck, dialect: Dialect) -> Iterator[Chunk]:
    """A chunk for each block of whole lines, the first of which starts with the header.

    Raises:
      PuzzleFileError: the header has no column of puzzles, a quote is opened and never closed, or a record is malformed
        in another way. All records before come first.
    """
    columns: Columns | None = None
    line = 1
    quoted = functools.partial(within_quotes, delimiter=dialect.delimiter)
    for whole in whole_records(blocks, name, dialect.delimiter):
        block, fault = check.cut(whole, line, quoted)
        block_line, line = line, line + whole.count(b"\n")
        at = 0
        while columns is None and at < len(block):
            end = record_end(block, at, dialect.delimiter)
            head, at = block[at:end], end + 1
            if head.strip() and not head.startswith(b"#"):
                names = column_names(head, dialect.delimiter)
                columns = choose_columns(names, f"{name}:{block_line}", dialect.keep, dialect.column)
            block_line += head.count(b"\n") + 1
        if columns is not None and at < len(block):
            block = block[at:]
            chunk = _plain_chunk(block, block_line, columns, side, name, dialect.delimiter)
            if chunk is None:
                chunk, error = _careful_chunk(block, block_line, columns, side, name, dialect.delimiter)
                fault = error or fault
            yield chunk
        if fault is not None:
            raise fault


def _same(name: str, other: str) -> bool:
    return name.lower() == other.strip().lower()


def _plain_chunk(block: bytes, line: int, columns: Columns, side: int, name: str, delimiter: bytes) -> Chunk | None:
    """The block's chunk by numpy alone, or None where it has quotes, comments, blank or uneven lines."""
    raw = np.frombuffer(block, np.uint8)
    starts, ends = line_spans(block)
    commas = np.flatnonzero(raw == ord(delimiter))
    if b'"' in block or len(commas) != len(ends) * (columns.width - 1):
        return None
    ends = ends - (raw[ends - 1] == ord("\r"))
    if (starts >= ends).any() or (raw[starts] == ord("#")).any():
        return None
    bounds = np.concatenate([starts[:, None] - 1, commas.reshape(len(ends), -1), ends[:, None]], axis=1)
    if (bounds[:, 1] < starts).any() or (bounds[:, -2] > ends).any():
        return None

    def texts(column: int) -> list[bytes]:
        spans = zip((bounds[:, column] + 1).tolist(), bounds[:, column + 1].tolist(), strict=True)
        return [block[first:last] for first, last in spans]

    grids, good = decode_spans(block, bounds[:, columns.puzzle] + 1, bounds[:, columns.puzzle + 1], side)
    spans = bounds[:, columns.puzzle : columns.puzzle + 2] + [1, 0]
    causes = decode_odd(grids, good, lambda row: block[slice(*spans[row])], side)
    errors = tuple(LineError(name, line + row, cause) for row, cause in causes.items())
    extras = {key: [text.decode(errors="surrogateescape") for text in texts(at)] for key, at in columns.extras.items()}
    return Chunk(grids, good, np.arange(line, line + len(starts)), errors, extras)


def _careful_chunk(
    block: bytes, line: int, columns: Columns, side: int, name: str, delimiter: bytes
) -> tuple[Chunk, PuzzleFileError | None]:
    """The block's chunk record by record, up to one that the csv module can't read; and the error of that one."""
    records: list[list[str]] = []
    numbers: list[int] = []
    misfits: dict[int, str] = {}
    fault = None
    lines = [f"{text}\n" for text in block.decode(errors="surrogateescape").split("\n")[:-1]]
    start = 0
    with csv_reader(lines, delimiter.decode()) as reader:
        try:
            for record in reader:
                # what is quoted is no comment
                if record and not lines[start].startswith("#") and (len(record) > 1 or record[0].strip()):
                    if len(record) != columns.width:
                        misfits[len(records)] = f"{len(record)} fields; the header names {columns.width}"
                        record = [""] * columns.width
                    records.append(record)
                    numbers.append(line + start)
                start = reader.line_num
        except csv.Error as error:
            fault = PuzzleFileError(f"{name}:{line + start}: {error}")
            fault.__cause__ = error
    puzzles = [record[columns.puzzle].encode(errors="surrogateescape") for record in records]
    grids, good, causes = decode_texts(puzzles, side)
    errors = tuple(LineError(name, numbers[row], cause) for row, cause in (causes | misfits).items())
    extras = {key: [record[at] for record in records] for key, at in columns.extras.items()}
    return Chunk(grids, good, np.array(numbers, np.int64), errors, extras), fault
