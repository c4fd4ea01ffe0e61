"""A player with the lowest mean that any strategy has: branch and bound over whole strategies.

The total of a position is its size, one guess for each of its codes, and the totals of the parts that its best guess
leaves. For every position the search keeps a lower bound of the total, and whether that is proven to be exact. The
guesses of a position wait in a priority queue by their bounds. The first one is examined: at first its parts get
bounds of their own; later, if it is first again, its parts are solved, up to the limit beyond which the guess would
lose. When no guess in the queue has a lower bound than the best total found, the position is proven.

The bound of a part is at first that of its size. It is raised to the lowest score of any guess only while the guess
that leaves the part may still win, in the parts first from which most is expected. Of the parts of a guess the smaller
ones are solved first, as what they take beyond their bounds is then known when the larger ones are.

All open positions of a depth advance together, so that the device scores thousands at once. Positions that are equal
but for a symmetry of the game are stored once, whatever guesses led to them (``Game.relabelled``). After the first
guesses, which leave symmetries, only one of several equivalent guesses is tried (``inequivalent_guesses``).
"""

from __future__ import annotations

import contextlib
import math
import sys
from collections.abc import Iterable, Iterator

import numpy as np
from jax import Array

from .claims import Claims
from .config import OptimalConfig
from .costs import PartCost
from .memo import PROVEN, SCORED, Memo
from .open_positions import Candidate, OpenPosition
from .players import Policy, Progress
from .positions import SYMMETRIC_GUESSES, Positions, blocks, inequivalent_guesses
from .rules import Game, check_size
from .scoring import scorer

#: Codes of positions that are split together.
_CODES = 1 << 19

#: Of the parts of a guess those up to so many times the smallest are solved together.
_LARGER = 1.5

#: Positions that are open together, and new positions that are bounded together.
_OPEN, _NEW = 2048, 8192

#: Up to this size at most the bounds of guesses use the number of parts, which is fast; beyond it, their sizes.
_SMALL = 28

#: Several processes divide the work on positions from this size on.
_SPLIT = 64

#: Nested calls for each guess of a game, and the most for a whole game.
_CALLS, _MOST_CALLS = 5, 10_000


class SearchLimitError(RuntimeError):
    """The search reached its limit of positions without a proof."""


def optimal(game: Game, config: OptimalConfig, progress: Progress) -> Policy:
    """A guess that is proven to lead to the lowest mean."""
    return Search(game, config.positions, progress).policy


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


def sums_before(values: np.ndarray, groups: np.ndarray) -> np.ndarray:
    """For each of n values the sum of those before it in its group; the groups [n] are ascending."""
    before = np.cumsum(values) - values
    firsts = np.searchsorted(groups, groups)  # the first of the group
    found: np.ndarray = before - before[firsts]
    return found


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
      memo: of the game, from which the search goes on; None for an empty one in memory.
      claims: of this process, if others search with the same memo.

    Raises:
      GameError: the feedback table takes more than half of the memory.
    """

    def __init__(
        self,
        game: Game,
        limit: int | None = None,
        progress: Progress = lambda text: None,
        memo: Memo | None = None,
        claims: Claims | None = None,
    ) -> None:
        check_size(game)
        self._game, self._limit, self._progress = game, limit, progress
        self._scorer = scorer(game)
        by_size, by_number = least_totals(game), np.maximum(2 * np.arange(game.secrets + 1) - 1, 0)
        # a code that the guess itself finds takes no further guess: the bonus
        self._by_size, self._by_number = (PartCost(total.astype(np.int32), 1) for total in (by_size, by_number))
        # the number of parts gives as good a bound where no part has more codes than there are feedbacks
        self._small = min(_SMALL, 2 * self._by_size.linear_to)
        self._memo, self._claims = Memo(game) if memo is None else memo, claims
        self._least = by_size
        # what scores of positions have added to the bounds of their sizes, and how many were scored
        self._gain, self._gained = np.arange(game.secrets + 1) / 8, np.ones(game.secrets + 1)

    def __len__(self) -> int:
        """The number of positions reached."""
        return len(self._memo)

    def solve(
        self, positions: Positions, history: np.ndarray, below: float | np.ndarray = math.inf
    ) -> tuple[np.ndarray, np.ndarray]:
        """The best guess for each position of more than two codes, and the total from there.

        Args:
          positions: n positions.
          history: int32[n, made], the guesses so far; the positions follow from the feedback to these and nothing else,
            as they determine which guesses are equivalent.
          below: the least total that is not wanted, of all positions or of each, [n].

        Returns:
          (guesses int32[n], totals int64[n], for all codes of a position together). Where no total is below the limit
          the guess is -1, and the total a lower bound, the limit or more.

        Raises:
          SearchLimitError: the search needs more positions than its limit.
        """
        numbers = self._insert(positions)
        self._score(numbers, positions)
        with _nested_calls(_CALLS * int(positions.sizes.max(initial=0))):
            limits = np.broadcast_to(below, len(numbers)).tolist()
            goals = zip(numbers.tolist(), limits, history.tolist(), strict=True)
            self._prove((number, limit, tuple(made)) for number, limit, made in goals)
        proven, bounds, found = self._memo.results(numbers)
        return np.where(proven & (bounds < below), found, -1), bounds

    def policy(self, positions: Positions, history: np.ndarray, key: Array) -> np.ndarray:
        """The best guesses, as a player's ``Policy``."""
        return self.solve(positions, history)[0]

    def bound(self, positions: Positions) -> int:
        """The lower bound of the total of a position, as far as it is known."""
        return int(self._memo.bounds[self._insert(positions)[0]])

    def openings(self, below: int) -> list[tuple[int, int]]:
        """The inequivalent first guesses whose total is not proven to be ``below`` or more, each with a lower bound."""
        guesses = inequivalent_guesses(self._game, ())
        everything = np.arange(self._game.secrets)
        found = self._scorer.partition(Positions.of([everything] * len(guesses)), guesses)
        (large,) = np.nonzero(found.parts.sizes > 2)
        totals = self._game.secrets + np.bincount(found.owner, found.small_totals, len(guesses)).astype(np.int64)
        bounds = self._memo.bounds[self._insert(found.parts.take(large))]
        totals += np.bincount(found.owner[large], bounds, len(guesses)).astype(np.int64)
        (left,) = np.nonzero(totals < below)
        return list(zip(guesses[left].tolist(), totals[left].tolist(), strict=True))

    # ------------------------------------------------------------------ the positions reached

    def _insert(self, positions: Positions) -> np.ndarray:
        """The numbers int64[n] of positions of more than two codes; new ones get the bound of their size."""
        numbers, _ = self._memo.add(positions, self._least[positions.sizes])
        if self._limit is not None and len(self._memo) > self._limit:
            raise SearchLimitError(f"{self._game}: more than {self._limit:,} positions; no proof of the best guess yet")
        return numbers

    def _is(self, state: int, numbers: np.ndarray) -> np.ndarray:
        """Whether positions have one of some states, bool[n]."""
        found: np.ndarray = (self._memo.states[numbers] & state) > 0
        return found

    def _score(self, numbers: np.ndarray, positions: Positions) -> None:
        """Raises the bounds of positions to the lowest of any guess.

        Where that guess leaves no part of more than two codes, the bound is exact.
        """
        (new,) = np.nonzero(~self._is(SCORED | PROVEN, numbers))
        new = new[np.unique(numbers[new], return_index=True)[1]]
        for start in range(0, len(new), _NEW):
            indices = new[start : start + _NEW]
            self._score_new(numbers[indices], positions.take(indices))

    def _score_new(self, numbers: np.ndarray, positions: Positions) -> None:
        memo, sizes = self._memo, positions.sizes
        guesses, bounds = np.zeros(len(numbers), np.int32), np.zeros(len(numbers), np.int64)
        for indices, cost in self._costs(positions):
            guesses[indices], scores = self._scorer.best(positions.take(indices), cost)
            bounds[indices] = scores + sizes[indices]
        found = self._scorer.partition(positions, guesses)
        largest = np.zeros(len(positions), np.int64)
        np.maximum.at(largest, found.owner, found.parts.sizes)
        memo.record(numbers, bounds, guesses, np.where(largest <= 2, SCORED | PROVEN, SCORED).astype(np.uint8))
        self._gain += np.bincount(sizes, bounds - self._least[sizes], len(self._gain))
        self._gained += np.bincount(sizes, minlength=len(self._gain))
        self._report()

    def _report(self) -> None:
        """Says how far the search is; the caller may end it by an exception."""
        self._progress(f"{len(self._memo):,} positions")

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
        wanted: dict[int, OpenPosition] = {}
        for number, limit, history in goals:
            other = wanted.get(number)
            if other is None or other.limit < limit:
                wanted[number] = OpenPosition(number, limit, history)
        opened = self._unsettled(list(wanted.values()))
        if self._claims is not None and opened and self._splits(opened):
            self._divide(opened, self._claims)
            return
        for start in range(0, len(opened), _OPEN):
            self._close(opened[start : start + _OPEN])

    def _unsettled(self, nodes: list[OpenPosition]) -> list[OpenPosition]:
        """The positions that are not proven, with a bound below their limit."""
        numbers = np.fromiter((node.number for node in nodes), np.int64, len(nodes))
        bounds, proven = self._memo.bounds[numbers].tolist(), self._is(PROVEN, numbers).tolist()
        facts = zip(nodes, bounds, proven, strict=True)
        return [node for node, bound, known in facts if not known and bound < node.limit]

    def _splits(self, opened: list[OpenPosition]) -> bool:
        """Whether processes should divide the work on positions."""
        numbers = np.fromiter((node.number for node in opened), np.int64, len(opened))
        return bool(self._memo.sizes(numbers).max() >= _SPLIT)

    def _divide(self, opened: list[OpenPosition], claims: Claims) -> None:
        """Works on positions on which no other process works, part by part, then on the others."""
        while opened:
            others = claims.others(np.array([node.number for node in opened], np.int64)).tolist()
            free = [node for node, other in zip(opened, others, strict=True) if not other]
            some = free[: min(-(-len(free) // claims.processes), _OPEN)] or opened[:_OPEN]
            keys = np.array([node.number for node in some], np.int64)
            claims.take(keys)
            self._close(some)
            claims.release(keys)
            chosen = set(map(id, some))
            opened = self._unsettled([node for node in opened if id(node) not in chosen])

    def _close(self, opened: list[OpenPosition]) -> None:
        """Works on open positions in rounds, until none is open."""
        positions = self._memo.take(np.array([node.number for node in opened], np.int64))
        self._queue_guesses(opened, positions)
        remaining = list(range(len(opened)))
        shared = self._claims is not None and self._splits(opened)
        while remaining:
            self._report()
            if shared:  # another process may have settled some
                left = set(map(id, self._unsettled([opened[index] for index in remaining])))
                remaining = [index for index in remaining if id(opened[index]) in left]
            to_bound: list[tuple[int, int]] = []
            to_solve: list[tuple[OpenPosition, Candidate]] = []
            still, concluded = [], []
            for index in remaining:
                node = opened[index]
                if node.least >= node.ceiling:
                    concluded.append(node)
                    continue
                still.append(index)
                chosen = self._next(node, shared)
                if chosen is not None:
                    to_solve.append((node, chosen))
                else:
                    to_bound += [(index, guess) for guess in node.take()]
            self._conclude(concluded)
            remaining = still
            if to_bound:
                self._bound_parts(opened, positions, to_bound)
            if to_solve and shared and self._claims is not None:
                keys = np.concatenate([self._keys(node, [candidate]) for node, candidate in to_solve])
                self._claims.take(keys)
                self._solve_parts(to_solve)
                self._claims.release(keys)
            elif to_solve:
                self._solve_parts(to_solve)

    def _next(self, node: OpenPosition, shared: bool) -> Candidate | None:
        """Takes the guess to solve from a queue; None if others are to be bounded first."""
        if not node.solvable:
            return None
        if not shared or self._claims is None:
            return node.pop()
        candidates = node.candidates()
        free = np.flatnonzero(~self._claims.others(self._keys(node, candidates)))
        chosen = candidates[free[0] if len(free) else 0]
        return node.pop(chosen if chosen.bound <= node.least_unbounded else candidates[0])

    def _keys(self, node: OpenPosition, candidates: list[Candidate]) -> np.ndarray:
        """The keys of guesses of a position, for claims."""
        return -(node.number * self._game.size + np.array([candidate.guess for candidate in candidates], np.int64)) - 1

    def _queue_guesses(self, opened: list[OpenPosition], positions: Positions) -> None:
        """Fills the queues of positions with the guesses that may stay below the limit, by their first bounds."""
        for chosen, cost in self._costs(positions):
            nodes, sizes = [opened[index] for index in chosen.tolist()], positions.sizes[chosen]
            below = [node.limit - size for node, size in zip(nodes, sizes.tolist(), strict=True)]
            histories = [node.history for node in nodes]
            for index, guesses, scores in self._scorer.ranked(positions.take(chosen), cost, histories, below):
                nodes[index].begin(guesses, scores + sizes[index])

    def _bound_parts(self, opened: list[OpenPosition], positions: Positions, pairs: list[tuple[int, int]]) -> None:
        """Bounds (position, guess) pairs by the bounds of their parts; each guess is solved or queued again."""
        sizes = positions.sizes[np.array([index for index, _ in pairs])]
        for some in blocks(sizes, _CODES):
            self._bound_some(opened, positions, [pairs[index] for index in some.tolist()])

    def _bound_some(self, opened: list[OpenPosition], positions: Positions, pairs: list[tuple[int, int]]) -> None:
        owner, guesses = np.array(pairs).T
        found = self._scorer.partition(positions.take(owner), guesses)
        sizes = found.parts.sizes
        fixed = positions.sizes[owner] + np.bincount(found.owner, found.small_totals, len(pairs)).astype(np.int64)
        useless = found.whole(positions.sizes[owner])
        (large,) = np.nonzero((sizes > 2) & ~useless[found.owner])
        of = found.owner[large]
        parts = found.parts.take(large)
        symmetric = np.array([self._after(opened[index], 0) is not None for index in owner.tolist()])[of]
        numbers = np.zeros(len(large), np.int64)
        (plain,), (others,) = np.nonzero(symmetric), np.nonzero(~symmetric)
        numbers[plain] = self._insert(parts.take(plain))
        relabelled = parts.take(others).relabelled(self._game)
        numbers[others] = self._insert(relabelled)
        parts = _joined(parts, others, relabelled)
        ceilings = np.array([opened[index].ceiling for index in owner.tolist()])
        self._score_parts(numbers, parts, of, fixed, ceilings)
        cuts = np.searchsorted(of, np.arange(len(pairs) + 1))
        bounds = fixed + np.bincount(of, self._memo.bounds[numbers], len(pairs)).astype(np.int64)
        updates = []
        for pair in np.flatnonzero(~useless & (bounds < ceilings)).tolist():
            index, guess = pairs[pair]
            candidate = Candidate(0, guess, int(fixed[pair]), numbers[cuts[pair] : cuts[pair + 1]])
            updates.append((opened[index], candidate))
        self._update(updates)

    def _score_parts(
        self, numbers: np.ndarray, parts: Positions, of: np.ndarray, fixed: np.ndarray, ceilings: np.ndarray
    ) -> None:
        """Scores parts of pairs until the bound of each pair reaches its ceiling, or all of its parts are scored.

        The parts from which most is expected are scored first, as many as may be enough.
        """
        gain = (self._gain / self._gained)[parts.sizes]
        order = np.lexsort((-gain, of))
        while True:
            bounds = fixed + np.bincount(of, self._memo.bounds[numbers], len(fixed))
            missing = ceilings - bounds
            left = order[~self._is(SCORED | PROVEN, numbers[order]) & (missing[of[order]] > 0)]
            if not len(left):
                return
            chosen = left[sums_before(gain[left], of[left]) < missing[of[left]]]
            self._score(numbers[chosen], parts.take(chosen))

    def _update(self, pairs: list[tuple[OpenPosition, Candidate]]) -> None:
        """Takes a guess as the best one so far if its parts are proven; queues it if it may become that."""
        if not pairs:
            return
        proven, bounds, _ = self._memo.results(np.concatenate([candidate.parts for _, candidate in pairs]))
        start = 0
        for node, candidate in pairs:
            end = start + len(candidate.parts)
            bound = candidate.fixed + int(bounds[start:end].sum())
            if bound >= node.ceiling:
                pass
            elif proven[start:end].all():
                node.best, node.guess = bound, candidate.guess
            else:
                node.push(candidate._replace(bound=bound))
            start = end

    def _solve_parts(self, pairs: list[tuple[OpenPosition, Candidate]]) -> None:
        """Solves the parts of one guess of each position, up to the totals with which the guess would lose.

        The smaller parts are solved first: what they take beyond their bounds, the larger ones can't.
        """
        active = pairs
        while active:
            goals: list[tuple[int, float, tuple[int, ...] | None]] = []
            still = []
            for node, candidate in active:
                parts = candidate.parts
                # what the parts may take beyond their bounds
                slack = node.ceiling - candidate.fixed - int(self._memo.bounds[parts].sum())
                open_parts = parts[~self._is(PROVEN, parts)]
                if slack <= 0 or not len(open_parts):
                    continue
                still.append((node, candidate))
                history = self._after(node, candidate.guess)
                sizes = self._memo.sizes(open_parts)
                chosen = open_parts[sizes <= _LARGER * sizes.min()]
                limits = self._memo.bounds[chosen] + slack
                goals += [(part, limit, history) for part, limit in zip(chosen.tolist(), limits.tolist(), strict=True)]
            self._prove(goals)
            active = still
        self._update(pairs)

    @staticmethod
    def _after(node: OpenPosition, guess: int) -> tuple[int, ...] | None:
        """The guesses so far after another guess in a position, as long as they leave a symmetry."""
        if node.history is None or len(node.history) >= SYMMETRIC_GUESSES:
            return None
        return (*node.history, guess)

    def _conclude(self, nodes: list[OpenPosition]) -> None:
        """Stores the results of positions whose queues have nothing better than their best guess or their limit."""
        if not nodes:
            return
        numbers = np.array([node.number for node in nodes], np.int64)
        bounds = np.array([math.ceil(node.ceiling) for node in nodes], np.int64)
        guesses = np.array([node.guess for node in nodes], np.int32)
        states = np.array([PROVEN if node.best < node.limit else 0 for node in nodes], np.uint8)
        self._memo.record(numbers, bounds, guesses, states)


def _joined(positions: Positions, indices: np.ndarray, others: Positions) -> Positions:
    """Positions, of which some are replaced by others of the same sizes."""
    codes = positions.codes.copy()
    places = np.repeat(positions.bounds[:-1][indices] - others.bounds[:-1], others.sizes)
    codes[places + np.arange(len(others.codes))] = others.codes
    return Positions(codes, positions.bounds)
