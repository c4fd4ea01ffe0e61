"""What a game is to players: codes, guesses, feedback, symmetry, and all of them as text. No JAX.

One side holds a secret code, the other guesses codes, and each guess is answered by a feedback, a number. The game ends
with the guess that is the secret. ``PegGame`` and ``WordGame`` are games; ``games`` lists all by name.
"""

from __future__ import annotations

import abc
from typing import Any, ClassVar

import numpy as np

from jaxsudoku.arrays import AnyArray

#: Feedbacks are numbered in a byte; the value 255 is no feedback.
MOST_FEEDBACKS = 255

#: Bytes for each code that players need without a table of all feedbacks: its feedback with 1,024 guesses, the
#: equivalent codes that are kept for 512 histories, positions.
_CODE_BYTES = 4096


class GameError(ValueError):
    """A game that can't be played, or not on this machine."""


class CodeError(ValueError):
    """A text or number that is not a code, or not a feedback, of a game."""


class Game(abc.ABC):
    """A game of guessing a secret code. Games are hashable and compared by value.

    Codes are numbered from 0. Those that may be the secret come first; the others may be guessed alone. Feedbacks are
    numbered from 0; the last one is that of the secret itself.

    Attributes:
      kind: the name of the class of games in files.
      symmetric: whether a guess and a secret can be exchanged without changing the feedback.
    """

    kind: ClassVar[str]
    symmetric: ClassVar[bool] = True

    @property
    @abc.abstractmethod
    def size(self) -> int:
        """The number of codes that may be guessed."""

    @property
    def secrets(self) -> int:
        """The number of codes that may be the secret, the first ones."""
        return self.size

    @property
    @abc.abstractmethod
    def feedbacks(self) -> int:
        """The number of feedbacks."""

    @property
    def win(self) -> int:
        """The feedback to the secret itself, the last one."""
        return self.feedbacks - 1

    @property
    @abc.abstractmethod
    def codes(self) -> np.ndarray:
        """All codes, uint8[size, places]; raises GameError as ``check_codes``."""

    @abc.abstractmethod
    def prepared(self, codes: AnyArray) -> tuple[AnyArray, ...]:
        """Arrays [k, ...] of codes uint8[..., places], of which ``compare`` makes feedback.

        Of numpy for an array of numpy, of JAX for one of JAX.
        """

    @abc.abstractmethod
    def compare(self, guesses: tuple[AnyArray, ...], secrets: tuple[AnyArray, ...]) -> AnyArray:
        """The feedback uint8[...] of guesses with secrets, both ``prepared``, whose shapes [...] broadcast."""

    def equivalents(self, history: tuple[int, ...]) -> np.ndarray:
        """The first code that is as good a guess as each code after the guesses so far, int64[size].

        Two codes are equivalent if a symmetry of the game maps one to the other, and every guess so far to itself. It
        then maps the codes that are consistent with the feedback so far to each other. Games without symmetry have each
        code itself.
        """
        return np.arange(self.size)

    def relabelled(self, codes: np.ndarray, bounds: np.ndarray) -> np.ndarray:
        """The codes of positions under a symmetry for each position, so that equivalent ones become equal if possible.

        Games without symmetry have the codes themselves.

        Args:
          codes: the numbers of codes that may be the secret, int[total], ascending within each of n positions.
          bounds: int64[n + 1], position i holds ``codes[bounds[i] : bounds[i + 1]]``.

        Returns:
          int32[total], ascending within each position.
        """
        return codes

    @abc.abstractmethod
    def parse_code(self, text: str) -> int:
        """The number of a code; raises CodeError that says why a text is none."""

    @abc.abstractmethod
    def code_text(self, code: int) -> str:
        """A code as a text that ``parse_code`` reads."""

    @abc.abstractmethod
    def parse_feedback(self, text: str) -> int:
        """The number of a feedback; raises CodeError that says why a text is none."""

    @abc.abstractmethod
    def feedback_text(self, number: int) -> str:
        """A feedback as a text that ``parse_feedback`` reads."""

    @property
    @abc.abstractmethod
    def feedback_form(self) -> str:
        """How feedback is typed, for people: the end of the sentence "The answer is"."""

    @abc.abstractmethod
    def labels(self, code: int) -> list[str]:
        """The text of each place of a code, for pictures."""

    @abc.abstractmethod
    def marks(self, number: int) -> list[int]:
        """A feedback as a mark for each place, for pictures: 2 right, 1 elsewhere, 0 neither."""

    @abc.abstractmethod
    def fields(self) -> dict[str, Any]:
        """The game as JSON, without its kind; ``games.from_fields`` reads it."""


def check_size(game: Game) -> None:
    """Raises GameError if the feedback table takes more than half of the device's memory."""
    check_memory(game.size * game.secrets, f"{game}: {game.size:,} codes, whose table of feedbacks")


def check_codes(game: Game) -> None:
    """Raises GameError if the codes, and their feedback with a block of guesses, take more than half of the memory."""
    check_memory(_CODE_BYTES * game.size, f"{game}: {game.size:,} codes, whose feedback with some guesses")


def check_memory(size: int, what: str) -> None:
    """Raises GameError if ``size`` bytes are more than half of the device's memory; ``what`` begins the message."""
    from jaxsudoku.devices import device_memory  # loads JAX

    memory = device_memory()
    if 2 * size > memory:
        raise GameError(f"{what} takes {size:,} bytes, more than half of the {memory:,} that there are")


def code_text(game: Game, code: int) -> str:
    """A code as a text that ``parse_code`` reads."""
    return game.code_text(code)


def feedback_text(game: Game, number: int) -> str:
    """A feedback as a text that ``parse_feedback`` reads."""
    return game.feedback_text(number)


def parse_code(game: Game, text: str) -> int:
    """The number of a code, from a text; raises CodeError that says why it is none."""
    return game.parse_code(text)


def parse_feedback(game: Game, text: str) -> int:
    """The number of a feedback, from a text; raises CodeError that says why it is none."""
    return game.parse_feedback(text)
