"""Costs of the parts of a position by their sizes, bounds and estimates of totals. No JAX."""

from __future__ import annotations

import dataclasses
import functools
import math

import numpy as np

from .rules import Game

#: Approximate share of all feedbacks that occur after a guess in the middle of a game.
OCCURRING = 0.55

#: Upper limit of the estimate of the whole game, in its units.
_MOST = 1 << 29


@dataclasses.dataclass(frozen=True, eq=False)
class PartCost:
    """Cost of the parts of a position, which a score sums up.

    Attributes:
      by_size: int32[secrets + 1], the cost of a part by its number of codes, 0 for an empty part. The sum over the
        parts of any position fits in an int32.
      bonus: subtracted from the score of a guess that may be the secret.
      largest: whether the score is the largest cost instead of the sum; costs must not decrease with the size then.
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
        """Whether splitting into parts of one code has the lowest cost."""
        sizes = np.arange(1, len(self.by_size), dtype=np.int64)
        return bool((self.by_size[1:] >= self.by_size[1] * (1 if self.largest else sizes)).all())

    @property
    def line(self) -> tuple[int, int]:
        """(slope, intercept) of the cost up to ``linear_to``: ``intercept + slope * codes``."""
        slope = int(self.by_size[2] - self.by_size[1]) if len(self.by_size) > 2 else 0
        return slope, int(self.by_size[1]) - slope


def least_totals(game: Game) -> np.ndarray:
    """A lower bound of the total of positions by size, int64[secrets + 1], from the number of feedbacks only.

    The first guess finds one code; each later guess finds one code for each sequence of feedbacks without a win.
    """
    guesses = np.zeros(game.secrets + 1, np.int64)  # of the n-th code
    found, guess, branches = 0, 1, 1
    while found < game.secrets:
        end = min(found + branches, game.secrets)
        guesses[found + 1 : end + 1] = guess
        found, guess, branches = end, guess + 1, branches * (game.feedbacks - 1)
    return np.cumsum(guesses)


def bounds(game: Game) -> tuple[PartCost, PartCost]:
    """Lower bounds of the remaining total after a guess: by the sizes of its parts, and by their number.

    By their number: the first code of each part takes at least one guess, each other code two. The bonus is the code
    that the guess itself finds.
    """
    by_number = np.maximum(2 * np.arange(game.secrets + 1) - 1, 0)
    by_size, by_parts = (PartCost(total.astype(np.int32), 1) for total in (least_totals(game), by_number))
    return by_size, by_parts


def estimate(game: Game) -> PartCost:
    """Estimate of the total number of guesses of positions by size, in fractions of a guess.

    The model: a guess splits n codes into about half as many parts as there are feedbacks, until one guess separates
    the few codes left. The bonus is one guess.
    """
    sizes = np.arange(game.secrets + 1)
    plies = np.log2(np.maximum(sizes, 1)) / math.log2(max(OCCURRING * game.feedbacks, 2))
    guesses = np.where(sizes > 0, np.maximum(2 * sizes - 1, sizes * (1 + plies)), 0)
    unit = max(min(256, int(_MOST / guesses[-1])), 1)
    by_size = np.rint(guesses * unit).astype(np.int32)
    return PartCost(by_size, int(by_size[1]))
