"""Naked and hidden subsets, and fish with and without fins, one pattern at a time."""

from __future__ import annotations

import functools
import itertools
import operator
from collections.abc import Iterable, Iterator, Sequence

from .finding import Finding, open_places, removing
from .view import View, bits, cells_named, digits_named, house_name, masks, peers, plural

_SIZES = {2: "pair", 3: "triple", 4: "quad"}
_FISH = {2: "X-wing", 3: "swordfish", 4: "jellyfish"}


def naked_subsets(view: View, size: int) -> Iterator[Finding]:
    """Cells of a house with as many digits as there are cells."""
    for house in masks(view.board):
        few = [cell for cell in bits(house & ~view.filled) if len(view.digits(cell)) <= size]
        for cells in itertools.combinations(few, size):
            digits = sorted({digit for cell in cells for digit in view.digits(cell)})
            if len(digits) == size:
                mask = sum(1 << cell for cell in cells)
                shared = [number for number, other in enumerate(masks(view.board)) if not mask & ~other]
                removed = open_places(view, digits, _union(masks(view.board), shared) & ~mask)
                if removed:
                    names = cells_named(view.board, cells)
                    text = f"{names} can take only {digits_named(digits)}: naked {_SIZES[size]}."
                    yield removing(removed, cells, text)


def hidden_subsets(view: View, size: int) -> Iterator[Finding]:
    """Digits of a house with places in as many cells."""
    for number, house in enumerate(masks(view.board)):
        places = [view.open(digit) & house for digit in range(view.board.side)]
        rare = [digit for digit, cells in enumerate(places) if 0 < cells.bit_count() <= size]
        for digits in itertools.combinations(rare, size):
            cells = _union(places, digits)
            if cells.bit_count() == size:
                others = [digit for digit in range(view.board.side) if digit not in digits]
                removed = open_places(view, others, cells)
                if removed:
                    where, names = house_name(view.board, number), cells_named(view.board, bits(cells))
                    text = f"In {where} only {names} can take {digits_named(digits)}: hidden {_SIZES[size]}."
                    yield removing(removed, bits(cells), text)


def fish(view: View, size: int) -> Iterator[Finding]:
    """Rows whose places for a digit lie in as many columns, and columns whose places lie in as many rows."""
    side, houses = view.board.side, masks(view.board)
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
                    yield removing(removed, bits(places & rows), f"{text}: {_FISH[size]}.")


def finned_fish(view: View, size: int) -> Iterator[Finding]:
    """A fish but for further places, the fins, all of which the removed candidates see."""
    side, houses, sees = view.board.side, masks(view.board), peers(view.board)
    for digit, (bases, covers) in itertools.product(range(side), _lines(side)):
        places = view.open(digit)
        usable = [base for base in bases if places & houses[base]]
        for chosen in itertools.combinations(usable, size):
            inside = places & _union(houses, chosen)
            for cell in bits(places & ~inside):
                left = inside & ~sees[cell]
                covering = [cover for cover in covers if houses[cover] & left]
                if len(covering) < size:
                    covering = [cover for cover in covers if houses[cover] & (left | 1 << cell)]
                    fins = inside & ~_union(houses, covering)
                    if not fins:  # a fish
                        continue
                    text = f"{_fish_text(view, digit, chosen, covering)}, but for {cells_named(view.board, bits(fins))}"
                    yield removing([(digit, cell)], bits(inside), f"{text}: finned {_FISH[size]}.")


def _union(sets: Sequence[int], chosen: Iterable[int]) -> int:
    """The cells of some sets, by their numbers."""
    return functools.reduce(operator.or_, (sets[number] for number in chosen), 0)


def _lines(side: int) -> tuple[tuple[range, range], tuple[range, range]]:
    """Rows with columns that cover them, and columns with rows."""
    rows, columns = range(side), range(side, 2 * side)
    return (rows, columns), (columns, rows)


def _fish_text(view: View, digit: int, bases: tuple[int, ...], covers: list[int]) -> str:
    ins = plural([house_name(view.board, base) for base in bases])
    are = plural([house_name(view.board, cover) for cover in covers])
    return f"In {ins} all places for {digit + 1} are in {are}"
