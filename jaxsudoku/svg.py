"""Pictures of boards as SVG: digits, candidates, coloured cells and candidates, arrows. Plain text, no JAX.

Colours follow the reader's light or dark theme. A board is described by its side, the region of each cell and its
further houses, so that ``Board`` itself can be drawn.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator, Mapping, Sequence
from typing import NamedTuple
from xml.sax.saxutils import escape

#: A candidate: digit and cell, both from 0.
Candidate = tuple[int, int]

#: Width of the margin, in units of the picture.
_MARGIN = 3

#: Colours by role, in a light and in a dark theme.
_COLOURS = {
    "paper": ("#ffffff", "#1b1d21"),
    "line": ("#9aa0a8", "#6b727c"),
    "border": ("#20242a", "#e4e7ec"),
    "given": ("#111418", "#f4f6f8"),
    "filled": ("#1f5fbf", "#7db4ff"),
    "candidate": ("#6b727c", "#9aa3ad"),
    "house": ("#eef0f3", "#272b31"),
    "pattern": ("#dbe9ff", "#22344f"),
    "placed": ("#cdeccf", "#1f4526"),
    "kept": ("#1f5fbf", "#7db4ff"),
    "removed": ("#c62828", "#ff8a80"),
    "arrow": ("#c26a00", "#ffb74d"),
}

#: What a cell or a candidate can be marked as: its colour.
CELL_MARKS = ("pattern", "placed")
CANDIDATE_MARKS = ("kept", "removed")


class Marks(NamedTuple):
    """What is drawn on top of a grid.

    Attributes:
      candidates: the candidates of open cells, written small.
      cells: one of ``CELL_MARKS`` for each marked cell.
      marked: one of ``CANDIDATE_MARKS`` for each marked candidate.
      arrows: pairs of candidates, from the first to the second.
    """

    candidates: Sequence[Candidate] = ()
    cells: Mapping[int, str] = {}
    marked: Mapping[Candidate, str] = {}
    arrows: Sequence[tuple[Candidate, Candidate]] = ()


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
) -> str:
    """A board as an SVG image.

    Args:
      side: the side.
      regions: the region of each cell, row by row; borders are drawn between regions.
      extra: the cells of further houses, which are shaded.
      grid: the digit of each cell, 0 = empty; empty for the board alone.
      givens: the puzzle, whose digits are drawn in another colour than those filled in; empty for no difference.
      marks: what is drawn on top.
      title: a description for readers who do not see the picture.

    Returns:
      the text of the image, without an XML declaration, so that it can be put into a page.
    """
    size = side * _width(side) + 2 * _MARGIN
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {size} {size}" width="{size}" height="{size}"',
        ' class="jaxsudoku" role="img">',
        f"<title>{escape(title or f'{side}x{side} board')}</title>",
        f"<style>{_style()}</style>",
        f'<rect class="paper" width="{size}" height="{size}"/>',
        *(_square(side, cell, "house") for cell in sorted({cell for house in extra for cell in house})),
        *(_square(side, cell, mark) for cell, mark in sorted(marks.cells.items())),
        *_lines(side, regions),
        *_digits(side, grid, givens),
        *_candidates(side, marks),
        *_arrows(side, marks),
        "</svg>",
    ]
    return "".join(parts)


def _style() -> str:
    """The style sheet of a picture, which applies to pictures alone."""

    def rules(theme: int) -> str:
        return "".join(
            f".jaxsudoku .{name}{{{'stroke' if name in ('line', 'border', 'arrow') else 'fill'}:{colours[theme]}}}"
            for name, colours in _COLOURS.items()
        )

    fixed = (
        ".jaxsudoku text{font-family:sans-serif;text-anchor:middle;dominant-baseline:central}"
        ".jaxsudoku path{fill:none}.jaxsudoku .line{stroke-width:1}"
        ".jaxsudoku .border{stroke-width:3;stroke-linecap:square}"
        ".jaxsudoku .arrow{stroke-width:1.5}.jaxsudoku .given{font-weight:bold}"
        ".jaxsudoku .kept{font-weight:bold}.jaxsudoku .removed{font-weight:bold;text-decoration:line-through}"
    )
    return f"{fixed}{rules(0)}@media(prefers-color-scheme:dark){{{rules(1)}}}"


def _width(side: int) -> int:
    """The width of a cell, which holds as many candidates as the board has digits."""
    return 48 if side < 10 else 64


def _corner(side: int, cell: int) -> tuple[int, int]:
    """The upper left corner of a cell, x and y."""
    row, column = divmod(cell, side)
    return _MARGIN + column * _width(side), _MARGIN + row * _width(side)


def _square(side: int, cell: int, role: str) -> str:
    x, y = _corner(side, cell)
    return f'<rect class="{role}" x="{x}" y="{y}" width="{_width(side)}" height="{_width(side)}"/>'


def _lines(side: int, regions: Sequence[int]) -> Iterator[str]:
    """Thin lines between cells, and borders around regions."""
    width = _width(side)
    end = _MARGIN + side * width
    for place in range(1, side):
        at = _MARGIN + place * width
        yield f'<path class="line" d="M{at} {_MARGIN}V{end}M{_MARGIN} {at}H{end}"/>'
    for row, column in itertools.product(range(side), repeat=2):
        cell = row * side + column
        x, y = _corner(side, cell)
        if column == 0 or regions[cell] != regions[cell - 1]:
            yield f'<path class="border" d="M{x} {y}v{width}"/>'
        if row == 0 or regions[cell] != regions[cell - side]:
            yield f'<path class="border" d="M{x} {y}h{width}"/>'
    yield f'<path class="border" d="M{end} {_MARGIN}V{end}H{_MARGIN}"/>'


def _digits(side: int, grid: Sequence[int], givens: Sequence[int]) -> Iterator[str]:
    height, half = _width(side) * (0.6 if side < 10 else 0.5), _width(side) // 2
    for cell, digit in enumerate(grid):
        if digit:
            x, y = _corner(side, cell)
            role = "given" if not len(givens) or givens[cell] == digit else "filled"
            yield f'<text class="{role}" x="{x + half}" y="{y + half}" font-size="{height:g}">{digit}</text>'


def _spot(side: int, candidate: Candidate) -> tuple[float, float]:
    """The middle of a candidate in its cell."""
    digit, cell = candidate
    across, width = _across(side), _width(side)
    x, y = _corner(side, cell)
    return x + width * (digit % across + 0.5) / across, y + width * (digit // across + 0.5) / -(-side // across)


def _across(side: int) -> int:
    """Candidates in a row of a cell."""
    return math.isqrt(side - 1) + 1


def _candidates(side: int, marks: Marks) -> Iterator[str]:
    height = (0.8 if side < 10 else 0.62) * _width(side) / _across(side)
    for candidate in sorted({*marks.candidates, *marks.marked}):
        x, y = _spot(side, candidate)
        role = marks.marked.get(candidate, "candidate")
        yield f'<text class="{role}" x="{x:.1f}" y="{y:.1f}" font-size="{height:.1f}">{candidate[0] + 1}</text>'


def _arrows(side: int, marks: Marks) -> Iterator[str]:
    """Curved arrows between candidates, from the edge of the first one's text to that of the second."""
    for one, other in marks.arrows:
        (x, y), (end_x, end_y) = _spot(side, one), _spot(side, other)
        across, down = end_x - x, end_y - y
        length = max((across**2 + down**2) ** 0.5, 1.0)
        across, down = across / length, down / length
        gap = min(7.0, length / 3)
        x, y, end_x, end_y = x + gap * across, y + gap * down, end_x - gap * across, end_y - gap * down
        bend = min(12.0, length / 6)
        middle_x, middle_y = (x + end_x) / 2 - bend * down, (y + end_y) / 2 + bend * across
        yield (
            f'<path class="arrow" d="M{x:.1f} {y:.1f}Q{middle_x:.1f} {middle_y:.1f} {end_x:.1f} {end_y:.1f}'
            f"m{-5 * across - 3 * down:.1f} {-5 * down + 3 * across:.1f}L{end_x:.1f} {end_y:.1f}"
            f'l{-5 * across + 3 * down:.1f} {-5 * down - 3 * across:.1f}"/>'
        )
