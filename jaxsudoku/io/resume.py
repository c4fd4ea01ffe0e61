"""What an interrupted run left behind: how many answers are whole, and whether they can be answers to an input."""

from __future__ import annotations

import csv
import dataclasses
import zlib
from collections.abc import Iterator

import numpy as np

from jaxsudoku.board import Board
from jaxsudoku.solution import STATS

from .cells import Malformed, decode_text
from .chunk import Chunk
from .format import COLUMNS, NO_GRID
from .quotes import read_record
from .source import BLOCK, GZIP_MAGIC, LONGEST_LINE

#: How many answers from either end of an output are compared with the input.
SAMPLE = 8


class ResumeError(ValueError):
    """An output can't be the beginning of the answers to this input; it was left as it is."""


@dataclasses.dataclass
class Recovered:
    """The whole answers of an output.

    Attributes:
      done: how many there are.
      keep: size in bytes of the part of the file that holds them; what follows is half written.
      samples: some of them, by index: the fields of CSV and Parquet records, or the solution alone.
      header: names of the columns; empty for text and where nothing was written.
    """

    done: int = 0
    keep: int = 0
    samples: dict[int, list[str]] = dataclasses.field(default_factory=dict)
    header: tuple[str, ...] = ()


def recover(
    path: str, kind: str, compressed: bool, columns: tuple[str, ...], sample: int = SAMPLE, heading: bytes = b""
) -> Recovered:
    """Looks through a text or CSV output, changing nothing.

    Args:
      path: the file.
      kind: ``text`` or ``csv``.
      compressed: whether it is gzip.
      columns: of a CSV, those that its header begins with, which may be half written; ``check_columns`` compares them.
      sample: how many records from either end are kept as samples.
      heading: of a text, the comments with which it begins, which may be half written.

    Raises:
      ResumeError: it is no output of this kind, or begins with other comments.
      OSError: it can't be read.
    """
    found = Recovered()
    records = _Records(kind == "csv", sample)
    for data, end in _members(path) if compressed else _plain(path):
        try:
            records.feed(data)
        except csv.Error as error:
            raise ResumeError(f"{path}: holds a record that is no CSV ({error})") from error
        if len(records.rest) > LONGEST_LINE:
            raise ResumeError(f"{path}: a line is longer than {LONGEST_LINE} bytes: no answers of ours")
        if end is not None and (not compressed or not records.rest):
            found = Recovered(records.count, end - (0 if compressed else len(records.rest)), dict(records.samples))
    if not records.count and heading.startswith(records.rest):
        return Recovered()  # a run that was killed within its heading
    if found.keep == 0 and records.count and not _is_first(records.samples[0], kind, columns, heading):
        raise ResumeError(f"{path}: begins with {', '.join(records.samples[0])!r}, which is no line of ours")
    if not _may_begin(records.rest, kind, () if records.count else columns):
        raise ResumeError(f"{path}: the end of the file is no half-written line of ours: {records.rest[:40]!r}")
    if kind == "csv" and found.samples:
        found.header = tuple(found.samples.pop(0))
        found.done -= 1
        found.samples = {index - 1: fields for index, fields in found.samples.items()}
    elif kind == "text" and found.samples:
        _leave_heading(path, found, heading)
    return found


def _leave_heading(path: str, found: Recovered, heading: bytes) -> None:
    """Takes the comments at the top of a text off its lines; raises ResumeError where they are others."""
    expected = heading.decode().splitlines()
    first = [found.samples[index][0] for index in range(min(len(found.samples), len(expected) + 1))]
    comments = [line for line in first if line.startswith("#")]
    if comments != expected:
        said = comments[0] if comments else "nothing"
        raise ResumeError(f"{path}: begins with {said}, and should with {expected[0] if expected else 'a puzzle'}")
    size = len(expected)
    found.done -= size
    found.samples = {index - size: fields for index, fields in found.samples.items() if index >= size}


def check_columns(path: str, header: tuple[str, ...], columns: tuple[str, ...]) -> None:
    """Compares the columns of an output with those that it should have, before those carried along.

    Raises:
      ResumeError: they are others.
    """
    if tuple(name for name in header if name in (*COLUMNS, *STATS)) != columns or header[: len(columns)] != columns:
        raise ResumeError(f"{path}: the columns are {', '.join(header)}, and should begin with {', '.join(columns)}")


def check_answers(path: str, found: Recovered, chunk: Chunk, board: Board) -> None:
    """Compares those samples that answer a puzzle of the chunk with it, and with the rules of the board.

    Raises:
      ResumeError: one of them is no answer to its puzzle.
    """
    for index, fields in found.samples.items():
        row = index - chunk.start
        if 0 <= row < len(chunk) and not _answers(fields, chunk.grids[row], bool(chunk.good[row]), board):
            where = f"line {chunk.lines[row]} of the input"
            raise ResumeError(
                f"{path}: answer {index + 1} is not to the puzzle on {where}; the output is left as it is"
            )


def _answers(fields: list[str], puzzle: np.ndarray, good: bool, board: Board) -> bool:
    # A record repeats the puzzle before the solution; a line of text has the solution only, which must keep the givens.
    known = [field.encode() for field in fields[:2] if field]  # of Parquet the puzzle alone is sampled
    try:
        grids = [None if text == NO_GRID else decode_text(text, board.side) for text in known]
    except Malformed:
        return False
    if len(fields) > 1 and not (np.array_equal(grids[0], puzzle) if grids[0] is not None and good else not good):
        return False
    solution = None if len(known) < len(fields[:2]) else grids[-1]
    if solution is None:
        return True
    keeps = bool((solution == puzzle)[puzzle != 0].all())
    return (
        good and keeps and all(len(set(solution[list(house)].tolist()) - {0}) == board.side for house in board.houses)
    )


def _is_first(fields: list[str], kind: str, columns: tuple[str, ...], heading: bytes) -> bool:
    """Whether this may be the first line of an output whose first member of gzip is not whole."""
    if kind == "csv":
        return tuple(fields[: len(columns)]) == columns
    line = f"{fields[0]}\n".encode(errors="surrogateescape")
    return heading.startswith(line) if heading else _may_begin(line[:-1], kind, ())


def _may_begin(rest: bytes, kind: str, header: tuple[str, ...]) -> bool:
    """Whether the half line at the end of an output may be one that we began to write; ``header`` if it is first."""
    if kind == "text":
        return set(rest) <= set(b"0123456789 -.")
    first = ",".join(header).encode()
    return first.startswith(rest) or rest.startswith(first)


def _plain(path: str) -> Iterator[tuple[bytes, int]]:
    end = 0
    with open(path, "rb") as file:
        while data := file.read(BLOCK):
            end += len(data)
            yield data, end


def _members(path: str) -> Iterator[tuple[bytes, int | None]]:
    """Decompressed pieces; those at the end of a member with the offset there in the file, the others with None."""
    decoder = zlib.decompressobj(wbits=zlib.MAX_WBITS | 16)
    end = 0
    with open(path, "rb") as file:
        while data := file.read(BLOCK):
            if end == 0 and not (data.startswith(GZIP_MAGIC) or data == GZIP_MAGIC[:1]):
                raise ResumeError(f"{path}: no gzip data")
            end += len(data)
            while data:
                try:
                    piece = decoder.decompress(data, BLOCK)
                except zlib.error as error:
                    raise ResumeError(f"{path}: damaged gzip data ({error})") from error
                data = decoder.unconsumed_tail
                if decoder.eof:
                    data = decoder.unused_data
                    decoder = zlib.decompressobj(wbits=zlib.MAX_WBITS | 16)
                    yield piece, end - len(data)
                else:
                    yield piece, None


class _Records:
    """Counts whole records, and keeps the first and the last few."""

    def __init__(self, quoted: bool, sample: int) -> None:
        self.quoted, self.sample = quoted, sample
        self.count = 0
        self.rest = b""
        self.samples: dict[int, list[str]] = {}

    def feed(self, data: bytes) -> None:
        data = self.rest + data
        raw = np.frombuffer(data, np.uint8)
        newline = raw == ord("\n")
        if self.quoted and b'"' in data:
            newline &= np.cumsum(raw == ord('"'), dtype=np.uint8) % 2 == 0
        ends = np.flatnonzero(newline) + 1
        for row in {*range(min(self.sample, len(ends))), *range(max(0, len(ends) - self.sample), len(ends))}:
            self.samples[self.count + row] = self._fields(data[ends[row - 1] if row else 0 : ends[row]])
        self.count += len(ends)
        self.rest = data[ends[-1] :] if len(ends) else data
        self.samples = {
            at: fields for at, fields in self.samples.items() if at <= self.sample or at >= self.count - self.sample
        }

    def _fields(self, record: bytes) -> list[str]:
        return (
            (read_record(record) or [""]) if self.quoted else [record.decode(errors="surrogateescape").rstrip("\r\n")]
        )
