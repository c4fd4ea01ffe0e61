"""What the actions of ``jaxsudoku mastermind`` share: the game, the players with their settings, saved strategies."""

from __future__ import annotations

import argparse
import dataclasses
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from jaxsudoku.cli import flags
from jaxsudoku.cli.fields import add_config, config_values
from jaxsudoku.cli.parser import Parser
from jaxsudoku.terminal.failure import UsageError, as_usage

if TYPE_CHECKING:
    from jaxsudoku.mastermind import Game, Tree

CODES_SECTION = """\
A code is a row of colours, numbers from 1 on: 1122, or 1 12 3 4 where colours have two digits. Feedback is two numbers:
how many pegs are right, and how many more have a colour that stands elsewhere, as in 2 1.
"""

_PLAYER = "entropy"


def add_game(parser: argparse.ArgumentParser) -> None:
    """The game."""
    flags.add_number(parser, "--pegs", "pegs of a code (default: 4)")
    flags.add_number(parser, "--colours", "colours that a peg may have (default: 6)")
    parser.add_argument(
        "--repeats",
        action=argparse.BooleanOptionalAction,
        help="a code may have a colour more than once (default: it may)",
    )


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
    from jaxsudoku.mastermind import Game

    with args.parser.errors():
        return Game(**game_flags(args))


def game_flags(args: argparse.Namespace) -> dict[str, Any]:
    """The flags of the game that were given."""
    names = ("pegs", "colours", "repeats")
    return {name: getattr(args, name) for name in names if getattr(args, name) is not None}


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
