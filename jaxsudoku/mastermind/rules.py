"""The rules of Mastermind: games, codes, feedback numbers, and both as text. No JAX until the device's memory matters.

A code is a row of coloured pegs. The code-breaker guesses a code; the feedback is the number of pegs that are right
(exact) and the number of further pegs whose colour is in the secret at another place (colour). The game ends with the
guess that is the secret. ``feedbacks`` computes feedback on the device.
"""

from __future__ import annotations

import dataclasses
import functools
import math
import re

import numpy as np

from jaxsudoku.config import check_types

#: Feedbacks are numbered in a byte; the value 255 is no feedback.
_MOST_FEEDBACKS = 255


class GameError(ValueError):
    """A game that can't be played, or not on this machine."""


class CodeError(ValueError):
    """A text or number that is not a code, or not a feedback, of a game."""


@dataclasses.dataclass(frozen=True)
class Game:
    """A game of Mastermind.

    Codes are numbered from 0 in lexicographic order; colours from 0 in arrays, from 1 in texts. Feedbacks are numbered
    in the order of (exact, colour), from (0, 0) to the winning (pegs, 0); (pegs - 1, 1) is impossible.

    Attributes:
      pegs: of a code.
      colours: that a peg may have.
      repeats: whether a code may have a colour more than once.

    Raises:
      GameError: there is no such game.
    """

    pegs: int = 4
    colours: int = 6
    repeats: bool = True

    def __post_init__(self) -> None:
        try:
            check_types(self)
        except ValueError as error:
            raise GameError(str(error)) from error
        if self.pegs < 1:
            raise GameError(f"pegs must be at least 1, not {self.pegs}")
        if not 1 <= self.colours <= 255:
            raise GameError(f"colours must be between 1 and 255, not {self.colours}")
        if self.feedbacks > _MOST_FEEDBACKS:
            raise GameError(f"{self.pegs} pegs have {self.feedbacks} feedbacks, more than {_MOST_FEEDBACKS}")
        if not self.repeats and self.colours < self.pegs:
            raise GameError(
                f"without repeats a code of {self.pegs} pegs needs as many colours, and there are {self.colours}"
            )

    def __str__(self) -> str:
        pegs = "1 peg" if self.pegs == 1 else f"{self.pegs} pegs"
        colours = "1 colour" if self.colours == 1 else f"{self.colours} colours"
        return f"{pegs}, {colours}" if self.repeats else f"{pegs}, {colours}, no colour twice"

    @property
    def size(self) -> int:
        """The number of codes."""
        return self.colours**self.pegs if self.repeats else math.perm(self.colours, self.pegs)

    @property
    def feedbacks(self) -> int:
        """The number of feedbacks."""
        return (self.pegs + 1) * (self.pegs + 2) // 2 - 1

    @property
    def win(self) -> int:
        """The feedback to the secret itself, the last one."""
        return self.feedbacks - 1

    @property
    def pairs(self) -> list[tuple[int, int]]:
        """(exact, colour) of each feedback."""
        everything = [(exact, colour) for exact in range(self.pegs + 1) for colour in range(self.pegs + 1 - exact)]
        return [pair for pair in everything if pair != (self.pegs - 1, 1)]

    @property
    def codes(self) -> np.ndarray:
        """All codes, uint8[size, pegs]; raises GameError as ``check_size``."""
        check_size(self)
        return _codes(self)


def check_size(game: Game) -> None:
    """Raises GameError if the feedback table takes more than half of the device's memory."""
    check_memory(game.size**2, f"{game}: {game.size:,} codes, whose table of feedbacks")


def check_memory(size: int, what: str) -> None:
    """Raises GameError if ``size`` bytes are more than half of the device's memory; ``what`` begins the message."""
    from jaxsudoku.devices import device_memory  # loads JAX

    memory = device_memory()
    if 2 * size > memory:
        raise GameError(f"{what} takes {size:,} bytes, more than half of the {memory:,} that there are")


@functools.lru_cache(maxsize=8)
def _codes(game: Game) -> np.ndarray:
    codes = np.zeros((1, 0), np.uint8)
    for _ in range(game.pegs):
        longer = np.repeat(codes, game.colours, axis=0)
        colours = np.tile(np.arange(game.colours, dtype=np.uint8), len(codes))[:, None]
        allowed = np.ones(len(longer), bool) if game.repeats else (longer != colours).all(axis=1)
        codes = np.concatenate([longer, colours], axis=1)[allowed]
    codes.setflags(write=False)
    return codes


def index_of(game: Game, codes: np.ndarray) -> np.ndarray:
    """The numbers int64[...] of codes uint8[..., pegs]; -1 where the game has no such code."""
    place_values = game.colours ** np.arange(game.pegs - 1, -1, -1, dtype=np.int64)
    found = np.searchsorted(game.codes @ place_values, codes @ place_values)
    found = np.minimum(found, game.size - 1)
    return np.where((game.codes[found] == codes).all(axis=-1), found, -1)


# ---------------------------------------------------------------------- text


def parse_code(game: Game, text: str) -> int:
    """The number of a code, from a text such as "1122", or "1 12 3 4" where colours have two digits.

    Raises:
      CodeError: it is not a code of the game; the message says why.
    """
    parts = _parts(text, digits=game.colours < 10)
    if len(parts) != game.pegs:
        raise CodeError(f"{text.strip()!r}: a code has {game.pegs} pegs, not {len(parts)}")
    for part in parts:
        if not _is_number(part) or not 1 <= int(part) <= game.colours:
            raise CodeError(f"{text.strip()!r}: {part!r} is no colour; colours are 1 to {game.colours}")
    code = int(index_of(game, np.array([int(part) - 1 for part in parts], np.uint8)))
    if code < 0:
        raise CodeError(f"{text.strip()!r}: a code has no colour twice in this game")
    return code


def parse_feedback(game: Game, text: str) -> int:
    """The number of a feedback, from a text such as "2 1" or "21": two pegs are right, one more has a right colour.

    Raises:
      CodeError: it is not a feedback of the game; the message says why.
    """
    parts = _parts(text, digits=game.pegs < 10)
    if len(parts) != 2 or not all(map(_is_number, parts)):
        raise CodeError(f"{text.strip()!r}: feedback is two numbers, of pegs that are right and of colours elsewhere")
    pair = int(parts[0]), int(parts[1])
    if sum(pair) > game.pegs:
        raise CodeError(f"{text.strip()!r}: {sum(pair)} pegs in all, where a code has {game.pegs}")
    if pair not in game.pairs:
        raise CodeError(f"{text.strip()!r}: with all pegs right but one, that one's colour can't be elsewhere")
    return game.pairs.index(pair)


def _parts(text: str, digits: bool) -> list[str]:
    parts = [part for part in re.split(r"[\s,]+", text.strip()) if part]
    return list(parts[0]) if len(parts) == 1 and digits else parts


def _is_number(part: str) -> bool:
    """Whether it is an ASCII number of at most three digits; colours and pegs have no more."""
    return part.isascii() and part.isdecimal() and len(part) <= 3


def code_text(game: Game, code: int) -> str:
    """A code as a text that ``parse_code`` reads."""
    return ("" if game.colours < 10 else " ").join(str(colour + 1) for colour in game.codes[code].tolist())


def feedback_text(game: Game, number: int) -> str:
    """A feedback as a text that ``parse_feedback`` reads, such as "2 1"."""
    return " ".join(map(str, game.pairs[number]))
