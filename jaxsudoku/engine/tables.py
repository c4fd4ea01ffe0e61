"""Results as tables of pyarrow (extra ``parquet``), from which pandas makes data frames. Needs no JAX."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from jaxsudoku.core.board import Board, board_of_grids
from jaxsudoku.engine.grid_pictures import as_array
from jaxsudoku.io import Chunk, GridColumn, grid_column, read_column, text_column
from jaxsudoku.io.parquet import arrow_table, import_pyarrow

#: Columns of texts, which may be null in all rows.
_TEXTS = ("puzzle", "solution", "cause")


def to_table(columns: Mapping[str, Any]) -> Any:
    """A ``pyarrow.Table`` of columns of one length; raises ImportError that names the extra if pyarrow is missing."""
    pa, _ = import_pyarrow()
    return arrow_table(columns, 1, {name: pa.string() for name in _TEXTS if name in columns})


def flat_grids(grids: Any, board: Board | None, count: int, name: str) -> tuple[np.ndarray, Board]:
    """Grids as uint8[count, cells], and their board.

    Args:
      grids: in any form that ``jaxsudoku.picture`` takes.
      board: the board; None for the classic one of the grids' size.
      count: how many there must be.
      name: what they are, for messages.

    Raises:
      ValueError: another number of grids, or values that the board does not have.
    """
    array, board = as_array(grids, board)
    board, _ = board_of_grids(array.shape, board)
    flat = array.reshape(-1, board.cells)
    if len(flat) != count:
        raise ValueError(f"{len(flat)} {name} for {count} results")
    if flat.size and not 0 <= flat.min() <= flat.max() <= board.side:
        raise ValueError(f"{name} hold values outside 0..{board.side}")
    return flat.astype(np.uint8), board


def grid_texts(grids: Any, board: Board | None, count: int, name: str) -> GridColumn:
    """A column of grids as texts, as in the outputs of commands; arguments and errors are those of ``flat_grids``."""
    return grid_column(*flat_grids(grids, board, count, name))


def puzzle_columns(
    puzzles: Any, board: Board | None, malformed: np.ndarray
) -> tuple[Sequence[str | None], np.ma.MaskedArray]:
    """Columns of puzzles: texts, and int32[n] numbers of clues. Malformed puzzles are their texts, without clues.

    Args:
      puzzles: n puzzles, in any form that ``solve`` takes; texts may be malformed.
      board: the board; None for the classic one of the puzzles' size.
      malformed: bool[n], the results that say that a puzzle is malformed.

    Raises:
      ValueError: another number of puzzles; a malformed text with a result that says otherwise; or values that the
        board does not have.
    """
    column = None if isinstance(puzzles, Chunk) else text_column(puzzles)
    read = puzzles if column is None else read_column(column, board, "mark")
    if not isinstance(read, Chunk):
        flat, board = flat_grids(read, board, len(malformed), "puzzles")
        read = Chunk(flat, np.ones(len(flat), bool), np.arange(len(flat)))
    if len(read) != len(malformed):
        raise ValueError(f"{len(read)} puzzles for {len(malformed)} results")
    board, _ = board_of_grids(read.grids.shape if board else read.grids.shape[1:], board)
    for row, cause in read.causes.items():
        if not malformed[row]:
            raise ValueError(f"puzzle {row}: {cause}")
    texts: Sequence[str | None] = grid_column(read.grids, board)
    if not read.good.all():
        known = read.texts
        texts = [text if read.good[row] else known.get(row) for row, text in enumerate(texts)]
    return texts, np.ma.masked_array(np.count_nonzero(read.grids, axis=1).astype(np.int32), ~read.good)
