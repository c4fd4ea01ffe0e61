"""Unique rectangles, one pattern at a time; ``jaxsudoku.techniques.rectangles`` describes them."""

from __future__ import annotations

import itertools
from collections.abc import Iterator

from .finding import Candidate, Finding, open_places, removing
from .view import View, cells_named, digits_named, house_name, masks


def unique_rectangles(view: View) -> Iterator[Finding]:
    """Rectangles of the types 1, 2 and 4."""
    board, houses = view.board, masks(view.board)
    side = board.side
    regions = houses[2 * side :]
    for (top, bottom), (left, right) in itertools.product(itertools.combinations(range(side), 2), repeat=2):
        corners = [top * side + left, top * side + right, bottom * side + left, bottom * side + right]
        if any(view.given >> cell & 1 for cell in corners):
            continue
        a, b, c, d = corners
        if any((house >> a & 1) + (house >> d & 1) != (house >> b & 1) + (house >> c & 1) for house in regions):
            continue
        for floor, roof in (((a, b), (c, d)), ((c, d), (a, b)), ((a, c), (b, d)), ((b, d), (a, c))):
            digits = {digit for cell in floor for digit in view.digits(cell)}
            if len(digits) == 2:
                yield from _of_roof(view, floor, roof, digits)


def _of_roof(view: View, floor: tuple[int, int], roof: tuple[int, int], digits: set[int]) -> Iterator[Finding]:
    """What the rectangle of a floor with two digits shows."""
    board, cells = view.board, (*floor, *roof)
    pair = digits_named(sorted(digits))
    swap = (
        f"If {cells_named(board, sorted(cells))} held only {pair}, these could be swapped, and there were two solutions"
    )

    def shown(removed: list[Candidate], reason: str) -> Iterator[Finding]:
        if removed:
            yield removing(removed, cells, f"{swap}. {reason}: unique rectangle.")

    own = [set(view.digits(cell)) for cell in roof]
    for cell, other in ((0, 1), (1, 0)):
        if own[cell] <= digits:
            yield from shown(open_places(view, digits, 1 << roof[other]), "Three of them do")
    extra = (own[0] | own[1]) - digits
    both = 1 << roof[0] | 1 << roof[1]
    # further houses are left out
    shared = [(number, house) for number, house in enumerate(masks(board)[: 3 * board.side]) if not both & ~house]
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
                    f"In {house_name(board, number)} one of {cells_named(board, roof)} is {digit + 1}, so neither is "
                    f"{last + 1}"
                )
                yield from shown(open_places(view, [last], both), reason)
