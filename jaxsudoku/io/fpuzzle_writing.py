"""Writes puzzles as f-puzzles' JSON."""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Iterator
from typing import Any

import numpy as np

from jaxsudoku.core.board import Board
from jaxsudoku.core.constraints.base import Constraint, cell_name
from jaxsudoku.core.constraints.chains import Chain

from .fpuzzle_entries import GLOBAL, HOUSES, READERS, SUMS, Entry
from .fpuzzles import NEGATIVE, houses_of, whole_board
from .variant import VariantPuzzle, default_board


def write_fpuzzle(puzzle: VariantPuzzle) -> dict[str, Any]:
    """The object of f-puzzles for a puzzle, which ``read_fpuzzle`` reads as the same one.

    Each constraint is written as the first entry that is read as this constraint.

    Raises:
      ValueError: f-puzzles has no entry for a constraint, or no flag for those of pairs all over the board.
    """
    board, side = puzzle.board, puzzle.board.side
    found: dict[str, Any] = {"size": side}
    found |= {key: text for key, text in (("title", puzzle.title), ("author", puzzle.author)) if text}
    found["grid"] = _written_grid(puzzle)
    houses = {tuple(sorted(house)): house for house in board.extra}
    for key in HOUSES:
        if key == "disjointgroups" and not board.has_boxes:
            continue
        flagged = {tuple(sorted(house)) for house in houses_of({key: True}, board)}
        if flagged <= houses.keys():
            found[key] = True
            houses = {cells: house for cells, house in houses.items() if cells not in flagged}
    for house in houses.values():
        found.setdefault("extraregion", []).append({"cells": _names(house, side)})
    left: list[Constraint] = []
    unwritten: set[tuple[Constraint, int]] = set()  # kinds of chains, for which f-puzzles has at most a flag
    for one in _flagged(found, ((key, True) for key in GLOBAL), list(puzzle.constraints), side):
        kind = one.kind, len(one.cells)
        entry = None
        if kind not in unwritten:
            entry = next(filter(lambda guess: _is_read_as(guess, one, board), _guesses(one, side)), None)
        if entry is not None:
            found.setdefault(entry[0], []).append(entry[1])
            continue
        left.append(one)
        if isinstance(one, Chain):
            unwritten.add(kind)
    left = _flagged(found, [("nonconsecutive", True), *(("negative", key) for key in NEGATIVE)], left, side)
    if left:
        places = " ".join(_names(left[0].cells, side))
        raise ValueError(f"f-puzzles has nothing for the {left[0].name} of {places}")
    if puzzle.solution is not None:
        found["solution"] = puzzle.solution.tolist()
    return found


def _flagged(
    found: dict[str, Any], flags: Iterable[tuple[str, Any]], constraints: list[Constraint], side: int
) -> list[Constraint]:
    """Sets the flags in ``found`` whose constraints are all there; returns the other constraints."""
    for key, flag in flags:
        added = [*found.get(key, []), flag] if key == "negative" else flag
        own = _normalized(whole_board({**found, key: added}, side)) - _normalized(whole_board(found, side))
        if own and own <= _normalized(constraints):
            found[key] = added
            constraints = [one for one in constraints if one.normalized() not in own]
    return constraints


def _normalized(constraints: Iterable[Constraint]) -> set[Constraint]:
    return {one.normalized() for one in constraints}


def _written_grid(puzzle: VariantPuzzle) -> list[list[dict[str, Any]]]:
    board, side = puzzle.board, puzzle.board.side
    default = default_board(side)
    own_regions = set(board.region_houses) != set(default.region_houses)
    cells: list[dict[str, Any]] = []
    for cell, digit in enumerate(puzzle.grid.tolist()):
        fields: dict[str, Any] = {"value": digit, "given": True} if digit else {}
        if own_regions:
            fields["region"] = board.region_labels[cell]
        if puzzle.candidates is not None and not digit and not puzzle.candidates[:, cell].all():
            fields["givenPencilMarks"] = (np.flatnonzero(puzzle.candidates[:, cell]) + 1).tolist()
        cells.append(fields)
    return [cells[start : start + side] for start in range(0, side * side, side)]


def _names(cells: Iterable[int], side: int) -> list[str]:
    return [cell_name(cell, side).upper() for cell in cells]


def _is_read_as(guess: tuple[str, dict[str, Any]], constraint: Constraint, board: Board) -> bool:
    key, fields = guess
    try:
        made = READERS[key](Entry(fields, board.side, board.region_labels))
    except (KeyError, ValueError):
        return False
    return [one.normalized() for one in made] == [constraint.normalized()]


def _guesses(constraint: Constraint, side: int) -> Iterator[tuple[str, dict[str, Any]]]:
    """Entries that may be read as a constraint."""
    cells = _names(constraint.cells, side)
    line, values = {"lines": [cells]}, [str(value) for value in range(1, side + 1)]
    for key in READERS:
        if key.endswith("line") or key in ("thermometer", "slowthermometer", "palindrome", "renban", "nabner"):
            yield key, line
        elif key in ("whispers", "lockout", "doublearrow"):
            yield key, line
            yield from ((key, {**line, "value": value}) for value in values if key != "doublearrow")
        elif key in ("difference", "ratio", "xv") and len(cells) == 2:
            yield key, {"cells": cells}
            yield from ((key, {"cells": cells, "value": value}) for value in (SUMS if key == "xv" else values))
        elif key == "clone" and len(cells) == 2:
            yield key, {"cells": cells[:1], "cloneCells": cells[1:]}
        elif key in ("odd", "even"):
            yield from ((key, {"cell": cell}) for cell in cells[:1])
        elif key.endswith("indexer"):
            yield from ((key, {"cells": [cell]}) for cell in cells)
        elif key == "extraregion":
            yield key, {"cells": cells}
        elif key == "killercage" and constraint.numbers:
            yield key, {"cells": cells, "value": str(constraint.numbers[0])}
        elif key == "quadruple":
            yield key, {"cells": cells, "values": list(constraint.numbers)}
        elif key == "arrow":
            weights = getattr(constraint, "weights", ())
            circle = [cell for cell, weight in zip(cells, weights, strict=False) if weight > 0]
            path = [cell for cell, weight in zip(cells, weights, strict=False) if weight < 0]
            if circle and path:
                yield key, {"lines": [[circle[-1], *path]], "cells": circle}
        elif constraint.numbers:
            value = str(constraint.numbers[0])
            for clue, direction in _clues_beside(constraint.cells, side):
                diagonal = {"cells": cells, "direction": direction} if key == "littlekillersum" else {}
                yield key, {"cell": clue, **diagonal, "value": value}


def _clues_beside(cells: tuple[int, ...], side: int) -> Iterator[tuple[str, str]]:
    """The clues outside the grid beside a line of cells, at either end, and their directions."""
    for line in (cells, cells[::-1]):
        row, column = divmod(line[0], side)
        steps = list(itertools.product((-1, 1), repeat=2))
        if len(line) > 1:
            down, right = divmod(line[1], side)
            steps = [(down - row, right - column)]
        for step_down, step_right in steps:
            if abs(step_down) <= 1 and abs(step_right) <= 1:
                clue = f"R{row - step_down + 1}C{column - step_right + 1}"
                yield clue, f"{'D' if step_down > 0 else 'U'}{'R' if step_right > 0 else 'L'}"
