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

A strategy is replayed against every code, without any search. So is the strategy of a search tree, its most visited
guesses; its drawing has each guess with its visits, the total of guesses that these took and their mean, and each
feedback with the simulations that got it, its frequency, and how many codes it leaves.
"""

#: The most rows in an image, and the guesses and feedbacks of a node that are drawn by default.
_MOST, _WIDTH = 1000, 3


@dataclasses.dataclass(frozen=True, kw_only=True)
class Request:
    """What ``show`` is asked for."""

    tree: str = flag(
        "a strategy, as --save wrote it, or a search tree of `jaxsudoku mastermind train`", "tree", metavar="FILE"
    )
    guesses: int = flags.number_flag("guesses of a game that are drawn", default=2)
    width: int | None = flags.number_flag(
        "of a search tree: guesses of a position, and feedbacks of a guess, that are drawn, the most visited ones "
        f"(default: {_WIDTH})"
    )
    unvisited: bool = flag("of a search tree: draw guesses and feedbacks that no simulation reached too", default=False)
    json: bool = flag("a JSON object instead of the table and the drawing", exclusive="form", default=False)
    svg: bool = flag("an SVG image instead, of at most 1,000 rows", exclusive="form", default=False)


def run(request: Request, invocation: Invocation) -> int:
    """Shows a strategy or a search tree; the exit status."""
    del invocation
    check_printed(request.tree)
    saved = options.load_saved(request.tree)
    if isinstance(saved, mastermind.SearchTree):
        shape = (request.guesses, request.width or _WIDTH, request.unvisited)
        drawing = saved.picture(*shape, _MOST).svg if request.svg else saved.draw(*shape)
        # later, as it adds the positions that no simulation reached
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
