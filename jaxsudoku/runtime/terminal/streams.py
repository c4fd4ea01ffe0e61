"""The standard streams: closed from the start, full at the end, or a pipe that nobody reads any more."""

from __future__ import annotations

import errno
import os
import sys

from jaxsudoku.runtime.escapes import shown


def reopen() -> None:
    """Opens the null device in place of standard streams that are closed.

    Otherwise the next file that is opened would get the number of a closed stream, and JAX's libraries would write
    their messages into it. Input and output are opened the wrong way round, so that reading and writing them is an
    error; what is written to the standard error is lost.
    """
    modes = {0: os.O_WRONLY, 1: os.O_RDONLY, 2: os.O_WRONLY}
    for number, mode in modes.items():
        try:
            os.fstat(number)
        except OSError:
            null = os.open(os.devnull, mode)
            if null != number:
                os.dup2(null, number)
                os.close(null)
    if sys.stdin is None:
        sys.stdin = open(0, closefd=False)  # noqa: SIM115 - stays open
    if sys.stdout is None:
        sys.stdout = open(1, "w", closefd=False)  # noqa: SIM115
    if sys.stderr is None:
        sys.stderr = open(2, "w", closefd=False)  # noqa: SIM115


def print_error(line: str) -> None:
    """Prints a text as one line on the standard error; all messages to people are printed here.

    It is one write, so that a signal can't part the text from the line's end.
    """
    sys.stderr.write(f"{shown(line)}\n")
    sys.stderr.flush()


def flush_output() -> str:
    """Flushes the standard output while an error can still be reported; the cause if that fails, else "".

    Raises:
      BrokenPipeError: nobody reads the output any more.
    """
    try:
        sys.stdout.flush()
    except BrokenPipeError:
        raise
    except OSError as error:
        abandon_output()
        return "the standard output is closed" if error.errno == errno.EBADF else str(error.strerror)
    return ""


def abandon_output() -> None:
    """Discards what is left to be flushed, since Python flushes again at its exit and would fail again."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
