"""Interface of games: codes, feedback, symmetries, and their texts. No JAX.

One side holds a secret code, the other guesses codes, and each guess is answered by a feedback. The game ends when the
secret is guessed. Codes and feedbacks are numbered. ``PegGame`` and ``WordGame`` are games; ``games`` lists all by
name.
"""

from __future__ import annotations

import abc
import dataclasses
import operator
from typing import Any, ClassVar

import numpy as np

from jaxsudoku.runtime.arrays import AnyArray

#: Maximum number of feedbacks, which are numbered in a byte; the value 255 is not a feedback.
MOST_FEEDBACKS = 255

#: Bytes per code that players need without a table of all feedbacks: the feedback with 1,024 guesses, the orbits after
#: 512 histories, and positions.
_CODE_BYTES = 4096


class GameError(ValueError):
    """Raised for a game that can't be played, or not on this machine."""


class CodeError(ValueError):
    """Raised for a text, number or array that is not a code, or not a feedback, of a game."""


@dataclasses.dataclass(frozen=True)
class Game(abc.ABC):
    """Base class of games of guessing a secret code, which are frozen dataclasses.

    Codes are numbered from 0. Those that may be the secret come first; the others may only be guessed. Feedbacks are
    numbered from 0; the last one means that the guess is the secret.

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
        """The number of codes that may be the secret, which come first."""
        return self.size

    @property
    @abc.abstractmethod
    def feedbacks(self) -> int:
        """The number of feedbacks."""

    @property
    def win(self) -> int:
        """The feedback to a guess of the secret, the last one."""
        return self.feedbacks - 1

    @property
    @abc.abstractmethod
    def codes(self) -> np.ndarray:
        """All codes, uint8[size, places]; raises GameError as ``check_codes``."""

    @property
    def places(self) -> int:
        """The number of places of a code, such as pegs."""
        return self.codes.shape[1]

    @property
    def values(self) -> int:
        """The number of values of a place in arrays, such as colours; values count from 0."""
        return int(self.codes.max()) + 1

    @abc.abstractmethod
    def prepared(self, codes: AnyArray) -> tuple[AnyArray, ...]:
        """Converts codes uint8[..., places] to the arrays [k, ...] that ``compare`` takes; of numpy or JAX."""

    @abc.abstractmethod
    def compare(self, guesses: tuple[AnyArray, ...], secrets: tuple[AnyArray, ...]) -> AnyArray:
        """The feedback uint8[...] of guesses with secrets, both ``prepared``; shapes [...] broadcast."""

    def orbits(self, history: tuple[int, ...]) -> np.ndarray:
        """The first code of each code's orbit under the stabiliser of the guesses so far, int64[size].

        The stabiliser is the group of symmetries of the game that map every guess so far to itself. They also map the
        codes that are consistent with the feedback so far to each other, so guesses of an orbit are equally good. Games
        without symmetry have an orbit for each code.
        """
        return np.arange(self.size)

    def relabelled(self, codes: np.ndarray, bounds: np.ndarray) -> np.ndarray:
        """Positions in an approximately canonical labelling, by a symmetry for each.

        Most equivalent positions become equal. Games without symmetry return the codes unchanged.

        Args:
          codes: code numbers that may be the secret, int[total], ascending within each of n positions.
          bounds: int64[n + 1], position i holds ``codes[bounds[i] : bounds[i + 1]]``.

        Returns:
          int32[total], ascending within each position.
        """
        return codes

    @abc.abstractmethod
    def parse_code(self, text: str) -> int:
        """The number of a code from a text; raises CodeError with the cause if the text is invalid."""

    @abc.abstractmethod
    def code_text(self, code: int) -> str:
        """A code as a text that ``parse_code`` reads; raises CodeError for an invalid number."""

    @abc.abstractmethod
    def parse_feedback(self, text: str) -> int:
        """The number of a feedback from a text; raises CodeError with the cause if the text is invalid."""

    @abc.abstractmethod
    def feedback_text(self, number: int) -> str:
        """A feedback as a text that ``parse_feedback`` reads; raises CodeError for an invalid number."""

    def answer_text(self, guess: int, feedback: int) -> str:
        """A guess and its feedback as a text for messages."""
        return f"{self.feedback_text(feedback)} to {self.code_text(guess)}"

    @property
    @abc.abstractmethod
    def feedback_form(self) -> str:
        """The form in which feedback is typed: the end of the sentence "The answer is"."""

    @abc.abstractmethod
    def labels(self, code: int) -> list[str]:
        """The text of each place of a code, for pictures."""

    @abc.abstractmethod
    def marks(self, number: int) -> list[int]:
        """A feedback as a mark for each place, for pictures: 2 right, 1 elsewhere, 0 neither."""


def check_size(game: Game) -> None:
    """Raises GameError if the feedback table takes more than half of the device's memory."""
    check_memory(game.size * game.secrets, f"{game}: {game.size:,} codes, whose table of feedbacks")


def check_codes(game: Game) -> None:
    """Raises GameError if the codes, and their feedback with a block of guesses, take more than half of the memory."""
    check_memory(_CODE_BYTES * game.size, f"{game}: {game.size:,} codes, whose feedback with some guesses")


def check_memory(size: int, what: str) -> None:
    """Raises GameError if ``size`` bytes are more than half of the device's memory; ``what`` begins the message."""
    from jaxsudoku.runtime.devices import device_memory  # loads JAX

    memory = device_memory()
    if 2 * size > memory:
        raise GameError(f"{what} takes {size:,} bytes, more than half of the memory, {memory:,}")


# ---------------------------------------------------------------------- checks of numbers, arrays and texts


def check_number(game: Game, what: str, number: Any, size: int) -> int:
    """A number from 0 to ``size`` - 1 as an int; raises CodeError otherwise. ``what`` is the kind of thing numbered."""
    try:
        value = -1 if isinstance(number, bool | np.bool_) else operator.index(number)
    except TypeError:
        value = -1
    if not 0 <= value < size:
        raise CodeError(f"{game}: a {what} is a number from 0 to {size - 1}, not {number!r}")
    return value


def check_code(game: Game, what: str, code: Any, size: int) -> int:
    """The number of a code, from its number or text; raises CodeError as ``check_number`` and ``Game.parse_code``."""
    return check_number(game, what, game.parse_code(code) if isinstance(code, str) else code, size)


def check_numbers(what: str, numbers: Any, size: int) -> np.ndarray:
    """Numbers from 0 to ``size`` - 1 as an array int[...] of numpy; raises CodeError as ``check_number``."""
    array = np.asarray(numbers)
    if array.size and array.dtype.kind not in "iu":
        raise CodeError(f"a {what} is a whole number, not one of {array.dtype}")
    wrong = (array < 0) | (array >= size)
    if wrong.any():
        raise CodeError(f"a {what} is a number from 0 to {size - 1}, not {array[wrong][0]}")
    return array


def check_guesses(game: Game, guesses: Any, count: int) -> np.ndarray:
    """Checks a policy's guesses for ``count`` positions, int[count]; raises CodeError for invalid ones."""
    array = check_numbers("guess", guesses, game.size)
    if array.shape != (count,):
        raise CodeError(f"{game}: a policy must return a code number for each of {count} positions, not {array.shape}")
    return array


def check_places(game: Game, name: str, shape: tuple[int, ...], dtype: np.dtype[Any]) -> None:
    """Raises CodeError unless arrays of this shape and dtype can be codes place by place; ``name`` is for messages."""
    if not shape or shape[-1] != game.places:
        raise CodeError(
            f"{game}: {name} of shape {shape}: the last axis has the {game.places} places of a code; "
            "codes with some numbers are game.codes[numbers]"
        )
    if dtype.kind not in "iu":
        raise CodeError(f"{game}: {name} are whole numbers, not of {dtype}")


def check_pegs(game: Game, name: str, codes: Any) -> np.ndarray:
    """Codes place by place as uint8[..., places] of numpy.

    Raises:
      CodeError: an array of another shape or dtype, or an invalid value, as with code numbers.
    """
    array = np.asarray(codes)
    check_places(game, name, array.shape, array.dtype)
    wrong = (array < 0) | (array >= game.values)
    if wrong.any():
        raise CodeError(
            f"{game}: {array[wrong][0]} in {name}: a place of a code has a value from 0 to {game.values - 1}; "
            "codes with some numbers are game.codes[numbers]"
        )
    return array.astype(np.uint8)


def stripped(text: Any) -> str:
    """A text without surrounding white space; raises CodeError if it is not a text."""
    if not isinstance(text, str):
        raise CodeError(f"must be a text, not {text!r}")
    return text.strip()
