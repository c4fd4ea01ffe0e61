"""The folder of a job: its plan, its parts, and a record of each finished part.

::

    manifest.json      the plan; once all parts are there, with their records
    part-00000.csv     the answers to the first slice of the input, and so on
    part-00000.json    the record of a part; removed when the job is done
    .work/             parts that are being written; removed when the job is done

A part is written elsewhere and moved to its place when it is whole, and then its record is written. So a part with a
record is whole, and a job that was killed at any time goes on by doing the parts that have no record. A part that is
missing, or whose checksum is not that of its record, is done again too.
"""

from __future__ import annotations

import contextlib
import dataclasses
import errno
import io
import os
import shutil
import tempfile
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

from jaxsudoku.io import ResumeError
from jaxsudoku.io.urls import file_system, is_url
from jaxsudoku.runtime.files import (
    MOST_BYTES,
    JsonError,
    check_checksum,
    field,
    is_intact,
    parse_json,
    sha256_of,
    with_checksum,
    write_file,
)
from jaxsudoku.runtime.locks import SUFFIX, OutputLock

MANIFEST = "manifest.json"
_WORK = ".work"
#: The most parts that a message names.
_NAMED = 5
#: The fields of a manifest and of a record, and their types.
_PLAN = {"command": str, "settings": dict, "inputs": list, "items": list, "suffix": str}
_RECORD = {"file": str, "bytes": int, "sha256": str, "details": dict}


@dataclasses.dataclass(frozen=True)
class Plan:
    """What a job does, from which its parts follow.

    Attributes:
      command: the command.
      settings: what the answers depend on, as values of JSON.
      inputs: for each file its name and its size in bytes, in the order of the answers.
      items: what each part answers, as values of JSON.
      suffix: of the parts.
    """

    command: str
    settings: dict[str, Any]
    inputs: Sequence[dict[str, Any]]
    items: Sequence[dict[str, Any]]
    suffix: str

    def part(self, number: int) -> str:
        """The name of the file of a part."""
        width = max(5, len(str(len(self.items) - 1)))
        return f"part-{number:0{width}}{self.suffix}"

    def as_json(self) -> dict[str, Any]:
        """The plan as values of JSON."""
        return {**dataclasses.asdict(self), "inputs": list(self.inputs), "items": list(self.items)}

    def differences(self, other: dict[str, Any]) -> list[str]:
        """What differs in the plan of another job, in words."""
        own = self.as_json()
        if other.get("command") != self.command:
            return [f"it is of the command {other.get('command'):.60}"]
        found = []
        settings = other.get("settings", {})
        for name in sorted({*self.settings, *settings}):
            one, two = settings.get(name), self.settings.get(name)
            if one != two:
                found.append(f"{name:.60} is {one!r:.60} there, {two!r:.60} here")
        if not found and other.get("inputs") != own["inputs"]:
            found.append("its inputs are others, or were changed")
        if not found and any(other.get(name) != own[name] for name in ("items", "suffix")):
            found.append("its parts are others")
        return found


@dataclasses.dataclass(frozen=True)
class Record:
    """A finished part.

    Attributes:
      file: the name of its file.
      bytes, sha256: size and checksum of the file.
      details: what the task says of it, as values of JSON.
    """

    file: str
    bytes: int
    sha256: str
    details: dict[str, Any]

    @classmethod
    def read(cls, fields: dict[str, Any], file: str) -> Record:
        """The record of a part that is called ``file``; raises JsonError if it is none."""
        record = cls(**{name: field(fields, name, kind) for name, kind in _RECORD.items()})
        if record.file != file:
            raise JsonError(f"a record of {record.file!r:.60}, not of {file}")
        return record


class JobFolder:
    """The folder of a job, a path or a URL, which the first process and all workers reach. Pickles as its name.

    Args:
      name: the path or URL.
    """

    def __init__(self, name: str) -> None:
        self.name = name
        self._files: _Local | _Remote = _Remote(name) if is_url(name) else _Local(Path(name))

    def __reduce__(self) -> tuple[Any, ...]:
        return JobFolder, (self.name,)

    @contextlib.contextmanager
    def begun(
        self,
        plan: Plan,
        resume: bool,
        check: Callable[[int, dict[str, Any]], object] = lambda number, details: None,
        say: Callable[[str], object] = lambda message: None,
    ) -> Iterator[dict[int, Record]]:
        """Writes the plan, or compares it with that of the job to resume, and locks the folder in the block.

        Args:
          plan: the plan.
          resume: whether to go on with the job in the folder.
          check: checks the details of a part that is finished, by its number; raises JsonError.
          say: called with a message about parts that are missing or altered.

        Returns:
          a context manager that gives the records of the parts that are finished, by their numbers.

        Raises:
          FileExistsError: the folder holds anything, and is not to be resumed.
          ResumeError: it holds another job, or none, or a damaged manifest or record; the message says which file, and
            what differs. Nothing is changed.
          BlockingIOError: another process works on the job.
          OSError: the folder can't be made or read.
        """
        names = self._files.names()
        if names and not resume:
            cause = "the folder is not empty: --resume goes on with its job, or name another"
            raise FileExistsError(errno.EEXIST, cause, self.name)
        if resume and names:
            self._check(plan, names)
        with self._files.locked():
            if MANIFEST not in names:
                self._files.write(MANIFEST, with_checksum(plan.as_json()))
            yield self._finished(plan, check, say)

    def _check(self, plan: Plan, names: Sequence[str]) -> None:
        if MANIFEST not in names:
            raise ResumeError(f"{self.name}: holds no job to resume, but {names[0]}; it is left as it is")
        if differences := plan.differences(self._manifest()):
            raise ResumeError(f"{self.name}: holds another job: {'; '.join(differences)}; it is left as it is")

    def _manifest(self) -> dict[str, Any]:
        with self._reading(MANIFEST) as fields:
            for name, kind in _PLAN.items():
                field(fields, name, kind)
            if not all(isinstance(part, dict) for part in field({"parts": [], **fields}, "parts", list)):
                raise JsonError("'parts' has an entry that is not an object")
        return fields

    def _finished(
        self, plan: Plan, check: Callable[[int, dict[str, Any]], object], say: Callable[[str], object]
    ) -> dict[int, Record]:
        """The records of the parts that are finished and whole."""
        records: dict[int, Record] = {}

        def add(number: int, fields: dict[str, Any]) -> None:
            record = Record.read(fields, plan.part(number))
            check(number, record.details)
            records[number] = record

        with self._reading(MANIFEST) as manifest:
            listed = manifest.get("parts", [])
            if listed and len(listed) != len(plan.items):
                raise JsonError(f"it lists {len(listed):,} parts, where the job has {len(plan.items):,}")
            for number, fields in enumerate(listed):
                add(number, fields)
        names = set(self._files.names())
        for number in range(len(plan.items)):
            name = _record_of(plan.part(number))
            if name in names:  # newer than the manifest: of a part that was done again
                with self._reading(name) as fields:
                    add(number, fields)
        finished = {number: record for number, record in records.items() if not record.details.get("error")}
        whole = {}
        damaged = []
        for number, record in finished.items():
            if record.file in names and self._is_whole(record):
                whole[number] = record
            else:
                damaged.append(record.file)
        if damaged:
            others = f" and {len(damaged) - _NAMED:,} more" if len(damaged) > _NAMED else ""
            say(f"{self.name}: missing or altered since, so made again: {', '.join(damaged[:_NAMED])}{others}")
        return whole

    def _is_whole(self, record: Record) -> bool:
        """Whether the file of a part has the size and the checksum of its record."""
        with self._files.open(record.file) as file:
            return is_intact(file, record.bytes, record.sha256)

    @contextlib.contextmanager
    def _reading(self, name: str) -> Iterator[dict[str, Any]]:
        """The fields of a file with a checksum; a JsonError in the block becomes a ResumeError that names the file."""
        with self._files.open(name) as file:
            data = file.read(MOST_BYTES + 1)
        try:
            fields = parse_json(data)
            check_checksum(fields)
            yield fields
        except JsonError as error:
            raise ResumeError(f"{self.name.rstrip('/')}/{name}: {error}; the folder is left as it is") from error

    @contextlib.contextmanager
    def writing(self, name: str) -> Iterator[str]:
        """A path at which a worker writes a part; it is moved to its place by ``finish``."""
        with self._files.work() as folder:
            yield os.path.join(folder, name)

    def finish(self, path: str, details: dict[str, Any]) -> Record:
        """Moves a part that is whole to its place, and writes its record."""
        with open(path, "rb") as file:
            checksum = sha256_of(file)
        record = Record(os.path.basename(path), os.path.getsize(path), checksum, details)
        self._files.take(path, record.file)
        self._files.write(_record_of(record.file), with_checksum(dataclasses.asdict(record)))
        return record

    def complete(self, plan: Plan, records: Sequence[Record]) -> None:
        """Writes the manifest of a finished job, and removes the records and what workers left unfinished."""
        parts = [dataclasses.asdict(record) for record in records]
        self._files.write(MANIFEST, with_checksum({**plan.as_json(), "parts": parts}))
        names = set(self._files.names())
        self._files.remove([name for record in records if (name := _record_of(record.file)) in names])

    def parts(self) -> list[dict[str, Any]]:
        """The records of a finished job, in the order of the answers.

        Raises:
          ResumeError: the manifest is damaged.
          JsonError: its job is not finished.
          OSError: there is none.
        """
        fields = self._manifest()
        if "parts" not in fields:
            raise JsonError(f"{self.name}: the job is not finished; --resume goes on with it")
        parts: list[dict[str, Any]] = fields["parts"]
        return parts


def _record_of(part: str) -> str:
    """The name of the record of a part."""
    return f"{part.partition('.')[0]}.json"


class _Local:
    """A folder of this machine, or of a file system that all machines share."""

    def __init__(self, path: Path) -> None:
        self._path = path

    def names(self) -> list[str]:
        """The names of the files, without the lock and unfinished parts."""
        if not self._path.exists():
            return []
        return sorted(entry.name for entry in self._path.iterdir() if entry.name not in (SUFFIX, _WORK))

    def open(self, name: str) -> io.BufferedIOBase:
        path = self._path / name
        if path.exists() and not path.is_file():  # opening a pipe would wait for ever
            raise OSError(errno.EINVAL, "not a regular file", str(path))
        return open(path, "rb")

    def write(self, name: str, data: bytes) -> None:
        self._path.mkdir(parents=True, exist_ok=True)
        write_file(self._path / name, data)

    def take(self, path: str, name: str) -> None:
        with open(path, "rb") as file:
            os.fsync(file.fileno())
        os.replace(path, self._path / name)

    def remove(self, names: Sequence[str]) -> None:
        for name in names:
            (self._path / name).unlink()
        shutil.rmtree(self._path / _WORK, ignore_errors=True)

    @contextlib.contextmanager
    def work(self) -> Iterator[str]:
        (self._path / _WORK).mkdir(exist_ok=True)
        with tempfile.TemporaryDirectory(dir=self._path / _WORK) as folder:
            yield folder

    @contextlib.contextmanager
    def locked(self) -> Iterator[None]:
        self._path.mkdir(parents=True, exist_ok=True)
        with OutputLock(self._path):
            shutil.rmtree(self._path / _WORK, ignore_errors=True)
            yield


class _Remote:
    """A folder at a URL. Objects appear there when they are whole; there are no locks."""

    def __init__(self, url: str) -> None:
        self._system, path = file_system(url)
        self._path = path.rstrip("/")

    def names(self) -> list[str]:
        self._system.invalidate_cache()
        if not self._system.exists(self._path):
            return []
        return sorted(str(path).rpartition("/")[2] for path in self._system.ls(self._path, detail=False))

    def open(self, name: str) -> io.BufferedIOBase:
        file: io.BufferedIOBase = self._system.open(f"{self._path}/{name}", "rb")
        return file

    def write(self, name: str, data: bytes) -> None:
        self._system.makedirs(self._path, exist_ok=True)
        self._system.pipe_file(f"{self._path}/{name}", data)

    def take(self, path: str, name: str) -> None:
        self._system.put_file(path, f"{self._path}/{name}")

    def remove(self, names: Sequence[str]) -> None:
        for name in names:
            self._system.rm_file(f"{self._path}/{name}")

    @contextlib.contextmanager
    def work(self) -> Iterator[str]:
        with tempfile.TemporaryDirectory() as folder:
            yield folder

    @contextlib.contextmanager
    def locked(self) -> Iterator[None]:
        yield
