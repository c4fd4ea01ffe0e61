"""Growing arrays in memory-mapped files with reserved disk space. No JAX.

Without reserved space, a write to a hole of a mapped file ends the process by a signal when the disk is full.
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

#: Number of bytes written together if the system can't reserve space.
_BLOCK = 1 << 20

#: The unit of the number of blocks of a file, in bytes.
_SECTOR = 512


class MemoError(ValueError):
    """Raised for a folder without a memo, a damaged or inconsistent memo, or one of another game."""


def _open(path: Path) -> int:
    """Opens or creates a file; returns its descriptor. Raises OSError also for a symbolic link."""
    return os.open(path, os.O_RDWR | os.O_CREAT | getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_BINARY", 0), 0o666)


class FileLock:
    """A lock on a file between processes, exclusive or shared. The system releases it when a process ends."""

    def __init__(self, path: Path) -> None:
        self._file = _open(path)
        weakref.finalize(self, os.close, self._file)

    def acquire(self, shared: bool = False, wait: bool = True) -> None:
        """Takes the lock, exclusive or shared; without ``wait`` raises BlockingIOError if others have it."""
        kind = fcntl.LOCK_SH if shared else fcntl.LOCK_EX
        fcntl.flock(self._file, kind | (0 if wait else fcntl.LOCK_NB))

    def release(self) -> None:
        """Releases the lock."""
        fcntl.flock(self._file, fcntl.LOCK_UN)


class Column:
    """An array that grows, in memory or in a file.

    Args:
      path: the file, which is created if missing; None for memory.
      dtype: the dtype of the array; with a shape, that of a row.
      rows: minimum number of rows.

    Attributes:
      array: all rows, including those that other processes added before the last ``grow``; new ones are 0.

    Raises:
      OSError: the file can't be created, is a symbolic link, or there is no space for it.
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
        """The number of rows in the file; 0 in memory."""
        return 0 if self._path is None else os.fstat(self._file).st_size // self._dtype.itemsize

    def grow(self, rows: int) -> None:
        """Makes room for at least this many rows; raises an OSError that names the file if there is no space."""
        if rows <= len(self.array):
            return
        if self._path is None:
            grown = np.zeros((max(rows, 2 * len(self.array)), *self._dtype.shape), self._dtype.base)
            grown[: len(self.array)] = self.array
            self.array = grown
            return
        there = self.stored  # other processes may have added rows
        new = there if rows <= there else max(rows, 2 * there)
        size = new * self._dtype.itemsize
        try:
            _reserve(self._file, size)
        except OSError as error:
            raise OSError(error.errno, f"no room for {size:,} bytes ({error.strerror})", str(self._path)) from error
        mapped = np.frombuffer(mmap.mmap(self._file, size), self._dtype.base)
        self.array = mapped.reshape(new, *self._dtype.shape)


def _reserve(file: int, size: int) -> None:
    """Extends a file to at least this many bytes, all allocated on the disk."""
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
