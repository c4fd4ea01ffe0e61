"""Renders pictures by matplotlib, into PNG and PDF files or into axes. Texts are drawn as outlines, in scale."""

from __future__ import annotations

import functools
import itertools
import os
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from jaxsudoku.runtime.escapes import shown

from .figures import import_figure
from .shapes import ROLES, Arrow, Circle, Drawing, Line, Rectangle, Text

if TYPE_CHECKING:
    from .shapes import Shape

#: Units of a picture in an inch, and points in one.
_UNITS, _POINTS = 96, 72


def save(picture: Drawing, path: str | os.PathLike[str], theme: str, dpi: float) -> None:
    """Writes a picture into a file of a format that matplotlib knows."""
    size = picture.width / _UNITS, picture.height / _UNITS
    figure = import_figure().Figure(figsize=size, facecolor=getattr(ROLES["paper"], theme))
    draw(picture, figure.add_axes((0, 0, 1, 1)), theme)
    # no date, so that equal pictures are equal files
    metadata = {"CreationDate": None} if os.fspath(path).lower().endswith(".pdf") else {}
    figure.savefig(path, dpi=dpi, metadata={"Title": shown(picture.title) or None, **metadata})


def draw(picture: Drawing, axes: Any, theme: str) -> None:
    """Draws a picture into axes, which are given its scale."""
    import_figure()
    from matplotlib.collections import PathCollection

    axes.set(xlim=(0, picture.width), ylim=(picture.height, 0), aspect="equal")
    axes.axis("off")
    # lines have the width that fits the size of the axes now; everything else is in units of the picture
    box = axes.get_position()
    figure_width, figure_height = axes.figure.get_size_inches()
    inches = min(box.width * figure_width / picture.width, box.height * figure_height / picture.height)
    scale = _POINTS * inches
    paper = Rectangle(0, 0, picture.width, picture.height, "paper")
    groups = itertools.groupby([paper, *picture.shapes], lambda shape: (shape.role, getattr(shape, "opacity", 1.0)))
    for order, ((role, opacity), shapes) in enumerate(groups):
        look = ROLES[role]
        colour = getattr(look, theme)
        drawn = list(shapes)
        paths = [path for shape in drawn for path in _paths(shape)]
        style = {"facecolors": colour, "linewidths": 0}
        if look.width:
            cap = "round" if look.round else "projecting" if role in ("border", "house") else "butt"
            style = {"facecolors": "none", "edgecolors": colour, "linewidths": look.width * scale, "capstyle": cap}
            style |= {"joinstyle": "round"} if look.round else {}
        solid = paths
        if look.dash:
            solid = [list(_paths(shape))[1] for shape in drawn if isinstance(shape, Arrow)]  # their heads
            dashed = [next(_paths(shape)) for shape in drawn]
            dashes = (0, (look.dash / look.width, look.dash / look.width))  # in widths of the line
            axes.add_collection(PathCollection(dashed, linestyles=[dashes], zorder=order + 1, **style), autolim=False)
        axes.add_collection(PathCollection(solid, alpha=opacity, zorder=order + 1, **style), autolim=False)


def _paths(shape: Shape) -> Iterator[Any]:
    """A shape as paths of matplotlib, in units of the picture."""
    from matplotlib.path import Path

    if isinstance(shape, Rectangle):
        right, down = shape.x + shape.width, shape.y + shape.height
        corners = [(shape.x, shape.y), (right, shape.y), (right, down), (shape.x, down), (shape.x, shape.y)]
        yield Path(corners, closed=True)
    elif isinstance(shape, Circle):
        yield Path.circle((shape.x, shape.y), shape.radius)
    elif isinstance(shape, Line):
        yield Path(shape.points)
    elif isinstance(shape, Arrow):
        yield Path([shape.start, shape.middle, shape.end], [Path.MOVETO, Path.CURVE3, Path.CURVE3])
        yield Path(shape.head())
    else:
        yield _text(shape)


def _text(shape: Text) -> Any:
    """The outline of a text; y runs downwards."""
    from matplotlib.transforms import Affine2D

    path, width = _outline(shown(shape.text), ROLES[shape.role].bold)
    left = shape.x - (shape.size * width / 2 if shape.centred else 0)
    return path.transformed(Affine2D().scale(shape.size, -shape.size).translate(left, shape.baseline))


@functools.lru_cache(maxsize=4096)
def _outline(text: str, bold: bool) -> tuple[Any, float]:
    """The outline of a text of size 1 from the origin, and the width that it takes."""
    from matplotlib.font_manager import FontProperties
    from matplotlib.textpath import TextPath, TextToPath
    from matplotlib.transforms import Affine2D

    font = FontProperties(family="sans-serif", weight="bold" if bold else "normal")
    width, _, _ = TextToPath().get_text_width_height_descent(text, font, ismath=False)
    # made at a size of 100, for precision; a dollar would begin a formula
    outline = TextPath((0, 0), text.replace("$", r"\$"), size=100, prop=font, usetex=False)
    return outline.transformed(Affine2D().scale(0.01)), width / font.get_size_in_points()
