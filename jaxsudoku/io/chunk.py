"""Chunks of puzzles, and errors of malformed lines."""

from __future__ import annotations

import dataclasses
import itertools
import math
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Literal, get_args

import numpy as np

from jaxsudoku.core.constraints.base import Constraint
from jaxsudoku.core.host_rules import all_candidates

from .cells import Cause, Marks
from .decode import Decoded
from .grid_text import format_lines

#: Treatment of malformed puzzles: raise an error, or mark the rows.
Errors = Literal["raise", "mark"]
#: Number of errors quoted in a message; further ones are only counted.
QUOTED_ERRORS = 5


def check_errors(errors: str) -> None:
    """Raises ValueError if an argument ``errors`` is neither "raise" nor "mark"."""
    if errors not in get_args(Errors):
        raise ValueError(f"errors must be 'raise' or 'mark', not {errors!r}")


@dataclasses.dataclass(frozen=True)
class LineError:
    """The error of a line without a valid puzzle; ``str()`` gives ``file:line: cause``.

    Attributes:
      source: name of the file, ``<stdin>`` for the standard input.
      line: number of the line, counted from 1 (the row of the table for Parquet).
      cause: the cause.
      text: the malformed text; None if it is not a single text, as for a drawn grid.
    """

    source: str
    line: int
    cause: str
    text: str | None = dataclasses.field(default=None, compare=False)

    def __str__(self) -> str:
        return f"{self.source}:{self.line}: {self.cause}"


class PuzzleFileError(ValueError):
    """Raised for an input that can't be read, or only in part.

    Attributes:
      errors: tuple of ``LineError``, one for each malformed puzzle.
      grids: uint8[n, cells], all puzzles read, zeros for malformed ones.
    """

    def __init__(self, message: str, errors: Sequence[LineError] = (), grids: np.ndarray | None = None) -> None:
        super().__init__(message)
        self.errors = tuple(errors)
        self.grids = np.zeros((0, 0), np.uint8) if grids is None else grids

    @classmethod
    def of_lines(cls, errors: Sequence[LineError], grids: np.ndarray) -> PuzzleFileError:
        """An error that quotes the first malformed lines and counts all of them."""
        quoted = [str(error) for error in errors[:QUOTED_ERRORS]]
        if len(errors) > QUOTED_ERRORS:
            quoted.append(f"... and {len(errors) - QUOTED_ERRORS} more")
        return cls(f"{len(errors)} of {len(grids)} puzzles malformed:\n  " + "\n  ".join(quoted), errors, grids)


class NoPuzzlesError(PuzzleFileError):
    """Raised for an input of another kind, without puzzles."""


@dataclasses.dataclass(frozen=True, eq=False)
class Chunk:
    """Consecutive puzzles of an input; ``len()`` counts them and a slice of step 1 is a chunk.

    Attributes:
      grids: uint8[n, cells], values 0 (blank) to side, zeros where ``good`` is False.
      good: bool[n], False for malformed puzzles.
      lines: int64[n], line on which each puzzle starts, counted from 1.
      errors: one ``LineError`` for each malformed puzzle, in order.
      extras: further columns of a table, each a list of n values; empty for text. Values are texts, except those of
        Parquet columns of booleans, floats or integers (unsigned ones up to 32 bits), which keep their types, with None
        for null.
      start: index of the first puzzle in the input.
      marks: candidates and placed cells, by row, of puzzles for which the input lists them.
      mixed: bool[n], puzzles with some blanks written 0 and others in another way; None if there are none.
      constraints: the constraints of each puzzle; None if the input has no column of them.
    """

    grids: np.ndarray
    good: np.ndarray
    lines: np.ndarray
    errors: tuple[LineError, ...] = ()
    extras: dict[str, list[Any]] = dataclasses.field(default_factory=dict)
    start: int = 0
    marks: dict[int, Marks] = dataclasses.field(default_factory=dict)
    mixed: np.ndarray | None = None
    constraints: tuple[tuple[Constraint, ...], ...] | None = None

    @classmethod
    def of(cls, read: Decoded, lines: np.ndarray, source: str, extras: dict[str, list[Any]] | None = None) -> Chunk:
        """The chunk of decoded texts on these lines of a file."""
        chunk = cls(read.grids, read.good, lines, (), extras or {}, 0, read.marks, read.mixed)
        return chunk.with_errors(source, read.causes)

    def __len__(self) -> int:
        return len(self.grids)

    def __getitem__(self, rows: slice) -> Chunk:
        first, last, step = rows.indices(len(self))
        if step != 1:
            raise ValueError(f"a chunk is sliced in steps of 1, not {step}")
        part = slice(first, max(first, last))
        if part == slice(0, len(self)):
            return self
        skipped, kept = (int(np.count_nonzero(~self.good[span])) for span in (slice(first), part))
        return Chunk(
            self.grids[part],
            self.good[part],
            self.lines[part],
            self.errors[skipped : skipped + kept],
            {name: values[part] for name, values in self.extras.items()},
            self.start + first,
            {row - first: marks for row, marks in self.marks.items() if part.start <= row < part.stop},
            None if self.mixed is None else self.mixed[part],
            None if self.constraints is None else self.constraints[part],
        )

    @property
    def listed(self) -> np.ndarray:
        """Whether puzzles have an open cell with fewer candidates than all digits, bool[n]."""
        found = np.zeros(len(self), bool)
        for row, marks in self.marks.items():
            found[row] = self.good[row] and not marks.candidates[:, self.grids[row] == 0].all()
        return found

    def candidates_of(self, rows: Sequence[int] | np.ndarray) -> np.ndarray:
        """The candidates of some puzzles, bool[rows, side, cells]; all digits if none are listed."""
        side = round(self.grids.shape[1] ** 0.5)
        found = all_candidates(self.grids[rows], side)
        for at, row in enumerate(rows):
            if int(row) in self.marks:
                found[at] = self.marks[int(row)].candidates
        return found

    def givens_of(self, rows: Sequence[int] | np.ndarray) -> np.ndarray:
        """Whether each cell of some puzzles is given, bool[rows, cells]: filled, and not marked as placed."""
        found: np.ndarray = self.grids[rows] > 0
        for at, row in enumerate(rows):
            if (marks := self.marks.get(int(row))) is not None and marks.placed is not None:
                found[at] &= ~marks.placed
        return found

    def with_errors(self, source: str, causes: Mapping[int, str]) -> Chunk:
        """The chunk with further malformed rows.

        Args:
          source: name of the file.
          causes: causes by row; a ``Cause`` includes the text.
        """
        if not causes:
            return self
        rows = list(causes)
        found = [LineError(source, int(self.lines[row]), str(why), self._text(row, why)) for row, why in causes.items()]
        grids, good = self.grids.copy(), self.good.copy()
        grids[rows], good[rows] = 0, False
        errors = [*self.errors, *found]
        errors.sort(key=lambda error: error.line)
        return dataclasses.replace(self, grids=grids, good=good, errors=tuple(errors))

    def _text(self, row: int, cause: str) -> str | None:
        """The text of a malformed row."""
        if isinstance(cause, Cause):
            return cause.text
        if not self.good[row]:
            return None
        grid = self.grids[row : row + 1]  # well-formed, but invalid for another reason
        return format_lines(grid, math.isqrt(grid.size)).decode().strip()

    @property
    def causes(self) -> dict[int, str]:
        """The causes of malformed rows, by row."""
        rows = np.flatnonzero(~self.good).tolist()
        return {row: error.cause for row, error in zip(rows, self.errors, strict=True)}

    @property
    def texts(self) -> dict[int, str]:
        """The texts of malformed rows, where they are known."""
        rows = np.flatnonzero(~self.good).tolist()
        return {row: error.text for row, error in zip(rows, self.errors, strict=True) if error.text is not None}

    @staticmethod
    def join(chunks: Sequence[Chunk]) -> Chunk:
        """Joins consecutive chunks, at least one, all with the same extra columns."""
        if len(chunks) == 1:
            return chunks[0]
        return Chunk(
            np.concatenate([chunk.grids for chunk in chunks]),
            np.concatenate([chunk.good for chunk in chunks]),
            np.concatenate([chunk.lines for chunk in chunks]),
            tuple(error for chunk in chunks for error in chunk.errors),
            {name: [value for chunk in chunks for value in chunk.extras[name]] for name in chunks[0].extras},
            chunks[0].start,
            _joined_marks(chunks),
            _joined_mixed(chunks),
            _joined_constraints(chunks),
        )


def _joined_marks(chunks: Sequence[Chunk]) -> dict[int, Marks]:
    found: dict[int, Marks] = {}
    for first, chunk in zip(itertools.accumulate(map(len, chunks), initial=0), chunks, strict=False):
        found |= {first + row: marks for row, marks in chunk.marks.items()}
    return found


def _joined_mixed(chunks: Sequence[Chunk]) -> np.ndarray | None:
    if all(chunk.mixed is None for chunk in chunks):
        return None
    return np.concatenate([np.zeros(len(chunk), bool) if chunk.mixed is None else chunk.mixed for chunk in chunks])


def _joined_constraints(chunks: Sequence[Chunk]) -> tuple[tuple[Constraint, ...], ...] | None:
    if all(chunk.constraints is None for chunk in chunks):
        return None
    return tuple(one for chunk in chunks for one in chunk.constraints or ((),) * len(chunk))


def rechunk(chunks: Iterator[Chunk], size: int, skip: int) -> Iterator[Chunk]:
    """The puzzles after the first ``skip``, in chunks of ``size``; errors are raised after all puzzles before them."""
    held: list[Chunk] = []
    count = 0
    start = skip
    failure: Exception | None = None
    try:
        for chunk in chunks:
            skipped = min(skip, len(chunk))
            skip -= skipped
            held.append(chunk[skipped:])
            count += len(held[-1])
            if count < size:
                continue
            whole = Chunk.join(held)
            cut = count - count % size
            for first in range(0, cut, size):
                yield dataclasses.replace(whole[first : first + size], start=start)
                start += size
            held = [whole[cut:]]
            count -= cut
    except (OSError, PuzzleFileError) as error:
        failure = error
    if count:
        yield dataclasses.replace(Chunk.join(held), start=start)
    if failure is not None:
        raise failure
