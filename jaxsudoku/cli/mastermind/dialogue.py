"""A game of ``jaxsudoku mastermind play``: what is typed, line by line, and what is printed."""

from __future__ import annotations

import abc
import contextlib
import functools
import io
import sys
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any

from jaxsudoku import mastermind
from jaxsudoku.runtime.terminal.stop import Stop

if TYPE_CHECKING:
    from jaxsudoku.mastermind import CodeBreaker, CodeMaker, Game

#: A context in which a player searches.
Thinking = Callable[[], contextlib.AbstractContextManager[Any]]

#: The codes that ``list`` prints without a number.
_LISTED = 20

#: What may be typed, with what it does: on both sides, while the secret is yours, and while you guess.
BOTH = {
    "list [N]": f"the codes that are left, the first N of them (default: {_LISTED})",
    "fits CODE": "whether a code may be the secret",
    "help": "what may be typed",
    "quit": "end the game, and see the secret or the codes that are left",
}
HOLDING = {
    "guess CODE": "a guess of your own in place of the player's",
    "hint": "the player's guess again, in place of yours",
    "undo": "take the last feedback back",
}
GUESSING = {
    "guess CODE": "the same as the code alone, for words such as quit",
    "hint": "what the player would guess",
}


def described(commands: dict[str, str]) -> str:
    """Commands as lines, each with what it does."""
    return "\n".join(f"  {name:<12}{text}" for name, text in commands.items())


class _Quit(Exception):
    """The player ends the game."""


class Dialogue(abc.ABC):
    """A game in which a person types lines, one at a time.

    Attributes:
      session: the game so far.
      commands: what may be typed, with what it does.
    """

    def __init__(self, session: CodeBreaker | CodeMaker, commands: dict[str, str]) -> None:
        self.session, self.game, self.commands = session, session.game, commands

    def play(self) -> int:
        """Plays to the end; the exit status."""
        try:
            self.begin()
            for line in _lines("> "):
                try:
                    self._take(line)
                except (mastermind.CodeError, mastermind.InconsistentError) as error:
                    print(error)
                if self.session.over:
                    break
            else:
                print(f"the input has ended; {self.outcome()}")
                return 1
        except _Quit:
            print(self.outcome())
            return 0
        except Stop:
            print(f"\n{self.outcome()}", flush=True)
            raise
        if self.session.found:
            print(f"found in {_guesses(self.session.guesses)}: {self.game.code_text(self.session.answers[-1][0])}")
            return 0
        print(f"lost: not found in {_guesses(self.session.guesses)}; {self.outcome()}")
        return 1

    def _take(self, line: str) -> None:
        """Carries out a line: a command of both sides, or else one of this side."""
        word, rest = (*line.split(maxsplit=1), "", "")[:2]
        word = word.lower()
        if word in ("help", "quit", "hint", "undo") and rest:
            raise mastermind.CodeError(f"{line!r}: {word} stands alone; help lists what may be typed")
        if word in ("guess", "fits") and not rest:
            raise mastermind.CodeError(f"{word!r} needs a code, as in: {word} {self.game.code_text(0)}")
        if word == "quit":
            raise _Quit
        if word == "help":
            print(f"{self.form()}\n{described(self.commands)}")
        elif word == "list":
            print(self._listed(rest))
        elif word == "fits":
            print("it may be the secret" if self.session.fits(rest) else "it can't be the secret")
        elif not line:
            raise mastermind.CodeError(f"{self.form()}; help lists what else may be typed")
        else:
            self.take(line, word, rest)

    def _listed(self, text: str) -> str:
        """The codes that are left, as many as a text says."""
        if not (not text or (text.isascii() and text.isdecimal() and int(text[:9]))):
            raise mastermind.CodeError(f"{text!r}: list takes a number from 1 on, as in: list 100")
        possible, most = self.session.possible, int(text[:9] or _LISTED)
        codes = [self.game.code_text(code) for code in possible[:most].tolist()]
        beyond = f", the first {most:,}" if len(possible) > most else ""
        across = max(80 // (len(codes[0]) + 2), 1)
        lines = ("  ".join(codes[start : start + across]) for start in range(0, len(codes), across))
        return "\n".join([f"{_counted(len(possible), 'code')} left{beyond}:", *lines])

    def outcome(self) -> str:
        """What is known of the secret at the end."""
        first, *others = self.session.possible.tolist()
        return f"{len(others) + 1:,} codes are possible" if others else f"it is {self.game.code_text(first)}"

    @abc.abstractmethod
    def begin(self) -> None:
        """Says what is played, and how."""

    @abc.abstractmethod
    def form(self) -> str:
        """What is to be typed now."""

    @abc.abstractmethod
    def take(self, line: str, word: str, rest: str) -> None:
        """Carries out a line whose first word is ``word``; raises CodeError if it is nothing that may be typed."""


class Holding(Dialogue):
    """The person holds the secret, and types the feedback to the guesses of a player, or to own ones."""

    def __init__(self, breaker: CodeBreaker, thinking: Thinking) -> None:
        super().__init__(breaker, {**HOLDING, **BOTH})
        self._breaker, self._thinking = breaker, thinking
        self._guess: int | None = None

    def begin(self) -> None:
        """Says what is played, and shows the first guess."""
        print(f"{self.game}: think of a secret. After each guess type {self.game.feedback_form}. Or type help.")
        self._propose()

    def form(self) -> str:
        """What is to be typed now."""
        if self._guess is None:
            return "type a guess of your own"
        return f"type the feedback to {self.game.code_text(self._guess)}: {self.game.feedback_form}"

    def _propose(self) -> None:
        """Shows the player's guess; after guesses of the person a tree may have none."""
        try:
            with self._thinking():
                self._show(self._breaker.guess())
        except ValueError as error:
            self._guess = None
            print(f"no guess of the player: {error}; {self.form()}, or undo")

    def _show(self, guess: int, whose: str = "") -> None:
        self._guess = guess
        of = "" if self.session.attempts is None else f" of {self.session.attempts}"
        left = f"({whose}{len(self.session.possible):,} possible)"
        print(f"guess {self.session.guesses + 1}{of}: {self.game.code_text(guess)}  {left}")

    def take(self, line: str, word: str, rest: str) -> None:
        """Takes feedback, a guess, or a command."""
        if word == "hint":
            self._propose()
        elif word == "undo":
            if not self._breaker.answers:
                raise mastermind.CodeError("there is no feedback to take back")
            self._breaker.undo()
            self._propose()
        elif word == "guess":
            self._show(self.game.parse_code(rest), "yours; ")
        else:
            self._answer(line)

    def _answer(self, line: str) -> None:
        """Takes a line as feedback."""
        try:
            feedback = self.game.parse_feedback(line)
        except mastermind.CodeError as error:
            raise mastermind.CodeError(f"{error}; {self._advice(line)}") from None
        if self._guess is None:
            raise mastermind.CodeError(self.form())
        try:
            self._breaker.update(self._guess, feedback)
        except mastermind.InconsistentError as error:
            if self._breaker.answers:
                raise mastermind.InconsistentError(f"{error}; undo takes the last feedback back") from None
            raise
        if not self.session.over:
            self._propose()

    def _advice(self, line: str) -> str:
        """What to do about a line that is no feedback."""
        with contextlib.suppress(mastermind.CodeError):
            self.game.parse_code(line)
            return f"a guess of your own is typed as: guess {line}"
        return "help lists what else may be typed"


class Guessing(Dialogue):
    """The person guesses a secret, and may ask a player for hints."""

    def __init__(
        self,
        game: Game,
        secret: int,
        attempts: int | None,
        make_breaker: Callable[[int | None], CodeBreaker],
        thinking: Thinking,
    ) -> None:
        self._maker = mastermind.CodeMaker(game, secret, attempts=attempts)
        super().__init__(self._maker, {**GUESSING, **BOTH})
        self._make_breaker, self._thinking = make_breaker, thinking

    def begin(self) -> None:
        """Says what is played."""
        print(f"{self.game}: guess the code. The answer is {self.game.feedback_form}. Or type help.")

    def form(self) -> str:
        """What is to be typed."""
        return f"type a code, such as {self.game.code_text(0)}"

    def outcome(self) -> str:
        """The secret."""
        return f"it was {self.game.code_text(self._maker.secret)}"

    @functools.cached_property
    def _adviser(self) -> CodeBreaker:
        """The player that gives hints, made when the first one is wanted."""
        return self._make_breaker(None)

    def take(self, line: str, word: str, rest: str) -> None:
        """Takes a guess, or a command."""
        if word == "hint":
            self._hint()
            return
        try:
            feedback = self._maker.answer(rest if word == "guess" else line)
        except mastermind.CodeError as error:
            cause = "'undo': a guess of yours can't be taken back" if word == "undo" else error
            raise mastermind.CodeError(f"{cause}; help lists what may be typed") from None
        if not self._maker.found:
            attempts, left = self._maker.attempts, len(self._maker.possible)
            rest = "" if attempts is None else f", {_guesses(attempts - self._maker.guesses)} left"
            print(f"{self.game.feedback_text(feedback)}  ({left:,} possible{rest})")

    def _hint(self) -> None:
        from jaxsudoku.mastermind import SearchLimitError

        try:
            with self._thinking():
                for answer in self._maker.answers[self._adviser.guesses :]:
                    self._adviser.update(*answer)
                print(f"{self.game.code_text(self._adviser.guess())} is the player's guess")
        except (ValueError, SearchLimitError) as error:
            print(f"no guess of the player: {error}")


def _lines(prompt: str) -> Iterator[str]:
    """The lines that are typed, without white space at their ends, until the input ends."""
    if isinstance(sys.stdin, io.TextIOWrapper):
        sys.stdin.reconfigure(errors="replace")  # bytes that are no text are a wrong line
    while True:
        print(prompt, end="", flush=True)
        line = sys.stdin.readline()
        if not line:
            print()
            return
        yield line.strip()


def _counted(number: int, thing: str) -> str:
    return f"{number:,} {thing}{'' if number == 1 else 's'}"


def _guesses(number: int) -> str:
    return f"{number:,} {'guess' if number == 1 else 'guesses'}"
