"""Mastermind and related games, with rows of coloured pegs as codes. Loads JAX only to check the device's memory."""

from __future__ import annotations

import dataclasses
import functools
import itertools
import math
import operator
import re
from typing import Annotated, Any, ClassVar

import numpy as np

from jaxsudoku.runtime.arrays import AnyArray
from jaxsudoku.runtime.settings import Range, check_types

from . import peg_symmetry
from .relabelling import Relabelling
from .rules import MOST_FEEDBACKS, CodeError, Game, GameError, check_codes, check_number, check_places, stripped


@dataclasses.dataclass(frozen=True)
class PegGame(Game):
    """A game of coloured pegs.

    The feedback is the number of pegs that are right (exact) and the number of further pegs whose colour is in the
    secret at another place (colour). Codes are numbered from 0 in lexicographic order; colours from 0 in arrays, from
    ``lowest`` in texts. Feedbacks are numbered in the order of (exact, colour), from (0, 0) to the winning (pegs, 0);
    (pegs - 1, 1) is impossible.

    Attributes:
      pegs: number of pegs of a code.
      colours: number of colours.
      repeats: whether a code may have a colour more than once.
      elsewhere: whether feedback includes the number of colours at another place; False for black-peg Mastermind.
      lowest: the number of the first colour in texts; 0 for digits.

    Raises:
      GameError: the settings are invalid.
    """

    pegs: Annotated[int, Range(1, 255)] = 4
    colours: Annotated[int, Range(1, 255)] = 6
    repeats: bool = True
    elsewhere: bool = True
    lowest: Annotated[int, Range(0, 1)] = 1

    kind: ClassVar[str] = "pegs"

    def __post_init__(self) -> None:
        try:
            check_types(self)
        except ValueError as error:
            raise GameError(str(error)) from error
        if self.feedbacks > MOST_FEEDBACKS:
            raise GameError(f"{self.pegs} pegs have {self.feedbacks} feedbacks, more than {MOST_FEEDBACKS}")
        if not self.repeats and self.colours < self.pegs:
            raise GameError(
                f"without repeats a code of {self.pegs} pegs needs as many colours, and there are {self.colours}"
            )

    def __str__(self) -> str:
        pegs = "1 peg" if self.pegs == 1 else f"{self.pegs} pegs"
        colours = "1 colour" if self.colours == 1 else f"{self.colours} colours"
        name = f"{pegs}, {colours}" if self.repeats else f"{pegs}, {colours}, no colour twice"
        return name if self.elsewhere else f"{name}, black pegs alone"

    @property
    def size(self) -> int:
        """The number of codes."""
        return self.colours**self.pegs if self.repeats else math.perm(self.colours, self.pegs)

    @property
    def feedbacks(self) -> int:
        """The number of feedbacks."""
        return (self.pegs + 1) * (self.pegs + 2) // 2 - 1 if self.elsewhere else self.pegs + 1

    @property
    def pairs(self) -> list[tuple[int, int]]:
        """(exact, colour) of each feedback; colour is 0 if feedback does not include it."""
        if not self.elsewhere:
            return [(exact, 0) for exact in range(self.pegs + 1)]
        everything = [(exact, colour) for exact in range(self.pegs + 1) for colour in range(self.pegs + 1 - exact)]
        return [pair for pair in everything if pair != (self.pegs - 1, 1)]

    @functools.cached_property
    def codes(self) -> np.ndarray:
        """All codes, uint8[size, pegs]; raises GameError as ``check_codes``."""
        check_codes(self)
        codes = np.zeros((1, 0), np.uint8)
        for _ in range(self.pegs):
            longer = np.repeat(codes, self.colours, axis=0)
            colours = np.tile(np.arange(self.colours, dtype=np.uint8), len(codes))[:, None]
            allowed = np.ones(len(longer), bool) if self.repeats else (longer != colours).all(axis=1)
            codes = np.concatenate([longer, colours], axis=1)[allowed]
        codes.setflags(write=False)
        return codes

    @property
    def places(self) -> int:
        """The number of pegs of a code."""
        return self.pegs

    @property
    def values(self) -> int:
        """The number of colours."""
        return self.colours

    # ------------------------------------------------------------------ feedback

    def prepared(self, codes: AnyArray) -> tuple[AnyArray, ...]:
        """(codes by peg, uint8[pegs, ...]; the numbers of pegs of each colour, uint8[colours, ...])."""
        xp = codes.__array_namespace__()
        columns = xp.moveaxis(codes, -1, 0)
        if not self.elsewhere:
            return (columns,)
        counts = (codes[..., None] == np.arange(self.colours, dtype=np.uint8)).astype(np.uint8).sum(-2, dtype=np.uint8)
        return columns, xp.moveaxis(counts, -1, 0)

    def compare(self, guesses: tuple[AnyArray, ...], secrets: tuple[AnyArray, ...]) -> AnyArray:
        """The feedback, uint8[...], as indices of ``pairs``."""
        (guess, *guess_counts), (secret, *secret_counts) = guesses, secrets
        exact = _sum([(guess[peg] == secret[peg]).astype(np.uint8) for peg in range(self.pegs)])
        if not self.elsewhere:
            return exact
        (one,), (other,) = guess_counts, secret_counts
        xp = exact.__array_namespace__()
        number = _sum([xp.minimum(one[colour], other[colour]) for colour in range(self.colours)]) - exact
        firsts = [number for number, (_, colour) in enumerate(self.pairs) if colour == 0]  # (0, 0), (1, 0), ...
        for fewer, (first, following) in enumerate(itertools.pairwise(firsts)):
            number = number + (exact > fewer).astype(np.uint8) * np.uint8(following - first)
        return number

    def orbits(self, history: tuple[int, ...]) -> np.ndarray:
        """The first code of each code's orbit, under permutations of pegs and of colours, int64[size]."""
        made = [check_number(self, "code", guess, self.size) for guess in history]
        find = functools.partial(
            peg_symmetry.images, guesses=self.codes[made], colours=self.colours, separate=self.separate
        )
        # first only the colours, so that only one code of each of these orbits is permuted
        some, place = np.unique(self.index_of(next(find(self.codes))), return_inverse=True)
        first = some.copy()
        for images in find(self.codes[some]):
            first = np.minimum(first, self.index_of(images))
        return first[place]

    def relabelled(self, codes: np.ndarray, bounds: np.ndarray) -> np.ndarray:
        """The codes of positions with pegs and colours relabelled, as ``Game.relabelled``."""
        return self._relabelling(codes, bounds)

    @functools.cached_property
    def _relabelling(self) -> Relabelling:
        return Relabelling(self.codes, self.colours, self.separate)

    @property
    def separate(self) -> bool:
        """Whether the colours of each peg may be permuted independently."""
        return self.repeats and not self.elsewhere

    def index_of(self, codes: np.ndarray) -> np.ndarray:
        """The numbers int64[...] of codes uint8[..., pegs]; -1 for codes that are not in the game.

        Raises GameError as ``check_codes``, and CodeError for an array of another shape or dtype.
        """
        check_codes(self)
        codes = np.asarray(codes)
        check_places(self, "codes", codes.shape, codes.dtype)
        place_values = self.colours ** np.arange(self.pegs - 1, -1, -1, dtype=np.int64)
        if self.repeats:  # then the number of a code is its value in base ``colours``
            return np.where(((codes >= 0) & (codes < self.colours)).all(axis=-1), codes @ place_values, -1)
        found = np.searchsorted(self.codes @ place_values, codes @ place_values)
        found = np.minimum(found, self.size - 1)
        return np.where((self.codes[found] == codes).all(axis=-1), found, -1)

    # ------------------------------------------------------------------ text

    @property
    def _highest(self) -> int:
        return self.colours + self.lowest - 1

    def parse_code(self, text: str) -> int:
        """The number of a code, from a text such as "1122", or "1 12 3 4" with two-digit colours.

        Raises:
          CodeError: it is not a code of the game; the message says why.
        """
        text = stripped(text)
        parts = _parts(text, digits=self._highest < 10)
        if len(parts) != self.pegs:
            raise CodeError(f"{text!r}: a code has {self.pegs} pegs, not {len(parts)}")
        for part in parts:
            if not _is_number(part) or not self.lowest <= int(part) <= self._highest:
                raise CodeError(f"{text!r}: {part!r} is not a colour; colours are {self.lowest} to {self._highest}")
        code = int(self.index_of(np.array([int(part) - self.lowest for part in parts], np.uint8)))
        if code < 0:
            raise CodeError(f"{text!r}: a code has no colour twice in this game")
        return code

    def code_text(self, code: int) -> str:
        """A code as a text that ``parse_code`` reads; raises CodeError if there is none with that number."""
        return ("" if self._highest < 10 else " ").join(self.labels(code))

    def parse_feedback(self, text: str) -> int:
        """The number of a feedback, from a text such as "2 1" or "21": two pegs are right, one more colour elsewhere.

        Raises:
          CodeError: it is not a feedback of the game; the message says why.
        """
        text = stripped(text)
        parts = _parts(text, digits=self.pegs < 10)
        if len(parts) != 1 + self.elsewhere or not all(map(_is_number, parts)):
            raise CodeError(f"{text!r}: feedback is {self.feedback_form}")
        exact, colour = (*map(int, parts), 0)[:2]
        if exact + colour > self.pegs:
            raise CodeError(f"{text!r}: {exact + colour} pegs in all, but a code has {self.pegs}")
        if (exact, colour) not in self.pairs:
            raise CodeError(f"{text!r}: with all pegs right but one, that one's colour can't be elsewhere")
        return self.pairs.index((exact, colour))

    def feedback_text(self, number: int) -> str:
        """A feedback as a text that ``parse_feedback`` reads, such as "2 1"; raises CodeError if there is none."""
        exact, colour = self.pairs[check_number(self, "feedback", number, self.feedbacks)]
        return f"{exact} {colour}" if self.elsewhere else str(exact)

    @property
    def feedback_form(self) -> str:
        """The form in which feedback is typed."""
        return (
            "two numbers: pegs that are right, colours elsewhere"
            if self.elsewhere
            else f"the number of right pegs, 0 to {self.pegs}"
        )

    def labels(self, code: int) -> list[str]:
        """The number of each peg's colour; raises CodeError if there is no such code."""
        pegs = self.codes[check_number(self, "code", code, self.size)]
        return [str(colour + self.lowest) for colour in pegs.tolist()]

    def marks(self, number: int) -> list[int]:
        """The pegs that are right, then those elsewhere, then the others; raises CodeError as ``feedback_text``."""
        exact, colour = self.pairs[check_number(self, "feedback", number, self.feedbacks)]
        return [2] * exact + [1] * colour + [0] * (self.pegs - exact - colour)


def _sum(terms: list[Any]) -> Any:
    return functools.reduce(operator.add, terms)


def _parts(text: str, digits: bool) -> list[str]:
    parts = [part for part in re.split(r"[\s,]+", text) if part]
    return list(parts[0]) if len(parts) == 1 and digits else parts


def _is_number(part: str) -> bool:
    """Whether a text is an ASCII number of at most three digits, the maximum for colours and pegs."""
    return part.isascii() and part.isdecimal() and len(part) <= 3
