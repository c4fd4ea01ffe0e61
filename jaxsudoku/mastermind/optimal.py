"""A player with the lowest mean that any strategy has: branch and bound over whole strategies.

The total of a position is its size, one guess for each of its codes, and the totals of the parts that its best guess
leaves. For every position the search keeps a lower bound of the total, and whether that is proven to be exact. The
guesses of a position wait in a priority queue by their bounds. The first one is examined: at first its parts get bounds
of their own; later, if it is first again, its parts are solved, up to the limit beyond which the guess would lose. When
no guess in the queue has a lower bound than the best total found, the position is proven.

All open positions of a depth advance together, so that the device scores thousands at once. Equal positions are stored
once, whatever guesses led to them, and only one of several equivalent guesses is tried (``inequivalent_guesses``).
"""

from __future__ import annotations

import contextlib
import heapq
import math
import sys
from collections.abc import Iterable, Iterator
from typing import NamedTuple

import numpy as np
from jax import Array

from .config import OptimalConfig
from .players import Policy, Progress
from .positions import SYMMETRIC_GUESSES, Positions, PositionTable
from .rules import Game
from .scoring import PartCost, scorer

#: Guesses of a position whose parts get bounds in one round.
_WIDTH = 12

#: Positions that are open together, and new positions that are bounded together.
_OPEN, _NEW = 2048, 8192

#: Up to this size at most the bounds of guesses use the number of parts, which is fast; beyond it, their sizes.
_SMALL = 28

#: Nested calls for each guess of a game, and the most for a whole game.
_CALLS, _MOST_CALLS = 4, 10_000


class SearchLimitError(RuntimeError):
    """The search reached its limit of positions without a proof."""


def optimal(game: Game, config: OptimalConfig, progress: Progress) -> Policy:
    """A guess that is proven to lead to the lowest mean."""
    search = Search(game, config.positions, progress)

    def policy(positions: Positions, history: np.ndarray, key: Array) -> np.ndarray:
        return search.solve(positions, history)[0]

    return policy


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


@contextlib.contextmanager
def _nested_calls(more: int) -> Iterator[None]:
    """Raises the recursion limit: with few feedbacks a game may take as many guesses as there are codes."""
    before = sys.getrecursionlimit()
    sys.setrecursionlimit(before + min(more, _MOST_CALLS))
    try:
        yield
    finally:
        sys.setrecursionlimit(before)


class Search:
    """Solves positions of a game, and keeps all positions that it has reached.

    Args:
      game: the game.
      limit: the most positions to keep; None for no limit.
      progress: called with a text now and then.
    """

    def __init__(self, game: Game, limit: int | None = None, progress: Progress = lambda text: None) -> None:
        self._game, self._limit, self._progress = game, limit, progress
        self._scorer = scorer(game)
        by_size, by_number = least_totals(game), np.maximum(2 * np.arange(game.secrets + 1) - 1, 0)
        # a code that the guess itself finds takes no further guess: the bonus
        self._by_size, self._by_number = (PartCost(total.astype(np.int32), 1) for total in (by_size, by_number))
        # the number of parts gives as good a bound where no part has more codes than there are feedbacks
        self._small = min(_SMALL, 2 * self._by_size.linear_to)
        # all positions reached; by their numbers, in arrays with room for more: the bound of the total, whether it is
        # exact, and the guess that it is for
        self._table = PositionTable(game)
        self._bound = np.zeros(0, np.int64)
        self._proven = np.zeros(0, bool)
        self._guess = np.zeros(0, np.int32)

    def __len__(self) -> int:
        """The number of positions reached."""
        return len(self._table)

    def solve(self, positions: Positions, history: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """The best guess for each position of more than two codes, and the total from there.

        Args:
          positions: n positions.
          history: int32[n, made], the guesses so far; the positions follow from the feedback to these and nothing else,
            as they determine which guesses are equivalent.

        Returns:
          (guesses int32[n], totals int64[n], for all codes of a position together).

        Raises:
          SearchLimitError: the search needs more positions than its limit.
        """
        numbers = self._insert(positions)
        with _nested_calls(_CALLS * int(positions.sizes.max(initial=0))):
            goals = zip(numbers.tolist(), history.tolist(), strict=True)
            self._prove((number, math.inf, tuple(made)) for number, made in goals)
        return self._guess[numbers], self._bound[numbers]

    # ------------------------------------------------------------------ the positions reached

    def _insert(self, positions: Positions) -> np.ndarray:
        """The numbers int64[n] of positions of more than two codes; new ones are stored with a first bound."""
        numbers, new = self._table.add(positions)
        size, room = len(self._table), len(self._bound)
        if self._limit is not None and size > self._limit:
            raise SearchLimitError(f"{self._game}: more than {self._limit:,} positions; no proof of the best guess yet")
        if size > room:
            more = max(size - room, room)
            self._bound, self._proven, self._guess = (
                np.concatenate([array, np.zeros(more, array.dtype)])
                for array in (self._bound, self._proven, self._guess)
            )
        for start in range(0, len(new), _NEW):
            indices = new[start : start + _NEW]
            self._bound_new(numbers[indices], positions.take(indices))
        return numbers

    def _bound_new(self, numbers: np.ndarray, positions: Positions) -> None:
        """Sets the first bounds of positions: the lowest of any guess.

        Where that guess leaves no part of more than two codes, the bound is exact.
        """
        for indices, cost in self._costs(positions):
            guesses, scores = self._scorer.best(positions.take(indices), cost)
            self._guess[numbers[indices]] = guesses
            self._bound[numbers[indices]] = scores + positions.sizes[indices]
        found = self._scorer.partition(positions, self._guess[numbers])
        largest = np.zeros(len(positions), np.int64)
        np.maximum.at(largest, found.owner, found.parts.sizes)
        self._proven[numbers] = largest <= 2
        self._progress(f"{len(self._table):,} positions")

    def _costs(self, positions: Positions) -> Iterator[tuple[np.ndarray, PartCost]]:
        """The indices of the positions that are bounded by the number of their parts, and by their sizes."""
        small = positions.sizes <= self._small
        yield np.flatnonzero(small), self._by_number
        yield np.flatnonzero(~small), self._by_size

    # ------------------------------------------------------------------ proofs

    def _prove(self, goals: Iterable[tuple[int, float, tuple[int, ...] | None]]) -> None:
        """Works on positions until each is proven, or its bound reaches its limit.

        Args:
          goals: the number, the limit, and the guesses so far, as long as they leave a symmetry.
        """
        wanted: dict[int, _Open] = {}
        for number, limit, history in goals:
            if not self._proven[number] and self._bound[number] < limit:
                other = wanted.get(number)
                if other is None or other.limit < limit:
                    wanted[number] = _Open(number, limit, history)
        opened = list(wanted.values())
        for start in range(0, len(opened), _OPEN):
            self._close(opened[start : start + _OPEN])

    def _close(self, opened: list[_Open]) -> None:
        """Works on open positions in rounds, until none is open."""
        positions = self._table.take(node.number for node in opened)
        self._queue_guesses(opened, positions)
        remaining = list(range(len(opened)))
        while remaining:
            to_bound: list[tuple[int, int]] = []
            to_solve: list[tuple[_Open, _Candidate]] = []
            still = []
            for index in remaining:
                node = opened[index]
                if node.least >= node.ceiling:
                    self._conclude(node)
                    continue
                still.append(index)
                if node.bounded and node.bounded[0].bound <= node.least_unbounded:
                    to_solve.append((node, heapq.heappop(node.bounded)))
                else:
                    to_bound += [(index, guess) for guess in node.take(_WIDTH)]
            remaining = still
            if to_bound:
                self._bound_parts(opened, positions, to_bound)
            if to_solve:
                self._solve_parts(to_solve)

    def _queue_guesses(self, opened: list[_Open], positions: Positions) -> None:
        """Fills the queues of positions with the guesses that may stay below the limit, by their first bounds."""
        for chosen, cost in self._costs(positions):
            nodes, sizes = [opened[index] for index in chosen.tolist()], positions.sizes[chosen]
            below = [node.limit - size for node, size in zip(nodes, sizes.tolist(), strict=True)]
            histories = [node.history for node in nodes]
            for index, guesses, scores in self._scorer.ranked(positions.take(chosen), cost, histories, below):
                nodes[index].guesses, nodes[index].bounds = guesses, scores + sizes[index]

    def _bound_parts(self, opened: list[_Open], positions: Positions, pairs: list[tuple[int, int]]) -> None:
        """Bounds (position, guess) pairs by the bounds of their parts; each guess is solved or queued again."""
        owner, guesses = np.array(pairs).T
        found = self._scorer.partition(positions.take(owner), guesses)
        sizes = found.parts.sizes
        fixed = positions.sizes[owner] + np.bincount(found.owner, found.small_totals, len(pairs)).astype(np.int64)
        (large,) = np.nonzero(sizes > 2)
        parts = self._insert(found.parts.take(large))
        cuts = np.searchsorted(found.owner[large], np.arange(len(pairs) + 1))
        useless = np.zeros(len(pairs), bool)
        useless[found.owner] = sizes == positions.sizes[owner[found.owner]]  # the position stays whole
        for pair, (index, guess) in enumerate(pairs):
            if not useless[pair]:
                candidate = _Candidate(0, guess, int(fixed[pair]), parts[cuts[pair] : cuts[pair + 1]])
                self._update(opened[index], candidate)

    def _update(self, node: _Open, candidate: _Candidate) -> None:
        """Takes a guess as the best one so far if its parts are proven; queues it if it may become that."""
        bound = candidate.fixed + int(self._bound[candidate.parts].sum())
        if bound >= node.ceiling:
            return
        if self._proven[candidate.parts].all():
            node.best, node.guess = bound, candidate.guess
        else:
            heapq.heappush(node.bounded, candidate._replace(bound=bound))

    def _solve_parts(self, pairs: list[tuple[_Open, _Candidate]]) -> None:
        """Solves the parts of one guess of each position, up to the totals with which the guess would lose."""
        goals: list[tuple[int, float, tuple[int, ...] | None]] = []
        for node, candidate in pairs:
            bounds = self._bound[candidate.parts]
            slack = node.ceiling - candidate.fixed - int(bounds.sum())  # what the parts may take beyond their bounds
            if slack > 0:
                history = None
                if node.history is not None and len(node.history) < SYMMETRIC_GUESSES:
                    history = (*node.history, candidate.guess)
                limits = (bounds + slack).tolist()
                goals += [(part, limit, history) for part, limit in zip(candidate.parts.tolist(), limits, strict=True)]
        self._prove(goals)
        for node, candidate in pairs:
            self._update(node, candidate)

    def _conclude(self, node: _Open) -> None:
        """Stores the result of a position whose queue has nothing better than its best guess or its limit."""
        if node.best < node.limit:
            self._bound[node.number], self._guess[node.number] = node.best, node.guess
            self._proven[node.number] = True
        else:
            self._bound[node.number] = max(self._bound[node.number], node.limit)


class _Candidate(NamedTuple):
    """A guess whose parts have bounds, ordered by its own.

    Attributes:
      bound: of the total of the position with this guess.
      guess: the number of a code.
      fixed: the total without the parts of more than two codes.
      parts: the numbers of these parts, int64[n].
    """

    bound: int
    guess: int
    fixed: int
    parts: np.ndarray


class _Open:
    """A position that the search works on.

    Attributes:
      number: of the position.
      limit: the search may stop once the total is proven to be at least this.
      history: the guesses so far, as long as they leave a symmetry.
      best: the lowest total that is proven for a guess, and ``guess``, the first such guess.
      guesses: the guesses by their first ``bounds``, of which those from ``next`` on are still to be examined.
      bounded: a heap of those whose parts have bounds.
    """

    __slots__ = ("best", "bounded", "bounds", "guess", "guesses", "history", "limit", "next", "number")

    def __init__(self, number: int, limit: float, history: tuple[int, ...] | None) -> None:
        self.number, self.limit, self.history = number, limit, history
        self.best, self.guess, self.next = math.inf, -1, 0
        self.guesses = self.bounds = np.zeros(0, np.int64)
        self.bounded: list[_Candidate] = []

    @property
    def ceiling(self) -> float:
        """The total that a guess must stay below."""
        return min(self.best, self.limit)

    @property
    def least_unbounded(self) -> float:
        """The lowest bound of the guesses that are still to be examined."""
        return self.bounds[self.next] if self.next < len(self.bounds) else math.inf

    @property
    def least(self) -> float:
        """The lowest bound in the queue."""
        return min(self.least_unbounded, self.bounded[0].bound if self.bounded else math.inf)

    def take(self, count: int) -> list[int]:
        """The next few guesses to examine, those below the ceiling."""
        end = min(self.next + count, len(self.guesses))
        end = self.next + int(np.searchsorted(self.bounds[self.next : end], self.ceiling))
        taken: list[int] = self.guesses[self.next : end].tolist()
        self.next = end
        return taken
