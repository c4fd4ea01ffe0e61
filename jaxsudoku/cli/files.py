"""Opening inputs and writing text, with errors that name the file."""

from __future__ import annotations

import contextlib
from typing import BinaryIO

from .failure import as_usage


def open_input(path: str) -> contextlib.AbstractContextManager[BinaryIO | str]:
    """Opens the input now, so that a missing one is known before anything else is done; ``-`` stays as it is."""
    if path == "-":
        return contextlib.nullcontext(path)
    with as_usage():
        return open(path, "rb")


def named(path: str) -> str:
    """The input as messages name it."""
    return "<stdin>" if path == "-" else path


def put(file: BinaryIO, text: str, name: str) -> None:
    """Writes all of a text at once; raises OSError that has the file's name, BrokenPipeError as it is."""
    data = memoryview(text.encode())
    try:
        while data:  # an unbuffered file may take less than it is given
            data = data[file.write(data) :]
        file.flush()
    except BrokenPipeError:
        raise
    except OSError as error:
        raise OSError(error.errno, error.strerror, name) from error
