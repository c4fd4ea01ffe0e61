"""Writers of tables of puzzles, row by row: CSV, JSON lines, Parquet, or one column as text; runs can be resumed."""

from __future__ import annotations

import abc
import contextlib
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, ClassVar, Self, TypedDict, Unpack

from jaxsudoku.runtime.part_folder import ResumeError

from .line_file import SAMPLE, LineFile, LineFormat, open_lines
from .parts_file import PartsFile, WholeFile, open_parts, open_whole
from .source import Source
from .target import STDOUT, Kind, check_kind, is_special

#: Number of rows at either end of a resumed table that are compared.
TABLE_SAMPLE = 256


class Options(TypedDict, total=False):
    """Keyword arguments of ``RowWriter`` that its subclasses accept."""

    kind: Kind | None
    force: bool
    resume: bool
    source: Source | None
    resumable: bool


class RowWriter(abc.ABC):
    """Base class of writers of rows; a context manager.

    Leaving the ``with`` block normally finishes the output. Leaving it by an exception keeps the rows written so far,
    which can be resumed. A Parquet file can't be appended to: its parts are in the directory ``<target>.parts`` until
    the output is finished. While it is open, a lock file beside the output keeps other processes from writing it.

    Args:
      target: a path, or ``-`` for the standard output.
      columns: names and numpy dtypes of the first columns, ``object`` for text.
      kind: ``text``, ``csv``, ``jsonl`` or ``parquet``; by default from the suffix, which may be followed by ``.gz``.
      force: whether an existing output is replaced.
      resume: whether to keep the complete rows of an earlier run's output, cut off its incomplete end, and continue
        after it. The output is not modified before the first write.
      source: the input, which is never overwritten, even under another name or through the standard streams.
      heading: comments at the top of a text, see ``header_lines``.
      resumable: whether the output can be resumed. If not, Parquet is written directly.

    Attributes:
      done: number of rows that were kept, 0 unless resuming.

    Raises:
      FileExistsError: the output exists and is neither replaced nor resumed, or a foreign file is in the
        way.
      ResumeError: the output to resume is not of this kind, or has other columns.
      BlockingIOError: another process is writing the output.
      ValueError: arguments are inconsistent, or the output is the input.
      OSError: the directory is missing, or the output is one or can't be written.
      ImportError: Parquet without pyarrow.
    """

    _rows: ClassVar[str]  # the name of rows in messages
    _sample: ClassVar[int] = SAMPLE  # how many kept rows from either end are compared with the input

    def __init__(
        self,
        target: str,
        columns: Mapping[str, Any],
        *,
        kind: Kind | None = None,
        force: bool = False,
        resume: bool = False,
        source: Source | None = None,
        heading: bytes = b"",
        resumable: bool = True,
    ) -> None:
        self._columns, self._resumable = dict(columns), resumable
        self._kind, compressed = check_kind(target, kind, resume)
        self._name = STDOUT if target == "-" else target
        if resume and force:
            raise ValueError("resume keeps an output, force replaces it: use only one of them")
        reads = () if source is None else (source,)
        self._output: LineFile | PartsFile | WholeFile
        if self._kind == "parquet" and not resumable:
            self._output = open_whole(target, columns, reads=reads, force=force)
        elif self._kind == "parquet":
            self._output = open_parts(target, columns, reads=reads, resume=resume, force=force, sample=self._sample)
        else:
            lines = LineFormat(self._kind, compressed, tuple(columns), heading)
            self._output = open_lines(
                target, lines, reads=reads, resume=resume, force=force, resumable=resumable, sample=self._sample
            )
        self._found = self._output.found
        self.done = self._next = self._found.done
        try:
            if self._found.header:
                self._check_columns(self._found.header)
        except BaseException:
            self.abandon()
            raise

    @property
    def kind(self) -> Kind:
        """``text``, ``csv`` or ``parquet``."""
        return self._kind

    @abc.abstractmethod
    def _check_columns(self, header: tuple[str, ...]) -> None:
        """Raises ResumeError if the output to resume has other columns than expected."""

    def close(self) -> None:
        """Finishes the output; raises OSError that names the file, BrokenPipeError unchanged."""
        try:
            with self._writing(0):
                self._output.finish()
        finally:
            self.abandon()

    def abandon(self) -> None:
        """Closes the unfinished output, which can be resumed; does nothing after ``close``."""
        self._output.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, *_: object) -> None:
        if kind is None:
            self.close()
        else:
            self.abandon()

    @contextlib.contextmanager
    def _writing(self, count: int) -> Iterator[None]:
        """A context that counts written rows, and adds the output's name and advice to errors."""
        try:
            yield
        except BrokenPipeError:
            raise
        except OSError as error:
            cause = error.strerror or str(error)
            if self._name != STDOUT and not is_special(self._name):
                cause += f"; the {self._next} {self._rows} written before are kept"
                cause += ", and --resume continues from there" if self._resumable else ""
            raise OSError(error.errno, cause, self._name) from error
        self._next += count


class TableWriter(RowWriter):
    """Writer of rows with known columns; the first column is ``puzzle``.

    Tables have all columns; text has only the first, one value per line.

    Arguments and errors are those of ``RowWriter``.

    Attributes:
      kept: at least the first and last ``TABLE_SAMPLE`` kept rows, by number, as dicts of texts by column, for
        comparison with the rows to write. Parquet has only puzzles, solutions, ratings and scores, text only puzzles.
    """

    _rows = "puzzles"
    _sample = TABLE_SAMPLE

    def __init__(
        self, target: str, columns: Mapping[str, Any], *, heading: bytes = b"", **options: Unpack[Options]
    ) -> None:
        super().__init__(target, columns, heading=heading, **options)
        self.kept = {at: dict(zip(columns, fields, strict=False)) for at, fields in self._found.samples.items()}

    def _check_columns(self, header: tuple[str, ...]) -> None:
        if header != tuple(self._columns):
            expected = ", ".join(self._columns)
            raise ResumeError(f"{self._name}: the columns are {', '.join(header)}, and should be {expected}")

    def write(self, columns: Mapping[str, Any]) -> None:
        """Appends rows: n values for each column, numbers as an array, text as a sequence.

        Raises:
          ValueError: the columns are not those of the table, or of different lengths.
          OSError: writing failed, or Parquet is to hold text that is not UTF-8; BrokenPipeError unchanged.
        """
        lengths = [len(values) for values in columns.values()]
        if list(columns) != list(self._columns) or len(set(lengths)) > 1:
            raise ValueError(
                f"columns {', '.join(columns)} of lengths {lengths}; the table has {', '.join(self._columns)}"
            )
        if lengths[0]:
            with self._writing(lengths[0]):
                self._output.append(columns)

    def check(self, first: int, columns: Mapping[str, Sequence[str]]) -> None:
        """Compares kept rows with those that would be written in their places.

        Args:
          first: number of the first row.
          columns: columns of texts of the rows; those that ``kept`` lacks are not compared.

        Raises:
          ResumeError: they differ. The output is unchanged.
        """
        for name, texts in columns.items():
            for number, text in enumerate(texts, first):
                if self.kept.get(number, {}).get(name, text) != text:
                    raise ResumeError(
                        f"{self._name}: row {number + 1} holds another puzzle; the output is left as it is"
                    )
