"""Renders pictures as SVG text. Colours follow the reader's light or dark theme, unless one is named."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

from jaxsudoku.runtime.escapes import markup

from .shapes import ROLES, Arrow, Circle, Drawing, Line, Point, Rectangle, Text

if TYPE_CHECKING:
    from .shapes import Shape


def text(picture: Drawing, theme: str | None) -> str:
    """The text of an SVG image; ``theme`` is "light", "dark", or None for the reader's."""
    used = ["paper", *dict.fromkeys(shape.role for shape in picture.shapes)]
    title = f"<title>{markup(picture.title)}</title>" if picture.title else ""
    attributes = f'xmlns="http://www.w3.org/2000/svg" class="{_kind(theme)}"'
    return _image(picture, attributes, f"{title}<style>{style(used, theme)}</style>")


def inline(picture: Drawing, label: str) -> str:
    """An image for a page of HTML with the ``style`` of its roles; ``label`` is read to who does not see it."""
    return _image(picture, f'class="{_kind(None)}" aria-label="{markup(label)}"', "")


def _image(picture: Drawing, attributes: str, head: str) -> str:
    width, height = _number(picture.width), _number(picture.height)
    return "".join(
        [
            f'<svg {attributes} viewBox="0 0 {width} {height}" width="{width}" height="{height}" role="img">{head}',
            f'<rect class="paper" width="{width}" height="{height}"/>',
            *map(element, picture.shapes),
            "</svg>",
        ]
    )


def _kind(theme: str | None) -> str:
    """The class of the pictures of a theme."""
    return "jaxsudoku" if theme is None else f"jaxsudoku-{theme}"


def style(roles: Iterable[str], theme: str | None = None) -> str:
    """The style sheet of pictures with some roles. In a page it applies to all of this theme, and to nothing else."""
    kind = _kind(theme)

    def colours(theme: str) -> str:
        return "".join(
            f".{kind} .{role}{{{'stroke' if ROLES[role].width else 'fill'}:{getattr(ROLES[role], theme)}}}"
            for role in sorted(roles)
        )

    fixed = f".{kind}{{max-width:100%;height:auto}}.{kind} text{{font-family:sans-serif}}.{kind} .middle"
    fixed += f"{{text-anchor:middle}}.{kind} path{{fill:none}}"
    for role in sorted(roles):
        if ROLES[role].width:
            dash = f";stroke-dasharray:{_number(ROLES[role].dash)}" if ROLES[role].dash else ""
            dash += ";stroke-linecap:round;stroke-linejoin:round" if ROLES[role].round else ""
            fixed += f".{kind} .{role}{{fill:none;stroke-width:{_number(ROLES[role].width)}{dash}}}"
        elif ROLES[role].bold:
            fixed += f".{kind} .{role}{{font-weight:bold}}"
    fixed += f".{kind} .border,.{kind} .house{{stroke-linecap:square}}"
    if theme is not None:
        return fixed + colours(theme)
    return f"{fixed}{colours('light')}@media(prefers-color-scheme:dark){{{colours('dark')}}}"


def element(shape: Shape) -> str:
    """A shape as an element; a dashed arrow as two, as its head is solid."""
    if isinstance(shape, Rectangle):
        size = f'width="{_number(shape.width)}" height="{_number(shape.height)}"'
        place = f'x="{_number(shape.x)}" y="{_number(shape.y)}"'
        return f'<rect class="{shape.role}" {place} {size}{_opacity(shape.opacity)}/>'
    if isinstance(shape, Circle):
        place = f'cx="{_number(shape.x)}" cy="{_number(shape.y)}" r="{_number(shape.radius)}"'
        return f'<circle class="{shape.role}" {place}{_opacity(shape.opacity)}/>'
    if isinstance(shape, Text):
        kind = f"{shape.role} middle" if shape.centred else shape.role
        place = f'x="{_number(shape.x)}" y="{_number(shape.baseline)}" font-size="{_number(shape.size)}"'
        return f'<text class="{kind}" {place}>{markup(shape.text)}</text>'
    if isinstance(shape, Line):
        return f'<path class="{shape.role}" d="{_polyline(shape.points)}"/>'
    assert isinstance(shape, Arrow)
    curve = f"M{_point(shape.start)}Q{_point(shape.middle)} {_point(shape.end)}"
    between = f'"/><path class="{shape.role}" stroke-dasharray="none" d="' if ROLES[shape.role].dash else ""
    return f'<path class="{shape.role}" d="{curve}{between}{_polyline(shape.head())}"/>'


def _polyline(points: tuple[Point, ...]) -> str:
    return f"M{'L'.join(map(_point, points))}"


def _point(point: Point) -> str:
    return f"{_number(point[0])} {_number(point[1])}"


def _number(value: float) -> str:
    """A number with at most two decimals."""
    return f"{round(value, 2):g}" if abs(value) < 1000 else f"{value:.2f}".rstrip("0").rstrip(".")


def _opacity(opacity: float) -> str:
    return "" if opacity == 1 else f' opacity="{opacity:.3g}"'
