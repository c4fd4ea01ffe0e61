"""Open positions of ``optimal``'s search, with priority queues of guesses by lower bounds."""

from __future__ import annotations

import heapq
import math
from typing import NamedTuple

import numpy as np

from .positions import History

#: Number of guesses whose parts get bounds in the first round (doubled in each later round), and its maximum.
_WIDTH, _MOST_WIDTH = 12, 192


class Candidate(NamedTuple):
    """A guess with bounded parts. Candidates are ordered by ``bound``.

    Attributes:
      bound: lower bound of the total of the position with this guess.
      guess: its code number.
      fixed: the total without the parts of more than two codes.
      parts: the rows of these parts in the transposition table, int64[n].
    """

    bound: int
    guess: int
    fixed: int
    parts: np.ndarray


class OpenPosition:
    """A position that is neither proven nor excluded.

    Attributes:
      row: the position's row in the transposition table.
      limit: the search may stop once the total is proven to be at least this.
      history: the guesses so far, as long as they leave a symmetry.
      incumbent: the lowest proven total of a guess, and ``guess``, the first such guess.
    """

    __slots__ = ("_bounds", "_guesses", "_next", "_queue", "_width", "guess", "history", "incumbent", "limit", "row")

    def __init__(self, row: int, limit: float, history: History) -> None:
        self.row, self.limit, self.history = row, limit, history
        self.incumbent, self.guess = math.inf, -1
        self._queue: list[Candidate] = []
        self._guesses = self._bounds = np.zeros(0, np.int64)
        self._next, self._width = 0, _WIDTH

    def begin(self, guesses: np.ndarray, bounds: np.ndarray) -> None:
        """Sets the guesses int[n] with their first bounds int64[n], in ascending order of these."""
        self._guesses, self._bounds = guesses, bounds

    @property
    def cutoff(self) -> float:
        """The total that a guess must stay below."""
        return min(self.incumbent, self.limit)

    @property
    def least_unbounded(self) -> float:
        """The lowest first bound of guesses with unbounded parts."""
        return self._bounds[self._next] if self._next < len(self._bounds) else math.inf

    @property
    def bound(self) -> float:
        """The lower bound of the position: the minimum over remaining guesses."""
        return min(self.least_unbounded, self._queue[0].bound if self._queue else math.inf)

    @property
    def solvable(self) -> bool:
        """Whether the first guess has bounded parts."""
        return bool(self._queue) and self._queue[0].bound <= self.least_unbounded

    def take(self) -> list[int]:
        """The next guesses below the cutoff whose parts will be bounded; twice as many each time."""
        end = min(self._next + self._width, len(self._guesses))
        end = self._next + int(np.searchsorted(self._bounds[self._next : end], self.cutoff))
        taken: list[int] = self._guesses[self._next : end].tolist()
        self._next, self._width = end, min(2 * self._width, _MOST_WIDTH)
        return taken

    def push(self, candidate: Candidate) -> None:
        """Adds a guess with bounded parts."""
        heapq.heappush(self._queue, candidate)

    def candidates(self) -> list[Candidate]:
        """The guesses with bounded parts, in order."""
        self._queue.sort()  # a sorted list is a heap
        return list(self._queue)

    def pop(self, candidate: Candidate | None = None) -> Candidate:
        """Removes the first guess with bounded parts, or a given one."""
        if candidate is None:
            return heapq.heappop(self._queue)
        self._queue = [each for each in self._queue if each is not candidate]
        heapq.heapify(self._queue)
        return candidate
