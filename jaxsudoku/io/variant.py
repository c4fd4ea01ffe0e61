"""Puzzles with rules of their own: a board, a grid, and constraints; and their objects in JSON lines."""

from __future__ import annotations

import dataclasses
import functools
import itertools
import math
import string
from collections.abc import Callable
from typing import Any

import numpy as np

from jaxsudoku.core.board import Board
from jaxsudoku.core.constraints.base import Constraint, cell_name
from jaxsudoku.core.constraints.sums import Distinct
from jaxsudoku.core.constraints.texts import parts_of
from jaxsudoku.core.host_rules import clashing, first_clash, is_complete

from .grid_text import format_grids

#: The characters of digits from 1 on.
_DIGITS = string.digits[1:] + string.ascii_uppercase


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
        other = (self.grid > 0) & (self.grid != solution)
        if self.candidates is not None:
            other |= ~self.candidates[solution - 1, np.arange(len(solution))]
        if other.any():
            place = cell_name(int(other.argmax()), self.board.side)
            raise ValueError(f"the stated solution has another digit than the puzzle in {place}")


def _checked(values: np.ndarray, board: Board, name: str) -> np.ndarray:
    """An array of a puzzle as uint8[cells]."""
    array = np.asarray(values)
    if array.shape != (board.cells,):
        raise ValueError(f"{name} of shape {array.shape}; a {board} has {board.cells} cells")
    if array.size and not 0 <= array.min() <= array.max() <= board.side:
        raise ValueError(f"{name} has values outside 0..{board.side}")
    return array.astype(np.uint8)


def square_cells(rows: Any) -> list[dict[str, Any]]:
    """The cells of a grid in JSON, row by row.

    Raises:
      ValueError: it is not a list of as many rows as columns, or a cell is no object.
    """
    if not rows or not isinstance(rows, list):
        raise ValueError(f"the grid is {rows!r:.40}, not a list of rows")
    if not all(isinstance(row, list) and len(row) == len(rows) for row in rows):
        raise ValueError("the grid has not as many rows as columns")
    cells = [cell for row in rows for cell in row]
    if wrong := [cell for cell in cells if not isinstance(cell, dict)]:
        raise ValueError(f"a cell is {wrong[0]!r:.40}, not an object")
    return cells


def board_of_regions(labels: list[int]) -> Board:
    """The board with regions, from the label of each cell row by row; classic boxes are recognized."""
    jigsaw, boxes = Board.jigsaw(labels), default_board(math.isqrt(len(labels)))
    return boxes if set(jigsaw.region_houses) == set(boxes.region_houses) else jigsaw


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


# ---------------------------------------------------------------------- JSON lines


def record_of(puzzle: VariantPuzzle) -> dict[str, Any]:
    """The object of a puzzle.

    Raises:
      ValueError: a constraint of a kind without a text.
    """
    puzzle = on_named_board(puzzle)
    record: dict[str, Any] = {"puzzle": _grid_text(puzzle)}
    if not puzzle.board.is_classic:
        record["board"] = puzzle.board.name
    record["constraints"] = written_constraints(puzzle)
    if puzzle.solution is not None:
        record["solution"] = _text_of(puzzle.solution, puzzle.board)
    return record | {key: text for key, text in (("title", puzzle.title), ("author", puzzle.author)) if text}


def on_named_board(puzzle: VariantPuzzle) -> VariantPuzzle:
    """The puzzle on a board that has a name: extra houses of one without a name become extra regions."""
    board = puzzle.board
    if board.is_classic or board.name is not None:
        return puzzle
    regions = [Distinct(house) for house in board.extra]
    plain = dataclasses.replace(board, extra=())
    return dataclasses.replace(puzzle, board=plain, constraints=(*regions, *puzzle.constraints))


def written_constraints(puzzle: VariantPuzzle) -> list[str]:
    """The texts of a puzzle's constraints.

    Raises:
      ValueError: a constraint of a kind without a text.
    """
    board = puzzle.board
    texts = [part if isinstance(part, str) else part.text(board.side) for part in parts_of(puzzle.constraints, board)]
    if None in texts:
        without = next(one for one in puzzle.constraints if one.text(board.side) is None)
        raise ValueError(f"a {without.name} has no text")
    return [text for text in texts if text is not None]


def _grid_text(puzzle: VariantPuzzle) -> str:
    """The givens; with candidates a character for each digit of each cell."""
    side = puzzle.board.side
    if puzzle.candidates is None:
        return _text_of(puzzle.grid, puzzle.board)
    given = puzzle.grid == np.arange(1, side + 1)[:, None]
    places = np.where(puzzle.grid > 0, given, puzzle.candidates)
    return "".join(
        _DIGITS[digit - 1] if there else "." for cell in places.T for digit, there in enumerate(cell, start=1)
    )


def _text_of(grid: np.ndarray, board: Board) -> str:
    return format_grids(grid[None], board).decode().strip()
