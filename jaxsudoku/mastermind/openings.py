"""First guesses of a game: several are played to the end, and the one with the lowest mean is kept."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from jax import Array

from .costs import PartCost
from .players import Policy
from .positions import Positions, PositionTable
from .rules import Game
from .scoring import scorer
from .trees import grow


def ranked_openings(game: Game, cost: PartCost) -> np.ndarray:
    """The inequivalent first guesses, int[n], the one with the lowest score first."""
    ((_, openings, _),) = scorer(game).ranked(Positions.of([np.arange(game.secrets)]), cost, [()])
    return openings


def best_opened(game: Game, policy: Policy, openings: Sequence[int] | np.ndarray) -> Policy:
    """The policy with one of several first guesses: the one that leads to the lowest mean, the first of equal ones."""
    kept = _kept(game, policy)
    policies = [_opened(kept, int(opening)) for opening in openings]
    return min(policies, key=lambda policy: int(grow(game, policy)[0].attempts.sum()))


def _kept(game: Game, policy: Policy) -> Policy:
    """The policy, which keeps its guesses: a position that comes again, after any opening, gets the same at once."""
    known, guesses = PositionTable(game), np.zeros(0, np.int32)

    def kept(positions: Positions, history: np.ndarray, key: Array) -> np.ndarray:
        nonlocal guesses
        numbers, new = known.add(positions)
        if len(new):
            guesses = np.concatenate([guesses, policy(positions.take(new), history[new], key)])
        return guesses[numbers]

    return kept


def _opened(policy: Policy, opening: int) -> Policy:
    """The policy with a given first guess."""

    def opened(positions: Positions, history: np.ndarray, key: Array) -> np.ndarray:
        first = history.shape[1] == 0
        return np.full(len(positions), opening, np.int32) if first else policy(positions, history, key)

    return opened
