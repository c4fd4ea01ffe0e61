"""An open position of ``optimal``'s search, with the priority queue of its guesses by their lower bounds."""

from __future__ import annotations

import heapq
import math
from typing import NamedTuple

import numpy as np

from .positions import History

#: Guesses of a position whose parts get bounds in the first round, and at most in later ones, each twice as many.
_WIDTH, _MOST_WIDTH = 12, 192


class Candidate(NamedTuple):
    """A guess whose parts have bounds. Candidates are ordered by ``bound``.

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
      row: of the position in the transposition table.
      limit: the search may stop once the total is proven to be at least this.
      history: the guesses so far, as long as they leave a symmetry.
      incumbent: the lowest total that is proven for a guess, and ``guess``, the first such guess.
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
        """The lowest first bound of the guesses whose parts have no bounds yet."""
        return self._bounds[self._next] if self._next < len(self._bounds) else math.inf

    @property
    def bound(self) -> float:
        """The lower bound of the position: the lowest of any guess that is left."""
        return min(self.least_unbounded, self._queue[0].bound if self._queue else math.inf)

    @property
    def solvable(self) -> bool:
        """Whether a guess whose parts have bounds comes first."""
        return bool(self._queue) and self._queue[0].bound <= self.least_unbounded

    def take(self) -> list[int]:
        """The next guesses whose parts are to be bounded, those below the cutoff; twice as many each time."""
        end = min(self._next + self._width, len(self._guesses))
        end = self._next + int(np.searchsorted(self._bounds[self._next : end], self.cutoff))
        taken: list[int] = self._guesses[self._next : end].tolist()
        self._next, self._width = end, min(2 * self._width, _MOST_WIDTH)
        return taken

    def push(self, candidate: Candidate) -> None:
        """Adds a guess whose parts have bounds."""
        heapq.heappush(self._queue, candidate)

    def candidates(self) -> list[Candidate]:
        """The guesses whose parts have bounds, in their order."""
        self._queue.sort()  # which keeps it a heap
        return list(self._queue)

    def pop(self, candidate: Candidate | None = None) -> Candidate:
        """Takes the first guess whose parts have bounds, or a given one."""
        if candidate is None:
            return heapq.heappop(self._queue)
        self._queue = [each for each in self._queue if each is not candidate]
        heapq.heapify(self._queue)
        return candidate
