"""Puzzles in a column of a Parquet file. Needs pyarrow, the extra ``parquet``, imported when first used."""

from __future__ import annotations

from collections.abc import Collection, Iterator
from types import ModuleType
from typing import Any, BinaryIO

import numpy as np

from .cells import decode_odd, decode_spans
from .chunk import Chunk, LineError, PuzzleFileError
from .tables import choose_columns

MAGIC = b"PAR1"
_BATCH = 1 << 14


def import_pyarrow() -> tuple[ModuleType, ModuleType]:
    """The modules pyarrow and pyarrow.parquet; raises ImportError that names the extra to install."""
    try:
        import pyarrow
        import pyarrow.parquet
    except ImportError as error:
        raise ImportError("Parquet files need pyarrow: pip install 'jaxsudoku[parquet]'") from error
    return pyarrow, pyarrow.parquet


def read_parquet(stream: BinaryIO, side: int, name: str, keep: Collection[str] = ()) -> Iterator[Chunk]:
    """A chunk for each batch of rows; "lines" are rows, counted from 1. ``keep`` is as in ``read_chunks``.

    Raises:
      PuzzleFileError: the stream can't be sought, is no whole Parquet file, or has no text column of puzzles.
      ImportError: pyarrow is missing.
    """
    pa, pq = import_pyarrow()
    if not stream.seekable():
        raise PuzzleFileError(f"{name}: Parquet is read from a file, not from a pipe")
    try:
        file = pq.ParquetFile(stream)
    except pa.ArrowInvalid as error:
        raise PuzzleFileError(f"{name}: damaged or truncated Parquet file ({error})") from error
    names = file.schema_arrow.names
    columns = choose_columns([column.lower() if column.lower() == "puzzle" else column for column in names], name, keep)
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
