"""Writing counts of solutions."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

import numpy as np

from jaxsudoku.io import Chunk, check_suffix, open_lines
from jaxsudoku.terminal.failure import as_usage

from .files import named_errors


class CountWriter:
    """Writes counts, a line each; a context manager.

    Args:
      target: a path, or ``-`` for the standard output.
      force: whether an existing file may be replaced.
      source: the input, which is never written over.

    Attributes:
      done: 0, as counting always starts anew.

    Raises:
      UsageError: the output has the suffix of compressed files.
      ValueError: the output is the input.
      OSError: it exists, or can't be written.
    """

    def __init__(self, target: str, force: bool, source: str) -> None:
        self.done = 0
        with as_usage():
            check_suffix(target)
        self._name = "<stdout>" if target == "-" else target
        self._lines = open_lines(target, "text", False, (), reads=(source,), force=force, resumable=False)

    def remaining(self, chunks: Iterable[Chunk]) -> Iterator[Chunk]:
        """All of them."""
        yield from chunks

    def write(self, chunk: Chunk, counts: np.ndarray) -> None:
        """Appends int32[n] counts, ``-`` for malformed puzzles."""
        lines = list(map(str, counts.tolist()))
        for row in np.flatnonzero(~chunk.good).tolist():
            lines[row] = "-"
        with named_errors(self._name):
            self._lines.put("".join(f"{line}\n" for line in lines).encode())

    def abandon(self) -> None:
        """Leaves the output as it is."""
        self._lines.close()

    def __enter__(self) -> CountWriter:
        return self

    def __exit__(self, *_: object) -> None:
        self.abandon()
