"""Converts what users pass as puzzles, arrays or texts, to uint8 arrays, and checks it on the host. No JAX."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple, TypeVar

import numpy as np

from jaxsudoku import shipped
from jaxsudoku.core.board import Board, board_of_grids
from jaxsudoku.core.constraints.base import Constraint
from jaxsudoku.io import Chunk, Errors, check_errors, parse, parse_position, read_column, text_column
from jaxsudoku.runtime.arrays import check_on_host, from_dlpack

T = TypeVar("T")


class Marked(NamedTuple):
    """Puzzles, some of which may be malformed.

    Attributes:
      grids: uint8[*b, cells], zeros in malformed rows.
      board: their board.
      good: bool[*b], False for malformed rows.
      causes: what is wrong with each of these, by its index in the flattened batch; None if rows were not to be marked.
      constraints: the constraints of each puzzle; None for those of the board alone.
    """

    grids: np.ndarray
    board: Board
    good: np.ndarray
    causes: dict[int, str] | None = None
    constraints: Sequence[Sequence[Constraint]] | None = None

    @property
    def searchable(self) -> np.ndarray:
        """The grids uint8[*b, cells] in which malformed rows are invalid, so that they cost no search."""
        return self.grids if self.good.all() else np.where(self.good[..., None], self.grids, np.uint8(255))

    @property
    def cause_column(self) -> np.ndarray:
        """The causes as texts, object[*b], "" for a good row."""
        column = np.full(self.good.size, "", object)
        for row, cause in (self.causes or {}).items():
            column[row] = cause
        return column.reshape(self.good.shape)


def as_puzzles(puzzles: Any, board: Board | None) -> tuple[np.ndarray, Board]:
    """Puzzles as uint8[*b, cells], and their board; arguments and errors as of ``as_marked`` with "raise"."""
    marked = as_marked(puzzles, board)
    if marked.causes:
        row, cause = next(iter(marked.causes.items()))
        raise ValueError(f"puzzle {row}: {cause}")
    return marked.grids, marked.board


def as_marked(puzzles: Any, board: Board | None, errors: Errors = "raise", constrained: bool = False) -> Marked:
    """Puzzles as uint8[*b, cells], and which of them are malformed.

    Args:
      puzzles: integers[*b, cells] or [*b, side, side], 0 = empty; or texts[*b], one puzzle each, in any form that
        ``io.parse`` reads. Arrays, also by DLPack, nested lists, and anything that numpy converts, such as a column of
        pandas, polars or pyarrow. Or a ``Chunk``, whose malformed puzzles are marked.
      board: the board; None for the classic one of the puzzles' size.
      errors: what is done with texts that are malformed or missing (None, NaN): "raise" an error, or "mark" them.
      constrained: whether puzzles of a ``Chunk`` may have constraints of their own.

    Raises:
      ValueError: neither integers nor texts; an array of which other processes hold a part; values outside 0..side
        (uint8 is not checked: such a puzzle is INVALID); a shape that does not fit the board or is ambiguous; or, with
        "raise", a text that is no puzzle; the message names the first.
      TypeError: a traced array, or ``board`` is no ``Board``.
    """
    check_errors(errors)
    check_on_host(puzzles, "puzzles")
    if not getattr(puzzles, "is_fully_addressable", True):
        raise ValueError(
            "an array that is spread over several processes; solve, count_solutions and rate take it. Others take what "
            "this process holds, the data of its addressable_shards; see docs/scaling.md"
        )
    if isinstance(puzzles, Chunk):
        cells = puzzles.grids.shape if board else puzzles.grids.shape[1:]  # [16, 16] is not ambiguous: 16 puzzles
        board, _ = board_of_grids(cells, board)
        if puzzles.constraints is not None and not constrained:
            raise ValueError(
                "these puzzles have constraints of their own, which solve, count_solutions, rate and weakest_rules "
                "take; elsewhere put the constraints of a puzzle on its board (Board.with_)"
            )
        return Marked(puzzles.grids, board, puzzles.good, puzzles.causes, puzzles.constraints)
    if isinstance(puzzles, bytes):
        puzzles = puzzles.decode(errors="replace")
    if isinstance(puzzles, str):
        if errors == "mark":
            return _read(np.array(puzzles, object), board, errors)
        array = _of_text(parse, puzzles, board)
    else:
        puzzles = from_dlpack(puzzles)
        try:
            texts = text_column(puzzles)
            array = np.asarray(puzzles) if texts is None else texts
        except ValueError as error:  # ragged lists
            raise ValueError(f"puzzles must be an array, a nested list of one length, or texts: {error}") from error
        if texts is not None:
            return _read(texts, board, errors)
        if not array.ndim and array.dtype == object:
            raise ValueError(f"puzzles must be an array of integers, or texts, not {_with_article(puzzles)}")
    if not array.size and not hasattr(puzzles, "__array__"):
        raise ValueError("no puzzles; a batch of none is an array of shape [0, cells]")
    if array.dtype.kind not in "iu":
        raise ValueError(f"puzzles of dtype {array.dtype}; they must be integers, 0 for an empty cell")
    board, batch = board_of_grids(array.shape, board)
    if array.dtype != np.uint8 and array.size and (array.min() < 0 or array.max() > board.side):
        raise ValueError(f"puzzles hold values outside 0..{board.side}")
    grids = array.astype(np.uint8, copy=False).reshape(*batch, board.cells)
    return Marked(grids, board, np.ones(batch, bool), {} if errors == "mark" else None)


def as_candidates(candidates: Any, puzzles: Marked) -> np.ndarray:
    """Candidates of puzzles as bool[*b, side, cells]; raises ValueError for another shape or dtype."""
    check_on_host(candidates, "candidates")
    listed = np.asarray(candidates)
    shape = (*puzzles.good.shape, puzzles.board.side, puzzles.board.cells)
    if listed.shape != shape or listed.dtype != bool:
        raise ValueError(f"candidates {listed.dtype}{list(listed.shape)}; they must be bool{list(shape)}")
    return listed


def as_position(
    puzzle: Any, board: Board | None, candidates: Any = None, givens: Any = None
) -> tuple[np.ndarray, Board, np.ndarray | None, np.ndarray | None]:
    """One position in play.

    Args:
      puzzle: its filled cells, in any form that ``as_puzzles`` takes; a text may list candidates.
      board: the board; None for the classic one of the puzzle's size.
      candidates: bool[side, cells], the digits that open cells may hold; None for those that a text lists.
      givens: bool[cells], the cells that are given; None for those that a text does not mark as placed.

    Returns:
      uint8[cells]; the board; the candidates, None if every open cell may hold all digits; and the givens, None for all
      filled cells.

    Raises:
      ValueError: several puzzles, candidates or givens of another shape or dtype, or as ``as_puzzles`` does.
      TypeError: as ``as_puzzles`` does.
    """
    if isinstance(puzzle, str):
        read = _of_text(parse_position, puzzle, board)
        puzzle = read.grids
        candidates = read.candidates if candidates is None else candidates
        givens = read.givens if givens is None else givens
    array, board = as_puzzles(puzzle, board)
    if array.ndim != 1:
        raise ValueError(f"puzzles of shape {array.shape}; one puzzle is explained at a time")
    if givens is not None:
        givens = np.asarray(givens)
        if givens.shape != (board.cells,) or givens.dtype != bool:
            raise ValueError(f"givens {givens.dtype}{list(givens.shape)}; they must be bool{[board.cells]}")
        givens = None if givens[array > 0].all() else givens
    if candidates is None:
        return array, board, None, givens
    listed = as_candidates(candidates, Marked(array, board, np.ones((), bool)))
    return array, board, None if listed[:, array == 0].all() else listed, givens


def _of_text(read: Callable[..., T], text: str, board: Board | None) -> T:
    """What ``read`` makes of a text; an error names what else the text may be."""
    try:
        return read(text, board)
    except ValueError as error:
        shipped_set = f"'{text}'" if text in shipped.names() else "NAME"
        hint = f"For a shipped set use jaxsudoku.load({shipped_set}), for a file jaxsudoku.read_puzzles"
        raise ValueError(f"{error}. {hint}") from error


def _with_article(value: Any) -> str:
    """A value's type with its article, as in "a dict", for messages; "None" for None."""
    name = type(value).__name__
    article = "an" if name[0] in "aeiou" else "a"
    return "None" if value is None else f"{article} {name}"


def _read(texts: np.ndarray, board: Board | None, errors: Errors) -> Marked:
    """The puzzles of texts, object[*b]."""
    lengths = {len("".join(text.split())) for text in texts.flat if isinstance(text, str)}
    if lengths and lengths <= {0, 1}:
        raise ValueError(
            "puzzles are single characters, and each text is a puzzle: join the cells, ''.join(cells), or write "
            "integers, 0 for an empty cell"
        )
    try:
        read = read_column(texts, board, errors)
    except ValueError as error:
        rows = "; rows of one puzzle? join them, ''.join(rows)" if lengths == {texts.size} else ""
        raise ValueError(f"{error}{rows}") from error
    # the board of the cells of one text, so that [16, 16] is not ambiguous: 16 puzzles
    board = board or board_of_grids(read.grids.shape[-1:])[0]
    grids = read.grids.reshape(*texts.shape, board.cells)
    return Marked(grids, board, read.good.reshape(texts.shape), read.causes if errors == "mark" else None)
