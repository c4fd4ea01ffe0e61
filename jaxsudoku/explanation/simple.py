"""Singles and locked candidates, one pattern at a time."""

from __future__ import annotations

from collections.abc import Iterator

from jaxsudoku.techniques.locked_pairs import locked_pairs, regions

from .finding import Finding, open_places, placing, removing
from .view import View, bits, cell_name, house_name, masks


def full_houses(view: View) -> Iterator[Finding]:
    """The last open cell of a house."""
    for number, house in enumerate(masks(view.board)):
        cells = house & ~view.filled
        if cells.bit_count() == 1:
            (cell,) = bits(cells)
            name = cell_name(view.board, cell)
            for digit in view.digits(cell):
                text = f"{name} is the last open cell of {house_name(view.board, number)}, so it is {digit + 1}"
                yield placing(digit, cell, [cell], f"{text}: full house.")


def hidden_singles(view: View, lines: bool) -> Iterator[Finding]:
    """Digits with one place in a row or column, or else in a box, region or further house."""
    for number in range(2 * view.board.side) if lines else regions(view.board):
        house = masks(view.board)[number]
        for digit in range(view.board.side):
            places = view.places[digit] & house
            if places.bit_count() == 1 and places & ~view.filled:
                (cell,) = bits(places)
                where = house_name(view.board, number)
                text = f"In {where} only {cell_name(view.board, cell)} can take {digit + 1}: hidden single."
                yield placing(digit, cell, bits(house), text)


def naked_singles(view: View) -> Iterator[Finding]:
    """Open cells with one candidate."""
    for cell in view.open_cells():
        digits = view.digits(cell)
        if len(digits) == 1:
            text = f"{cell_name(view.board, cell)} can take no digit but {digits[0] + 1}: naked single."
            yield placing(digits[0], cell, [cell], text)


def locked(view: View, from_lines: bool) -> Iterator[Finding]:
    """The places for a digit in one house all lie in another one."""
    houses = masks(view.board)
    for one, other in locked_pairs(view.board, from_lines):
        for digit in range(view.board.side):
            places = view.places[digit] & houses[one]
            if places and not places & ~houses[other]:
                removed = open_places(view, [digit], houses[other] & ~houses[one])
                if removed:
                    confined, affected = house_name(view.board, one), house_name(view.board, other)
                    text = f"In {confined} all places for {digit + 1} are in {affected}: locked candidates."
                    yield removing(removed, bits(places), text)
