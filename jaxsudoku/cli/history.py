"""Writing how the errors of puzzles fell, step by step: as a table, or as a picture."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Sequence
from types import TracebackType
from typing import BinaryIO, Protocol

import numpy as np

from jaxsudoku import pictures

from .failure import UsageError
from .files import put

#: Steps of a puzzle that are recorded unless the solver's flag --record says how many.
RECORDED = 5000


class _Target(Protocol):
    """A file that takes histories."""

    def write(self, first: int, history: np.ndarray) -> None:
        """Takes the history int32[n, steps] of the puzzles from a number on; -1 is no step."""

    def close(self) -> None:
        """Nothing comes any more."""


class HistoryWriter:
    """Writes histories into files, by their suffixes; a context manager.

    A ``.csv`` has a row a puzzle (its number in the input, from 1) and step, with the error then; any other file is a
    picture of all of them (``pictures.Course``), drawn at the end.

    Args:
      targets: paths.
      force: whether existing files may be replaced.
      others: the input and the output, which are never written over.

    Raises:
      UsageError: a file exists, is one of the others or named twice, or its suffix tells no format of pictures.
      ImportError: matplotlib, which pictures need, is missing.
      OSError: a file can't be written.
    """

    def __init__(self, targets: Sequence[str], force: bool, others: Sequence[str] = ()) -> None:
        taken = list(others)
        for target in targets:
            for other in taken:
                if os.path.realpath(other) == os.path.realpath(target):
                    raise UsageError(f"{target}: the history would be written over {other}")
            if os.path.isfile(target) and not force:
                raise UsageError(f"{target}: the history exists: replace it with --force")
            if not _is_table(target) and pictures.suffix(target) not in pictures.formats():
                raise UsageError(
                    f"{target}: no history: its suffix must be .csv, or that of a picture: "
                    f".{', .'.join(pictures.formats())}"
                )
            taken.append(target)
        with contextlib.ExitStack() as opened:
            self._targets: list[_Target] = []
            for target in targets:
                file = opened.enter_context(open(target, "wb", buffering=0))
                self._targets.append((_Table if _is_table(target) else _Picture)(file, target))
            self._files = opened.pop_all()

    def write(self, first: int, history: np.ndarray | None) -> None:
        """Writes the history int32[n, steps] of the puzzles from a number on; -1 is no step."""
        if history is not None:
            for target in self._targets:
                target.write(first, history)

    def __enter__(self) -> HistoryWriter:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        with self._files:
            for target in self._targets:
                target.close()


def _is_table(target: str) -> bool:
    return pictures.suffix(target) == "csv"


class _Table:
    """Rows of puzzle, step and error."""

    def __init__(self, file: BinaryIO, name: str) -> None:
        self._file, self._name = file, name
        put(file, "puzzle,step,error\n", name)

    def write(self, first: int, history: np.ndarray) -> None:
        """Appends rows."""
        rows, steps = np.nonzero(history >= 0)
        numbers = zip((rows + first).tolist(), (steps + 1).tolist(), history[rows, steps].tolist(), strict=True)
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
