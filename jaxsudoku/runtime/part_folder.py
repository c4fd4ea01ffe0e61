"""Folders of parts: outputs written part by part, which can be resumed after a kill at any moment.

::

    manifest.json      a description of the output; when all parts are finished, with their records
    part-00000.csv     the first part, and so on
    part-00000.json    the record of a part; removed when all parts are finished
    .work/             parts that are being written; removed when all parts are finished

A part is written in ``.work``, moved to its place when complete, and then its record is written. So a part with a
record is complete. A part is made again if its record or file is missing or its checksum does not match. Jobs of
several workers, data sets and Parquet outputs are such folders; each has a ``Manifest``.
"""

from __future__ import annotations

import contextlib
import dataclasses
import errno
import hashlib
import json
import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, Protocol

from .files import MOST_BYTES, JsonError, field, is_intact, parse_checked, sha256_of, with_checksum
from .folder_files import LocalFolder, RemoteFolder
from .urls import is_url

#: Maximum number of parts named in a message.
_NAMED = 5
#: The fields of a record, and their types.
_RECORD = {"file": str, "bytes": int, "sha256": str, "details": dict}


class ResumeError(ValueError):
    """Raised if an output can't be resumed with this input; the output is left unchanged."""


@dataclasses.dataclass(frozen=True)
class Record:
    """Record of a finished part.

    Attributes:
      file: the name of its file.
      bytes, sha256: size and checksum of the file.
      details: facts about its contents, as JSON values; a part with an "error" is made again.
    """

    file: str
    bytes: int
    sha256: str
    details: dict[str, Any]

    @classmethod
    def read(cls, fields: dict[str, Any], file: str) -> Record:
        """The record of the part ``file`` from JSON fields; raises JsonError if they are not such a record."""
        record = cls(**{name: field(fields, name, kind) for name, kind in _RECORD.items()})
        if record.file != file:
            raise JsonError(f"a record of {record.file!r:.60}, not of {file}")
        return record


def record_of(file: str, data: bytes, details: dict[str, Any]) -> Record:
    """The record of a part with these contents."""
    return Record(file, len(data), hashlib.sha256(data).hexdigest(), details)


def record_of_file(path: str, name: str, details: dict[str, Any]) -> Record:
    """The record of a part of this name with the contents of a file."""
    with open(path, "rb") as file:
        return Record(name, os.path.getsize(path), sha256_of(file), details)


class Manifest(Protocol):
    """Description of the output in a folder of parts: its kind, settings and number of parts.

    Attributes:
      noun: the kind of output, for messages, such as "job".
      unfinished, finished: names of the manifest's file while parts are missing, and when all are finished.
      parts: the number of parts; None if it is unknown before all are made.
      error: the exception to raise if the folder holds another output.
    """

    @property
    def noun(self) -> str: ...
    @property
    def unfinished(self) -> str: ...
    @property
    def finished(self) -> str: ...
    @property
    def parts(self) -> int | None: ...
    @property
    def error(self) -> type[ValueError]: ...

    def part(self, number: int) -> str:
        """The name of the file of a part."""

    def encode(self, records: Sequence[Record] | None = None) -> bytes:
        """The contents of the manifest's file, with the records of all parts if they are finished."""

    def compare(self, data: bytes, name: str) -> tuple[list[str], list[Record]]:
        """Compares the manifest in a file with this one.

        Args:
          data: its contents.
          name: its path or URL, for messages.

        Returns:
          The differences in words, and the listed records, in the order of the parts.

        Raises:
          ValueError: of type ``error``: the file is damaged or not such a manifest; the message names it.
        """


def differences(there: Mapping[str, Any], here: Mapping[str, Any]) -> list[str]:
    """The differences between the nested settings in a manifest and those of this run, in words."""
    old, new = dict(_flat(there)), dict(_flat(here))
    return [
        f"{name} is {_shown(old.get(name))} there, {_shown(new.get(name))} here"
        for name in sorted({*old, *new})
        if old.get(name) != new.get(name)
    ]


def _flat(settings: Mapping[str, Any], prefix: str = "") -> Iterator[tuple[str, Any]]:
    """Settings by their dotted names."""
    for name, value in settings.items():
        if isinstance(value, Mapping):
            yield from _flat(value, f"{prefix}{name}.")
        else:
            yield prefix + name, value


def _shown(value: Any, longest: int = 60) -> str:
    text = json.dumps(value)
    return text if len(text) <= longest else f"{text[:longest]}..."


class PartFolder:
    """A folder of parts at a path or URL, accessible to all processes that make parts. Pickles as its name.

    Args:
      name: the path or URL.
      durable: whether finished parts survive a crash of the machine, not only of the process.
    """

    def __init__(self, name: str, durable: bool = True) -> None:
        self.name, self._durable = name, durable
        self._files: LocalFolder | RemoteFolder = (
            RemoteFolder(name) if is_url(name) else LocalFolder(Path(name), durable)
        )

    def __reduce__(self) -> tuple[Any, ...]:
        return PartFolder, (self.name, self._durable)

    @contextlib.contextmanager
    def begun(
        self,
        manifest: Manifest,
        resume: bool,
        check: Callable[[int, Record], object] = lambda number, record: None,
        say: Callable[[str], object] = lambda message: None,
    ) -> Iterator[dict[int, Record]]:
        """Starts or resumes an output; a context manager that locks the folder and gives the finished parts' records.

        Writes the manifest, or compares it with that of the folder to resume.

        Args:
          manifest: the description of the output.
          resume: whether to continue an existing output.
          check: called with the number and the record of each part that has one, even if its file is damaged; raises
            JsonError if the details are invalid.
          say: called with a message about parts that are missing or altered.

        Returns:
          a context manager that gives the records of the complete parts, by their numbers.

        Raises:
          FileExistsError: the folder is not empty, and ``resume`` is False.
          ValueError: of type ``manifest.error``: it holds another output, or a damaged manifest or record; the message
            names the file and the differences. Nothing is changed.
          BlockingIOError: another process works in the folder.
          OSError: the folder can't be created or read.
        """
        self.check_new(manifest.noun, resume)
        with self._files.locked():
            self.check_new(manifest.noun, resume)  # another process may have created it meanwhile
            names = self._files.names()
            there = next((name for name in (manifest.finished, manifest.unfinished) if name in names), None)
            if names and there is None:
                raise manifest.error(
                    f"{self.name}: holds no {manifest.noun} to resume, but {names[0]}; it is left as it is"
                )
            listed: list[Record] = []
            if there is None:
                self.write(manifest.unfinished, manifest.encode())
            else:
                differences, listed = manifest.compare(self.read(there), self._path(there))
                if differences:
                    cause = "; ".join(differences)
                    raise manifest.error(f"{self.name}: holds another {manifest.noun}: {cause}; it is left as it is")
            self._files.remove([])  # unfinished files of a killed process
            yield self._whole(manifest, listed, check, say)

    def check_new(self, noun: str, resume: bool) -> None:
        """Raises FileExistsError, as ``begun`` does, or BlockingIOError if another process works in the folder."""
        if self._files.names() and not resume:
            self._files.check_unlocked()
            cause = f"the folder is not empty: continue its {noun} with --resume (resume=True), or name another folder"
            raise FileExistsError(errno.EEXIST, cause, self.name)

    def _path(self, name: str) -> str:
        return f"{self.name.rstrip('/')}/{name}"

    def _whole(
        self,
        manifest: Manifest,
        listed: Sequence[Record],
        check: Callable[[int, Record], object],
        say: Callable[[str], object],
    ) -> dict[int, Record]:
        """The records of the complete parts."""
        names = set(self._files.names())
        records = dict(enumerate(listed))
        for number in range(len(names) if manifest.parts is None else manifest.parts):
            name = record_name(part := manifest.part(number))
            try:
                if name in names:  # newer than the manifest: of a part that was made again
                    records[number] = Record.read(parse_checked(self.read(name)), part)
                if number in records:
                    check(number, records[number])
            except JsonError as error:
                where = self._path(name if name in names else manifest.finished)
                raise manifest.error(f"{where}: {error}; the folder is left as it is") from error
        whole, damaged = {}, []
        for number, record in records.items():
            if record.details.get("error"):
                continue
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

    def read(self, name: str) -> bytes:
        """The contents of a small file of the folder."""
        with self._files.open(name) as file:
            return file.read(MOST_BYTES + 1)

    def write(self, name: str, data: bytes) -> None:
        """Writes a small file of the folder atomically."""
        self._files.write(name, data)

    @contextlib.contextmanager
    def writing(self, name: str) -> Iterator[str]:
        """A temporary path for writing a part; ``finish`` moves it to its place."""
        with self._files.work() as folder:
            yield os.path.join(folder, name)

    def finish(self, path: str, details: dict[str, Any]) -> Record:
        """Moves a complete part to its place, and writes its record."""
        record = record_of_file(path, os.path.basename(path), details)
        self._files.take(path, record.file)
        self._note(record)
        return record

    def adopt(self, path: str, record: Record) -> None:
        """Turns a file into a part. Writes the record first, so that after a crash one of both places is complete."""
        self._note(record)
        self._files.take(path, record.file)

    def add(self, record: Record, data: bytes) -> None:
        """Writes a part with this record and these contents."""
        self.write(record.file, data)
        self._note(record)

    def _note(self, record: Record) -> None:
        self.write(record_name(record.file), with_checksum(dataclasses.asdict(record)))

    def complete(self, manifest: Manifest, records: Sequence[Record]) -> None:
        """Writes the final manifest when all parts are finished, and removes the records and working files."""
        self.write(manifest.finished, manifest.encode(records))
        needless = {manifest.unfinished} - {manifest.finished} | {record_name(record.file) for record in records}
        self._files.remove(sorted(needless & set(self._files.names())))

    def keep(self, manifest: Manifest, records: Sequence[Record]) -> None:
        """Removes all parts but those with these records."""
        names = set(self._files.names())
        every = {manifest.part(number) for number in range(len(names))}
        gone = every - {record.file for record in records}
        self._files.remove(sorted((gone | {record_name(part) for part in gone}) & names))

    def remove(self, manifest: Manifest) -> None:
        """Removes all parts and the manifest; the folder is removed with its lock if nothing else is in it."""
        self.keep(manifest, [])
        self._files.remove([name for name in self._files.names() if name == manifest.unfinished])


def record_name(part: str) -> str:
    """The name of the record of a part."""
    return f"{part.partition('.')[0]}.json"
