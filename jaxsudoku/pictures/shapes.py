"""A drawing: a list of shapes with roles, in units of 1/96 inch; y runs downwards."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from typing import TypeAlias

Point = tuple[float, float]


class Look(NamedTuple):
    """How shapes of a role look.

    Attributes:
      light, dark: the colour in a light and in a dark theme.
      width: the width of lines; 0 for shapes and texts, which are filled.
      bold: whether texts are bold.
      dash: of lines and arrows, the length of dashes and of the gaps between them; 0 for a solid line.
      round: whether lines have round ends and corners.
    """

    light: str
    dark: str
    width: float = 0
    bold: bool = False
    dash: float = 0
    round: bool = False


#: Every role. The first is that of the background.
ROLES = {
    "paper": Look("#ffffff", "#1b1d21"),
    "line": Look("#9aa0a8", "#6b727c", 1),
    "border": Look("#20242a", "#e4e7ec", 3),
    "given": Look("#111418", "#f4f6f8", bold=True),
    "filled": Look("#1f5fbf", "#7db4ff"),
    "wrong": Look("#c62828", "#ff8a80", bold=True),
    "wrong-filled": Look("#c62828", "#ff8a80"),
    "right": Look("#1b7a2f", "#7fd38b", bold=True),
    "candidate": Look("#6b727c", "#9aa3ad"),
    "kept": Look("#1f5fbf", "#7db4ff", bold=True),
    "removed": Look("#c62828", "#ff8a80", bold=True),
    "true": Look("#1b7a2f", "#7fd38b", bold=True),
    "false": Look("#a85500", "#ffb74d", bold=True),
    "strike": Look("#c62828", "#ff8a80", 1.3),
    "house-1": Look("#e9e1f7", "#352d47"),
    "house-2": Look("#d9eff0", "#1f3c3f"),
    "house-3": Look("#f8ead2", "#43371f"),
    "house-4": Look("#f8e0e6", "#46292f"),
    "several-houses": Look("#cfd3da", "#4a505a"),
    "pattern": Look("#cfe2ff", "#22406b"),
    "placed": Look("#bfe8c3", "#1f5a2b"),
    "house": Look("#7b3fc4", "#c9a6ff", 2),
    "clash": Look("#ffaea6", "#7a2a26"),
    "shade": Look("#f2a33a", "#b06f00"),
    "grey-line": Look("#d0d4d9", "#545b64", 11, round=True),
    "green-line": Look("#95dc95", "#2f7d3a", 11, round=True),
    "purple-line": Look("#e3a3e9", "#8a3f93", 11, round=True),
    "blue-line": Look("#96cdf6", "#2f6a9c", 11, round=True),
    "lavender-line": Look("#cdc0f3", "#5d4c96", 11, round=True),
    "yellow-line": Look("#efe08c", "#85761d", 11, round=True),
    "orange-line": Look("#f8c894", "#9a6224", 11, round=True),
    "teal-line": Look("#8bd8d1", "#237a73", 11, round=True),
    "red-line": Look("#f5ada5", "#99443b", 11, round=True),
    "bulb": Look("#d0d4d9", "#545b64"),
    "parity": Look("#dde0e5", "#3d434c"),
    "shaft": Look("#8b929b", "#8b929b", 2),
    "diamond": Look("#2f7fc4", "#6db3f2", 2),
    "cage": Look("#4a505a", "#b4bbc4", 1.2, dash=4),
    "dot": Look("#20242a", "#e4e7ec"),
    "dot-rim": Look("#20242a", "#e4e7ec", 1.3),
    "dot-text": Look("#ffffff", "#1b1d21"),
    "sign": Look("#20242a", "#e4e7ec", 2, round=True),
    "outside-arrow": Look("#6b727c", "#9aa3ad", 1.3),
    "value": Look("#2f7fe0", "#4f9bff"),
    "arrow": Look("#c26a00", "#ffb74d", 1.8),
    "dashed-arrow": Look("#c26a00", "#ffb74d", 1.8, dash=4),
    "edge": Look("#9aa0a8", "#6b727c", 1),
    "edge-removed": Look("#c62828", "#ff8a80", 1),
    "edge-joined": Look("#c26a00", "#ffb74d", 1),
    "rim": Look("#6b727c", "#9aa3ad", 1),
    "ring": Look("#1b7a2f", "#7fd38b", 2.5),
    "text": Look("#20242a", "#e4e7ec"),
    "label": Look("#6b727c", "#9aa3ad"),
    "peg-text": Look("#ffffff", "#ffffff", bold=True),
    "peg-1": Look("#c62828", "#c62828"),
    "peg-2": Look("#1f5fbf", "#1f5fbf"),
    "peg-3": Look("#1b7a2f", "#1b7a2f"),
    "peg-4": Look("#8a5a00", "#8a5a00"),
    "peg-5": Look("#6a3fb5", "#6a3fb5"),
    "peg-6": Look("#00727d", "#00727d"),
    "peg-7": Look("#b0317a", "#b0317a"),
    "peg-8": Look("#4a505a", "#4a505a"),
    "exact": Look("#111418", "#f4f6f8"),
}


class Rectangle(NamedTuple):
    """A filled rectangle; ``opacity`` lets what lies below shine through."""

    x: float
    y: float
    width: float
    height: float
    role: str
    opacity: float = 1.0


class Circle(NamedTuple):
    """A filled circle, or with a role that has a width the line around one."""

    x: float
    y: float
    radius: float
    role: str
    opacity: float = 1.0


class Line(NamedTuple):
    """A line through points."""

    points: tuple[Point, ...]
    role: str


class Arrow(NamedTuple):
    """An arrow along a quadratic curve from its start to its end, bent towards ``middle``."""

    start: Point
    middle: Point
    end: Point
    role: str

    def head(self) -> tuple[Point, Point, Point]:
        """The three points of the arrow's head."""
        across, down = self.end[0] - self.middle[0], self.end[1] - self.middle[1]
        length = max((across**2 + down**2) ** 0.5, 1e-9)
        across, down = across / length, down / length
        x, y = self.end
        return (
            (x - 5 * across - 3 * down, y - 5 * down + 3 * across),
            self.end,
            (
                x - 5 * across + 3 * down,
                y - 5 * down - 3 * across,
            ),
        )


class Text(NamedTuple):
    """A text whose capital letters are centred on y, of ``size`` units; it begins at x, or is centred there."""

    x: float
    y: float
    size: float
    text: str
    role: str
    centred: bool = True

    @property
    def baseline(self) -> float:
        """The y of its baseline."""
        return self.y + 0.36 * self.size


if TYPE_CHECKING:
    Shape: TypeAlias = Rectangle | Circle | Line | Arrow | Text


@dataclasses.dataclass(frozen=True)
class Drawing:
    """Shapes on a background.

    Attributes:
      width, height: in units of 1/96 inch.
      shapes: the shapes, the lowest first.
      title: a description for readers who do not see the picture.
    """

    width: float
    height: float
    shapes: tuple[Shape, ...] = dataclasses.field(repr=False)
    title: str = ""


def moved(shape: Shape, across: float, down: float) -> Shape:
    """A shape at another place."""

    def point(at: Point) -> Point:
        return at[0] + across, at[1] + down

    if isinstance(shape, Line):
        return shape._replace(points=tuple(map(point, shape.points)))
    if isinstance(shape, Arrow):
        return shape._replace(start=point(shape.start), middle=point(shape.middle), end=point(shape.end))
    return shape._replace(x=shape.x + across, y=shape.y + down)


def text_width(text: str, size: float) -> float:
    """About the width of a text, for layouts."""
    return 0.55 * size * len(text)


def shortened(text: str, size: float, width: float) -> str:
    """A text cut with an ellipsis so that it is about as wide as ``width`` at most."""
    if text_width(text, size) <= width:
        return text
    return f"{text[: max(int(width / (0.55 * size)) - 1, 0)].rstrip()}…"


def extent(shapes: Sequence[Shape]) -> Point:
    """The right and the lower end of shapes that begin at 0, texts measured roughly."""
    right = down = 0.0
    for shape in shapes:
        if isinstance(shape, Rectangle):
            ends = [(shape.x + shape.width, shape.y + shape.height)]
        elif isinstance(shape, Circle):
            ends = [(shape.x + shape.radius, shape.y + shape.radius)]
        elif isinstance(shape, Line):
            ends = list(shape.points)
        elif isinstance(shape, Arrow):
            ends = [shape.start, shape.middle, shape.end]
        else:
            width = text_width(shape.text, shape.size)
            ends = [(shape.x + (width / 2 if shape.centred else width), shape.y + shape.size / 2)]
        right, down = max(right, *(x for x, _ in ends)), max(down, *(y for _, y in ends))
    return right, down
