"""Trees as outlines: a node a row, each below its parent."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, NamedTuple

from .picture import Picture
from .shapes import Line, Text, extent, moved

if TYPE_CHECKING:
    from .shapes import Shape

#: The margin, the height of a row, the distance between levels, where a stem begins below a node, the size of texts.
MARGIN, ROW, _LEVEL, _STEM, SIZE = 14, 28, 34, 12, 13


class Row(NamedTuple):
    """A node, which follows its parent and what is below earlier children of it.

    Attributes:
      depth: the number of nodes above it.
      note: a text, behind the label.
      label: shapes from x = 0 on, whose middle is y = 0.
      width: the width of the label.
      edge: the role of the line to its parent.
    """

    depth: int
    note: str
    label: tuple[Shape, ...] = ()
    width: float = 0
    edge: str = "edge"


def outline(rows: Sequence[Row], left_out: int, title: str) -> Picture:
    """The picture of a tree.

    Args:
      rows: the nodes, the root first.
      left_out: how many nodes are left out, which a note says.
      title: a description for readers who do not see the picture.
    """
    shapes: list[Shape] = []
    parents: list[float] = []  # where the row of the last node of each depth is
    for number, (depth, note, label, width, edge) in enumerate(rows):
        x, y = float(MARGIN + _LEVEL * depth), MARGIN + ROW * (number + 0.5)
        del parents[depth:]
        parents.append(y)
        if depth:
            stem = x - _LEVEL + _STEM
            shapes.append(Line(((stem, parents[-2] + _STEM), (stem, y), (x - 4, y)), edge))
        shapes += [moved(shape, x, y) for shape in label]
        if note:
            shapes.append(Text(x + width, y, SIZE, note, "text", centred=False))
    if left_out:
        text = f"{left_out:,} further nodes of these levels are not drawn"
        shapes.append(Text(MARGIN, MARGIN + ROW * (len(rows) + 0.5), SIZE, text, "text", centred=False))
    # lines lie below labels
    shapes.sort(key=lambda shape: not isinstance(shape, Line))
    return framed(shapes, title)


def framed(shapes: Sequence[Shape], title: str) -> Picture:
    """A picture of shapes, with a margin."""
    right, down = extent(shapes)
    return Picture(right + MARGIN, down + MARGIN, tuple(shapes), title)
