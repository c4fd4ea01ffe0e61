"""``jaxsudoku explain``: explains how people solve a puzzle, step by step."""

from __future__ import annotations

import argparse
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
from .inputs import named, one_puzzle
from .invocation import Invocation, check_cache
from .outputs import put
from .parser import Parser

if TYPE_CHECKING:
    from jaxsudoku.explanation import Explanation

SUMMARY = "explain how people solve a puzzle, step by step"

EPILOG = f"""\
examples:
  jaxsudoku explain puzzles.txt --index 3
  jaxsudoku explain puzzles.txt --json --up-to xy-wing
  jaxsudoku explain puzzles.txt --html > steps.html
  jaxsudoku explain puzzles.txt --svg steps
  jaxsudoku hint puzzles.txt

output: a line a step: its number, the score of its technique, and the reason in a sentence; r4c7 is the cell in row 4,
column 7. With --json a list of {{"technique", "score", "place": [[row, column, digit]], "eliminate": [[row, column,
digit]], "text"}}, counted from 1. Every step is by the simplest technique that helps. Scores are on Sudoku Explainer's
scale. A puzzle is explained if it has exactly one solution. A pencil-mark grid or a line of HoDoKu's library is
explained from its candidates on.

{flags.INPUT_SECTION}"""


def add_flags(parser: Parser, argv: Sequence[str]) -> None:
    """The flags of ``explain``."""
    del argv
    add_explaining(parser)
    forms = parser.add_mutually_exclusive_group()
    forms.add_argument("--json", action="store_true", help="the steps as JSON")
    forms.add_argument("--html", action="store_true", help="the steps as an HTML page with a picture of each")
    forms.add_argument("--svg", metavar="FOLDER", help="a picture of each step in a new folder: step-01.svg ...")
    parser.set_defaults(run=run)


def add_explaining(parser: Parser) -> None:
    """The puzzle, and the techniques."""
    flags.add_one_puzzle(parser)
    flags.add_up_to(parser)


def run(args: argparse.Namespace, invocation: Invocation) -> int:
    """Explains; the exit status."""
    del invocation
    if args.svg is not None:
        if os.path.lexists(args.svg):
            args.parser.error(f"--svg: {args.svg} exists")
        with args.parser.errors():
            check_folder_name(args.svg)
    puzzle = proper_puzzle(args)
    if puzzle is None:
        return 1
    from jaxsudoku.explanation import explained

    found = explained(*puzzle)
    if args.svg is not None:
        _write_pictures(found, Path(args.svg))
        text = f"{found}\n"
    elif args.html:
        text = found.page(f"Puzzle {args.index} of {named(args.input)}")
    else:
        text = (json.dumps([step.as_dict() for step in found.steps]) if args.json else str(found)) + "\n"
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


def proper_puzzle(args: argparse.Namespace) -> Explained | None:
    """The puzzle to explain; None, after a message, where it has not exactly one solution within its candidates."""
    screen = Screen(bar=True)
    puzzle = one_puzzle(args)
    if puzzle.errors:
        screen.say(str(puzzle.errors[0]))
        return None
    screen.show("solving ...", now=True)
    from jaxsudoku.explanation import proper_givens, prove, usable

    grid = puzzle.grids[0]
    candidates = puzzle.candidates_of([0])[0] if puzzle.listed[0] else None
    proof = prove(grid, args.board, candidates, lambda: check_cache(screen))
    where = f"{named(args.input)}:{puzzle.lines[0]}"
    if proof.fault is None:
        givens = proper_givens(grid, args.board, puzzle.givens_of([0])[0], lambda: check_cache(screen))
        screen.clear()
        if not proof.unique:
            left = "techniques that rely on one solution are left out"
            screen.say(f"{where}: within its candidates the puzzle has one solution, without them several: {left}")
        return Explained(grid, args.board, usable(None, proof, args.up_to), candidates, givens)
    screen.clear()
    (clash,) = clashing(puzzle.grids[:1], args.board)
    fault = f"the puzzle has {proof.fault}; only a puzzle with exactly one solution can be explained"
    screen.say(f"{where}: {describe_clash(args.board, puzzle.grids[0]) if clash else fault}")
    return None
