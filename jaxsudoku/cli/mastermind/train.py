"""``jaxsudoku mastermind train``: trains a search tree, saves it in a file, and draws it."""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Sequence

from jaxsudoku.cli import flags
from jaxsudoku.cli.fields import add_config, config_values
from jaxsudoku.cli.invocation import Invocation
from jaxsudoku.cli.outputs import check_outputs, put
from jaxsudoku.cli.parser import Parser
from jaxsudoku.runtime.locks import OutputLock
from jaxsudoku.runtime.terminal.failure import as_usage
from jaxsudoku.runtime.terminal.progress import Meter
from jaxsudoku.runtime.terminal.stop import Stop

from . import options

SUMMARY = "train a search tree, and save it"

EPILOG = """\
examples:
  jaxsudoku mastermind train --simulations 10000 --output tree.json
  jaxsudoku mastermind train --simulations 100000 --output tree.json --resume
  jaxsudoku mastermind play --search-tree tree.json --train-on 500

--simulations counts all simulations of the tree, those of earlier training too. Ctrl-C ends the training, and the tree
is saved. A tree that is resumed has its own game, exploration and seed.
"""

#: Simulations between two times that the tree is saved.
_STRETCH = 5000


def add_flags(parser: Parser, argv: Sequence[str]) -> None:
    """The flags of ``train``."""
    del argv
    from jaxsudoku.mastermind import PersistentUctConfig

    options.add_game(parser)
    add_config(parser, PersistentUctConfig, "search", without=("during",))
    parser.add_flag("--seed", flags.seed_flag())
    parser.add_argument("--output", required=True, metavar="FILE", help="file of the tree")
    parser.add_argument("--resume", action="store_true", help="go on with the tree in the file, if there is one")
    parser.add_argument("--force", action="store_true", help="replace the file")
    parser.add_flag("--guesses", flags.number_flag("guesses of a game that are drawn", default=2))
    parser.add_flag(
        "--width", flags.number_flag("guesses of a position, and feedbacks of a guess, that are drawn", default=3)
    )
    parser.set_defaults(run=run)


def run(args: argparse.Namespace, invocation: Invocation) -> int:
    """Trains a tree; the exit status."""
    game = options.game_of(args)
    from jaxsudoku.mastermind import PersistentUctConfig, SearchTree
    from jaxsudoku.mastermind.rules import check_size

    with args.parser.errors():
        config = PersistentUctConfig(**config_values(args, PersistentUctConfig))
    resumed = args.resume and os.path.exists(args.output)
    check_outputs([args.output], reads=[], force=args.force or resumed, json=args.output)
    screen, meter = invocation.start_screen(quiet=False), Meter("simulations")
    with as_usage((ValueError, BlockingIOError)), OutputLock(args.output):
        check_size(game)
        tree = SearchTree.load(args.output) if resumed else SearchTree(game, config.exploration, args.seed)
        options.check_game(args, game, f"{args.output}: a tree", tree.game)
        try:
            screen.show(meter.line(tree.iterations, config.simulations), now=True, task=True)
            while tree.iterations < config.simulations:
                with invocation.signals.held():
                    tree.train(min(_STRETCH, config.simulations - tree.iterations))
                    tree.save(args.output)
                screen.show(meter.line(tree.iterations, config.simulations), task=True)
        except Stop as stop:
            stop.advice = f"{args.output} has {tree.iterations:,} simulations; to go on: --resume"
            raise
    screen.clear()
    put(sys.stdout.buffer, f"{tree.draw(args.guesses, args.width)}\n", "<stdout>")
    return 0
