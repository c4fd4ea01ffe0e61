"""Puzzles with constraints as objects of JSON lines."""

from __future__ import annotations

import dataclasses
import string
from typing import Any

import numpy as np

from jaxsudoku.core.board import Board
from jaxsudoku.core.constraints.sums import Distinct
from jaxsudoku.core.constraints.texts import parts_of

from .grid_text import format_grids
from .variant import VariantPuzzle

#: The characters of digits from 1 on.
_DIGITS = string.digits[1:] + string.ascii_uppercase


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
