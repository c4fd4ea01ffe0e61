"""The cost of the parts of a position by their sizes, and the estimate of totals by sizes. No JAX."""

from __future__ import annotations

import dataclasses
import functools
import math

import numpy as np

from .rules import Game

#: The share of all feedbacks that occur after a guess in the middle of a game, about.
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
      largest: whether the score is the largest cost, not the sum; then costs do not fall with the size.
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
        """Whether parts of one code each have the lowest cost."""
        sizes = np.arange(1, len(self.by_size), dtype=np.int64)
        return bool((self.by_size[1:] >= self.by_size[1] * (1 if self.largest else sizes)).all())

    @property
    def line(self) -> tuple[int, int]:
        """(slope, intercept) of the cost up to ``linear_to``: ``intercept + slope * codes``."""
        slope = int(self.by_size[2] - self.by_size[1]) if len(self.by_size) > 2 else 0
        return slope, int(self.by_size[1]) - slope


def least_totals(game: Game) -> np.ndarray:
    """A lower bound of the total of positions by their size, int64[secrets + 1], from the number of feedbacks alone.

    The first guess finds one code; each later guess finds one after each feedback but the winning one.
    """
    guesses = np.zeros(game.secrets + 1, np.int64)  # of the n-th code
    found, guess, branches = 0, 1, 1
    while found < game.secrets:
        end = min(found + branches, game.secrets)
        guesses[found + 1 : end + 1] = guess
        found, guess, branches = end, guess + 1, branches * (game.feedbacks - 1)
    return np.cumsum(guesses)


def bounds(game: Game) -> tuple[PartCost, PartCost]:
    """Lower bounds of the total that a guess leaves: by the sizes of its parts, and by their number.

    By their number: the first code of each part takes a guess or more, each other code two. The bonus is the code that
    the guess itself finds.
    """
    by_number = np.maximum(2 * np.arange(game.secrets + 1) - 1, 0)
    by_size, by_parts = (PartCost(total.astype(np.int32), 1) for total in (least_totals(game), by_number))
    return by_size, by_parts


def estimate(game: Game) -> PartCost:
    """The total number of guesses of positions by their size, in units of a fraction of a guess.

    A guess splits n codes into about half as many parts as there are feedbacks, until few codes are left, which one
    guess separates. The bonus is one guess.
    """
    sizes = np.arange(game.secrets + 1)
    plies = np.log2(np.maximum(sizes, 1)) / math.log2(max(OCCURRING * game.feedbacks, 2))
    guesses = np.where(sizes > 0, np.maximum(2 * sizes - 1, sizes * (1 + plies)), 0)
    unit = max(min(256, int(_MOST / guesses[-1])), 1)
    by_size = np.rint(guesses * unit).astype(np.int32)
    return PartCost(by_size, int(by_size[1]))
