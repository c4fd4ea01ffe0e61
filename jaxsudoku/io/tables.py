"""Puzzles in a column of a CSV file."""

from __future__ import annotations

import csv
import io
import re
from collections.abc import Collection, Iterator
from typing import NamedTuple

import numpy as np

from .cells import decode_odd, decode_spans, decode_texts
from .chunk import Chunk, LineError, PuzzleFileError
from .format import COLUMNS, NUMBERS
from .lines import line_spans
from .source import LONGEST_LINE

#: Names of the column that holds the puzzles, the preferred one first.
PUZZLE_COLUMNS = ("puzzle", "quizzes")
#: Columns of our own outputs: an input that has them was answered before, and gets new answers.
ANSWER_COLUMNS = (*COLUMNS[1:], *NUMBERS)

_COLUMN_NAME = re.compile(r"[A-Za-z_]\w*[A-Za-z_][\w .-]*")


class Columns(NamedTuple):
    """Which columns of a table matter: how many there are, which holds the puzzles, and those carried along."""

    width: int
    puzzle: int
    extras: dict[str, int]


def choose_columns(names: list[str], place: str, keep: Collection[str] = ()) -> Columns:
    """Finds the puzzles among the columns of a table, and what is carried along: all but answers not in ``keep``.

    Raises:
      PuzzleFileError: no column holds the puzzles, or two have the same name; ``place`` says where.
    """
    puzzle = next((names.index(name) for name in PUZZLE_COLUMNS if name in names), None)
    if puzzle is None:
        raise PuzzleFileError(f"{place}: no column named 'puzzle' among {', '.join(map(repr, names))}")
    if len(set(names)) < len(names):
        twice = next(name for name in names if names.count(name) > 1)
        raise PuzzleFileError(f"{place}: two columns are named {twice!r}")
    dropped = {*PUZZLE_COLUMNS, *ANSWER_COLUMNS}.difference(keep)
    carried = {name: at for at, name in enumerate(names) if at != puzzle and name not in dropped}
    return Columns(len(names), puzzle, carried)


def is_header(line: bytes, side: int) -> bool:
    """Whether a first line names columns: one that holds puzzles, or several none of which is a grid."""
    names = _names(line)
    if any(name in names for name in PUZZLE_COLUMNS):
        return True
    return len(names) > 1 and len(names[0]) != side * side and all(_COLUMN_NAME.fullmatch(name) for name in names)


def puzzle_field(header: bytes, record: bytes) -> bytes:
    """The puzzle in a record of a table with this header; raises PuzzleFileError as ``choose_columns`` does."""
    at = choose_columns(_names(header), "header").puzzle
    fields = next(csv.reader([record.decode(errors="surrogateescape")]), [])
    return fields[at].encode(errors="surrogateescape") if at < len(fields) else b""


def read_csv(blocks: Iterator[bytes], side: int, name: str, keep: Collection[str] = ()) -> Iterator[Chunk]:
    """A chunk for each block of whole lines, the first of which starts with the header; ``keep`` as in ``read_chunks``.

    Raises:
      PuzzleFileError: the header has no column of puzzles, or a quote is opened and never closed.
    """
    columns: Columns | None = None
    line = 1
    for block in _whole_records(blocks, name):
        block_line, line = line, line + block.count(b"\n")
        at = 0
        while columns is None and at < len(block):
            end = block.index(b"\n", at)
            head, at = block[at:end], end + 1
            if head.strip() and not head.startswith(b"#"):
                columns = choose_columns(_names(head), f"{name}:{block_line}", keep)
            block_line += 1
        if columns is None or at == len(block):
            continue
        block = block[at:]
        chunk = _plain_chunk(block, block_line, columns, side, name)
        yield chunk if chunk is not None else _careful_chunk(block, block_line, columns, side, name)


def _names(line: bytes) -> list[str]:
    try:
        fields = next(csv.reader([line.decode(errors="surrogateescape").rstrip("\r\n")]), [])
    except csv.Error:  # a carriage return amid the line, which then names no columns
        return []
    names = [field.strip() for field in fields]
    return [name.lower() if name.lower() in (*PUZZLE_COLUMNS, *ANSWER_COLUMNS) else name for name in names]


def _whole_records(blocks: Iterator[bytes], name: str) -> Iterator[bytes]:
    """Blocks again, joined where a quoted field goes on from one to the next."""
    held: list[bytes] = []
    open_quote = False
    for block in blocks:
        held.append(block)
        open_quote ^= block.count(b'"') % 2 == 1
        if not open_quote:
            yield b"".join(held)
            held.clear()
        elif sum(map(len, held)) > LONGEST_LINE:
            raise PuzzleFileError(f"{name}: a quote is opened and not closed within {LONGEST_LINE} bytes")
    if held:
        yield b"".join(held)


def _plain_chunk(block: bytes, line: int, columns: Columns, side: int, name: str) -> Chunk | None:
    """The block's chunk by numpy alone, or None where it has quotes, comments, blank or uneven lines."""
    raw = np.frombuffer(block, np.uint8)
    starts, ends = line_spans(block)
    commas = np.flatnonzero(raw == ord(","))
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


def _careful_chunk(block: bytes, line: int, columns: Columns, side: int, name: str) -> Chunk:
    """The block's chunk record by record."""
    records: list[list[str]] = []
    numbers: list[int] = []
    misfits: dict[int, str] = {}
    reader = csv.reader(io.StringIO(block.decode(errors="surrogateescape"), newline=""))
    start = line
    try:
        for record in reader:
            if record and not record[0].startswith("#") and (len(record) > 1 or record[0].strip()):
                if len(record) != columns.width:
                    misfits[len(records)] = f"{len(record)} fields; the header names {columns.width}"
                    record = [""] * columns.width
                records.append(record)
                numbers.append(start)
            start = line + reader.line_num
    except csv.Error as error:
        raise PuzzleFileError(f"{name}:{start}: {error}") from error
    puzzles = [record[columns.puzzle].encode(errors="surrogateescape") for record in records]
    grids, good, causes = decode_texts(puzzles, side)
    errors = tuple(LineError(name, numbers[row], cause) for row, cause in (causes | misfits).items())
    extras = {key: [record[at] for record in records] for key, at in columns.extras.items()}
    return Chunk(grids, good, np.array(numbers, np.int64), errors, extras)
