"""Proves that a strategy is the best of its game, or finds a better one, or says how far it got: bounds of the total.

The search of ``optimal`` is given the total of the strategy, so it need not find a strategy, only exclude better ones.
It does so in steps: for each it excludes totals up to some limit, which is a lower bound of all strategies from then
on. What it knows may be kept in a folder, from which it goes on later.
"""

from __future__ import annotations

import dataclasses
import math
import os
import time

import numpy as np

from jaxsudoku import cache

from .certificate import save_certificate
from .memo import Memo
from .optimal import Search
from .players import Progress
from .positions import Positions
from .rules import Game
from .trees import Tree, grow

#: The limits of the steps, as shares of what lies between the lower bound and the total of the strategy.
_STEPS = (1 / 32, 1 / 16, 1 / 8, 1 / 4, 3 / 8, 1 / 2, 5 / 8, 3 / 4, 7 / 8, 1)


@dataclasses.dataclass(frozen=True, eq=False)
class Proof:
    """What is known of the best strategy of a game.

    Attributes:
      tree: the best strategy known.
      lower: a lower bound of the guesses that any strategy takes for all codes together.
      left: the first guesses that a better strategy may begin with, one of several equivalent ones, with the lower
        bounds of such strategies; none where the strategy is proven to be the best.
      positions: the number of positions that the search has reached.
      seconds: the time that it took.
    """

    tree: Tree
    lower: int
    left: tuple[tuple[int, int], ...]
    positions: int
    seconds: float

    @property
    def game(self) -> Game:
        """The game."""
        return self.tree.game

    @property
    def upper(self) -> int:
        """The guesses that the best strategy known takes for all codes together."""
        return int(self.tree.attempts.sum())

    @property
    def proven(self) -> bool:
        """Whether no strategy is better."""
        return self.lower == self.upper


class _OutOfTimeError(Exception):
    """The time is over."""


@cache.kept()
def prove(
    tree: Tree,
    seconds: float = math.inf,
    memo: str | os.PathLike[str] | None = None,
    progress: Progress = lambda text: None,
    certificate: str | os.PathLike[str] | None = None,
) -> Proof:
    """Searches for a better strategy until there is one or it is proven that there is none.

    Args:
      tree: a strategy, better a good one: all totals that are not below its own are excluded at once.
      seconds: the time after which the search ends without a proof.
      memo: a folder for what the search knows, about 100 bytes for each position; a folder with a memo of the game is
        continued. None keeps it in memory.
      progress: called with a text now and then.
      certificate: a file for what the proof rests on, as ``save_certificate`` writes it, if there is a proof; the time
        does not limit it.

    Raises:
      GameError: the game's feedback table takes more than half of the memory.
      MemoError: the folder is that of another game, or holds something else.
      OSError: it can't be read or written.
    """
    begun, game = time.monotonic(), tree.game
    everything, nothing = Positions.of([np.arange(game.secrets)]), np.zeros((1, 0), np.int32)
    upper = int(tree.attempts.sum())
    lower = 0

    def report(text: str) -> None:
        if time.monotonic() > begun + seconds:
            raise _OutOfTimeError
        progress(f"{text}; bounds {lower:,} and {upper:,}")

    known = Memo(game, memo)
    search = Search(game, None, report, known)
    try:
        lower = min(int(search.solve(everything, nothing, below=0)[1][0]), upper)
        first, guess = lower, -1
        for step in _STEPS:
            limit = first + math.ceil(step * (upper - first))
            if lower < limit:
                guesses, totals = search.solve(everything, nothing, below=limit)
                guess, lower = int(guesses[0]), int(totals[0])
            if guess >= 0:
                break
        if guess >= 0:  # its total is the lowest
            (tree,), upper = grow(game, search.policy, player="optimal"), lower
    except _OutOfTimeError:
        lower = max(lower, search.bound(everything))
    if certificate is not None and lower == upper:
        save_certificate(game, lower, known, certificate, progress)
    left = search.openings(upper) if lower < upper else []
    return Proof(tree, lower, tuple(left), len(search), time.monotonic() - begun)
