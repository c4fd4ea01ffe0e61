"""Puzzles in a column of a Parquet file. Needs pyarrow, the extra ``parquet``, imported on first use."""

from __future__ import annotations

import errno
import functools
import json
from collections.abc import Collection, Iterator, Mapping
from types import ModuleType
from typing import Any

import numpy as np

from .cells import Digits
from .chunk import Chunk, PuzzleFileError
from .columns import BOARD_COLUMN, Columns, choose_columns, further_columns, plain_names
from .decode import Decoded, decode_block
from .format import Beginning, Format, Record
from .grid_text import GridColumn
from .header import BoardCheck
from .json_values import decode_value

_BATCH = 1 << 14

#: Maximum number of texts in an array of pyarrow, which can hold 2 GiB; a grid has at most four thousand characters.
_PIECE = 1 << 17

#: Compression of outputs: grids take less than two thirds of their size with pyarrow's default, in the same time.
COMPRESSION = "zstd"


def import_pyarrow() -> tuple[ModuleType, ModuleType]:
    """The modules pyarrow and pyarrow.parquet; raises ImportError that names the extra to install."""
    try:
        import pyarrow
        import pyarrow.parquet
    except ImportError as error:
        raise ImportError("Parquet files and tables need pyarrow: pip install 'jaxsudoku[parquet]'") from error
    return pyarrow, pyarrow.parquet


class Parquet(Format):
    """Parquet, one row per puzzle; "lines" are rows, counted from 1.

    Further columns of text, booleans, floats, signed integers and unsigned ones up to 32 bits are carried along
    unchanged, other types as text: nested ones as JSON, binary ones in hexadecimal.
    """

    name = "Parquet"
    magic = b"PAR1"
    is_table = True

    @classmethod
    def sniff(cls, start: Beginning, side: int) -> Parquet | None:
        return cls(start) if start.head.startswith(cls.magic) else None

    @functools.cached_property
    def _file(self) -> Any:
        pa, pq = import_pyarrow()
        name, stream = self.start.name, self.start.stream
        if stream is None or not stream.seekable():
            raise PuzzleFileError(f"{name}: Parquet is read from a file, not from a pipe")
        try:
            return pq.ParquetFile(stream)
        except pa.ArrowInvalid as error:
            raise PuzzleFileError(f"{name}: damaged or truncated Parquet file ({error})") from error

    def names(self) -> list[str]:
        return list(self._file.schema_arrow.names)

    def check(self, check: BoardCheck) -> tuple[str, ...]:
        self._columns()
        return further_columns(self.names(), self.start.column)

    def first_record(self) -> Record | None:
        """The first record, of which only the board is read."""
        pa, _ = import_pyarrow()
        plain = plain_names(self.names())
        if BOARD_COLUMN not in plain:
            return None
        column = self.names()[plain.index(BOARD_COLUMN)]
        try:
            batch = next(self._file.iter_batches(1, columns=[column]), None)
        except (pa.ArrowInvalid, OSError) as error:
            raise PuzzleFileError(f"{self.start.name}: damaged Parquet file ({error})") from error
        return None if batch is None else Record({BOARD_COLUMN: _carried(pa, batch.column(column))[0]}, 1)

    def count(self) -> int:
        rows = self.group_rows()
        return sum(rows if self.start.groups is None else (rows[group] for group in self.start.groups))

    def group_rows(self) -> list[int]:
        """The number of rows in each row group."""
        metadata = self._file.metadata
        return [metadata.row_group(group).num_rows for group in range(metadata.num_row_groups)]

    def read(self, blocks: Iterator[bytes], check: BoardCheck, keep: Collection[str] = ()) -> Iterator[Chunk]:
        pa, _ = import_pyarrow()
        columns, names, row = self._columns(keep), self.names(), self.start.before + 1
        puzzle = names[columns.puzzle]
        extras = {name: names[at] for name, at in columns.extras.items()}
        try:
            groups = None if self.start.groups is None else list(self.start.groups)
            for batch in self._file.iter_batches(_BATCH, groups, columns=[puzzle, *extras.values()]):
                read = _decode(pa, batch.column(puzzle), check.digits)
                carried = {name: _carried(pa, batch.column(column)) for name, column in extras.items()}
                yield Chunk.of(read, np.arange(row, row + len(read.good)), self.start.name, carried)
                row += len(read.good)
        except (pa.ArrowInvalid, OSError) as error:
            raise PuzzleFileError(f"{self.start.name}: damaged Parquet file after row {row - 1} ({error})") from error

    def _columns(self, keep: Collection[str] = ()) -> Columns:
        """The columns to read; raises PuzzleFileError if no column has puzzles as texts or lists."""
        pa, _ = import_pyarrow()
        columns = choose_columns(self.names(), self.start.name, self.start.column, keep)
        kind = self._file.schema_arrow.field(columns.puzzle).type
        plain = kind.value_type if pa.types.is_dictionary(kind) else kind
        if not (pa.types.is_string(plain) or pa.types.is_large_string(plain) or _is_list(pa, plain)):
            raise PuzzleFileError(f"{self.start.name}: the column of puzzles holds {kind}, neither text nor lists")
        return columns


def arrow_table(columns: Mapping[str, Any], start: int = 0, types: Mapping[str, Any] | None = None) -> Any:
    """A pyarrow table of these columns.

    Args:
      columns: n values each.
      start: number of the puzzle in the first row, for messages.
      types: pyarrow types of some columns; None for none. Other types are inferred.

    Raises:
      OSError: a text is not UTF-8, the only encoding of Parquet.
    """
    pa, _ = import_pyarrow()
    try:
        return pa.table({name: _array(values, (types or {}).get(name)) for name, values in columns.items()})
    except UnicodeEncodeError as error:
        name, row = next(
            (name, row)
            for name, values in columns.items()
            for row, text in enumerate([name, *values])
            if isinstance(text, str) and not _is_utf8(text)
        )
        where = f"{name!r} of puzzle {start + row}" if row else f"{name!r}, its name"
        cause = f"the column {where}: not UTF-8, which Parquet needs: convert the input to UTF-8 or write CSV"
        raise OSError(errno.EILSEQ, cause) from error


def _array(values: Any, kind: Any) -> Any:
    """A column as an array of pyarrow; texts are not copied from their buffer."""
    pa, _ = import_pyarrow()
    if not isinstance(values, GridColumn):
        return pa.array(values, kind)
    bounds = values.bounds
    pieces = []
    for start in range(0, len(values), _PIECE):
        own = bounds[start : start + _PIECE + 1]
        offsets = pa.py_buffer((own - own[0]).astype(np.int32))
        data = pa.py_buffer(memoryview(values.data)[own[0] : own[-1]])
        pieces.append(pa.Array.from_buffers(pa.string(), len(own) - 1, [None, offsets, data]))
    return pa.chunked_array(pieces, pa.string())


def _is_utf8(text: str) -> bool:
    try:
        text.encode()
    except UnicodeEncodeError:
        return False
    return True


def _carried(pa: ModuleType, column: Any) -> list[Any]:
    """The values of a further column, unchanged if all output formats support them, else as text."""
    types = pa.types
    if isinstance(column.type, pa.BaseExtensionType):
        column = column.storage
    if types.is_dictionary(column.type):
        column = column.cast(column.type.value_type)
    kind = column.type
    if types.is_string(kind) or types.is_large_string(kind) or types.is_null(kind):
        return list(column.to_pylist())
    if types.is_boolean(kind) or types.is_floating(kind) or (types.is_integer(kind) and kind != pa.uint64()):
        return list(column.to_pylist())
    if not (types.is_nested(kind) or types.is_binary(kind) or types.is_large_binary(kind)):
        try:
            return list(column.cast(pa.string()).to_pylist())
        except (pa.ArrowNotImplementedError, pa.ArrowInvalid):  # binary of a fixed size, and rare types
            pass
    values = column.cast(_without_times(pa, kind)).to_pylist()
    return [None if value is None else _text(value) for value in values]


def _without_times(pa: ModuleType, kind: Any) -> Any:
    """A nested type with times replaced by text, as Python has no nanoseconds; other types unchanged."""
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


def _is_list(pa: ModuleType, kind: Any) -> bool:
    types = pa.types
    return bool(types.is_list(kind) or types.is_large_list(kind) or types.is_fixed_size_list(kind))


def _decode(pa: ModuleType, column: Any, digits: Digits) -> Decoded:
    if isinstance(column.type, pa.BaseExtensionType):
        column = column.storage
    if _is_list(pa, column.type):
        found = Decoded(np.zeros((len(column), digits.cells), np.uint8), np.zeros(len(column), bool))
        for row, value in enumerate(column.to_pylist()):
            found.put(row, functools.partial(decode_value, value, digits), None if value is None else _text(value))
        return found
    text = column.cast(pa.large_string()).fill_null("")
    _, offsets, data = text.buffers()
    bounds = np.frombuffer(offsets, np.int64)[text.offset : text.offset + len(text) + 1]
    # All batches of a row group share the buffers: only the part of this one is copied.
    block = data.slice(bounds[0], bounds[-1] - bounds[0]).to_pybytes() if data is not None else b""
    bounds = bounds - bounds[0]
    return decode_block(block, bounds[:-1], bounds[1:], digits)
