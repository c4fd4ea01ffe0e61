"""What the actions of ``jaxsudoku mastermind`` share: the game, the players with their settings, saved strategies."""

from __future__ import annotations

import argparse
import dataclasses
import math
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from jaxsudoku.cli import flags
from jaxsudoku.cli.fields import add_config, config_values
from jaxsudoku.cli.parser import Parser
from jaxsudoku.runtime.terminal.failure import UsageError, as_usage

if TYPE_CHECKING:
    from jaxsudoku.mastermind import Game, Tree

CODES_SECTION = """\
A code is a row of colours, numbers from 1 on: 1122, or 1 12 3 4 where colours have two digits. Feedback is two numbers:
how many pegs are right, and how many more have a colour that stands elsewhere, as in 2 1. In games of digits a code is
a number, 0123; with black pegs feedback is one number; words have a mark for each letter, as in g-y--: g is right, y is
elsewhere.
"""

_PLAYER = "entropy"


def add_game(parser: Parser) -> None:
    """The game."""
    from jaxsudoku.mastermind.games import PEG_GAMES, WORDS

    parser.add_argument(
        "--game",
        choices=(*PEG_GAMES, WORDS),
        help="the game: mastermind; black-pegs, whose feedback is the right pegs alone; bulls-and-cows, 4 different "
        "digits of 10; ab, 3 different digits; words, with a mark for each letter (default: mastermind)",
    )
    parser.add_argument("--words", metavar="FILE", help="with words: the words that may be the secret, a line each")
    parser.add_argument("--further", metavar="FILE", help="with words: further words that may be guessed")
    parser.add_flag("--pegs", flags.number_flag("pegs, or digits, of a code (default: 4)"))
    parser.add_flag("--colours", flags.number_flag("colours that a peg may have (default: 6)"))
    parser.add_argument(
        "--repeats",
        action=argparse.BooleanOptionalAction,
        help="a code may have a colour more than once (default: it may)",
    )


def add_hours(parser: argparse.ArgumentParser, default: float, text: str) -> None:
    """The time in hours."""
    parser.add_argument("--hours", type=_hours, default=default, metavar="H", help=text)


def _hours(text: str) -> float:
    """A positive number of hours."""
    try:
        hours = float(text)
    except ValueError:
        hours = math.nan
    if not 0 < hours < math.inf:
        raise argparse.ArgumentTypeError(f"{text!r} is no positive number of hours")
    return hours


def add_player(parser: Parser, names: Sequence[str], several: bool) -> None:
    """The player, with the flags of its settings if the arguments name one player.

    Args:
      parser: the parser.
      names: the players that the arguments name.
      several: whether the flag may be repeated.
    """
    from jaxsudoku.mastermind import PLAYERS, players

    listed = "; ".join(f"{name}: {kind.summary}" for name, kind in PLAYERS.items()).replace("%", "%%")
    text = f"the player that finds the secret, which has flags of its own: {listed} (default: {_PLAYER})"
    parser.configs = [kind.config for kind in PLAYERS.values()]
    parser.words["player"] = (*PLAYERS, "all") if several else PLAYERS
    if several:
        parser.add_argument(
            "--player", action="append", metavar="NAME", help=f"{text}; may be repeated; all for all of them"
        )
    else:
        parser.add_argument("--player", default=_PLAYER, metavar="NAME", help=text)
    if len(names) > 1 or "all" in names:
        return
    name = (names or [_PLAYER])[0] or _PLAYER
    with parser.errors():
        config = players.get(name).config
    if dataclasses.fields(config):
        add_config(parser, config, f"flags of the player {name}")


def game_of(args: argparse.Namespace) -> Game:
    """The game; ends the program if there is no such game."""
    from jaxsudoku.mastermind import PegGame, WordGame
    from jaxsudoku.mastermind.games import PEG_GAMES, WORDS

    given = game_flags(args)
    kind, words, further = (given.pop(name, None) for name in ("game", "words", "further"))
    if words or further or kind == WORDS:
        if kind not in (None, WORDS) or given:
            raise UsageError("--words and --further are for --game words, which has no pegs")
        if not words:
            raise UsageError("--game words needs --words, a file of the words that may be the secret")
        with as_usage():
            return WordGame.load(words, further)
    with args.parser.errors():
        return PegGame(**PEG_GAMES[kind or "mastermind"] | given)


def game_flags(args: argparse.Namespace) -> dict[str, Any]:
    """The flags of the game that were given."""
    names = ("game", "words", "further", "pegs", "colours", "repeats")
    return {name: getattr(args, name) for name in names if getattr(args, name) is not None}


def check_game(args: argparse.Namespace, game: Game, what: str, of: Game) -> None:
    """Raises UsageError if flags name another game than that of a file."""
    if game_flags(args) and of != game:
        raise UsageError(f"{what} for {of}, where the game is {game}")


def players_of(args: argparse.Namespace) -> dict[str, Any]:
    """The settings of the players, by name; ends the program if there is no such player, or a value is out of range."""
    from jaxsudoku.mastermind import PLAYERS, players

    names = [args.player] if isinstance(args.player, str) else args.player or [_PLAYER]
    names = list(PLAYERS) if "all" in names else list(dict.fromkeys(names))
    configs = {}
    with args.parser.errors():
        for name in names:
            # flags of settings exist only where one player is named
            given = config_values(args, players.get(name).config) if len(names) == 1 else {}
            configs[name] = players.make_config(name, **given)
    return configs


def load_strategy(path: str) -> Tree:
    """A strategy that finds every code, from a file; raises UsageError that names the file."""
    from jaxsudoku import mastermind

    with as_usage():
        tree = mastermind.load_tree(path)
        try:
            _ = tree.attempts
        except mastermind.TreeError as error:
            raise UsageError(f"{path}: {error}") from error
    return tree
