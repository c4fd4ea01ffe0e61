"""A Parquet file in parts until it is whole. Needs pyarrow, the extra ``parquet``.

A Parquet file can't be appended to, so each write makes a part of its own, under a temporary name until it is whole. A
clean close merges the parts. Wherever the run is killed, either the target is there and whole, or the parts are.

The parts lie in the directory ``<target>.parts``, which a file marks as ours. A directory without the mark, or with any
other file, is never touched.
"""

from __future__ import annotations

import contextlib
import errno
import os
import re
from collections.abc import Iterable
from typing import Any

from .parquet import import_pyarrow
from .resume import SAMPLE, Recovered, ResumeError
from .source import Source
from .target import check_target, locked, output_exists

_SUFFIX = ".parquet"
_TEMPORARY = ".tmp"
_MERGED = f"merged{_TEMPORARY}"
#: Marks a directory of parts.
MARK = "jaxsudoku-parts"
#: Columns that a resumed run compares with its own answers.
_SAMPLED = ("puzzle", "solution", "rating")
_OURS = re.compile(rf"\d{{15}}{re.escape(_SUFFIX)}({re.escape(_TEMPORARY)})?|{re.escape(_MERGED)}|{MARK}")


class PartsFile:
    """A Parquet output; made by ``open_parts``.

    Attributes:
      found: what an earlier run left; its header names the columns of the last part.
      held: drops the lock.
    """

    def __init__(self, name: str, folder: str, found: Recovered) -> None:
        self.found = found
        self.held = contextlib.ExitStack()
        self._name, self._folder = name, folder

    def put(self, table: Any, start: int) -> None:
        """Adds rows, a pyarrow table, the first of which has the number ``start``; they are kept when this returns."""
        _, pq = import_pyarrow()
        if os.path.isfile(self._name):
            # The target is whole, but more is to come: it becomes the first part. Parts beside a whole target are what
            # a run left that was killed while it cleaned up.
            for stale in _list(self._folder):
                os.remove(stale)
            os.replace(self._name, self._path(0))
        path = self._path(start)
        pq.write_table(table, f"{path}{_TEMPORARY}")
        os.replace(f"{path}{_TEMPORARY}", path)

    def finish(self, empty: Any) -> None:
        """Merges the parts into the target, which has the schema ``empty`` where there are none, and removes them."""
        pa, pq = import_pyarrow()
        if not os.path.isfile(self._name):
            parts = _list(self._folder)
            schema = pa.unify_schemas([pq.read_schema(part) for part in parts] or [empty], promote_options="permissive")
            merged = os.path.join(self._folder, _MERGED)
            with pq.ParquetWriter(merged, schema) as writer:
                for part in parts:
                    # row group by row group: the same file comes out wherever a run was stopped and resumed
                    with pq.ParquetFile(part) as file:
                        for group in range(file.num_row_groups):
                            writer.write_table(file.read_row_group(group).cast(schema))
            os.replace(merged, self._name)
        _remove(self._folder)

    def close(self) -> None:
        """Drops the lock, and removes the directory if it has no parts; does nothing the second time."""
        with self.held:
            if os.path.isdir(self._folder) and os.listdir(self._folder) == [MARK]:
                _remove(self._folder)

    def _path(self, start: int) -> str:
        return os.path.join(self._folder, f"{start:015}{_SUFFIX}")


def open_parts(
    name: str,
    *,
    reads: Iterable[Source] = (),
    resume: bool = False,
    force: bool = False,
    resumable: bool = True,
    sample: int = SAMPLE,
) -> PartsFile:
    """Opens a Parquet output; arguments and errors are those of ``open_lines``.

    Samples have the columns ``puzzle``, ``solution`` and ``rating``, and an empty text in the place of the others.

    Raises:
      FileExistsError: the directory for the parts holds a file that is not ours.
      ImportError: pyarrow is missing.
    """
    import_pyarrow()
    check_target(name, reads=reads, renamed=True)
    folder = f"{name}.parts"
    with contextlib.ExitStack() as held:
        held.enter_context(locked(name))
        _check_ours(folder)
        if not (resume or force) and (os.path.isfile(name) or _list(folder)):
            raise output_exists(name, resumable=resumable)
        if force:
            if os.path.isfile(name):
                os.remove(name)
            if os.path.isdir(folder):
                _remove(folder)
        found = _recover([name] if os.path.isfile(name) else _list(folder), sample)
        # made at once, so that an output that can't be written is known before any puzzle is solved
        os.makedirs(folder, exist_ok=True)
        with open(os.path.join(folder, MARK), "w") as file:
            file.write(f"jaxsudoku keeps the parts of {os.path.basename(name)} here until it is whole\n")
        opened = PartsFile(name, folder, found)
        opened.held = held.pop_all()
    return opened


def _check_ours(folder: str) -> None:
    """Raises FileExistsError where what has the name of the directory of parts is not ours, or not all of it."""
    if not os.path.lexists(folder):
        return
    if os.path.islink(folder) or not os.path.isdir(folder):
        raise FileExistsError(errno.EEXIST, "the parts of the output would go here: move it out of the way", folder)
    names = sorted(os.listdir(folder))
    strange = next((name for name in names if not _OURS.fullmatch(name)), None)
    if strange is not None or (names and MARK not in names):
        cause = f"a directory of parts without the file {MARK}" if strange is None else "no part of an output of ours"
        cause += ", so it is left as it is: move it out of the way"
        raise FileExistsError(errno.EEXIST, cause, os.path.join(folder, strange) if strange else folder)


def _remove(folder: str) -> None:
    """Removes our own files, the mark last, and the directory unless something else has come into it."""
    for name in sorted(os.listdir(folder), key=lambda name: name == MARK):
        if _OURS.fullmatch(name):
            os.remove(os.path.join(folder, name))
    if not os.listdir(folder):
        os.rmdir(folder)


def _list(folder: str) -> list[str]:
    """The whole parts, in the order of their rows."""
    names = sorted(os.listdir(folder)) if os.path.isdir(folder) else []
    return [os.path.join(folder, name) for name in names if name.endswith(_SUFFIX)]


def _recover(paths: list[str], sample: int) -> Recovered:
    pa, pq = import_pyarrow()
    found = Recovered()
    for path in paths:
        try:
            file = pq.ParquetFile(path)
        except pa.ArrowInvalid as error:
            raise ResumeError(f"{path}: no whole Parquet file ({error})") from error
        with file:
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
    """Adds the rows of a part from either end."""
    start, rows = found.done, file.metadata.num_rows
    for group in range(file.num_row_groups):
        count = file.metadata.row_group(group).num_rows
        first = start - found.done
        wanted = {*range(min(count, sample - first)), *range(max(0, rows - sample - first), count)}
        if wanted:
            table = file.read_row_group(group, columns=[name for name in found.header if name in _SAMPLED])
            found.samples |= {start + row: _texts(table, row, found.header) for row in wanted}
        start += count
