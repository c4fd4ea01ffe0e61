"""Puzzles in a column of a Parquet file. Needs pyarrow, the extra ``parquet``, imported when first used."""

from __future__ import annotations

import errno
import json
from collections.abc import Iterator, Mapping
from types import ModuleType
from typing import Any, BinaryIO

import numpy as np

from .cells import decode_odd, decode_spans
from .chunk import Chunk, LineError, PuzzleFileError
from .header import BOARD_COLUMN, Header, board_in_column
from .source import PARQUET_MAGIC as MAGIC
from .tables import Columns, Dialect, choose_columns, further_columns, plain_names

__all__ = ["MAGIC", "arrow_table", "import_pyarrow", "parquet_columns", "parquet_header", "read_parquet"]

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
    plain = plain_names(file.schema_arrow.names)
    if BOARD_COLUMN in plain:
        column = file.schema_arrow.names[plain.index(BOARD_COLUMN)]
        try:
            batch = next(file.iter_batches(1, columns=[column]), None)
        except (pa.ArrowInvalid, OSError) as error:
            raise PuzzleFileError(f"{name}: damaged Parquet file ({error})") from error
        if batch is not None and (board := board_in_column(_carried(pa, batch.column(column))[0])) is not None:
            return Header({}, board, 1)
    return Header()


def parquet_columns(stream: BinaryIO, name: str, dialect: Dialect) -> tuple[str, ...]:
    """The names of all columns but that of puzzles, without reading a row; raises as ``read_parquet`` does."""
    file = _opened(stream, name)
    _chosen(file, name, dialect)
    return further_columns(file.schema_arrow.names, dialect.column)


def read_parquet(stream: BinaryIO, side: int, name: str, dialect: Dialect) -> Iterator[Chunk]:
    """A chunk for each batch of rows; "lines" are rows, counted from 1.

    Further columns of text, truth values, floats, signed integers and unsigned ones up to 32 bits are carried along as
    they are. Those of any other type are carried as text: nested ones as JSON, binary ones in hexadecimal.

    Raises:
      PuzzleFileError: the stream can't be sought, is no whole Parquet file, or has no text column of puzzles.
      ImportError: pyarrow is missing.
    """
    pa, _ = import_pyarrow()
    file = _opened(stream, name)
    columns = _chosen(file, name, dialect)
    names = file.schema_arrow.names
    puzzle, row = names[columns.puzzle], 1
    extras = {key: names[at] for key, at in columns.extras.items()}
    try:
        for batch in file.iter_batches(_BATCH, columns=[puzzle, *extras.values()]):
            grids, good, causes = _decode(pa, batch.column(puzzle), side)
            errors = tuple(LineError(name, row + at, cause) for at, cause in causes.items())
            carried = {key: _carried(pa, batch.column(column)) for key, column in extras.items()}
            yield Chunk(grids, good, np.arange(row, row + len(grids)), errors, carried)
            row += len(grids)
    except (pa.ArrowInvalid, OSError) as error:
        raise PuzzleFileError(f"{name}: damaged Parquet file after row {row - 1} ({error})") from error


def arrow_table(columns: Mapping[str, Any], start: int, schema: Any = None) -> Any:
    """A pyarrow table of these columns, whose first row answers the puzzle with the index ``start``.

    Raises:
      OSError: a text is no UTF-8, the only encoding of Parquet.
    """
    pa, _ = import_pyarrow()
    try:
        return pa.table(dict(columns), schema=schema)
    except UnicodeEncodeError as error:
        name, row = next(
            (name, row)
            for name, values in columns.items()
            for row, text in enumerate([name, *values])
            if isinstance(text, str) and not _is_utf8(text)
        )
        where = f"{name!r} of puzzle {start + row}" if row else f"{name!r}, its name"
        cause = f"the column {where}: no UTF-8, which Parquet needs: convert the input to UTF-8 or write CSV"
        raise OSError(errno.EILSEQ, cause) from error


def _is_utf8(text: str) -> bool:
    try:
        text.encode()
    except UnicodeEncodeError:
        return False
    return True


def _chosen(file: Any, name: str, dialect: Dialect) -> Columns:
    """The columns of an open file that matter; raises PuzzleFileError where none holds puzzles as text."""
    pa, _ = import_pyarrow()
    columns = choose_columns(file.schema_arrow.names, name, dialect.keep, dialect.column)
    kind = file.schema_arrow.field(columns.puzzle).type
    plain = kind.value_type if pa.types.is_dictionary(kind) else kind
    if not (pa.types.is_string(plain) or pa.types.is_large_string(plain)):
        raise PuzzleFileError(f"{name}: the column of puzzles holds {kind}, not text")
    return columns


def _carried(pa: ModuleType, column: Any) -> list[Any]:
    """The values of a further column: as they are if every output can hold them, else as text."""
    types = pa.types
    if isinstance(column.type, pa.BaseExtensionType):
        column = column.storage
    if types.is_dictionary(column.type):
        column = column.cast(column.type.value_type)
    kind = column.type
    if types.is_string(kind) or types.is_large_string(kind) or types.is_null(kind):
        return column.to_pylist()
    if types.is_boolean(kind) or types.is_floating(kind) or (types.is_integer(kind) and kind != pa.uint64()):
        return column.to_pylist()
    if not (types.is_nested(kind) or types.is_binary(kind) or types.is_large_binary(kind)):
        try:
            return column.cast(pa.string()).to_pylist()
        except (pa.ArrowNotImplementedError, pa.ArrowInvalid):  # binary of a fixed size, and rare types
            pass
    values = column.cast(_without_times(pa, kind)).to_pylist()
    return [None if value is None else _text(value) for value in values]


def _without_times(pa: ModuleType, kind: Any) -> Any:
    """A nested type with text for times, whose nanoseconds no value of Python can hold; any other as it is."""
    types = pa.types
    if types.is_map(kind):
        return pa.map_(_without_times(pa, kind.key_type), _without_times(pa, kind.item_type))
    if types.is_struct(kind):
        return pa.struct([field.with_type(_without_times(pa, field.type)) for field in kind])
    if types.is_list(kind) or types.is_fixed_size_list(kind):
        return pa.list_(_without_times(pa, kind.value_type))
    if types.is_large_list(kind):
        return pa.large_list(_without_times(pa, kind.value_type))
    return pa.string() if types.is_timestamp(kind) or types.is_time(kind) or types.is_duration(kind) else kind


def _text(value: Any) -> str:
    if isinstance(value, bytes):
        return value.hex()
    if isinstance(value, list | dict):
        return json.dumps(value, ensure_ascii=False, default=_text)
    return str(value)


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
