"""File access for folders of parts, on this machine or at a URL: names, atomic writes, locks."""

from __future__ import annotations

import contextlib
import errno
import io
import os
import shutil
import tempfile
from collections.abc import Iterator, Sequence
from pathlib import Path

from .files import TEMPORARY, write_file
from .locks import SUFFIX, OutputLock, check_unlocked
from .urls import file_system

#: Subfolder for parts that are being written.
WORK = ".work"


class LocalFolder:
    """A folder on this machine, or on a file system that all machines share."""

    def __init__(self, path: Path, durable: bool) -> None:
        self._path, self._durable = path, durable

    def names(self) -> list[str]:
        """The names of the files, without the lock and unfinished files."""
        if not self._path.exists():
            return []
        names = (entry.name for entry in self._path.iterdir())
        return sorted(name for name in names if name not in (SUFFIX, WORK) and not name.endswith(TEMPORARY))

    def check_unlocked(self) -> None:
        check_unlocked(self._path)

    def open(self, name: str) -> io.BufferedIOBase:
        path = self._path / name
        if path.exists() and not path.is_file():  # opening a pipe would wait for ever
            raise OSError(errno.EINVAL, "not a regular file", str(path))
        return open(path, "rb")

    def write(self, name: str, data: bytes) -> None:
        self._path.mkdir(parents=True, exist_ok=True)
        write_file(self._path / name, data, self._durable)

    def take(self, path: str, name: str) -> None:
        if self._durable:
            with open(path, "rb") as file:
                os.fsync(file.fileno())
        os.replace(path, self._path / name)

    def remove(self, names: Sequence[str]) -> None:
        """Removes these files and all unfinished files."""
        for name in names:
            (self._path / name).unlink()
        for leftover in self._path.glob(f"*{TEMPORARY}"):
            leftover.unlink()
        shutil.rmtree(self._path / WORK, ignore_errors=True)

    @contextlib.contextmanager
    def work(self) -> Iterator[str]:
        (self._path / WORK).mkdir(exist_ok=True)
        with tempfile.TemporaryDirectory(dir=self._path / WORK) as folder:
            yield folder

    @contextlib.contextmanager
    def locked(self) -> Iterator[None]:
        self._path.mkdir(parents=True, exist_ok=True)
        try:
            with OutputLock(self._path):
                yield
        finally:
            if not any(self._path.iterdir()):
                self._path.rmdir()


class RemoteFolder:
    """A folder at a URL. Objects appear there only when complete; there are no locks."""

    def __init__(self, url: str) -> None:
        self._system, path = file_system(url)
        self._path = path.rstrip("/")

    def names(self) -> list[str]:
        self._system.invalidate_cache()
        if not self._system.exists(self._path):
            return []
        return sorted(str(path).rpartition("/")[2] for path in self._system.ls(self._path, detail=False))

    def check_unlocked(self) -> None:
        """Does nothing, as there are no locks."""

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
