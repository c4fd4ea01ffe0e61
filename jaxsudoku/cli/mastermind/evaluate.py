"""``jaxsudoku mastermind evaluate``: plays all secrets of a game against players."""

from __future__ import annotations

import argparse
import dataclasses
import functools
import sys
import time
from collections.abc import Sequence
from typing import TYPE_CHECKING

from jaxsudoku import pictures
from jaxsudoku.cli import flags
from jaxsudoku.cli.invocation import Invocation
from jaxsudoku.cli.outputs import check_outputs, check_printed, put
from jaxsudoku.cli.parser import Parser, find_values
from jaxsudoku.cli.report import record
from jaxsudoku.runtime.terminal.failure import UsageError, as_usage
from jaxsudoku.runtime.terminal.progress import Screen

from . import options

if TYPE_CHECKING:
    from jaxsudoku import mastermind

SUMMARY = "play all secrets of a game against players"

EPILOG = f"""\
examples:
  jaxsudoku mastermind evaluate --pegs 4 --colours 6 --player entropy
  jaxsudoku mastermind evaluate --player random --trees 100 --json
  jaxsudoku mastermind evaluate --player minimax --player optimal --plot players.png
  jaxsudoku mastermind evaluate --player lookahead --plies 3 --save tree.json

Every code of the game is the secret once. output: a table, a player a line: its first guess, the mean, the maximum and
the sum of the guesses, and how many games take 1, 2, 3 ... guesses; or a JSON object a player, one a line.

{options.CODES_SECTION}"""


def add_flags(parser: Parser, argv: Sequence[str]) -> None:
    """The flags of ``evaluate``, with those of the player if the arguments name one."""
    options.add_game(parser)
    options.add_player(parser, find_values(argv, "--player"), several=True)
    parser.add_flag("--trees", flags.number_flag("strategies of each random player, all played", default=1))
    parser.add_argument("--json", action="store_true", help="a JSON object a player instead of the table")
    parser.add_argument("--plot", metavar="FILE", help="a picture, such as players.png (needs the extra plot)")
    parser.add_argument("--save", metavar="FILE", help="file for the strategy, of one player, as JSON")
    parser.add_argument("--force", action="store_true", help="replace existing outputs")
    parser.add_argument("--quiet", action="store_true", help="no progress; errors are still reported")
    parser.add_flag("--seed", flags.seed_flag())
    parser.set_defaults(run=run)


def run(args: argparse.Namespace, invocation: Invocation) -> int:
    """Evaluates players; the exit status."""
    game, configs = options.game_of(args), options.players_of(args)
    check_printed()
    check_outputs([path for path in (args.plot, args.save) if path], force=args.force, json=args.save)
    if args.save and (len(configs) > 1 or args.trees > 1):
        raise UsageError("--save is for one strategy: name one player, and leave --trees out")
    with as_usage():
        if args.plot:
            pictures.check_suffix(args.plot)
    screen = invocation.start_screen(args.quiet)
    from jaxsudoku import mastermind
    from jaxsudoku.mastermind.players import get
    from jaxsudoku.mastermind.report import evaluate_trees

    with as_usage():
        for name, config in configs.items():
            get(name).check(game, config)
    reports: list[mastermind.Report] = []
    trees: list[mastermind.Tree] = []
    for name, config in configs.items():
        began = time.perf_counter()
        copies = args.trees if get(name).random else 1
        try:
            progress = functools.partial(_show, screen, name)
            report, trees = evaluate_trees(game, name, config, args.seed, copies, progress)
        except mastermind.SearchLimitError as error:
            screen.say(f"jaxsudoku: error: {name}: {error}")
            continue
        about = record(seed=args.seed, startup_seconds=began - invocation.began)
        reports.append(dataclasses.replace(report, about=about))
        if args.json:
            screen.clear()
            put(sys.stdout.buffer, f"{reports[-1].to_json()}\n", "<stdout>")
    screen.clear()
    with invocation.signals.held():
        if reports and not args.json:
            put(sys.stdout.buffer, f"{game}: {game.secrets:,} codes\n{mastermind.table(reports)}\n", "<stdout>")
        if reports and args.save:
            mastermind.save_tree(trees[0], args.save)
        if reports and args.plot:
            mastermind.plot(reports, args.plot)
    return 0 if len(reports) == len(configs) else 1


def _show(screen: Screen, name: str, text: str) -> None:
    screen.show(f"{name}: {text}")
