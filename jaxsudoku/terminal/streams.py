"""Standard streams that were closed before the program began."""

from __future__ import annotations

import os
import sys


def reopen() -> None:
    """Puts something in the places of standard streams that are closed.

    Else the next file that is opened would get the number of a closed stream, and with it what JAX's libraries write to
    the standard error. The null device comes in their places: the wrong way round for the standard input and output, so
    that reading and writing them is an error; what goes to the standard error is lost.
    """
    ways = {0: os.O_WRONLY, 1: os.O_RDONLY, 2: os.O_WRONLY}
    for number, way in ways.items():
        try:
            os.fstat(number)
        except OSError:
            null = os.open(os.devnull, way)
            if null != number:
                os.dup2(null, number)
                os.close(null)
    if sys.stdin is None:
        sys.stdin = open(0, closefd=False)  # noqa: SIM115 - stays open
    if sys.stdout is None:
        sys.stdout = open(1, "w", closefd=False)  # noqa: SIM115
    if sys.stderr is None:
        sys.stderr = open(2, "w", closefd=False)  # noqa: SIM115
