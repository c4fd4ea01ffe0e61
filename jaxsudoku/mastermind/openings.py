"""Choice of the opening: plays several first guesses to the end, and takes the one with the lowest mean."""

from __future__ import annotations

import jax
import numpy as np
from jax import Array

from .costs import PartCost
from .memo import Memo
from .players import Policy
from .positions import Positions
from .rules import Game
from .scoring import scorer
from .trees import grow


def best_opened(game: Game, policy: Policy, cost: PartCost, count: int) -> Policy:
    """The policy with the best of ``count`` first guesses: the one with the lowest mean, the first in case of a tie.

    The candidates are the policy's own first guess and, one per orbit, those with the lowest scores.
    """
    if count == 1 or game.secrets <= 2:
        return policy
    everything = Positions.everything(game)
    own = int(policy(everything, np.zeros((1, 0), np.int32), jax.random.key(0))[0])
    ((_, ranked, _),) = scorer(game).ranked(everything, cost, [()])
    openings = [own, *(guess for guess in ranked.tolist() if guess != own)]
    cached = _cached(game, policy)
    policies = [opened(cached, opening) for opening in openings[:count]]
    return min(policies, key=lambda policy: int(grow(game, policy)[0].attempts.sum()))


def _cached(game: Game, policy: Policy) -> Policy:
    """The policy with a cache of the guesses of positions, which may occur again after other openings."""
    known, guesses = Memo(game), np.zeros(0, np.int32)

    def cached(positions: Positions, history: np.ndarray, key: Array) -> np.ndarray:
        nonlocal guesses
        rows, new = known.add(positions)
        if len(new):
            guesses = np.concatenate([guesses, policy(positions.take(new), history[new], key)])
        return guesses[rows]

    return cached


def opened(policy: Policy, opening: int) -> Policy:
    """The policy with a given first guess."""

    def with_opening(positions: Positions, history: np.ndarray, key: Array) -> np.ndarray:
        first = history.shape[1] == 0
        return np.full(len(positions), opening, np.int32) if first else policy(positions, history, key)

    return with_opening
