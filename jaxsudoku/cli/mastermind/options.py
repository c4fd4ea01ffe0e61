"""Flags shared by the actions of ``jaxsudoku mastermind``: the game, players and settings, saved strategies."""

from __future__ import annotations

import argparse
import dataclasses
import math
from collections.abc import Sequence
from typing import Any

from jaxsudoku import mastermind
from jaxsudoku.cli import flags
from jaxsudoku.cli.fields import add_config
from jaxsudoku.cli.parser import Parser, flag
from jaxsudoku.mastermind import PLAYERS, Game, players
from jaxsudoku.mastermind.games import PEG_GAMES, WORDS
from jaxsudoku.runtime.terminal.failure import UsageError, as_usage

CODES_SECTION = """\
A code is a row of colours, numbered from 1: 1122, or 1 12 3 4 with two-digit colours. Feedback is two numbers, as in
2 1: pegs with the right colour and place, and further pegs with a colour that belongs elsewhere. In games of digits a
code is a number, 0123; with black pegs feedback is one number; words have a mark for each letter, as in g-y--: g is
right, y is elsewhere.
"""

#: The default player.
PLAYER = "entropy"


@dataclasses.dataclass(frozen=True, kw_only=True)
class GameRequest:
    """Request fields of a game: its name and settings, or files of words; by default the usual game.

    Raises:
      ValueError: the settings are out of range.
      UsageError: flags of words and of pegs together.
    """

    game: str | None = flag(
        "the game: mastermind; black-pegs, with only the right pegs as feedback; bulls-and-cows, 4 different "
        "digits of 10; ab, 3 different digits; words, with a mark for each letter (default: mastermind)",
        choices=(*PEG_GAMES, WORDS),
    )
    words: str | None = flag(
        "with words: file of the possible secrets, one word per line (default: 555 English words of five letters)",
        metavar="FILE",
    )
    further: str | None = flag("with words: file of further words that may be guessed", metavar="FILE")
    pegs: int | None = flags.number_flag("number of pegs or digits of a code (default: 4)")
    colours: int | None = flags.number_flag("number of colours (default: 6)")
    repeats: bool | None = flag(
        "whether a code may have a colour more than once (default: yes)", action=argparse.BooleanOptionalAction
    )

    def __post_init__(self) -> None:
        if not self._has_words:
            self._peg_game()
        elif self.game not in (None, WORDS) or self._given("pegs", "colours", "repeats"):
            raise UsageError("--words and --further are for --game words, which has no pegs")

    def load_game(self) -> Game:
        """Loads the game; raises a UsageError that names a file of words that can't be read."""
        if not self._has_words:
            return self._peg_game()
        with as_usage():
            return mastermind.WordGame.load(self.words, self.further)

    def check_game(self, what: str, of: Game) -> None:
        """Raises UsageError if the flags name another game than a file."""
        if self._given("game", "words", "further", "pegs", "colours", "repeats") and of != (game := self.load_game()):
            raise UsageError(f"{what} for {of}, where the game is {game}")

    @property
    def _has_words(self) -> bool:
        return bool(self.words or self.further or self.game == WORDS)

    def _given(self, *names: str) -> dict[str, Any]:
        """The values of the given flags, by name."""
        return {name: value for name in names if (value := getattr(self, name)) is not None}

    def _peg_game(self) -> Game:
        own = self._given("pegs", "colours", "repeats")
        return mastermind.PegGame(**PEG_GAMES[self.game or "mastermind"] | own)


def hours_flag(text: str, default: float) -> Any:
    """The flag of the time in hours."""
    return flag(text, type=_hours, default=default, metavar="H")


def player_flag(note: str, **options: Any) -> Any:
    """The flag of the player; options are those of ``flag``."""
    listed = "; ".join(f"{name}: {kind.summary}" for name, kind in PLAYERS.items()).replace("%", "%%")
    text = f"the player that guesses, which has its own flags: {listed} (default: {PLAYER}){note}"
    return flag(text, metavar="NAME", **options)


def _hours(text: str) -> float:
    """A positive number of hours."""
    try:
        hours = float(text)
    except ValueError:
        hours = math.nan
    if not 0 < hours < math.inf:
        raise argparse.ArgumentTypeError(f"{text!r} is not a positive number of hours")
    return hours


def add_request(parser: Parser, request: type, run: Any, names: Sequence[str]) -> None:
    """Adds the flags of a request with a player, and those of the player's settings, the field ``config``.

    Args:
      parser: the parser.
      request: the class of the request.
      run: runs the action.
      names: the players that the arguments name; settings have flags if it is one player.
    """
    parser.configs = [kind.config for kind in PLAYERS.values()]
    if len(names) > 1 or "all" in names:
        parser.add_request(request, run)
        return
    name = (names or [PLAYER])[0] or PLAYER
    with parser.errors():
        config = players.get(name).config
    parser.add_request(request, run, config=config)
    add_config(parser, config, f"flags of the player {name}")


def load_strategy(path: str) -> mastermind.Tree:
    """Loads a strategy that finds every code; raises a UsageError that names the file."""
    with as_usage():
        return _checked(path, mastermind.load_tree(path))


def load_saved(path: str) -> mastermind.Tree | mastermind.SearchTree:
    """Loads a strategy that finds every code, or a search tree; raises a UsageError that names the file."""
    from jaxsudoku.mastermind import formats

    with as_usage():
        saved = formats.load_saved(path)
    return saved if isinstance(saved, mastermind.SearchTree) else _checked(path, saved)


def _checked(path: str, tree: mastermind.Tree) -> mastermind.Tree:
    try:
        _ = tree.attempts
    except mastermind.TreeError as error:
        raise UsageError(f"{path}: {error}") from error
    return tree
