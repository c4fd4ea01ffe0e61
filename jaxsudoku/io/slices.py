"""Slices of inputs that can be read independently: row groups of Parquet, whole lines of text, or whole files.

Text with one puzzle per line, plain or CSV, is sliced if it has no quotes. All other inputs are one slice: compressed
ones, JSON lines, drawn grids. A slice has the format of the whole file, which may not be detectable in the slice.
"""

from __future__ import annotations

import contextlib
import dataclasses
import errno
import functools
import glob
import os
from collections.abc import Iterator, Sequence
from typing import BinaryIO, cast

from jaxsudoku.core.board import Board
from jaxsudoku.runtime.urls import file_system, is_url, open_file

from .compression import MAGIC_LENGTH
from .csv_tables import CsvTable
from .format import Format
from .lines import Lines
from .parquet import Parquet
from .read import PuzzleFile, SliceFormat
from .source import BLOCK, is_plain


@dataclasses.dataclass(frozen=True)
class Slice:
    """A slice of an input.

    Attributes:
      source: the path or URL of the file.
      kind: the name of its format.
      start, stop: the row groups of Parquet, or the bytes of a text; 0 and None for the whole file.
      before: the rows of Parquet before the slice, or 0.
      header: the header line of a table, without the newline, which is missing in the slice.
      delimiter: the delimiter of CSV.
      zero_based: whether digits are counted from 0.
      numbers: as in ``BoardCheck``.
    """

    source: str
    kind: str
    start: int = 0
    stop: int | None = None
    before: int = 0
    header: str = ""
    delimiter: str = ""
    zero_based: bool = False
    numbers: bool = False


class LineStream:
    """The bytes of a slice of a text, the header first; counts its lines.

    Args:
      stream: the file.
      part: the slice.

    Attributes:
      name: the name of the file.
      header_lines: number of lines of the header, which is not part of the file at this position.
      lines: number of lines of the slice read so far, without the header.
    """

    def __init__(self, stream: BinaryIO, part: Slice) -> None:
        self.name, self.lines = part.source, 0
        self._stream = stream
        self._left = None if part.stop is None else part.stop - part.start
        self._header = f"{part.header}\n".encode(errors="surrogateescape") if part.header else b""
        self.header_lines = self._header.count(b"\n")
        if part.start:
            stream.seek(part.start)

    def read(self, size: int) -> bytes:
        """At most ``size`` bytes, none at the end of the slice."""
        if self._header and size:
            found, self._header = self._header, b""
            return found
        found = self._stream.read(size if self._left is None else min(size, self._left))
        if self._left is not None:
            self._left -= len(found)
        self.lines += found.count(b"\n")
        return found


@contextlib.contextmanager
def open_slice(part: Slice, board: Board, column: str | None = None) -> Iterator[PuzzleFile]:
    """Opens a slice as ``open_puzzles`` opens a file; the ``stream`` of a text is a ``LineStream``."""
    with open_file(part.source) as stream:
        known, read = None, stream
        if part.stop is not None and part.kind == Parquet.name:
            known = SliceFormat(Parquet, True, range(part.start, part.stop), part.before, part.numbers)
        elif part.stop is not None:
            form = Lines if part.kind == Lines.name else functools.partial(CsvTable, delimiter=part.delimiter.encode())
            known = SliceFormat(form, part.start == 0, numbers=part.numbers)
            read = cast(BinaryIO, LineStream(stream, part))
        yield PuzzleFile(read, part.source, board, column, zero_based=part.zero_based, known=known)


def slices(
    source: str, board: Board | None, column: str | None, puzzles: int, *, zero_based: bool = False
) -> tuple[PuzzleFile, list[Slice]]:
    """The properties of a file, and its slices.

    Args:
      source: a path or URL.
      board, column, zero_based: as in ``open_puzzles``.
      puzzles: approximate number of puzzles per slice: whole row groups of Parquet with at least this many rows, or
        about this many lines of text.

    Returns:
      The ``PuzzleFile``, already closed, and the slices.

    Raises:
      OSError, PuzzleFileError: as in ``open_puzzles`` and ``PuzzleFile.check``.
      ImportError: a package for the format or the URL is missing.
    """
    with open_file(source) as stream:
        plain = is_plain(stream.read(MAGIC_LENGTH))
        stream.seek(0)
        opened = PuzzleFile(stream, source, board, column, zero_based=zero_based)
        opened.check()
        kind = opened.format
        whole = Slice(source, kind.name, zero_based=zero_based, numbers=opened.numbers)
        sliced = isinstance(kind, Parquet) or (plain and isinstance(kind, Lines | CsvTable))
        if not sliced or (not isinstance(kind, Parquet) and _quoted(stream)):
            return opened, [whole]
        if isinstance(kind, Parquet):
            found = _row_groups(whole, kind.group_rows(), puzzles)
        else:
            size = puzzles * (opened.board.cells * (1 if opened.board.side < 10 else 3) + 1)
            found = _line_slices(whole, kind, _line_bounds(stream, size))
        if not zero_based:  # not known in a slice
            stream.seek(0)
            PuzzleFile(stream, source, board, column).check_zeros()
    return opened, found


def _line_slices(whole: Slice, kind: Format, bounds: list[tuple[int, int]]) -> list[Slice]:
    """Slices of a text of lines between these bytes."""
    header = ""
    if isinstance(kind, CsvTable):
        header = kind.header().decode(errors="surrogateescape")
        end = kind.start.head.find(kind.header()) + len(kind.header())
        while len(bounds) > 1 and bounds[0][1] <= end:  # comments before it may be longer than a slice
            bounds = [(bounds[0][0], bounds[1][1]), *bounds[2:]]
        whole = dataclasses.replace(whole, delimiter=kind.delimiter.decode())
    return [
        dataclasses.replace(whole, start=start, stop=stop, header=header if start else "") for start, stop in bounds
    ]


def _row_groups(whole: Slice, rows: Sequence[int], puzzles: int) -> list[Slice]:
    """Slices of at least ``puzzles`` rows, except the last one."""
    found, first, before, held = [], 0, 0, 0
    for group, count in enumerate(rows):
        held += count
        if held >= puzzles or group == len(rows) - 1:
            found.append(dataclasses.replace(whole, start=first, stop=group + 1, before=before))
            first, before, held = group + 1, before + held, 0
    return found


def _line_bounds(stream: BinaryIO, size: int) -> list[tuple[int, int]]:
    """Begins and ends of slices of at least ``size`` bytes, which end after a newline."""
    end = stream.seek(0, os.SEEK_END)
    bounds, start = [], 0
    while start < end:
        stop = start + size - 1  # a newline may be there
        if stop < end:
            stream.seek(stop)
            while piece := stream.read(BLOCK):
                at = piece.find(b"\n") + 1
                stop += at or len(piece)
                if at:
                    break
        bounds.append((start, min(stop, end)))
        start = bounds[-1][1]
    return bounds


def _quoted(stream: BinaryIO) -> bool:
    """Whether there is a quote anywhere."""
    stream.seek(0)
    return any(b'"' in piece for piece in iter(lambda: stream.read(BLOCK), b""))


def expand(names: Sequence[str]) -> list[str]:
    """The files of paths and URLs, with ``*``, ``?`` and ``[...]`` or folders, in the order of the arguments.

    The files of a pattern or a folder are sorted by name; names that begin with a dot are left out.

    Raises:
      FileNotFoundError: there is no such file.
      ImportError, ValueError: as ``urls.file_system``.
    """
    found: list[str] = []
    for name in names:
        files = _matching_urls(name) if is_url(name) else _matching(name)
        if not files:
            raise FileNotFoundError(errno.ENOENT, os.strerror(errno.ENOENT), name)
        found += files
    return found


def _matching(name: str) -> list[str]:
    if os.path.isfile(name):
        return [name]
    if os.path.isdir(name):
        name = os.path.join(glob.escape(name), "*")
    return sorted(path for path in glob.glob(name, recursive=True) if os.path.isfile(path))


def _matching_urls(url: str) -> list[str]:
    system, path = file_system(url)
    if system.isdir(path):
        path = f"{path.rstrip('/')}/*"
    entries = system.glob(path, detail=True) if glob.has_magic(path) else {path: system.info(path)}
    files = sorted(name for name, entry in entries.items() if entry["type"] == "file")
    names = (name for name in files if not name.rpartition("/")[2].startswith("."))
    return [system.unstrip_protocol(name) for name in names]
