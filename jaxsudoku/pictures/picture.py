"""A drawing that notebooks show and that is saved as SVG, PNG, PDF or HTML."""

from __future__ import annotations

import os
from collections.abc import Sequence
from typing import Any

from . import plotted, svg
from .figures import import_figure
from .page import page
from .shapes import Drawing

#: Suffixes of the files that a picture is saved as; those that matplotlib writes.
SUFFIXES, _PLOTTED = (".svg", ".png", ".pdf", ".html"), (".png", ".pdf")
#: Suffixes of what is saved as a text too.
TEXT_SUFFIXES = (*SUFFIXES, ".txt")
_MOST_PIXELS = 1 << 28
THEMES = ("light", "dark")


class Picture(Drawing):
    """A picture: shapes on a background. Notebooks show it; its ``str`` is the text of an SVG image.

    Attributes:
      width, height: in units of 1/96 inch.
      shapes: the shapes, the lowest first.
      title: a description for readers who do not see the picture.
    """

    @property
    def svg(self) -> str:
        """The text of an SVG image in the reader's theme, without an XML declaration, to be put into a page."""
        return self.to_svg()

    def to_svg(self, theme: str | None = None) -> str:
        """The text of an SVG image: in a "light" or a "dark" theme, or None for the reader's.

        Raises:
          ValueError: an unknown theme.
        """
        return svg.text(self, None if theme is None else _known(theme))

    def save(self, path: str | os.PathLike[str], theme: str | None = None, dpi: float = 192) -> None:
        """Writes the picture into a file, which is replaced if it exists.

        Args:
          path: the file; its suffix, .svg, .png, .pdf or .html, selects the format. PNG and PDF need matplotlib.
          theme: "light" or "dark"; None for the reader's theme in an SVG image or a page, for a light one otherwise.
          dpi: pixels per inch of a PNG image. A 9x9 board is 4.6 inches wide.

        Raises:
          ImportError: matplotlib is missing; the message names the extra to install.
          ValueError: an unknown suffix or theme, or a PNG image of more than 2**28 pixels, which take a GiB.
          OSError: the file cannot be written.
        """
        suffix = checked_suffix(path)
        if suffix == ".png" and self.width * self.height * (dpi / 96) ** 2 > _MOST_PIXELS:
            sides = " x ".join(f"{round(side * dpi / 96):,}" for side in (self.width, self.height))
            raise ValueError(f"{os.fspath(path)}: an image of {sides} pixels is too large: save it as .svg or .pdf")
        if suffix in _PLOTTED:
            plotted.save(self, path, _known(theme or "light"), dpi)
            return
        text = self.to_svg(theme)
        write_text(path, f"{text}\n" if suffix == ".svg" else page(self.title or "Picture", text, heading=False))

    def plot(self, axes: Any, theme: str = "light") -> None:
        """Draws the picture into axes of matplotlib, which it fills.

        Raises:
          ImportError: matplotlib is missing.
          ValueError: an unknown theme.
        """
        plotted.draw(self, axes, _known(theme))

    def _repr_svg_(self) -> str:
        return self.svg

    def __str__(self) -> str:
        return self.svg


def checked_suffix(path: str | os.PathLike[str], suffixes: Sequence[str] = SUFFIXES) -> str:
    """The suffix of a file to save, in lower case.

    Args:
      path: the file.
      suffixes: those that it may have.

    Raises:
      ValueError: it has another one.
      ImportError: it is that of PNG or PDF, and matplotlib is missing; the message names the extra to install.
    """
    suffix = os.path.splitext(path)[1].lower()
    if suffix not in suffixes:
        raise ValueError(f"{os.fspath(path)}: the suffix must be one of {', '.join(suffixes)}, not {suffix!r}")
    if suffix in _PLOTTED:
        import_figure()
    return suffix


def write_text(path: str | os.PathLike[str], text: str) -> None:
    """Writes a text into a file, which is replaced if it exists; raises OSError."""
    with open(path, "w", encoding="utf-8") as file:
        file.write(text)


def _known(theme: str) -> str:
    """The theme; raises ValueError if there is none of that name."""
    if theme not in THEMES:
        raise ValueError(f"unknown theme {theme!r}: choose {' or '.join(THEMES)}")
    return theme
