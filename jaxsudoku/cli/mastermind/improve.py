"""``jaxsudoku mastermind improve``: improves a saved strategy within a time limit."""

from __future__ import annotations

import dataclasses
import sys

from jaxsudoku import mastermind
from jaxsudoku.cli.invocation import Invocation
from jaxsudoku.cli.outputs import check_outputs, put
from jaxsudoku.cli.parser import flag
from jaxsudoku.mastermind.rules import check_size
from jaxsudoku.runtime.locks import OutputLock
from jaxsudoku.runtime.terminal.failure import as_usage
from jaxsudoku.runtime.terminal.stop import Stop

from .options import hours_flag, load_strategy

EPILOG = """\
examples:
  jaxsudoku mastermind evaluate --pegs 5 --colours 8 --player lookahead --save tree.json
  jaxsudoku mastermind improve tree.json --hours 2
  jaxsudoku mastermind improve tree.json --hours 8 --output better.json

Every better strategy replaces the file, so the command can be stopped at any time and run again. It ends early if the
strategy is proved optimal. output: the total guesses for all codes before and after.
"""


@dataclasses.dataclass(frozen=True, kw_only=True)
class Request:
    """Request of ``improve``."""

    tree: str = flag("file of a strategy, written by --save", "tree", metavar="FILE")
    hours: float = hours_flag("time limit in hours, such as 0.5 (default: 1)", 1.0)
    output: str | None = flag("file for the better strategy (default: the same file)", metavar="FILE")
    force: bool = flag("replace an existing output", default=False)
    quiet: bool = flag("no progress; errors are still reported", default=False)


def run(request: Request, invocation: Invocation) -> int:
    """Improves a strategy; returns the exit status."""
    output = request.output or request.tree
    if request.output:
        check_outputs([output], reads=[request.tree], force=request.force, json=output)
    screen = invocation.start_screen(request.quiet)
    with as_usage((ValueError, BlockingIOError)), OutputLock(output):
        tree = load_strategy(request.tree)
        check_size(tree.game)
        before = int(tree.attempts.sum())
        if request.output:
            mastermind.save_tree(tree, output)

        def keep(better: mastermind.Tree) -> None:
            nonlocal tree
            with invocation.signals.held():
                mastermind.save_tree(better, output)
                tree = better

        try:
            mastermind.improve(tree, 3600 * request.hours, screen.show, keep)
        except Stop as stop:
            stop.advice = f"{output} has a strategy of {tree.attempts.sum():,} guesses; to continue: the same command"
            raise
        screen.clear()
        after = int(tree.attempts.sum())
        put(sys.stdout.buffer, f"{tree.game}: {before:,} guesses, now {after:,}; mean {tree.mean:.4f}\n", "<stdout>")
    return 0
