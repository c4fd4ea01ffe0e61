"""``jaxsudoku hint``: the next step of a puzzle."""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Sequence

from . import flags
from .explain import add_explaining, proper_puzzle
from .invocation import Invocation
from .outputs import put
from .parser import Parser

SUMMARY = "the next step of a puzzle"

EPILOG = f"""\
examples:
  jaxsudoku hint puzzles.txt --index 3
  jaxsudoku hint 4.....8.5.3..........7......2.....6.....8.4......1.......6.3.7.5..2.....1.4......

output: the reason of the first step of `jaxsudoku explain`, in a sentence; with --json the step, or null where there is
none, as the puzzle is complete or no technique helps.

{flags.INPUT_SECTION}"""


def add_flags(parser: Parser, argv: Sequence[str]) -> None:
    """The flags of ``hint``."""
    del argv
    add_explaining(parser)
    parser.add_argument("--json", action="store_true", help="the step as JSON")
    parser.set_defaults(run=run)


def run(args: argparse.Namespace, invocation: Invocation) -> int:
    """Prints the step; the exit status."""
    del invocation
    puzzle = proper_puzzle(args)
    if puzzle is None:
        return 1
    from jaxsudoku.explanation import steps_of

    step = next(steps_of(*puzzle), None)
    if args.json:
        text = json.dumps(None if step is None else step.as_dict())
    elif step is None:
        text = "No cell is open." if puzzle.puzzle.all() else "No technique helps."
    else:
        text = step.text
    put(sys.stdout.buffer, f"{text}\n", "<stdout>")
    return 0
