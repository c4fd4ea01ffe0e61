"""Writing answers so that a killed run loses none: whole lines, counted and checked when the run is resumed."""

from __future__ import annotations

import abc
import errno
import os
import sys
from collections.abc import Collection, Iterable, Iterator
from typing import Any, BinaryIO, Literal

import numpy as np

from ..board import Board
from ..solution import Solution
from .chunk import Chunk
from .compression import check_suffix
from .format import COLUMNS, NUMBERS, answer_columns, answer_lines, csv_header, csv_records
from .resume import Recovered, ResumeError, check_answers, recover
from .source import gzip_member

Kind = Literal["text", "csv", "parquet"]

_STDOUT = "<stdout>"


class SolutionWriter(abc.ABC):
    """Writes answers in the order of their puzzles; made by ``open_output``, and a context manager.

    Leaving the ``with`` block normally finishes the output; leaving it by an exception keeps what was written, to be
    resumed.

    Attributes:
      done: number of puzzles that the output answered when it was opened, 0 unless resuming.
    """

    def __init__(self, name: str, board: Board, columns: tuple[str, ...], found: Recovered) -> None:
        self.done = found.done
        self._name, self._side, self._columns, self._found = name, board.side, columns, found
        self._next = found.done

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
            check_answers(self._name, self._found, chunk, self._side)
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
          solution: numpy arrays: grids uint8[n, cells], status int8[n], iterations int32[n], and the numbers
            int32[n] that the output was opened for. A history has no place in the output.

        Raises:
          ValueError: the shapes don't fit, or the chunk is not the next one.
          OSError: writing failed (a full disk); the whole lines written before stay. BrokenPipeError comes as it is.
        """
        solution = solution._replace(history=None)
        shapes = [np.shape(part) for part in solution if part is not None]
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
            self._release()

    def __enter__(self) -> SolutionWriter:
        return self

    def __exit__(self, kind: type[BaseException] | None, *_: Any) -> None:
        if kind is None:
            self.close()
        else:
            self._release()

    def _explained(self, error: OSError) -> OSError:
        cause = error.strerror or str(error)
        if self._name != _STDOUT:
            cause += f"; the {self._next} answers written before stay in it, and --resume goes on from there"
        return OSError(error.errno, cause, self._name)

    @abc.abstractmethod
    def _append(self, chunk: Chunk, solution: Solution) -> None: ...

    @abc.abstractmethod
    def _finish(self) -> None: ...

    @abc.abstractmethod
    def _release(self) -> None: ...


class _LineWriter(SolutionWriter):
    """Text or CSV, plain or a gzip member for each write."""

    def __init__(
        self,
        file: BinaryIO,
        name: str,
        board: Board,
        columns: tuple[str, ...],
        kind: Kind,
        compressed: bool,
        found: Recovered | None = None,
    ) -> None:
        super().__init__(name, board, columns, found or Recovered())
        self._resumed = found is not None
        self._file, self._kind, self._compressed = file, kind, compressed
        self._written = False

    def _append(self, chunk: Chunk, solution: Solution) -> None:
        if self._kind == "text":
            self._put(answer_lines(chunk, solution, self._side))
            return
        columns = answer_columns(chunk, solution, self._side)
        names = tuple(columns)
        if self._found.header not in ((), names):
            raise ResumeError(f"{self._name}: has the columns {self._found.header}, but the answers would have {names}")
        header = b"" if self._found.header else csv_header(names)
        self._put(header + csv_records(columns))
        self._found.header = names

    def _finish(self) -> None:
        header = csv_header(self._columns) if self._kind == "csv" and not self._found.header else b""
        # An output without a puzzle is still one: a CSV has its header, a gzip file a member.
        nothing = self._compressed and not self._written and not self._found.keep
        if header or nothing:
            self._put(header)
        self._begin()

    def _release(self) -> None:
        if self._file is not sys.stdout.buffer:
            self._file.close()

    def _begin(self) -> None:
        """Cuts off what was half written when the run before was killed: not earlier, so that a check may refuse."""
        if self._resumed and not self._written:
            self._file.truncate(self._found.keep)
            self._file.seek(self._found.keep)
        self._written = True

    def _put(self, lines: bytes) -> None:
        self._begin()
        data = memoryview(gzip_member(lines) if self._compressed else lines)
        while data:  # an unbuffered file may take less than it is given
            data = data[self._file.write(data) :]
        self._file.flush()


def open_output(
    target: str | os.PathLike[str],
    board: Board,
    *,
    kind: Kind | None = None,
    resume: bool = False,
    force: bool = False,
    source: object = None,
    numbers: Collection[str] = (),
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
    Parquet file can't grow: its parts lie in the directory ``<target>.parts`` until the output is closed.

    Args:
      target: a path, or ``-`` for the standard output.
      board: the board of the puzzles.
      kind: ``text``, ``csv`` or ``parquet``; by default told from the suffix, which may be followed by ``.gz``.
      resume: keep the whole answers of an output that an earlier run left, cut off what it left half written, go on
        after them. The output is changed only by the first ``write``, so after ``remaining`` had its say.
      force: replace an existing output.
      source: the input; given to refuse writing over it.
      numbers: which of ``NUMBERS`` the solutions have.

    Raises:
      FileExistsError: the output exists, and neither resume nor force is set.
      ResumeError: the output to resume is no output of this kind, or has other columns.
      ValueError: the arguments contradict each other, or the output is the input.
      OSError: the directory is missing or the file can't be written.
      ImportError: Parquet without pyarrow.
    """
    name = os.fspath(target)
    kind, compressed = kind_of(name, kind)
    columns = (*COLUMNS, *(name for name in NUMBERS if name in numbers))
    if resume and force:
        raise ValueError("resume keeps an output and force replaces it: choose one")
    if name == "-":
        if resume or kind == "parquet":
            raise ValueError(f"{'resuming' if resume else 'Parquet'} needs an output file, not the standard output")
        return _LineWriter(sys.stdout.buffer, _STDOUT, board, columns, kind, compressed)
    if isinstance(source, (str, os.PathLike)) and same_file(os.fspath(source), name):
        raise ValueError(f"{name}: the output is the input")
    if not os.path.isdir(os.path.dirname(name) or "."):
        raise FileNotFoundError(errno.ENOENT, "there is no such directory for the output", name)
    if kind == "parquet":
        from .parts import open_parts

        return open_parts(name, board, columns, resume=resume, force=force)
    # Only files hold answers of an earlier run: devices and pipes exist, too, but start anew.
    exists = os.path.isfile(name)
    if exists and not (resume or force):
        raise output_exists(name)
    found = recover(name, kind, compressed, columns) if exists and resume else None
    file: BinaryIO = open(name, "wb" if found is None else "r+b", buffering=0)  # noqa: SIM115 - the writer closes it
    return _LineWriter(file, name, board, columns, kind, compressed, found)


def output_exists(name: str, resumable: bool = True) -> FileExistsError:
    """The error for an output that no option allows to touch."""
    advice = "go on with --resume or replace it with --force" if resumable else "replace it with --force"
    return FileExistsError(errno.EEXIST, f"the output exists: {advice}", name)


def kind_of(name: str, kind: Kind | None) -> tuple[Kind, bool]:
    """The kind of an output, told from its name where it is None, and whether it is compressed by gzip."""
    check_suffix(name, (".gz",))
    stem = name.lower().removesuffix(".gz")
    compressed = stem != name.lower()
    if kind is None:
        kind = "csv" if stem.endswith(".csv") else "parquet" if stem.endswith(".parquet") else "text"
    if kind not in ("text", "csv", "parquet"):
        raise ValueError(f"unknown kind of output {kind!r}: text, csv or parquet")
    if kind == "parquet" and compressed:
        raise ValueError(f"{name}: Parquet is compressed already and takes no .gz")
    return kind, compressed


def same_file(source: str, target: str) -> bool:
    """Whether two paths are one file that exists."""
    return os.path.exists(source) and os.path.exists(target) and os.path.samefile(source, target)
