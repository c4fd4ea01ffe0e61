"""Writing how the errors of puzzles fell, step by step: as a table, or as a picture."""

from __future__ import annotations

import contextlib
from collections.abc import Sequence
from types import TracebackType
from typing import BinaryIO, Protocol

import numpy as np

from jaxsudoku import pictures
from jaxsudoku.io import open_target
from jaxsudoku.terminal.failure import UsageError

from .files import check_output, put

#: Steps of a puzzle that are recorded unless the solver's flag --record says how many.
RECORDED = 5000

#: Puzzles whose rows are put together.
_ROWS = 256


class _Target(Protocol):
    """A file that takes histories."""

    def write(self, first: int, history: np.ndarray) -> None:
        """Takes the history int32[n, steps] of the puzzles from a number on; -1 is no step."""

    def close(self) -> None:
        """Nothing comes any more."""


class HistoryWriter:
    """Writes histories into files, by their suffixes; a context manager, which opens them.

    A ``.csv`` has a row a puzzle (its number in the input, from 1) and step, with the error then; any other file is a
    picture of all of them (``pictures.Course``), drawn at the end.

    Args:
      targets: paths.
      force: whether existing files may be replaced.
      source: the input, ``-`` for the standard input; None for none.
      outputs: the other outputs.

    Raises:
      UsageError: a file exists, can't be made, is one of the others or named twice, or its suffix tells no format of
        pictures.
      ImportError: matplotlib, which pictures need, is missing.
    """

    def __init__(
        self, targets: Sequence[str], force: bool, source: str | None = None, outputs: Sequence[str] = ()
    ) -> None:
        reads = () if source is None else (source,)
        for number, target in enumerate(targets):
            check_output("history", target, reads, [*outputs, *targets[:number]], force)
            if not _is_table(target) and pictures.suffix(target) not in pictures.formats():
                raise UsageError(
                    f"{target}: no history: its suffix must be .csv, or that of a picture: "
                    f".{', .'.join(pictures.formats())}"
                )
        self._names = targets
        self._targets: list[_Target] = []

    def write(self, first: int, history: np.ndarray) -> None:
        """Writes the history int32[n, steps] of the puzzles from a number on; -1 is no step."""
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
                    if error is None:  # else that came first, and is told
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
        """All rows are written."""


class _Picture:
    """What all histories come to."""

    def __init__(self, file: BinaryIO, name: str) -> None:
        del file  # it can be written
        self._name, self._course = name, pictures.Course()

    def write(self, first: int, history: np.ndarray) -> None:
        """Adds puzzles."""
        self._course.add(history)

    def close(self) -> None:
        """Draws."""
        self._course.draw(self._name)
