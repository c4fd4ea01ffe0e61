"""Player by depth-limited search: a few guesses at each ply, with all feedbacks, and an estimate at the last ply.

The total of a position is its size, one guess for each of its codes, and the totals of the parts that a guess leaves.
At the last ply totals are estimated by the sizes of the parts, or by a network (``values``); at the others only the
guesses that are best by the estimate are searched.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from jax import Array

from .costs import estimate
from .memo import Memo
from .openings import best_opened
from .player_config import LookaheadConfig
from .players import Policy, Progress
from .positions import SYMMETRIC_GUESSES, Positions, blocks, histories_of
from .rules import Game
from .scoring import scorer

if TYPE_CHECKING:
    from .values import LearnedValue

#: Number of codes of positions split together.
_CODES = 1 << 22


def lookahead(game: Game, config: LookaheadConfig, progress: Progress) -> Policy:
    """The player that minimizes the expected number of guesses by a search some plies ahead."""
    search = _Lookahead(game, config)

    def policy(positions: Positions, history: np.ndarray, key: Array) -> np.ndarray:
        return search.best(positions, history, config.plies)[0]

    return best_opened(game, policy, estimate(game), config.openings)


class _Lookahead:
    """A search of ``width`` guesses at each ply but the last."""

    def __init__(self, game: Game, config: LookaheadConfig) -> None:
        self._game, self._width = game, config.width
        self._scorer, self._estimate = scorer(game), estimate(game)
        self._unit = self._estimate.bonus
        self._value: LearnedValue | None = None
        if config.values is not None:
            from .values import LearnedValue  # loads flax

            self._value = LearnedValue.load(config.values)

    def best(self, positions: Positions, history: np.ndarray | None, plies: int) -> tuple[np.ndarray, np.ndarray]:
        """The best guess int32[n] for each position of more than two codes, and its total int64[n], in units.

        ``history``, int32[n, made], is None where no symmetry is left.
        """
        sizes = positions.sizes
        if plies == 1 and self._value is not None:  # at other plies only totals are needed
            totals = self._value.totals(self._game, positions)
            return np.zeros(len(positions), np.int32), np.rint(totals * self._unit).astype(np.int64)
        if plies == 1:
            guesses, scores = self._scorer.best(positions, self._estimate)
            return guesses, scores + sizes * self._unit
        owner, guesses = self._candidates(positions, history)
        totals = np.zeros(len(owner), np.int64)
        for pairs in blocks(sizes[owner], _CODES):
            after = None
            if history is not None and history.shape[1] < SYMMETRIC_GUESSES:
                after = np.concatenate([history[owner[pairs]], guesses[pairs, None]], axis=1)
            totals[pairs] = self._totals(positions.take(owner[pairs]), guesses[pairs], after, plies)
        order = np.lexsort((totals, owner))
        first = order[np.searchsorted(owner[order], np.arange(len(positions)))]
        return guesses[first], totals[first]

    def _candidates(self, positions: Positions, history: np.ndarray | None) -> tuple[np.ndarray, np.ndarray]:
        """Pairs of a position and a guess to search, sorted by position: (owner int64[pairs], guesses int32[pairs])."""
        guesses = [np.zeros(0, np.int32)] * len(positions)
        for index, found, _ in self._scorer.ranked(positions, self._estimate, histories_of(history, len(positions))):
            guesses[index] = found[: self._width].astype(np.int32)  # a copy; a slice would keep all guesses in memory
        owner = np.repeat(np.arange(len(positions)), [len(found) for found in guesses])
        return owner, np.concatenate(guesses)

    def _totals(self, positions: Positions, guesses: np.ndarray, history: np.ndarray | None, plies: int) -> np.ndarray:
        """The totals of positions with a guess for each, int64[n]."""
        found = self._scorer.partition(positions, guesses)
        totals = found.fixed_totals * self._unit
        (large,) = np.nonzero(found.parts.sizes > 2)
        if len(large):
            parts = found.parts.take(large)
            rows, first = Memo(self._game).add(parts)  # equal parts are searched once
            made = None if history is None else history[found.owner[large[first]]]
            below = self.best(parts.take(first), made, plies - 1)[1][rows]
            totals += np.bincount(found.owner[large], below, len(positions)).astype(np.int64)
        return totals
