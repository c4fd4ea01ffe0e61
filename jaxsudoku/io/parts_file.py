"""Parquet outputs, kept in parts until they are finished, or written at once. Needs pyarrow, the extra ``parquet``.

A Parquet file can't be appended to, so each write makes a part of its own, under a temporary name until it is whole.
Finishing merges the parts. A run killed at any time leaves either a whole target or whole parts.

The parts lie in the directory ``<target>.parts``, which contains a marker file. A directory without the marker, or with
any other file, is never changed.
"""

from __future__ import annotations

import contextlib
import errno
import os
import re
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from .line_file import SAMPLE
from .parquet import COMPRESSION, arrow_table, import_pyarrow
from .source import Source
from .target import Recovered, ResumeError, lock_output, output_exists

_SUFFIX = ".parquet"
_TEMPORARY = ".tmp"
_MERGED = f"merged{_TEMPORARY}"
#: The file that marks a directory of parts.
MARK = "jaxsudoku-parts"
#: Columns whose samples a resumed run compares with its own answers.
_SAMPLED = ("puzzle", "solution", "rating", "score")
_OURS = re.compile(rf"\d{{15}}{re.escape(_SUFFIX)}({re.escape(_TEMPORARY)})?|{re.escape(_MERGED)}|{MARK}")


class PartsFile:
    """A Parquet output; made by ``open_parts``.

    Attributes:
      found: what an earlier run left; its header names the columns of the last part.
      held: releases the lock.
    """

    def __init__(self, name: str, folder: str, columns: Mapping[str, Any], found: Recovered) -> None:
        self.found = found
        self.held = contextlib.ExitStack()
        self._name, self._folder, self._next = name, folder, found.done
        self._types = _arrow_types(columns)

    def append(self, columns: Mapping[str, Any]) -> None:
        """Appends rows, n values a column, numbers as an array, all else as sequences; they are kept at the return.

        Raises:
          OSError: writing failed, or a text is not UTF-8.
        """
        _, pq = import_pyarrow()
        table = arrow_table(columns, self._next, self._types)
        if os.path.isfile(self._name):
            # The target is whole, but more rows follow: it becomes the first part. Parts beside a whole target are left
            # over from a run that was killed while it removed them.
            for stale in _list(self._folder):
                os.remove(stale)
            os.replace(self._name, self._path(0))
        path = self._path(self._next)
        with _opened(f"{path}{_TEMPORARY}", "wb") as file:
            pq.write_table(table, file, **_settings(table.schema))
        os.replace(f"{path}{_TEMPORARY}", path)
        self._next += table.num_rows

    def finish(self) -> None:
        """Merges the parts into the target, and removes them."""
        if not os.path.isfile(self._name):
            merged = os.path.join(self._folder, _MERGED)
            _merge(_list(self._folder), merged, self._types)
            os.replace(merged, self._name)
        _remove(self._folder)

    def close(self) -> None:
        """Releases the lock, and removes the directory if it has no parts; does nothing the second time."""
        with self.held:
            if os.path.isdir(self._folder) and os.listdir(self._folder) == [MARK]:
                _remove(self._folder)

    def _path(self, start: int) -> str:
        return os.path.join(self._folder, f"{start:015}{_SUFFIX}")


class WholeFile:
    """A Parquet output that is written at once and can't be resumed; made by ``open_whole``.

    Faster than ``PartsFile``, as nothing is written twice.

    Attributes:
      found: nothing.
      held: releases the lock.
    """

    def __init__(self, name: str, columns: Mapping[str, Any]) -> None:
        self.found = Recovered()
        self.held = contextlib.ExitStack()
        self._name, self._types = name, _arrow_types(columns)
        self._writer: Any = None
        self._file: Any = None
        self._pieces: list[str] = []
        self._next = 0

    def append(self, columns: Mapping[str, Any]) -> None:
        """Appends rows, as ``PartsFile.append`` does."""
        _, pq = import_pyarrow()
        table = arrow_table(columns, self._next, self._types)
        if self._writer is None or self._writer.schema != table.schema:  # a further column had nothing but nulls so far
            self._end_piece()
            self._pieces.append(f"{self._name}.{len(self._pieces)}{_TEMPORARY}")
            self._file = _opened(self._pieces[-1], "wb")
            self._writer = pq.ParquetWriter(self._file, table.schema, **_settings(table.schema))
        self._writer.write_table(table)
        self._next += table.num_rows

    def finish(self) -> None:
        """Completes the file, which replaces one that exists."""
        self._end_piece()
        if len(self._pieces) != 1:
            pieces, self._pieces = self._pieces, [f"{self._name}{_TEMPORARY}"]
            _merge(pieces, self._pieces[0], self._types)
            for piece in pieces:
                os.remove(piece)
        os.replace(self._pieces.pop(), self._name)

    def close(self) -> None:
        """Removes what is not finished, and releases the lock; does nothing the second time."""
        with self.held:
            self._end_piece()
            while self._pieces:
                os.remove(self._pieces.pop())

    def _end_piece(self) -> None:
        if self._writer is not None:
            self._writer.close()
            self._file.close()
            self._writer = None


def open_whole(
    name: str, columns: Mapping[str, Any], *, reads: Iterable[Source] = (), force: bool = False
) -> WholeFile:
    """Opens a Parquet output that can't be resumed; arguments and errors are those of ``open_parts``."""
    import_pyarrow()
    with contextlib.ExitStack() as held:
        held.enter_context(lock_output(name, reads=reads, exist_ok=force, renamed=True))
        opened = WholeFile(name, columns)
        opened.held = held.pop_all()
    return opened


def open_parts(
    name: str,
    columns: Mapping[str, Any],
    *,
    reads: Iterable[Source] = (),
    resume: bool = False,
    force: bool = False,
    sample: int = SAMPLE,
) -> PartsFile:
    """Opens a Parquet output; other arguments and errors are those of ``open_lines``.

    Samples have the columns ``puzzle``, ``solution``, ``rating`` and ``score``, and an empty text in place of others.

    Args:
      name: the path.
      columns: names and numpy dtypes of the first columns, ``object`` for text.

    Raises:
      FileExistsError: the directory for the parts holds a file that is not ours.
      ImportError: pyarrow is missing.
    """
    import_pyarrow()
    folder = f"{name}.parts"
    with contextlib.ExitStack() as held:
        held.enter_context(lock_output(name, reads=reads, exist_ok=True, renamed=True))
        _check_ours(folder)
        if not (resume or force) and (os.path.isfile(name) or _list(folder)):
            raise output_exists(name, resumable=True)
        if force:
            if os.path.isfile(name):
                os.remove(name)
            if os.path.isdir(folder):
                _remove(folder)
        found = _recover([name] if os.path.isfile(name) else _list(folder), sample)
        # made at once, so that an output that can't be written fails before any puzzle is solved
        os.makedirs(folder, exist_ok=True)
        with open(os.path.join(folder, MARK), "w", encoding="utf-8", errors="surrogateescape") as file:
            file.write(f"jaxsudoku keeps the parts of {os.path.basename(name)} here until it is whole\n")
        opened = PartsFile(name, folder, columns, found)
        opened.held = held.pop_all()
    return opened


def _opened(path: str, mode: str) -> Any:
    """A file of pyarrow, which takes names that are not UTF-8 as bytes alone."""
    pa, _ = import_pyarrow()
    return pa.OSFile(os.fsencode(path), mode)


def _arrow_types(columns: Mapping[str, Any]) -> dict[str, Any]:
    """The types of pyarrow of columns with these numpy dtypes, ``object`` for text."""
    pa, _ = import_pyarrow()
    return {name: pa.string() if dtype is object else pa.from_numpy_dtype(dtype) for name, dtype in columns.items()}


def _merge(parts: Sequence[str], merged: str, types: Mapping[str, Any]) -> None:
    """Writes the rows of files into one; ``types`` are those of the first columns, for no files."""
    pa, pq = import_pyarrow()
    schemas = [_schema(part) for part in parts] or [pa.schema(list(types.items()))]
    schema = pa.unify_schemas(schemas, promote_options="permissive")
    with _opened(merged, "wb") as target, pq.ParquetWriter(target, schema, **_settings(schema)) as writer:
        for part in parts:
            # by row groups: the file is the same wherever a run was stopped and resumed
            with _opened(part, "rb") as source, pq.ParquetFile(source) as file:
                for group in range(file.num_row_groups):
                    writer.write_table(file.read_row_group(group).cast(schema))


def _schema(part: str) -> Any:
    _, pq = import_pyarrow()
    with _opened(part, "rb") as file:
        return pq.read_schema(file)


def _settings(schema: Any) -> dict[str, Any]:
    """How files are written: columns whose values may repeat, all but grids, get a dictionary."""
    repeated = [name for name in schema.names if name not in ("puzzle", "solution")]
    return {"use_dictionary": repeated, "compression": COMPRESSION}


def _check_ours(folder: str) -> None:
    """Raises FileExistsError if the directory of parts is not ours, or contains files that are not ours."""
    if not os.path.lexists(folder):
        return
    if os.path.islink(folder) or not os.path.isdir(folder):
        raise FileExistsError(errno.EEXIST, "the parts of the output would go here: move it out of the way", folder)
    names = sorted(os.listdir(folder))
    strange = next((name for name in names if not _OURS.fullmatch(name)), None)
    if strange is not None or (names and MARK not in names):
        cause = (
            f"a directory of parts without the file {MARK}"
            if strange is None
            else "not a part of an output of jaxsudoku"
        )
        cause += ", so it is left as it is: move it out of the way"
        raise FileExistsError(errno.EEXIST, cause, os.path.join(folder, strange) if strange else folder)


def _remove(folder: str) -> None:
    """Removes our own files, the marker last, and the directory unless it has other files."""
    for name in sorted(os.listdir(folder), key=lambda name: name == MARK):
        if _OURS.fullmatch(name):
            os.remove(os.path.join(folder, name))
    if not os.listdir(folder):
        os.rmdir(folder)


def _list(folder: str) -> list[str]:
    """Paths of the whole parts, in the order of their rows."""
    names = sorted(os.listdir(folder)) if os.path.isdir(folder) else []
    return [os.path.join(folder, name) for name in names if name.endswith(_SUFFIX)]


def _recover(paths: list[str], sample: int) -> Recovered:
    pa, pq = import_pyarrow()
    found = Recovered()
    for path in paths:
        with contextlib.ExitStack() as stack:
            try:
                file = pq.ParquetFile(stack.enter_context(_opened(path, "rb")))
            except pa.ArrowInvalid as error:
                raise ResumeError(f"{path}: not a whole Parquet file ({error})") from error
            names = tuple(file.schema_arrow.names)
            if found.header not in ((), names):
                raise ResumeError(f"{path}: has the columns {names}, and the part before {found.header}")
            found.header = names
            if "puzzle" not in names:
                raise ResumeError(f"{path}: has no column puzzle")
            if len(paths) > 1 and os.path.basename(path) != f"{found.done:015}{_SUFFIX}":
                raise ResumeError(f"{path}: the part with the rows from number {found.done + 1} on is missing")
            _sample(file, found, sample)
            found.done += file.metadata.num_rows
    return found


def _texts(table: Any, row: int, header: tuple[str, ...]) -> list[str]:
    """A row's values as texts, in the order of the header."""
    values = {name: table[name][row].as_py() for name in table.column_names}
    return ["" if values.get(name) is None else str(values[name]) for name in header]


def _sample(file: Any, found: Recovered, sample: int) -> None:
    """Adds the first and last rows of a part to the samples."""
    start, rows = found.done, file.metadata.num_rows
    for group in range(file.num_row_groups):
        count = file.metadata.row_group(group).num_rows
        first = start - found.done
        wanted = {*range(min(count, sample - first)), *range(max(0, rows - sample - first), count)}
        if wanted:
            table = file.read_row_group(group, columns=[name for name in found.header if name in _SAMPLED])
            found.samples |= {start + row: _texts(table, row, found.header) for row in wanted}
        start += count
