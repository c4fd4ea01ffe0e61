"""``jaxsudoku show``: draws one puzzle."""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Sequence

import numpy as np

from jaxsudoku.core.drawing import draw
from jaxsudoku.core.tuning import RULES
from jaxsudoku.engine.grid_pictures import picture
from jaxsudoku.engine.solution import Status
from jaxsudoku.io import Chunk, library_line
from jaxsudoku.runtime.terminal.failure import as_usage
from jaxsudoku.runtime.terminal.progress import Screen

from . import flags
from .bad_lines import describe_clash
from .inputs import named, one_puzzle
from .invocation import Invocation, check_cache
from .outputs import put
from .parser import Parser
from .positions import SolvedWithin, left_after

SUMMARY = "draw one puzzle"

EPILOG = f"""\
examples:
  jaxsudoku show puzzles.txt --index 3 --solve
  jaxsudoku show puzzles.txt --svg > puzzle.svg
  jaxsudoku show puzzles.txt --candidates --rules locked
  jaxsudoku show puzzles.txt --candidates --svg > candidates.svg

{flags.INPUT_SECTION}
Colours are left out if NO_COLOR is set. The exit status is 1 if the puzzle is malformed, and with --solve if it has no
solution.
"""


def add_flags(parser: Parser, argv: Sequence[str]) -> None:
    """The flags of ``show``."""
    del argv
    flags.add_one_puzzle(parser)
    forms = parser.add_mutually_exclusive_group()
    forms.add_argument("--solve", action="store_true", help="draw its solution, with the givens marked")
    forms.add_argument("--candidates", action="store_true", help="draw its candidates: a pencil-mark grid")
    forms.add_argument("--library", action="store_true", help="print it as a line of HoDoKu's library, with candidates")
    parser.add_argument(
        "--rules", choices=RULES, default="none", help="the rules that remove candidates before (default: none)"
    )
    parser.add_argument("--svg", action="store_true", help="draw it as an SVG image")
    parser.set_defaults(run=run)


def run(args: argparse.Namespace, invocation: Invocation) -> int:
    """Draws; the exit status."""
    del invocation
    if args.library and args.svg:
        args.parser.error("--svg does not go with --library")
    if args.rules != "none" and not (args.candidates or args.library):
        args.parser.error("--rules is of --candidates and --library")
    screen = Screen(bar=True)
    puzzle = one_puzzle(args)
    if puzzle.errors:
        screen.say(str(puzzle.errors[0]))
        return 1
    filled, given = puzzle.grids[0], puzzle.givens_of([0])[0]
    givens = np.where(given, filled, 0).astype(np.uint8)
    grid, code = _solve(args, puzzle, screen) if args.solve else (filled, 0)
    marks = left_after(puzzle, args.board, args.rules) if args.candidates else None
    if args.library:
        with as_usage():  # a board that is too large
            text = library_line(filled, left_after(puzzle, args.board, args.rules), args.board, (filled > 0) & ~given)
    elif args.svg:
        title = f"Puzzle {args.index} of {named(args.input)}"
        text = picture(grid, args.board, givens, candidates=marks, title=title).svg
    else:
        color = sys.stdout.isatty() and not os.environ.get("NO_COLOR")
        text = draw(grid, args.board, givens, candidates=marks, color=color)
    put(sys.stdout.buffer, f"{text}\n", "<stdout>")
    return code


def _solve(args: argparse.Namespace, puzzle: Chunk, screen: Screen) -> tuple[np.ndarray, int]:
    """The solved grid, or the puzzle itself where there is none; and the exit status."""
    from jaxsudoku.solvers import driver

    screen.show("solving ...", now=True)
    check_cache(screen)
    solution = SolvedWithin(args.board, "exact")(puzzle, driver.solve(puzzle.grids, args.board))
    screen.clear()
    where = f"{named(args.input)}:{puzzle.lines[0]}"
    if solution.status[0] == Status.SOLVED:
        return solution.grids[0], 0
    if solution.status[0] == Status.INVALID:
        screen.say(f"{where}: {describe_clash(args.board, puzzle.grids[0])}")
        return puzzle.grids[0], 1
    screen.say(f"{where}: no solution")
    return puzzle.grids[0], 1
