"""Word games: the secret is a word of a list, and the feedback marks each letter of the guess. No JAX."""

from __future__ import annotations

import dataclasses
import functools
import os
from collections.abc import Sequence
from importlib import resources
from importlib.resources.abc import Traversable
from pathlib import Path
from typing import Any, ClassVar

import numpy as np

from jaxsudoku.runtime.arrays import AnyArray

from .rules import MOST_FEEDBACKS, CodeError, Game, GameError, check_number, stripped

#: Marks of a letter as text (absent, elsewhere, right), and other characters that are read as such.
_MARKS = "-yg"
_READ = {"-": 0, ".": 0, "b": 0, "_": 0, "0": 0, "y": 1, "1": 1, "g": 2, "2": 2, "⬛": 0, "⬜": 0, "🟨": 1, "🟩": 2}


@dataclasses.dataclass(frozen=True)
class WordGame(Game):
    """A game of guessing a word, with the feedback of Wordle.

    Each letter of a guess is right (2), in the secret at another place (1), or neither (0). If the guess has a letter
    more often than the secret, it is marked as often as the secret has it: right ones first, then from the left. A
    feedback is these marks as digits in base 3, the first letter first.

    Attributes:
      words: the words that may be the secret, in any order.
      further: words that may be guessed, but are never the secret.

    Raises:
      GameError: no words, words of different lengths, longer than 5 letters, twice, or not of letters alone.
    """

    words: tuple[str, ...]
    further: tuple[str, ...] = ()

    kind: ClassVar[str] = "words"
    symmetric: ClassVar[bool] = False

    def __post_init__(self) -> None:
        if not self.words:
            raise GameError("a game of words needs at least one word")
        if (fault := _fault(self._every)) is not None:
            raise GameError(fault[1])
        if len(self._letters) > MOST_FEEDBACKS:
            raise GameError(f"{len(self._letters)} different letters, more than {MOST_FEEDBACKS}")

    @classmethod
    def load(
        cls, words: str | os.PathLike[str] | None = None, further: str | os.PathLike[str] | None = None
    ) -> WordGame:
        """The game of the words in a file, a line each, in any case; blank lines and comments after ``#`` are skipped.

        Args:
          words: file of the words that may be the secret; None for the list that ships, ``words/english.txt``, 555
            common English words of five letters.
          further: file of further words that may be guessed; those of ``words`` in it are skipped.

        Raises:
          GameError: as the class; the message names the file, and the line of a word that is wrong.
          OSError: a file can't be read.
        """
        shipped = resources.files("jaxsudoku") / "mastermind" / "words" / "english.txt"
        secrets = _read(shipped if words is None else Path(words))
        chosen = {word for word, _ in secrets}
        others = [] if further is None else [line for line in _read(Path(further)) if line[0] not in chosen]
        if (fault := _fault([word for word, _ in secrets + others])) is not None:
            number, cause = fault
            raise GameError(f"{(secrets + others)[number][1]}: {cause}")
        try:
            return cls(tuple(word for word, _ in secrets), tuple(word for word, _ in others))
        except GameError as error:
            files = [os.fspath(path) for path in (words, further) if path is not None]
            raise GameError(f"{', '.join(files)}: {error}") from error

    def __str__(self) -> str:
        letters = "1 letter" if len(self.words[0]) == 1 else f"{len(self.words[0])} letters"
        words = "1 word" if len(self.words) == 1 else f"{len(self.words):,} words"
        further = f", {len(self.further):,} further guesses" if self.further else ""
        return f"{words} of {letters}{further}"

    @property
    def _every(self) -> tuple[str, ...]:
        return self.words + self.further

    @functools.cached_property
    def _numbers(self) -> dict[str, int]:
        """The number of each word; the last one if a word occurs twice."""
        return {word: number for number, word in enumerate(self._every)}

    @functools.cached_property
    def _letters(self) -> list[str]:
        """The letters that occur; their indices are their numbers in arrays."""
        return sorted(set("".join(self._every)))

    @property
    def size(self) -> int:
        """The number of words that may be guessed."""
        return len(self._every)

    @property
    def secrets(self) -> int:
        """The number of words that may be the secret."""
        return len(self.words)

    @property
    def feedbacks(self) -> int:
        """The number of feedbacks, three marks for each letter."""
        feedbacks: int = 3 ** len(self.words[0])
        return feedbacks

    @functools.cached_property
    def codes(self) -> np.ndarray:
        """All words, uint8[size, letters], with letters as indices among those that occur."""
        places = {letter: place for place, letter in enumerate(self._letters)}
        codes = np.array([[places[letter] for letter in word] for word in self._every], np.uint8)
        codes.setflags(write=False)
        return codes

    # ------------------------------------------------------------------ feedback

    def prepared(self, codes: AnyArray) -> tuple[AnyArray, ...]:
        """The words letter by letter, uint8[letters, ...]."""
        return (codes.__array_namespace__().moveaxis(codes, -1, 0),)

    def compare(self, guesses: tuple[AnyArray, ...], secrets: tuple[AnyArray, ...]) -> AnyArray:
        """The feedback, uint8[...]."""
        (guess,), (secret,) = guesses, secrets
        places = range(len(self.words[0]))
        right = [guess[place] == secret[place] for place in places]
        number: Any = np.uint8(0)
        for place in places:
            # letters of the secret without right guesses, and equal letters marked further left
            left = _count((secret[other] == guess[place]) & ~right[other] for other in places)
            taken = _count((guess[other] == guess[place]) & ~right[other] for other in places[:place])
            elsewhere = ~right[place] & (left > taken)
            mark = right[place].astype(np.uint8) * np.uint8(2) + elsewhere.astype(np.uint8)
            number = number * np.uint8(3) + mark
        return number

    # ------------------------------------------------------------------ text

    def parse_code(self, text: str) -> int:
        """The number of a word; raises CodeError if the list does not have it."""
        word = stripped(text)
        if word.lower() not in self._numbers:
            raise CodeError(f"{word!r} is not in the list of words")
        return self._numbers[word.lower()]

    def code_text(self, code: int) -> str:
        """The word with this number; raises CodeError if there is none."""
        return self._every[check_number(self, "word", code, self.size)]

    def parse_feedback(self, text: str) -> int:
        """The number of a feedback, from a mark for each letter: g, y and -, or 2, 1 and 0, or coloured squares.

        Raises:
          CodeError: it is not a feedback of the game.
        """
        text = stripped(text)
        marks = [character for character in text.lower() if not character.isspace() and character != "\ufe0f"]
        length = len(self.words[0])
        if len(marks) != length or not all(mark in _READ for mark in marks):
            raise CodeError(f"{text!r}: {self.feedback_form}, of {length} letters")
        return functools.reduce(lambda number, mark: 3 * number + _READ[mark], marks, 0)

    def feedback_text(self, number: int) -> str:
        """A feedback as a text such as "g-y--"."""
        return "".join(_MARKS[mark] for mark in self.marks(number))

    @property
    def feedback_form(self) -> str:
        """The form in which feedback is typed."""
        return "a mark for each letter: g for right, y for elsewhere, - for neither"

    def labels(self, code: int) -> list[str]:
        """The letters of a word; raises CodeError if there is none with that number."""
        return list(self.code_text(code).upper())

    def marks(self, number: int) -> list[int]:
        """The mark of each letter; raises CodeError if there is no such feedback."""
        number = check_number(self, "feedback", number, self.feedbacks)
        return [number // 3**place % 3 for place in range(len(self.words[0]) - 1, -1, -1)]


def _count(conditions: Any) -> Any:
    """The number of conditions that hold, uint8[...]."""
    return functools.reduce(lambda number, one: number + one.astype(np.uint8), conditions, np.uint8(0))


def _fault(words: Sequence[Any]) -> tuple[int, str] | None:
    """The first word, by its place, that can't be in a list with those before it, and why; None if there is none."""
    seen = set()
    for place, word in enumerate(words):
        if not isinstance(word, str):
            return place, f"a word is a text, not {word!r}"
        if not word.isalpha():
            return place, f"{word!r} is not a word: words have only letters"
        if len(word) != len(words[0]):
            return place, f"{word!r} has {len(word)} letters, but {words[0]!r} has {len(words[0])}"
        if len(word) > 5:  # 3^5 is 243
            return place, f"words of {len(word)} letters have 3^{len(word)} feedbacks, more than {MOST_FEEDBACKS}"
        if word in seen:
            return place, f"{word!r} comes twice"
        seen.add(word)
    return None


def _read(path: Path | Traversable) -> list[tuple[str, str]]:
    """The words of a file, each with the file and its line for messages."""
    content = path.read_bytes()
    try:
        text = content.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        line = content[: error.start].count(b"\n") + 1
        raise GameError(f"{path}, line {line}: not UTF-8: {error.reason}") from error
    words = (
        (line.partition("#")[0].strip().lower(), f"{path}, line {number}")
        for number, line in enumerate(text.split("\n"), 1)
    )
    return [(word, place) for word, place in words if word]
