"""The flags of ``mastermind`` and its actions: ``play``, ``evaluate`` and ``show``."""

from __future__ import annotations

import argparse
import dataclasses
from collections.abc import Sequence
from typing import Any

from .fields import add_config
from .values import add_seed, at_least

_EPILOG = """\
examples:
  jaxsudoku mastermind play
  jaxsudoku mastermind play --you guess --pegs 5 --colours 8
  jaxsudoku mastermind evaluate --pegs 4 --colours 6 --player entropy
  jaxsudoku mastermind evaluate --player all --plot players.png
  jaxsudoku mastermind evaluate --player optimal --save optimal.json
  jaxsudoku mastermind show optimal.json --guesses 3

`jaxsudoku mastermind ACTION --help` tells all about an action.
"""

_TEXTS = """\
A code is a row of colours, numbers from 1 on: 1122, or 1 12 3 4 where colours have two digits. Feedback is two numbers:
how many pegs are right, and how many more have a colour that stands elsewhere, as in 2 1.
"""

_PLAY_EPILOG = f"""\
examples:
  jaxsudoku mastermind play
  jaxsudoku mastermind play --you guess --seed 7

{_TEXTS}
While you hold the secret, answers that no code fits are told, with those that may be wrong; undo takes one back. While
you guess, fits CODE tells whether a code may be the secret. quit ends the game.
"""

_EVALUATE_EPILOG = f"""\
examples:
  jaxsudoku mastermind evaluate --pegs 4 --colours 6 --player entropy
  jaxsudoku mastermind evaluate --player random --trees 100 --json
  jaxsudoku mastermind evaluate --player minimax --player optimal --plot players.png
  jaxsudoku mastermind evaluate --player lookahead --plies 3 --save tree.json

Every code of the game is the secret once. output: a table, a player a line: its first guess, the mean, the maximum and
the sum of the guesses, and how many games take 1, 2, 3 ... guesses; or a JSON object a player, one a line.

{_TEXTS}"""

_SHOW_EPILOG = """\
examples:
  jaxsudoku mastermind show tree.json
  jaxsudoku mastermind show tree.json --guesses 3

The strategy is replayed against every code, without any search.
"""


def add(commands: Any, player: str | None) -> None:
    """Adds the command, with the flags of a player's config if one is named."""
    what = "play Mastermind, and measure those who do"
    parser = commands.add_parser("mastermind", help=what, description=f"{what.capitalize()}.", epilog=_EPILOG)
    actions = parser.add_subparsers(dest="action", metavar="ACTION", required=True)

    play = _action(actions, "play", "play a game against a player", _PLAY_EPILOG)
    _add_game(play)
    play.add_argument("--you", choices=("hold", "guess"), default="hold",
                      help="hold the secret and answer, or guess one that is held (default: hold)")  # fmt: skip
    play.add_argument("--player", default="entropy", metavar="NAME", help=_player_help(player))
    play.add_argument("--tree", metavar="FILE", help="a strategy to guess by, instead of a player; it tells the game")
    play.add_argument("--seed", type=at_least(0, below=2**32), metavar="N",
                      help="seed of all that is random, the secret too (default: another every time)")  # fmt: skip

    evaluate = _action(actions, "evaluate", "play all secrets of a game against players", _EVALUATE_EPILOG)
    _add_game(evaluate)
    evaluate.add_argument("--player", action="append", metavar="NAME",
                          help=f"{_player_help(player)}; may be repeated; all for all of them")  # fmt: skip
    evaluate.add_argument("--trees", type=at_least(1), default=1, metavar="N",
                          help="strategies of each random player, all played (default: 1)")  # fmt: skip
    evaluate.add_argument("--json", action="store_true", help="a JSON object a player instead of the table")
    evaluate.add_argument("--plot", metavar="FILE", help="a picture, such as players.png (needs the extra plot)")
    evaluate.add_argument("--save", metavar="FILE", help="file for the strategy, of one player, as JSON")
    evaluate.add_argument("--force", action="store_true", help="replace existing outputs")
    evaluate.add_argument("--quiet", action="store_true", help="no progress; errors are still reported")
    add_seed(evaluate)

    show = _action(actions, "show", "check a saved strategy, and draw it", _SHOW_EPILOG)
    show.add_argument("tree", metavar="FILE", help="a strategy, as --save wrote it")
    show.add_argument("--guesses", type=at_least(1), default=2, metavar="N",
                      help="guesses of a game that are drawn (default: 2)")  # fmt: skip
    show.add_argument("--json", action="store_true", help="a JSON object instead of the table and the drawing")

    if player is not None and player != "all":
        from jaxsudoku.mastermind import players

        try:
            config = players.get(player).config
        except ValueError as error:
            evaluate.error(str(error))
        for action in (play, evaluate):
            if dataclasses.fields(config):
                add_config(action, config, f"flags of the player {player}")


def player_in(argv: Sequence[str]) -> str | None:
    """The one player that arguments name, whose flags they may have; None where they name several, or need none."""
    if len(argv) < 2 or argv[1] not in ("play", "evaluate"):
        return None
    name = argparse.ArgumentParser(add_help=False, allow_abbrev=False, exit_on_error=False)
    name.add_argument("--player", action="append", nargs="?", const="entropy")
    named = name.parse_known_args(list(argv))[0].player or ["entropy"]
    return named[0] if len(named) == 1 else None


def with_config(args: argparse.Namespace, player: str | None) -> argparse.Namespace:
    """The same with the game, and the settings of each player; ends the program if something is out of range."""
    if args.action == "show":
        return args
    from jaxsudoku.mastermind import Game, players

    try:
        named = {
            name: getattr(args, name) for name in ("pegs", "colours", "repeats") if getattr(args, name) is not None
        }
        args.game, args.game_named = Game(**named), bool(named)
        if args.action == "play":
            names = [args.player]
        else:
            names = args.player or ["entropy"]
            names = list(players.PLAYERS) if "all" in names else list(dict.fromkeys(names))
        args.players = {}
        for name in names:
            fields = dataclasses.fields(players.get(name).config)
            given = {field.name: getattr(args, field.name) for field in fields} if name == player else {}
            args.players[name] = players.make_config(name, **given)
    except ValueError as error:
        args.parser.error(str(error))
    return args


def _action(actions: Any, name: str, what: str, epilog: str) -> Any:
    parser = actions.add_parser(name, help=what, description=f"{what[0].upper()}{what[1:]}.", epilog=epilog)
    parser.set_defaults(parser=parser)
    return parser


def _add_game(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--pegs", type=at_least(1), metavar="N", help="pegs of a code (default: 4)")
    parser.add_argument("--colours", type=at_least(1), metavar="N",
                        help="colours that a peg may have (default: 6)")  # fmt: skip
    parser.add_argument("--repeats", action=argparse.BooleanOptionalAction,
                        help="a code may have a colour more than once (default: it may)")  # fmt: skip


def _player_help(player: str | None) -> str:
    if player is None:
        return "who finds the secret (default: entropy)"
    from jaxsudoku.mastermind import PLAYERS

    listed = "; ".join(f"{name}: {kind.summary}" for name, kind in PLAYERS.items())
    return f"who finds the secret, which brings its own flags: {listed} (default: entropy)".replace("%", "%%")
