"""Robust use of standard streams: closed streams, full disks, and pipes without a reader."""

from __future__ import annotations

import errno
import os
import sys

from jaxsudoku.runtime.escapes import shown


def reopen() -> None:
    """Opens the null device in place of closed standard streams.

    Otherwise the next file to be opened would get the number of a closed stream, and JAX's libraries would write their
    messages into it. Input is opened for writing and output for reading, so that using them is an error; text written
    to the standard error is lost.
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
    """Prints a text as one line on the standard error; all messages to people use this function.

    It is one write, so that a signal can't separate the text from the end of the line.
    """
    sys.stderr.write(f"{shown(line)}\n")
    sys.stderr.flush()


def flush_output() -> str:
    """Flushes the standard output while errors can still be reported; returns the cause of a failure, else "".

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
    """Discards unflushed output, since Python flushes again at its exit and would fail again."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
