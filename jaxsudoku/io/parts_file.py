"""Parquet outputs, resumable in parts or written directly. Needs pyarrow, the extra ``parquet``.

A Parquet file can't be appended to, so each write makes a separate part, under a temporary name until it is complete.
Finishing merges the parts. A run killed at any time leaves either a complete target or complete parts.

The parts are in ``<target>.parts``, a folder of parts with checksums, see ``runtime.part_folder``.
"""

from __future__ import annotations

import contextlib
import dataclasses
import itertools
import os
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, ClassVar

from jaxsudoku.runtime.files import TEMPORARY, JsonError, parse_checked, with_checksum
from jaxsudoku.runtime.part_folder import PartFolder, Record, ResumeError, record_of_file

from .line_file import SAMPLE
from .parquet import COMPRESSION, arrow_table, import_pyarrow
from .source import Source
from .target import Recovered, lock_output, output_exists

_MERGED = "merged.parquet"
#: Columns of samples that a resumed run compares with its answers.
_SAMPLED = ("puzzle", "solution", "rating", "score")


@dataclasses.dataclass(frozen=True)
class _Parts:
    """The ``Manifest`` of the parts of a Parquet output. Columns are compared elsewhere."""

    noun: ClassVar = "output"
    unfinished: ClassVar = "manifest.json"
    finished: ClassVar = "manifest.json"
    error: ClassVar = ResumeError
    parts: ClassVar = None

    def part(self, number: int) -> str:
        """The name of the file of a part."""
        return f"part-{number:05}.parquet"

    def encode(self, records: Sequence[Record] | None = None) -> bytes:
        """The manifest, which has only the format."""
        del records
        return with_checksum({"format": "parquet"})

    def compare(self, data: bytes, name: str) -> tuple[list[str], list[Record]]:
        """No differences; raises if the manifest is damaged."""
        try:
            parse_checked(data)
        except JsonError as error:
            raise ResumeError(f"{name}: {error}; the output is left as it is") from error
        return [], []


class PartsFile:
    """A Parquet output; made by ``open_parts``.

    Attributes:
      found: the rows left by an earlier run; the header has the columns of the last part.
      held: releases the locks.
    """

    def __init__(
        self, name: str, folder: PartFolder, kept: Sequence[Record], columns: Mapping[str, Any], found: Recovered
    ) -> None:
        self.found = found
        self.held = contextlib.ExitStack()
        self._name, self._folder, self._records, self._changed = name, folder, list(kept), False
        self._types, self._next = _arrow_types(columns), found.done

    def append(self, columns: Mapping[str, Any]) -> None:
        """Appends rows, n values per column, numbers as arrays, others as sequences; they are stored on return.

        Raises:
          OSError: writing failed, or a text is not UTF-8.
        """
        _, pq = import_pyarrow()
        table = arrow_table(columns, self._next, self._types)
        if not self._changed:
            self._begin()
        with self._folder.writing(_Parts().part(len(self._records))) as path:
            with _opened(path, "wb") as file:
                pq.write_table(table, file, **_settings(table.schema))
            self._records.append(self._folder.finish(path, {}))
        self._next += table.num_rows

    def _begin(self) -> None:
        """Removes parts that are not kept; a complete target that is to be extended becomes the first part.

        Parts beside a complete target are left from a run that was killed while removing them.
        """
        self._changed = True
        self._folder.keep(_Parts(), self._records)
        if os.path.isfile(self._name):
            self._records = [record_of_file(self._name, _Parts().part(0), {})]
            self._folder.adopt(self._name, self._records[0])

    def finish(self) -> None:
        """Merges the parts into the target, and removes them."""
        if not os.path.isfile(self._name):
            with self._folder.writing(_MERGED) as merged:
                _merge(_paths(self._folder, self._records), merged, self._types)
                os.replace(merged, self._name)
        self._records = []

    def close(self) -> None:
        """Releases the locks, and removes the folder if it has no parts; does nothing the second time."""
        self.held.close()

    def _remove_empty(self) -> None:
        if not self._records:
            self._folder.remove(_Parts())


class WholeFile:
    """A Parquet output that is written directly and can't be resumed; made by ``open_whole``.

    Faster than ``PartsFile``, as nothing is written twice.

    Attributes:
      found: no rows.
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
        if self._writer is None or self._writer.schema != table.schema:  # a further column had only nulls so far
            self._end_piece()
            self._pieces.append(f"{self._name}.{len(self._pieces)}{TEMPORARY}")
            self._file = _opened(self._pieces[-1], "wb")
            self._writer = pq.ParquetWriter(self._file, table.schema, **_settings(table.schema))
        self._writer.write_table(table)
        self._next += table.num_rows

    def finish(self) -> None:
        """Completes the file, which replaces an existing one."""
        self._end_piece()
        if len(self._pieces) != 1:
            pieces, self._pieces = self._pieces, [f"{self._name}{TEMPORARY}"]
            _merge(pieces, self._pieces[0], self._types)
            for piece in pieces:
                os.remove(piece)
        os.replace(self._pieces.pop(), self._name)

    def close(self) -> None:
        """Removes an unfinished file, and releases the lock; does nothing the second time."""
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
    """Opens a Parquet output that can't be resumed; arguments and errors as in ``open_parts``."""
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
    """Opens a resumable Parquet output; other arguments and errors as in ``open_lines``.

    Samples have the columns ``puzzle``, ``solution``, ``rating`` and ``score``; other columns are empty texts.

    Args:
      name: the path.
      columns: names and numpy dtypes of the first columns, ``object`` for text.

    Raises:
      FileExistsError: the directory for the parts has a foreign file.
      ImportError: pyarrow is missing.
    """
    import_pyarrow()
    folder = PartFolder(f"{name}.parts", durable=False)
    with contextlib.ExitStack() as held:
        held.enter_context(lock_output(name, reads=reads, exist_ok=True, renamed=True))
        whole = os.path.isfile(name)
        if whole and not (resume or force):
            raise output_exists(name, resumable=True)
        found = _recover([name] if whole and resume else [], sample)
        # created now, so that an output that can't be written fails before any puzzle is solved
        records = held.enter_context(folder.begun(_Parts(), resume=True))
        if records and not (resume or force):
            raise output_exists(name, resumable=True)
        kept: list[Record] = []
        if force and whole:
            os.remove(name)
        elif resume and not whole:
            kept = [records[number] for number in itertools.takewhile(records.__contains__, itertools.count())]
            found = _recover(_paths(folder, kept), sample)
        opened = PartsFile(name, folder, kept, columns, found)
        opened.held = held.pop_all()
        opened.held.callback(opened._remove_empty)
    return opened


def _paths(folder: PartFolder, records: Sequence[Record]) -> list[str]:
    """The paths of parts."""
    return [os.path.join(folder.name, record.file) for record in records]


def _opened(path: str, mode: str) -> Any:
    """Opens a file of pyarrow, which accepts names that are not UTF-8 only as bytes."""
    pa, _ = import_pyarrow()
    return pa.OSFile(os.fsencode(path), mode)


def _arrow_types(columns: Mapping[str, Any]) -> dict[str, Any]:
    """The pyarrow types of columns with these numpy dtypes, ``object`` for text."""
    pa, _ = import_pyarrow()
    return {name: pa.string() if dtype is object else pa.from_numpy_dtype(dtype) for name, dtype in columns.items()}


def _merge(parts: Sequence[str], merged: str, types: Mapping[str, Any]) -> None:
    """Merges files into one; ``types`` are the types of the first columns, used if there are no files."""
    pa, pq = import_pyarrow()
    schemas = [_schema(part) for part in parts] or [pa.schema(list(types.items()))]
    schema = pa.unify_schemas(schemas, promote_options="permissive")
    with _opened(merged, "wb") as target, pq.ParquetWriter(target, schema, **_settings(schema)) as writer:
        for part in parts:
            # by row groups, so that the file does not depend on where a run was stopped and resumed
            with _opened(part, "rb") as source, pq.ParquetFile(source) as file:
                for group in range(file.num_row_groups):
                    writer.write_table(file.read_row_group(group).cast(schema))


def _schema(part: str) -> Any:
    _, pq = import_pyarrow()
    with _opened(part, "rb") as file:
        return pq.read_schema(file)


def _settings(schema: Any) -> dict[str, Any]:
    """Settings for writing: all columns except grids, whose values do not repeat, get a dictionary."""
    repeated = [name for name in schema.names if name not in ("puzzle", "solution")]
    return {"use_dictionary": repeated, "compression": COMPRESSION}


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
