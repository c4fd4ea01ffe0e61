"""Writing answers so that a killed run loses none: whole lines, counted and checked when the run is resumed."""

from __future__ import annotations

import abc
import os
from collections.abc import Collection, Iterable, Iterator
from typing import Any

import numpy as np

from jaxsudoku.board import Board
from jaxsudoku.solution import STATS, Solution

from .appending import LineFile, open_lines
from .chunk import Chunk
from .format import COLUMNS, answer_columns, answer_lines, csv_header, csv_records
from .parquet import arrow_table, import_pyarrow
from .parts import PartsFile, open_parts
from .resume import ResumeError, check_answers, check_columns
from .source import Source
from .target import STDOUT, Kind, is_special, kind_of


class SolutionWriter(abc.ABC):
    """Writes answers in the order of their puzzles; made by ``open_output``, and a context manager.

    Leaving the ``with`` block normally finishes the output; leaving it by an exception keeps what was written, to be
    resumed.

    Attributes:
      done: number of puzzles that the output answered when it was opened, 0 unless resuming.
    """

    def __init__(self, name: str, board: Board, columns: tuple[str, ...], output: LineFile | PartsFile) -> None:
        self.done = output.found.done
        self._board, self._side = board, board.side
        self._name, self._columns, self._found = name, columns, output.found
        self._next = output.found.done
        self._output = output
        if self._found.header:
            check_columns(name, self._found.header, columns)

    def remaining(self, chunks: Iterable[Chunk]) -> Iterator[Chunk]:
        """The puzzles that are not answered yet.

        Args:
          chunks: the input from its first puzzle on, as ``read_chunks`` gives it.

        Returns:
          Iterator of ``Chunk``: all of them unless resuming, else what follows the first ``done`` puzzles.

        Raises:
          ResumeError: the output is not the beginning of the answers to this input: it answers more puzzles than there
            are, or one of its first and last few answers is to another puzzle. Nothing was changed in it.
        """
        count = 0
        for chunk in chunks:
            count = chunk.start + len(chunk)
            check_answers(self._name, self._found, chunk, self._board)
            if count > self.done:
                yield chunk[max(0, self.done - chunk.start) :]
        if count < self.done:
            raise ResumeError(
                f"{self._name}: has {self.done} answers, the input only {count} puzzles; the output is left as it is"
            )

    def write(self, chunk: Chunk, solution: Solution) -> None:
        """Appends the answers to a chunk; they are in the file when this returns.

        Args:
          chunk: n puzzles, the next ones that the output lacks. Malformed ones are answered as such.
          solution: numpy arrays: grids uint8[n, cells], status int8[n], iterations int32[n], and the stats
            int32[n] that the output was opened for. A history has no place in the output.

        Raises:
          ValueError: the shapes don't fit, or the chunk is not the next one.
          OSError: writing failed (a full disk), or Parquet is to hold text that is no UTF-8; the whole lines written
            before stay. BrokenPipeError comes as it is.
        """
        stats = [solution.stats[name] for name in STATS if name in solution.stats]
        shapes = [np.shape(part) for part in (solution.grids, solution.status, solution.iterations, *stats)]
        if shapes != [(len(chunk), self._side**2), *[(len(chunk),)] * (len(self._columns) - 2)]:
            raise ValueError(
                f"arrays of shapes {shapes} are no answers to {len(chunk)} puzzles of {self._side**2} cells"
            )
        if chunk.start != self._next:
            raise ValueError(f"the chunk starts at puzzle {chunk.start}, but the next one to answer is {self._next}")
        if not len(chunk):
            return
        try:
            self._append(chunk, solution)
        except BrokenPipeError:
            raise
        except OSError as error:
            raise self._explained(error) from error
        self._next += len(chunk)

    def close(self) -> None:
        """Finishes the output; raises OSError as ``write`` does."""
        try:
            self._finish()
        except BrokenPipeError:
            raise
        except OSError as error:
            raise self._explained(error) from error
        finally:
            self.abandon()

    def abandon(self) -> None:
        """Leaves the output as it is, to be resumed; does nothing after ``close``."""
        self._output.close()

    def __enter__(self) -> SolutionWriter:
        return self

    def __exit__(self, kind: type[BaseException] | None, *_: Any) -> None:
        if kind is None:
            self.close()
        else:
            self.abandon()

    def _explained(self, error: OSError) -> OSError:
        cause = error.strerror or str(error)
        if self._name != STDOUT and not is_special(self._name):
            cause += f"; the {self._next} answers written before stay in it, and --resume goes on from there"
        return OSError(error.errno, cause, self._name)

    @abc.abstractmethod
    def _append(self, chunk: Chunk, solution: Solution) -> None: ...

    @abc.abstractmethod
    def _finish(self) -> None: ...

    def _check_header(self, names: tuple[str, ...]) -> None:
        """Keeps the columns of the first answers; raises ResumeError where later ones have others."""
        if self._found.header not in ((), names):
            raise ResumeError(f"{self._name}: has the columns {self._found.header}, but the answers would have {names}")
        self._found.header = names


class _LineWriter(SolutionWriter):
    """Text or CSV, plain or a gzip member for each write."""

    def __init__(self, name: str, board: Board, columns: tuple[str, ...], output: LineFile, kind: Kind) -> None:
        super().__init__(name, board, columns, output)
        self._lines, self._kind = output, kind

    def _append(self, chunk: Chunk, solution: Solution) -> None:
        if self._kind == "text":
            self._lines.put(answer_lines(chunk, solution, self._side))
            return
        columns = answer_columns(chunk, solution, self._side)
        header = b"" if self._found.header else csv_header(columns)
        self._check_header(tuple(columns))
        self._lines.put(header + csv_records(columns))

    def _finish(self) -> None:
        self._lines.finish(csv_header(self._columns) if self._kind == "csv" and not self._found.header else b"")


class _PartsWriter(SolutionWriter):
    """Parquet, a part for each write."""

    def __init__(self, name: str, board: Board, columns: tuple[str, ...], output: PartsFile) -> None:
        super().__init__(name, board, columns, output)
        self._parts = output

    def _append(self, chunk: Chunk, solution: Solution) -> None:
        columns = answer_columns(chunk, solution, self._side)
        self._check_header(tuple(columns))
        self._parts.put(arrow_table(columns, chunk.start), chunk.start)

    def _finish(self) -> None:
        pa, _ = import_pyarrow()
        counts = ("iterations", *STATS)
        kinds = [(name, pa.int64() if name in counts else pa.string()) for name in self._columns]
        self._parts.finish(pa.schema(kinds))


def open_output(
    target: str | os.PathLike[str],
    board: Board,
    *,
    kind: Kind | None = None,
    resume: bool = False,
    force: bool = False,
    source: Source | None = None,
    stats: Collection[str] = (),
) -> SolutionWriter:
    """Opens an output for answers; answer i is to puzzle i of the input.

    All a caller needs, resuming or not::

        chunks = read_chunks(source, board)
        with open_output(target, board, resume=resume, source=source) as writer:
            for chunk in writer.remaining(chunks):
                writer.write(chunk, solve(chunk.grids))

    Text has a solution a line, ``-`` where there is none. CSV and Parquet have the columns ``puzzle``, ``solution``,
    ``status`` (``solved``, ``unsatisfiable``, ``invalid``, ``unsolved``, ``malformed``) and ``iterations``, of a guided
    solver ``network_calls``, of one that works on full grids ``errors``, and then those carried along from the input. A
    Parquet file can't grow: its parts lie in the directory ``<target>.parts`` until the output is closed. While it is
    open, a lock file beside the output keeps other processes from writing it.

    Args:
      target: a path, or ``-`` for the standard output.
      board: the board of the puzzles.
      kind: ``text``, ``csv`` or ``parquet``; by default told from the suffix, which may be followed by ``.gz``.
      resume: keep the whole answers of an output that an earlier run left, cut off what it left half written, go on
        after them. The output is changed only by the first ``write``, so after ``remaining`` had its say.
      force: replace an existing output.
      source: the input; given to refuse writing over it, be it by another name or through the standard streams.
      stats: which of ``solution.STATS`` the solutions have.

    Raises:
      FileExistsError: the output exists, and neither resume nor force is set; or a file that is not ours has the name
        of one that is needed.
      BlockingIOError: another process is writing the output.
      ResumeError: the output to resume is no output of this kind, or has other columns.
      ValueError: the arguments contradict each other, or the output is the input.
      OSError: the directory is missing, the output is one, or can't be written.
      ImportError: Parquet without pyarrow.
    """
    name = os.fspath(target)
    kind, compressed = kind_of(name, kind)
    columns = (*COLUMNS, *(name for name in STATS if name in stats))
    if resume and force:
        raise ValueError("resume keeps an output and force replaces it: choose one")
    if name == "-" and (resume or kind == "parquet"):
        raise ValueError(f"{'resuming' if resume else 'Parquet'} needs an output file, not the standard output")
    reads = () if source is None else (source,)
    if kind == "parquet":
        return _opened(name, board, columns, open_parts(name, reads=reads, resume=resume, force=force), kind)
    output = open_lines(name, kind, compressed, columns, reads=reads, resume=resume, force=force)
    return _opened(name if name != "-" else STDOUT, board, columns, output, kind)


def _opened(
    name: str, board: Board, columns: tuple[str, ...], output: LineFile | PartsFile, kind: Kind
) -> SolutionWriter:
    try:
        if isinstance(output, PartsFile):
            return _PartsWriter(name, board, columns, output)
        return _LineWriter(name, board, columns, output, kind)
    except BaseException:
        output.close()
        raise
