"""Text, CSV and JSON lines to which whole lines are appended, plain or gzip, with a lock; they can be resumed.

Each write appends whole lines, so after a kill at any byte the file has whole lines and at most one incomplete piece,
which ``recover`` finds and the next write cuts off. In a gzip file each write is a separate member.
"""

from __future__ import annotations

import contextlib
import csv
import gzip
import json
import math
import os
import zlib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, BinaryIO, NamedTuple

import numpy as np

from jaxsudoku.runtime.part_folder import ResumeError

from .columns import SOLUTION_COLUMNS
from .csv_tables import csv_header, csv_records, needs_quotes, read_record
from .source import BLOCK, LONGEST_LINE, Source
from .target import STDOUT, Kind, Recovered, is_special, lock_output, open_target, standard_output

#: Number of rows at either end of an output that are compared with the input.
SAMPLE = 8
_GZIP_MAGIC = b"\x1f\x8b"


class LineFormat(NamedTuple):
    """Format of an output of lines.

    Attributes:
      kind: ``text``, ``csv`` or ``jsonl``.
      compressed: whether it is gzip.
      columns: for CSV and JSON lines, the first columns.
      heading: for text, the comments at the top.
    """

    kind: Kind
    compressed: bool = False
    columns: tuple[str, ...] = ()
    heading: bytes = b""


class LineFile:
    """An output of lines; made by ``open_lines``.

    Attributes:
      found: the rows left by an earlier run.
      file: the open file, unbuffered.
      held: closes the file and releases its lock.
    """

    def __init__(self, file: BinaryIO, name: str, lines: LineFormat, found: Recovered | None = None) -> None:
        self.found = found or Recovered()
        self.file, self._name, self._format = file, name, lines
        self.held = contextlib.ExitStack()
        self._headed = bool(self.found.header) or (lines.kind == "text" and self.found.keep > 0)
        self._cut_at = None if found is None else found.keep
        self._empty = not self.found.keep

    def append(self, columns: Mapping[str, Any]) -> None:
        """Appends rows, n values per column, preceded by the header if they are the first; text has only one column.

        Numbers are arrays, other columns sequences. The rows are in the file on return; raises as ``put`` does.
        """
        if self._format.kind == "text":
            lines = "".join(f"{text}\n" for text in next(iter(columns.values()))).encode()
        elif self._format.kind == "jsonl":
            records = zip(*map(_json_values, columns.values()), strict=True)
            names = [json.dumps(name) for name in columns]
            lines = "".join(f"{{{', '.join(map('{}: {}'.format, names, record))}}}\n" for record in records).encode()
        else:
            own = [_texts(values) for name, values in columns.items() if name in self._format.columns]
            others = [values for name, values in columns.items() if name not in self._format.columns]
            if any(needs_quotes(texts) for texts in own):
                own, others = [], [*own, *others]
            lines = csv_records(own, others)
        self.put(self._header(tuple(columns)) + lines)
        self._headed = True

    def put(self, lines: bytes) -> None:
        """Appends whole lines, with compression as a separate gzip member; they are in the file on return.

        Raises:
          OSError: writing failed (a full disk); the lines are cut off again if possible.
        """
        self._cut()
        self._empty = False
        # level 3 takes half the time of the default level, for a tenth more bytes
        data = memoryview(gzip.compress(lines, compresslevel=3, mtime=0) if self._format.compressed else lines)
        whole = self.file.tell() if self.file.seekable() and self._name != STDOUT else None
        try:
            while data:  # an unbuffered file may write only a part
                data = data[self.file.write(data) :]
            self.file.flush()
        except OSError:
            if whole is not None and not is_special(self._name):
                self.file.truncate(whole)
                self.file.seek(whole)
            raise

    def finish(self) -> None:
        """Finishes the file: writes the header if there are no rows, and at least one gzip member."""
        header = self._header(self._format.columns)
        if header or (self._format.compressed and self._empty):
            self.put(header)
        self._cut()

    def close(self) -> None:
        """Closes the file and releases the lock; does nothing the second time."""
        self.held.close()

    def _header(self, columns: tuple[str, ...]) -> bytes:
        if self._headed:
            return b""
        return csv_header(columns) if self._format.kind == "csv" else self._format.heading

    def _cut(self) -> None:
        """Cuts off the incomplete end of a killed run; only at the first write, so that a check can refuse before."""
        if self._cut_at is not None:
            self.file.truncate(self._cut_at)
            self.file.seek(self._cut_at)
        self._cut_at = None


def open_lines(
    name: str,
    lines: LineFormat,
    *,
    reads: Iterable[Source] = (),
    resume: bool = False,
    force: bool = False,
    resumable: bool = True,
    sample: int = SAMPLE,
) -> LineFile:
    """Opens an output of lines. A resumed output is not modified before the first write.

    Args:
      name: a path, or ``-`` for the standard output.
      lines: the format.
      reads: the inputs, which are never overwritten.
      resume: whether to keep the whole lines of an output that an earlier run left.
      force: whether to replace an existing output.
      resumable: whether the message for an output that exists names the option to resume.
      sample: number of kept lines at either end in ``found.samples``.

    Raises:
      ValueError, OSError: as ``check_output`` does.
      ResumeError: the output to resume is not of this kind.
    """
    with contextlib.ExitStack() as held:
        held.enter_context(lock_output(name, reads=reads, exist_ok=resume or force, resumable=resumable))
        if name == "-":
            return LineFile(standard_output(), STDOUT, lines)
        # only files keep rows of an earlier run, unlike devices and pipes
        kept = resume and os.path.isfile(name)
        found = recover(name, lines, sample) if kept else None
        file = held.enter_context(open_target(name, keep=kept))
        opened = LineFile(file, name, lines, found)
        opened.held = held.pop_all()
    return opened


def recover(path: str, lines: LineFormat, sample: int = SAMPLE) -> Recovered:
    """Finds the whole rows of an output of lines, without changing it.

    Args:
      path: the file.
      lines: its format; its header or comments may be incomplete.
      sample: number of records at either end to keep as samples.

    Raises:
      ResumeError: it is not an output of this kind, or begins with other comments.
      OSError: it can't be read.
    """
    kind, compressed, columns, heading = lines
    found = Recovered()
    records = _Records(kind == "csv", sample)
    for data, end in _members(path) if compressed else _plain(path):
        try:
            records.feed(data)
        except csv.Error as error:
            raise ResumeError(f"{path}: has a malformed CSV record ({error})") from error
        if len(records.rest) > LONGEST_LINE:
            raise ResumeError(f"{path}: a line is longer than {LONGEST_LINE} bytes: not an output of jaxsudoku")
        if end is not None and (not compressed or not records.rest):
            keep = end if compressed else end - len(records.rest)
            found = Recovered(records.count, keep, dict(records.samples))
    if not records.count and heading.startswith(records.rest):
        return Recovered()  # a run that was killed while writing its heading
    if found.keep == 0 and records.count and not _is_first(records.samples[0], kind, columns, heading):
        raise ResumeError(f"{path}: begins with {', '.join(records.samples[0])!r}, which jaxsudoku did not write")
    if not _may_begin(records.rest, kind, () if records.count else columns):
        raise ResumeError(f"{path}: the end of the file is not a half-written line of jaxsudoku: {records.rest[:40]!r}")
    if not found.samples:
        return found
    above = 0
    if kind == "jsonl":
        samples = {index: _json_record(line, path) for index, (line,) in found.samples.items()}
        found.header = tuple(samples[0])
        found.samples = {index: list(record.values()) for index, record in samples.items()}
    elif kind == "csv":
        found.header = tuple(found.samples[0])
        above = 1
    else:
        above = _check_heading(path, found, heading)
    found.done -= above
    found.samples = {index - above: fields for index, fields in found.samples.items() if index >= above}
    return found


def _check_heading(path: str, found: Recovered, heading: bytes) -> int:
    """The number of comments at the top of a text; raises ResumeError if they differ from the heading."""
    expected = heading.decode().splitlines()
    first = [found.samples[index][0] for index in range(min(len(found.samples), len(expected) + 1))]
    comments = [line for line in first if line.startswith("#")]
    if comments != expected:
        said = comments[0] if comments else "nothing"
        raise ResumeError(f"{path}: begins with {said}, instead of {expected[0] if expected else 'a puzzle'}")
    return len(expected)


def _is_first(fields: list[str], kind: Kind, columns: tuple[str, ...], heading: bytes) -> bool:
    """Whether this may be the first line of an output with an incomplete first gzip member."""
    if kind == "csv":
        return tuple(fields[: len(columns)]) == columns
    line = f"{fields[0]}\n".encode(errors="surrogateescape")
    if kind == "jsonl":
        return _may_begin(line, kind, columns)
    return heading.startswith(line) if heading else _may_begin(line[:-1], kind, ())


def _may_begin(rest: bytes, kind: Kind, header: tuple[str, ...]) -> bool:
    """Whether the end of an output may be an incomplete line of ours, or of the header if given."""
    if kind == "text":
        return set(rest) <= set(b"0123456789 -.")
    first = f'{{"{SOLUTION_COLUMNS[0]}": '.encode() if kind == "jsonl" else ",".join(header).encode()
    return first.startswith(rest) or rest.startswith(first)


def _plain(path: str) -> Iterator[tuple[bytes, int]]:
    end = 0
    with open(path, "rb") as file:
        while data := file.read(BLOCK):
            end += len(data)
            yield data, end


def _members(path: str) -> Iterator[tuple[bytes, int | None]]:
    """Yields decompressed pieces; the last one of each member with its end in the file, others with None."""
    decoder = zlib.decompressobj(wbits=zlib.MAX_WBITS | 16)
    for data, end in _plain(path):
        if end == len(data) and not (data.startswith(_GZIP_MAGIC) or data == _GZIP_MAGIC[:1]):
            raise ResumeError(f"{path}: not gzip data")
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
        self.count = 0
        self.rest = b""
        self.samples: dict[int, list[str]] = {}
        self._quoted, self._sample = quoted, sample

    def feed(self, data: bytes) -> None:
        """Adds data; the bytes after the last whole record become ``rest``."""
        data = self.rest + data
        raw = np.frombuffer(data, np.uint8)
        newline = raw == ord("\n")
        if self._quoted and b'"' in data:
            newline &= np.cumsum(raw == ord('"'), dtype=np.uint8) % 2 == 0
        ends = np.flatnonzero(newline) + 1
        size = self._sample
        for row in {*range(min(size, len(ends))), *range(max(0, len(ends) - size), len(ends))}:
            self.samples[self.count + row] = self._fields(data[ends[row - 1] if row else 0 : ends[row]])
        self.count += len(ends)
        self.rest = data[ends[-1] :] if len(ends) else data
        self.samples = {at: fields for at, fields in self.samples.items() if at <= size or at >= self.count - size}

    def _fields(self, record: bytes) -> list[str]:
        if self._quoted:
            return read_record(record) or [""]
        return [record.decode(errors="surrogateescape").rstrip("\r\n")]


def _texts(values: Sequence[str] | np.ndarray) -> Sequence[str]:
    """The values of a column as texts, "" for masked ones."""
    if not isinstance(values, np.ndarray):
        return values
    if isinstance(values, np.ma.MaskedArray):
        return np.where(np.ma.getmaskarray(values), "", _texts(values.data)).tolist()
    if values.dtype.kind == "f":  # a missing rating is an empty field
        return ["" if math.isnan(value) else f"{value:.6g}" for value in values.tolist()]
    return list(map(str, values.tolist()))


def _json_values(values: Sequence[Any] | np.ndarray) -> Iterable[str]:
    """The values of a column in JSON: null for missing numbers, texts for infinite ones."""
    if isinstance(values, np.ndarray):
        texts = _texts(values)
        return [text if text[-1:].isdecimal() else json.dumps(text or None) for text in texts]
    # numbers of a carried column may be infinite, too
    return [json.dumps(str(x) if isinstance(x, float) and not math.isfinite(x) else x) for x in values]


def _json_record(line: str, path: str) -> dict[str, str]:
    """The values of an object as texts, numbers as they are written; raises ResumeError if the line is none."""
    try:
        record = json.loads(line, parse_float=str, parse_int=str)
    except ValueError:
        record = None
    if not isinstance(record, dict):
        raise ResumeError(f"{path}: has the line {line[:40]!r}, which jaxsudoku did not write")
    return {name: "" if value is None else str(value) for name, value in record.items()}
