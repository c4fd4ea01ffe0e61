"""Settings of the players. No JAX."""

from __future__ import annotations

import dataclasses
import math

from jaxsudoku.config import Config, Natural, NonNegative, Positive

#: The usual weight of exploration in UCT.
SQRT2 = math.sqrt(2)


@dataclasses.dataclass(frozen=True)
class RandomConfig(Config):
    """Settings of ``random``: none."""


@dataclasses.dataclass(frozen=True)
class GreedyConfig(Config):
    """Settings of players that look one guess ahead.

    Attributes:
      consistent: guess only codes that may be the secret.
      openings: inequivalent first guesses that are played to the end; the one with the lowest mean is kept. With 1, the
        first guess is the one with the best score, as all others are.
    """

    consistent: bool = False
    openings: Positive = 1


@dataclasses.dataclass(frozen=True)
class EntropyConfig(GreedyConfig):
    """Settings of ``entropy``; as ``GreedyConfig``, but for the default of ``openings``.

    The opening of highest entropy in the classic game, 1234, leads to a higher mean than the second best.
    """

    openings: Positive = 2


@dataclasses.dataclass(frozen=True)
class LookaheadConfig(Config):
    """Settings of ``lookahead``.

    Attributes:
      plies: guesses to look ahead; the parts that the last one leaves are estimated.
      width: guesses that are searched at each ply but the last, the best by the estimate.
    """

    plies: Positive = 2
    width: Positive = 20


@dataclasses.dataclass(frozen=True)
class OptimalConfig(Config):
    """Settings of ``optimal``.

    Attributes:
      positions: positions in memory at which the search ends with an error; None for no limit. Each takes about 100
        bytes.
    """

    positions: Positive | None = None


@dataclasses.dataclass(frozen=True)
class MctsConfig(Config):
    """Settings of ``mcts``.

    Attributes:
      simulations: games that a search plays for each guess.
      width: guesses of a node: those with the most parts, consistent codes first among equals; None for all.
      exploration: scale of the confidence bound, in guesses.
    """

    simulations: Positive = 4000
    width: Positive | None = 10
    exploration: NonNegative = 1.0


@dataclasses.dataclass(frozen=True)
class KeptTreeConfig(Config):
    """Settings of ``kept-tree``.

    Attributes:
      simulations: games by which the tree is trained before play.
      during: further games from each position that is played, before its guess is chosen.
      exploration: scale of the confidence bound, in guesses.
    """

    simulations: Positive = 10_000
    during: Natural = 0
    exploration: NonNegative = SQRT2


@dataclasses.dataclass(frozen=True)
class StochasticMuZeroConfig(Config):
    """Settings of ``stochastic-muzero``.

    Attributes:
      simulations: nodes that a search adds to its tree, for guesses and for feedbacks.
      width: guesses of a node: those with the most parts, consistent codes first among equals.
      exploration: weight of the prior (pb_c_init of the PUCT formula).
    """

    simulations: Positive = 512
    width: Positive = 10
    exploration: NonNegative = 1.25
