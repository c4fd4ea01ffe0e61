"""``jaxsudoku mastermind prove``: proves that a saved strategy is optimal, or finds a better one."""

from __future__ import annotations

import dataclasses
import math
import sys
from pathlib import Path

from jaxsudoku import mastermind
from jaxsudoku.cli import flags
from jaxsudoku.cli.invocation import Invocation
from jaxsudoku.cli.outputs import check_outputs, put
from jaxsudoku.cli.parser import flag
from jaxsudoku.mastermind.rules import check_size
from jaxsudoku.runtime.terminal.failure import UsageError, as_usage
from jaxsudoku.runtime.workers import JobError

from .options import hours_flag, load_strategy

EPILOG = """\
examples:
  jaxsudoku mastermind evaluate --pegs 4 --colours 7 --player lookahead --save tree.json
  jaxsudoku mastermind prove tree.json --output best.json
  jaxsudoku mastermind prove tree.json --memo known --hours 6 --processes 4
  jaxsudoku mastermind prove tree.json --memo known --resume --certificate proof.npz

output: a lower bound for all strategies and the best known total of guesses for all codes; without a proof also the
possible first guesses of a better strategy. The transposition table is in the folder --memo; --resume continues from
it, even if the search was killed. Start from a good strategy, such as one from `jaxsudoku mastermind improve`. Several
processes (--processes) share the table, in a temporary folder if none is named; they find the same totals.
`python tests/support/mastermind_checker.py FILE` checks a certificate with numpy only.
"""


@dataclasses.dataclass(frozen=True, kw_only=True)
class Request:
    """Request of ``prove``."""

    tree: str = flag("file of a strategy, written by --save", "tree", metavar="FILE")
    hours: float = hours_flag("time limit in hours, after which it ends without a proof (default: none)", math.inf)
    processes: int = flags.number_flag("number of processes, each with its share of the cores", default=1)
    memo: str | None = flag("folder for the transposition table (default: in memory)", metavar="FOLDER")
    resume: bool = flag("continue from the table in --memo", default=False)
    output: str | None = flag("file for the best strategy", metavar="FILE")
    certificate: str | None = flag("file for the claims that prove the bound (.npz)", metavar="FILE")
    force: bool = flag("replace existing outputs", default=False)
    quiet: bool = flag("no progress; errors are still reported", default=False)


def run(request: Request, invocation: Invocation) -> int:
    """Proves a strategy; returns the exit status, 0 even without a proof."""
    if request.resume and request.memo is None:
        raise UsageError("--resume needs the folder of --memo")
    if (
        request.memo is not None
        and not request.resume
        and Path(request.memo).exists()
        and any(Path(request.memo).iterdir())
    ):
        raise UsageError(f"{request.memo} isn't empty: continue from it with --resume, or name another folder")
    outputs = list(filter(None, [request.output, request.certificate]))
    check_outputs(outputs, reads=[request.tree], force=request.force, json=request.output)
    screen = invocation.start_screen(request.quiet)
    with as_usage((ValueError, BlockingIOError, JobError)):
        tree = load_strategy(request.tree)
        check_size(tree.game)

        def save(tree: mastermind.Tree) -> None:
            if request.output:
                mastermind.save_tree(tree, request.output)

        found = mastermind.prove(
            tree, 3600 * request.hours, request.memo, screen.show, request.certificate, request.processes, better=save
        )
        save(found.tree)
    screen.clear()
    if request.certificate and not found.proven:
        screen.say("there is no proof, so no certificate is written")
    put(sys.stdout.buffer, _text(found), "<stdout>")
    return 0


def _text(found: mastermind.Proof) -> str:
    """The result as lines of text."""
    if found.proven:
        lines = [f"{found.game}: {found.upper:,} guesses, which is the best; mean {found.tree.mean:.4f}"]
    else:
        lines = [f"{found.game}: between {found.lower:,} and {found.upper:,} guesses, no proof yet"]
        lines += [f"from {found.game.code_text(guess)}: {bound:,} or more" for guess, bound in found.left]
    lines.append(f"{found.positions:,} positions, {found.seconds:.0f} s")
    return "".join(f"{line}\n" for line in lines)
