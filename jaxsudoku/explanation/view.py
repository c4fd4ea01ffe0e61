"""A puzzle being solved by hand: filled cells and candidates, in plain Python, and the words for cells and houses.

A set of cells is the bits of an integer, so that patterns are a few AND and OR of integers. Digits are numbered from 0
inside, and written from 1.
"""

from __future__ import annotations

import functools
from collections.abc import Iterable, Iterator, Sequence

import numpy as np

from jaxsudoku.board import Board


class View:
    """The position of one puzzle.

    Args:
      board: the board.
      puzzle: uint8[cells], 0 = empty; its givens must not clash.
      candidates: bool[side, cells], the digits that open cells may hold; None for all that their houses allow.

    Attributes:
      board: the board.
      given: the cells that the puzzle gives.
      filled: the cells that are filled.
      places: for each digit the cells that may hold it, the filled ones included.
    """

    def __init__(self, board: Board, puzzle: np.ndarray, candidates: np.ndarray | None = None) -> None:
        self.board = board
        self.given = sum(1 << cell for cell in np.flatnonzero(puzzle).tolist())
        self.filled = self.given
        open_cells = (1 << board.cells) - 1 & ~self.filled
        self.places = [open_cells] * board.side
        for cell in np.flatnonzero(puzzle).tolist():
            self._fill(int(puzzle[cell]) - 1, cell)
        if candidates is not None:
            for digit, cell in np.argwhere(~candidates & (puzzle == 0)).tolist():
                self.remove(digit, cell)

    def copy(self) -> View:
        """A copy that may be changed."""
        other = View.__new__(View)
        other.board, other.given, other.filled, other.places = self.board, self.given, self.filled, [*self.places]
        return other

    def _fill(self, digit: int, cell: int) -> None:
        for other in range(self.board.side):
            self.places[other] &= ~(1 << cell)
        self.places[digit] = self.places[digit] & ~peers(self.board)[cell] | 1 << cell

    def fill(self, digit: int, cell: int) -> None:
        """Fills a cell, and removes the digit from its houses."""
        self._fill(digit, cell)
        self.filled |= 1 << cell

    def remove(self, digit: int, cell: int) -> None:
        """Removes a candidate."""
        self.places[digit] &= ~(1 << cell)

    def digits(self, cell: int) -> list[int]:
        """The candidates of a cell."""
        return [digit for digit, places in enumerate(self.places) if places >> cell & 1]

    def open(self, digit: int) -> int:
        """The open cells that may hold a digit."""
        return self.places[digit] & ~self.filled

    def candidates(self) -> Iterator[tuple[int, int]]:
        """The candidates (digit, cell) of open cells, digit by digit."""
        for digit in range(self.board.side):
            for cell in bits(self.open(digit)):
                yield digit, cell

    @functools.cached_property
    def _all_cells(self) -> int:
        return (1 << self.board.cells) - 1

    def open_cells(self) -> list[int]:
        """The cells that are not filled."""
        return list(bits(self._all_cells & ~self.filled))

    @property
    def solved(self) -> bool:
        """Whether all cells are filled."""
        return self.filled == self._all_cells

    def grid(self) -> np.ndarray:
        """The filled cells, uint8[cells]."""
        grid = np.zeros(self.board.cells, np.uint8)
        for cell in bits(self.filled):
            grid[cell] = self.digits(cell)[0] + 1
        return grid

    def cube(self) -> np.ndarray:
        """The candidates, bool[side, cells]."""
        cube = np.zeros((self.board.side, self.board.cells), bool)
        for digit, places in enumerate(self.places):
            cube[digit, list(bits(places))] = True
        return cube


def bits(mask: int) -> Iterator[int]:
    """The numbers of the bits that are set, lowest first."""
    while mask:
        low = mask & -mask
        yield low.bit_length() - 1
        mask ^= low


@functools.lru_cache(maxsize=32)
def masks(board: Board) -> tuple[int, ...]:
    """The houses of a board as sets of cells, in the order of ``board.houses``."""
    return tuple(sum(1 << cell for cell in house) for house in board.houses)


@functools.lru_cache(maxsize=32)
def peers(board: Board) -> tuple[int, ...]:
    """For each cell the others that share a house with it."""
    found = [0] * board.cells
    for mask, house in zip(masks(board), board.houses, strict=True):
        for cell in house:
            found[cell] |= mask
    return tuple(mask & ~(1 << cell) for cell, mask in enumerate(found))


@functools.lru_cache(maxsize=32)
def houses_of(board: Board) -> tuple[tuple[int, ...], ...]:
    """For each cell the numbers of its houses."""
    return tuple(
        tuple(number for number, house in enumerate(board.houses) if cell in house) for cell in range(board.cells)
    )


# ---------------------------------------------------------------------- words


def cell_name(board: Board, cell: int) -> str:
    """A cell by row and column from 1, as in "r4c7"."""
    row, column = divmod(cell, board.side)
    return f"r{row + 1}c{column + 1}"


def house_name(board: Board, number: int) -> str:
    """A house in words, as in "row 4"."""
    kind, place = divmod(number, board.side)
    if kind > 2:
        return f"extra house {number - 3 * board.side + 1}"
    return f"{('row', 'column', 'box' if board.box else 'region')[kind]} {place + 1}"


def listed(words: Iterable[str], last: str = "and") -> str:
    """Words as a list, as in "a, b and c"."""
    *rest, end = words
    return f"{', '.join(rest)} {last} {end}" if rest else end


def cells_named(board: Board, cells: Iterable[int], last: str = "and") -> str:
    """Cells as a list in words."""
    return listed((cell_name(board, cell) for cell in cells), last)


def digits_named(digits: Iterable[int], last: str = "and") -> str:
    """Digits, numbered from 0, as a list in words."""
    return listed((str(digit + 1) for digit in digits), last)


def plural(names: Sequence[str]) -> str:
    """Houses of one kind as a list, as in "rows 2 and 7"."""
    kind = names[0].rpartition(" ")[0]
    suffix = "es" if kind == "box" else "s"
    return f"{kind}{suffix if len(names) > 1 else ''} {listed(name.rpartition(' ')[2] for name in names)}"
