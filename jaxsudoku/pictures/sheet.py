"""Many pictures as one."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING

from .picture import Picture
from .shapes import Text, moved, shortened

if TYPE_CHECKING:
    from .shapes import Shape

#: The space between pictures, and the size of titles.
_GAP, _SIZE = 18, 18


def sheet(
    pictures: Sequence[Picture], columns: int | None = None, titles: Sequence[str] = (), title: str = ""
) -> Picture:
    """Pictures in rows, as one picture. A row is as high as its highest picture.

    Args:
      pictures: the pictures.
      columns: how many there are in a row; None for about as many rows as columns.
      titles: a title above each; empty for none. Long ones are cut.
      title: a description for readers who do not see the picture; by default the titles.

    Raises:
      ValueError: no pictures, fewer than one column, or another number of titles.
    """
    if not pictures:
        raise ValueError("no pictures for a sheet")
    if columns is not None and columns < 1:
        raise ValueError(f"columns must be at least 1, not {columns}")
    if len(titles) not in (0, len(pictures)):
        raise ValueError(f"{len(titles)} titles for {len(pictures)} pictures")
    columns = min(columns or math.ceil(math.sqrt(len(pictures))), len(pictures))
    head = 2 * _SIZE if titles else 0
    width = max(picture.width for picture in pictures)
    shapes: list[Shape] = []
    down = y = float(_GAP)  # where the next row begins, and this one
    for number, picture in enumerate(pictures):
        column = number % columns
        if not column:
            y = down
            down += head + max(other.height for other in pictures[number : number + columns]) + _GAP
        x = _GAP + column * (width + _GAP)
        if titles:
            text = shortened(titles[number], _SIZE, picture.width)
            shapes.append(Text(x + picture.width / 2, y + _SIZE, _SIZE, text, "text"))
        shapes.extend(moved(shape, x, y + head) for shape in picture.shapes)
    return Picture(
        width * columns + _GAP * (columns + 1),
        down,
        tuple(shapes),
        title or ", ".join(titles) or f"{len(pictures)} pictures",
    )
