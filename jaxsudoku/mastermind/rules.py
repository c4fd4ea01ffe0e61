"""The game: codes, the feedback that a guess gets, and the table of all feedbacks.

A code is a row of coloured pegs. The code-breaker guesses, and hears how many pegs are right (exact) and how many more
have a colour that stands elsewhere (colour); the guess that is the secret ends the game.
"""

from __future__ import annotations

import dataclasses
import functools
import itertools
import math
import os
import re

import jax
import jax.numpy as jnp
import numpy as np
from jax import Array, lax

from jaxsudoku import cache
from jaxsudoku.config import check_types

#: Feedbacks are numbered in a byte, with one value left over for what is none.
_MOST_FEEDBACKS = 255

#: Rows of the table of feedbacks that are made together hold about this many bytes.
_BLOCK = 1 << 22


class GameError(ValueError):
    """A game that can't be played, or not on this machine."""


class CodeError(ValueError):
    """A text that is no code, or no feedback, of a game."""


@dataclasses.dataclass(frozen=True)
class Game:
    """A game of Mastermind.

    Codes are numbered from 0 in lexicographic order; colours from 0 in arrays, from 1 in texts. Feedbacks are numbered
    in the order of (exact, colour), from (0, 0) to the one that ends a game, (pegs, 0); (pegs - 1, 1) can't be.

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
        pegs, colours = f"{self.pegs} peg{'s' * (self.pegs != 1)}", f"{self.colours} colour{'s' * (self.colours != 1)}"
        return f"{pegs}, {colours}{'' if self.repeats else ', no colour twice'}"

    @property
    def size(self) -> int:
        """How many codes there are."""
        return self.colours**self.pegs if self.repeats else math.perm(self.colours, self.pegs)

    @property
    def feedbacks(self) -> int:
        """How many feedbacks there are."""
        return (self.pegs + 1) * (self.pegs + 2) // 2 - 1

    @property
    def win(self) -> int:
        """The feedback that ends a game, the last one."""
        return self.feedbacks - 1

    @property
    def pairs(self) -> list[tuple[int, int]]:
        """(exact, colour) of each feedback."""
        everything = [(exact, colour) for exact in range(self.pegs + 1) for colour in range(self.pegs + 1 - exact)]
        return [pair for pair in everything if pair != (self.pegs - 1, 1)]

    @property
    def codes(self) -> np.ndarray:
        """All codes, uint8[size, pegs]. Raises GameError where they, squared, are beyond this machine's memory."""
        check_size(self)
        return _codes(self)


def check_size(game: Game) -> None:
    """Raises GameError where the table of feedbacks takes more than half of the memory that the device has."""
    check_memory(game.size**2, f"{game}: {game.size:,} codes, whose table of feedbacks")


def check_memory(size: int, what: str) -> None:
    """Raises GameError that says what takes so many bytes, where that is more than half of the device's memory."""
    memory = _memory()
    if 2 * size > memory:
        raise GameError(f"{what} takes {size:,} bytes, more than half of the {memory:,} that there are")


def _memory() -> int:
    device = jax.local_devices()[0]
    known = None if device.platform == "cpu" else (device.memory_stats() or {}).get("bytes_limit")
    return known or os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")


@functools.lru_cache(maxsize=8)
def _codes(game: Game) -> np.ndarray:
    codes = np.zeros((1, 0), np.uint8)
    for _ in range(game.pegs):
        longer = np.repeat(codes, game.colours, axis=0)
        colours = np.tile(np.arange(game.colours, dtype=np.uint8), len(codes))[:, None]
        fits = np.ones(len(longer), bool) if game.repeats else (longer != colours).all(axis=1)
        codes = np.concatenate([longer, colours], axis=1)[fits]
    codes.setflags(write=False)
    return codes


def index_of(game: Game, codes: np.ndarray) -> np.ndarray:
    """The numbers int64[...] of codes uint8[..., pegs], -1 of those that the game does not have."""
    place = game.colours ** np.arange(game.pegs - 1, -1, -1, dtype=np.int64)
    found = np.searchsorted(game.codes @ place, codes @ place)
    found = np.minimum(found, game.size - 1)
    return np.where((game.codes[found] == codes).all(axis=-1), found, -1)


# ---------------------------------------------------------------------- feedback


def feedback(game: Game, guesses: Array, secrets: Array) -> Array:
    """The feedback to guesses, were these the secrets: its number.

    Args:
      game: the game.
      guesses: uint8[..., pegs].
      secrets: uint8[..., pegs], of a shape that broadcasts with it.

    Returns:
      uint8[...], places in ``game.pairs``.
    """
    exact = _total((guesses[..., peg] == secrets[..., peg]).astype(jnp.uint8) for peg in range(game.pegs))
    have, has = _counts(game, guesses), _counts(game, secrets)
    common = _total(jnp.minimum(have[..., colour], has[..., colour]) for colour in range(game.colours))
    return _numbered(game, exact, common)


def _total(parts) -> Array:
    return functools.reduce(jnp.add, parts)


def _counts(game: Game, codes: Array) -> Array:
    """How often codes uint8[..., pegs] have each colour, uint8[..., colours]."""
    return (codes[..., None] == np.arange(game.colours, dtype=np.uint8)).astype(jnp.uint8).sum(-2, dtype=jnp.uint8)


def _numbered(game: Game, exact: Array, common: Array) -> Array:
    """The number of the feedback with this many pegs right, of this many colours in common; all uint8."""
    starts = [number for number, (_, colour) in enumerate(game.pairs) if colour == 0]  # by exact
    number = common - exact
    for before, (start, after) in enumerate(itertools.pairwise(starts)):
        number = number + (exact > before).astype(jnp.uint8) * np.uint8(after - start)
    return number


@functools.lru_cache(maxsize=1)
@cache.kept()
def feedback_table(game: Game) -> Array:
    """The feedback of every guess with every secret, uint8[size, size], symmetric; made on the device, in blocks.

    Raises:
      GameError: it takes more than half of the memory.
    """
    return _table(game, game.codes)


@functools.partial(jax.jit, static_argnums=0)
def _table(game: Game, codes: Array) -> Array:
    counts = _counts(game, codes).T  # colour by colour, so that each is a vector
    pegs = codes.T

    def row(guess: Array) -> Array:
        exact = _total((pegs[peg] == guess[peg]).astype(jnp.uint8) for peg in range(game.pegs))
        have = _counts(game, guess)
        common = _total(jnp.minimum(counts[colour], have[colour]) for colour in range(game.colours))
        return _numbered(game, exact, common)

    return lax.map(row, codes, batch_size=max(min(_BLOCK // game.size, game.size), 1))


# ---------------------------------------------------------------------- what is still possible, as bits


def words(game: Game) -> int:
    """uint32 words that a set of codes takes."""
    return -(-game.size // 32)


def pack(chosen: Array) -> Array:
    """Sets of codes bool[..., size] as bits uint32[..., words]: code c is bit c % 32 of word c // 32."""
    size = chosen.shape[-1]
    room = [(0, 0)] * (chosen.ndim - 1) + [(0, -size % 32)]
    bits = jnp.pad(chosen, room).reshape(*chosen.shape[:-1], -1, 32).astype(jnp.uint32)
    return (bits << np.arange(32, dtype=np.uint32)).sum(-1, dtype=jnp.uint32)


def unpack(game: Game, sets: Array) -> Array:
    """Bits uint32[..., words] as sets of codes bool[..., size]."""
    bits = (sets[..., None] >> np.arange(32, dtype=np.uint32)) & np.uint32(1)
    return bits.reshape(*sets.shape[:-1], -1)[..., : game.size] > 0


def consistent(table: Array, guesses: Array, feedbacks: Array) -> Array:
    """The codes that would have given these feedbacks, as bits.

    Args:
      table: what ``feedback_table`` gave.
      guesses: int[...], numbers of codes.
      feedbacks: uint8[...].

    Returns:
      uint32[..., words].
    """
    return pack(table[guesses] == feedbacks[..., None].astype(jnp.uint8))


# ---------------------------------------------------------------------- texts


def parse_code(game: Game, text: str) -> int:
    """The number of a code, from a text such as "1122", or "1 12 3 4" where colours have two digits.

    Raises:
      CodeError: it is no code of the game; the message says why.
    """
    parts = _parts(text, digits=game.colours < 10)
    if len(parts) != game.pegs:
        raise CodeError(f"{text.strip()!r}: a code has {game.pegs} pegs, not {len(parts)}")
    for part in parts:
        if not _is_number(part) or not 1 <= int(part) <= game.colours:
            raise CodeError(f"{text.strip()!r}: {part!r} is no colour; colours are 1 to {game.colours}")
    code = np.array([int(part) - 1 for part in parts], np.uint8)
    found = int(index_of(game, code))
    if found < 0:
        raise CodeError(f"{text.strip()!r}: a code has no colour twice in this game")
    return found


def parse_feedback(game: Game, text: str) -> int:
    """The number of a feedback, from a text such as "2 1" or "21": two pegs are right, one more has a right colour.

    Raises:
      CodeError: it is no feedback of the game; the message says why.
    """
    parts = _parts(text, digits=game.pegs < 10)
    if len(parts) != 2 or not all(map(_is_number, parts)):
        raise CodeError(f"{text.strip()!r}: feedback is two numbers, of pegs that are right and of colours elsewhere")
    pair = int(parts[0]), int(parts[1])
    if sum(pair) > game.pegs:
        raise CodeError(f"{text.strip()!r}: {sum(pair)} pegs in all, where a code has {game.pegs}")
    if pair not in game.pairs:
        raise CodeError(f"{text.strip()!r}: with all pegs right but one, that one's colour can't stand elsewhere")
    return game.pairs.index(pair)


def _parts(text: str, digits: bool) -> list[str]:
    parts = [part for part in re.split(r"[\s,]+", text.strip()) if part]
    return list(parts[0]) if len(parts) == 1 and digits else parts


def _is_number(part: str) -> bool:
    """Whether it is a number of a few digits, as those of colours and pegs are."""
    return part.isascii() and part.isdecimal() and len(part) <= 3


def code_text(game: Game, code: int) -> str:
    """A code as a text that ``parse_code`` reads."""
    return ("" if game.colours < 10 else " ").join(str(colour + 1) for colour in game.codes[code].tolist())


def feedback_text(game: Game, number: int) -> str:
    """A feedback as a text that ``parse_feedback`` reads, such as "2 1"."""
    return " ".join(map(str, game.pairs[number]))
