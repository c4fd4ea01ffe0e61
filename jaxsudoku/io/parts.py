"""Answers as a Parquet file, in parts until it is whole. Needs pyarrow, the extra ``parquet``.

A Parquet file can't be appended to, so each write makes a part of its own, under a temporary name until it is whole. A
clean close merges the parts. Wherever the run is killed, either the target is there and whole, or the parts are.
"""

from __future__ import annotations

import os
import shutil
from typing import Any

from ..board import Board
from ..solution import Solution
from .chunk import Chunk
from .format import NUMBERS, answer_columns
from .parquet import import_pyarrow
from .resume import SAMPLE, Recovered, ResumeError, check_columns
from .write import SolutionWriter, output_exists

_SUFFIX = ".parquet"


def open_parts(name: str, board: Board, columns: tuple[str, ...], *, resume: bool, force: bool) -> SolutionWriter:
    """The writer of a Parquet file with these columns; other arguments and errors are those of ``open_output``."""
    import_pyarrow()
    parts = f"{name}.parts"
    exists = os.path.isfile(name) or os.path.isdir(parts)
    if exists and not (resume or force):
        raise output_exists(name)
    if force:
        if os.path.isfile(name):
            os.remove(name)
        if os.path.isdir(parts):
            shutil.rmtree(parts)
    found = _recover([name] if os.path.isfile(name) else _list(parts), columns)
    # Made at once, so that an output that can't be written is known before any puzzle is solved.
    os.makedirs(parts, exist_ok=True)
    return _PartsWriter(name, parts, board, columns, found)


class _PartsWriter(SolutionWriter):
    def __init__(self, name: str, parts: str, board: Board, columns: tuple[str, ...], found: Recovered) -> None:
        super().__init__(name, board, columns, found)
        self._parts = parts

    def _append(self, chunk: Chunk, solution: Solution) -> None:
        pa, pq = import_pyarrow()
        columns = answer_columns(chunk, solution, self._side)
        if self._found.header not in ((), tuple(columns)):
            raise ResumeError(f"{self._name}: has the columns {self._found.header}, but the answers {tuple(columns)}")
        self._found.header = tuple(columns)
        if os.path.isfile(self._name):
            # The target is whole, but the input has grown since: it becomes the first part. Parts beside a whole
            # target are what a run left that was killed while it cleaned up.
            for stale in _list(self._parts):
                os.remove(stale)
            os.replace(self._name, self._path(0))
        self._replace(pq, pa.table(columns), self._path(chunk.start))

    def _finish(self) -> None:
        pa, pq = import_pyarrow()
        if not os.path.isfile(self._name):
            parts = _list(self._parts)
            schemas = [pq.read_schema(part) for part in parts] or [_empty(pa, self._columns)]
            schema = pa.unify_schemas(schemas, promote_options="permissive")
            merged = os.path.join(self._parts, "merged.tmp")
            with pq.ParquetWriter(merged, schema) as writer:
                for part in parts:
                    writer.write_table(pq.read_table(part).cast(schema))
            os.replace(merged, self._name)
        shutil.rmtree(self._parts)

    def _release(self) -> None:
        if os.path.isdir(self._parts) and not os.listdir(self._parts):
            os.rmdir(self._parts)

    def _path(self, start: int) -> str:
        return os.path.join(self._parts, f"{start:015}{_SUFFIX}")

    def _replace(self, pq: Any, table: Any, path: str) -> None:
        pq.write_table(table, f"{path}.tmp")
        os.replace(f"{path}.tmp", path)


def _list(parts: str) -> list[str]:
    """The whole parts, in the order of their puzzles."""
    names = sorted(os.listdir(parts)) if os.path.isdir(parts) else []
    return [os.path.join(parts, name) for name in names if name.endswith(_SUFFIX)]


def _recover(paths: list[str], columns: tuple[str, ...]) -> Recovered:
    pa, pq = import_pyarrow()
    found = Recovered()
    for path in paths:
        try:
            file = pq.ParquetFile(path)
        except pa.ArrowInvalid as error:
            raise ResumeError(f"{path}: no whole Parquet file ({error})") from error
        with file:
            found.header = tuple(file.schema_arrow.names)
            check_columns(path, found.header, columns)
            if len(paths) > 1 and os.path.basename(path) != f"{found.done:015}{_SUFFIX}":
                raise ResumeError(f"{path}: the part with the answers from number {found.done + 1} on is missing")
            groups = file.num_row_groups
            for group in sorted({0, groups - 1} if groups else ()):
                before = sum(file.metadata.row_group(at).num_rows for at in range(group))
                _sample(found, file.read_row_group(group, columns=["puzzle"])["puzzle"], found.done + before)
            found.done += file.metadata.num_rows
    return found


def _sample(found: Recovered, puzzles: Any, start: int) -> None:
    count = len(puzzles)
    for row in {*range(min(SAMPLE, count)), *range(max(0, count - SAMPLE), count)}:
        found.samples[start + row] = [puzzles[row].as_py(), ""]


def _empty(pa: Any, columns: tuple[str, ...]) -> Any:
    counts = ("iterations", *NUMBERS)
    return pa.schema([(name, pa.int64() if name in counts else pa.string()) for name in columns])
