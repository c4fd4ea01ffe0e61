"""Draws boards as text, with lines between regions. Needs no JAX."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np
from numpy.typing import ArrayLike, NDArray

from jaxsudoku.core.board import Board, board_of_grids, check_board
from jaxsudoku.runtime.arrays import check_on_host

#: Box-drawing characters by the arms they have: 1 up, 2 down, 4 left, 8 right.
_CORNERS = " ╵╷│╴┘┐┤╶└┌├─┴┬┼"

_BOLD, _PLAIN = "\x1b[1m", "\x1b[0m"


def draw(
    grid: ArrayLike,
    board: Board | None = None,
    givens: ArrayLike | None = None,
    *,
    candidates: ArrayLike | None = None,
    color: bool = False,
) -> str:
    """Draws a grid with a border around every region.

    Digits over 9 are written as numbers, right-aligned; an empty cell is a dot. Extra houses and constraints are not
    drawn. With ``givens``, the given digits are distinguished from those filled in: in bold with ``color``, else in
    brackets, as in ``[5]`` (omitted if no digit is filled in, or none is given). A given that the grid has changed does
    not count as one.

    With ``candidates`` it is a pencil-mark grid: an open cell lists its candidates, as 1259 or, beyond 9x9, 1,12,16;
    a dot stands for none. Givens are then distinguished by ``color`` alone. ``io.parse_position`` reads it, and takes
    a cell with one candidate for a filled one.

    Args:
      grid: integers[cells] or integers[side, side] in 0..side, 0 = empty.
      board: the board; None for the classic one of the grid's size.
      givens: the puzzle, of the same shape as ``grid``.
      candidates: bool[side, cells], the digits that open cells may hold; None for dots.
      color: whether to use ANSI escape sequences.

    Returns:
      Lines of equal width (not counting escape sequences), separated by newlines, with none at the end.

    Raises:
      ValueError: ``grid`` or ``givens`` has another shape, is not of integers, or holds a value outside 0..side; or
        ``candidates`` has another shape or is not of booleans.
    """
    if board is None:
        board, _ = board_of_grids(np.shape(grid))
    digits = _checked(grid, check_board(board), "grid")
    given = np.zeros_like(digits, bool)
    if givens is not None:
        puzzle = _checked(givens, board, "givens")
        given = (puzzle > 0) & (digits == puzzle)
    if candidates is not None:
        return "\n".join(_pencil_marks(digits, given & color, _checked_candidates(candidates, board), board))
    brackets = bool(not color and given.any() and (~given & (digits > 0)).any())

    digit_width = len(str(board.side))
    texts = [
        [_cell(int(digit), digit_width, bool(mark), brackets, color) for digit, mark in zip(*row, strict=True)]
        for row in zip(digits, given, strict=True)
    ]
    # Brackets replace the spaces around a digit.
    widths = [digit_width + 2 * brackets] * board.side
    return "\n".join(_lines(texts, board, widths, 0 if brackets else 1))


def _checked(grid: ArrayLike, board: Board, name: str) -> NDArray[np.integer]:
    check_on_host(grid, "grids", "Draw them outside jax.jit")
    array = np.asarray(grid)
    if array.shape not in ((board.cells,), (board.side, board.side)):
        raise ValueError(f"{name} has shape {array.shape}; the board has {board.side}x{board.side} cells")
    if not np.issubdtype(array.dtype, np.integer):
        raise ValueError(f"{name} holds {array.dtype} values, not integers")
    array = array.reshape(board.side, board.side)
    outside = np.argwhere((array < 0) | (array > board.side))
    if len(outside):
        row, column = outside[0]
        raise ValueError(
            f"{name} holds {array[row, column]} in row {row + 1}, column {column + 1}; "
            f"values lie between 0 and {board.side}"
        )
    return array


def _checked_candidates(candidates: ArrayLike, board: Board) -> NDArray[np.bool_]:
    array = np.asarray(candidates)
    if array.shape != (board.side, board.cells) or array.dtype != bool:
        raise ValueError(f"candidates {array.dtype}{list(array.shape)}; they must be bool{[board.side, board.cells]}")
    return array


def _pencil_marks(
    digits: NDArray[np.integer], bold: NDArray[np.bool_], candidates: NDArray[np.bool_], board: Board
) -> Iterator[str]:
    """The lines of a pencil-mark grid; the columns are as wide as their longest cell."""
    side = board.side
    separator = "" if side <= 9 else ","
    marks = [separator.join(map(str, np.flatnonzero(listed) + 1)) for listed in candidates.T]
    texts = [
        [str(digit) if digit else marks[row * side + column] or "." for column, digit in enumerate(cells)]
        for row, cells in enumerate(digits.tolist())
    ]
    widths = [max(map(len, column)) for column in zip(*texts, strict=True)]
    padded = [
        [
            f"{_BOLD}{text}{_PLAIN}{' ' * (width - len(text))}" if mark else f"{text:<{width}}"
            for text, width, mark in row
        ]
        for row in (zip(*parts, strict=True) for parts in zip(texts, [widths] * side, bold.tolist(), strict=True))
    ]
    return _lines(padded, board, widths, 1)


def _cell(digit: int, width: int, given: bool, brackets: bool, color: bool) -> str:
    text = f"{digit or '.':>{width}}"
    if brackets:
        return f"[{text}]" if given else f" {text} "
    return f"{_BOLD}{text}{_PLAIN}" if color and given else text


def _lines(texts: list[list[str]], board: Board, widths: Sequence[int], pad: int) -> Iterator[str]:
    """The lines of the drawing; columns have ``widths`` characters, and borders ``pad`` spaces on either side."""
    side = board.side
    # A rim with its own label makes the edge of the board a border between regions, too.
    rimmed = np.pad(np.reshape(board.region_labels, (side, side)), 1, constant_values=-1)
    vertical = rimmed[:, 1:] != rimmed[:, :-1]  # [side + 2, side + 1]: a border left of the column
    horizontal = rimmed[1:] != rimmed[:-1]  # [side + 1, side + 2]: a border above the row
    # Columns without any border between them need no room for one.
    separated = vertical.any(axis=0)

    def line(up: NDArray[np.bool_], down: NDArray[np.bool_], across: NDArray[np.bool_], cells: list[str]) -> str:
        fills = np.where(across, "─", " ")
        corners = up + 2 * down + 4 * across[:-1] + 8 * across[1:]
        parts = []
        for column, (before, corner, after) in enumerate(zip(fills[:-1], corners, fills[1:], strict=True)):
            if separated[column]:
                left, right = pad if column > 0 else 0, pad if column < side else 0
                parts += [before * left, _CORNERS[corner], after * right]
            else:
                parts.append(after * pad)
            parts += cells[column : column + 1]
        return "".join(parts)

    for row in range(side + 1):
        across = horizontal[row]
        if across.any():
            border = ["─" * width if on else " " * width for width, on in zip(widths, across[1:-1], strict=True)]
            yield line(vertical[row], vertical[row + 1], across, border)
        if row < side:
            yield line(vertical[row + 1], vertical[row + 1], np.zeros_like(across), texts[row])
