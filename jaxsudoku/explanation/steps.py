"""The steps that solve a puzzle, each with its reason, as lines, pictures, or a page."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator, Sequence
from typing import Any, overload

import numpy as np

from jaxsudoku.core.board import Board
from jaxsudoku.pictures import Candidate, Marks, Picture
from jaxsudoku.runtime.escapes import markup
from jaxsudoku.techniques.registry import Technique

from .finding import Finding
from .view import State
from .words import cells_named, digits_named

_PAGE_STYLE = ":root{color-scheme:light dark}body{font-family:sans-serif;max-width:60em;margin:2em auto;padding:0 1em}"


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
    before: State = dataclasses.field(compare=False, repr=False)

    def picture(self) -> Picture:
        """The position before the step, the pattern, and what the step places and removes."""
        board = self.before.board
        placed, removed = _candidates(board, self.place), _candidates(board, self.eliminate)
        cells = {(row - 1) * board.side + column - 1: "pattern" for row, column in self.cells}
        cells |= {cell: "placed" for _, cell in placed}
        arrows = [(one, other) for one, other in (_candidates(board, link) for link in self.links)]
        marked = dict.fromkeys(placed, "kept") | dict.fromkeys((end for arrow in arrows for end in arrow), "true")
        marked |= dict.fromkeys(_candidates(board, self.false), "false") | dict.fromkeys(removed, "removed")
        marks = Marks(tuple(self.before.candidates()), cells, marked, arrows)
        return board.picture(self.before.grid(), self.before.grid(given=True), marks, title=self.text)

    def _repr_html_(self) -> str:
        return f"<p>{markup(self.text)} ({self.score:.1f})</p>{self.picture().svg}"

    def as_dict(self) -> dict[str, Any]:
        """The step as values that JSON has: ``technique``, ``score``, ``place``, ``eliminate`` and ``text``."""
        return {
            "technique": self.technique,
            "score": self.score,
            "place": [list(candidate) for candidate in self.place],
            "eliminate": [list(candidate) for candidate in self.eliminate],
            "text": self.text,
        }


@dataclasses.dataclass(frozen=True, eq=False)
class Explanation:
    """The steps of a puzzle, a sequence. A notebook shows it as a page with a picture of every step.

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
        grid = self.puzzle.copy()
        for step in self.steps:
            for digit, cell in _candidates(self.board, step.place):
                grid[cell] = digit + 1
        return grid

    @property
    def solved(self) -> bool:
        """Whether the steps solve the puzzle."""
        return bool(self.grid.all())

    @property
    def hardest(self) -> Step | None:
        """The first step of the highest score; None without steps."""
        return max(self.steps, key=lambda step: step.score, default=None)

    def page(self, title: str = "How to solve this puzzle") -> str:
        """An HTML page of the steps, each with its picture."""
        return (
            f'<!doctype html><html lang="en"><head><meta charset="utf-8"><title>{markup(title)}</title>'
            '<meta name="viewport" content="width=device-width">'
            f"<style>{_PAGE_STYLE}</style></head>"
            f"<body><h1>{markup(title)}</h1>{self._repr_html_()}</body></html>\n"
        )

    def _repr_html_(self) -> str:
        items = [f"<li>{step._repr_html_()}</li>" for step in self.steps]
        end = "" if self.solved else "<p>The techniques go no further.</p>"
        return f"<ol>{''.join(items)}</ol>{end}"

    def __str__(self) -> str:
        width = len(str(len(self.steps)))
        lines = [f"{number:>{width}}. {step.score:.1f}  {step.text}" for number, step in enumerate(self.steps, 1)]
        if not self.solved:
            lines.append("The techniques go no further.")
        return "\n".join(lines)


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
        before=before,
    )


def _candidates(board: Board, places: Sequence[tuple[int, int, int]]) -> list[Candidate]:
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
