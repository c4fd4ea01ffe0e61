"""Entries of f-puzzles' JSON, and the constraints that they are."""

from __future__ import annotations

import itertools
import re
from collections.abc import Callable
from typing import Any, NamedTuple

from jaxsudoku.core.constraints import variants
from jaxsudoku.core.constraints.base import Constraint

from .variant import board_of_regions

Made = list[Constraint]

#: Fields of an entry that have a meaning, and those that only draw it.
_FIELDS = {"cell", "cells", "cloneCells", "lines", "value", "values", "direction"}
_DRAWN_FIELDS = {"outlineC", "baseC", "fontC", "width", "height", "size", "angle", "fromConstraint", "isNewConstraint"}
#: The totals of the letters between cells.
SUMS = {"X": 10, "V": 5}
_STEPS = {"U": -1, "D": 1, "L": -1, "R": 1}


class Entry(NamedTuple):
    """An entry of a constraint.

    Attributes:
      fields: its fields.
      side: the side of the board.
      regions: the region of each cell.
    """

    fields: dict[str, Any]
    side: int
    regions: tuple[int, ...]

    @property
    def cells(self) -> list[int]:
        """The cells, or the only one."""
        found = self.fields.get("cells")
        if found is None:
            found = [self.fields["cell"]] if "cell" in self.fields else []
        return self.cells_of(found)

    @property
    def lines(self) -> list[list[int]]:
        """The lines, without those of one cell, which have no rule."""
        lines = self.fields.get("lines")
        if not isinstance(lines, list):
            raise ValueError("there are no lines")
        return [line for line in map(self.cells_of, lines) if len(line) > 1]

    @property
    def value(self) -> int | None:
        """The value as a number; None if it is missing or empty."""
        text = str("" if self.fields.get("value") is None else self.fields["value"]).strip()
        if text and not re.fullmatch(r"[0-9]{1,5}", text):
            raise ValueError(f"its value {text!r} is no number")
        return int(text) if text else None

    @property
    def seen(self) -> list[int]:
        """The cells of the row or column that a clue outside the grid sees, from the clue on."""
        row, column = place_of(self.fields.get("cell"))
        across, down = 1 <= row <= self.side, 1 <= column <= self.side
        if across == down or row not in range(self.side + 2) or column not in range(self.side + 2):
            raise ValueError(f"{self.fields.get('cell')} is not beside the grid")
        line = [
            (row - 1) * self.side + other if across else other * self.side + column - 1 for other in range(self.side)
        ]
        return line if 0 in (row, column) else line[::-1]

    def cells_of(self, names: Any) -> list[int]:
        """The numbers of named cells."""
        if not isinstance(names, list) or not names:
            raise ValueError("it has no cells")
        return [self._cell(name) for name in names]

    def _cell(self, name: Any) -> int:
        row, column = place_of(name)
        if not (1 <= row <= self.side and 1 <= column <= self.side):
            raise ValueError(f"{name} is off the grid")
        return (row - 1) * self.side + column - 1


def place_of(name: Any) -> tuple[int, int]:
    match = re.fullmatch(r"[rR](\d{1,2})[cC](\d{1,2})", name) if isinstance(name, str) else None
    if match is None:
        raise ValueError(f"{name!r} is no cell")
    return int(match[1]), int(match[2])


def check_fields(fields: dict[str, Any]) -> None:
    if unknown := sorted(fields.keys() - _FIELDS - _DRAWN_FIELDS):
        raise ValueError(f"unknown field {unknown[0]!r}")


def _along(make: Callable[..., Made], default: int | None = None) -> Callable[[Entry], Made]:
    """Reads entries with lines, each a constraint; with a default they have a value."""

    def read(entry: Entry) -> Made:
        value = [] if default is None else [default if entry.value is None else entry.value]
        return [one for line in entry.lines for one in make(line, *value, side=entry.side)]

    return read


def _beside(make: Callable[..., Made]) -> Callable[[Entry], Made]:
    """Reads clues beside the grid; those without a value have no rule."""
    return lambda entry: [] if entry.value is None else make(entry.seen, entry.value, side=entry.side)


def _on_cells(make: Callable[..., Made]) -> Callable[[Entry], Made]:
    return lambda entry: make(entry.cells, side=entry.side)


def _pairs(make: Callable[..., Made], default: int) -> Callable[[Entry], Made]:
    return lambda entry: make([entry.cells], default if entry.value is None else entry.value, side=entry.side)


def _whispers(entry: Entry, default: int) -> Made:
    """Whispers lines; a closed one has a last pair."""
    distance = default if entry.value is None else entry.value
    found: Made = []
    for line in entry.lines:
        closed = len(line) > 3 and line[0] == line[-1]
        for part in [line[:-1], [line[-2], line[0]]] if closed else [line]:
            found += variants.whispers(part, distance, side=entry.side)
    return found


def _renban(entry: Entry) -> Made:
    """Renban lines; a closed one has its first cell twice."""
    lines = [line[:-1] if line[0] == line[-1] else line for line in entry.lines]
    return [one for line in lines for one in variants.renban(line, side=entry.side)]


def _region_sums(entry: Entry) -> Made:
    """Region sum lines: a segment for each stay of the line in a region."""
    found: Made = []
    for line in entry.lines:
        segments = [list(group) for _, group in itertools.groupby(line, lambda cell: entry.regions[cell])]
        if len(segments) > 1:
            found += variants.region_sums(segments, side=entry.side)
    return found


def _arrow(entry: Entry) -> Made:
    circle = sorted(entry.cells)
    found: Made = []
    for line in entry.lines:
        if line[0] not in circle:
            raise ValueError("an arrow begins outside its circle")
        found += variants.arrow(circle, line[1:], side=entry.side)
    return found


def _killer(entry: Entry) -> Made:
    return variants.killer([(entry.cells, entry.value)], side=entry.side)


def _little_killer(entry: Entry) -> Made:
    """A little killer; its cells follow from the place of the clue and the direction."""
    if entry.value is None:
        return []
    direction = str(entry.fields.get("direction", ""))
    if not re.fullmatch("[UD][LR]", direction):
        raise ValueError(f"its direction {direction!r} is none of UL, UR, DL, DR")
    row, column = place_of(entry.fields.get("cell"))
    down, right = (_STEPS[letter] for letter in direction)
    steps = range(1, entry.side + 2)
    places = [(row + down * step - 1, column + right * step - 1) for step in steps]
    cells = [r * entry.side + c for r, c in places if 0 <= r < entry.side and 0 <= c < entry.side]
    if not cells:
        raise ValueError("its arrow points away from the grid")
    if "cells" in entry.fields and sorted(entry.cells) != sorted(cells):
        raise ValueError("its cells are not those that its arrow points to")
    return variants.little_killer(cells, entry.value, side=entry.side)


def _xv(entry: Entry) -> Made:
    letter = str(entry.fields.get("value") or "").strip().upper()
    if not letter:
        return []
    if letter not in SUMS:
        raise ValueError(f"its value {letter!r} is neither X nor V")
    return variants.xv(**{letter.lower(): [entry.cells]}, side=entry.side)


def _quadruple(entry: Entry) -> Made:
    values = entry.fields.get("values") or []
    if not isinstance(values, list) or not all(str(value).isdecimal() for value in values):
        raise ValueError(f"its values {values} are not a list of numbers")
    return variants.quadruple(entry.cells, map(int, values), side=entry.side) if values else []


def _clone(entry: Entry) -> Made:
    one, other = entry.cells, entry.cells_of(entry.fields.get("cloneCells"))
    if len(one) != len(other):
        raise ValueError(f"{len(one)} cells and {len(other)} of the clone")
    pairs = [pair for pair in zip(one, other, strict=True) if pair[0] != pair[1]]
    if not pairs:
        return []
    return variants.clone([cell for cell, _ in pairs], [cell for _, cell in pairs], side=entry.side)


def _box_indexer(entry: Entry) -> Made:
    board = board_of_regions(list(entry.regions))
    return variants.box_indexer(entry.cells, board)


#: Constraints with entries: key -> the constraints of an entry.
READERS: dict[str, Callable[[Entry], Made]] = {
    "odd": _on_cells(variants.odd),
    "even": _on_cells(variants.even),
    "minimum": _on_cells(variants.minimum),
    "maximum": _on_cells(variants.maximum),
    "rowindexer": _on_cells(variants.row_indexer),
    "columnindexer": _on_cells(variants.column_indexer),
    "boxindexer": _box_indexer,
    "extraregion": _on_cells(variants.distinct),
    "clone": _clone,
    "quadruple": _quadruple,
    "killercage": _killer,
    "littlekillersum": _little_killer,
    "sandwichsum": _beside(variants.sandwich),
    "xsum": _beside(variants.x_sum),
    "skyscraper": _beside(variants.skyscraper),
    "numberedroom": _beside(variants.numbered_room),
    "thermometer": _along(variants.thermometer),
    "slowthermometer": _along(variants.slow_thermometer),
    "arrow": _arrow,
    "palindrome": _along(variants.palindrome),
    "renban": _renban,
    "whispers": lambda entry: _whispers(entry, (entry.side + 1) // 2),
    "dutchwhispers": lambda entry: _whispers(entry, 4),
    "regionsumline": _region_sums,
    "entropicline": _along(variants.entropic),
    "modularline": _along(variants.modular),
    "nabner": _along(variants.nabner),
    "zipperline": _along(variants.zipper),
    "parityline": _along(variants.parity),
    "betweenline": _along(variants.between),
    "lockout": _along(variants.lockout, 4),
    "doublearrow": _along(variants.double_arrow),
    "difference": _pairs(variants.difference, 1),
    "ratio": _pairs(variants.ratio, 2),
    "xv": _xv,
}
#: Flags that are constraints of the whole board.
GLOBAL: dict[str, Callable[..., Made]] = {"antiknight": variants.anti_knight, "antiking": variants.anti_king}
#: Flags that are houses, and those that depend on entries.
HOUSES = ("diagonal-", "diagonal+", "disjointgroups")
FLAGS = (*GLOBAL, *HOUSES, "nonconsecutive")
