"""A step of an explanation, with its reason in a sentence and in a picture; and what several steps have together."""

from __future__ import annotations

import dataclasses
import itertools
import os
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from jaxsudoku.core.board import Board
from jaxsudoku.pictures import TEXT_SUFFIXES, Candidate, Marks, Picture, captioned, checked_suffix, write_text
from jaxsudoku.runtime.escapes import markup
from jaxsudoku.techniques.registry import Technique, get

from .finding import Finding
from .view import State
from .words import cells_named, digits_named

#: What is said at the end of steps that do not solve the puzzle.
STUCK = "The techniques go no further."

#: What the marks of a step mean, by their roles; "follows" is the arrow of links with several premises.
LEGEND = {
    "pattern": "pattern",
    "house": "its houses",
    "placed": "filled in",
    "removed": "removed",
    "arrow": "strong link: if one is false, the other is true",
    "dashed-arrow": "weak link: not both are true",
    "follows": "what follows",
    "true": "true",
    "false": "false",
}
#: The arrow of each kind of link.
ARROWS = {"arrow": "arrow", "follows": "arrow", "dashed-arrow": "dashed-arrow"}


@dataclasses.dataclass(frozen=True)
class Step:
    """One step of an explanation; a notebook shows its picture. Digits, rows and columns are counted from 1.

    Attributes:
      technique: the name of the technique.
      score: its score.
      place: the (row, column, digit) that it fills in.
      eliminate: the (row, column, digit) that it removes from the candidates.
      cells: the (row, column) of the pattern.
      text: the reason and the conclusion, in plain English.
      links: of a chain, its links, each from one (row, column, digit) to the next.
      false: the candidates of these links that are false if the first is true; the others are true.
      houses: the names of the houses of the pattern, as in "window 4"; none where it consists of several patterns.
      before: the position before the step, which is not compared.
    """

    technique: str
    score: float
    place: tuple[tuple[int, int, int], ...]
    eliminate: tuple[tuple[int, int, int], ...]
    cells: tuple[tuple[int, int], ...]
    text: str
    links: tuple[tuple[tuple[int, int, int], tuple[int, int, int]], ...]
    false: tuple[tuple[int, int, int], ...]
    houses: tuple[str, ...]
    before: State = dataclasses.field(compare=False, repr=False)

    @property
    def title(self) -> str:
        """The name of the technique in words, as in "hidden single"."""
        return get(self.technique).title

    def marks(self) -> Marks:
        """What is drawn on the position before the step: the pattern, and what the step places and removes.

        Arrows are strong links, or what follows where links have several premises; dashed ones are weak links.
        """
        board = self.before.board
        placed, removed = candidates_of(board, self.place), candidates_of(board, self.eliminate)
        cells = {(row - 1) * board.side + column - 1: "pattern" for row, column in self.cells}
        cells |= {cell: "placed" for _, cell in placed}
        arrows = [(one, other) for one, other in (candidates_of(board, link) for link in self.links)]
        before = tuple(self.before.candidates())
        digits = set() if self.links else {digit for digit, _ in removed}
        pattern = [(digit, cell) for digit, cell in before if digit in digits and cell in cells]
        marked = dict.fromkeys([*pattern, *placed], "kept") | dict.fromkeys(
            (end for arrow in arrows for end in arrow), "true"
        )
        false = candidates_of(board, self.false)
        marked |= dict.fromkeys(false, "false") | dict.fromkeys(removed, "removed")
        strong, weak = ([arrow for arrow in arrows if (arrow[1] in false) == ends] for ends in (False, True))
        houses = [board.houses[board.house_names.index(name)] for name in self.houses]
        return Marks(before, cells, marked, strong, dashed=weak, houses=houses)

    def picture(self, caption: bool = True) -> Picture:
        """The position before the step with its marks; below it a legend of the links, if any, and the sentence.

        Args:
          caption: whether the sentence is part of the picture.
        """
        before, marks = self.before, self.marks()
        drawn = before.board.picture(before.grid(), before.grid(given=True), marks, self.text, labels=True)
        links = ("arrow", "dashed-arrow", "true", "false", "removed") if marks.dashed else ("follows",)
        legend = [(ARROWS.get(name, name), LEGEND[name]) for name in links if self.links]
        return captioned(drawn, self.text if caption else "", legend) if legend or caption else drawn

    def save(self, path: str | os.PathLike[str], theme: str | None = None, dpi: float = 192) -> None:
        """Writes the step into a file, which is replaced if it exists; as ``Explanation.save``."""
        if checked_suffix(path, TEXT_SUFFIXES) == ".txt":
            write_text(path, f"{self.text}\n")
        else:
            self.picture().save(path, theme, dpi)

    def _repr_html_(self) -> str:
        return f"<p>{markup(self.text)} ({self.score:.1f})</p>{self.picture(caption=False).svg}"

    def as_dict(self) -> dict[str, Any]:
        """The step as values that JSON has: ``technique``, ``score``, ``place``, ``eliminate`` and ``text``."""
        return {
            "technique": self.technique,
            "score": self.score,
            "place": [list(candidate) for candidate in self.place],
            "eliminate": [list(candidate) for candidate in self.eliminate],
            "text": self.text,
        }


class Part(NamedTuple):
    """Steps that are shown as one: a step, or a run of singles.

    Attributes:
      first: the number of the first of them, from 0.
      steps: the steps.
    """

    first: int
    steps: tuple[Step, ...]

    def picture(self) -> Picture:
        """The picture of a step, or of the position after a run, with the cells that it fills marked."""
        if len(self.steps) == 1:
            return self.steps[0].picture()
        before = self.steps[0].before
        placed = [candidate for step in self.steps for candidate in candidates_of(before.board, step.place)]
        grid, marks = filled_by(self.steps, before.grid()), Marks(cells={cell: "placed" for _, cell in placed})
        return captioned(before.board.picture(grid, before.grid(given=True), marks, labels=True), str(self))

    def __str__(self) -> str:
        if len(self.steps) == 1:
            return self.steps[0].text
        return f"Steps {self.first + 1} to {self.first + len(self.steps)}: {len(self.steps)} singles."


class Used(NamedTuple):
    """How often an explanation uses a technique.

    Attributes:
      title: the name of the technique in words.
      scores: its scores, lowest first, as two forms of a technique have different ones.
      steps: the number of steps.
    """

    title: str
    scores: tuple[float, ...]
    steps: int


def parts_of(steps: Sequence[Step]) -> list[Part]:
    """Steps as they are shown: runs of singles, steps that fill cells, are one part each."""
    numbered = itertools.groupby(enumerate(steps), lambda item: -1 if item[1].place else item[0])
    return [Part(run[0][0], tuple(step for _, step in run)) for run in (list(group) for _, group in numbered)]


def techniques_of(steps: Sequence[Step]) -> list[Used]:
    """The techniques that steps use, the simplest first."""
    scores: dict[str, list[float]] = {}
    for step in sorted(steps, key=lambda step: step.score):
        scores.setdefault(step.title, []).append(step.score)
    return [Used(title, tuple(dict.fromkeys(found)), len(found)) for title, found in scores.items()]


def filled_by(steps: Sequence[Step], grid: np.ndarray) -> np.ndarray:
    """A grid uint8[cells] after some steps, as a copy."""
    grid = grid.copy()
    for step in steps:
        for digit, cell in candidates_of(step.before.board, step.place):
            grid[cell] = digit + 1
    return grid


def step_of(before: State, technique: Technique, finding: Finding) -> Step:
    """What a finding of a technique shows in a position, as a step."""
    board = before.board

    def described(candidates: Sequence[Candidate]) -> tuple[tuple[int, int, int], ...]:
        return tuple((cell // board.side + 1, cell % board.side + 1, digit + 1) for digit, cell in candidates)

    text = finding.text
    if finding.remove:
        text = f"{text} {_conclusion(board, finding.remove)}"
    return Step(
        technique.name,
        technique.score,
        place=described(finding.place),
        eliminate=described(finding.remove),
        cells=tuple((cell // board.side + 1, cell % board.side + 1) for cell in finding.cells),
        text=text,
        links=tuple((one, other) for one, other in (described(link) for link in finding.links)),
        false=described(finding.false),
        houses=tuple(board.house_names[number] for number in finding.houses),
        before=before,
    )


def candidates_of(board: Board, places: Sequence[tuple[int, int, int]]) -> list[Candidate]:
    """Candidates, digit and cell from 0, of (row, column, digit) from 1."""
    return [(digit - 1, (row - 1) * board.side + column - 1) for row, column, digit in places]


def _conclusion(board: Board, removed: Sequence[Candidate]) -> str:
    """What is removed, in words, as in "So r1c2 and r1c5 are not 3 or 7; r4c5 is not 3."."""
    by_cell: dict[int, list[int]] = {}
    for digit, cell in removed:
        by_cell.setdefault(cell, []).append(digit)
    alike: dict[tuple[int, ...], list[int]] = {}
    for cell, digits in sorted(by_cell.items()):
        alike.setdefault(tuple(digits), []).append(cell)
    parts = [
        f"{cells_named(board, cells)} {'are' if len(cells) > 1 else 'is'} not {digits_named(digits, 'or')}"
        for digits, cells in alike.items()
    ]
    return f"So {'; '.join(parts)}."
