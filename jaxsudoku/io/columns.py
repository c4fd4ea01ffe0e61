"""Writing tables of puzzles: CSV, Parquet, or the puzzles alone as text."""

from __future__ import annotations

import os
import sys
from collections.abc import Mapping, Sequence
from typing import Any, BinaryIO

import numpy as np

from ..board import Board
from .cells import decode_texts
from .format import NO_GRID, csv_header, csv_text, format_lines
from .parquet import import_pyarrow
from .source import gzip_member
from .write import Kind, kind_of, output_exists, same_file


class TableWriter:
    """Appends rows to a table; a context manager, whose end finishes the output.

    CSV and Parquet have all columns; text has but the first, a value a line. Whole rows alone are written, so what was
    written before an interruption stays readable; a Parquet file appears when the block is left, however it is left.

    Args:
      target: a path, or ``-`` for the standard output.
      columns: names and numpy dtypes of the columns, ``object`` for text.
      kind: ``text``, ``csv`` or ``parquet``; by default told from the suffix, which may be followed by ``.gz``.
      force: whether an existing output may be replaced.
      source: the input, which is never written over.
      heading: comments at the top of a text, see ``header_lines``.

    Raises:
      FileExistsError: the output exists and is not to be replaced.
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
        source: str | None = None,
        heading: bytes = b"",
    ) -> None:
        self._target, self._columns = target, dict(columns)
        self._kind, self._compressed = kind_of(target, kind)
        self._name = "<stdout>" if target == "-" else target
        if target == "-" and self._kind == "parquet":
            raise ValueError("Parquet needs an output file, not the standard output")
        if target != "-" and source is not None and same_file(source, target):
            raise ValueError(f"{target}: the output is the input")
        if os.path.isfile(target) and not force:
            raise output_exists(target, resumable=False)
        self._parquet: Any = None
        self._file: BinaryIO | None = None
        if self._kind == "parquet":
            pa, pq = import_pyarrow()
            kinds = [pa.string() if dtype is object else pa.from_numpy_dtype(dtype) for dtype in columns.values()]
            self._schema = pa.schema(list(zip(columns, kinds, strict=True)))
            self._parquet = pq.ParquetWriter(f"{target}.tmp", self._schema)
            return
        self._file = sys.stdout.buffer if target == "-" else open(target, "wb", buffering=0)  # noqa: SIM115
        if first := {"csv": csv_header(self._columns), "text": heading}[self._kind]:
            self._put(first)

    def write(self, columns: Mapping[str, Any]) -> None:
        """Appends rows: for each column n values, numbers as an array, text as a list.

        Raises:
          ValueError: the columns are others than those named, or of different lengths.
          OSError: writing failed; BrokenPipeError comes as it is.
        """
        lengths = [len(values) for values in columns.values()]
        if list(columns) != list(self._columns) or len(set(lengths)) > 1:
            raise ValueError(
                f"columns {', '.join(columns)} of lengths {lengths}; the table has {', '.join(self._columns)}"
            )
        if self._parquet is not None:
            pa, _ = import_pyarrow()
            self._parquet.write_table(pa.table(dict(columns), schema=self._schema))
            return
        texts = [_texts(values) for values in columns.values()]
        self._put(csv_text(texts if self._kind == "csv" else texts[:1]))

    def __enter__(self) -> TableWriter:
        return self

    def __exit__(self, *_: object) -> None:
        if self._parquet is not None:
            self._parquet.close()
            os.replace(f"{self._target}.tmp", self._target)
        elif self._file is not None and self._file is not sys.stdout.buffer:
            self._file.close()

    def _put(self, data: bytes) -> None:
        assert self._file is not None
        view = memoryview(gzip_member(data) if self._compressed else data)
        whole = self._file.tell() if self._target != "-" and self._file.seekable() else None
        try:
            while view:  # an unbuffered file may take less than it is given
                view = view[self._file.write(view) :]
            self._file.flush()
        except BrokenPipeError:
            raise
        except OSError as error:
            if whole is not None:
                self._file.truncate(whole)  # no row in part
            raise OSError(error.errno, error.strerror, self._name) from error


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
