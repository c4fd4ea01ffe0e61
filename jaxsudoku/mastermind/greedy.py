"""Greedy players: each guess minimizes a score of the sizes of the parts that it leaves."""

from __future__ import annotations

import functools
import math
from collections.abc import Callable, Mapping

import jax
import numpy as np
from jax import Array

from .costs import PartCost
from .openings import best_opened
from .player_config import GreedyConfig, RandomConfig
from .players import Policy, Progress
from .positions import Positions, histories_of
from .rules import Game
from .scoring import scorer

#: Half of the maximum of int32, the limit of sums of costs, as costs are doubled to leave room for the bonus.
_MOST = 1 << 30


def random(game: Game, config: RandomConfig, progress: Progress) -> Policy:
    """The player that guesses a random code that may be the secret."""

    def policy(positions: Positions, history: np.ndarray, key: Array) -> np.ndarray:
        drawn = 1 << max(len(positions) - 1, 0).bit_length()  # a power of two, so that few sizes are compiled
        share = np.asarray(jax.random.uniform(key, (drawn,)), np.float64)[: len(positions)]
        places = np.minimum((share * positions.sizes).astype(np.int64), positions.sizes - 1)
        guesses: np.ndarray = positions.codes[positions.bounds[:-1] + places]
        return guesses

    return policy


# ---------------------------------------------------------------------- costs of parts


def largest_part(sizes: np.ndarray) -> np.ndarray:
    """The size; the score is the largest cost, the worst case (Knuth 1976, The computer as Master Mind)."""
    return sizes


def pairs(sizes: np.ndarray) -> np.ndarray:
    """The number of pairs of codes in a part; the sum determines the expected size (Irving 1979)."""
    cost: np.ndarray = sizes * (sizes - 1) // 2
    return cost


def lost_information(sizes: np.ndarray) -> np.ndarray:
    """n log2 n, scaled; a lower sum means a higher entropy of the feedback (Neuwirth 1982).

    Logarithms of primes are rounded, others are sums of these, so equal entropies are equal integers.
    """
    most = len(sizes) - 1
    scale = _MOST / 2 / max(most * math.log2(max(most, 2)), 1)
    logs = np.zeros(len(sizes), np.int64)
    for prime in range(2, len(sizes)):
        if logs[prime] == 0:  # a prime
            power = prime
            while power < len(sizes):
                logs[power::power] += round(math.log2(prime) * scale)
                power *= prime
    cost: np.ndarray = sizes * logs
    return cost


def missing_parts(sizes: np.ndarray) -> np.ndarray:
    """-1 for each part (Kooi 2005, Yet another Mastermind strategy)."""
    cost: np.ndarray = -np.minimum(sizes, 1)
    return cost


#: The cost of a part for each greedy player, from its size.
COSTS: Mapping[str, Callable[[np.ndarray], np.ndarray]] = {
    "minimax": largest_part,
    "expected-size": pairs,
    "entropy": lost_information,
    "most-parts": missing_parts,
}


def part_cost(game: Game, name: str, coarse: bool = False) -> PartCost:
    """The cost of a greedy player; among equal scores, guesses that may be the secret come first.

    Args:
      game: the game.
      name: the player's name.
      coarse: for positions of more than ``exact_size`` codes: costs rounded so that sums over the whole game fit.
    """
    costs = _costs(game, name)
    if coarse:
        costs = costs // (int(np.abs(costs).max()) // _MOST + 1)
    doubled = (2 * np.clip(costs, -_MOST, _MOST - 1)).astype(np.int32)
    return PartCost(doubled, bonus=1, largest=name == "minimax")


def exact_size(game: Game, name: str) -> int:
    """The size of the largest positions with exact scores that fit in an int32; in most games all codes."""
    return int(np.searchsorted(np.abs(_costs(game, name)), _MOST)) - 1


def _costs(game: Game, name: str) -> np.ndarray:
    return COSTS[name](np.arange(game.secrets + 1, dtype=np.int64))


# ---------------------------------------------------------------------- players


def _greedy(name: str, game: Game, config: GreedyConfig, progress: Progress) -> Policy:
    """The player that guesses the code with the lowest score, by the cost of this name."""
    score, most = scorer(game), exact_size(game, name)
    exact, coarse = part_cost(game, name), part_cost(game, name, coarse=True)

    def best(positions: Positions, history: np.ndarray, key: Array) -> np.ndarray:
        guesses = np.zeros(len(positions), np.int32)
        large = positions.sizes > most
        for chosen, cost in ((large, coarse), (~large, exact)):
            (indices,) = np.nonzero(chosen)
            histories = histories_of(history[indices], len(indices))
            guesses[indices] = score.best(positions.take(indices), cost, config.consistent, histories)[0]
        return guesses

    return best_opened(game, best, coarse, config.openings)


minimax = functools.partial(_greedy, "minimax")
expected_size = functools.partial(_greedy, "expected-size")
entropy = functools.partial(_greedy, "entropy")
most_parts = functools.partial(_greedy, "most-parts")
