"""Quoted fields of CSV: they may be long, go on over several lines, and never be closed."""

from __future__ import annotations

import contextlib
import csv
import functools
import re
import threading
from collections.abc import Iterable, Iterator
from typing import Any

from .chunk import PuzzleFileError
from .source import LONGEST_LINE

#: The csv module has one limit for the length of fields, which all threads share.
_LIMIT = threading.Lock()


@contextlib.contextmanager
def csv_reader(lines: Iterable[str], delimiter: str = ",") -> Iterator[Any]:
    """A ``csv.reader`` of fields of any length that ``whole_records`` gives, to be read within the block."""
    with _LIMIT:
        before = csv.field_size_limit()
        csv.field_size_limit(max(before, 2 * LONGEST_LINE))
        try:
            yield csv.reader(lines, delimiter=delimiter)
        finally:
            csv.field_size_limit(before)


def read_record(record: bytes, delimiter: bytes = b",") -> list[str]:
    """The fields of one record, none of an empty one; raises ``csv.Error`` where it is malformed."""
    text = record.decode(errors="surrogateescape").rstrip("\r\n")
    with csv_reader([text], delimiter.decode()) as reader:
        return next(reader, [])


def record_end(data: bytes, start: int, delimiter: bytes) -> int:
    """Where the record that begins at ``start``, at the beginning of a line, ends: at a newline outside of quotes."""
    end = data.index(b"\n", start)
    if b'"' not in data[start:end]:
        return end
    for match in _quoted_field(delimiter).finditer(data, max(0, start - 1)):
        if match.start(1) > end:
            break
        end = max(end, data.find(b"\n", match.end()))
    return end


def within_quotes(data: bytes, at: int, delimiter: bytes) -> bool:
    """Whether a place in whole records lies within a quoted field."""
    return any(match.start(1) < at < match.end() for match in _quoted_field(delimiter).finditer(data, 0, at + 1))


def whole_records(blocks: Iterator[bytes], name: str, delimiter: bytes) -> Iterator[bytes]:
    """Blocks of whole lines again, cut so that no quoted field goes on from one to the next.

    Args:
      blocks: blocks of whole lines.
      name: the file's name, for messages.
      delimiter: what separates fields, one character.

    Raises:
      PuzzleFileError: a quote is never closed, or is closed on a later line amid a field, which happens where one is
        missing; the message names the line where it was opened. All records before come first.
    """
    held, line = b"", 1
    for block in blocks:
        data = held + block if held else block
        whole, open_at, failed = _split(data, delimiter) if b'"' in data else (len(data), None, False)
        if whole:
            yield data[:whole]
        held = data[whole:]
        if open_at is not None and (failed or len(held) > LONGEST_LINE):
            cause = "" if failed else f" within {LONGEST_LINE} bytes"
            raise _unclosed(name, line + data.count(b"\n", 0, open_at), cause)
        line += data.count(b"\n", 0, whole)
    if held:
        _, open_at, _ = _split(held, delimiter)
        raise _unclosed(name, line + held.count(b"\n", 0, open_at))


def _split(data: bytes, delimiter: bytes) -> tuple[int, int | None, bool]:
    """Where the last whole record ends; where a quote was opened and not closed after it; and whether it can't be."""
    pattern = _quoted_field(delimiter)
    ends = (delimiter, b"\r", b"\n", b"")
    record = done = 0
    for match in pattern.finditer(data):
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
    """A quoted field from the start of a line or a delimiter on; its second group is empty where it is not closed."""
    return re.compile(rb"(?:\A|[\r\n" + re.escape(delimiter) + rb'])(")(?:[^"]++|"")*+("|\Z)')


def _unclosed(name: str, line: int, where: str = "") -> PuzzleFileError:
    return PuzzleFileError(f"{name}:{line}: a quote is opened here and never closed{where}")
