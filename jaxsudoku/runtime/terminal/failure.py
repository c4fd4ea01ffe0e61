"""Errors of a command's user, and the one-line messages of any error."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator


class UsageError(Exception):
    """Error of the user of a command, such as bad arguments or files; the message is for the user."""


@contextlib.contextmanager
def as_usage(kinds: tuple[type[Exception], ...] = (OSError, ValueError, ImportError)) -> Iterator[None]:
    """A context that turns errors of these types into ``UsageError``; by default those of bad arguments and files."""
    try:
        yield
    except kinds as error:
        raise UsageError(described(error)) from error


def described(error: Exception) -> str:
    """The message of an error; ``file: cause`` for errors of the operating system."""
    if isinstance(error, OSError) and error.filename is not None:
        return f"{error.filename}: {error.strerror}"
    return str(error)
