"""Arrays in files that are mapped into memory, whose space is reserved before it is used. No JAX.

A file that is mapped and has holes ends the process by a signal when the disk is full. So every byte is reserved first.
Symbolic links, pipes and devices are refused, as the files of a folder are its own.
"""

from __future__ import annotations

import mmap
import os
import stat
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


def open_file(path: Path, flags: int = 0) -> int:
    """The descriptor of a regular file, open for reading and writing, which is made if it is missing.

    Args:
      path: the file.
      flags: further flags of ``os.open``.

    Raises:
      MemoError: it is a symbolic link, or no regular file.
      OSError: it can't be opened.
    """
    flags |= os.O_RDWR | os.O_CREAT | getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_BINARY", 0)
    try:
        file = os.open(path, flags, 0o666)
    except OSError as error:
        if path.is_symlink():
            raise MemoError(f"{path}: a symbolic link, where a memo has a file of its own") from error
        raise
    if not stat.S_ISREG(os.fstat(file).st_mode):
        os.close(file)
        raise MemoError(f"{path}: not a regular file, where a memo has a file of its own")
    return file


class FileLock:
    """A lock on a file, which excludes other processes. The system releases it when a process ends."""

    def __init__(self, path: Path) -> None:
        self._file = open_file(path)
        weakref.finalize(self, os.close, self._file)

    def acquire(self, shared: bool = False, wait: bool = True) -> None:
        """Takes the lock, alone or shared; raises BlockingIOError if others have it and this one is not to wait."""
        kind = fcntl.LOCK_SH if shared else fcntl.LOCK_EX
        fcntl.flock(self._file, kind | (0 if wait else fcntl.LOCK_NB))

    def release(self) -> None:
        """Gives the lock back."""
        fcntl.flock(self._file, fcntl.LOCK_UN)


class Column:
    """An array that grows, in memory or in a file.

    Args:
      path: the file, which is made if it is missing; None for memory.
      dtype: of the array; with a shape, that of a row.
      rows: the least number of rows.

    Attributes:
      array: all rows, those of others too once ``grow`` has asked for them; new ones are 0.

    Raises:
      MemoError: as ``open_file``.
      OSError: the file can't be made, or there is no room for it.
    """

    def __init__(self, path: Path | None, dtype: np.dtype[Any], rows: int) -> None:
        self._path, self._dtype = path, dtype
        self.array = np.zeros((0, *dtype.shape), dtype.base)
        if path is not None:
            self._file = open_file(path)
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
    """Gives a file so many bytes at least, and each of them a place on the disk."""
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
