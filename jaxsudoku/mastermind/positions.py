"""Batches of positions (sets of possible codes), their partition by guesses, and orbits of guesses."""

from __future__ import annotations

import dataclasses
import functools
import itertools
from collections.abc import Iterable, Iterator
from typing import TypeAlias

import numpy as np

from .rules import CodeError, Game

#: Maximum number of guesses for which orbits are computed; after more the stabiliser is assumed to be trivial.
SYMMETRIC_GUESSES = 2

#: Approximate number of codes relabelled together.
_RELABELLED = 1 << 14

#: The guesses before a position, whose stabiliser determines the orbits of guesses; None if unknown.
History: TypeAlias = tuple[int, ...] | None


@dataclasses.dataclass(frozen=True)
class Positions:
    """Concatenated sets of codes.

    Attributes:
      codes: int32[total], code numbers, ascending within a position.
      bounds: int64[n + 1], position i holds ``codes[bounds[i] : bounds[i + 1]]``, which is never empty.
    """

    codes: np.ndarray
    bounds: np.ndarray

    @classmethod
    def of(cls, sets: Iterable[np.ndarray]) -> Positions:
        """Positions from arrays of ascending code numbers; raises CodeError for anything else."""
        listed = [np.asarray(codes) for codes in sets]
        if any(codes.ndim != 1 or (codes.size and codes.dtype.kind not in "iu") for codes in listed):
            raise CodeError("a position must be a list of numbers of codes")
        bounds = np.cumsum([0, *map(len, listed)], dtype=np.int64)
        every = np.concatenate([np.zeros(0, np.int32), *listed])
        ascending = np.diff(every, prepend=-1) > 0
        ascending[bounds[:-1][np.diff(bounds) > 0]] = True
        if not ascending.all() or every.min(initial=0) < 0:
            raise CodeError("the numbers of a position's codes must ascend, from 0 on")
        return cls(every.astype(np.int32), bounds)

    @classmethod
    def everything(cls, game: Game, count: int = 1) -> Positions:
        """The position of all secrets, ``count`` times."""
        return cls(np.tile(np.arange(game.secrets, dtype=np.int32), count), game.secrets * np.arange(count + 1))

    def __len__(self) -> int:
        return len(self.bounds) - 1

    def __getitem__(self, index: int) -> np.ndarray:
        """The codes of a position."""
        return self.codes[self.bounds[index] : self.bounds[index + 1]]

    def __iter__(self) -> Iterator[np.ndarray]:
        return (self[index] for index in range(len(self)))

    @property
    def sizes(self) -> np.ndarray:
        """The number of codes of each position, int64[n]."""
        return np.diff(self.bounds)

    def take(self, indices: np.ndarray) -> Positions:
        """The positions at some indices, which may repeat."""
        sizes = self.sizes[indices]
        bounds = np.concatenate([[0], np.cumsum(sizes)])
        places = np.repeat(self.bounds[:-1][indices] - bounds[:-1], sizes) + np.arange(bounds[-1])
        return Positions(self.codes[places], bounds)

    def relabelled(self, game: Game) -> Positions:
        """The positions in the canonical labelling of ``Game.relabelled``."""
        cuts = np.searchsorted(self.bounds, np.arange(0, len(self.codes), _RELABELLED))
        parts = [
            game.relabelled(
                self.codes[self.bounds[start] : self.bounds[end]], self.bounds[start : end + 1] - self.bounds[start]
            )
            for start, end in itertools.pairwise([*np.unique(cuts).tolist(), len(self)])
        ]
        return Positions(np.concatenate([np.zeros(0, np.int32), *parts]), self.bounds)

    def padded(self, width: int) -> np.ndarray:
        """The positions as rows int32[n, width], padded with code 0; none may be larger."""
        rows = np.zeros((len(self), width), np.int32)
        owner = np.repeat(np.arange(len(self)), self.sizes)
        rows[owner, np.arange(len(self.codes)) - self.bounds[owner]] = self.codes
        return rows


def blocks(sizes: np.ndarray, most: int) -> list[np.ndarray]:
    """Divides positions with these sizes int64[n] into blocks of successive indices with about ``most`` codes each."""
    number = np.cumsum(sizes) // most
    return np.split(np.arange(len(sizes)), np.flatnonzero(np.diff(number)) + 1)


def sums_before(values: np.ndarray, groups: np.ndarray) -> np.ndarray:
    """Exclusive cumulative sums of n values within groups; the groups [n] are ascending."""
    before = np.cumsum(values) - values
    return np.asarray(before - before[np.searchsorted(groups, groups)])


# ---------------------------------------------------------------------- partition by a guess


@dataclasses.dataclass(frozen=True)
class Partition:
    """The parts into which guesses split n positions, one for each feedback that occurs.

    Attributes:
      sizes: int64[n], the number of codes of each position.
      parts: the parts, sorted by their position, then by feedback.
      owner: int64[parts], the index of the position.
      feedback: int64[parts], the feedback.
      won: bool[parts], whether it ends the game.
    """

    sizes: np.ndarray
    parts: Positions
    owner: np.ndarray
    feedback: np.ndarray
    won: np.ndarray

    @property
    def useless(self) -> np.ndarray:
        """Whether a guess does not split its position, and so gives no information, bool[n]."""
        useless = np.zeros(len(self.sizes), bool)
        useless[self.owner] = (self.parts.sizes == self.sizes[self.owner]) & ~self.won
        return useless

    @property
    def fixed_totals(self) -> np.ndarray:
        """The totals of positions without their parts of more than two codes, int64[n].

        They are one guess for each code, and the guesses of parts of one or two codes.
        """
        parts = self.parts.sizes
        small = np.where(self.won | (parts > 2), 0, 2 * parts - 1)
        return np.asarray(self.sizes + np.bincount(self.owner, small, len(self.sizes)).astype(np.int64))


def partition(feedbacks: int, positions: Positions, feedback: np.ndarray) -> Partition:
    """Splits every position by the feedback to a guess.

    Args:
      feedbacks: the number of feedbacks of the game.
      positions: n positions.
      feedback: uint8[total], the feedback of each of their codes with the guess in its position.
    """
    sizes = positions.sizes
    keys = np.repeat(np.arange(len(positions)), sizes) * feedbacks + feedback
    order = np.argsort(keys, kind="stable")  # codes stay ascending
    keys = keys[order]
    starts = np.flatnonzero(np.concatenate([np.ones(min(len(keys), 1), bool), keys[1:] != keys[:-1]]))
    parts = Positions(positions.codes[order], np.concatenate([starts, [len(keys)]]))
    owner, feedback = np.divmod(keys[starts], feedbacks)
    return Partition(sizes, parts, owner, feedback, feedback == feedbacks - 1)


# ---------------------------------------------------------------------- orbits of guesses


def after(history: History, guess: int) -> History:
    """The history after another guess."""
    return None if history is None or len(history) >= SYMMETRIC_GUESSES else (*history, guess)


def histories_of(history: np.ndarray | None, count: int) -> list[History]:
    """Histories of ``count`` positions, int32[count, made], as tuples; None if unknown."""
    return [None] * count if history is None else [tuple(guesses) for guesses in history.tolist()]


def representatives(game: Game, history: History) -> np.ndarray:
    """The guesses to try: the first code of each orbit under the stabiliser of the guesses so far, int64[n].

    After more than ``SYMMETRIC_GUESSES`` guesses, or with an unknown history (None), these are all codes.
    """
    if history is None or len(history) > SYMMETRIC_GUESSES:
        return np.arange(game.size)
    return np.flatnonzero(orbits(game, history) == np.arange(game.size))


@functools.lru_cache(maxsize=512)
def orbits(game: Game, history: tuple[int, ...]) -> np.ndarray:
    """``game.orbits(history)`` as int32[size], cached."""
    return game.orbits(history).astype(np.int32)
