"""Output files: checks, locking and opening."""

from __future__ import annotations

import contextlib
import dataclasses
import errno
import os
import stat
import sys
import typing
from collections.abc import Iterable
from typing import Any, BinaryIO, Literal, TextIO

from jaxsudoku.runtime.locks import OutputLock, check_unlocked, lock_file

from .compression import COMPRESSIONS
from .source import Source

#: The kind of an output file.
Kind = Literal["text", "csv", "jsonl", "parquet"]
#: The kinds of output files.
KINDS: tuple[str, ...] = typing.get_args(Kind)

STDOUT = "<stdout>"
#: Suffixes and their kinds of output; others are text.
_KIND_OF_SUFFIX: dict[str, Kind] = {
    ".txt": "text",
    ".sdm": "text",
    ".csv": "csv",
    ".jsonl": "jsonl",
    ".ndjson": "jsonl",
    ".parquet": "parquet",
}
#: Suffixes of formats that can't be written.
_OTHER_FORMATS = (
    *(".json", ".tsv", ".xlsx", ".xls", ".ods", ".html", ".htm", ".xml", ".yaml", ".yml", ".md"),
    *(".feather", ".arrow", ".ipc", ".orc", ".avro", ".pq", ".parq", ".npy", ".npz", ".h5", ".hdf5", ".pkl", ".pickle"),
    *(".db", ".sqlite", ".sqlite3", ".svg", ".png", ".jpg", ".pdf", ".zip", ".tar", ".tgz", ".7z", ".sdk", ".ss"),
)


@dataclasses.dataclass
class Recovered:
    """The complete rows of an earlier run in an output.

    Attributes:
      done: number of rows.
      keep: size in bytes of the part of the file with these rows; the rest is incomplete.
      samples: some of them, by index: the fields of a record, for text the line.
      header: names of the columns; empty for text, and if nothing was written.
    """

    done: int = 0
    keep: int = 0
    samples: dict[int, list[str]] = dataclasses.field(default_factory=dict)
    header: tuple[str, ...] = ()


def kind_of(name: str, kind: Kind | None) -> tuple[Kind, bool]:
    """The kind of an output, from its name if ``kind`` is None, and whether it is compressed by gzip.

    Raises:
      ValueError: an unknown or impossible kind, one that contradicts the name, or a suffix as in ``check_suffix``.
    """
    check_suffix(name, (".gz",))
    stem = name.lower().removesuffix(".gz")
    compressed = stem != name.lower()
    named = _KIND_OF_SUFFIX.get(os.path.splitext(stem)[1], "text")
    kind = kind or named
    if kind not in KINDS:
        raise ValueError(f"unknown kind of output {kind!r}: {', '.join(KINDS[:-1])} or {KINDS[-1]}")
    if kind != named and named != "text":
        raise ValueError(f"{name}: the suffix is that of {named}, but the kind is {kind}")
    if kind == "parquet" and compressed:
        raise ValueError(f"{name}: Parquet is compressed already and takes no .gz")
    return kind, compressed


def check_kind(name: str, kind: Kind | None, resume: bool = False) -> tuple[Kind, bool]:
    """``kind_of``; also raises ValueError for the standard output, ``-``, if the kind or resuming needs a file."""
    found, compressed = kind_of(name, kind)
    if name == "-" and (resume or found == "parquet"):
        raise ValueError(f"{'resuming' if resume else 'Parquet'} needs an output file, not the standard output")
    return found, compressed


def check_suffix(name: str, writable: Iterable[str] = ()) -> None:
    """Refuses an output whose suffix is that of a format or compression that is not written.

    Args:
      name: the name of the output.
      writable: suffixes of compressions that are written.

    Raises:
      ValueError: the name has such a suffix.
    """
    name_lower = name.lower()
    stem = next((name_lower.removesuffix(suffix) for suffix in writable if name_lower.endswith(suffix)), name_lower)
    if other := next((suffix for suffix in _OTHER_FORMATS if stem.endswith(suffix)), None):
        raise ValueError(
            f"{name}: outputs of the format {other} are not written; text, .csv, .jsonl and .parquet can be"
        )
    for kind in COMPRESSIONS:
        if name_lower.endswith(kind.suffix) and kind.suffix not in writable:
            others = f"; {' and '.join(writable)} can be" if writable else ""
            raise ValueError(f"{name}: outputs compressed by {kind.name} are not written{others}")


def check_folder_name(name: str) -> None:
    """Raises ValueError if the name of an output that is a folder has the suffix of a file."""
    if suffix := _known_suffix(name.rstrip("/")):
        raise ValueError(f"{name}: the output is a folder of files, and {suffix} is the suffix of a file")


def check_form(name: str, written: str) -> None:
    """Raises ValueError if the name of a file of one form, such as ``.json``, has the suffix of another one.

    The file may always be text, and is compressed if its name ends in ``.gz``.
    """
    suffix = _known_suffix(name.lower().removesuffix(".gz"))
    if suffix not in (None, ".txt", written):
        raise ValueError(f"{name}: the file is written as {written}, and {suffix} is the suffix of another form")


def _known_suffix(name: str) -> str | None:
    """The suffix of a name if it is one of a known form of files."""
    suffixes = (*_KIND_OF_SUFFIX, *_OTHER_FORMATS, *(kind.suffix for kind in COMPRESSIONS))
    return next((suffix for suffix in suffixes if name.lower().endswith(suffix)), None)


def check_output(
    target: str | os.PathLike[str],
    *,
    reads: Iterable[Source] = (),
    writes: Iterable[str] = (),
    exist_ok: bool = False,
    resumable: bool = False,
    renamed: bool = False,
    what: str = "output",
) -> None:
    """Checks that an output may be written; changes nothing.

    Files are compared by device and inode, so symbolic and hard links and redirected standard streams are recognized.
    Devices and pipes exist, but may always be written, even if they are an input too.

    Args:
      target: a path, or ``-`` for the standard output.
      reads: the inputs: paths, ``-`` for the standard input, or open files.
      writes: the other outputs, ``-`` for the standard output.
      exist_ok: whether it may exist, to be replaced or resumed.
      resumable: whether the message for an output that exists names the option to resume.
      renamed: whether the file is written under another name in its folder and then renamed, as Parquet is.
      what: the output's name in messages.

    Raises:
      ValueError: the output is one of the inputs or other outputs.
      BlockingIOError: another process is writing it.
      FileExistsError: it is a file that exists.
      OSError: it is a folder, its folder does not exist, or one of them can't be written.
    """
    _check_place(target, reads, writes, renamed, what)
    if os.fspath(target) != "-":
        check_unlocked(target)
        if not exist_ok and os.path.isfile(target):
            raise output_exists(os.fspath(target), what, resumable)


def lock_output(
    target: str | os.PathLike[str],
    *,
    reads: Iterable[Source] = (),
    exist_ok: bool = False,
    resumable: bool = False,
    renamed: bool = False,
) -> contextlib.AbstractContextManager[object]:
    """Checks an output as ``check_output`` does, and locks it.

    Devices, pipes and the standard output have no lock. A file in a folder that can't be written has no lock file;
    ``open_target`` locks the file itself in any case.

    Returns:
      The lock, held already, to be released by leaving a ``with`` block.
    """
    _check_place(target, reads, (), renamed, "output")
    name = os.fspath(target)
    if name == "-" or is_special(name):
        return contextlib.nullcontext()
    lock: contextlib.AbstractContextManager[object] = contextlib.nullcontext()
    if not os.path.exists(name) or os.access(os.path.dirname(os.path.realpath(name)), os.W_OK | os.X_OK):
        lock = OutputLock(name)
    if not exist_ok and os.path.isfile(name):
        with lock:  # released by the error
            raise output_exists(name, resumable=resumable)
    return lock


def output_exists(name: str, what: str = "output", resumable: bool = False) -> FileExistsError:
    """The error for an existing output that may be neither replaced nor resumed."""
    advice = "continue it with --resume or replace it with --force" if resumable else "replace it with --force"
    return FileExistsError(errno.EEXIST, f"the {what} exists: {advice}", name)


def _check_place(
    target: str | os.PathLike[str], reads: Iterable[Source], writes: Iterable[str], renamed: bool, what: str
) -> None:
    """The checks of ``check_output`` for other files, folders and permissions; raises the same errors."""
    name = os.fspath(target)
    shown = STDOUT if name == "-" else name
    itself = _identity(name, sys.stdout)
    for source in reads:
        if itself is not None and itself == _identity(source, sys.stdin):
            raise ValueError(f"{shown}: the {what} is the input")
    for other in writes:
        same = itself is not None and itself == _identity(other, sys.stdout)
        # two files that do not exist yet have no inodes to compare
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
        raise PermissionError(errno.EACCES, f"the {what} can't be created: the directory can't be written", name)


def check_folder(target: str | os.PathLike[str]) -> None:
    """Raises OSError if a folder for an output can't be created or, if it exists, can't be written."""
    name = os.fspath(target)
    folder = os.path.realpath(name)
    while not os.path.lexists(folder) and os.path.dirname(folder) != folder:
        folder = os.path.dirname(folder)
    if not os.path.isdir(folder):
        raise NotADirectoryError(errno.ENOTDIR, f"the output is a folder, but {folder} is not", name)
    if not os.access(folder, os.W_OK | os.X_OK):
        raise PermissionError(errno.EACCES, f"the output can't be created: {folder} can't be written", name)


def is_special(target: str | os.PathLike[str]) -> bool:
    """Whether a path is a device, a pipe or a socket, which can't be resumed or replaced."""
    try:
        mode = os.stat(target).st_mode
    except FileNotFoundError:
        return False
    return not (stat.S_ISREG(mode) or stat.S_ISDIR(mode))


def open_target(target: str | os.PathLike[str], *, keep: bool = False) -> BinaryIO:
    """Opens an output for writing, unbuffered. Besides its name the file itself is locked, as it may have hard links.

    Args:
      target: the path.
      keep: whether to keep the contents of the file; else it is truncated once it is locked.

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


def check_standard_input() -> None:
    """Raises OSError if the standard input is closed."""
    if not _is_open(sys.stdin, write=False):
        raise OSError(errno.EBADF, "the standard input is closed", "<stdin>")


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


def _identity(file: Any, stream: TextIO | None) -> tuple[int, int] | None:
    """Device and inode of a regular file, given as a path, ``-`` for the stream, or an open file; None for others."""
    try:
        if not isinstance(file, (str, os.PathLike)):
            place = file.fileno()
        elif os.fspath(file) == "-":
            place = stream.fileno() if stream is not None else -1
        else:
            place = os.fspath(file)
        found = os.stat(place)
    except (OSError, ValueError, AttributeError):  # missing, closed, or in memory: not a file that could be overwritten
        return None
    return (found.st_dev, found.st_ino) if stat.S_ISREG(found.st_mode) else None
