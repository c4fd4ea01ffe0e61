"""A picture with what it means below it: a sentence, and a legend of its arrows and colours."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from .boards import CELL_MARKS, strike
from .picture import Picture
from .shapes import Arrow, Line, Rectangle, Text, text_width

if TYPE_CHECKING:
    from .shapes import Shape

#: The margin, the height of a line, the size of texts, and the width of a sample in the legend.
_MARGIN, _LINE, _SIZE, _SAMPLE = 8, 21, 14, 26


def captioned(picture: Picture, text: str = "", legend: Sequence[tuple[str, str]] = ()) -> Picture:
    """A picture with a text and a legend below it; it is as wide as before, and has the same title.

    Args:
      picture: the picture.
      text: the text, which is broken into lines.
      legend: roles of arrows, of marks of cells or of candidates, each with its meaning.
    """
    width = picture.width - 2 * _MARGIN
    shapes: list[Shape] = [*picture.shapes]
    y = picture.height + _LINE / 2
    across = 0.0
    for number, (role, meaning) in enumerate(legend):
        needed = _SAMPLE + 6 + text_width(meaning, _SIZE) + 14
        if number and across + needed > width:
            across, y = 0.0, y + _LINE
        shapes += sample(role, _MARGIN + across, y)
        shapes.append(Text(_MARGIN + across + _SAMPLE + 6, y, _SIZE, meaning, "text", centred=False))
        across += needed
    if legend:
        y += 1.2 * _LINE
    for line in _lines(text, width):
        shapes.append(Text(_MARGIN, y, _SIZE, line, "text", centred=False))
        y += _LINE
    return Picture(picture.width, y - _LINE / 2 + _MARGIN, tuple(shapes), picture.title)


def sample(role: str, x: float, y: float) -> list[Shape]:
    """What arrows, outlines, marked cells or candidates of a role look like: shapes of 26 x 16 units around y."""
    middle = x + _SAMPLE / 2
    if role.endswith("arrow"):
        return [Arrow((x, y), (middle, y), (x + _SAMPLE, y), role)]
    if role == "house":
        left, right, top, bottom = middle - 8, middle + 8, y - 8, y + 8
        return [Line(((left, top), (right, top), (right, bottom), (left, bottom), (left, top)), role)]
    if role in CELL_MARKS:
        return [Rectangle(middle - 8, y - 8, 16, 16, role)]
    digit = Text(middle, y, _SIZE, "5", role)
    return [digit, strike(middle, y, _SIZE, "5")] if role == "removed" else [digit]


def _lines(text: str, width: float) -> list[str]:
    """A text in lines, as wide as ``width`` at most where its words allow."""
    lines: list[str] = []
    for word in text.split():
        if lines and text_width(f"{lines[-1]} {word}", _SIZE) <= width:
            lines[-1] += f" {word}"
        else:
            lines.append(word)
    return lines
