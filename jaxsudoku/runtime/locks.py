"""Locks that keep two processes from writing the same output.

A lock is a file beside the output, locked by the operating system for the process that it names. The system releases
the lock when the process ends, even if it is killed; the file it leaves is then unlocked and can be taken over. After a
normal end, an exception or Ctrl-C the file is removed.
"""

from __future__ import annotations

import contextlib
import datetime
import errno
import os
import sys
import weakref
from types import TracebackType

#: Suffix of lock files.
SUFFIX = ".jaxsudoku-lock"
#: Environment variable that turns locks off if it is "off".
SWITCH = "JAXSUDOKU_LOCKS"
#: First bytes of every lock file; files with other contents are never changed.
_MARK = b"jaxsudoku lock: "

if sys.platform == "win32":
    import msvcrt

    #: Other processes can't read a locked byte, so it lies far behind the text.
    _LOCKED_BYTE = 0x7FFF0000

    def _try_lock(file: int) -> bool:
        os.lseek(file, _LOCKED_BYTE, os.SEEK_SET)
        try:
            msvcrt.locking(file, msvcrt.LK_NBLCK, 1)
        except PermissionError:
            return False
        finally:
            os.lseek(file, 0, os.SEEK_SET)
        return True

else:
    import fcntl

    def _try_lock(file: int) -> bool:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            return False
        return True


class OutputLock:
    """The lock on an output, held until it is released; a context manager.

    Args:
      target: the output: a file, existing or not, whose lock file lies beside it, or a folder that contains its lock
        file. Symbolic links to the same file have the same lock.

    Raises:
      BlockingIOError: the output is locked; the message says by which process, on which machine, and since when.
      FileExistsError: the file at the lock's path is not a lock.
      OSError: the lock file can't be created, or the file system has no locks.
    """

    def __init__(self, target: str | os.PathLike[str]) -> None:
        path = lock_path(target)
        file = _acquire(path, os.fspath(target)) if _wanted() else None
        self._release = weakref.finalize(self, _release, file, path, os.getpid())

    def release(self) -> None:
        """Removes the lock file and releases the lock; does nothing the second time."""
        self._release()

    def __enter__(self) -> OutputLock:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        self.release()


def lock_path(target: str | os.PathLike[str]) -> str:
    """The lock file of an output."""
    path = os.path.realpath(target)
    return os.path.join(path, SUFFIX) if os.path.isdir(path) else f"{path}{SUFFIX}"


def check_unlocked(target: str | os.PathLike[str]) -> None:
    """Raises BlockingIOError if the output is locked, as ``OutputLock`` does."""
    if os.path.exists(lock_path(target)):
        OutputLock(target).release()


def lock_file(file: int, name: str) -> None:
    """Locks an open file itself until it is closed, under all of its names.

    Args:
      file: its descriptor, open for writing.
      name: for messages.

    Raises:
      BlockingIOError: another process has locked it.
      OSError: the file system has no locks.
    """
    if _wanted() and not _locked(file, name):
        raise BlockingIOError(errno.EAGAIN, "another process is writing this output", name)


def _wanted() -> bool:
    return os.environ.get(SWITCH) != "off"


def _acquire(path: str, name: str) -> int:
    """Creates or takes over a lock file that names this process; returns its descriptor, locked."""
    while True:
        file = os.open(path, os.O_RDWR | os.O_CREAT | getattr(os, "O_NOFOLLOW", 0), 0o666)
        try:
            if not _locked(file, path):
                raise BlockingIOError(errno.EAGAIN, f"{_holder(file)} is writing this output", name)
            # the previous holder may have removed the file between the two calls
            if _is_at(file, path):
                text = os.read(file, len(_MARK))
                if not _MARK.startswith(text):
                    raise FileExistsError(errno.EEXIST, "not a lock of jaxsudoku: move it out of the way", path)
                _describe(file)
                return file
        except BlockingIOError:
            os.close(file)
            raise
        except BaseException:  # no locks, or a full disk
            empty = not os.fstat(file).st_size
            os.close(file)
            if empty:
                os.remove(path)
            raise
        os.close(file)


def _locked(file: int, name: str) -> bool:
    """Tries to lock a file; False if another process has locked it."""
    try:
        return _try_lock(file)
    except OSError as error:
        cause = f"the file system has no locks ({error.strerror}); {SWITCH}=off in the environment writes without them"
        raise OSError(error.errno, cause, name) from error


def _is_at(file: int, path: str) -> bool:
    try:
        return os.path.samestat(os.fstat(file), os.stat(path))
    except FileNotFoundError:
        return False


def _describe(file: int) -> None:
    """Writes which process holds the lock."""
    since = datetime.datetime.now().astimezone().isoformat(" ", "seconds")
    os.ftruncate(file, 0)
    os.lseek(file, 0, os.SEEK_SET)
    import socket  # slow to import, and not needed without outputs

    os.write(file, _MARK + f"process {os.getpid()} on {socket.gethostname()}, since {since},\n".encode())


def _holder(file: int) -> str:
    """The process that a lock file names."""
    text = os.read(file, 1000)
    if not text.startswith(_MARK) or not text.endswith(b"\n"):
        return "another process"  # it has not written its name yet
    return text.removeprefix(_MARK).decode(errors="replace").strip()


def _release(file: int | None, path: str, process: int) -> None:
    # a forked process inherits the descriptor, but not the lock
    if file is None or process != os.getpid():
        return
    mine = _is_at(file, path)
    if sys.platform == "win32":  # an open file can't be removed
        os.close(file)
        if mine:
            with contextlib.suppress(PermissionError, FileNotFoundError):  # already locked by another process
                os.remove(path)
        return
    if mine:
        os.remove(path)
    os.close(file)
