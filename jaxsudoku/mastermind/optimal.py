"""The optimal player: branch and bound over whole strategies, with a transposition table of positions.

The total of a position is its size (one guess for each of its codes) plus the totals of the parts that its best guess
leaves. The table (``memo``) holds a lower bound of each position's total, and whether it is exact. An open position has
a queue of guesses by lower bounds. The first guess is examined: the first time its parts are bounded; the second time
its parts are solved, up to the limit at which the guess would lose. A position is closed when no guess in the queue has
a lower bound below the incumbent, the best total found.

The initial bound of a part is that of its size. It is raised to the lowest score of any guess only while the guess that
leaves the part may still win, first for parts with the largest expected gain. Smaller parts of a guess are solved
first: totals above their bounds reduce the limits of the larger ones.

All open positions of a depth advance together, so that the device scores thousands at once. Positions are stored in a
canonical labelling (``Game.relabelled``), so equivalent ones share a row. While the guesses so far leave symmetries,
one guess per orbit is tried (``positions.representatives``).
"""

from __future__ import annotations

import contextlib
import math
import sys
from collections.abc import Iterable, Iterator

import numpy as np
from jax import Array

from . import costs
from .claims import Claims
from .costs import PartCost
from .memo import PROVEN, SCORED, Memo
from .open_positions import Candidate, OpenPosition
from .player_config import OptimalConfig
from .players import Policy, Progress
from .positions import History, Positions, after, blocks, histories_of, representatives, sums_before
from .rules import Game, check_size
from .scoring import scorer

#: Number of codes of positions split together.
_CODES = 1 << 19

#: Parts of a guess up to this multiple of the smallest are solved together.
_LARGER = 1.5

#: Number of positions open together, and of new positions bounded together.
_OPEN, _NEW = 2048, 8192

#: Maximum size of positions whose guesses are bounded by the number of parts, which is fast; others use the sizes.
_SMALL = 28

#: Minimum size of positions on which several processes divide the work.
_SPLIT = 64

#: Nested calls per guess of a game, and the maximum for a whole game.
_CALLS, _MOST_CALLS = 5, 10_000


class SearchLimitError(RuntimeError):
    """Raised if the search reaches its limit of positions without a proof."""


class OutOfTimeError(Exception):
    """Raised by a search's ``progress`` when its time is over."""


def optimal(game: Game, config: OptimalConfig, progress: Progress) -> Policy:
    """The player whose guesses are proved to lead to the lowest mean."""
    return Search(game, config.positions, progress).policy


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
    """Branch and bound on positions of a game; all positions that it reaches are kept in the transposition table.

    Args:
      game: the game.
      limit: maximum number of positions in the table; None for no limit.
      progress: called with a text from time to time; it may end the search by an exception.
      memo: the table, from which the search continues; None for an empty one in memory.
      claims: the claims of this process, if others search with the same table.

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
        self._scorer, self._least = scorer(game), costs.least_totals(game)
        self._by_size, self._by_parts = costs.bounds(game)
        # the number of parts gives an equally good bound if no part has more codes than there are feedbacks
        self._small = min(_SMALL, 2 * self._by_size.linear_to)
        self._memo, self._claims = Memo(game) if memo is None else memo, claims
        # total gain of scores over the bounds by size, and the number of scored positions
        self._gain, self._gained = np.arange(game.secrets + 1) / 8, np.ones(game.secrets + 1)

    def __len__(self) -> int:
        """The number of positions reached."""
        return len(self._memo)

    def solve(
        self, positions: Positions, history: np.ndarray | None, below: float | np.ndarray = math.inf
    ) -> tuple[np.ndarray, np.ndarray]:
        """The best guess for each position of more than two codes, and its total.

        Args:
          positions: n positions.
          history: int32[n, made], the guesses so far, if the positions depend only on the feedback to these: their
            stabiliser determines the orbits of guesses. None for any positions.
          below: the cutoff, for all positions or for each, [n]: totals from there on are only excluded.

        Returns:
          (guesses int32[n], totals int64[n] over all codes of a position). If no total is below the cutoff, the guess
          is -1, and the total a lower bound, at least the cutoff.

        Raises:
          SearchLimitError: the search needs more positions than its limit.
        """
        rows = self._insert(positions)
        self._score(rows, positions)
        with _nested_calls(_CALLS * int(positions.sizes.max(initial=0))):
            limits = np.broadcast_to(below, len(rows)).tolist()
            self._prove(zip(rows.tolist(), limits, histories_of(history, len(rows)), strict=True))
        proven, bounds, found = self._memo.results(rows)
        return np.where(proven & (bounds < below), found, -1), bounds

    def policy(self, positions: Positions, history: np.ndarray, key: Array) -> np.ndarray:
        """The best guesses, as a player's ``Policy``."""
        return self.solve(positions, history)[0]

    def openings(self, below: int) -> list[tuple[int, int]]:
        """First guesses, one per orbit, whose totals may be less than ``below``, with their lower bounds."""
        guesses = representatives(self._game, ())
        found = self._scorer.partition(Positions.everything(self._game, len(guesses)), guesses)
        (large,) = np.nonzero(found.parts.sizes > 2)
        bounds = self._memo.bounds[self._insert(found.parts.take(large))]
        totals = found.fixed_totals
        totals += np.bincount(found.owner[large], bounds, len(guesses)).astype(np.int64)
        (left,) = np.nonzero(totals < below)
        return list(zip(guesses[left].tolist(), totals[left].tolist(), strict=True))

    # ------------------------------------------------------------------ the transposition table

    def _insert(self, positions: Positions) -> np.ndarray:
        """The rows int64[n] of positions of more than two codes; new ones get the bound of their size."""
        rows, _ = self._memo.add(positions, self._least[positions.sizes])
        if self._limit is not None and len(self._memo) > self._limit:
            raise SearchLimitError(f"{self._game}: more than {self._limit:,} positions; no proof of the best guess yet")
        return rows

    def _has(self, states: int, rows: np.ndarray) -> np.ndarray:
        """Whether positions have one of some states, bool[n]."""
        found: np.ndarray = (self._memo.states[rows] & states) > 0
        return found

    def _score(self, rows: np.ndarray, positions: Positions) -> None:
        """Raises the bounds of positions to the lowest score; exact if this guess leaves parts of at most two codes."""
        (new,) = np.nonzero(~self._has(SCORED | PROVEN, rows))
        new = new[np.unique(rows[new], return_index=True)[1]]
        for start in range(0, len(new), _NEW):
            indices = new[start : start + _NEW]
            self._score_new(rows[indices], positions.take(indices))

    def _score_new(self, rows: np.ndarray, positions: Positions) -> None:
        sizes = positions.sizes
        guesses, bounds = np.zeros(len(rows), np.int32), np.zeros(len(rows), np.int64)
        for indices, cost in self._costs(positions):
            guesses[indices], scores = self._scorer.best(positions.take(indices), cost)
            bounds[indices] = scores + sizes[indices]
        found = self._scorer.partition(positions, guesses)
        largest = np.zeros(len(positions), np.int64)
        np.maximum.at(largest, found.owner, found.parts.sizes)
        states = np.where(largest <= 2, SCORED | PROVEN, SCORED).astype(np.uint8)
        self._memo.record(rows, bounds, guesses, states)
        self._gain += np.bincount(sizes, bounds - self._least[sizes], len(self._gain))
        self._gained += np.bincount(sizes, minlength=len(self._gain))
        self._progress(f"{len(self._memo):,} positions")

    def _costs(self, positions: Positions) -> Iterator[tuple[np.ndarray, PartCost]]:
        """The indices of positions to bound by the number of parts, and by the sizes of parts."""
        small = positions.sizes <= self._small
        yield np.flatnonzero(small), self._by_parts
        yield np.flatnonzero(~small), self._by_size

    # ------------------------------------------------------------------ branch and bound

    def _prove(self, goals: Iterable[tuple[int, float, History]]) -> None:
        """Searches until each position is proven, or its bound reaches its limit.

        Args:
          goals: row, limit and history of each position; the histories are of one length, or all None.
        """
        wanted: dict[int, OpenPosition] = {}
        for row, limit, history in goals:
            other = wanted.get(row)
            if other is None or other.limit < limit:
                wanted[row] = OpenPosition(row, limit, history)
        opened = self._unsettled(list(wanted.values()))
        if self._claims is not None and opened and self._splits(opened):
            self._divide(opened, self._claims)
            return
        for start in range(0, len(opened), _OPEN):
            self._close(opened[start : start + _OPEN])

    def _unsettled(self, nodes: list[OpenPosition]) -> list[OpenPosition]:
        """The unproven positions with a bound below their limit."""
        rows = _rows(nodes)
        bounds, proven = self._memo.bounds[rows].tolist(), self._has(PROVEN, rows).tolist()
        facts = zip(nodes, bounds, proven, strict=True)
        return [node for node, bound, known in facts if not known and bound < node.limit]

    def _splits(self, opened: list[OpenPosition]) -> bool:
        """Whether processes should divide the work on positions."""
        return bool(self._memo.sizes(_rows(opened)).max() >= _SPLIT)

    def _divide(self, opened: list[OpenPosition], claims: Claims) -> None:
        """Processes positions that no other process has claimed, a share at a time, then the others."""
        while opened:
            others = claims.others(_rows(opened)).tolist()
            free = [node for node, other in zip(opened, others, strict=True) if not other]
            share = free[: min(-(-len(free) // claims.processes), _OPEN)] or opened[:_OPEN]
            with claims.held(_rows(share)):
                self._close(share)
            done = set(map(id, share))
            opened = self._unsettled([node for node in opened if id(node) not in done])

    def _close(self, opened: list[OpenPosition]) -> None:
        """Processes open positions in rounds, until all are closed."""
        positions = self._memo.take(_rows(opened))
        self._queue_guesses(opened, positions)
        remaining = list(range(len(opened)))
        claims = self._claims if self._claims is not None and self._splits(opened) else None
        while remaining:
            self._progress(f"{len(self._memo):,} positions")
            if claims is not None:  # another process may have closed some
                left = set(map(id, self._unsettled([opened[index] for index in remaining])))
                remaining = [index for index in remaining if id(opened[index]) in left]
            to_bound: list[tuple[int, int]] = []
            to_solve: list[tuple[OpenPosition, Candidate]] = []
            still, closed = [], []
            for index in remaining:
                node = opened[index]
                if node.bound >= node.cutoff:
                    closed.append(node)
                    continue
                still.append(index)
                if node.solvable:
                    to_solve.append((node, node.pop() if claims is None else self._unclaimed(node, claims)))
                else:
                    to_bound += [(index, guess) for guess in node.take()]
            self._record_closed(closed)
            remaining = still
            if to_bound:
                sizes = positions.sizes[np.array([index for index, _ in to_bound])]
                for some in blocks(sizes, _CODES):
                    self._bound_parts(opened, positions, [to_bound[index] for index in some.tolist()])
            if to_solve and claims is not None:
                with claims.held(np.concatenate([self._keys(node, [candidate]) for node, candidate in to_solve])):
                    self._solve_parts(to_solve)
            elif to_solve:
                self._solve_parts(to_solve)

    def _unclaimed(self, node: OpenPosition, claims: Claims) -> Candidate:
        """Removes from a queue the first guess that no other process has claimed, else the first one."""
        candidates = node.candidates()
        free = np.flatnonzero(~claims.others(self._keys(node, candidates)))
        chosen = candidates[free[0] if len(free) else 0]
        return node.pop(chosen if chosen.bound <= node.least_unbounded else candidates[0])

    def _keys(self, node: OpenPosition, candidates: list[Candidate]) -> np.ndarray:
        """The keys of guesses of a position, for claims."""
        return -(node.row * self._game.size + np.array([candidate.guess for candidate in candidates], np.int64)) - 1

    def _queue_guesses(self, opened: list[OpenPosition], positions: Positions) -> None:
        """Fills the queues of positions with the guesses whose initial bounds are below the limit."""
        for chosen, cost in self._costs(positions):
            nodes, sizes = [opened[index] for index in chosen.tolist()], positions.sizes[chosen]
            below = [node.limit - size for node, size in zip(nodes, sizes.tolist(), strict=True)]
            histories = [node.history for node in nodes]
            for index, guesses, scores in self._scorer.ranked(positions.take(chosen), cost, histories, below):
                nodes[index].begin(guesses, scores + sizes[index])

    def _bound_parts(self, opened: list[OpenPosition], positions: Positions, pairs: list[tuple[int, int]]) -> None:
        """Bounds (position, guess) pairs by the bounds of their parts, and requeues the guesses."""
        owner, guesses = np.array(pairs).T
        nodes = [opened[index] for index in owner.tolist()]
        found = self._scorer.partition(positions.take(owner), guesses)
        fixed, useless = found.fixed_totals, found.useless
        (large,) = np.nonzero((found.parts.sizes > 2) & ~useless[found.owner])
        parts, of = found.parts.take(large), found.owner[large]
        if after(nodes[0].history, 0) is None:  # no symmetry is left
            parts = parts.relabelled(self._game)
        rows = self._insert(parts)
        cutoffs = np.array([node.cutoff for node in nodes])
        self._score_parts(rows, parts, of, fixed, cutoffs)
        cuts = np.searchsorted(of, np.arange(len(pairs) + 1))
        bounds = fixed + np.bincount(of, self._memo.bounds[rows], len(pairs)).astype(np.int64)
        (possible,) = np.nonzero(~useless & (bounds < cutoffs))
        self._update(
            [
                (nodes[pair], Candidate(0, pairs[pair][1], int(fixed[pair]), rows[cuts[pair] : cuts[pair + 1]]))
                for pair in possible.tolist()
            ]
        )

    def _score_parts(
        self, rows: np.ndarray, parts: Positions, of: np.ndarray, fixed: np.ndarray, cutoffs: np.ndarray
    ) -> None:
        """Scores parts of pairs until the bound of each pair reaches its cutoff, or all of its parts are scored.

        Parts with the largest expected gain are scored first, as many as may suffice.
        """
        gain = (self._gain / self._gained)[parts.sizes]
        order = np.lexsort((-gain, of))
        while True:
            deficit = cutoffs - fixed - np.bincount(of, self._memo.bounds[rows], len(fixed))
            left = order[~self._has(SCORED | PROVEN, rows[order]) & (deficit[of[order]] > 0)]
            if not len(left):
                return
            chosen = left[sums_before(gain[left], of[left]) < deficit[of[left]]]
            self._score(rows[chosen], parts.take(chosen))

    def _update(self, pairs: list[tuple[OpenPosition, Candidate]]) -> None:
        """Makes a guess the incumbent if its parts are proven; requeues it if it may still become the incumbent."""
        if not pairs:
            return
        proven, bounds, _ = self._memo.results(np.concatenate([candidate.parts for _, candidate in pairs]))
        start = 0
        for node, candidate in pairs:
            end = start + len(candidate.parts)
            bound = candidate.fixed + int(bounds[start:end].sum())
            if bound >= node.cutoff:
                pass
            elif proven[start:end].all():
                node.incumbent, node.guess = bound, candidate.guess
            else:
                node.push(candidate._replace(bound=bound))
            start = end

    def _solve_parts(self, pairs: list[tuple[OpenPosition, Candidate]]) -> None:
        """Solves the parts of one guess of each position, up to totals at which the guess would lose."""
        active = pairs
        while active:
            goals: list[tuple[int, float, History]] = []
            still = []
            for node, candidate in active:
                parts = candidate.parts
                # the slack of the parts above their bounds
                slack = node.cutoff - candidate.fixed - int(self._memo.bounds[parts].sum())
                open_parts = parts[~self._has(PROVEN, parts)]
                if slack <= 0 or not len(open_parts):
                    continue
                still.append((node, candidate))
                history = after(node.history, candidate.guess)
                sizes = self._memo.sizes(open_parts)
                chosen = open_parts[sizes <= _LARGER * sizes.min()]
                limits = self._memo.bounds[chosen] + slack
                goals += [(part, limit, history) for part, limit in zip(chosen.tolist(), limits.tolist(), strict=True)]
            self._prove(goals)
            active = still
        self._update(pairs)

    def _record_closed(self, nodes: list[OpenPosition]) -> None:
        """Records closed positions, whose lowest bound reaches the incumbent or the limit."""
        if not nodes:
            return
        bounds = np.array([math.ceil(node.cutoff) for node in nodes], np.int64)
        guesses = np.array([node.guess for node in nodes], np.int32)
        states = np.array([PROVEN if node.incumbent < node.limit else 0 for node in nodes], np.uint8)
        self._memo.record(_rows(nodes), bounds, guesses, states)


def _rows(nodes: list[OpenPosition]) -> np.ndarray:
    """The rows of positions in the transposition table, int64[n]."""
    return np.fromiter((node.row for node in nodes), np.int64, len(nodes))
