"""Singles and locked candidates, one pattern at a time."""

from __future__ import annotations

from collections.abc import Iterator

from jaxsudoku.techniques.locked_pairs import regions

from .finding import Finding, open_places, placing, removing
from .layout import bits
from .view import View
from .words import cell_name


def full_houses(view: View) -> Iterator[Finding]:
    """The last open cell of a house."""
    for number, house in enumerate(view.layout.houses):
        cells = house & ~view.filled
        if cells.bit_count() == 1:
            (cell,) = bits(cells)
            name = cell_name(view.board, cell)
            for digit in view.digits(cell):
                text = f"{name} is the last open cell of {view.board.house_names[number]}, so it is {digit + 1}"
                yield placing(digit, cell, [cell], f"{text}: full house.", [number])


def hidden_singles(view: View, lines: bool) -> Iterator[Finding]:
    """Digits with one place in a row or column, or else in a box, region or further house."""
    for number in range(2 * view.board.side) if lines else regions(view.board):
        house = view.layout.houses[number]
        for digit in range(view.board.side):
            places = view.places[digit] & house
            if not places & (places - 1) and places & ~view.filled:
                (cell,) = bits(places)
                where = view.board.house_names[number]
                text = f"In {where} only {cell_name(view.board, cell)} can take {digit + 1}: hidden single."
                yield placing(digit, cell, bits(house), text, [number])


def naked_singles(view: View) -> Iterator[Finding]:
    """Open cells with one candidate."""
    for cell in view.open_cells():
        if view.left[cell].bit_count() == 1:
            (digit,) = view.digits(cell)
            yield placing(digit, cell, [cell], f"{cell_name(view.board, cell)} can only be {digit + 1}: naked single.")


def locked(view: View, from_lines: bool) -> Iterator[Finding]:
    """The places for a digit in one house all lie in another one."""
    found = [
        (found.pair, digit, found)
        for digit, places in enumerate(view.places)
        for found in view.layout.locked(places)
        if found.lines == from_lines
    ]
    for _, digit, pattern in sorted(found):
        removed = open_places(view, [digit], pattern.lost)
        if removed:
            confined, affected = (view.board.house_names[house] for house in (pattern.confined, pattern.affected))
            text = f"In {confined} all places for {digit + 1} are in {affected}: locked candidates."
            yield removing(removed, bits(pattern.inside), text, houses=[pattern.confined, pattern.affected])
