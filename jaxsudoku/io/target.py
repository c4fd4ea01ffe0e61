"""Where outputs go: what may be written, found out before any work, and opening it under a lock."""

from __future__ import annotations

import contextlib
import errno
import os
import stat
import sys
from collections.abc import Iterable
from typing import Any, BinaryIO, Literal, TextIO

from jaxsudoku.locks import OutputLock, lock_file

from .compression import check_suffix
from .source import Source

Kind = Literal["text", "csv", "parquet"]

STDOUT = "<stdout>"


def kind_of(name: str, kind: Kind | None) -> tuple[Kind, bool]:
    """The kind of an output, told from its name where it is None, and whether it is compressed by gzip."""
    check_suffix(name, (".gz",))
    stem = name.lower().removesuffix(".gz")
    compressed = stem != name.lower()
    if kind is None:
        kind = "csv" if stem.endswith(".csv") else "parquet" if stem.endswith(".parquet") else "text"
    if kind not in ("text", "csv", "parquet"):
        raise ValueError(f"unknown kind of output {kind!r}: text, csv or parquet")
    if kind == "parquet" and compressed:
        raise ValueError(f"{name}: Parquet is compressed already and takes no .gz")
    return kind, compressed


def check_target(
    target: str | os.PathLike[str],
    *,
    reads: Iterable[Source] = (),
    writes: Iterable[str] = (),
    what: str = "output",
    renamed: bool = False,
) -> None:
    """Checks that an output can be written; nothing is changed. Whether it exists is ``check_new``'s to say.

    Files are compared by device and inode, so symbolic and hard links and redirected standard streams are seen.
    Devices and pipes may be anything.

    Args:
      target: a path, or ``-`` for the standard output.
      reads: the inputs: paths, ``-`` for the standard input, or open files.
      writes: the other outputs, ``-`` for the standard output.
      what: what it is, for messages.
      renamed: the file is written under another name in its folder and then renamed, as Parquet is.

    Raises:
      ValueError: the output is one of the others.
      OSError: it is a folder, lies in none, or it or its folder can't be written.
    """
    name = os.fspath(target)
    shown = STDOUT if name == "-" else name
    itself = _identity(name, sys.stdout)
    for source in reads:
        if itself is not None and itself == _identity(source, sys.stdin):
            raise ValueError(f"{shown}: the {what} is the input")
    for other in writes:
        same = itself is not None and itself == _identity(other, sys.stdout)
        # two files that are yet to be made have no inodes to compare
        if same or (name != "-" and not is_special(name) and os.path.realpath(other) == os.path.realpath(name)):
            raise ValueError(f"{shown}: the {what} would be written over {STDOUT if other == '-' else other}")
    if name == "-":
        standard_output()
        return
    if is_special(name):
        if renamed:
            raise ValueError(f"{name}: the {what} must be a file, not a device or a pipe")
        return
    if os.path.isdir(name):
        raise IsADirectoryError(errno.EISDIR, f"the {what} is a directory", name)
    exists = os.path.exists(name)
    if exists and not os.access(name, os.W_OK):
        raise PermissionError(errno.EACCES, f"the {what} can't be written: permission denied", name)
    folder = os.path.dirname(os.path.realpath(name))
    if not os.path.isdir(folder):
        raise FileNotFoundError(errno.ENOENT, f"there is no such directory for the {what}", name)
    if (renamed or not exists) and not os.access(folder, os.W_OK | os.X_OK):
        raise PermissionError(errno.EACCES, f"the {what} can't be made: the directory can't be written", name)


def check_new(target: str | os.PathLike[str], *, what: str = "output", resumable: bool = False) -> None:
    """Raises FileExistsError, which names the options to give, if an output is a file that exists."""
    if os.path.isfile(target):
        raise output_exists(os.fspath(target), what, resumable)


def output_exists(name: str, what: str = "output", resumable: bool = False) -> FileExistsError:
    """The error for an output that no option allows to touch."""
    advice = "go on with --resume or replace it with --force" if resumable else "replace it with --force"
    return FileExistsError(errno.EEXIST, f"the {what} exists: {advice}", name)


def check_folder(target: str | os.PathLike[str]) -> None:
    """Raises OSError if a folder for an output can't be made or, where it exists, not be written."""
    name = os.fspath(target)
    folder = os.path.realpath(name)
    while not os.path.lexists(folder) and os.path.dirname(folder) != folder:
        folder = os.path.dirname(folder)
    if not os.path.isdir(folder):
        raise NotADirectoryError(errno.ENOTDIR, f"the output is a folder, but {folder} is none", name)
    if not os.access(folder, os.W_OK | os.X_OK):
        raise PermissionError(errno.EACCES, f"the output can't be made: {folder} can't be written", name)


def is_special(target: str | os.PathLike[str]) -> bool:
    """Whether a path is a device, a pipe or a socket: nothing is kept there, so nothing can be resumed or replaced."""
    try:
        mode = os.stat(target).st_mode
    except FileNotFoundError:
        return False
    return not (stat.S_ISREG(mode) or stat.S_ISDIR(mode))


def locked(target: str | os.PathLike[str]) -> contextlib.AbstractContextManager[object]:
    """The lock on an output, held already; none for devices, pipes and the standard output.

    A file in a folder that can't be written gets no lock file; ``open_target`` locks it all the same.
    """
    if os.fspath(target) == "-" or is_special(target):
        return contextlib.nullcontext()
    folder = os.path.dirname(os.path.realpath(target))
    if os.path.exists(target) and not os.access(folder, os.W_OK | os.X_OK):
        return contextlib.nullcontext()
    return OutputLock(target)


def open_target(target: str | os.PathLike[str], *, keep: bool = False) -> BinaryIO:
    """Opens an output for writing, unbuffered; a file is locked itself, as it may have several names.

    Args:
      target: the path.
      keep: leave what the file has; else it is emptied once it is locked.

    Raises:
      BlockingIOError: another process is writing it.
      OSError: it can't be opened.
    """
    descriptor = os.open(target, os.O_WRONLY | os.O_CREAT | getattr(os, "O_BINARY", 0), 0o666)
    file: BinaryIO = os.fdopen(descriptor, "wb", buffering=0)
    try:
        if not is_special(target):
            lock_file(descriptor, os.fspath(target))
            if not keep:
                file.truncate(0)
    except BaseException:
        file.close()
        raise
    return file


def standard_output() -> BinaryIO:
    """The standard output for bytes; raises OSError if it is closed."""
    if not _is_open(sys.stdout, write=True):
        raise OSError(errno.EBADF, "the standard output is closed", STDOUT)
    return sys.stdout.buffer


def _is_open(stream: TextIO | None, write: bool) -> bool:
    """Whether a standard stream can be written, or read."""
    if stream is None or getattr(stream, "closed", False):
        return False
    try:
        number = stream.fileno()
    except (OSError, AttributeError):  # a stream in memory
        return True
    try:
        os.write(number, b"") if write else os.read(number, 0)
    except OSError as error:
        return error.errno != errno.EBADF
    return True


def check_standard_input() -> None:
    """Raises OSError if the standard input is closed."""
    if not _is_open(sys.stdin, write=False):
        raise OSError(errno.EBADF, "the standard input is closed", "<stdin>")


def _identity(file: Any, stream: TextIO | None) -> tuple[int, int] | None:
    """Device and inode of a regular file, by its path, ``-`` for the stream, or open; None of anything else."""
    try:
        if not isinstance(file, (str, os.PathLike)):
            place = file.fileno()
        elif os.fspath(file) == "-":
            place = stream.fileno() if stream is not None else -1
        else:
            place = os.fspath(file)
        found = os.stat(place)
    except (OSError, ValueError, AttributeError):  # not there, closed, or in memory: no file to be written over
        return None
    return (found.st_dev, found.st_ino) if stat.S_ISREG(found.st_mode) else None
