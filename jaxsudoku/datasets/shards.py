"""Shards: the files that the puzzles of a data set are in.

A shard in ``npz`` has the arrays of ``Puzzles``, compressed. One in ``parquet`` has the columns ``puzzle`` and
``solution``, as text such as ``jaxsudoku.io`` reads and writes, ``clues`` and ``rating``. Either has the same bytes
whenever it is made of the same puzzles with the same versions of numpy, zlib and pyarrow.
"""

from __future__ import annotations

import hashlib
import io
import zipfile
import zlib
from pathlib import Path
from typing import Any

import numpy as np

from jaxsudoku.board import Board
from jaxsudoku.generation import Puzzles
from jaxsudoku.io import format_grids
from jaxsudoku.io.parquet import import_pyarrow

from .card import DatasetError, Shard

#: Formats of shards.
FORMATS = ("npz", "parquet")


def encode(puzzles: Puzzles, board: Board, format: str) -> bytes:
    """A shard as it stands in its file; raises ImportError for Parquet without pyarrow."""
    buffer = io.BytesIO()
    if format == "npz":
        np.savez_compressed(buffer, **puzzles._asdict())
    else:
        pa, pq = import_pyarrow()
        texts = [format_grids(grids, board).decode().splitlines() for grids in (puzzles.puzzles, puzzles.solutions)]
        names = ["puzzle", "solution", "clues", "rating"]
        pq.write_table(pa.table([*texts, puzzles.clues, puzzles.rating], names), buffer, compression="zstd")
    return buffer.getvalue()


def describe(number: int, format: str, puzzles: int, data: bytes) -> Shard:
    """The shard of that number, which holds so many puzzles in these bytes."""
    return Shard(f"shard-{number:05}.{format}", puzzles, len(data), hashlib.sha256(data).hexdigest())


def is_whole(shard: Shard, folder: Path) -> bool:
    """Whether the shard's file has the bytes that it ought to have."""
    path = folder / shard.file
    if not (path.is_file() and path.stat().st_size == shard.bytes):
        return False
    with open(path, "rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest() == shard.sha256


def read(shard: Shard, folder: Path, board: Board, format: str) -> Puzzles:
    """The puzzles of a shard.

    Raises:
      DatasetError: the file is missing or damaged.
      ImportError: Parquet without pyarrow.
    """
    path = folder / shard.file
    try:
        puzzles = _read_npz(path) if format == "npz" else _read_parquet(path, board)
    except (OSError, EOFError, ValueError, KeyError, zipfile.BadZipFile, zlib.error) as error:
        raise DatasetError(f"{path}: damaged shard ({error})") from error
    grids = (shard.puzzles, board.cells)
    if [part.shape for part in puzzles] != [grids, grids, grids[:1], grids[:1]]:
        raise DatasetError(f"{path}: damaged shard (not {shard.puzzles} puzzles of {board.cells} cells)")
    return puzzles


def _read_npz(path: Path) -> Puzzles:
    with np.load(path) as arrays:
        return Puzzles(*(arrays[name] for name in Puzzles._fields))


def _read_parquet(path: Path, board: Board) -> Puzzles:
    _, pq = import_pyarrow()
    table = pq.read_table(path)
    clues = table["clues"].to_numpy().astype(np.int32)
    rating = table["rating"].to_numpy().astype(np.float32)
    return Puzzles(_grids(table["puzzle"], board), _grids(table["solution"], board), clues, rating)


def _grids(column: Any, board: Board) -> np.ndarray:
    """Grids uint8[n, cells] of a column of text that ``format_grids`` made."""
    texts = column.to_pylist()
    if board.side > 9:
        grids = np.fromstring(" ".join(texts), np.uint8, sep=" ")
    else:
        grids = np.frombuffer("".join(texts).replace(".", "0").encode(), np.uint8) - np.uint8(ord("0"))
    return grids.reshape(-1, board.cells)
