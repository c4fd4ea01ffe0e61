"""f-puzzles' JSON: puzzles with constraints, as f-puzzles and the programs that read its links exchange them.

An object has the size, the cells, and for each kind of constraint a list of entries, or a flag. Cells are named as
"R1C1"; those of row or column 0 and size + 1 are clues outside the grid. What only draws or describes is left out. Any
other key is refused by its name, as a puzzle without one of its rules is another puzzle.

A digit of a cell is a given if it is marked so; others were entered in play and are left out. Of pencil marks those
given by the author (``givenPencilMarks``) restrict a cell; centre and corner marks are notes.
"""

from __future__ import annotations

import dataclasses
import re
from collections.abc import Iterator
from typing import Any

import numpy as np

from jaxsudoku.core.board import Board
from jaxsudoku.core.constraints import variants
from jaxsudoku.core.constraints.sums import Distinct
from jaxsudoku.core.extra_houses import HOUSES, House
from jaxsudoku.runtime.suggestions import did_you_mean

from .fpuzzle_entries import FLAGS, GLOBAL, READERS, SUMS, Entry, Made, check_fields
from .variant import VariantPuzzle, board_of_regions, default_board, square_cells

#: Keys of drawings, which may say of which constraint they are a part.
_DRAWN = ("line", "rectangle", "circle", "text", "cage")
#: Keys that only draw, describe, or set up a program.
_PLAIN = {"size", "grid", "title", "author", "ruleset", "solution", "successMessage", *_DRAWN, "highlightConflicts"}
_PLAIN |= {"disabledlogic", "truecandidatesoptions", "fogofwar", "foglight", "triggereffect"}
_CELL_KEYS = {"value", "given", "region", "givenPencilMarks", "centerPencilMarks", "cornerPencilMarks", "candidates"}
_CELL_KEYS |= {"c", "cArray", "highlight"}
#: Constraints of pairs of neighbours that may hold for every pair without a mark.
NEGATIVE = ("difference", "ratio", "xv")
#: Constraints of a cell and its neighbours that hold for those neighbours without such a mark.
_EXTREMES = ("minimum", "maximum")


def read_fpuzzle(puzzle: Any) -> VariantPuzzle:
    """The puzzle of an object of f-puzzles.

    Args:
      puzzle: the decoded JSON.

    Raises:
      ValueError: it is malformed, has a constraint that is not known, or a solution that breaks a rule.
    """
    side, cells = _cells_of(puzzle)
    _check_keys(puzzle)
    board = board_of_regions(_regions(cells, side))
    houses = houses_of(puzzle, board)
    found: Made = []
    for key, entries in _entries(puzzle, side, board.region_labels):
        marked = {cell for entry in entries if key in _EXTREMES for cell in entry.cells}
        for number, entry in enumerate(entries, start=1):
            try:
                check_fields(entry.fields)
                made = READERS[key](entry)
                for one in made:
                    one.checked(side)
            except (KeyError, ValueError) as error:
                raise ValueError(f"{key} {number}: {error}") from error
            if key in _EXTREMES:
                made = [one for one in made if not marked.issuperset(one.cells)]
            for one in made:
                if one.kind == Distinct() and len(one.cells) == side:
                    houses.append(one.cells)
                else:
                    found.append(one)
    found += whole_board(puzzle, side)
    known = {tuple(sorted(house)) for house in board.houses}
    extra = tuple(house for house in dict.fromkeys(houses) if tuple(sorted(house)) not in known)
    return VariantPuzzle(
        dataclasses.replace(board, extra=extra),
        np.array([_given(cell) for cell in cells], np.uint8),
        tuple(found),
        _solution(puzzle.get("solution"), side),
        _candidates(cells, side),
        str(puzzle.get("title") or ""),
        str(puzzle.get("author") or ""),
    )


def _cells_of(puzzle: Any) -> tuple[int, list[dict[str, Any]]]:
    """The side, and the objects of all cells."""
    if not isinstance(puzzle, dict) or "grid" not in puzzle:
        raise ValueError("a puzzle of f-puzzles is an object with the keys size and grid")
    cells = square_cells(puzzle["grid"])
    side = len(puzzle["grid"])
    if puzzle.get("size", side) != side:
        raise ValueError(f"the grid has {side} rows, not as many as its size {puzzle['size']} says")
    for cell in cells:
        if unknown := sorted(cell.keys() - _CELL_KEYS):
            raise ValueError(f"a cell has an unknown key {unknown[0]!r}")
    return side, cells


def _check_keys(puzzle: dict[str, Any]) -> None:
    """Raises ValueError for a constraint that is not known, also if a drawing says that it is a part of one."""
    known = {*_PLAIN, *READERS, *FLAGS, "negative"}
    for key, value in puzzle.items():
        if key not in known and value not in (None, False, [], {}, ""):
            raise ValueError(f"unknown constraint {key!r}{did_you_mean(key, sorted(known - _PLAIN))}")
    names = {_letters(key) for key, value in puzzle.items() if value}
    for key in _DRAWN:
        for drawn in puzzle.get(key) or []:
            origin = drawn.get("fromConstraint") if isinstance(drawn, dict) else None
            if origin and _letters(origin) not in names:
                raise ValueError(f"a {key} is drawn for the constraint {origin!r}, which the puzzle does not have")
    for name in puzzle.get("negative") or []:
        if name not in NEGATIVE:
            raise ValueError(f"unknown negative constraint {name!r}; there are {', '.join(NEGATIVE)}")


def _letters(name: Any) -> str:
    return re.sub(r"[^a-z]", "", str(name).lower())


def houses_of(puzzle: dict[str, Any], board: Board) -> list[House]:
    """The houses of flags."""
    found = [
        house
        for key, house in zip(("diagonal-", "diagonal+"), HOUSES["diagonal"](board), strict=True)
        if puzzle.get(key)
    ]
    if puzzle.get("disjointgroups"):
        if not board.has_boxes:
            raise ValueError("disjointgroups: the regions are no boxes")
        found += HOUSES["disjoint"](board)
    return found


def _entries(puzzle: dict[str, Any], side: int, regions: tuple[int, ...]) -> Iterator[tuple[str, list[Entry]]]:
    """The entries of each constraint."""
    for key in READERS:
        entries = puzzle.get(key) or []
        if not isinstance(entries, list) or not all(isinstance(entry, dict) for entry in entries):
            raise ValueError(f"{key}: it is not a list of objects")
        yield key, [Entry(entry, side, regions) for entry in entries]


def whole_board(puzzle: dict[str, Any], side: int) -> Made:
    """The constraints of flags, and those of all pairs of neighbours without a mark.

    White and black dots are marks of one kind: a pair with either has no negative rule of the other, as a pair of 1 and
    2 may have any.
    """
    found = [one for key, make in GLOBAL.items() if puzzle.get(key) for one in make(side=side)]
    marked = {key: [Entry(entry, side, ()).cells for entry in puzzle.get(key) or []] for key in NEGATIVE}
    negative = set(puzzle.get("negative") or [])
    dots = marked["difference"] + marked["ratio"]
    differences = _values(puzzle, "difference", 1) if "difference" in negative else set()
    for difference in sorted(differences | ({1} if puzzle.get("nonconsecutive") else set())):
        found += variants.not_difference(difference, dots, side=side)
    if "ratio" in negative:
        for ratio in sorted(_values(puzzle, "ratio", 2)):
            found += variants.not_ratio(ratio, dots, side=side)
    if "xv" in negative:
        found += variants.not_add_to(tuple(SUMS.values()), marked["xv"], side=side)
    return found


def _values(puzzle: dict[str, Any], key: str, default: int) -> set[int]:
    """The values of the marks of a kind, which are those that no pair without a mark has."""
    values = {Entry(entry, 0, ()).value for entry in puzzle.get(key) or []}
    return {default if value is None else value for value in values} or {default}


def _regions(cells: list[dict[str, Any]], side: int) -> list[int]:
    """The region of each cell: its own, or that of the default board."""
    default = default_board(side).region_labels
    return [default[number] if cell.get("region") is None else int(cell["region"]) for number, cell in enumerate(cells)]


def _given(cell: dict[str, Any]) -> int:
    return int(cell.get("value") or 0) if cell.get("given") else 0


def _candidates(cells: list[dict[str, Any]], side: int) -> np.ndarray | None:
    """The candidates that the author gives, bool[side, cells]; None if they are all digits."""
    allowed = np.ones((side, side**2), bool)
    for number, cell in enumerate(cells):
        marks = cell.get("givenPencilMarks") or []
        if any(not isinstance(mark, int) or not 1 <= mark <= side for mark in marks):
            raise ValueError(f"givenPencilMarks {marks} are not digits of 1..{side}")
        if marks and not _given(cell):
            allowed[:, number] = np.isin(np.arange(1, side + 1), marks)
    return None if allowed.all() else allowed


def _solution(values: Any, side: int) -> np.ndarray | None:
    """The stated solution; None if it has empty cells, as while a puzzle is set."""
    if not values or not all(values):
        return None
    if len(values) != side**2 or not all(str(value).isdecimal() for value in values):
        raise ValueError(f"the solution is not {side**2} digits")
    return np.array([int(value) for value in values])
