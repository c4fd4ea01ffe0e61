"""Puzzles in a column of a Parquet file. Needs pyarrow, the extra ``parquet``, imported when first used."""

from __future__ import annotations

from collections.abc import Iterator
from types import ModuleType
from typing import Any, BinaryIO

import numpy as np

from .cells import decode_odd, decode_spans
from .chunk import Chunk, LineError, PuzzleFileError
from .header import BOARD_COLUMN, Header, board_in_column
from .source import PARQUET_MAGIC as MAGIC
from .tables import Dialect, choose_columns

__all__ = ["MAGIC", "import_pyarrow", "parquet_header", "read_parquet"]

_BATCH = 1 << 14


def import_pyarrow() -> tuple[ModuleType, ModuleType]:
    """The modules pyarrow and pyarrow.parquet; raises ImportError that names the extra to install."""
    try:
        import pyarrow
        import pyarrow.parquet
    except ImportError as error:
        raise ImportError("Parquet files need pyarrow: pip install 'jaxsudoku[parquet]'") from error
    return pyarrow, pyarrow.parquet


def parquet_header(stream: BinaryIO, name: str) -> Header:
    """The board that the first row's column ``board`` names; raises as ``read_parquet`` does."""
    pa, _ = import_pyarrow()
    file = _opened(stream, name)
    if BOARD_COLUMN in file.schema_arrow.names:
        try:
            batch = next(file.iter_batches(1, columns=[BOARD_COLUMN]), None)
        except (pa.ArrowInvalid, OSError) as error:
            raise PuzzleFileError(f"{name}: damaged Parquet file ({error})") from error
        if batch is not None and (board := board_in_column(batch.column(0)[0].as_py())) is not None:
            return Header({}, board, 1)
    return Header()


def read_parquet(stream: BinaryIO, side: int, name: str, dialect: Dialect) -> Iterator[Chunk]:
    """A chunk for each batch of rows; "lines" are rows, counted from 1.

    Raises:
      PuzzleFileError: the stream can't be sought, is no whole Parquet file, or has no text column of puzzles.
      ImportError: pyarrow is missing.
    """
    pa, _ = import_pyarrow()
    file = _opened(stream, name)
    names = file.schema_arrow.names
    plain_names = [column.lower() if column.lower() == "puzzle" else column for column in names]
    columns = choose_columns(plain_names, name, dialect.keep, dialect.column)
    kind = file.schema_arrow.field(columns.puzzle).type
    plain = kind.value_type if pa.types.is_dictionary(kind) else kind
    if not (pa.types.is_string(plain) or pa.types.is_large_string(plain)):
        raise PuzzleFileError(f"{name}: the column of puzzles holds {kind}, not text")
    puzzle, extras, row = names[columns.puzzle], list(columns.extras), 1
    try:
        for batch in file.iter_batches(_BATCH, columns=[puzzle, *extras]):
            grids, good, causes = _decode(pa, batch.column(puzzle), side)
            errors = tuple(LineError(name, row + at, cause) for at, cause in causes.items())
            carried = {key: batch.column(key).to_pylist() for key in extras}
            yield Chunk(grids, good, np.arange(row, row + len(grids)), errors, carried)
            row += len(grids)
    except (pa.ArrowInvalid, OSError) as error:
        raise PuzzleFileError(f"{name}: damaged Parquet file after row {row - 1} ({error})") from error


def _opened(stream: BinaryIO, name: str) -> Any:
    pa, pq = import_pyarrow()
    if not stream.seekable():
        raise PuzzleFileError(f"{name}: Parquet is read from a file, not from a pipe")
    try:
        return pq.ParquetFile(stream)
    except pa.ArrowInvalid as error:
        raise PuzzleFileError(f"{name}: damaged or truncated Parquet file ({error})") from error


def _decode(pa: ModuleType, column: Any, side: int) -> tuple[np.ndarray, np.ndarray, dict[int, str]]:
    text = column.cast(pa.large_string()).fill_null("")
    _, offsets, data = text.buffers()
    bounds = np.frombuffer(offsets, np.int64)[text.offset : text.offset + len(text) + 1]
    # The buffers are shared by all batches of a row group: only this one's part is copied.
    block = data.slice(bounds[0], bounds[-1] - bounds[0]).to_pybytes() if data is not None else b""
    bounds = bounds - bounds[0]
    grids, good = decode_spans(block, bounds[:-1], bounds[1:], side)
    causes = decode_odd(grids, good, lambda at: block[bounds[at] : bounds[at + 1]], side)
    return grids, good, causes
