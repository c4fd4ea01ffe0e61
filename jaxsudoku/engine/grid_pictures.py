"""Pictures of grids, one or many, with candidates, probabilities, shades and marks. Needs no JAX."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from jaxsudoku.core.board import Board, board_of_grids
from jaxsudoku.core.host_rules import allowed_candidates, clashing_cells
from jaxsudoku.io import Chunk, parse, read_column, text_column
from jaxsudoku.pictures import NO_MARKS, Marks, Picture, sheet
from jaxsudoku.runtime.arrays import check_on_host

#: The most grids in a picture.
MOST = 400


def picture(
    grids: Any,
    board: Board | None = None,
    givens: Any = None,
    *,
    candidates: ArrayLike | bool | None = None,
    solutions: Any = None,
    clashes: bool = False,
    shades: ArrayLike | None = None,
    marks: Marks = NO_MARKS,
    columns: int | None = None,
    titles: Sequence[str] = (),
    title: str = "",
    labels: bool = False,
) -> Picture:
    """A grid as a picture, or many grids as a sheet of pictures. A notebook shows it, and it is saved by ``save``.

    Args:
      grids: one grid or several: integers[*b, cells] or [*b, side, side], 0 = empty; a text or a column of texts that
        ``io.parse`` reads; or a ``Solution``.
      board: the board; None for the classic one of the grids' size.
      givens: the puzzles, in the form of ``grids``: their digits are told from those filled in.
      candidates: written small into empty cells: True for the digits that no house of the cell has yet; or
        bool[*b, side, cells]; or probabilities, floats in 0..1 of that shape: the likelier, the larger, 0 is left out.
      solutions: in the form of ``grids``: other digits are red. Of candidates the right one is green, and a wrong one
        that is the most probable one of its cell is red.
      clashes: whether digits that a house has twice are red.
      shades: floats[*b, cells] or [*b, side, side] in 0..1: cells are shaded, such as by a network's policy; NaN for
        none.
      marks: for one grid: colours of cells and candidates, arrows; added to the above.
      columns: of several grids, how many there are in a row; None for about as many rows as columns.
      titles: of several grids, a title above each.
      title: a description for readers who do not see the picture.
      labels: whether rows and columns are labelled, as in r4c7.

    Raises:
      ValueError: no grids, or more than 400; arrays that do not fit the board or each other, or values out of range;
        marks for several grids, or titles for one.
    """
    array, board = as_array(grids, board)
    board, batch = board_of_grids(array.shape, board)
    flat = array.reshape(-1, board.cells)
    several = bool(batch)
    if several and not 0 < len(flat) <= MOST:
        raise ValueError(f"{len(flat):,} grids; a picture has 1 to {MOST}: choose some, as in grids[:12]")
    if several and marks != NO_MARKS:
        raise ValueError("marks are of one grid; draw each on its own, and join them by pictures.sheet")
    if titles and not several:
        raise ValueError("titles are of several grids; one grid has a title")
    given = _like(givens, "givens", flat, board)
    solved = _like(solutions, "solutions", flat, board)
    shaded = None if shades is None else _floats(np.asarray(shades, float), "shades", flat.shape)
    likely = _candidates(candidates, flat, board)
    drawn = []
    for row, grid in enumerate(flat):
        answer = None if solved is None else solved[row]
        own = Marks(
            shades={} if shaded is None else _known(shaded[row]),
            wrong=[
                *([] if answer is None else np.flatnonzero((grid > 0) & (grid != answer)).tolist()),
                *(np.flatnonzero(clashing_cells(grid, board)).tolist() if clashes else []),
            ],
        )
        if likely is not None:
            own = _with_candidates(own, likely[row], grid, answer)
        drawn.append(board.picture(grid, () if given is None else given[row], _joined(own, marks), title, labels))
    return sheet(drawn, columns, titles, title or f"{len(drawn)} grids: {board}") if several else drawn[0]


def as_array(grids: Any, board: Board | None) -> tuple[np.ndarray, Board | None]:
    """Grids as integers, and their board if it is known; raises ValueError if they are neither integers nor texts."""
    if isinstance(grids, Chunk) or (isinstance(grids, tuple) and hasattr(grids, "grids")):  # a Solution
        grids = grids.grids
    if isinstance(grids, str) or text_column(grids) is not None:
        array = parse(grids, board)
        return array, board or board_of_grids(array.shape[-1:])[0]
    check_on_host(grids, "grids", "Draw them outside jax.jit")
    array = np.asarray(grids)
    if not np.issubdtype(array.dtype, np.integer):
        raise ValueError(f"grids of dtype {array.dtype}; they must be integers, 0 for an empty cell, or texts")
    return array, board


def _like(grids: Any, name: str, flat: np.ndarray, board: Board) -> np.ndarray | None:
    """Further grids of the same number, integers[N, cells]."""
    if grids is None:
        return None
    array = _givens(grids, flat, board)
    if array.size != flat.size:
        raise ValueError(f"{name} of shape {array.shape}, for {len(flat)} grids of {board.cells} cells")
    return array.reshape(flat.shape)


def _givens(grids: Any, flat: np.ndarray, board: Board) -> np.ndarray:
    """Further grids; of a column a text may be malformed or missing where the grid is empty."""
    column = None if isinstance(grids, Chunk) else text_column(grids)
    if column is None:
        return as_array(grids, board)[0]
    read = read_column(column, board, "mark")
    for row, cause in read.causes.items():
        if row >= len(flat) or flat[row].any():
            raise ValueError(f"puzzle {row}: {cause}")
    return read.grids


def _floats(values: np.ndarray, name: str, shape: tuple[int, ...]) -> np.ndarray:
    """Values in 0..1, or NaN, of a shape."""
    if values.size != np.prod(shape):
        raise ValueError(f"{name} of shape {values.shape}, where {list(shape)} are needed")
    if ((values < 0) | (values > 1)).any():
        raise ValueError(f"{name} lie between 0 and 1, not at {values[(values < 0) | (values > 1)][0]}")
    return values.reshape(shape)


def _candidates(candidates: ArrayLike | bool | None, flat: np.ndarray, board: Board) -> np.ndarray | None:
    """The candidates of each grid, bool or float [N, side, cells]; None for none."""
    if candidates is None or candidates is False:
        return None
    shape = (len(flat), board.side, board.cells)
    if candidates is True:
        return allowed_candidates(flat, board)
    array = np.asarray(candidates)
    if array.dtype != bool and not np.issubdtype(array.dtype, np.floating):
        raise ValueError(f"candidates of dtype {array.dtype}; they must be True, or an array of bool or of floats")
    if array.dtype == bool:
        _floats(array.astype(float), "candidates", shape)
        return array.reshape(shape)
    return _floats(array.astype(float), "candidates", shape)


def _known(shades: np.ndarray) -> dict[int, float]:
    """The shades of cells that have one."""
    return {cell: float(shades[cell]) for cell in np.flatnonzero(~np.isnan(shades)).tolist()}


def _with_candidates(marks: Marks, likely: np.ndarray, grid: np.ndarray, solution: np.ndarray | None) -> Marks:
    """The marks with the candidates of empty cells, bool or float [side, cells]."""
    shown = [(digit, cell) for digit, cell in np.argwhere(np.nan_to_num(likely) > 0).tolist() if not grid[cell]]
    sizes = {} if likely.dtype == bool else {(digit, cell): float(likely[digit, cell]) for digit, cell in shown}
    marked = {} if solution is None else dict(_judged(shown, likely, solution))
    return marks._replace(candidates=shown, sizes=sizes, marked=marked)


def _judged(
    shown: Sequence[tuple[int, int]], likely: np.ndarray, solution: np.ndarray
) -> Iterator[tuple[tuple[int, int], str]]:
    """The right candidates, and the wrong ones that are the most probable."""
    best = np.nan_to_num(likely).argmax(axis=0)
    for digit, cell in shown:
        if solution[cell] == digit + 1:
            yield (digit, cell), "right"
        elif likely.dtype != bool and best[cell] == digit:
            yield (digit, cell), "wrong"


def _joined(one: Marks, other: Marks) -> Marks:
    """Two marks at once; of a cell or candidate that both have, the second's."""
    return Marks(
        [*one.candidates, *other.candidates],
        {**one.cells, **other.cells},
        {**one.marked, **other.marked},
        [*one.arrows, *other.arrows],
        {**one.shades, **other.shades},
        {**one.sizes, **other.sizes},
        [*one.wrong, *other.wrong],
        [*one.dashed, *other.dashed],
        [*one.houses, *other.houses],
    )
