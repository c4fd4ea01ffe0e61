"""Opening inputs and writing text, with errors that name the file."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator, Sequence
from typing import BinaryIO

from jaxsudoku import io
from jaxsudoku.io import check_standard_input
from jaxsudoku.terminal.failure import as_usage


def open_input(path: str) -> contextlib.AbstractContextManager[BinaryIO | str]:
    """Opens the input now, so that a missing one is known before anything else is done; ``-`` stays as it is."""
    with as_usage():
        if path == "-":
            check_standard_input()
            return contextlib.nullcontext(path)
        return open(path, "rb")


def named(path: str) -> str:
    """The input as messages name it."""
    return "<stdin>" if path == "-" else path


def check_output(what: str, path: str, reads: Sequence[str], writes: Sequence[str], force: bool) -> None:
    """Finds out before the work, not after it, whether a file can be made.

    Args:
      what: what it is, for messages, such as "output".
      path: the file.
      reads: the inputs, ``-`` for the standard input.
      writes: the other outputs, ``-`` for the standard output.
      force: whether it may be replaced.

    Raises:
      UsageError: it is one of the others, exists and is not to be replaced, or can't be written.
    """
    with as_usage():
        io.check_output(path, reads=reads, writes=writes, exist_ok=force, what=what)


def check_printed(*reads: str) -> None:
    """Raises UsageError where the standard output is closed, or is one of the files that a command reads."""
    with as_usage():
        io.check_output("-", reads=reads)


def put(file: BinaryIO, text: str, name: str) -> None:
    """Writes all of a text at once; raises OSError that has the file's name, BrokenPipeError as it is."""
    data = memoryview(text.encode())
    with named_errors(name):
        while data:  # an unbuffered file may take less than it is given
            data = data[file.write(data) :]
        file.flush()


@contextlib.contextmanager
def named_errors(name: str) -> Iterator[None]:
    """Gives errors of writing the file's name; BrokenPipeError comes as it is."""
    try:
        yield
    except BrokenPipeError:
        raise
    except OSError as error:
        raise OSError(error.errno, error.strerror, name) from error
