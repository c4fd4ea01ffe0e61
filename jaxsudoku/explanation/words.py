"""Cells, houses, digits and candidates in words. Digits are numbered from 0, and written from 1."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from jaxsudoku.core.board import Board


def cell_name(board: Board, cell: int) -> str:
    """A cell by row and column from 1, as in "r4c7"."""
    row, column = divmod(cell, board.side)
    return f"r{row + 1}c{column + 1}"


def is_digit(board: Board, digit: int, cell: int, true: bool = True) -> str:
    """A candidate that is true or false, as in "r4c7 is 5" or "r4c7 is not 5"."""
    return f"{cell_name(board, cell)} {'is' if true else 'is not'} {digit + 1}"


def listed(words: Iterable[str], last: str = "and") -> str:
    """Words as a list, as in "a, b and c"."""
    *rest, end = words
    return f"{', '.join(rest)} {last} {end}" if rest else end


def cells_named(board: Board, cells: Iterable[int], last: str = "and") -> str:
    """Cells as a list in words."""
    return listed((cell_name(board, cell) for cell in cells), last)


def digits_named(digits: Iterable[int], last: str = "and") -> str:
    """Digits as a list in words."""
    return listed((str(digit + 1) for digit in digits), last)


def plural(names: Sequence[str]) -> str:
    """Houses of one kind as a list, as in "rows 2 and 7"."""
    kind = names[0].rpartition(" ")[0]
    suffix = "es" if kind == "box" else "s"
    return f"{kind}{suffix if len(names) > 1 else ''} {listed(name.rpartition(' ')[2] for name in names)}"
