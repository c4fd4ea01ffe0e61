"""Parts of the documentation's pictures: SVG in the colours of a light and of a dark theme."""

from __future__ import annotations

from xml.sax.saxutils import escape

#: Colours in a light and in a dark theme.
_COLOURS = {
    "paper": ("#ffffff", "#1b1d21"),
    "ink": ("#20242a", "#e4e7ec"),
    "muted": ("#59616b", "#a3abb6"),
    "faint": ("#9aa0a8", "#6b727c"),
    "box": ("#eef0f3", "#2a2e35"),
    "one": ("#dbe9ff", "#22344f"),
    "two": ("#cdeccf", "#1f4526"),
    "three": ("#ffe2c2", "#54381a"),
    "four": ("#f3d9f5", "#4a2a4e"),
    "blue": ("#1f5fbf", "#7db4ff"),
    "green": ("#1b7a2f", "#7fd38b"),
    "orange": ("#b35c00", "#ffb74d"),
    "red": ("#c62828", "#ff8a80"),
    "purple": ("#6a3fb5", "#b79cff"),
    "clash": ("#ffc9c4", "#6b2723"),
}


def _style() -> str:
    def rules(theme: int) -> str:
        return "".join(
            f".{name}{{fill:{both[theme]}}}.{name}-line{{stroke:{both[theme]}}}" for name, both in _COLOURS.items()
        )

    fixed = "text{font-family:sans-serif;dominant-baseline:central}.strong{font-weight:bold}path{fill:none}"
    return f"{fixed}{rules(0)}@media(prefers-color-scheme:dark){{{rules(1)}}}"


def picture(width: int, height: int, title: str, *parts: str, style: str = "") -> str:
    """An SVG image of some parts, with a description for readers who do not see it, and further rules of style."""
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" width="{width}" height="{height}" '
        f'role="img"><title>{escape(title)}</title><style>{_style()}{style}</style>'
        '<defs><marker id="head" viewBox="0 0 8 8" refX="7" refY="4" markerWidth="7" markerHeight="7" orient="auto">'
        '<polygon points="0,0 8,4 0,8" class="ink"/></marker></defs>'
        f'<rect class="paper" width="{width}" height="{height}"/>{"".join(parts)}</svg>\n'
    )


def box(x: float, y: float, width: float, height: float, role: str = "box", text: str = "", size: int = 14) -> str:
    """A rectangle with a text in its middle."""
    rectangle = (
        f'<rect class="{role} faint-line" x="{x:g}" y="{y:g}" width="{width:g}" height="{height:g}" stroke-width="1"/>'
    )
    return rectangle + (label(x + width / 2, y + height / 2, text, size=size) if text else "")


def label(x: float, y: float, text: str, size: int = 14, anchor: str = "middle", kind: str = "ink") -> str:
    """A line of text."""
    return f'<text class="{kind}" x="{x:g}" y="{y:g}" font-size="{size}" text-anchor="{anchor}">{escape(text)}</text>'


def arrow(x: float, y: float, to_x: float, to_y: float) -> str:
    """A straight arrow."""
    line = f'd="M{x:g} {y:g}L{to_x:g} {to_y:g}" stroke-width="1.5" marker-end="url(#head)"'
    return f'<path class="ink-line" {line}/>'
