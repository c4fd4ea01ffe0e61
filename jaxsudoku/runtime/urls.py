"""Files at URLs, such as s3://bucket/puzzles.parquet. Needs fsspec, the extra ``cluster``, imported on first use."""

from __future__ import annotations

import os
import re
from typing import Any, BinaryIO

_URL = re.compile(r"[A-Za-z][A-Za-z0-9+.-]+://")


def is_url(name: object) -> bool:
    """Whether a name is a URL, not a path."""
    return isinstance(name, str) and _URL.match(name) is not None


def file_system(url: str) -> tuple[Any, str]:
    """The file system of fsspec for a URL, and the path in it. Credentials are those that fsspec finds.

    Raises:
      ImportError: fsspec is missing, or the package for this kind of URL; the message says what to install.
      ValueError: no package serves this kind of URL.
    """
    try:
        import fsspec
    except ImportError as error:
        raise ImportError("URLs need fsspec: pip install 'jaxsudoku[cluster]'") from error
    found: tuple[Any, str] = fsspec.core.url_to_fs(url)
    return found


def open_file(name: str | os.PathLike[str]) -> BinaryIO:
    """A file, by its path or URL, for reading bytes.

    Raises:
      OSError: it is missing or unreadable.
      ImportError, ValueError: as ``file_system``.
    """
    if not is_url(name):
        return open(name, "rb")
    system, path = file_system(str(name))
    opened: BinaryIO = system.open(path, "rb")
    return opened
