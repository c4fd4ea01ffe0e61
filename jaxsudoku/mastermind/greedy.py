"""Players that look one guess ahead: at the parts that a guess leaves, and no further."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping

import jax
import numpy as np
from jax import Array

from .config import GreedyConfig, RandomConfig
from .positions import Positions
from .rules import Game
from .scoring import Worth, scorer
from .symmetry import first_of_kind
from .trees import Player, grow

#: The worth of a whole game, in steps of two, is below this, so that sums of parts' worth fit in an int32.
_MOST = 1 << 30


def random_player(game: Game, config: RandomConfig) -> Player:
    """A random code that may be the secret."""
    del config, game

    def choose(positions: Positions, history: np.ndarray, key: Array) -> np.ndarray:
        del history
        share = np.asarray(jax.random.uniform(key, (len(positions),)), np.float64)
        places = np.minimum((share * positions.sizes).astype(np.int64), positions.sizes - 1)
        return positions.codes[positions.bounds[:-1] + places]

    return choose


def largest_part(sizes: np.ndarray) -> np.ndarray:
    """The size itself: with ``largest``, the worst case counts (Knuth 1976, The computer as Master Mind)."""
    return sizes


def expected_size(sizes: np.ndarray) -> np.ndarray:
    """Pairs of codes that stay together, which is what the expected size comes to (Irving 1979)."""
    return sizes * (sizes - 1) // 2


def lost_information(sizes: np.ndarray) -> np.ndarray:
    """n log2 n: summed up, it falls as the entropy of the feedback rises (Neuwirth 1982).

    The logarithms of primes are rounded, and all others are their sums, so that what is equal comes out equal.
    """
    most = len(sizes) - 1
    scale = _MOST / 2 / max(most * math.log2(max(most, 2)), 1)
    logs = np.zeros(len(sizes), np.int64)
    for prime in range(2, len(sizes)):
        if logs[prime] == 0:  # no prime before divides it
            power = prime
            while power < len(sizes):
                logs[power::power] += round(math.log2(prime) * scale)
                power *= prime
    return sizes * logs


def missing_parts(sizes: np.ndarray) -> np.ndarray:
    """Less for each part that there is (Kooi 2005, Yet another Mastermind strategy)."""
    return -np.minimum(sizes, 1)


#: What greedy players count, and whether the largest part alone counts.
COUNTED: Mapping[str, tuple[Callable[[np.ndarray], np.ndarray], bool]] = {
    "minimax": (largest_part, True),
    "expected-size": (expected_size, False),
    "entropy": (lost_information, False),
    "most-parts": (missing_parts, False),
}


def worth(game: Game, name: str) -> Worth:
    """What a greedy player sums up for positions of up to ``exact_size`` codes.

    Of guesses that are as good, one that may be the secret comes first.
    """
    return _worth(_counts(game, name), COUNTED[name][1])


def coarse_worth(game: Game, name: str) -> Worth:
    """The same for larger positions, in steps that are as wide as an int32 needs them for the whole game."""
    values = _counts(game, name)
    return _worth(values // (int(np.abs(values).max()) // _MOST + 1), COUNTED[name][1])


def exact_size(game: Game, name: str) -> int:
    """The codes of the largest positions whose scores an int32 holds as they are; in most games that is all."""
    return int(np.searchsorted(np.abs(_counts(game, name)), _MOST)) - 1


def _counts(game: Game, name: str) -> np.ndarray:
    return COUNTED[name][0](np.arange(game.size + 1, dtype=np.int64))


def _worth(values: np.ndarray, largest: bool) -> Worth:
    return Worth((2 * np.clip(values, -_MOST, _MOST - 1)).astype(np.int32), 1, largest)


def greedy_player(name: str) -> Callable[[Game, GreedyConfig], Player]:
    """The maker of a player that takes the guess with the least score, by what it counts."""

    def make(game: Game, config: GreedyConfig) -> Player:
        score, value, coarse, exact = scorer(game), worth(game, name), coarse_worth(game, name), exact_size(game, name)

        def follow(positions: Positions, history: np.ndarray, key: Array) -> np.ndarray:
            del history, key
            guesses = np.zeros(len(positions), np.int32)
            large = positions.sizes > exact
            for chosen, summed in ((large, coarse), (~large, value)):
                (some,) = np.nonzero(chosen)
                guesses[some] = score.best(positions.take(some), summed, config.consistent)[0]
            return guesses

        def choose(positions: Positions, history: np.ndarray, key: Array) -> np.ndarray:
            if history.shape[1] or config.openings == 1:
                return follow(positions, history, key)
            return np.full(len(positions), opening, np.int32)

        opening = _best_opening(game, follow, coarse, config) if config.openings > 1 else -1
        return choose

    return make


def _best_opening(game: Game, follow: Player, value: Worth, config: GreedyConfig) -> int:
    """The first guess, of the few with the best scores, after which following a player takes the fewest guesses."""
    whole = Positions.of([np.arange(game.size)])
    ((_, scores),) = scorer(game).scores(whole, value)
    kinds = first_of_kind(game, ())
    tried = kinds[np.argsort(scores[0, kinds], kind="stable")[: config.openings]]
    totals = []
    for first in tried.tolist():

        def opened(positions: Positions, history: np.ndarray, key: Array, first: int = first) -> np.ndarray:
            return follow(positions, history, key) if history.shape[1] else np.full(len(positions), first, np.int32)

        totals.append(int(grow(game, opened)[0].attempts.sum()))
    return int(tried[np.argmin(totals)])
