"""The player whose mean no other can beat: branch and bound over whole strategies, to the end.

What a position takes is its size, one guess for each of its codes, and what the parts take that the best guess leaves.
The search knows for every position a bound below, and for some what it is, proven. A position's guesses wait in a queue
by their bounds. The best is looked at: first its parts get bounds of their own; later, if it is still the best, they
are solved, under the limit beyond which that guess would lose. When what the queue holds is no better than what was
found, the position is proven. All positions that are open at a depth go on together, so that the device scores
thousands at once; equal positions are known once, however they are come to; and of guesses that exchanging pegs and
colours makes of each other, one is tried (symmetry.py).
"""

from __future__ import annotations

import contextlib
import heapq
import itertools
import math
import sys
from collections.abc import Callable, Iterable, Iterator
from typing import NamedTuple

import numpy as np
from jax import Array

from .config import OptimalConfig
from .positions import Positions
from .rules import Game
from .scoring import Worth, scorer
from .symmetry import SYMMETRIC, first_of_kind
from .trees import Player

#: Guesses of a position whose parts get bounds in one round.
_WIDTH = 12

#: Positions that are open together, and that are first looked at together.
_OPEN, _LOOKED = 2048, 8192

#: Up to this size a guess's bound is by the number of its parts at most, which is quick; beyond by their sizes.
_SMALL = 28

#: Calls within each other for a guess of a game, and for all of them.
_CALLS, _MOST_CALLS = 4, 10_000


@contextlib.contextmanager
def _room_for_calls(more: int) -> Iterator[None]:
    """Lets calls be nested so much deeper: with few feedbacks a game may take as many guesses as there are codes."""
    before = sys.getrecursionlimit()
    sys.setrecursionlimit(before + min(more, _MOST_CALLS))
    try:
        yield
    finally:
        sys.setrecursionlimit(before)


class SearchLimitError(RuntimeError):
    """The search knows as many positions as it may, and has no proof."""


def optimal_player(game: Game, config: OptimalConfig, progress: Callable[[str], None] = lambda text: None) -> Player:
    """A guess after which no strategy takes fewer guesses in the mean."""
    search = Search(game, config.positions or 0, progress)

    def choose(positions: Positions, history: np.ndarray, key: Array) -> np.ndarray:
        del key
        return search.solve(positions, history)[0]

    return choose


def fewest(game: Game) -> np.ndarray:
    """The guesses that so many codes take at least, all together, int64[size + 1], by counting feedbacks alone.

    One code is found by the first guess, and one by each that follows on one of the other feedbacks.
    """
    takes = np.zeros(game.size + 1, np.int64)
    found, guess, here = 0, 1, 1
    while found < game.size:
        end = min(found + here, game.size)
        takes[found + 1 : end + 1] = guess
        found, guess, here = end, guess + 1, here * (game.feedbacks - 1)
    return np.cumsum(takes)


class Search:
    """Solves positions of a game, and remembers all that it has seen.

    Attributes:
      known: how many positions it has seen.
    """

    def __init__(self, game: Game, most: int = 0, progress: Callable[[str], None] = lambda text: None) -> None:
        self._game, self._most, self._progress = game, most, progress
        self._scorer = scorer(game)
        by_size, by_parts = fewest(game), np.maximum(2 * np.arange(game.size + 1) - 1, 0)
        # one that is found by this very guess takes no further one
        self._by_size, self._by_parts = (Worth(worth.astype(np.int32), 1) for worth in (by_size, by_parts))
        # by the number of parts a bound is as good where parts are no larger than there are feedbacks
        self._small = min(_SMALL, 2 * self._by_size.even)
        self._numbers: dict[bytes, int] = {}
        self._codes: list[bytes] = []
        self._dtype = np.uint16 if game.size <= 1 << 16 else np.uint32
        self._bound = np.zeros(0, np.int64)
        self._proven = np.zeros(0, bool)
        self._guess = np.zeros(0, np.int32)

    @property
    def known(self) -> int:
        return len(self._codes)

    def solve(self, positions: Positions, history: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """The best guess for each position of more than two codes, and the guesses that it takes from there.

        Args:
          positions: n positions.
          history: int32[n, made], the guesses before, whose feedbacks left these positions and nothing else: by them it
            knows which pegs and colours may be exchanged.

        Returns:
          (guesses int32[n], int64[n] for all codes together).

        Raises:
          SearchLimitError: more positions would have to be known than the limit allows.
        """
        numbers = self._look(positions)
        with _room_for_calls(_CALLS * int(positions.sizes.max(initial=0))):
            self._prove(numbers, [math.inf] * len(numbers), [tuple(made) for made in history.tolist()])
        return self._guess[numbers], self._bound[numbers]

    # ------------------------------------------------------------------ what is known

    def _look(self, positions: Positions) -> np.ndarray:
        """The numbers int64[n] of positions of more than two codes; those not seen before get a first bound.

        Where a guess that has the least bound leaves no part of more than two codes, its bound is what it takes.
        """
        data = positions.codes.astype(self._dtype).tobytes()
        bounds = (np.dtype(self._dtype).itemsize * positions.bounds).tolist()
        numbers, new = np.empty(len(positions), np.int64), []
        for index, (start, end) in enumerate(itertools.pairwise(bounds)):
            codes = data[start:end]
            number = self._numbers.get(codes)
            if number is None:
                number = self._numbers[codes] = len(self._codes)
                self._codes.append(codes)
                new.append(index)
            numbers[index] = number
        if self._most and self.known > self._most:
            raise SearchLimitError(f"{self._game}: more than {self._most:,} positions; no proof of the best guess yet")
        self._make_room()
        for start in range(0, len(new), _LOOKED):
            some = np.array(new[start : start + _LOOKED])
            here, looked = numbers[some], positions.take(some)
            small = looked.sizes <= self._small
            for chosen, worth in ((small, self._by_parts), (~small, self._by_size)):
                (which,) = np.nonzero(chosen)
                guesses, scores = self._scorer.best(looked.take(which), worth)
                self._guess[here[which]] = guesses
                self._bound[here[which]] = scores + looked.sizes[which]
            parts = self._scorer.split(looked, self._guess[here])
            largest = np.zeros(len(some), np.int64)
            np.maximum.at(largest, parts.owner, parts.parts.sizes)
            self._proven[here] = largest <= 2
            self._progress(f"{self.known:,} positions")
        return numbers

    def _make_room(self) -> None:
        more = max(self.known, 2 * len(self._bound)) - len(self._bound)
        if self.known > len(self._bound):
            self._bound, self._proven, self._guess = (
                np.concatenate([array, np.zeros(more, array.dtype)])
                for array in (self._bound, self._proven, self._guess)
            )

    def _positions(self, numbers: Iterable[int]) -> Positions:
        return Positions.of(np.frombuffer(self._codes[number], self._dtype) for number in numbers)

    # ------------------------------------------------------------------ proofs

    def _prove(self, numbers: np.ndarray, limits: list[float], histories: list[tuple[int, ...] | None]) -> None:
        """Works on positions until each is proven, or takes at least its limit."""
        wanted: dict[int, _Open] = {}
        for number, limit, history in zip(numbers.tolist(), limits, histories, strict=True):
            if not self._proven[number] and self._bound[number] < limit:
                seen = wanted.get(number)
                if seen is None or seen.limit < limit:
                    wanted[number] = _Open(number, limit, history)
        everything = list(wanted.values())
        for start in range(0, len(everything), _OPEN):
            self._close(everything[start : start + _OPEN])

    def _close(self, opened: list[_Open]) -> None:
        """Works on open positions, all in rounds, until none is open."""
        positions = self._positions(each.number for each in opened)
        self._queue_guesses(opened, positions)
        live = list(range(len(opened)))
        while live:
            bounded, solved = [], []
            still = []
            for index in live:
                each = opened[index]
                if each.least >= each.ceiling:
                    self._conclude(each)
                    continue
                still.append(index)
                if each.waiting and each.waiting[0].bound <= each.untried:
                    solved.append((each, heapq.heappop(each.waiting)))
                else:
                    bounded += [(index, guess) for guess in each.take(_WIDTH)]
            live = still
            if bounded:
                self._bound_parts(opened, positions, bounded)
            if solved:
                self._solve_parts(solved)

    def _queue_guesses(self, opened: list[_Open], positions: Positions) -> None:
        """Fills the queues of positions with all guesses, by bounds from their parts' numbers or sizes."""
        small = positions.sizes <= self._small
        for chosen, worth in ((small, self._by_parts), (~small, self._by_size)):
            (which,) = np.nonzero(chosen)
            for some, scores in self._scorer.scores(positions.take(which), worth):
                for index, row in zip(which[some].tolist(), scores, strict=True):
                    each = opened[index]
                    bounds = row + np.int64(positions.sizes[index])
                    guesses = first_of_kind(self._game, each.history)
                    guesses = guesses[bounds[guesses] < each.limit]
                    order = np.argsort(bounds[guesses], kind="stable")
                    each.guesses, each.bounds = guesses[order], bounds[guesses[order]]

    def _bound_parts(self, opened: list[_Open], positions: Positions, pairs: list[tuple[int, int]]) -> None:
        """Bounds guesses by what is known of their parts: solves them at once, or puts them back into the queue."""
        owner, guesses = (np.array(column) for column in zip(*pairs, strict=True))
        parts = self._scorer.split(positions.take(owner), guesses)
        sizes = parts.parts.sizes
        small = np.where(parts.feedback == self._game.win, 0, 2 * sizes - 1) * (sizes <= 2)
        fixed = positions.sizes[owner] + np.bincount(parts.owner, small, len(pairs)).astype(np.int64)
        (large,) = np.nonzero(sizes > 2)
        numbers = self._look(parts.parts.take(large))
        cuts = np.searchsorted(parts.owner[large], np.arange(len(pairs) + 1))
        useless = np.zeros(len(pairs), bool)
        useless[parts.owner] = sizes == positions.sizes[owner[parts.owner]]  # which leave the position whole
        for pair, (index, guess) in enumerate(pairs):
            if useless[pair]:
                continue
            mine = numbers[cuts[pair] : cuts[pair + 1]]
            self._judge(opened[index], _Waiting(0, guess, int(fixed[pair]), mine))

    def _judge(self, each: _Open, tried: _Waiting) -> None:
        """Takes a guess as the best one so far if all of it is proven, or lets it wait if it may become that."""
        bound = tried.fixed + int(self._bound[tried.parts].sum())
        if bound >= each.ceiling:
            return
        if self._proven[tried.parts].all():
            each.best, each.guess = bound, tried.guess
        else:
            heapq.heappush(each.waiting, _Waiting(bound, *tried[1:]))

    def _solve_parts(self, solved: list[tuple[_Open, _Waiting]]) -> None:
        """Solves the parts of one guess for each of some positions, as far as it takes to know whether it is best."""
        numbers: list[int] = []
        limits: list[float] = []
        histories: list[tuple[int, ...] | None] = []
        for each, tried in solved:
            bounds = self._bound[tried.parts]
            room = each.ceiling - tried.fixed - int(bounds.sum())  # what the parts may take beyond their bounds
            if room > 0:
                before = None
                if each.history is not None and len(each.history) < SYMMETRIC:
                    before = (*each.history, tried.guess)
                numbers += tried.parts.tolist()
                limits += (bounds + room).tolist()
                histories += [before] * len(bounds)
        self._prove(np.array(numbers, np.int64), limits, histories)
        for each, tried in solved:
            self._judge(each, tried)

    def _conclude(self, each: _Open) -> None:
        """Nothing in the queue is better than what was found, or than the limit."""
        if each.best < each.limit:
            self._bound[each.number], self._guess[each.number] = each.best, each.guess
            self._proven[each.number] = True
        else:
            self._bound[each.number] = max(self._bound[each.number], each.limit)


class _Waiting(NamedTuple):
    """A guess whose parts have bounds, in the order of a queue.

    Attributes:
      bound: what it takes at least, for all codes of the position together.
      guess: the number of a code.
      fixed: of that, what is no part's of more than two codes.
      parts: numbers of those parts, int64[n].
    """

    bound: int
    guess: int
    fixed: int
    parts: np.ndarray


class _Open:
    """A position that is worked on.

    Attributes:
      number: of the position.
      limit: what it takes is of no interest from here on.
      history: the guesses before, where these leave a choice of symmetries.
      best: the fewest guesses that were proven to do, and ``guess``, the first of them.
      guesses: those whose parts are still to be looked at, from ``next`` on, by their ``bounds``.
      waiting: a heap of those whose parts have bounds.
    """

    __slots__ = ("best", "bounds", "guess", "guesses", "history", "limit", "next", "number", "waiting")

    def __init__(self, number: int, limit: float, history: tuple[int, ...] | None) -> None:
        self.number, self.limit, self.history = number, limit, history
        self.best, self.guess, self.next = math.inf, -1, 0
        self.guesses = self.bounds = np.zeros(0, np.int64)
        self.waiting: list[_Waiting] = []

    @property
    def ceiling(self) -> float:
        """What a guess must stay below to be of interest."""
        return min(self.best, self.limit)

    @property
    def untried(self) -> float:
        """The least bound of the guesses whose parts are still to be looked at."""
        return self.bounds[self.next] if self.next < len(self.bounds) else math.inf

    @property
    def least(self) -> float:
        """The least bound in the queue."""
        return min(self.untried, self.waiting[0].bound if self.waiting else math.inf)

    def take(self, width: int) -> list[int]:
        """The next few guesses whose parts are to be looked at, as far as they are of interest."""
        end = min(self.next + width, len(self.guesses))
        end = self.next + int(np.searchsorted(self.bounds[self.next : end], self.ceiling))
        taken = self.guesses[self.next : end].tolist()
        self.next = end
        return taken
