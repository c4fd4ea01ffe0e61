"""``jaxsudoku explain``: explains how people solve a puzzle, step by step."""

from __future__ import annotations

import dataclasses
import json
import os
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from jaxsudoku.core.board import Board
from jaxsudoku.core.host_rules import clashing
from jaxsudoku.io import check_folder_name
from jaxsudoku.runtime.terminal.progress import Screen

from . import flags
from .bad_lines import describe_clash
from .inputs import OneInput, OnePuzzle, one_puzzle
from .invocation import Invocation, check_cache
from .outputs import put
from .parser import flag

if TYPE_CHECKING:
    from jaxsudoku.explanation import Explanation

EPILOG = f"""\
examples:
  jaxsudoku explain puzzles.txt --index 3
  jaxsudoku explain puzzles.txt --json --up-to xy-wing
  jaxsudoku explain puzzles.txt --output steps.html
  jaxsudoku explain puzzles.txt --output steps.png
  jaxsudoku explain puzzles.txt --svg steps
  jaxsudoku hint puzzles.txt --output hint.png

output: a line a step: its number, the score of its technique, and the reason in a sentence; r4c7 is the cell in row 4,
column 7. With --json a list of {{"technique", "score", "place": [[row, column, digit]], "eliminate": [[row, column,
digit]], "text"}}, counted from 1. As .html (--html) it is a page to step through, in one file that loads nothing; as
.svg, .png or .pdf a board for each step, where singles that follow each other share one. Every step is by the simplest
technique that helps. Scores are on Sudoku Explainer's scale. A puzzle is explained if it has exactly one solution. A
pencil-mark grid or a line of HoDoKu's library is explained from its candidates on.

{flags.INPUT_SECTION}"""


@dataclasses.dataclass(frozen=True, kw_only=True)
class Explaining(OnePuzzle):
    """The puzzle, and the techniques."""

    up_to: str | None = flags.up_to_flag()


@dataclasses.dataclass(frozen=True, kw_only=True)
class Request(Explaining):
    """What ``explain`` is asked for."""

    json: bool = flag("the steps as JSON", default=False, exclusive="form")
    html: bool = flag("the steps as an HTML page to step through", default=False, exclusive="form")
    svg: str | None = flag(
        "a picture of each step in a new folder: step-01.svg ...", metavar="FOLDER", exclusive="form"
    )

    def __post_init__(self) -> None:
        if self.svg is not None:
            if os.path.lexists(self.svg):
                raise ValueError(f"--svg: {self.svg} exists")
            check_folder_name(self.svg)


def run(request: Request, invocation: Invocation) -> int:
    """Explains; the exit status."""
    del invocation
    given = one_puzzle(request)
    proper = proper_puzzle(given, request.up_to)
    if proper is None:
        return 1
    from jaxsudoku.explanation import explained

    found, title = explained(*proper), f"Puzzle {request.index} of {given.name}"
    if request.output != "-":
        found.save(request.output, title=title)
        return 0
    if request.svg is not None:
        _write_pictures(found, Path(request.svg))
        text = f"{found}\n"
    elif request.html:
        text = found.page(title)
    else:
        text = (json.dumps([step.as_dict() for step in found.steps]) if request.json else str(found)) + "\n"
    put(sys.stdout.buffer, text, "<stdout>")
    return 0


def _write_pictures(found: Explanation, folder: Path) -> None:
    """Writes a picture of each step into a new folder."""
    folder.mkdir()
    width = max(len(str(len(found.steps))), 2)
    for number, step in enumerate(found, 1):
        (folder / f"step-{number:0{width}}.svg").write_text(f"{step.picture()}\n", encoding="utf-8")


class Explained(NamedTuple):
    """The arguments of ``explained`` and ``steps_of``."""

    puzzle: np.ndarray
    board: Board
    techniques: Sequence[str]
    candidates: np.ndarray | None
    givens: np.ndarray | None
    solution: np.ndarray | None


def proper_puzzle(given: OneInput, up_to: str | None) -> Explained | None:
    """The puzzle to explain; None, after a message, where it has not exactly one solution within its candidates."""
    screen = Screen(bar=True)
    chunk, board, name = given
    where = f"{name}:{chunk.lines[0]}"
    if chunk.errors:
        screen.say(str(chunk.errors[0]))
        return None
    screen.show("solving ...", now=True)
    from jaxsudoku.explanation import proper_givens, prove, usable

    grid = chunk.grids[0]
    candidates = chunk.candidates_of([0])[0] if chunk.listed[0] else None
    proof = prove(grid, board, candidates, lambda: check_cache(screen))
    if proof.fault is None:
        givens = proper_givens(grid, board, chunk.givens_of([0])[0], lambda: check_cache(screen))
        screen.clear()
        if not proof.unique:
            left = "techniques that rely on one solution are left out"
            within = "within its candidates the puzzle has one solution, without them several"
            screen.say(f"{where}: {within}: {left}")
        return Explained(grid, board, usable(None, proof, up_to), candidates, givens, proof.solution)
    screen.clear()
    (clash,) = clashing(chunk.grids[:1], board)
    fault = f"the puzzle has {proof.fault}; only a puzzle with exactly one solution can be explained"
    screen.say(f"{where}: {describe_clash(board, grid) if clash else fault}")
    return None
