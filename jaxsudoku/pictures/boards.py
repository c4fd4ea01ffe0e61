"""A grid on a board as a picture: digits, candidates, coloured cells and candidates, arrows.

A board is described by its side, the region of each cell and its further houses, so that ``Board`` itself can be drawn.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Collection, Iterator, Mapping, Sequence
from typing import NamedTuple

from . import constraints
from .constraints import Symbol
from .picture import Picture
from .shapes import Arrow, Line, Rectangle, Text

#: A candidate: digit and cell, both from 0.
Candidate = tuple[int, int]

#: Width of the margin, of a cell without candidates, and of the place of a candidate; the size of labels; the distance
#: of outlines from the edges of their cells.
_MARGIN, _CELL, _PLACE, _LABEL, _INSET = 6, 48, 18, 12, 2.5

#: What a cell can be marked as: its colour.
CELL_MARKS = ("pattern", "placed", "clash")
#: What a candidate can be marked as: its colour.
CANDIDATE_MARKS = ("kept", "removed", "right", "wrong", "true", "false")

#: Roles of the shades of further houses, so that houses that touch differ.
_HOUSES = ("house-1", "house-2", "house-3", "house-4")


class Marks(NamedTuple):
    """What is drawn on top of a grid. Cells are numbered from 0; a candidate is its digit and its cell, both from 0.

    Attributes:
      candidates: the candidates of open cells, written small.
      cells: one of ``CELL_MARKS`` for each marked cell.
      marked: one of ``CANDIDATE_MARKS`` for each marked candidate.
      arrows: pairs of candidates, from the first to the second.
      shades: cells shaded from 0, not at all, to 1.
      sizes: the sizes of candidates, from 0 to 1; 1 for those that have none.
      wrong: cells whose digit is drawn as wrong.
      dashed: further pairs of candidates, whose arrows are dashed.
      houses: sets of cells that are outlined.
    """

    candidates: Collection[Candidate] = ()
    cells: Mapping[int, str] = {}
    marked: Mapping[Candidate, str] = {}
    arrows: Sequence[tuple[Candidate, Candidate]] = ()
    shades: Mapping[int, float] = {}
    sizes: Mapping[Candidate, float] = {}
    wrong: Collection[int] = ()
    dashed: Sequence[tuple[Candidate, Candidate]] = ()
    houses: Sequence[Collection[int]] = ()


#: Nothing on top of a grid.
NO_MARKS = Marks()


def picture(
    side: int,
    regions: Sequence[int],
    extra: Sequence[Sequence[int]] = (),
    grid: Sequence[int] = (),
    givens: Sequence[int] = (),
    marks: Marks = NO_MARKS,
    title: str = "",
    labels: bool = False,
    wide: bool = False,
    symbols: Sequence[Symbol] = (),
) -> Picture:
    """A board as a picture.

    Args:
      side: the side.
      regions: the region of each cell, row by row; borders are drawn between regions.
      extra: the cells of further houses, which are shaded; houses that share or touch cells get different shades.
      grid: the digit of each cell, 0 = empty; empty for the board alone.
      givens: the puzzle, whose digits are drawn in another colour than those filled in; empty for no difference.
      marks: what is drawn on top.
      title: a description for readers who do not see the picture.
      labels: whether rows and columns are labelled, r1, r2 ... and c1, c2 ...
      wide: whether cells are as wide as for candidates if there are none.
      symbols: how the constraints of the board are drawn.

    Raises:
      ValueError: marks or symbols of cells or digits that the board does not have, or of an unknown kind; shades or
        sizes outside 0 to 1.
    """
    _check(side, marks)
    _check_symbols(side, symbols)
    wide = wide or bool(marks.candidates or marks.marked or marks.arrows or marks.dashed)
    layout = Geometry(side, wide, labels, symbols)
    size = layout.start + side * layout.width + layout.end
    shapes = (
        *(
            layout.square(cell, role)
            for cell, role in sorted(_shaded(side, (*extra, *constraints.regions(symbols))).items())
        ),
        *(layout.square(cell, "shade", 0.6 * shade) for cell, shade in sorted(marks.shades.items()) if shade),
        *(layout.square(cell, mark) for cell, mark in sorted(marks.cells.items())),
        *constraints.below(symbols, layout),
        *layout.lines(regions),
        *layout.labels(),
        *constraints.above(symbols, layout),
        *itertools.chain(*map(layout.outline, marks.houses)),
        *layout.digits(grid, givens, marks.wrong),
        *layout.candidates(marks),
        *layout.arrows(marks),
    )
    return Picture(size, size, shapes, title or f"{side}x{side} board")


def _check(side: int, marks: Marks) -> None:
    """Raises ValueError as ``picture``."""
    cells = range(side * side)
    for cell in (*marks.cells, *marks.shades, *marks.wrong, *itertools.chain(*marks.houses)):
        if cell not in cells:
            raise ValueError(f"a mark of cell {cell}; the board has cells 0 to {cells[-1]}")
    for digit, cell in (*marks.candidates, *marks.marked, *marks.sizes, *itertools.chain(*marks.arrows, *marks.dashed)):
        if cell not in cells or digit not in range(side):
            raise ValueError(
                f"a mark of the candidate (digit {digit}, cell {cell}); digits are 0 to {side - 1}, cells 0 to "
                f"{cells[-1]}"
            )
    for what, found, known in (("cell", marks.cells, CELL_MARKS), ("candidate", marks.marked, CANDIDATE_MARKS)):
        for mark in found.values():
            if mark not in known:
                raise ValueError(f"unknown mark {mark!r} of a {what}: choose one of {', '.join(known)}")
    for name, values in (("shades", marks.shades), ("sizes", marks.sizes)):
        for value in values.values():
            if not 0 <= value <= 1:
                raise ValueError(f"{name} lie between 0 and 1, not at {value}")


def _check_symbols(side: int, symbols: Sequence[Symbol]) -> None:
    """Raises ValueError for symbols of an unknown name, or of cells that the board does not have."""
    for symbol in symbols:
        if symbol.name not in constraints.NAMES:
            raise ValueError(f"unknown symbol {symbol.name!r}: choose one of {', '.join(constraints.NAMES)}")
        if not all(0 <= cell < side * side for cell in symbol.cells):
            raise ValueError(f"a symbol of cells {symbol.cells}; the board has cells 0 to {side * side - 1}")


def _shaded(side: int, extra: Sequence[Sequence[int]]) -> dict[int, str]:
    """The role of each cell of further houses."""
    shades: dict[int, str] = {}
    numbers: list[int] = []
    near = [
        {cell + step for cell in house for step in (0, side, -side)}
        | {cell + step for cell in house for step in (1, -1) if 0 <= cell % side + step < side}
        for house in extra
    ]
    for number, house in enumerate(extra):
        taken = {numbers[other] for other in range(number) if near[other].intersection(house)}
        free = [shade for shade in range(len(_HOUSES)) if shade not in taken]
        numbers.append(free[0] if free else number % len(_HOUSES))
        for cell in house:
            shades[cell] = "several-houses" if cell in shades else _HOUSES[numbers[-1]]
    return shades


class Geometry:
    """Where things are on a board.

    Args:
      side: the side.
      candidates: whether candidates are written into the cells, which are wider then on wide boards.
      labelled: whether rows and columns are labelled.
      symbols: how constraints are drawn: numbers outside the board and labels of cages need room.

    Attributes:
      width: the width of a cell.
      start: x and y of the upper left corner of the board.
      end: the width of the margin after the board.
      digit: the size of the digits of filled cells.
      small: the size of candidates.
    """

    def __init__(self, side: int, candidates: bool, labelled: bool, symbols: Sequence[Symbol] = ()) -> None:
        self.side = side
        self._labels = (20 if side < 10 else 28) if labelled else 0
        before, after, head = constraints.room(symbols, side)
        self._head = head if candidates else 0
        self.start, self.end = _MARGIN + self._labels + before, _MARGIN + after
        self.across = math.isqrt(side - 1) + 1
        self.down = -(-side // self.across)
        self.width = max(_PLACE * self.across + self._head // 2, _CELL) if candidates else _CELL
        self.digit = self.width * (0.6 if side < 10 else 0.5)
        self.small = (0.72 if side < 10 else 0.58) * (self.width - self._head) / max(self.across, self.down)

    def corner(self, cell: int) -> tuple[int, int]:
        """The upper left corner of a cell, x and y."""
        row, column = divmod(cell, self.side)
        return self.start + column * self.width, self.start + row * self.width

    def square(self, cell: int, role: str, opacity: float = 1.0) -> Rectangle:
        """The area of a cell."""
        return Rectangle(*self.corner(cell), self.width, self.width, role, opacity)

    def lines(self, regions: Sequence[int]) -> Iterator[Line]:
        """Thin lines between cells, and borders around regions."""
        side, width = self.side, self.width
        first, last = self.start, self.start + side * width
        rows = [regions[row * side : (row + 1) * side] for row in range(side)]
        for place in range(1, side):
            at = first + place * width
            yield Line(((at, first), (at, last)), "line")
            yield Line(((first, at), (last, at)), "line")
        for place in range(1, side):
            at = first + place * width
            for begin, end in _runs([row[place] != row[place - 1] for row in rows]):
                yield Line(((at, first + begin * width), (at, first + end * width)), "border")
            for begin, end in _runs([here != above for here, above in zip(rows[place], rows[place - 1], strict=True)]):
                yield Line(((first + begin * width, at), (first + end * width, at)), "border")
        yield Line(((first, first), (last, first), (last, last), (first, last), (first, first)), "border")

    def outline(self, cells: Collection[int], role: str = "house", inset: float = _INSET) -> Iterator[Line]:
        """The lines around a set of cells, within them: those along rows, then those along columns."""
        for turned in (False, True):
            inside = {divmod(cell, self.side)[:: 1 if turned else -1] for cell in cells}
            pieces: dict[float, list[tuple[float, float]]] = {}
            for (along, across), out in itertools.product(inside, (-1, 1)):
                if (along, across + out) not in inside:
                    at = self.start + self.width * (across + (out > 0)) - out * inset
                    before, after = (_beyond(inside, along + step, across, out, inset) for step in (-1, 1))
                    edge = self.start + self.width * along
                    pieces.setdefault(at, []).append((edge - before, edge + self.width + after))
            for at, found in sorted(pieces.items()):
                for first, last in _joined(found):
                    yield Line(((at, first), (at, last)) if turned else ((first, at), (last, at)), role)

    def labels(self) -> Iterator[Text]:
        """The labels of rows and columns, if any."""
        for number in range(self.side if self._labels else 0):
            at, before = self.start + self.width * (number + 0.5), _MARGIN + self._labels / 2
            yield Text(before, at, _LABEL, f"r{number + 1}", "label")
            yield Text(at, before, _LABEL, f"c{number + 1}", "label")

    def digits(self, grid: Sequence[int], givens: Sequence[int], wrong: Collection[int]) -> Iterator[Text]:
        """The digits of filled cells."""
        for cell, digit in enumerate(grid):
            if digit:
                x, y = self.corner(cell)
                given = not len(givens) or givens[cell] == digit
                role = "given" if given else "filled"
                if cell in wrong:
                    role = "wrong" if given else "wrong-filled"
                yield Text(x + self.width / 2, y + self.width / 2, self.digit, str(digit), role)

    def spot(self, candidate: Candidate) -> tuple[float, float]:
        """The middle of a candidate in its cell."""
        digit, cell = candidate
        x, y = self.corner(cell)
        row, column = divmod(digit, self.across)
        beside = 4 if self._head else 0  # cages have lines there
        inner = self.width - 2 * beside, self.width - self._head - beside
        return x + beside + inner[0] * (column + 0.5) / self.across, y + self._head + inner[1] * (row + 0.5) / self.down

    def candidates(self, marks: Marks) -> Iterator[Text | Line]:
        """Candidates; those that are removed are struck out."""
        for candidate in sorted({*marks.candidates, *marks.marked}):
            x, y = self.spot(candidate)
            role = marks.marked.get(candidate, "candidate")
            height = self.small * (0.45 + 0.75 * marks.sizes[candidate] if candidate in marks.sizes else 1)
            text = str(candidate[0] + 1)
            yield Text(x, y, height, text, role)
            if role == "removed":
                yield strike(x, y, height, text)

    def arrows(self, marks: Marks) -> Iterator[Arrow]:
        """Curved arrows between candidates, from the edge of the first one's text to that of the second."""
        for role, (one, other) in (
            *(("arrow", arrow) for arrow in marks.arrows),
            *(("dashed-arrow", arrow) for arrow in marks.dashed),
        ):
            (x, y), (end_x, end_y) = self.spot(one), self.spot(other)
            across, down = end_x - x, end_y - y
            length = max((across**2 + down**2) ** 0.5, 1.0)
            across, down = across / length, down / length
            gap = min(7.0, length / 3)
            bend = min(16.0, length / 6)
            yield Arrow(
                (x + gap * across, y + gap * down),
                ((x + end_x) / 2 - bend * down, (y + end_y) / 2 + bend * across),
                (end_x - gap * across, end_y - gap * down),
                role,
            )


def _beyond(inside: Collection[tuple[int, ...]], along: int, across: int, out: int, inset: float) -> float:
    """How far a line of an outline goes beyond its cell towards the next one, where it goes on or turns."""
    if (along, across) not in inside:
        return -inset
    return inset if (along, across + out) in inside else 0


def _joined(pieces: Sequence[tuple[float, float]]) -> list[tuple[float, float]]:
    """Stretches, where those that touch are one."""
    joined: list[tuple[float, float]] = []
    for first, last in sorted(pieces):
        if joined and joined[-1][1] >= first:
            joined[-1] = joined[-1][0], last
        else:
            joined.append((first, last))
    return joined


def strike(x: float, y: float, size: float, text: str) -> Line:
    """The line through a text around x and y."""
    half = 0.35 * size * (1 + len(text) / 2)
    return Line(((x - half, y + half / 2), (x + half, y - half / 2)), "strike")


def _runs(flags: Sequence[bool]) -> Iterator[tuple[int, int]]:
    """The stretches of flags that are set, each as its begin and its end."""
    place = 0
    for flag, group in itertools.groupby(flags):
        length = len(list(group))
        if flag:
            yield place, place + length
        place += length
