"""Settings of the players."""

from __future__ import annotations

import dataclasses

from jaxsudoku.config import Config, NonNegative, Positive


@dataclasses.dataclass(frozen=True)
class RandomConfig(Config):
    """Settings of ``random``: none."""


@dataclasses.dataclass(frozen=True)
class GreedyConfig(Config):
    """Settings of players that look one guess ahead.

    Attributes:
      consistent: guess nothing but codes that may be the secret.
      openings: first guesses, of those that differ by more than names, that are played out to the end; the one with the
        fewest guesses in the mean is kept. With 1 it is the one that pleases best, as everywhere else.
    """

    consistent: bool = False
    openings: Positive = 1


@dataclasses.dataclass(frozen=True)
class EntropyConfig(GreedyConfig):
    """Settings of ``entropy``.

    Attributes:
      openings: first guesses, of those that differ by more than names, that are played out to the end; the one with the
        fewest guesses in the mean is kept. With 1 it is the one of most entropy, which in the classic game, four
        colours, begins less well than the next one.
    """

    openings: Positive = 2


@dataclasses.dataclass(frozen=True)
class LookaheadConfig(Config):
    """Settings of ``lookahead``.

    Attributes:
      plies: guesses that are looked ahead; what the last of them leaves is estimated.
      width: guesses that are looked into at each ply but the last, the best by that estimate.
    """

    plies: Positive = 2
    width: Positive = 20


@dataclasses.dataclass(frozen=True)
class OptimalConfig(Config):
    """Settings of ``optimal``.

    Attributes:
      positions: positions known at which the search ends with an error, so that a game too large ends at all; None for
        no limit. Each takes about 300 bytes.
    """

    positions: Positive | None = None


@dataclasses.dataclass(frozen=True)
class MctsConfig(Config):
    """Settings of ``mcts``.

    Attributes:
      simulations: games that a search plays for each guess.
      width: guesses that a position has in the tree: those that part it most, of as good ones those that may be the
        secret; None for all.
      exploration: how much a guess gains, in guesses, by having been tried little.
    """

    simulations: Positive = 4000
    width: Positive | None = 10
    exploration: NonNegative = 1.0


@dataclasses.dataclass(frozen=True)
class StochasticMuZeroConfig(Config):
    """Settings of ``stochastic-muzero``.

    Attributes:
      simulations: nodes that a search adds to its tree, guesses and feedbacks.
      width: guesses that a position has in the tree: those that part it most, of as good ones those that may be the
        secret.
      exploration: how much a guess gains by having been tried little (pb_c_init of the PUCT formula).
    """

    simulations: Positive = 512
    width: Positive = 10
    exploration: NonNegative = 1.25
