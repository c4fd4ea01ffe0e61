"""Results as tables of pyarrow (extra ``parquet``), from which pandas makes data frames. Needs no JAX."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from jaxsudoku.board import Board, board_of_grids
from jaxsudoku.io import GridColumn, grid_column
from jaxsudoku.io.parquet import arrow_table
from jaxsudoku.sheets import as_array


def to_table(columns: Mapping[str, Any]) -> Any:
    """A ``pyarrow.Table`` of columns of one length; raises ImportError that names the extra if pyarrow is missing."""
    return arrow_table(columns, 1)


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
