"""``jaxsudoku mastermind show``: checks a saved strategy against every code, and draws it."""

from __future__ import annotations

import dataclasses
import sys

from jaxsudoku import mastermind
from jaxsudoku.cli import flags
from jaxsudoku.cli.invocation import Invocation
from jaxsudoku.cli.outputs import check_printed, put
from jaxsudoku.cli.parser import flag

from .options import load_strategy

EPILOG = """\
examples:
  jaxsudoku mastermind show tree.json
  jaxsudoku mastermind show tree.json --guesses 3
  jaxsudoku mastermind show tree.json --svg > tree.svg

The strategy is replayed against every code, without any search.
"""

#: The most guesses in an image.
_MOST = 1000


@dataclasses.dataclass(frozen=True, kw_only=True)
class Request:
    """What ``show`` is asked for."""

    tree: str = flag("a strategy, as --save wrote it", "tree", metavar="FILE")
    guesses: int = flags.number_flag("guesses of a game that are drawn", default=2)
    json: bool = flag("a JSON object instead of the table and the drawing", exclusive="form", default=False)
    svg: bool = flag("an SVG image instead, of at most 1,000 guesses", exclusive="form", default=False)


def run(request: Request, invocation: Invocation) -> int:
    """Shows a strategy; the exit status."""
    del invocation
    check_printed(request.tree)
    tree = load_strategy(request.tree)
    report = mastermind.Report.of([tree], tree.player or "?")
    if request.json:
        text = report.to_json()
    elif request.svg:
        text = tree.picture(request.guesses, _MOST).svg
    else:
        text = f"{tree.game}\n{report}\n\n{mastermind.draw_tree(tree, request.guesses)}"
    put(sys.stdout.buffer, f"{text}\n", "<stdout>")
    return 0
