"""``jaxsudoku mastermind improve``: improves a saved strategy, for as long as there is time."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence

from jaxsudoku.cli.invocation import Invocation
from jaxsudoku.cli.outputs import check_outputs, put
from jaxsudoku.cli.parser import Parser
from jaxsudoku.runtime.locks import OutputLock
from jaxsudoku.runtime.terminal.failure import as_usage
from jaxsudoku.runtime.terminal.stop import Stop

from .options import add_hours, load_strategy

SUMMARY = "improve a saved strategy, for some hours"

EPILOG = """\
examples:
  jaxsudoku mastermind evaluate --pegs 5 --colours 8 --player lookahead --save tree.json
  jaxsudoku mastermind improve tree.json --hours 2
  jaxsudoku mastermind improve tree.json --hours 8 --output better.json

Every better strategy replaces the file, so the command can be stopped at any time and run again. It ends early if the
strategy is proven to be the best. output: the guesses for all codes together before and after.
"""


def add_flags(parser: Parser, argv: Sequence[str]) -> None:
    """The flags of ``improve``."""
    del argv
    parser.add_argument("tree", metavar="FILE", help="a strategy, as --save wrote it")
    add_hours(parser, 1.0, "the time, such as 0.5 (default: 1)")
    parser.add_argument("--output", metavar="FILE", help="file for the better strategy (default: the same file)")
    parser.add_argument("--force", action="store_true", help="replace an existing output")
    parser.add_argument("--quiet", action="store_true", help="no progress; errors are still reported")
    parser.set_defaults(run=run)


def run(args: argparse.Namespace, invocation: Invocation) -> int:
    """Improves a strategy; the exit status."""
    output = args.output or args.tree
    if args.output:
        check_outputs([output], reads=[args.tree], force=args.force, json=output)
    screen = invocation.start_screen(args.quiet)
    from jaxsudoku import mastermind
    from jaxsudoku.mastermind.rules import check_size

    with as_usage((ValueError, BlockingIOError)), OutputLock(output):
        tree = load_strategy(args.tree)
        check_size(tree.game)
        before = int(tree.attempts.sum())
        if args.output:
            mastermind.save_tree(tree, output)

        def keep(better: mastermind.Tree) -> None:
            nonlocal tree
            with invocation.signals.held():
                mastermind.save_tree(better, output)
                tree = better

        try:
            mastermind.improve(tree, 3600 * args.hours, screen.show, keep)
        except Stop as stop:
            stop.advice = f"{output} has a strategy of {tree.attempts.sum():,} guesses; to go on: the same command"
            raise
        screen.clear()
        after = int(tree.attempts.sum())
        put(sys.stdout.buffer, f"{tree.game}: {before:,} guesses, now {after:,}; mean {tree.mean:.4f}\n", "<stdout>")
    return 0
