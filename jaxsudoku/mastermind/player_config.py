"""Settings of the players. No JAX."""

from __future__ import annotations

import dataclasses
import math
import os

from jaxsudoku.runtime.settings import Config, Natural, NonNegative, Positive

from .rules import Game

#: Default weight of exploration in UCT.
SQRT2 = math.sqrt(2)


class PlayerConfig(Config):
    """Base class of the settings of players."""

    def check(self, game: Game) -> None:
        """Raises ValueError if a player with these settings can't play a game; a fast check."""


@dataclasses.dataclass(frozen=True)
class RandomConfig(PlayerConfig):
    """Settings of ``random``: none."""


@dataclasses.dataclass(frozen=True)
class GreedyConfig(PlayerConfig):
    """Settings of players that look one guess ahead.

    Attributes:
      consistent: guess only codes that may be the secret.
      openings: number of first guesses, one per orbit, that are played to the end; the one with the lowest mean is
        chosen. With 1, the first guess is the one with the best score, like all others.
    """

    consistent: bool = False
    openings: Positive = 1


@dataclasses.dataclass(frozen=True)
class EntropyConfig(GreedyConfig):
    """Settings of ``entropy``: ``GreedyConfig`` with another default of ``openings``.

    In the classic game the opening with the highest entropy, 1234, leads to a higher mean than the second best.
    """

    openings: Positive = 2


@dataclasses.dataclass(frozen=True)
class LookaheadConfig(PlayerConfig):
    """Settings of ``lookahead``.

    Attributes:
      plies: number of guesses to look ahead; the parts after the last one are estimated.
      width: number of guesses searched at each ply but the last, the best by the estimate.
      openings: number of first guesses played to the end, the search's own and the best by the estimate; the one with
        the lowest mean is chosen.
      values: a network that corrects the estimate after the first ply: a file of ``train.mastermind``, or "trained" for
        the shipped one; None for the plain estimate.
    """

    plies: Positive = 2
    width: Positive = 20
    openings: Positive = 1
    values: str | None = None

    def __post_init__(self) -> None:
        if isinstance(self.values, os.PathLike):
            object.__setattr__(self, "values", os.fspath(self.values))
        super().__post_init__()
        if self.values is not None and self.plies == 1:
            raise ValueError("values are used after a searched guess, so plies must be at least 2")

    def check(self, game: Game) -> None:
        """Raises ValueFileError if the file is not a network, and GameError if it is not for this game."""
        if self.values is not None:
            from .values import LearnedValue, game_of_pegs  # loads JAX

            game_of_pegs(game)
            LearnedValue.load(self.values)


@dataclasses.dataclass(frozen=True)
class OptimalConfig(PlayerConfig):
    """Settings of ``optimal``.

    Attributes:
      positions: maximum number of positions in the transposition table, about 100 bytes each; beyond it the search ends
        with an error. None for no limit.
    """

    positions: Positive | None = None


@dataclasses.dataclass(frozen=True)
class MctsConfig(PlayerConfig):
    """Settings of ``mcts``.

    Attributes:
      simulations: number of games that a search plays for each guess.
      width: number of guesses of a node: those with the most parts, ties with consistent codes first; None for all.
      exploration: scale of the confidence bound, in guesses.
    """

    simulations: Positive = 4000
    width: Positive | None = 10
    exploration: NonNegative = 1.0


@dataclasses.dataclass(frozen=True)
class PersistentUctConfig(PlayerConfig):
    """Settings of ``persistent-uct``.

    Attributes:
      simulations: simulations before play.
      during: further simulations from each position in play, before its guess is chosen.
      exploration: scale of the confidence bound, in guesses.
    """

    simulations: Positive = 10_000
    during: Natural = 0
    exploration: NonNegative = SQRT2


@dataclasses.dataclass(frozen=True)
class StochasticMuZeroConfig(PlayerConfig):
    """Settings of ``stochastic-muzero``.

    Attributes:
      simulations: number of nodes that a search adds to its tree, for guesses and for feedbacks.
      width: number of guesses of a node: those with the most parts, ties with consistent codes first.
      exploration: weight of the prior (pb_c_init of the PUCT formula).
    """

    simulations: Positive = 512
    width: Positive = 10
    exploration: NonNegative = 1.25
