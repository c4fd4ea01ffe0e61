"""An explanation as HTML to step through: a board that a script draws, and the list of steps, which needs no script.

The board is one SVG image of the puzzle. The script adds digits, candidates and marks of the step that is shown; where
they are is computed here. Nothing has an id, so that several explanations may stand on one page.
"""

from __future__ import annotations

import functools
import importlib.resources
import json
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import numpy as np

from jaxsudoku.core.board import Board
from jaxsudoku.pictures import CANDIDATE_MARKS, CELL_MARKS, Candidate, Picture, sample
from jaxsudoku.pictures.boards import Geometry, strike
from jaxsudoku.pictures.shapes import Text
from jaxsudoku.pictures.svg import element, inline, style
from jaxsudoku.runtime.escapes import markup

from .layout import bits, layout
from .step import ARROWS, LEGEND, STUCK, Part, Step, filled_by, parts_of, techniques_of
from .view import View

#: The roles that the script draws.
_DRAWN = ("arrow", "dashed-arrow", "house", "candidate", "filled", "strike", *CELL_MARKS, *CANDIDATE_MARKS)
#: Buttons: what they do, their label, and the outline of their icon.
_BUTTONS = (
    ("first", "Start", "M2 2h2.5v12H2zM14 2v12L5 8z"),
    ("back", "Back", "M12 2v12L4 8z"),
    ("play", "Play", ""),
    ("next", "Next", "M4 2v12l8-6z"),
    ("last", "End", "M11.5 2H14v12h-2.5zM2 2v12l9-6z"),
)


def html(
    puzzle: np.ndarray,
    board: Board,
    steps: Sequence[Step],
    candidates: np.ndarray | None = None,
    whole_page: bool = False,
) -> str:
    """An explanation as an element of HTML.

    Args:
      puzzle, board, steps, candidates: as of ``Explanation``.
      whole_page: whether keys move through it wherever the focus is, as it has the page alone; otherwise in it alone.
    """
    grid = filled_by(steps, puzzle)
    solved = bool(grid.all())
    start, end = _start(board, puzzle, steps), board.picture(grid, puzzle)
    data = _data(board, puzzle, candidates, steps, grid)
    roles = {shape.role for shape in (*start.shapes, *end.shapes)} | {"paper", *_DRAWN}
    keys = ' data-keys="page"' if whole_page else ""
    large = " large" if board.side > 9 else ""
    return "".join(
        (
            f'<section class="jaxsudoku-steps" aria-label="Explanation"{keys}>',
            f"<style>{_file('stepper.css')}{style(roles)}</style>",
            f'<div class="columns{large}"><div>',
            f'<figure class="board">{inline(start, f"The puzzle. {_told(board, puzzle)}")}</figure>',
            '<div class="panel">',
            *_controls(),
            '<p class="sentence" aria-live="polite" aria-atomic="true" hidden></p></div>',
            *_legend(),
            '</div><div class="side">',
            *_rating(steps, solved),
            '<ol class="list" tabindex="0" aria-label="Steps">',
            *map(_item, parts_of(steps)),
            '</ol><div class="end"><div>',
            *_techniques(steps),
            f"</div><div><h2>{'Solution' if solved else 'Where the techniques end'}</h2>",
            f'<figure class="solution">{inline(end, f"The last grid. {_told(board, grid)}")}</figure>',
            "</div></div></div></div>",
            f'<script type="application/json" class="data">{_escaped(data)}</script>',
            f"<script>{_file('stepper.js')}</script></section>",
        )
    )


@functools.cache
def _file(name: str) -> str:
    """The text of a file beside this one, without comments and indentation."""
    text = importlib.resources.files(__package__).joinpath(name).read_text(encoding="utf-8")
    lines = (line.strip() for line in text.splitlines())
    return "\n".join(line for line in lines if line and not line.startswith("//"))


def _escaped(data: Mapping[str, Any]) -> str:
    """Values as JSON in a script, which no text in it ends."""
    text = json.dumps(data, separators=(",", ":"))
    return text.replace("<", "\\u003c").replace(">", "\\u003e").replace("&", "\\u0026")


# ---------------------------------------------------------------------- what is seen


def _start(board: Board, puzzle: np.ndarray, steps: Sequence[Step]) -> Picture:
    """The puzzle, with cells as wide as candidates need."""
    givens = steps[0].before.grid(given=True) if steps else puzzle
    return board.picture(puzzle, givens, labels=True, wide=True)


def _told(board: Board, grid: np.ndarray) -> str:
    """A grid in words."""
    rows = (grid[start : start + board.side] for start in range(0, board.cells, board.side))
    told = (" ".join(str(digit) if digit else "blank" for digit in row) for row in rows)
    return " ".join(f"Row {number}: {row}." for number, row in enumerate(told, 1))


def _controls() -> Iterator[str]:
    """The buttons and the slider, which the script makes visible."""
    yield '<div class="controls" role="group" aria-label="Step through" hidden>'
    for name, label, icon in _BUTTONS:
        kind = 'class="play"' if name == "play" else f'data-go="{name}"'
        yield f'<button type="button" {kind} aria-label="{label}" title="{label}">'
        for part, outline in (
            (("", icon),) if icon else (("starting", "M4 2v12l9-6z"), ("pausing", "M3 2h4v12H3zM9 2h4v12H9z"))
        ):
            yield f'<svg viewBox="0 0 16 16" aria-hidden="true" class="{part}"><path d="{outline}"/></svg>'
        yield "</button>"
    yield '<input type="range" min="0" value="0" step="1" aria-label="Step">'
    yield '<button type="button" class="every" aria-pressed="false">Every single</button></div>'


def _legend() -> Iterator[str]:
    """The meaning of marks; the script shows those that a step has."""
    yield '<ul class="legend" aria-label="Legend" hidden>'
    for role, meaning in LEGEND.items():
        shapes = "".join(map(element, sample(ARROWS.get(role, role), 1, 9)))
        yield f'<li data-role="{role}" hidden><svg class="jaxsudoku" width="28" height="18" aria-hidden="true">'
        yield f"{shapes}</svg>{meaning}</li>"
    yield '</ul><p class="hint" hidden>Keys: <kbd>←</kbd> <kbd>→</kbd> a step, <kbd>Home</kbd> <kbd>End</kbd>, '
    yield "<kbd>space</kbd> plays.</p>"


def _rating(steps: Sequence[Step], solved: bool) -> Iterator[str]:
    """What the puzzle needs."""
    yield "<h2>Steps</h2>"
    if steps:
        hardest, count = max(steps, key=lambda step: step.score), len(steps)
        rating = (
            f"Rating <strong>{hardest.score:.1f}</strong>: {hardest.title}. {count} step{'s' if count > 1 else ''}."
        )
        yield f'<p class="rating">{rating}{"" if solved else f" {STUCK}"}</p>'


def _techniques(steps: Sequence[Step]) -> Iterator[str]:
    """How often each technique is used, as a table."""
    heads = "".join(f'<th scope="col">{head}</th>' for head in ("technique", "score", "steps"))
    yield f'<h2>Techniques</h2><table aria-label="Techniques"><thead><tr>{heads}</tr></thead><tbody>'
    for used in techniques_of(steps):
        scores = "–".join(f"{score:.1f}" for score in used.scores)
        yield f'<tr><th scope="row">{used.title}</th><td>{scores}</td><td>{used.steps}</td></tr>'
    yield "</tbody></table>"


def _item(part: Part) -> str:
    """A step in the list, or a run of singles that can be opened."""
    steps = [_step(part.first + place, step) for place, step in enumerate(part.steps)]
    if len(steps) == 1:
        return steps[0]
    return f'<li class="run"><details><summary>{part}</summary><ol>{"".join(steps)}</ol></details></li>'


def _step(place: int, step: Step) -> str:
    text = f'<span class="text">{markup(step.text)}</span> <span class="score">{step.score:.1f}</span>'
    return f'<li value="{place + 1}">{text}</li>'


# ---------------------------------------------------------------------- what the script draws


def _data(
    board: Board, puzzle: np.ndarray, candidates: np.ndarray | None, steps: Sequence[Step], grid: np.ndarray
) -> dict[str, Any]:
    """The puzzle, where things are on the board, and the steps. A candidate is the number digit * cells + cell."""
    places = Geometry(board.side, candidates=True, labelled=True, symbols=board.symbols)
    spots = [places.spot((digit, 0)) for digit in range(board.side)]
    within = [(x - places.start, y - places.start) for x, y in spots]
    count, left = (int(np.count_nonzero(cells)) for cells in (puzzle, grid == 0))
    return {
        "side": board.side,
        "start": places.start,
        "width": places.width,
        "digit": places.digit,
        "small": places.small,
        "middle": round(Text(0, places.width / 2, places.digit, "", "filled").baseline, 2),
        "spots": [(round(x, 2), round(Text(x, y, places.small, "", "candidate").baseline, 2)) for x, y in within],
        "strikes": [element(strike(x, y, places.small, str(digit))) for digit, (x, y) in enumerate(within, 1)],
        "puzzle": puzzle.tolist(),
        "left": [_number(board, candidate) for candidate in View(board, puzzle, candidates).candidates()],
        "outlines": {
            name: "".join(map(element, places.outline(house)))
            for name, house in zip(board.house_names, board.houses, strict=True)
            if any(name in step.houses for step in steps)
        },
        "steps": [_drawn(step, places) for step in steps],
        "begin": f"the puzzle, with {count} of {board.cells} cells filled.",
        "end": "the puzzle is solved." if not left else f"{STUCK} {left} cells are open.",
    }


def _drawn(step: Step, places: Geometry) -> dict[str, Any]:
    """A step: its marks by their roles, the cells that it fills, and the candidates that are gone after it."""
    board, marks = step.before.board, step.marks()
    place = [(digit - 1, (row - 1) * board.side + column - 1) for row, column, digit in step.place]
    gone = {candidate for candidate, role in marks.marked.items() if role == "removed"}
    for digit, cell in place:
        gone |= {(other, cell) for other in range(board.side)}
        gone |= {(digit, peer) for peer in bits(layout(board).sees[cell])}
    cells: dict[str, list[int]] = {}
    for cell, role in marks.cells.items():
        cells.setdefault(role, []).append(cell)
    marked: dict[str, list[int]] = {}
    for candidate, role in marks.marked.items():
        marked.setdefault(role, []).append(_number(board, candidate))
    return {
        "place": place,
        "gone": sorted(_number(board, candidate) for candidate in gone.intersection(marks.candidates)),
        "cells": cells,
        "marked": marked,
        "houses": step.houses,
        "arrows": "".join(map(element, places.arrows(marks))),
    }


def _number(board: Board, candidate: Candidate) -> int:
    digit, cell = candidate
    return digit * board.cells + cell
