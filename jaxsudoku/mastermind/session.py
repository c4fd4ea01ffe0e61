"""A single game: the code-breaker against a secret that someone else holds, and the code-maker."""

from __future__ import annotations

import jax
import numpy as np
from jax import Array

from jaxsudoku.pictures import Picture
from jaxsudoku.runtime import cache
from jaxsudoku.runtime.random import as_key
from jaxsudoku.runtime.settings import whole_number

from .pegs import game_picture
from .players import Policy
from .positions import Positions
from .rules import Game, check_guesses, check_number
from .scoring import scorer
from .trees import Tree, TreeError


class InconsistentError(ValueError):
    """No code is consistent with the feedback."""


class AttemptsError(ValueError):
    """A guess after the last attempt."""


class _Session:
    """A game so far: its answers, the codes that they leave, and whether it is over."""

    def __init__(self, game: Game, attempts: int | None) -> None:
        self.game = game
        self.attempts = None if attempts is None else whole_number("attempts", attempts, 1)
        self.answers: list[tuple[int, int]] = []
        self.possible = np.arange(game.secrets, dtype=np.int32)
        self._scorer = scorer(game)

    @property
    def guesses(self) -> int:
        """The number of guesses so far."""
        return len(self.answers)

    @property
    def found(self) -> bool:
        """Whether the last guess was the secret."""
        return bool(self.answers) and self.answers[-1][1] == self.game.win

    @property
    def lost(self) -> bool:
        """Whether the attempts are used up, and the secret is not found."""
        return self.attempts is not None and self.guesses >= self.attempts and not self.found

    @property
    def over(self) -> bool:
        """Whether the game is won or lost."""
        return self.found or self.lost

    def _check_attempts(self) -> None:
        if self.lost:
            raise AttemptsError(f"the game is lost: its attempts, {self.attempts}, are used up")


class CodeBreaker(_Session):
    """Finds a secret that someone else holds.

    Attributes:
      game: the game.
      attempts: the most guesses of the game, None for no limit.
      possible: the codes that are consistent with all feedback so far, int32[n].
      answers: (guess, feedback) of each guess so far, as numbers.
    """

    def __init__(self, game: Game, player: Policy | Tree, key: Array | int = 0, *, attempts: int | None = None) -> None:
        """Starts a game with a policy or a tree that chooses the guesses.

        Raises:
          ValueError: the tree is of another game, or fewer than one attempt.
        """
        if isinstance(player, Tree) and player.game != game:
            raise ValueError(f"the tree is for {player.game}, where the game is {game}")
        super().__init__(game, attempts)
        self._player, self._key = player, as_key(key)

    @cache.kept()
    def guess(self) -> int:
        """The code number to guess next.

        Raises:
          AttemptsError: the attempts are used up.
          TreeError: the tree has no guess here.
          ValueError: the player has no guess, as that of a ``SearchTree`` after a guess that is not consistent.
          SearchLimitError: the search of ``optimal`` reaches its limit of positions.
          CodeError: the policy chooses no code.
        """
        self._check_attempts()
        if isinstance(self._player, Tree):
            return self._from_tree(self._player)
        if len(self.possible) <= 2:
            return int(self.possible[0])
        history = np.array([[guess for guess, _ in self.answers]], np.int32).reshape(1, -1)
        key = jax.random.fold_in(self._key, len(self.answers))
        chosen = self._player(Positions.of([self.possible]), history, key)
        return int(check_guesses(self.game, chosen, 1)[0])

    def _from_tree(self, tree: Tree) -> int:
        node = 0
        for guess, feedback in self.answers:
            node = int(tree.children[node, feedback]) if guess == tree.guesses[node] else -1
            if node < 0:
                raise TreeError(f"the tree has no guess after {self.game.answer_text(guess, feedback)}")
        return int(tree.guesses[node])

    def update(self, guess: int, feedback: int) -> None:
        """Records the feedback to a guess, as numbers; ``game.parse_code`` and ``game.parse_feedback`` read texts.

        Raises:
          AttemptsError: the attempts are used up.
          CodeError: there is no such code or feedback.
          InconsistentError: no code is consistent with all feedback; the message says which may be wrong. The game
            stays as it was.
        """
        self._check_attempts()
        guess = check_number(self.game, "code", guess, self.game.size)
        feedback = check_number(self.game, "feedback", feedback, self.game.feedbacks)
        possible = self.possible[self._scorer.feedback(guess, self.possible) == feedback]
        if not len(possible):
            raise InconsistentError(self._contradiction([*self.answers, (guess, feedback)]))
        self.possible = possible
        self.answers.append((guess, feedback))

    def picture(self) -> Picture:
        """The game so far as a picture, which a notebook shows: the guesses, their feedback, and the codes left."""
        return game_picture(self.game, self.answers, [len(left) for left in self._consistent(self.answers)])

    def _repr_svg_(self) -> str:
        return self.picture().svg

    def undo(self) -> None:
        """Takes back the last guess and its feedback; raises IndexError if there is none."""
        self.answers.pop()
        self.possible = self._consistent(self.answers)[-1]

    def _consistent(self, answers: list[tuple[int, int]]) -> list[np.ndarray]:
        """The codes int32[n] that are consistent with the first 0, 1, 2 ... answers."""
        possible = [np.arange(self.game.secrets, dtype=np.int32)]
        for guess, feedback in answers:
            possible.append(possible[-1][self._scorer.feedback(guess, possible[-1]) == feedback])
        return possible

    def _contradiction(self, answers: list[tuple[int, int]]) -> str:
        texts = [self.game.answer_text(*answer) for answer in answers]
        message = f"no code fits {', '.join(texts)}"
        if len(answers) == 1:
            return message
        others = (answers[:place] + answers[place + 1 :] for place in range(len(answers)))
        suspects = [text for text, rest in zip(texts, others, strict=True) if len(self._consistent(rest))]
        if not suspects:
            return f"{message}; more than one must be wrong"
        return f"{message}; one of these must be wrong: {', '.join(suspects)}"


class CodeMaker(_Session):
    """Holds a secret that someone else is to find.

    Attributes:
      game: the game.
      secret: its code number.
      attempts, possible, answers: as those of ``CodeBreaker``.
    """

    def __init__(self, game: Game, secret: int, *, attempts: int | None = None) -> None:
        """Holds the secret with a code number; raises CodeError if there is none, ValueError for no attempt."""
        super().__init__(game, attempts)
        self.secret = check_number(game, "secret", secret, game.secrets)

    def answer(self, guess: int) -> int:
        """The number of the feedback to a guess.

        Raises:
          AttemptsError: the attempts are used up.
          CodeError: there is no such code.
        """
        self._check_attempts()
        guess = check_number(self.game, "code", guess, self.game.size)
        feedback = int(self._scorer.feedback(guess, self.secret))
        self.possible = self.possible[self._scorer.feedback(guess, self.possible) == feedback]
        self.answers.append((guess, feedback))
        return feedback

    def fits(self, guess: int) -> bool:
        """Whether a guess is consistent with all feedback so far; raises CodeError if there is no such code."""
        return bool(np.isin(check_number(self.game, "code", guess, self.game.size), self.possible))
