"""Naked and hidden singles in plain Python, applied to the end or to a contradiction."""

from __future__ import annotations

from typing import NamedTuple

from .layout import Layout, bits


class Placed(NamedTuple):
    """A cell that is filled.

    Attributes:
      digit, cell: what and where.
      house: the number of the house in which it is the only place for the digit; None for the only digit of its cell.
    """

    digit: int
    cell: int
    house: int | None


class Dead(NamedTuple):
    """A contradiction: a cell without a digit, or a house without a place for a digit.

    Attributes:
      cell: the cell; None for a house.
      digit, house: the digit and the number of the house; 0 for a cell.
    """

    cell: int | None
    digit: int = 0
    house: int = 0


def place(layout: Layout, places: list[int], digit: int, cell: int) -> None:
    """Fills a cell: removes its other digits, and the digit from its houses.

    Args:
      layout: the houses.
      places: for each digit the cells that may hold it; changed in place.
      digit, cell: what to fill in, one of the candidates.
    """
    own = 1 << cell
    for other, cells in enumerate(places):
        if cells & own:
            places[other] = cells ^ own
    places[digit] = places[digit] & ~layout.sees[cell] | own


def settle(layout: Layout, places: list[int], done: int, log: list[Placed]) -> tuple[int, Dead | None]:
    """Fills cells by singles until there are none.

    Args:
      layout: the houses.
      places: for each digit the cells that may hold it; changed in place.
      done: the cells that are filled, and whose digits are removed from their houses.
      log: the cells that are filled are added to it.

    Returns:
      the cells that are filled at the end, and the contradiction if there is one.
    """
    every = layout.every
    checked = [-1] * len(places)  # the places of each digit in which hidden singles were last looked for
    while True:
        one = two = 0
        for cells in places:
            two |= one & cells
            one |= cells
        if every & ~one:
            return done, Dead(next(bits(every & ~one)))
        naked = one & ~two & ~done
        if naked:
            for cell in bits(naked):
                digit = next((digit for digit, cells in enumerate(places) if cells >> cell & 1), None)
                if digit is None:
                    return done, Dead(cell)
                place(layout, places, digit, cell)
                done |= 1 << cell
                log.append(Placed(digit, cell, None))
            continue
        before = done
        for digit, cells in enumerate(places):
            if cells == checked[digit]:
                continue
            checked[digit] = cells
            for number, here in layout.few_places(cells):
                if not here & places[digit]:  # an earlier one of these excludes it
                    return done, Dead(None, digit, number)
                if not here & done:
                    place(layout, places, digit, here.bit_length() - 1)
                    done |= here
                    log.append(Placed(digit, here.bit_length() - 1, number))
        if done == before:
            return done, None
