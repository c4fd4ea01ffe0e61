"""A grid on a board as a picture: digits, candidates, coloured cells and candidates, arrows.

A board is described by its side, the region of each cell and its further houses, so that ``Board`` itself can be drawn.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Collection, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, NamedTuple

from .picture import Picture
from .shapes import Arrow, Line, Rectangle, Text

if TYPE_CHECKING:
    pass

#: A candidate: digit and cell, both from 0.
Candidate = tuple[int, int]

#: Width of the margin, of a cell without candidates, and of the place of a candidate.
_MARGIN, _CELL, _PLACE = 6, 48, 18

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
    """

    candidates: Collection[Candidate] = ()
    cells: Mapping[int, str] = {}
    marked: Mapping[Candidate, str] = {}
    arrows: Sequence[tuple[Candidate, Candidate]] = ()
    shades: Mapping[int, float] = {}
    sizes: Mapping[Candidate, float] = {}
    wrong: Collection[int] = ()


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

    Raises:
      ValueError: marks of cells or digits that the board does not have, or of an unknown kind; shades or sizes outside
        0 to 1.
    """
    _check(side, marks)
    layout = _Layout(side, bool(marks.candidates or marks.marked or marks.arrows))
    size = side * layout.width + 2 * _MARGIN
    shapes = (
        *(layout.square(cell, role) for cell, role in sorted(_shaded(side, extra).items())),
        *(layout.square(cell, "shade", 0.6 * shade) for cell, shade in sorted(marks.shades.items()) if shade),
        *(layout.square(cell, mark) for cell, mark in sorted(marks.cells.items())),
        *layout.lines(regions),
        *layout.digits(grid, givens, marks.wrong),
        *layout.candidates(marks),
        *layout.arrows(marks.arrows),
    )
    return Picture(size, size, shapes, title or f"{side}x{side} board")


def _check(side: int, marks: Marks) -> None:
    """Raises ValueError as ``picture``."""
    cells = range(side * side)
    for cell in (*marks.cells, *marks.shades, *marks.wrong):
        if cell not in cells:
            raise ValueError(f"a mark of cell {cell}; the board has cells 0 to {cells[-1]}")
    for digit, cell in (*marks.candidates, *marks.marked, *marks.sizes, *itertools.chain(*marks.arrows)):
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


class _Layout:
    """Where things are on a board.

    Args:
      side: the side.
      candidates: whether candidates are written into the cells, which are wider then on wide boards.
    """

    def __init__(self, side: int, candidates: bool) -> None:
        self.side = side
        self.across = math.isqrt(side - 1) + 1
        self.down = -(-side // self.across)
        self.width = max(_PLACE * self.across, _CELL) if candidates else _CELL

    def corner(self, cell: int) -> tuple[int, int]:
        """The upper left corner of a cell, x and y."""
        row, column = divmod(cell, self.side)
        return _MARGIN + column * self.width, _MARGIN + row * self.width

    def square(self, cell: int, role: str, opacity: float = 1.0) -> Rectangle:
        """The area of a cell."""
        return Rectangle(*self.corner(cell), self.width, self.width, role, opacity)

    def lines(self, regions: Sequence[int]) -> Iterator[Line]:
        """Thin lines between cells, and borders around regions."""
        side, width = self.side, self.width
        first, last = _MARGIN, _MARGIN + side * width
        rows = [regions[row * side : (row + 1) * side] for row in range(side)]
        for place in range(1, side):
            at = _MARGIN + place * width
            yield Line(((at, first), (at, last)), "line")
            yield Line(((first, at), (last, at)), "line")
        for place in range(1, side):
            at = _MARGIN + place * width
            for begin, end in _runs([row[place] != row[place - 1] for row in rows]):
                yield Line(((at, first + begin * width), (at, first + end * width)), "border")
            for begin, end in _runs([here != above for here, above in zip(rows[place], rows[place - 1], strict=True)]):
                yield Line(((first + begin * width, at), (first + end * width, at)), "border")
        yield Line(((first, first), (last, first), (last, last), (first, last), (first, first)), "border")

    def digits(self, grid: Sequence[int], givens: Sequence[int], wrong: Collection[int]) -> Iterator[Text]:
        """The digits of filled cells."""
        size = self.width * (0.6 if self.side < 10 else 0.5)
        for cell, digit in enumerate(grid):
            if digit:
                x, y = self.corner(cell)
                given = not len(givens) or givens[cell] == digit
                role = "given" if given else "filled"
                if cell in wrong:
                    role = "wrong" if given else "wrong-filled"
                yield Text(x + self.width / 2, y + self.width / 2, size, str(digit), role)

    def spot(self, candidate: Candidate) -> tuple[float, float]:
        """The middle of a candidate in its cell."""
        digit, cell = candidate
        x, y = self.corner(cell)
        row, column = divmod(digit, self.across)
        return x + self.width * (column + 0.5) / self.across, y + self.width * (row + 0.5) / self.down

    def candidates(self, marks: Marks) -> Iterator[Text | Line]:
        """Candidates; those that are removed are struck out."""
        size = (0.72 if self.side < 10 else 0.58) * self.width / max(self.across, self.down)
        for candidate in sorted({*marks.candidates, *marks.marked}):
            x, y = self.spot(candidate)
            role = marks.marked.get(candidate, "candidate")
            height = size * (0.45 + 0.75 * marks.sizes[candidate] if candidate in marks.sizes else 1)
            text = str(candidate[0] + 1)
            yield Text(x, y, height, text, role)
            if role == "removed":
                half = 0.35 * height * (1 + len(text) / 2)
                yield Line(((x - half, y + half / 2), (x + half, y - half / 2)), "strike")

    def arrows(self, arrows: Sequence[tuple[Candidate, Candidate]]) -> Iterator[Arrow]:
        """Curved arrows between candidates, from the edge of the first one's text to that of the second."""
        for one, other in arrows:
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
                "arrow",
            )


def _runs(flags: Sequence[bool]) -> Iterator[tuple[int, int]]:
    """The stretches of flags that are set, each as its begin and its end."""
    place = 0
    for flag, group in itertools.groupby(flags):
        length = len(list(group))
        if flag:
            yield place, place + length
        place += length
