"""Opening inputs and writing text, with errors that name the file."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Sequence
from typing import BinaryIO

from .failure import UsageError, as_usage


def open_input(path: str) -> contextlib.AbstractContextManager[BinaryIO | str]:
    """Opens the input now, so that a missing one is known before anything else is done; ``-`` stays as it is."""
    if path == "-":
        return contextlib.nullcontext(path)
    with as_usage():
        return open(path, "rb")


def named(path: str) -> str:
    """The input as messages name it."""
    return "<stdin>" if path == "-" else path


def check_output(what: str, path: str, others: Sequence[str], force: bool) -> None:
    """Finds out before the work, not after it, whether a file can be made.

    Args:
      what: what it is, for messages, such as "output".
      path: the file.
      others: files that it must not be, the input above all.
      force: whether it may be replaced.

    Raises:
      UsageError: it is one of the others, exists and is not to be replaced, or would be in a folder that is none.
    """
    for other in others:
        if os.path.realpath(other) == os.path.realpath(path):
            raise UsageError(f"{path}: the {what} would be written over {other}")
    if os.path.exists(path) and not force:
        raise UsageError(f"{path}: the {what} exists: replace it with --force")
    if not os.path.isdir(folder := os.path.dirname(path) or "."):
        raise UsageError(f"{path}: {folder} is no folder")


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
