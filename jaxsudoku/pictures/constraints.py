"""Constraints as shapes: cages, thermometers, arrows, lines, dots, signs, shaded cells, numbers outside the board.

A constraint says how it is drawn by ``Symbol``s, which know nothing of rules; ``NAMES`` has all their names.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Collection, Iterator, Sequence
from typing import TYPE_CHECKING, NamedTuple, Protocol

from .shapes import Arrow, Circle, Line, Rectangle, Text, text_width

if TYPE_CHECKING:
    from .shapes import Point, Shape


class Symbol(NamedTuple):
    """A part of how a constraint is drawn.

    Attributes:
      name: one of ``NAMES``.
      cells: its cells, whose order matters for lines and signs.
      text: its number or letter.
    """

    name: str
    cells: tuple[int, ...]
    text: str = ""


class Places(Protocol):
    """Where cells are: what is needed of ``boards.Geometry``."""

    side: int
    width: int

    def corner(self, cell: int) -> tuple[int, int]: ...

    def square(self, cell: int, role: str, opacity: float = 1.0) -> Rectangle: ...

    def outline(self, cells: Collection[int], role: str = "house", inset: float = 0) -> Iterator[Line]: ...


#: The colours of lines, by their names.
_LINES = {
    "line": "grey-line",
    "palindrome": "grey-line",
    "between": "grey-line",
    "thermometer": "grey-line",
    "slow-thermometer": "grey-line",
    "whispers": "green-line",
    "renban": "purple-line",
    "region-sums": "blue-line",
    "lockout": "blue-line",
    "zipper": "lavender-line",
    "double-arrow": "lavender-line",
    "nabner": "yellow-line",
    "entropic": "orange-line",
    "modular": "teal-line",
    "parity": "red-line",
}
#: The shades of whole cells, by their names.
_SHADES = {"row-indexer": "house-2", "column-indexer": "house-4", "box-indexer": "house-1"}
#: Names of symbols that shade their cells as further houses do: each alone, or all together.
_REGIONS = ("region", "clone")
#: Sizes: labels of cages, texts on edges, numbers outside; the inset of cages; the radius of dots and of circles on
#: corners; how far numbers outside are from the edge of the board.
_LABEL, _EDGE, _OUTSIDE, _INSET, _DOT, _QUAD, _OFF = 11, 13, 15, 4, 6.5, 11, 15
#: Room for numbers outside, and for the labels of cages above candidates.
MARGIN, HEAD = 28, 11


def room(symbols: Sequence[Symbol], side: int) -> tuple[int, int, int]:
    """The room that symbols need: before the board (above and left), after it, and above candidates in cells."""
    before = after = 0
    for symbol in symbols:
        if symbol.name == "outside":
            down, right = _direction(symbol.cells, side)
            row, column = divmod(symbol.cells[0], side)
            before = max(before, MARGIN if row - down < 0 or column - right < 0 else 0)
            after = max(after, MARGIN if row - down >= side or column - right >= side else 0)
    head = any(symbol.name == "cage" and symbol.text for symbol in symbols)
    return before, after, HEAD if head else 0


def regions(symbols: Sequence[Symbol]) -> list[tuple[int, ...]]:
    """The sets of cells that are shaded as further houses are."""
    clones = [cell for symbol in symbols if symbol.name == "clone" for cell in symbol.cells]
    return [*(symbol.cells for symbol in symbols if symbol.name == "region"), *([tuple(clones)] if clones else [])]


def below(symbols: Sequence[Symbol], places: Places) -> Iterator[Shape]:
    """What lies below the lines between cells: shades, lines, circles."""
    for symbol in symbols:
        if symbol.name in _SHADES:
            yield from (places.square(cell, _SHADES[symbol.name]) for cell in symbol.cells)
    for symbol in symbols:
        if symbol.name in _BELOW:
            yield from _BELOW[symbol.name](symbol, places)


def above(symbols: Sequence[Symbol], places: Places) -> Iterator[Shape]:
    """What lies above the lines between cells: cages, dots, signs, numbers."""
    for symbol in symbols:
        if symbol.name in _ABOVE:
            yield from _ABOVE[symbol.name](symbol, places)
    yield from _numbers_outside(symbols, places)


# ---------------------------------------------------------------------- below


def _middle(places: Places, cell: int) -> Point:
    x, y = places.corner(cell)
    return x + places.width / 2, y + places.width / 2


def _towards(start: Point, end: Point, distance: float) -> Point:
    """The point at a distance from the first of two, in the direction of the second."""
    across, down = end[0] - start[0], end[1] - start[1]
    length = max(math.hypot(across, down), 1e-9)
    return start[0] + across * distance / length, start[1] + down * distance / length


def _line(symbol: Symbol, places: Places) -> Iterator[Shape]:
    yield Line(tuple(_middle(places, cell) for cell in symbol.cells), _LINES[symbol.name])


def _thermometer(symbol: Symbol, places: Places) -> Iterator[Shape]:
    yield from _line(symbol, places)
    x, y = _middle(places, symbol.cells[0])
    yield Circle(x, y, 0.36 * places.width, "bulb")
    if symbol.name == "slow-thermometer":
        yield Circle(x, y, 0.36 * places.width, "shaft")


def _with_circles(symbol: Symbol, places: Places) -> Iterator[Shape]:
    """A line with circles at its ends."""
    yield from _line(symbol, places)
    for cell in (symbol.cells[0], symbol.cells[-1]):
        x, y = _middle(places, cell)
        yield Circle(x, y, 0.38 * places.width, "paper")
        yield Circle(x, y, 0.38 * places.width, "shaft")


def _with_diamonds(symbol: Symbol, places: Places) -> Iterator[Shape]:
    """A line with diamonds at its ends."""
    yield from _line(symbol, places)
    for cell in (symbol.cells[0], symbol.cells[-1]):
        x, y = _middle(places, cell)
        far = 0.42 * places.width
        yield Line(((x, y - far), (x + far, y), (x, y + far), (x - far, y), (x, y - far)), "diamond")


def _circle(symbol: Symbol, places: Places) -> Iterator[Shape]:
    """The circle of an arrow, of one cell or of cells in a row or column."""
    radius, (first, last) = 0.4 * places.width, (_middle(places, cell) for cell in (symbol.cells[0], symbol.cells[-1]))
    if first == last:
        yield Circle(*first, radius, "shaft")
        return
    turn = math.atan2(last[1] - first[1], last[0] - first[0])
    points = [
        (
            x + radius * math.cos(turn + side * math.pi + step * math.pi / 16),
            y + radius * math.sin(turn + side * math.pi + step * math.pi / 16),
        )
        for side, (x, y) in ((0, last), (1, first))
        for step in range(-8, 9)
    ]
    yield Line((*points, points[0]), "shaft")


def _shaft(symbol: Symbol, places: Places) -> Iterator[Shape]:
    """The path of an arrow, which begins at the edge of the circle around its first cell."""
    first, *rest = (_middle(places, cell) for cell in symbol.cells)
    points = [_towards(first, rest[0], 0.4 * places.width), *rest]
    if len(points) > 2:
        yield Line(tuple(points[:-1]), "shaft")
    start, end = points[-2], points[-1]
    yield Arrow(start, ((start[0] + end[0]) / 2, (start[1] + end[1]) / 2), end, "shaft")


def _odd(symbol: Symbol, places: Places) -> Iterator[Shape]:
    for cell in symbol.cells:
        yield Circle(*_middle(places, cell), 0.4 * places.width, "parity")


def _even(symbol: Symbol, places: Places) -> Iterator[Shape]:
    gap = 0.12 * places.width
    for cell in symbol.cells:
        x, y = places.corner(cell)
        yield Rectangle(x + gap, y + gap, places.width - 2 * gap, places.width - 2 * gap, "parity")


_BELOW: dict[str, Callable[[Symbol, Places], Iterator[Shape]]] = dict.fromkeys(_LINES, _line)
_BELOW |= {
    "thermometer": _thermometer,
    "slow-thermometer": _thermometer,
    "between": _with_circles,
    "double-arrow": _with_circles,
    "lockout": _with_diamonds,
    "circle": _circle,
    "shaft": _shaft,
    "odd": _odd,
    "even": _even,
}


# ---------------------------------------------------------------------- above


def _cage(symbol: Symbol, places: Places) -> Iterator[Shape]:
    """A dashed outline with a label in the first cell."""
    yield from places.outline(symbol.cells, "cage", _INSET)
    if symbol.text:
        x, y = places.corner(min(symbol.cells))
        width = text_width(symbol.text, _LABEL) + 3
        yield Rectangle(x + _INSET - 2, y + _INSET - 2, width, _LABEL, "paper")
        yield Text(x + _INSET - 1, y + _INSET + _LABEL / 2 - 2, _LABEL, symbol.text, "text", centred=False)


def _edge(symbol: Symbol, places: Places) -> Point:
    """The middle of the cells."""
    middles = [_middle(places, cell) for cell in symbol.cells]
    return sum(x for x, _ in middles) / len(middles), sum(y for _, y in middles) / len(middles)


def _dot(symbol: Symbol, places: Places) -> Iterator[Shape]:
    x, y = _edge(symbol, places)
    black = symbol.name == "black-dot"
    radius = _DOT if not symbol.text else 1.3 * _DOT
    yield Circle(x, y, radius, "dot" if black else "paper")
    yield Circle(x, y, radius, "dot-rim")
    if symbol.text:
        yield Text(x, y, _LABEL, symbol.text, "dot-text" if black else "text")


def _on_edge(symbol: Symbol, places: Places) -> Iterator[Shape]:
    """A text between two cells."""
    x, y = _edge(symbol, places)
    width = text_width(symbol.text, _EDGE) + 4
    yield Rectangle(x - width / 2, y - _EDGE / 2 - 1, width, _EDGE + 2, "paper")
    yield Text(x, y, _EDGE, symbol.text, "text")


def _less(symbol: Symbol, places: Places) -> Iterator[Shape]:
    """The sign "<" between two cells, turned so that it points at the first one."""
    x, y = _edge(symbol, places)
    start, end = (_middle(places, cell) for cell in symbol.cells)
    across, down = _towards((0, 0), (end[0] - start[0], end[1] - start[1]), 5)
    yield Rectangle(x - 7, y - 7, 14, 14, "paper")
    ends = ((x + 0.7 * across + sign * down, y + 0.7 * down - sign * across) for sign in (1, -1))
    first, last = ends
    yield Line((first, (x - 0.7 * across, y - 0.7 * down), last), "sign")


def _corner(symbol: Symbol, places: Places) -> Iterator[Shape]:
    """A small circle with digits where four cells meet."""
    x, y = _edge(symbol, places)
    yield Circle(x, y, _QUAD, "paper")
    yield Circle(x, y, _QUAD, "dot-rim")
    half = -(-len(symbol.text) // 2)
    lines = [symbol.text[:half], symbol.text[half:]] if len(symbol.text) > 2 else [symbol.text]
    for number, line in enumerate(lines):
        yield Text(x, y + 9 * (number - (len(lines) - 1) / 2), _LABEL - 1, line, "text")


_ABOVE: dict[str, Callable[[Symbol, Places], Iterator[Shape]]] = {
    "cage": _cage,
    "white-dot": _dot,
    "black-dot": _dot,
    "edge": _on_edge,
    "less": _less,
    "corner": _corner,
}

#: The names of symbols.
NAMES = (*_BELOW, *_SHADES, *_REGIONS, *_ABOVE, "outside")


# ---------------------------------------------------------------------- outside


def _direction(cells: Sequence[int], side: int) -> tuple[int, int]:
    """The direction of a line of cells that begins at an edge of the board: rows and columns of a step."""
    (row, column), (next_row, next_column) = (divmod(cell, side) for cell in cells[:2])
    return next_row - row, next_column - column


def _numbers_outside(symbols: Sequence[Symbol], places: Places) -> Iterator[Shape]:
    """Numbers beside the first cells of lines; those of diagonals with an arrow."""
    texts: dict[tuple[int, int, int], list[str]] = {}
    for symbol in symbols:
        if symbol.name == "outside":
            texts.setdefault((symbol.cells[0], *_direction(symbol.cells, places.side)), []).append(symbol.text)
    for (cell, down, right), joined in texts.items():
        x, y = _middle(places, cell)
        far = places.width / 2 + _OFF
        x, y = x - far * right, y - far * down
        text = ",".join(joined)
        yield Text(x, y, _OUTSIDE if len(text) < 3 else _LABEL, text, "text")
        if down and right:
            start, end = (x + 7 * right, y + 7 * down), (x + 15 * right, y + 15 * down)
            yield Arrow(start, ((start[0] + end[0]) / 2, (start[1] + end[1]) / 2), end, "outside-arrow")
