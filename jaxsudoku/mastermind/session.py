"""One game at a time, with someone else on the other side."""

from __future__ import annotations

import jax
import numpy as np
from jax import Array

from jaxsudoku import cache
from jaxsudoku.random import as_key

from .positions import Positions
from .rules import CodeError, Game, code_text, feedback_text
from .scoring import scorer
from .trees import Player, Tree, TreeError


class InconsistentError(ValueError):
    """No code would have given these answers."""


class CodeBreaker:
    """Finds a secret that someone else holds.

    Attributes:
      game: the game.
      possible: the codes that fit all answers, int32[n].
      answers: (guess, feedback) of each guess so far, by their numbers.
    """

    def __init__(self, game: Game, player: Player | Tree, key: Array | int = 0) -> None:
        """Begins a game, with a player or a tree to choose the guesses; ValueError if the tree is of another game."""
        if isinstance(player, Tree) and player.game != game:
            raise ValueError(f"the tree is for {player.game}, where the game is {game}")
        self.game = game
        self.answers: list[tuple[int, int]] = []
        self._player, self._key, self._scorer = player, as_key(key), scorer(game)
        self.possible = np.arange(game.size, dtype=np.int32)

    @property
    def over(self) -> bool:
        """Whether the secret is found."""
        return bool(self.answers) and self.answers[-1][1] == self.game.win

    @cache.kept()
    def guess(self) -> int:
        """The number of the code to ask for next; raises TreeError where a tree has none."""
        if isinstance(self._player, Tree):
            return self._from_tree(self._player)
        if len(self.possible) <= 2:
            return int(self.possible[0])
        history = np.array([[guess for guess, _ in self.answers]], np.int32).reshape(1, -1)
        key = jax.random.fold_in(self._key, len(self.answers))
        return int(self._player(Positions.of([self.possible]), history, key)[0])

    def _from_tree(self, tree: Tree) -> int:
        node = 0
        for guess, heard in self.answers:
            node = int(tree.children[node, heard]) if guess == tree.guesses[node] else -1
            if node < 0:
                told = f"{feedback_text(self.game, heard)} to {code_text(self.game, guess)}"
                raise TreeError(f"the tree has no guess after {told}")
        return int(tree.guesses[node])

    def hear(self, guess: int, feedback: int) -> None:
        """Takes the answer to a guess, both as numbers; ``parse_code`` and ``parse_feedback`` make them of texts.

        Raises:
          CodeError: there is no such code or feedback.
          InconsistentError: no code fits all answers; the message says which of them may be wrong. The game stays as it
            was.
        """
        for what, number, size in (("code", guess, self.game.size), ("feedback", feedback, self.game.feedbacks)):
            if number not in range(size):
                raise CodeError(f"{self.game}: a {what} is a number from 0 to {size - 1}, not {number!r}")
        possible = self.possible[self._scorer.host[guess, self.possible] == feedback]
        if not len(possible):
            raise InconsistentError(self._contradiction([*self.answers, (guess, feedback)]))
        self.possible = possible
        self.answers.append((guess, feedback))

    def undo(self) -> None:
        """Takes the last answer back; raises IndexError if there is none."""
        self.answers.pop()
        self.possible = self._fitting(self.answers)

    def _fitting(self, answers: list[tuple[int, int]]) -> np.ndarray:
        fits = np.ones(self.game.size, bool)
        for guess, heard in answers:
            fits &= self._scorer.host[guess] == heard
        return np.flatnonzero(fits).astype(np.int32)

    def _contradiction(self, answers: list[tuple[int, int]]) -> str:
        told = [f"{feedback_text(self.game, heard)} to {code_text(self.game, guess)}" for guess, heard in answers]
        alone = [
            told[place] for place in range(len(answers)) if len(self._fitting(answers[:place] + answers[place + 1 :]))
        ]
        reason = f"; one of these must be wrong: {', '.join(alone)}" if alone else "; more than one must be wrong"
        return f"no code fits {', '.join(told)}{reason if len(answers) > 1 else ''}"


class CodeMaker:
    """Holds a secret that someone else is to find.

    Attributes:
      game: the game.
      secret: the number of the code.
      possible: the codes that fit all answers so far, int32[n].
      asked: how many guesses there were.
    """

    def __init__(self, game: Game, secret: int) -> None:
        self.game, self.secret, self.asked = game, secret, 0
        self.possible = np.arange(game.size, dtype=np.int32)
        self._scorer = scorer(game)

    def answer(self, guess: int) -> int:
        """The feedback to a guess."""
        self.asked += 1
        heard = int(self._scorer.host[guess, self.secret])
        self.possible = self.possible[self._scorer.host[guess, self.possible] == heard]
        return heard

    def fits(self, guess: int) -> bool:
        """Whether a guess may be the secret, as far as the answers tell."""
        return bool(np.isin(guess, self.possible))
