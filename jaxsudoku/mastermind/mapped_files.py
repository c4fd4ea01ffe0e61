"""Arrays in memory-mapped files, whose space on the disk is reserved before it is used. No JAX.

Without that, a write to a hole of a mapped file ends the process by a signal when the disk is full.
"""

from __future__ import annotations

import mmap
import os
import sys
import weakref
from pathlib import Path
from typing import Any

import numpy as np

if sys.platform != "win32":
    import fcntl

#: Bytes that are written together where the system can't reserve them.
_BLOCK = 1 << 20

#: The unit of the number of blocks of a file, in bytes.
_SECTOR = 512


class MemoError(ValueError):
    """A folder that holds no memo, a damaged one or that of another game; or a memo that contradicts itself."""


def _open(path: Path) -> int:
    """Opens a file, which is made if it is missing; its descriptor. Raises OSError for a symbolic link, too."""
    return os.open(path, os.O_RDWR | os.O_CREAT | getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_BINARY", 0), 0o666)


class FileLock:
    """A lock on a file between processes, exclusive or shared. The system releases it when a process ends."""

    def __init__(self, path: Path) -> None:
        self._file = _open(path)
        weakref.finalize(self, os.close, self._file)

    def acquire(self, shared: bool = False, wait: bool = True) -> None:
        """Takes the lock, exclusive or shared; raises BlockingIOError if others have it and this one must not wait."""
        kind = fcntl.LOCK_SH if shared else fcntl.LOCK_EX
        fcntl.flock(self._file, kind | (0 if wait else fcntl.LOCK_NB))

    def release(self) -> None:
        """Releases the lock."""
        fcntl.flock(self._file, fcntl.LOCK_UN)


class Column:
    """An array that grows, in memory or in a file.

    Args:
      path: the file, which is made if it is missing; None for memory.
      dtype: of the array; with a shape, that of a row.
      rows: the least number of rows.

    Attributes:
      array: all rows, also those that other processes added before the last ``grow``; new ones are 0.

    Raises:
      OSError: the file can't be made, is a symbolic link, or there is no room for it.
    """

    def __init__(self, path: Path | None, dtype: np.dtype[Any], rows: int) -> None:
        self._path, self._dtype = path, dtype
        self.array = np.zeros((0, *dtype.shape), dtype.base)
        if path is not None:
            self._file = _open(path)
            weakref.finalize(self, os.close, self._file)
        self.grow(max(self.stored, rows))

    @property
    def stored(self) -> int:
        """The rows of the file, 0 in memory."""
        return 0 if self._path is None else os.fstat(self._file).st_size // self._dtype.itemsize

    def grow(self, rows: int) -> None:
        """Makes room for so many rows at least; raises OSError that names the file if there is none."""
        if rows <= len(self.array):
            return
        if self._path is None:
            grown = np.zeros((max(rows, 2 * len(self.array)), *self._dtype.shape), self._dtype.base)
            grown[: len(self.array)] = self.array
            self.array = grown
            return
        there = self.stored  # others may have added some
        new = there if rows <= there else max(rows, 2 * there)
        size = new * self._dtype.itemsize
        try:
            _reserve(self._file, size)
        except OSError as error:
            raise OSError(error.errno, f"no room for {size:,} bytes ({error.strerror})", str(self._path)) from error
        mapped = np.frombuffer(mmap.mmap(self._file, size), self._dtype.base)
        self.array = mapped.reshape(new, *self._dtype.shape)


def _reserve(file: int, size: int) -> None:
    """Makes a file at least so many bytes long, each of them allocated on the disk."""
    there = os.fstat(file)
    holes = _SECTOR * getattr(there, "st_blocks", there.st_size) < there.st_size
    start = 0 if holes else there.st_size
    if start >= size:
        return
    if hasattr(os, "posix_fallocate"):
        os.posix_fallocate(file, start, size - start)
        return
    os.lseek(file, 0, os.SEEK_END)
    for place in range(there.st_size, size, _BLOCK):
        data = memoryview(bytes(min(_BLOCK, size - place)))
        while data:
            data = data[os.write(file, data) :]
