"""A player that looks further ahead: every feedback to the best few guesses, and what follows on it.

What a position takes is its size, one guess for each of its codes, and what the parts take that a guess leaves. At the
last ply the parts are estimated by their sizes; before it, only the guesses that are best by that estimate are looked
into.
"""

from __future__ import annotations

import math

import numpy as np
from jax import Array

from .config import LookaheadConfig
from .positions import Positions, distinct
from .rules import Game
from .scoring import Worth, scorer
from .symmetry import SYMMETRIC, first_of_kind
from .trees import Player

#: Of the feedbacks that there are, a guess in the middle of a game gets about this share.
_USED = 0.55

#: Estimates for the whole game stay below this, in units of a fraction of a guess.
_MOST = 1 << 29

#: Codes of positions that are split together.
_CODES = 1 << 22


def estimate(game: Game) -> Worth:
    """How many guesses positions take by their sizes, all codes together, in units of a fraction of a guess.

    A guess parts n codes in about as many parts as half of the feedbacks, down to a few codes, which are told apart by
    one. The unit is the worth of a lone code.
    """
    sizes = np.arange(game.size + 1)
    plies = np.log2(np.maximum(sizes, 1)) / math.log2(max(_USED * game.feedbacks, 2))
    guesses = np.where(sizes > 0, np.maximum(2 * sizes - 1, sizes * (1 + plies)), 0)
    unit = max(min(256, int(_MOST / guesses[-1])), 1)
    of_size = np.rint(guesses * unit).astype(np.int32)
    return Worth(of_size, int(of_size[1]))


def lookahead_player(game: Game, config: LookaheadConfig) -> Player:
    """The guess after which the fewest guesses are to be expected, some plies ahead."""
    look = _Lookahead(game, config.width)

    def choose(positions: Positions, history: np.ndarray, key: Array) -> np.ndarray:
        del key
        return look.choose(positions, history, config.plies)[0]

    return choose


class _Lookahead:
    """Looks ahead in a game, into so many guesses at each ply but the last."""

    def __init__(self, game: Game, width: int) -> None:
        self._game, self._width = game, width
        self._scorer, self._estimate = scorer(game), estimate(game)
        self._unit = self._estimate.bonus

    def choose(self, positions: Positions, history: np.ndarray | None, plies: int) -> tuple[np.ndarray, np.ndarray]:
        """The best guess for each position of more than two codes, and the guesses that it takes from there.

        Args:
          positions: n positions.
          history: int32[n, made], the guesses before; None where that is no matter.
          plies: guesses to look ahead.

        Returns:
          (guesses int32[n], int64[n] in units of the estimate).
        """
        sizes = positions.sizes
        if plies == 1:
            guesses, scores = self._scorer.best(positions, self._estimate)
            return guesses, scores + sizes * self._unit
        owner, tried = self._promising(positions, history)
        totals = sizes[owner] * self._unit
        heavy = np.cumsum(sizes[owner]) // _CODES
        for some in np.split(np.arange(len(owner)), np.flatnonzero(np.diff(heavy)) + 1):
            before = None
            if history is not None and history.shape[1] < SYMMETRIC:
                before = np.concatenate([history[owner[some]], tried[some, None]], axis=1)
            totals[some] += self._left(positions.take(owner[some]), tried[some], before, plies)
        order = np.lexsort((totals, owner))
        first = order[np.searchsorted(owner[order], np.arange(len(positions)))]
        return tried[first], totals[first]

    def _promising(self, positions: Positions, history: np.ndarray | None) -> tuple[np.ndarray, np.ndarray]:
        """Pairs of a position and a guess worth looking into: (owner int64[pairs], guesses int32[pairs])."""
        owners, guesses = [], []
        for chosen, scores in self._scorer.scores(positions, self._estimate):
            for number, row in zip(chosen.tolist(), scores, strict=True):
                before = None if history is None else tuple(history[number].tolist())
                kinds = first_of_kind(self._game, before)
                found = kinds[np.argsort(row[kinds], kind="stable")[: self._width]]
                owners.append(np.full(len(found), number))
                guesses.append(found)
        owner = np.concatenate(owners)
        order = np.argsort(owner, kind="stable")
        return owner[order], np.concatenate(guesses)[order].astype(np.int32)

    def _left(self, positions: Positions, guesses: np.ndarray, history: np.ndarray | None, plies: int) -> np.ndarray:
        """What the parts that guesses leave take, int64[n]."""
        parts = self._scorer.split(positions, guesses)
        sizes = parts.parts.sizes
        takes = np.select([parts.feedback == self._game.win, sizes <= 2], [0, (2 * sizes - 1) * self._unit])
        (large,) = np.nonzero(sizes > 2)
        if len(large):
            first, which = distinct(parts.parts.take(large))
            before = None if history is None else history[parts.owner[large[first]]]
            _, totals = self.choose(parts.parts.take(large[first]), before, plies - 1)
            takes[large] = totals[which]
        return np.bincount(parts.owner, takes, len(positions)).astype(np.int64)
