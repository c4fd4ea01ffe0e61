"""Unique rectangles, one pattern at a time; ``jaxsudoku.techniques.rectangles`` describes them."""

from __future__ import annotations

import functools
from collections.abc import Iterator, Sequence

import numpy as np

from jaxsudoku.core.board import Board
from jaxsudoku.pictures import Candidate
from jaxsudoku.techniques.swappable import rectangles

from .finding import Finding, open_places, removing
from .layout import bits
from .view import View
from .words import cell_name, cells_named, digits_named


def unique_rectangles(view: View) -> Iterator[Finding]:
    """Rectangles of the types 1, 2 and 4."""
    left = view.left
    for (a, b, c, d), corners in _rectangles(view.board):
        if corners & view.given:
            continue
        for floor, roof in (((a, b), (c, d)), ((c, d), (a, b)), ((a, c), (b, d)), ((b, d), (a, c))):
            digits = left[floor[0]] | left[floor[1]]
            if digits.bit_count() == 2:
                yield from _of_roof(view, floor, roof, set(bits(digits)))


@functools.lru_cache(maxsize=8)
def _rectangles(board: Board) -> tuple[tuple[tuple[int, int, int, int], int], ...]:
    """The corners of the rectangles whose digits could be swapped, row by row, and as a set of cells."""
    side = board.side
    found = []
    for top, bottom, left, right in np.argwhere(rectangles(board)).tolist():
        if top < bottom and left < right:
            corners = (top * side + left, top * side + right, bottom * side + left, bottom * side + right)
            found.append((corners, sum(1 << cell for cell in corners)))
    return tuple(found)


def _of_roof(view: View, floor: tuple[int, int], roof: tuple[int, int], digits: set[int]) -> Iterator[Finding]:
    """What the rectangle of a floor with two digits shows."""
    board, cells = view.board, (*floor, *roof)
    pair = digits_named(sorted(digits))
    names = cells_named(board, sorted(cells))
    swap = f"If {names} held only {pair}, these could be swapped, and there would be two solutions"

    def shown(removed: list[Candidate], reason: str, houses: Sequence[int] = ()) -> Iterator[Finding]:
        if removed:
            yield removing(removed, cells, f"{swap}. {reason}: unique rectangle.", houses=houses)

    own = [set(view.digits(cell)) for cell in roof]
    for cell, other in ((0, 1), (1, 0)):
        if own[cell] <= digits:
            fourth = cell_name(board, roof[other])
            removed = open_places(view, digits, 1 << roof[other])
            yield from shown(removed, f"Three of them can hold only these, so {fourth} is neither")
    extra = (own[0] | own[1]) - digits
    both = 1 << roof[0] | 1 << roof[1]
    # further houses are left out
    shared = [(number, house) for number, house in enumerate(view.layout.houses[: 3 * board.side]) if not both & ~house]
    if len(extra) == 1:
        others = 0
        for _, house in shared:
            others |= house & ~both
        (digit,) = extra
        yield from shown(open_places(view, extra, others), f"One of {cells_named(board, roof)} is {digit + 1}")
    for number, house in shared:
        for digit in sorted(digits):
            places = view.places[digit] & house
            if places and not places & ~both:
                (last,) = digits - {digit}
                reason = (
                    f"In {board.house_names[number]} one of {cells_named(board, roof)} is {digit + 1}, so neither is "
                    f"{last + 1}"
                )
                yield from shown(open_places(view, [last], both), reason, [number])
