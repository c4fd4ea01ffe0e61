"""Writers of answers in the order of their puzzles; interrupted runs lose no answers and can be resumed.

The data flow::

    Chunk, Solution -> SolutionWriter.write -> LineFile.append, lines            -> target
    Chunk, Counts   -> CountWriter.write       PartsFile.append, parts of Parquet -> finish: target
"""

from __future__ import annotations

import os
from collections.abc import Collection, Iterable, Iterator, Sequence
from typing import Any, Protocol, Unpack

import numpy as np

from jaxsudoku.core.board import Board
from jaxsudoku.core.host_rules import is_complete
from jaxsudoku.core.status import STATS, Status
from jaxsudoku.runtime.part_folder import ResumeError

from .cells import Digits, Malformed
from .chunk import Chunk
from .columns import COUNT_COLUMNS, SOLUTION_COLUMNS
from .decode import decode_text
from .grid_text import NO_GRID, format_lines, grid_column
from .line_file import LineFile
from .source import Source
from .table_writer import Options, RowWriter
from .target import Kind

_WORDS = {int(status): status.name.lower() for status in Status}


class Answers(Protocol):
    """The parts of a ``Solution`` that are written, as numpy arrays."""

    @property
    def grids(self) -> np.ndarray: ...
    @property
    def status(self) -> np.ndarray: ...
    @property
    def iterations(self) -> np.ndarray: ...
    @property
    def stats(self) -> dict[str, np.ndarray]: ...


class SolutionWriter(RowWriter):
    """Writer of answers in the order of their puzzles; made by ``open_output``.

    Attributes:
      done: number of answers in the output when it was opened, 0 unless resuming.
    """

    _rows = "answers"

    def __init__(self, target: str, board: Board, stats: Collection[str], **options: Unpack[Options]) -> None:
        self._board = board
        texts = dict.fromkeys(SOLUTION_COLUMNS[:-1], object)
        counts = dict.fromkeys((SOLUTION_COLUMNS[-1], *(name for name in STATS if name in stats)), np.int64)
        super().__init__(target, {**texts, **counts}, **options)
        self._header = self._found.header

    def _check_columns(self, header: tuple[str, ...]) -> None:
        columns = tuple(self._columns)
        own = tuple(name for name in header if name in (*SOLUTION_COLUMNS, *STATS))
        if own != columns or header[: len(columns)] != columns:
            raise ResumeError(
                f"{self._name}: the columns are {', '.join(header)}, and should begin with {', '.join(columns)}"
            )

    def remaining(self, chunks: Iterable[Chunk]) -> Iterator[Chunk]:
        """The puzzles that are not answered yet.

        Args:
          chunks: the input from its first puzzle on, as from ``read_chunks``.

        Returns:
          Iterator of ``Chunk``: all of them unless resuming, else those after the first ``done`` puzzles.

        Raises:
          ResumeError: the output does not begin with answers to this input: it has more answers than there are puzzles,
            or one of its first and last few answers belongs to another puzzle. It is unchanged.
        """
        count = 0
        for chunk in chunks:
            count = chunk.start + len(chunk)
            self._check_answers(chunk)
            if count > self.done:
                yield chunk[max(0, self.done - chunk.start) :]
        if count < self.done:
            raise ResumeError(
                f"{self._name}: has {self.done} answers, the input only {count} puzzles; the output is left as it is"
            )

    def write(self, chunk: Chunk, solution: Answers) -> None:
        """Appends the answers to a chunk; they are in the file on return.

        Args:
          chunk: n puzzles, the next ones without answers. Malformed ones get the answer "malformed".
          solution: numpy arrays: grids uint8[n, cells], status int8[n], iterations int32[n], and the stats int32[n]
            that the output was opened for. A history is not written.

        Raises:
          ValueError: the shapes don't fit, or the chunk is not the next one.
          OSError: writing failed (a full disk), or text for Parquet is not UTF-8; rows written before are kept.
            BrokenPipeError unchanged.
        """
        side = self._board.side
        stats = [solution.stats[name] for name in STATS if name in solution.stats]
        shapes = [np.shape(part) for part in (solution.grids, solution.status, solution.iterations, *stats)]
        counts = len(self._columns) - 2  # status, iterations and stats
        if shapes != [(len(chunk), side**2), *[(len(chunk),)] * counts]:
            raise ValueError(f"arrays of shapes {shapes} are not answers to {len(chunk)} puzzles of {side**2} cells")
        if chunk.start != self._next:
            raise ValueError(f"the chunk starts at puzzle {chunk.start}, but the next one to answer is {self._next}")
        if not len(chunk):
            return
        unsolved = ~chunk.good | (np.asarray(solution.status) != Status.SOLVED)
        with self._writing(len(chunk)):
            if self._kind == "text" and isinstance(self._output, LineFile):  # without a string per line
                self._output.put(format_lines(solution.grids, side, unsolved))
                return
            columns = _answer_columns(chunk, solution, self._board, unsolved)
            if self._header not in ((), tuple(columns)):
                raise ResumeError(
                    f"{self._name}: has the columns {self._header}, but the answers would have {tuple(columns)}"
                )
            self._header = tuple(columns)
            self._output.append(columns)

    def _check_answers(self, chunk: Chunk) -> None:
        """Raises ResumeError if a sample of the output is not an answer to its puzzle in the chunk."""
        for index, fields in self._found.samples.items():
            row = index - chunk.start
            if not 0 <= row < len(chunk):
                continue
            board = self._board if chunk.constraints is None else self._board.with_(chunk.constraints[row])
            if not _answers(fields, chunk.grids[row], bool(chunk.good[row]), board):
                raise ResumeError(
                    f"{self._name}: answer {index + 1} is not to the puzzle on line {chunk.lines[row]} of the input; "
                    "the output is left as it is"
                )


def _answer_columns(chunk: Chunk, solution: Answers, board: Board, unsolved: np.ndarray) -> dict[str, Any]:
    """The answers to a chunk as columns: ``SOLUTION_COLUMNS``, the present ``STATS``, and the extras."""
    good = chunk.good
    numbers = {"iterations": solution.iterations, **{k: solution.stats[k] for k in STATS if k in solution.stats}}
    words = [_WORDS[status] for status in np.asarray(solution.status).tolist()]
    for row in np.flatnonzero(~good).tolist():
        words[row] = _WORDS[Status.MALFORMED]
    return {
        "puzzle": puzzle_texts(chunk, board),
        "solution": grid_column(solution.grids, board, unsolved),
        "status": words,
        **{name: np.where(good, values, 0) for name, values in numbers.items()},
        **chunk.extras,
    }


def puzzle_texts(chunk: Chunk, board: Board) -> Sequence[str]:
    """The puzzles of a chunk as a column, as from ``grid_column``; malformed ones as texts, ``-`` if unknown."""
    column = grid_column(chunk.grids, board, ~chunk.good)
    texts = chunk.texts
    return [texts.get(row, text) for row, text in enumerate(column)] if texts else column


class Counts(Protocol):
    """Results of counting that are written: numpy arrays for n puzzles.

    Attributes:
      counts: int32[n], number of solutions found.
      status: texts [n].
      iterations: int32[n].
    """

    @property
    def counts(self) -> np.ndarray: ...
    @property
    def status(self) -> Sequence[str]: ...
    @property
    def iterations(self) -> np.ndarray: ...


class CountWriter(RowWriter):
    """Writer of numbers of solutions in the order of their puzzles; such an output can't be resumed.

    Text has one number per line, ``-`` for a malformed puzzle. Tables have the columns ``puzzle``, ``count``
    (empty for a malformed puzzle), ``status`` and ``iterations``, and those carried along from the input.

    Args:
      target: a path, or ``-`` for the standard output.
      board: the board of the puzzles.
      kind, force, source: see ``table_writer.RowWriter``, which has the errors, too.
    """

    _rows = "counts"

    def __init__(
        self, target: str, board: Board, *, kind: Kind | None = None, force: bool = False, source: Source | None = None
    ) -> None:
        self._board = board
        columns = dict(zip(COUNT_COLUMNS, (object, np.int32, object, np.int64), strict=True))
        super().__init__(target, columns, kind=kind, force=force, source=source, resumable=False)

    def _check_columns(self, header: tuple[str, ...]) -> None:
        """Does nothing, as there is no earlier output."""

    def remaining(self, chunks: Iterable[Chunk]) -> Iterator[Chunk]:
        """All chunks, as the output is never resumed."""
        yield from chunks

    def write(self, chunk: Chunk, answers: Counts) -> None:
        """Appends the counts of a chunk; they are in the file on return. Raises OSError if writing failed."""
        counts = np.ma.masked_array(answers.counts, ~chunk.good)
        with self._writing(len(chunk)):
            if self._kind == "text" and isinstance(self._output, LineFile):
                lines = np.where(chunk.good, answers.counts.astype(str), NO_GRID.decode())
                self._output.put("".join(f"{line}\n" for line in lines.tolist()).encode())
                return
            iterations = np.where(chunk.good, answers.iterations, 0)
            own = (puzzle_texts(chunk, self._board), counts, answers.status, iterations)
            self._output.append({**dict(zip(COUNT_COLUMNS, own, strict=True)), **chunk.extras})


def _answers(fields: list[str], puzzle: np.ndarray, good: bool, board: Board) -> bool:
    """Whether the fields of a row are an answer to a puzzle and satisfy the rules of the board."""
    *own, answer = fields[:2]  # a record has the puzzle before the solution, a line of text only the solution
    try:
        if own and good:
            repeated = _grid_of(own[0], board.side)
            if repeated is None or not np.array_equal(repeated, puzzle):
                return False
        solution = _grid_of(answer, board.side) if answer else None
    except Malformed:
        return False
    if solution is None:
        return True
    keeps = bool((solution == puzzle)[puzzle != 0].all())
    return good and keeps and bool(is_complete(solution, board))


def _grid_of(text: str, side: int) -> np.ndarray | None:
    data = text.encode(errors="surrogateescape")
    return None if data == NO_GRID else decode_text(data, Digits(side)).grid


def open_output(
    target: str | os.PathLike[str],
    board: Board,
    *,
    kind: Kind | None = None,
    resume: bool = False,
    force: bool = False,
    source: Source | None = None,
    stats: Collection[str] = (),
    resumable: bool = True,
) -> SolutionWriter:
    """Opens an output for answers; answer i belongs to puzzle i of the input.

    The same code works for new and resumed outputs::

        chunks = read_chunks(source, board)
        with open_output(target, board, resume=resume, source=source) as writer:
            for chunk in writer.remaining(chunks):
                writer.write(chunk, solve(chunk.grids))

    Text has one solution per line, ``-`` if there is none. Tables have the columns ``puzzle``, ``solution``,
    ``status`` (``solved``, ``unsatisfiable``, ``invalid``, ``unsolved``, ``malformed``) and ``iterations``, then
    ``network_calls`` for guided solvers, ``errors`` for solvers on full grids, and those carried along from the input.

    Args:
      target: a path, or ``-`` for the standard output.
      board: the board of the puzzles.
      kind, resume, force, source, resumable: see ``table_writer.RowWriter``, which has the errors, too.
      stats: which of ``solution.STATS`` the solutions have.
    """
    options: Options = {"kind": kind, "resume": resume, "force": force, "source": source, "resumable": resumable}
    return SolutionWriter(os.fspath(target), board, stats, **options)
