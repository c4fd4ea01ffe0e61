"""Writing counts of solutions."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterable, Iterator
from typing import BinaryIO

import numpy as np

from jaxsudoku.io import Chunk, check_suffix

from .failure import UsageError, as_usage
from .files import put


class CountWriter:
    """Writes counts, a line each; a context manager.

    Args:
      target: a path, or ``-`` for the standard output.
      force: whether an existing file may be replaced.
      source: the input, which is never written over.

    Attributes:
      done: 0, as counting always starts anew.

    Raises:
      UsageError: the output exists, is the input, or has the suffix of compressed files.
      OSError: it can't be written.
    """

    def __init__(self, target: str, force: bool, source: str) -> None:
        self.done = 0
        with as_usage():
            check_suffix(target)
        self._name = "<stdout>" if target == "-" else target
        if target == "-":
            self._file: BinaryIO = sys.stdout.buffer
            return
        if os.path.isfile(target):
            if os.path.exists(source) and os.path.samefile(source, target):
                raise UsageError(f"{target}: the output is the input")
            if not force:
                raise UsageError(f"{target}: the output exists: replace it with --force")
        self._file = open(target, "wb", buffering=0)  # noqa: SIM115 - closed by __exit__

    def remaining(self, chunks: Iterable[Chunk]) -> Iterator[Chunk]:
        """All of them."""
        yield from chunks

    def write(self, chunk: Chunk, counts: np.ndarray) -> None:
        """Appends int32[n] counts, ``-`` for malformed puzzles."""
        lines = list(map(str, counts.tolist()))
        for row in np.flatnonzero(~chunk.good).tolist():
            lines[row] = "-"
        put(self._file, "".join(f"{line}\n" for line in lines), self._name)

    def __enter__(self) -> CountWriter:
        return self

    def __exit__(self, *_: object) -> None:
        if self._file is not sys.stdout.buffer:
            self._file.close()
