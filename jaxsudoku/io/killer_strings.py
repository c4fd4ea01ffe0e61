"""Killers and jigsaws in one line of text: SumoCue's and Perfect Sudoku's strings, and cages drawn by arrows.

SumoCue: "SumoCueV1", "D" if the diagonals are houses, and for each cell "=N", the first cell of a cage with the total N
(0 for none), or "+C", a cell of the cage that begins in cell C, counted from 0; then "JR" for a jigsaw, the region R.

Perfect Sudoku: "3x3:", "d" for diagonals, ":k:", and for each cell its number of cage plus 256 times the total,
separated by colons; less than 256 for no cage.

Arrows: a character for each cell, <, >, ^ or v towards the cell that has the total of its cage, as 1-9, A-Z for 10 to
35, a-j for 36 to 45.

A cage of one cell is a given digit.
"""

from __future__ import annotations

import collections
import dataclasses
import math
import re
import string

import numpy as np

from jaxsudoku.core.board import Board
from jaxsudoku.core.constraints.base import Constraint, cell_name
from jaxsudoku.core.constraints.variants import killer

from .variant import VariantPuzzle, board_of_regions, default_board

_SUMO = re.compile(r"SumoCueV1(D?)((?:[=+]\d+(?:J\d+)?)+)")
_SUMO_CELL = re.compile(r"([=+])(\d+)(?:J(\d+))?")
_PERFECT = re.compile(r"3x3:(d?):k:((?:\d+:)*\d+):?")
_ARROWS = re.compile(r"[0-9A-Za-j<>^v]{81}")
_TOTALS = string.digits + string.ascii_uppercase + string.ascii_lowercase[:10]
_STEPS = {"<": -1, ">": 1, "^": -9, "v": 9}


def is_killer_string(text: str) -> bool:
    """Whether a text has one of these forms, apart from white space; it may be malformed."""
    text = "".join(text.split())
    return text.startswith(("SumoCue", "3x3:")) or (bool(_ARROWS.fullmatch(text)) and bool(re.search("[<>^v]", text)))


def read_killer_string(text: str) -> VariantPuzzle:
    """The puzzle of a text for which ``is_killer_string`` holds.

    Raises:
      ValueError: it is malformed.
    """
    text = "".join(text.split())
    if text.startswith("SumoCue"):
        return _sumo(text)
    return _perfect(text) if text.startswith("3x3:") else _arrows(text)


def _sumo(text: str) -> VariantPuzzle:
    match = _SUMO.fullmatch(text)
    if match is None:
        raise ValueError("a text of SumoCue is SumoCueV1, D for diagonals, and for each cell =N or +C, and JR")
    cells = _SUMO_CELL.findall(match[2])
    side = math.isqrt(len(cells))
    if side * side != len(cells):
        raise ValueError(f"{len(cells)} cells, which is not the square of a side")
    regions = [region for _, _, region in cells]
    if "" in regions and any(regions):
        raise ValueError("some cells have a region and others have none")
    board = board_of_regions([int(region) for region in regions]) if regions[0] else default_board(side)
    roots = [cell if sign == "=" else int(number) for cell, (sign, number, _) in enumerate(cells)]
    for cell, root in enumerate(roots):
        if root >= len(cells) or cells[root][0] != "=":
            raise ValueError(f"cell {cell} belongs to the cage of cell {root}, where none begins")
    return _puzzle(board, bool(match[1]), roots, {root: int(cells[root][1]) for root in set(roots)})


def _perfect(text: str) -> VariantPuzzle:
    match = _PERFECT.fullmatch(text)
    if match is None:
        raise ValueError("a text of Perfect Sudoku is 3x3:, d for diagonals, :k:, and a number for each cell")
    values = [int(value) for value in match[2].split(":")]
    if len(values) != 81:
        raise ValueError(f"{len(values)} cells; it has 81")
    first: dict[int, int] = {}
    roots = [first.setdefault(value, cell) if value >= 256 else cell for cell, value in enumerate(values)]
    cages = {value % 256 for value in first}
    if len(cages) < len(first):
        raise ValueError("a cage has two totals")
    return _puzzle(Board.classic(), bool(match[1]), roots, {root: values[root] // 256 for root in set(roots)})


def _arrows(text: str) -> VariantPuzzle:
    roots = []
    for cell in range(81):
        at, steps = cell, 0
        while (step := _STEPS.get(text[at])) is not None:
            row, column = divmod(at, 9)
            inside = (text[at] != "<" or column) and (text[at] != ">" or column < 8) and 0 <= at + step < 81
            if not inside or steps > 81:
                raise ValueError(f"the arrow in r{row + 1}c{column + 1} leads to no total")
            at, steps = at + step, steps + 1
        roots.append(at)
    return _puzzle(Board.classic(), False, roots, {root: _TOTALS.index(text[root]) for root in set(roots)})


def _puzzle(board: Board, diagonals: bool, roots: list[int], totals: dict[int, int]) -> VariantPuzzle:
    """The puzzle of cages; ``diagonals`` says whether the diagonals are houses."""
    if diagonals:
        board = dataclasses.replace(board, extra=Board.diagonal(board.side).extra)
    grid, constraints = cages_of(roots, totals, board.side)
    return VariantPuzzle(board, grid, tuple(constraints))


def cages_of(roots: list[int], totals: dict[int, int], side: int) -> tuple[np.ndarray, list[Constraint]]:
    """The givens, uint8[cells], and the constraints of cages.

    Args:
      roots: for each cell a cell that stands for its cage.
      totals: the total of the cage of each of these, 0 for none.
      side: the side of the board.

    Raises:
      ValueError: a cage of several cells without a total, or one of a cell with a total above the side.
    """
    members: dict[int, list[int]] = collections.defaultdict(list)
    for cell, root in enumerate(roots):
        members[root].append(cell)
    grid = np.zeros(side**2, np.uint8)
    cages: list[tuple[list[int], int | None]] = []
    for root, cells in members.items():
        if len(cells) > 1:
            if not totals[root]:
                raise ValueError(f"the cage of {cell_name(root, side)} has no total")
            cages.append((cells, totals[root]))
        elif totals[root] > side:
            raise ValueError(f"{cell_name(root, side)} is given as {totals[root]}")
        else:
            grid[root] = totals[root]
    return grid, list(killer(cages, side=side))
