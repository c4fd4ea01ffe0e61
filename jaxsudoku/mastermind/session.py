"""A single game: the code-breaker against a secret that someone else holds, and the code-maker."""

from __future__ import annotations

from typing import Any

import jax
import numpy as np
from jax import Array

from jaxsudoku.pictures import Picture
from jaxsudoku.runtime import cache
from jaxsudoku.runtime.random import as_key
from jaxsudoku.runtime.settings import whole_number

from .games import as_game
from .pegs import game_picture
from .persistent_uct import SearchTree
from .players import PLAYERS, Policy, make_config, make_policy
from .positions import Positions
from .rules import Game, check_code, check_guesses, check_number
from .scoring import scorer
from .trees import Tree, TreeError


class InconsistentError(ValueError):
    """No code is consistent with the feedback."""


class AttemptsError(ValueError):
    """A guess after the last attempt."""


class _Session:
    """A game so far: its answers, the codes that they leave, and whether it is over."""

    def __init__(self, game: Game | str, attempts: int | None) -> None:
        self.game = game = as_game(game)
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

    def fits(self, guess: int | str) -> bool:
        """Whether a code, as a number or text, is consistent with all feedback so far; CodeError if there is none."""
        return bool(np.isin(check_code(self.game, "code", guess, self.game.size), self.possible))

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

    def __init__(
        self,
        game: Game | str,
        player: str | Policy | Tree | SearchTree = "entropy",
        key: Array | int = 0,
        *,
        attempts: int | None = None,
        **options: Any,
    ) -> None:
        """Starts a game.

        Args:
          game: the game, or a name such as "4x6", as ``as_game`` takes it.
          player: what chooses the guesses: a name in ``PLAYERS``, a policy, a tree or a search tree. Of names
            "persistent-uct" trains its tree now; the others search at each guess.
          key: a JAX key or a seed, for players that are random.
          attempts: the most guesses, None for no limit.
          **options: fields of the config of the player with that name.

        Raises:
          ValueError: no such player, option or value, options without a name, a tree of another game, or fewer than
            one attempt; as GameError, no such game, or one for which the player's tables take more than half of the
            memory.
        """
        super().__init__(game, attempts)
        self._player, self._key = self._chosen(player, options), as_key(key)

    def _chosen(self, player: Any, options: dict[str, Any]) -> Policy | Tree:
        """What chooses the guesses, from the arguments."""
        if isinstance(player, str):
            return make_policy(self.game, player, make_config(player, **options))
        if options:
            raise ValueError(f"{', '.join(options)}: options are for a player by its name: {', '.join(PLAYERS)}")
        if isinstance(player, Tree | SearchTree):
            if player.game != self.game:
                raise ValueError(f"the tree is for {player.game}, where the game is {self.game}")
            return player if isinstance(player, Tree) else player.policy()
        if not callable(player):
            names = ", ".join(PLAYERS)
            raise ValueError(f"a player is a policy, a tree, or one of the names {names}, not {type(player).__name__}")
        policy: Policy = player
        return policy

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

    def update(self, guess: int | str, feedback: int | str) -> None:
        """Records the feedback to a guess, of the player or any other; both are numbers, or texts as "1123" and "1 1".

        Raises:
          AttemptsError: the attempts are used up.
          CodeError: there is no such code or feedback.
          InconsistentError: no code is consistent with all feedback; the message says which may be wrong. The game
            stays as it was.
        """
        self._check_attempts()
        guess = check_code(self.game, "code", guess, self.game.size)
        if isinstance(feedback, str):
            feedback = self.game.parse_feedback(feedback)
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

    def __init__(self, game: Game | str, secret: int | str, *, attempts: int | None = None) -> None:
        """Holds a secret.

        Args:
          game: the game, or a name such as "4x6", as ``as_game`` takes it.
          secret: its code number or its text.
          attempts: the most guesses, None for no limit.

        Raises:
          CodeError: no code that may be the secret.
          ValueError: fewer than one attempt; as GameError, no such game.
        """
        super().__init__(game, attempts)
        self.secret = check_code(self.game, "secret", secret, self.game.secrets)

    def answer(self, guess: int | str) -> int:
        """The number of the feedback to a guess, which is a code number or its text.

        Raises:
          AttemptsError: the attempts are used up.
          CodeError: there is no such code.
        """
        self._check_attempts()
        guess = check_code(self.game, "code", guess, self.game.size)
        feedback = int(self._scorer.feedback(guess, self.secret))
        self.possible = self.possible[self._scorer.feedback(guess, self.possible) == feedback]
        self.answers.append((guess, feedback))
        return feedback
