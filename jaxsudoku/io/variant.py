"""Puzzles with rules of their own: a board, a grid, and constraints."""

from __future__ import annotations

import dataclasses
import functools
import itertools
import math
from collections.abc import Callable

import numpy as np

from jaxsudoku.core.board import Board
from jaxsudoku.core.constraints.base import Constraint, cell_name
from jaxsudoku.core.extra_houses import House
from jaxsudoku.core.host_rules import clashing, first_clash, is_complete


@dataclasses.dataclass(frozen=True, eq=False)
class VariantPuzzle:
    """A puzzle with its board and its constraints, as programs for variants of Sudoku exchange it.

    ``js.solve(puzzle.grid, puzzle.full_board, candidates=puzzle.candidates)`` solves it.

    Attributes:
      board: the board of its houses, without the constraints.
      grid: uint8[cells], the givens, 0 = empty.
      constraints: the constraints.
      solution: uint8[cells], the solution that its author states; None if none is stated.
      candidates: bool[side, cells], the digits that cells may hold; None for all.
      title, author: what the puzzle is called, and who made it.

    Raises:
      ValueError: a constraint that does not fit the board; arrays of another shape; a value outside 0..side; or a
        solution that breaks a rule or differs from the givens. The message names the first fault.
    """

    board: Board
    grid: np.ndarray
    constraints: tuple[Constraint, ...] = ()
    solution: np.ndarray | None = None
    candidates: np.ndarray | None = None
    title: str = ""
    author: str = ""

    def __post_init__(self) -> None:
        object.__setattr__(self, "constraints", self.full_board.constraints[len(self.board.constraints) :])
        object.__setattr__(self, "grid", _checked(self.grid, self.board, "grid"))
        if self.candidates is not None:
            allowed = np.asarray(self.candidates, bool)
            if allowed.shape != (self.board.side, self.board.cells):
                raise ValueError(f"candidates of shape {allowed.shape}; a {self.board} has {self.board.side} a cell")
            object.__setattr__(self, "candidates", allowed)
        if self.solution is not None:
            object.__setattr__(self, "solution", _checked(self.solution, self.board, "solution"))
            self._check_solution(self.solution)

    @functools.cached_property
    def full_board(self) -> Board:
        """The board with the constraints, which solves the puzzle."""
        return self.board.with_(self.constraints)

    def _check_solution(self, solution: np.ndarray) -> None:
        if clashing(solution, self.full_board):
            raise ValueError(f"the stated solution breaks a rule: {first_clash(solution, self.full_board)}")
        if not is_complete(solution, self.full_board):
            raise ValueError("the stated solution has empty cells")
        other = np.flatnonzero((self.grid > 0) & (self.grid != solution))
        if self.candidates is not None:
            chosen = self.candidates[solution - 1, np.arange(len(solution))]
            other = np.flatnonzero(~chosen | ((self.grid > 0) & (self.grid != solution)))
        if len(other):
            place = cell_name(int(other[0]), self.board.side)
            raise ValueError(f"the stated solution has another digit than the puzzle in {place}")


def _checked(values: np.ndarray, board: Board, name: str) -> np.ndarray:
    """An array of a puzzle as uint8[cells]."""
    array = np.asarray(values)
    if array.shape != (board.cells,):
        raise ValueError(f"{name} of shape {array.shape}; a {board} has {board.cells} cells")
    if array.size and not 0 <= array.min() <= array.max() <= board.side:
        raise ValueError(f"{name} has values outside 0..{board.side}")
    return array.astype(np.uint8)


def board_of_regions(labels: list[int], extra: tuple[House, ...] = ()) -> Board:
    """The board with regions, from the label of each cell row by row; classic boxes are recognized."""
    side = math.isqrt(len(labels))
    jigsaw = Board.jigsaw(labels)
    boxes = default_board(side)
    same = set(jigsaw.region_houses) == set(boxes.region_houses)
    return dataclasses.replace(boxes if same else jigsaw, extra=extra)


def pieces(side: int, joined: Callable[[int, int], bool]) -> list[int]:
    """The first cell of the connected piece of each cell of a square grid.

    Args:
      side: the side of the grid.
      joined: whether two cells with a common edge, the earlier one first, are in one piece.
    """
    firsts = list(range(side**2))
    for cell, step in itertools.product(range(side**2), (1, side)):
        other = cell + step
        if other < side**2 and (step > 1 or other % side) and firsts[cell] != firsts[other] and joined(cell, other):
            old, new = max(firsts[cell], firsts[other]), min(firsts[cell], firsts[other])
            firsts = [new if first == old else first for first in firsts]
    return firsts


def default_board(side: int) -> Board:
    """The classic board of a side; for a prime number the board whose regions are the rows, a Latin square."""
    try:
        return Board.classic(side)
    except ValueError:
        return Board.classic(side, box=(1, side))
