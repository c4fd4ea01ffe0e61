"""Writing tables of puzzles: CSV, Parquet, or the puzzles alone as text."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from jaxsudoku.board import Board

from .appending import LineFile, open_lines
from .cells import decode_texts
from .format import NO_GRID, csv_header, csv_text, format_lines
from .parquet import arrow_table, import_pyarrow
from .parts import PartsFile, open_parts
from .resume import ResumeError
from .source import Source
from .target import STDOUT, Kind, kind_of

#: How many rows from either end of a table that is resumed are given, to be compared.
TABLE_SAMPLE = 256


class TableWriter:
    """Appends rows to a table; a context manager, whose end finishes the output.

    CSV and Parquet have all columns; text has but the first, a value a line. Whole rows alone are written, so what was
    written before an interruption stays, to be resumed: a Parquet file appears when the block is left normally, and its
    parts lie in ``<target>.parts`` until then. While it is open, a lock file keeps other processes from writing it.

    Args:
      target: a path, or ``-`` for the standard output.
      columns: names and numpy dtypes of the columns, ``object`` for text; the first is ``puzzle``.
      kind: ``text``, ``csv`` or ``parquet``; by default told from the suffix, which may be followed by ``.gz``.
      force: whether an existing output may be replaced.
      resume: keep the whole rows of an output that an earlier run left, cut off what it left half written, go on after
        them. The output is changed only by the first ``write``.
      source: the input, which is never written over.
      heading: comments at the top of a text, see ``header_lines``.

    Attributes:
      done: number of rows that were kept, 0 unless resuming.
      kept: the first and the last ``TABLE_SAMPLE`` of them at least, by number, each a dict of texts by column, to be
        compared with what is to be written; of Parquet only puzzles, solutions and ratings, of text only puzzles.

    Raises:
      FileExistsError: the output exists and is neither to be replaced nor to be resumed, or a file that is not ours has
        the name of one that is needed.
      ResumeError: the output to resume is none of this kind, or has other columns.
      BlockingIOError: another process is writing the output.
      ValueError: an unknown or impossible kind, or the output is the input.
      OSError: the output can't be written.
      ImportError: Parquet without pyarrow.
    """

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
    ) -> None:
        self._columns = dict(columns)
        self._kind, compressed = kind_of(target, kind)
        self._name = STDOUT if target == "-" else target
        if resume and force:
            raise ValueError("resume keeps an output and force replaces it: choose one")
        if target == "-" and (resume or self._kind == "parquet"):
            raise ValueError(f"{'resuming' if resume else 'Parquet'} needs an output file, not the standard output")
        reads = () if source is None else (source,)
        names = tuple(columns)
        self._output: LineFile | PartsFile
        if self._kind == "parquet":
            pa, _ = import_pyarrow()
            kinds = [pa.string() if dtype is object else pa.from_numpy_dtype(dtype) for dtype in columns.values()]
            self._schema = pa.schema(list(zip(columns, kinds, strict=True)))
            self._output = open_parts(target, reads=reads, resume=resume, force=force, sample=TABLE_SAMPLE)
        else:
            self._output = open_lines(
                target, self._kind, compressed, names, heading=heading if self._kind == "text" else b"",
                reads=reads, resume=resume, force=force, sample=TABLE_SAMPLE,
            )  # fmt: skip
        found = self._output.found
        self.done = self._next = found.done
        self.kept = {at: dict(zip(columns, fields, strict=False)) for at, fields in found.samples.items()}
        if found.header not in ((), names):
            self._output.close()
            raise ResumeError(f"{target}: the columns are {', '.join(found.header)}, and should be {', '.join(names)}")
        self._first = heading if self._kind == "text" else csv_header(columns)
        self._headed = bool(found.header) or (self._kind == "text" and found.keep > 0)

    def write(self, columns: Mapping[str, Any]) -> None:
        """Appends rows: for each column n values, numbers as an array, text as a list.

        Raises:
          ValueError: the columns are others than those named, or of different lengths.
          OSError: writing failed, or Parquet is to hold text that is no UTF-8; BrokenPipeError comes as it is.
        """
        lengths = [len(values) for values in columns.values()]
        if list(columns) != list(self._columns) or len(set(lengths)) > 1:
            raise ValueError(
                f"columns {', '.join(columns)} of lengths {lengths}; the table has {', '.join(self._columns)}"
            )
        if not lengths[0]:
            return
        try:
            if isinstance(self._output, PartsFile):
                self._output.put(arrow_table(columns, self._next, self._schema), self._next)
            else:
                texts = [_texts(values) for values in columns.values()]
                self._output.put(self._header() + csv_text(texts if self._kind == "csv" else texts[:1]))
                self._headed = True
        except BrokenPipeError:
            raise
        except OSError as error:
            raise OSError(error.errno, error.strerror or str(error), self._name) from error
        self._next += lengths[0]

    def check(self, first: int, puzzles: Sequence[str]) -> None:
        """Compares the rows that were kept with those that would be written in their places.

        Args:
          first: number of the first.
          puzzles: their first column.

        Raises:
          ResumeError: they differ. Nothing was changed in the output.
        """
        for number, puzzle in enumerate(puzzles, first):
            if number in self.kept and self.kept[number]["puzzle"] != puzzle:
                raise ResumeError(f"{self._name}: row {number + 1} holds another puzzle; the output is left as it is")

    def abandon(self) -> None:
        """Leaves the output as it is, to be resumed; does nothing after it is finished."""
        self._output.close()

    def __enter__(self) -> TableWriter:
        return self

    def __exit__(self, kind: type[BaseException] | None, *_: object) -> None:
        try:
            if kind is None:
                if isinstance(self._output, PartsFile):
                    self._output.finish(self._schema)
                else:
                    self._output.finish(self._header())
        finally:
            self.abandon()

    def _header(self) -> bytes:
        return b"" if self._headed else self._first


def grid_column(grids: np.ndarray, board: Board, absent: np.ndarray | None = None) -> list[str]:
    """Grids uint8[n, cells] as a column of text, as ``format_grids`` writes them; ``-`` where absent, bool[n]."""
    return format_lines(grids, board.side, absent).decode().split("\n")[:-1]


def read_grid_column(values: Sequence[Any], side: int) -> tuple[np.ndarray, dict[int, str]]:
    """A column of text (or None) as grids, the inverse of ``grid_column``.

    Returns:
      uint8[n, cells], zeros where there is nothing, ``-`` or no grid; and the causes of the latter, by row.
    """
    encoded = [("" if value is None else str(value).strip()).encode(errors="surrogateescape") for value in values]
    grids, _, causes = decode_texts(encoded, side)
    return grids, {row: cause for row, cause in causes.items() if encoded[row] not in (b"", NO_GRID)}


def _texts(values: Any) -> list[str]:
    if not isinstance(values, np.ndarray):
        return values
    if values.dtype.kind == "f":  # a rating that isn't there is an empty field
        return ["" if value != value else f"{value:.6g}" for value in values.tolist()]
    return list(map(str, values.tolist()))
