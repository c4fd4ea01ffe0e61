"""Positions: sets of codes that are still possible, many at once, in rows of different length."""

from __future__ import annotations

import dataclasses
import itertools
from collections.abc import Iterable, Iterator

import numpy as np


@dataclasses.dataclass(frozen=True)
class Positions:
    """Sets of codes, one after another.

    Attributes:
      codes: int32[total], numbers of codes, of each position in rising order.
      bounds: int64[n + 1], position i holds ``codes[bounds[i] : bounds[i + 1]]``, which is never empty.
    """

    codes: np.ndarray
    bounds: np.ndarray

    @classmethod
    def of(cls, sets: Iterable[np.ndarray]) -> Positions:
        """Positions from arrays of codes in rising order."""
        listed = [np.asarray(codes, np.int32) for codes in sets]
        bounds = np.cumsum([0, *map(len, listed)], dtype=np.int64)
        return cls(np.concatenate([np.zeros(0, np.int32), *listed]), bounds)

    def __len__(self) -> int:
        return len(self.bounds) - 1

    def __getitem__(self, index: int) -> np.ndarray:
        """The codes of a position."""
        return self.codes[self.bounds[index] : self.bounds[index + 1]]

    def __iter__(self) -> Iterator[np.ndarray]:
        return (self[index] for index in range(len(self)))

    @property
    def sizes(self) -> np.ndarray:
        """How many codes each position holds, int64[n]."""
        return np.diff(self.bounds)

    def take(self, chosen: np.ndarray) -> Positions:
        """Some of the positions, by their numbers; any may come more than once."""
        sizes = self.sizes[chosen]
        bounds = np.concatenate([[0], np.cumsum(sizes)])
        places = np.repeat(self.bounds[:-1][chosen] - bounds[:-1], sizes) + np.arange(bounds[-1])
        return Positions(self.codes[places], bounds)

    def padded(self, width: int) -> np.ndarray:
        """The positions as rows int32[n, width], filled up with the code 0; none is larger than that."""
        rows = np.zeros((len(self), width), np.int32)
        owner = np.repeat(np.arange(len(self)), self.sizes)
        rows[owner, np.arange(len(self.codes)) - self.bounds[owner]] = self.codes
        return rows


@dataclasses.dataclass(frozen=True)
class Split:
    """What guesses make of positions: a position for every feedback that some code of theirs would give.

    Attributes:
      parts: the positions, in the order of those they come from, then of feedbacks.
      owner: int64[parts], the number of the position that a part comes from.
      feedback: int64[parts], the feedback.
    """

    parts: Positions
    owner: np.ndarray
    feedback: np.ndarray


def split(table: np.ndarray, feedbacks: int, positions: Positions, guesses: np.ndarray) -> Split:
    """Splits every position by the feedback to a guess.

    Args:
      table: uint8[size, size], the feedback of every guess with every secret.
      feedbacks: how many feedbacks there are.
      positions: n positions.
      guesses: int[n], numbers of codes.
    """
    owner = np.repeat(np.arange(len(positions)), positions.sizes)
    keys = owner * feedbacks + table[np.asarray(guesses)[owner], positions.codes]
    order = np.argsort(keys, kind="stable")  # codes stay in rising order
    keys = keys[order]
    starts = np.flatnonzero(np.concatenate([np.ones(min(len(keys), 1), bool), keys[1:] != keys[:-1]]))
    bounds = np.concatenate([starts, [len(keys)]])
    which = keys[starts]
    return Split(Positions(positions.codes[order], bounds), which // feedbacks, which % feedbacks)


def distinct(positions: Positions) -> tuple[np.ndarray, np.ndarray]:
    """Which positions differ: (the first of each kind int64[kinds], for each position its kind int64[n])."""
    numbers: dict[bytes, int] = {}
    data, bounds = positions.codes.tobytes(), (positions.codes.itemsize * positions.bounds).tolist()
    kinds = np.empty(len(positions), np.int64)
    firsts: list[int] = []
    for index, (start, end) in enumerate(itertools.pairwise(bounds)):
        kind = numbers.setdefault(data[start:end], len(firsts))
        if kind == len(firsts):
            firsts.append(index)
        kinds[index] = kind
    return np.array(firsts, np.int64), kinds
