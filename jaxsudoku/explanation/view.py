"""A puzzle being solved by hand: filled cells and candidates, in plain Python.

A set of cells is the bits of an integer, so that patterns are a few AND and OR of integers. Digits are numbered from 0
inside, and written from 1.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np

from jaxsudoku.core.board import Board

from .layout import bits, layout


class State(NamedTuple):
    """The position of one puzzle at some time, as sets of cells.

    Attributes:
      board: the board.
      given: the cells that the puzzle gives.
      filled: the cells that are filled.
      places: for each digit the cells that may hold it, the filled ones included.
    """

    board: Board
    given: int
    filled: int
    places: tuple[int, ...]

    def candidates(self) -> Iterator[tuple[int, int]]:
        """The candidates (digit, cell) of open cells, digit by digit."""
        for digit, cells in enumerate(self.places):
            for cell in bits(cells & ~self.filled):
                yield digit, cell

    def grid(self, given: bool = False) -> np.ndarray:
        """The filled cells, or the givens alone: uint8[cells], 0 for the others."""
        grid = np.zeros(self.board.cells, np.uint8)
        for digit, cells in enumerate(self.places):
            grid[list(bits(cells & (self.given if given else self.filled)))] = digit + 1
        return grid


class View:
    """The position of one puzzle.

    Args:
      board: the board.
      puzzle: uint8[cells], 0 = empty; its givens must not clash.
      candidates: bool[side, cells], the digits that open cells may hold; None for all that their houses allow.
      givens: bool[cells], the filled cells that the puzzle gives; None for all.

    Attributes:
      board: the board.
      layout: its houses as sets of cells.
      given: the cells that the puzzle gives.
      filled: the cells that are filled.
      places: for each digit the cells that may hold it, the filled ones included.
      left: for each cell its candidates, as bits.
      solution: uint8[cells], the solution, whose candidates need not be assumed to refute them; None if not known.
    """

    solution: np.ndarray | None = None

    def __init__(
        self,
        board: Board,
        puzzle: np.ndarray,
        candidates: np.ndarray | None = None,
        givens: np.ndarray | None = None,
    ) -> None:
        self.board, self.layout = board, layout(board)
        self.given = self.filled = 0
        self.places = [(1 << board.cells) - 1] * board.side
        self.left = [(1 << board.side) - 1] * board.cells
        for cell in np.flatnonzero(puzzle).tolist():
            self.fill(int(puzzle[cell]) - 1, cell)
        given = puzzle > 0 if givens is None else (puzzle > 0) & givens
        self.given = sum(1 << cell for cell in np.flatnonzero(given).tolist())
        if candidates is not None:
            for digit, cell in np.argwhere(~candidates & (puzzle == 0)).tolist():
                self.remove(digit, cell)

    def copy(self) -> View:
        """A copy that may be changed."""
        other = View.__new__(View)
        other.board, other.layout, other.given, other.filled = self.board, self.layout, self.given, self.filled
        other.places, other.left, other.solution = [*self.places], [*self.left], self.solution
        return other

    def state(self) -> State:
        """The position as it is now."""
        return State(self.board, self.given, self.filled, tuple(self.places))

    def fill(self, digit: int, cell: int) -> None:
        """Fills a cell, and removes the digit from its houses."""
        for other in bits(self.left[cell] & ~(1 << digit)):
            self.places[other] &= ~(1 << cell)
        lost = self.places[digit] & self.layout.sees[cell]
        for peer in bits(lost):
            self.left[peer] &= ~(1 << digit)
        self.places[digit] = self.places[digit] & ~lost | 1 << cell
        self.left[cell] = 1 << digit
        self.filled |= 1 << cell

    def remove(self, digit: int, cell: int) -> None:
        """Removes a candidate."""
        self.places[digit] &= ~(1 << cell)
        self.left[cell] &= ~(1 << digit)

    def digits(self, cell: int) -> list[int]:
        """The candidates of a cell."""
        return list(bits(self.left[cell]))

    def open(self, digit: int) -> int:
        """The open cells that may hold a digit."""
        return self.places[digit] & ~self.filled

    def candidates(self) -> Iterator[tuple[int, int]]:
        """The candidates (digit, cell) of open cells, digit by digit."""
        return self.state().candidates()

    def doubtful(self) -> Iterator[tuple[int, int]]:
        """The candidates (digit, cell) of open cells that may be false."""
        for digit, cell in self.candidates():
            if self.solution is None or self.solution[cell] != digit + 1:
                yield digit, cell

    def open_cells(self) -> list[int]:
        """The cells that are not filled."""
        return list(bits(self.layout.every & ~self.filled))

    @property
    def solved(self) -> bool:
        """Whether all cells are filled."""
        return self.filled == self.layout.every

    def grid(self) -> np.ndarray:
        """The filled cells, uint8[cells]."""
        return self.state().grid()

    def cube(self) -> np.ndarray:
        """The candidates, bool[side, cells]."""
        cube = np.zeros((self.board.side, self.board.cells), bool)
        for digit, places in enumerate(self.places):
            cube[digit, list(bits(places))] = True
        return cube
