"""Wings, one pattern at a time: cells with two candidates that leave a cell or a house without a place."""

from __future__ import annotations

import itertools
from collections.abc import Iterator

from .finding import Finding, open_places, removing
from .layout import bits
from .view import View
from .words import cell_name, cells_named, digits_named


def xy_wing(view: View) -> Iterator[Finding]:
    """A pivot with the digits a and b, and wings with a, c and b, c that see it: one of the wings is c."""
    sees, twos = view.layout.sees, _with_digits(view, 2)
    for pivot, pair in twos.items():
        for (one, first), (other, second) in _wings(view, twos, pivot):
            common = (first & second) - pair
            if len(common) == 1 and first & pair and second & pair and first & pair != second & pair:
                yield from _both(view, "XY-wing", pivot, (one, other), common, sees[one] & sees[other])


def xyz_wing(view: View) -> Iterator[Finding]:
    """A pivot with the digits a, b and c, and wings with a, c and b, c that see it: one of the three is c."""
    sees, twos = view.layout.sees, _with_digits(view, 2)
    for pivot, triple in _with_digits(view, 3).items():
        for (one, first), (other, second) in _wings(view, twos, pivot):
            if first < triple and second < triple and first != second:
                seen = sees[one] & sees[other] & sees[pivot]
                yield from _both(view, "XYZ-wing", pivot, (one, other), first & second, seen)


def w_wing(view: View) -> Iterator[Finding]:
    """Two cells with the digits a and c that see one place each of the two for a in a house: one of them is c.

    On boards with irregular houses one cell may see both places.
    """
    sees, twos = view.layout.sees, _with_digits(view, 2)
    links = [
        (digit, number, *bits(places))
        for number, house in enumerate(view.layout.houses)
        for digit in range(view.board.side)
        if (places := view.open(digit) & house).bit_count() == 2
    ]
    for (one, first), (other, second) in itertools.combinations_with_replacement(twos.items(), 2):
        if first != second:
            continue
        for digit, number, here, there in links:
            if digit not in first:
                continue
            straight = sees[one] >> here & sees[other] >> there & 1
            crossed = sees[one] >> there & sees[other] >> here & 1
            if straight or crossed:
                (last,) = first - {digit}
                removed = open_places(view, [last], sees[one] & sees[other])
                if removed:
                    ends, where = cells_named(view.board, [here, there], "or"), view.board.house_names[number]
                    if one == other:
                        reason = f"{cell_name(view.board, one)}, which sees both, is not {digit + 1} but {last + 1}"
                    else:
                        names = cells_named(view.board, [one, other])
                        reason = f"{names} are not both {digit + 1}, and one of them is {last + 1}"
                    text = f"{digit + 1} in {where} is in {ends}, so {reason}: W-wing."
                    yield removing(removed, dict.fromkeys((one, other, here, there)), text, houses=[number])


def _with_digits(view: View, count: int) -> dict[int, set[int]]:
    """The open cells with so many candidates, and these."""
    return {cell: set(view.digits(cell)) for cell in view.open_cells() if view.left[cell].bit_count() == count}


def _wings(
    view: View, twos: dict[int, set[int]], pivot: int
) -> Iterator[tuple[tuple[int, set[int]], tuple[int, set[int]]]]:
    """Pairs of cells with two candidates that see the pivot."""
    near = [(cell, digits) for cell, digits in twos.items() if view.layout.sees[pivot] >> cell & 1]
    return itertools.combinations(near, 2)


def _both(view: View, name: str, pivot: int, wings: tuple[int, int], common: set[int], seen: int) -> Iterator[Finding]:
    removed = open_places(view, common, seen & ~(1 << pivot))
    if removed:
        (digit,) = common
        cells = (pivot, *wings) if name == "XYZ-wing" else wings
        text = (
            f"Whether {cell_name(view.board, pivot)} is {digits_named(view.digits(pivot), 'or')}, one of "
            f"{cells_named(view.board, cells)} is {digit + 1}: {name}."
        )
        yield removing(removed, (pivot, *wings), text)
