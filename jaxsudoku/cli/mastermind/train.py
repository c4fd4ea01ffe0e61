"""``jaxsudoku mastermind train``: trains a search tree, saves it in a file, and draws it."""

from __future__ import annotations

import dataclasses
import os
import sys
from collections.abc import Sequence

from jaxsudoku.cli import flags
from jaxsudoku.cli.fields import add_config
from jaxsudoku.cli.invocation import Invocation
from jaxsudoku.cli.outputs import check_outputs, put
from jaxsudoku.cli.parser import Parser, flag
from jaxsudoku.mastermind import PersistentUctConfig
from jaxsudoku.mastermind.rules import check_size
from jaxsudoku.runtime.locks import OutputLock
from jaxsudoku.runtime.terminal.failure import as_usage
from jaxsudoku.runtime.terminal.progress import Meter
from jaxsudoku.runtime.terminal.stop import Stop

from . import options

EPILOG = """\
examples:
  jaxsudoku mastermind train --simulations 10000 --output tree.json
  jaxsudoku mastermind train --simulations 100000 --output tree.json --resume
  jaxsudoku mastermind play --search-tree tree.json --train-on 500

--simulations counts all simulations of the tree, including those of earlier training. Ctrl-C ends the training and
saves the tree. A resumed tree keeps its game, exploration and seed.
"""

#: Number of simulations after which the tree is saved.
_STRETCH = 5000


@dataclasses.dataclass(frozen=True, kw_only=True)
class Request(options.GameRequest):
    """Request of ``train``; ``config`` has the settings of the search."""

    config: PersistentUctConfig
    seed: int = flags.seed_flag()
    output: str = flag("file of the tree", required=True, metavar="FILE")
    resume: bool = flag("continue with the tree in the file, if there is one", default=False)
    force: bool = flag("replace the file", default=False)
    guesses: int = flags.number_flag("number of guesses of a game to draw", default=2)
    width: int = flags.number_flag("number of guesses per position and feedbacks per guess to draw", default=3)


def add_flags(parser: Parser, argv: Sequence[str]) -> None:
    """Adds the flags of ``train``."""
    del argv
    parser.add_request(Request, run, config=PersistentUctConfig)
    add_config(parser, PersistentUctConfig, "search", without=("during",))


def run(request: Request, invocation: Invocation) -> int:
    """Trains a tree; returns the exit status."""
    game, config = request.load_game(), request.config
    resumed = request.resume and os.path.exists(request.output)
    check_outputs([request.output], reads=[], force=request.force or resumed, json=request.output)
    from jaxsudoku.mastermind import SearchTree

    screen, meter = invocation.start_screen(quiet=False), Meter("simulations")
    with as_usage((ValueError, BlockingIOError)), OutputLock(request.output):
        check_size(game)
        tree = SearchTree.load(request.output) if resumed else SearchTree(game, config.exploration, request.seed)
        request.check_game(f"{request.output}: a tree", tree.game)
        try:
            screen.show(meter.line(tree.iterations, config.simulations), now=True, task=True)
            while tree.iterations < config.simulations:
                with invocation.signals.held():
                    tree.train(min(_STRETCH, config.simulations - tree.iterations))
                    tree.save(request.output)
                screen.show(meter.line(tree.iterations, config.simulations), task=True)
        except Stop as stop:
            stop.advice = f"{request.output} has {tree.iterations:,} simulations; to continue: --resume"
            raise
    screen.clear()
    put(sys.stdout.buffer, f"{tree.draw(request.guesses, request.width)}\n", "<stdout>")
    return 0
