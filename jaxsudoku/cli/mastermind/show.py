"""``jaxsudoku mastermind show``: checks a saved strategy against every code, and draws it."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence

from jaxsudoku.cli import flags
from jaxsudoku.cli.invocation import Invocation
from jaxsudoku.cli.outputs import check_printed, put
from jaxsudoku.cli.parser import Parser

from .options import load_strategy

SUMMARY = "check a saved strategy, and draw it"

EPILOG = """\
examples:
  jaxsudoku mastermind show tree.json
  jaxsudoku mastermind show tree.json --guesses 3
  jaxsudoku mastermind show tree.json --svg > tree.svg

The strategy is replayed against every code, without any search.
"""

#: The most guesses in an image.
_MOST = 1000


def add_flags(parser: Parser, argv: Sequence[str]) -> None:
    """The flags of ``show``."""
    del argv
    parser.add_argument("tree", metavar="FILE", help="a strategy, as --save wrote it")
    parser.add_flag("--guesses", flags.number_flag("guesses of a game that are drawn", default=2))
    forms = parser.add_mutually_exclusive_group()
    forms.add_argument("--json", action="store_true", help="a JSON object instead of the table and the drawing")
    forms.add_argument("--svg", action="store_true", help="an SVG image instead, of at most 1,000 guesses")
    parser.set_defaults(run=run)


def run(args: argparse.Namespace, invocation: Invocation) -> int:
    """Shows a strategy; the exit status."""
    del invocation
    check_printed(args.tree)
    from jaxsudoku import mastermind

    tree = load_strategy(args.tree)
    report = mastermind.Report.of([tree], tree.player or "?")
    if args.json:
        text = report.to_json()
    elif args.svg:
        text = tree.picture(args.guesses, _MOST).svg
    else:
        text = f"{tree.game}\n{report}\n\n{mastermind.draw_tree(tree, args.guesses)}"
    put(sys.stdout.buffer, f"{text}\n", "<stdout>")
    return 0
