"""``jaxsudoku mastermind prove``: proves that a saved strategy is the best, or finds a better one."""

from __future__ import annotations

import argparse
import math
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from jaxsudoku.cli import flags
from jaxsudoku.cli.invocation import Invocation
from jaxsudoku.cli.outputs import check_outputs, put
from jaxsudoku.cli.parser import Parser
from jaxsudoku.runtime.terminal.failure import UsageError, as_usage
from jaxsudoku.runtime.workers import JobError

from .options import add_hours, load_strategy

if TYPE_CHECKING:
    from jaxsudoku.mastermind import Proof, Tree

SUMMARY = "prove that no strategy is better than a saved one, or find a better one"

EPILOG = """\
examples:
  jaxsudoku mastermind evaluate --pegs 4 --colours 7 --player lookahead --save tree.json
  jaxsudoku mastermind prove tree.json --output best.json
  jaxsudoku mastermind prove tree.json --memo known --hours 6 --processes 4
  jaxsudoku mastermind prove tree.json --memo known --resume --certificate proof.npz

output: the lower bound of all strategies and the guesses of the best one known, for all codes together; without a proof
also the first guesses that a better strategy may begin with. The transposition table is in the folder --memo, from
which --resume goes on, even if the search was killed. Give it a good strategy, one of `jaxsudoku mastermind improve`.
Several processes (--processes) share the table, in a temporary folder if none is named; they find the same totals.
`python tests/support/mastermind_checker.py FILE` checks a certificate, by numpy alone.
"""


def add_flags(parser: Parser, argv: Sequence[str]) -> None:
    """The flags of ``prove``."""
    del argv
    parser.add_argument("tree", metavar="FILE", help="a strategy, as --save wrote it")
    add_hours(parser, math.inf, "the time after which it ends without a proof (default: none)")
    parser.add_flag(
        "--processes", flags.number_flag("processes that search, each with its share of the cores", default=1)
    )
    parser.add_argument("--memo", metavar="FOLDER", help="folder for the transposition table (default: in memory)")
    parser.add_argument("--resume", action="store_true", help="go on from what is in --memo")
    parser.add_argument("--output", metavar="FILE", help="file for the best strategy")
    parser.add_argument("--certificate", metavar="FILE", help="file for the claims that prove the bound (.npz)")
    parser.add_argument("--force", action="store_true", help="replace existing outputs")
    parser.add_argument("--quiet", action="store_true", help="no progress; errors are still reported")
    parser.set_defaults(run=run)


def run(args: argparse.Namespace, invocation: Invocation) -> int:
    """Proves a strategy; the exit status, 0 also without a proof."""
    if args.resume and args.memo is None:
        raise UsageError("--resume needs the folder of --memo")
    if args.memo is not None and not args.resume and Path(args.memo).exists() and any(Path(args.memo).iterdir()):
        raise UsageError(f"{args.memo} isn't empty: go on from it with --resume, or name another folder")
    outputs = list(filter(None, [args.output, args.certificate]))
    check_outputs(outputs, reads=[args.tree], force=args.force, json=args.output)
    screen = invocation.start_screen(args.quiet)
    from jaxsudoku import mastermind
    from jaxsudoku.mastermind.rules import check_size

    with as_usage((ValueError, BlockingIOError, JobError)):
        tree = load_strategy(args.tree)
        check_size(tree.game)

        def save(tree: Tree) -> None:
            if args.output:
                mastermind.save_tree(tree, args.output)

        found = mastermind.prove(
            tree, 3600 * args.hours, args.memo, screen.show, args.certificate, args.processes, better=save
        )
        save(found.tree)
    screen.clear()
    if args.certificate and not found.proven:
        screen.say("there is no proof, so no certificate is written")
    put(sys.stdout.buffer, _text(found), "<stdout>")
    return 0


def _text(found: Proof) -> str:
    """What was found, as lines."""
    if found.proven:
        lines = [f"{found.game}: {found.upper:,} guesses, which is the best; mean {found.tree.mean:.4f}"]
    else:
        lines = [f"{found.game}: between {found.lower:,} and {found.upper:,} guesses, no proof yet"]
        lines += [f"from {found.game.code_text(guess)}: {bound:,} or more" for guess, bound in found.left]
    lines.append(f"{found.positions:,} positions, {found.seconds:.0f} s")
    return "".join(f"{line}\n" for line in lines)
