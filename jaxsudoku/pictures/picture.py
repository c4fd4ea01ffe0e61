"""A drawing that notebooks show and that is saved as SVG, PNG or PDF."""

from __future__ import annotations

import os
from typing import Any

from . import plotted, svg
from .shapes import Drawing

#: Suffixes of the files that a picture is saved as.
SUFFIXES = (".svg", ".png", ".pdf")
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
          path: the file; its suffix, .svg, .png or .pdf, selects the format. PNG and PDF need matplotlib.
          theme: "light" or "dark"; None for the reader's theme in an SVG image, for a light one in the others.
          dpi: pixels per inch of a PNG image. A 9x9 board is 4.6 inches wide.

        Raises:
          ImportError: matplotlib is missing; the message names the extra to install.
          ValueError: an unknown suffix or theme.
          OSError: the file cannot be written.
        """
        suffix = os.path.splitext(path)[1].lower()
        if suffix not in SUFFIXES:
            raise ValueError(f"{os.fspath(path)}: a picture is saved as {', '.join(SUFFIXES)}, not as {suffix!r}")
        if suffix == ".svg":
            with open(path, "w", encoding="utf-8") as file:
                file.write(f"{self.to_svg(theme)}\n")
            return
        plotted.save(self, path, _known(theme or "light"), dpi)

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


def _known(theme: str) -> str:
    """The theme; raises ValueError if there is none of that name."""
    if theme not in THEMES:
        raise ValueError(f"unknown theme {theme!r}: choose {' or '.join(THEMES)}")
    return theme
