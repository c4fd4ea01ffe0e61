"""The steps that solve a puzzle, each with its reason, as lines, pictures, or a page to step through."""

from __future__ import annotations

import dataclasses
import os
from collections.abc import Iterator
from typing import overload

import numpy as np

from jaxsudoku.core.board import Board
from jaxsudoku.pictures import TEXT_SUFFIXES, Picture, captioned, checked_suffix, page, sheet, write_text

from . import stepper
from .step import STUCK, Part, Step, Used, filled_by, parts_of, techniques_of


@dataclasses.dataclass(frozen=True, eq=False)
class Explanation:
    """The steps of a puzzle, a sequence. A notebook shows a board to step through them, and the list.

    Attributes:
      puzzle: uint8[cells], 0 = empty.
      board: the board.
      steps: the steps, in their order.
      candidates: bool[side, cells], the digits that open cells may hold before the first step; None for all that their
        houses allow.
    """

    puzzle: np.ndarray
    board: Board
    steps: tuple[Step, ...]
    candidates: np.ndarray | None = None

    def __len__(self) -> int:
        return len(self.steps)

    def __iter__(self) -> Iterator[Step]:
        return iter(self.steps)

    @overload
    def __getitem__(self, number: int) -> Step: ...

    @overload
    def __getitem__(self, number: slice) -> tuple[Step, ...]: ...

    def __getitem__(self, number: int | slice) -> Step | tuple[Step, ...]:
        return self.steps[number]

    @property
    def grid(self) -> np.ndarray:
        """uint8[cells], the filled cells after the last step; 0 where the techniques leave a cell open."""
        return filled_by(self.steps, self.puzzle)

    @property
    def solved(self) -> bool:
        """Whether the steps solve the puzzle."""
        return bool(self.grid.all())

    @property
    def hardest(self) -> Step | None:
        """The first step of the highest score; None without steps."""
        return max(self.steps, key=lambda step: step.score, default=None)

    def parts(self) -> list[Part]:
        """The steps as they are shown: runs of singles, steps that fill cells, are one part each."""
        return parts_of(self.steps)

    def techniques(self) -> list[Used]:
        """The techniques that the steps use, the simplest first."""
        return techniques_of(self.steps)

    def page(self, title: str = "How to solve this puzzle") -> str:
        """An HTML page in one file: a board to step through, the techniques, the steps and the finished grid."""
        return page(title, stepper.html(self.puzzle, self.board, self.steps, self.candidates, whole_page=True))

    def picture(self, columns: int | None = None) -> Picture:
        """All parts as one picture, each with its sentence, and the last grid.

        Args:
          columns: how many stand in a row; None for about as many rows as columns.
        """
        pictures = [part.picture() for part in self.parts()]
        end = self.board.picture(self.grid, self.puzzle, labels=True)
        pictures.append(captioned(end, "The solution." if self.solved else STUCK))
        return sheet(pictures, columns, title=f"{len(self.steps)} steps, {self.board}")

    def save(
        self,
        path: str | os.PathLike[str],
        theme: str | None = None,
        dpi: float = 192,
        title: str = "How to solve this puzzle",
    ) -> None:
        """Writes the explanation into a file, which is replaced if it exists.

        Args:
          path: the file; its suffix selects what is written: .html ``page``, .txt the lines, and .svg, .png and .pdf
            ``picture``.
          theme, dpi: of a picture, as of ``Picture.save``.
          title: the title of a page.

        Raises:
          ImportError: matplotlib is missing, which PNG and PDF need.
          ValueError: an unknown suffix or theme.
          OSError: the file cannot be written.
        """
        suffix = checked_suffix(path, TEXT_SUFFIXES)
        if suffix in (".html", ".txt"):
            write_text(path, self.page(title) if suffix == ".html" else f"{self}\n")
        else:
            self.picture().save(path, theme, dpi)

    def _repr_html_(self) -> str:
        return stepper.html(self.puzzle, self.board, self.steps, self.candidates)

    def __str__(self) -> str:
        width = len(str(len(self.steps)))
        lines = [f"{number:>{width}}. {step.score:.1f}  {step.text}" for number, step in enumerate(self.steps, 1)]
        if not self.solved:
            lines.append(STUCK)
        return "\n".join(lines)
