"""The cost of the parts of a position by their sizes, and the estimate of totals by sizes. No JAX."""

from __future__ import annotations

import dataclasses
import functools
import math

import numpy as np

from .rules import Game

#: In the middle of a game a guess gets about this share of all feedbacks.
OCCURRING = 0.55

#: The estimate of the whole game stays below this, in its units.
_MOST = 1 << 29


@dataclasses.dataclass(frozen=True, eq=False)
class PartCost:
    """The cost that a score adds up over the parts of a position.

    Attributes:
      by_size: int32[secrets + 1], the cost of a part by its number of codes, 0 where it is empty. The sum over
        the parts of any position fits in an int32.
      bonus: subtracted from the score of a guess that may be the secret.
      largest: whether the score is the largest cost, rather than the sum; then no cost is below that of a smaller part.
    """

    by_size: np.ndarray
    bonus: int
    largest: bool = False

    @functools.cached_property
    def linear_to(self) -> int:
        """The largest size up to which the cost is linear, so that the number of parts determines a score."""
        if self.largest:
            return 0
        bends = np.flatnonzero(np.diff(self.by_size[1:], n=2))
        return int(bends[0]) + 2 if len(bends) else len(self.by_size) - 1

    @functools.cached_property
    def least_apart(self) -> bool:
        """Whether no parts cost less than as many of a single code as there are codes."""
        sizes = np.arange(1, len(self.by_size), dtype=np.int64)
        return bool((self.by_size[1:] >= self.by_size[1] * (1 if self.largest else sizes)).all())

    @property
    def line(self) -> tuple[int, int]:
        """(slope, intercept) of the cost up to there: ``intercept + slope * codes``."""
        slope = int(self.by_size[2] - self.by_size[1]) if len(self.by_size) > 2 else 0
        return slope, int(self.by_size[1]) - slope


def estimate(game: Game) -> PartCost:
    """The total number of guesses of positions by their size, in units of a fraction of a guess.

    A guess splits n codes into about as many parts as half of the feedbacks, until few codes are left, which one guess
    separates. The bonus is one guess.
    """
    sizes = np.arange(game.secrets + 1)
    plies = np.log2(np.maximum(sizes, 1)) / math.log2(max(OCCURRING * game.feedbacks, 2))
    guesses = np.where(sizes > 0, np.maximum(2 * sizes - 1, sizes * (1 + plies)), 0)
    unit = max(min(256, int(_MOST / guesses[-1])), 1)
    by_size = np.rint(guesses * unit).astype(np.int32)
    return PartCost(by_size, int(by_size[1]))
