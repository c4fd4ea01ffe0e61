"""``jaxsudoku mastermind show``: checks a saved strategy or search tree against every code, and draws it."""

from __future__ import annotations

import dataclasses
import sys

from jaxsudoku import mastermind
from jaxsudoku.cli import flags
from jaxsudoku.cli.invocation import Invocation
from jaxsudoku.cli.outputs import check_printed, put
from jaxsudoku.cli.parser import flag
from jaxsudoku.runtime.terminal.failure import UsageError

from . import options

EPILOG = """\
examples:
  jaxsudoku mastermind show tree.json
  jaxsudoku mastermind show tree.json --guesses 3
  jaxsudoku mastermind show tree.json --svg > tree.svg
  jaxsudoku mastermind show search-tree.json --guesses 9 --width 99 --unvisited

A strategy is replayed against every code, without any search. The strategy of a search tree is its most visited
guesses; the drawing shows each guess with its visits and the total and mean number of guesses of these, and each
feedback with its simulations, its frequency, and the number of codes left.
"""

#: Maximum number of rows in an image, and default number of guesses and feedbacks drawn per node.
_MOST, _WIDTH = 1000, 3


@dataclasses.dataclass(frozen=True, kw_only=True)
class Request:
    """Request of ``show``."""

    tree: str = flag(
        "file of a strategy (--save), or of a search tree of `jaxsudoku mastermind train`", "tree", metavar="FILE"
    )
    guesses: int = flags.number_flag("number of guesses of a game to draw", default=2)
    width: int | None = flags.number_flag(
        "for search trees: number of guesses per position and feedbacks per guess to draw, the most visited ones "
        f"(default: {_WIDTH})"
    )
    unvisited: bool = flag("for search trees: also draw guesses and feedbacks without simulations", default=False)
    json: bool = flag("print a JSON object instead of the table and the drawing", exclusive="form", default=False)
    svg: bool = flag("print an SVG image instead, of at most 1,000 rows", exclusive="form", default=False)


def run(request: Request, invocation: Invocation) -> int:
    """Shows a strategy or a search tree; returns the exit status."""
    del invocation
    check_printed(request.tree)
    saved = options.load_saved(request.tree)
    if isinstance(saved, mastermind.SearchTree):
        shape = (request.guesses, request.width or _WIDTH, request.unvisited)
        drawing = saved.picture(*shape, _MOST).svg if request.svg else saved.draw(*shape)
        # last, as it adds positions that no simulation reached
        tree = mastermind.grow(saved.game, saved.policy(), player="persistent-uct")[0]
    elif request.width or request.unvisited:
        raise UsageError(f"--width and --unvisited are for search trees, and {request.tree} is a strategy")
    else:
        tree, depth = saved, request.guesses
        drawing = tree.picture(depth, _MOST).svg if request.svg else mastermind.draw_tree(tree, depth)
    report = mastermind.Report.of([tree], tree.player or "?")
    if request.json:
        text = report.to_json()
    elif request.svg:
        text = drawing
    else:
        text = f"{tree.game}\n{report}\n\n{drawing}"
    put(sys.stdout.buffer, f"{text}\n", "<stdout>")
    return 0
