"""Writing how the errors of puzzles fell, step by step."""

from __future__ import annotations

import os
from collections.abc import Sequence
from types import TracebackType

import numpy as np

from .failure import UsageError
from .files import put

#: Steps of a puzzle that are recorded unless the solver's flag --record says how many.
RECORDED = 5000


class HistoryWriter:
    """Writes a CSV of puzzle (its number in the input, from 1), step and error; a context manager.

    Args:
      target: a path; None writes nothing.
      force: whether an existing file may be replaced.
      others: the input and the output, which are never written over.

    Raises:
      UsageError: the file exists, or is one of the others.
      OSError: it can't be written.
    """

    def __init__(self, target: str | None, force: bool, others: Sequence[str] = ()) -> None:
        self._file = None
        if target is None:
            return
        for other in others:
            if os.path.realpath(other) == os.path.realpath(target):
                raise UsageError(f"{target}: the history would be written over {other}")
        if os.path.isfile(target) and not force:
            raise UsageError(f"{target}: the history exists: replace it with --force")
        self._name = target
        self._file = open(target, "wb", buffering=0)  # noqa: SIM115 - closed by __exit__
        put(self._file, "puzzle,step,error\n", target)

    def write(self, first: int, history: np.ndarray | None) -> None:
        """Appends the history int32[n, steps] of the puzzles from a number on; -1 is no step."""
        if self._file is None or history is None:
            return
        rows, steps = np.nonzero(history >= 0)
        numbers = zip((rows + first).tolist(), (steps + 1).tolist(), history[rows, steps].tolist(), strict=True)
        put(self._file, "".join(f"{puzzle},{step},{error}\n" for puzzle, step, error in numbers), self._name)

    def __enter__(self) -> HistoryWriter:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        if self._file is not None:
            self._file.close()
