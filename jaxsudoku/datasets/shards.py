"""Reading and writing of shards, the files of a data set.

An ``npz`` shard has the arrays of ``Puzzles``, compressed. A ``parquet`` shard has the columns ``puzzle`` and
``solution``, as text in the form of ``jaxsudoku.io``, ``clues`` and ``rating``. The same puzzles make the same bytes,
with the same versions of numpy, zlib and pyarrow.
"""

from __future__ import annotations

import hashlib
import io
from pathlib import Path
from typing import Any

import numpy as np

from jaxsudoku.core.board import Board
from jaxsudoku.generation import Puzzles
from jaxsudoku.io import grid_column
from jaxsudoku.io.parquet import COMPRESSION, arrow_table, import_pyarrow
from jaxsudoku.rating import CUT_OFF

from .card import DatasetError, Shard


def encode(puzzles: Puzzles, board: Board, format: str) -> bytes:
    """The bytes of a shard; raises ImportError for Parquet without pyarrow.

    Infinite ratings, of puzzles for which a search was cut off, are stored as the largest number.
    """
    buffer = io.BytesIO()
    puzzles = puzzles._replace(rating=np.minimum(puzzles.rating, np.float32(CUT_OFF)))
    if format == "npz":
        np.savez_compressed(buffer, **puzzles._asdict())
    else:
        _, pq = import_pyarrow()
        texts = [grid_column(grids, board) for grids in (puzzles.puzzles, puzzles.solutions)]
        names = ("puzzle", "solution", "clues", "rating")
        table = arrow_table(dict(zip(names, [*texts, puzzles.clues, puzzles.rating], strict=True)))
        pq.write_table(table, buffer, compression=COMPRESSION)
    return buffer.getvalue()


def read(shard: Shard, folder: Path, board: Board, format: str, verify: bool = True) -> Puzzles:
    """The puzzles of a shard.

    Args:
      shard: its entry on the card.
      folder, board, format: properties of the data set.
      verify: whether to check the file's checksum.

    Raises:
      DatasetError: the file can't be read, has another checksum, or holds other arrays.
      ImportError: Parquet without pyarrow.
    """
    path = folder / shard.file
    try:
        data = path.read_bytes()
    except OSError as error:
        raise DatasetError(f"{path}: {error.strerror or error}") from error
    if verify and (found := hashlib.sha256(data).hexdigest()) != shard.sha256:
        raise DatasetError(f"{path}: damaged shard (its sha256 is {found}, that on the card {shard.sha256})")
    pq = import_pyarrow()[1] if format == "parquet" else None
    try:
        puzzles = _read_npz(data) if pq is None else _read_parquet(pq, data, board)
    except Exception as error:  # decoders of zip, npy and Parquet raise various errors on damaged data
        raise DatasetError(f"{path}: damaged shard ({type(error).__name__}: {error})") from error
    kinds = [f"{part.dtype}{list(part.shape)}" for part in puzzles]
    size, cells = shard.puzzles, board.cells
    if kinds != [f"uint8[{size}, {cells}]", f"uint8[{size}, {cells}]", f"int32[{size}]", f"float32[{size}]"]:
        raise DatasetError(f"{path}: damaged shard (not {size} puzzles of {cells} cells, but {', '.join(kinds)})")
    return puzzles


def check(puzzles: Puzzles, board: Board, path: Path) -> None:
    """Checks the contents of a shard, independently of its checksum.

    Raises:
      DatasetError: a digit is out of range, a solution contradicts the givens, a number of clues is wrong, or a rating
        is negative or not finite; the message names the file and the first row.
    """
    given = puzzles.puzzles > 0
    faults = {
        f"a digit above {board.side}": (puzzles.puzzles > board.side).any(axis=1),
        f"a solution with digits outside 1..{board.side}": (
            (puzzles.solutions < 1) | (puzzles.solutions > board.side)
        ).any(axis=1),
        "a solution that contradicts the givens": (given & (puzzles.puzzles != puzzles.solutions)).any(axis=1),
        "a wrong number of clues": given.sum(axis=1, dtype=np.int32) != puzzles.clues,
        "a rating that is negative or not finite": ~(np.isfinite(puzzles.rating) & (puzzles.rating >= 0)),
    }
    for fault, rows in faults.items():
        if rows.any():
            raise DatasetError(f"{path}: damaged shard (puzzle {int(rows.argmax())} has {fault})")


def _read_npz(data: bytes) -> Puzzles:
    with np.load(io.BytesIO(data)) as arrays:
        return Puzzles(*(arrays[name] for name in Puzzles._fields))


def _read_parquet(pq: Any, data: bytes, board: Board) -> Puzzles:
    table = pq.read_table(io.BytesIO(data))
    numbers = (table[name].to_numpy() for name in ("clues", "rating"))
    return Puzzles(_grids(table["puzzle"], board), _grids(table["solution"], board), *numbers)


def _grids(column: Any, board: Board) -> np.ndarray:
    """Grids uint8[n, cells] from a column of text written by ``grid_column``."""
    texts = column.to_pylist()
    if board.side > 9:
        sizes = {text.count(" ") + 1 for text in texts}
        numbers = np.fromstring(" ".join(texts), np.int64, sep=" ")
        if ((numbers < 0) | (numbers > board.side)).any():
            raise ValueError(f"digits outside 0..{board.side}")
        grids = numbers.astype(np.uint8)
    else:
        sizes = {len(text) for text in texts}
        grids = np.frombuffer("".join(texts).replace(".", "0").encode(), np.uint8) - np.uint8(ord("0"))
    if sizes - {board.cells}:
        raise ValueError(f"texts that are not of {board.cells} cells")
    return grids.reshape(-1, board.cells)
