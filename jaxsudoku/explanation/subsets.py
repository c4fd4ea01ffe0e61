"""Naked and hidden subsets, and fish with and without fins, one pattern at a time."""

from __future__ import annotations

import functools
import itertools
import operator
from collections.abc import Iterable, Iterator, Sequence

from .finding import Finding, open_places, removing
from .layout import Layout, bits, places_in_lines
from .view import View
from .words import cells_named, digits_named, plural

_SIZES = {2: "pair", 3: "triple", 4: "quad"}
_FISH = {2: "X-wing", 3: "swordfish", 4: "jellyfish"}


def naked_subsets(view: View, size: int) -> Iterator[Finding]:
    """Cells of a house with as many digits as there are cells.

    Args:
      view: the position.
      size: the number of cells.

    Returns:
      the patterns that remove a candidate, one at a time.
    """
    houses, left = view.layout.houses, view.left
    for house in houses:
        few = [cell for cell in bits(house & ~view.filled) if left[cell].bit_count() <= size]
        for cells in itertools.combinations(few, size):
            union = _union(left, cells)
            if union.bit_count() == size:
                digits, mask = list(bits(union)), sum(1 << cell for cell in cells)
                shared = [number for number, other in enumerate(houses) if not mask & ~other]
                removed = open_places(view, digits, _union(houses, shared) & ~mask)
                if removed:
                    names = cells_named(view.board, cells)
                    text = f"{names} can take only {digits_named(digits)}: naked {_SIZES[size]}."
                    yield removing(removed, cells, text)


def hidden_subsets(view: View, size: int) -> Iterator[Finding]:
    """Digits of a house with places in as many cells.

    Args:
      view: the position.
      size: the number of digits.

    Returns:
      the patterns that remove a candidate, one at a time.
    """
    for number, house in enumerate(view.layout.houses):
        places = [view.open(digit) & house for digit in range(view.board.side)]
        rare = [digit for digit, cells in enumerate(places) if 0 < cells.bit_count() <= size]
        for digits in itertools.combinations(rare, size):
            cells = _union(places, digits)
            if cells.bit_count() == size:
                others = [digit for digit in range(view.board.side) if digit not in digits]
                removed = open_places(view, others, cells)
                if removed:
                    where, names = view.board.house_names[number], cells_named(view.board, bits(cells))
                    text = f"In {where} only {names} can take {digits_named(digits)}: hidden {_SIZES[size]}."
                    yield removing(removed, bits(cells), text, houses=[number])


def fish(view: View, size: int) -> Iterator[Finding]:
    """Rows whose places for a digit lie in as many columns, and columns whose places lie in as many rows.

    Args:
      view: the position.
      size: the number of rows or columns.

    Returns:
      the patterns that remove a candidate, one at a time.
    """
    side, houses = view.board.side, view.layout.houses
    for digit, (bases, covers) in itertools.product(range(side), _lines(side)):
        places = view.open(digit)
        few = [base for base in bases if 0 < (places & houses[base]).bit_count() <= size]
        for chosen in itertools.combinations(few, size):
            rows = _union(houses, chosen)
            covering = [cover for cover in covers if houses[cover] & places & rows]
            if len(covering) == size:
                removed = open_places(view, [digit], _union(houses, covering) & ~rows)
                if removed:
                    text = _fish_text(view, digit, chosen, covering)
                    shown = f"{text}: {_FISH[size]}."
                    yield removing(removed, bits(places & rows), shown, houses=[*chosen, *covering])


def finned_fish(view: View, size: int) -> Iterator[Finding]:
    """A fish with further places, the fins. The candidates that it removes see all of them.

    Args:
      view: the position.
      size: the number of rows or columns.

    Returns:
      the patterns that remove a candidate, one at a time.
    """
    side, layout = view.board.side, view.layout
    for digit in range(side):
        places = view.open(digit)
        found = dict.fromkeys(
            fish
            for turned, lines in enumerate(places_in_lines(places, side))
            for fish in _finned(layout, places, lines, turned, size)
        )
        for turned, bases, covering in sorted(found, key=lambda fish: fish[:2]):
            shifts = (side, 0) if turned else (0, side)
            rows = _union(layout.houses, (base + shifts[0] for base in bases))
            covers = [cover + shifts[1] for cover in bits(covering)]
            fins = places & rows & ~_union(layout.houses, covers)
            outside = _union(layout.houses, covers) & ~rows
            removed = [(digit, cell) for cell in bits(places & outside) if not fins & ~layout.sees[cell]]
            names = cells_named(view.board, bits(fins))
            seeing = cells_named(view.board, sorted(cell for _, cell in removed))
            lines = [base + shifts[0] for base in bases]
            text = (
                f"{_fish_text(view, digit, lines, covers)} but for the "
                f"fin{'s' if fins & (fins - 1) else ''} {names}, which {seeing} see{'' if len(removed) > 1 else 's'}"
            )
            shown = f"{text}: finned {_FISH[size]}."
            yield removing(removed, bits(places & rows), shown, houses=[*lines, *covers])


def _finned(
    layout: Layout, places: int, lines: Sequence[int], turned: int, size: int
) -> Iterator[tuple[int, tuple[int, ...], int]]:
    """Finned fish: ``turned``, the lines of the fish, and the crossing lines but for the fins, as bits.

    Args:
      layout: the houses.
      places: the cells that may hold the digit.
      lines: for each row the columns with such a cell, as bits; for each column the rows if turned.
      turned: 1 if turned, else 0.
      size: the number of lines.
    """
    side = len(lines)
    for cell in bits(places):
        own = divmod(cell, side)
        seen = layout.seen_in_lines[turned][cell]
        left = [
            (line, rest)
            for line, crossed in enumerate(lines)
            if crossed and line != own[turned] and (rest := crossed & ~seen[line]).bit_count() < size
        ]
        for chosen in itertools.combinations(left, size):
            union = 0
            for _, rest in chosen:
                union |= rest
            if union.bit_count() < size:
                covering = union | 1 << own[1 - turned]
                if any(lines[line] & ~covering for line, _ in chosen):  # there is a fin
                    yield turned, tuple(line for line, _ in chosen), covering


def _union(sets: Sequence[int], chosen: Iterable[int]) -> int:
    """The cells of some sets, by their numbers."""
    return functools.reduce(operator.or_, (sets[number] for number in chosen), 0)


def _lines(side: int) -> tuple[tuple[range, range], tuple[range, range]]:
    """Rows with columns that cover them, and columns with rows."""
    rows, columns = range(side), range(side, 2 * side)
    return (rows, columns), (columns, rows)


def _fish_text(view: View, digit: int, bases: Sequence[int], covers: Sequence[int]) -> str:
    ins = plural([view.board.house_names[base] for base in bases])
    are = plural([view.board.house_names[cover] for cover in covers])
    return f"In {ins} all places for {digit + 1} are in {are}"
