"""Registry of games by name, and games as JSON. No JAX."""

from __future__ import annotations

import dataclasses
import re
from typing import Any

from jaxsudoku.runtime.suggestions import did_you_mean

from .peg_game import PegGame
from .rules import Game, GameError
from .word_game import WordGame

#: The classes of games by their names in files.
KINDS: dict[str, type[PegGame] | type[WordGame]] = {kind.kind: kind for kind in (PegGame, WordGame)}

#: Required fields of games in files, by kind.
_REQUIRED = {"pegs": ("pegs", "colours", "repeats"), "words": ("words",)}

#: Settings of games with codes of different digits.
_DIGITS: dict[str, Any] = {"colours": 10, "repeats": False, "lowest": 0}

#: The games of pegs by name, with the settings that differ from ``PegGame()``.
PEG_GAMES: dict[str, dict[str, Any]] = {
    "mastermind": {},
    "black-pegs": {"elsewhere": False},
    "bulls-and-cows": _DIGITS,
    "ab": {"pegs": 3, **_DIGITS},
}

#: The name of games with files of words.
WORDS = "words"


def bulls_and_cows(digits: int = 4) -> PegGame:
    """Bulls and Cows: a number of different digits. Bulls are right digits, cows are digits elsewhere."""
    return PegGame(digits, **_DIGITS)


def as_game(game: Game | str) -> Game:
    """A game, or the game of a name, which every function that takes a game takes too.

    Args:
      game: a game; or "4x6", pegs by colours; "mastermind", "black-pegs", "bulls-and-cows", "ab"; or "words", the game
        of the list of words that ships.

    Raises:
      GameError: no game has such a name, or it can't be played.
    """
    if isinstance(game, Game):
        return game
    if not isinstance(game, str):
        raise GameError(f"a game, or its name, is needed, not {game!r}")
    name = game.strip().lower()
    if size := re.fullmatch(r"(\d{1,3})\s*[x×]\s*(\d{1,3})", name, re.ASCII):
        return PegGame(int(size[1]), int(size[2]))
    if name == WORDS:
        return WordGame.load()
    if name not in PEG_GAMES:
        names = (*PEG_GAMES, WORDS)
        hint = did_you_mean(name, names)
        raise GameError(f"unknown game {game!r}: name pegs by colours, as '4x6', or one of {', '.join(names)}{hint}")
    return PegGame(**PEG_GAMES[name])


def to_fields(game: Game) -> dict[str, Any]:
    """A game as a JSON object, which ``from_fields`` reads."""
    return {"kind": game.kind, **dataclasses.asdict(game)}


def from_fields(fields: Any) -> Game:
    """The game from a JSON object; without a kind it is a game of pegs, as in files of version 1.

    Raises:
      GameError: it is not a game.
    """
    if not isinstance(fields, dict):
        raise GameError("the game must be an object")
    own: dict[str, Any] = {
        name: tuple(value) if isinstance(value, list) else value for name, value in fields.items() if name != "kind"
    }
    kind = fields.get("kind", PegGame.kind)
    if not isinstance(kind, str) or kind not in KINDS:
        raise GameError(f"unknown kind of game {kind!r}: kinds are {', '.join(KINDS)}")
    if missing := [name for name in _REQUIRED[kind] if name not in own]:
        raise GameError(f"the game of {kind} lacks {', '.join(missing)}")
    try:
        return KINDS[kind](**own)
    except TypeError as error:
        raise GameError(f"not the fields of a game of {kind}: {error}") from error
