"""Writers of histories (errors after each step) of solvers on full grids, as a table or a picture."""

from __future__ import annotations

import contextlib
from collections.abc import Sequence
from types import TracebackType
from typing import BinaryIO, Protocol

import numpy as np

from jaxsudoku import pictures
from jaxsudoku.io import open_target
from jaxsudoku.runtime.terminal.failure import UsageError

from .outputs import check_outputs, put

#: Default number of recorded steps of a puzzle; the solver's flag --record changes it.
RECORDED = 5000

#: Number of puzzles whose rows are written at a time.
_ROWS = 256


class _Target(Protocol):
    """A file of histories."""

    def write(self, first: int, history: np.ndarray) -> None:
        """Adds the history int32[n, steps] of the puzzles from the number ``first`` on; -1 is no step."""

    def close(self) -> None:
        """Completes the file."""


class HistoryWriter:
    """Writer of histories to files, in the formats of their suffixes; a context manager that opens them.

    A ``.csv`` has a row for each puzzle (its number in the input, from 1) and step, with the error after this step; any
    other file is a picture of all puzzles (``pictures.Course``), drawn at the end.

    Args:
      targets: paths.
      force: whether existing files may be replaced.
      source: the input, ``-`` for the standard input; None for none.
      outputs: the other outputs.

    Raises:
      UsageError: a file exists, can't be created, is used twice or for something else, or has an unknown suffix.
      ImportError: matplotlib, which pictures need, is missing.
    """

    def __init__(
        self, targets: Sequence[str], force: bool, source: str | None = None, outputs: Sequence[str] = ()
    ) -> None:
        reads = () if source is None else (source,)
        check_outputs(targets, reads=reads, writes=outputs, force=force, what="history")
        for target in targets:
            if not _is_table(target) and pictures.suffix(target) not in pictures.formats():
                raise UsageError(
                    f"{target}: the suffix of a history must be .csv, or that of a picture: "
                    f".{', .'.join(pictures.formats())}"
                )
        self._names = targets
        self._targets: list[_Target] = []

    def write(self, first: int, history: np.ndarray) -> None:
        """Writes the history int32[n, steps] of the puzzles from the number ``first`` on; -1 is no step."""
        for target in self._targets:
            target.write(first, history)

    def __enter__(self) -> HistoryWriter:
        with contextlib.ExitStack() as opened:
            for name in self._names:
                file = opened.enter_context(open_target(name))
                self._targets.append((_Table if _is_table(name) else _Picture)(file, name))
            self._files = opened.pop_all()
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        with self._files:
            for target in self._targets:
                try:
                    target.close()
                except OSError:
                    if error is None:  # otherwise the first error is the one to report
                        raise


def _is_table(target: str) -> bool:
    return pictures.suffix(target) == "csv"


class _Table:
    """Rows of puzzle, step and error."""

    def __init__(self, file: BinaryIO, name: str) -> None:
        self._file, self._name = file, name
        put(file, "puzzle,step,error\n", name)

    def write(self, first: int, history: np.ndarray) -> None:
        """Appends rows."""
        for start in range(0, len(history), _ROWS):
            part = history[start : start + _ROWS]
            rows, steps = np.nonzero(part >= 0)
            numbers = zip(
                (rows + start + first).tolist(), (steps + 1).tolist(), part[rows, steps].tolist(), strict=True
            )
            put(self._file, "".join(f"{puzzle},{step},{error}\n" for puzzle, step, error in numbers), self._name)

    def close(self) -> None:
        """Does nothing, as all rows are written."""


class _Picture:
    """A picture of all histories."""

    def __init__(self, file: BinaryIO, name: str) -> None:
        del file  # opened now to check that it can be written
        self._name, self._course = name, pictures.Course()

    def write(self, first: int, history: np.ndarray) -> None:
        """Adds puzzles."""
        self._course.add(history)

    def close(self) -> None:
        """Draws."""
        self._course.draw(self._name)
