"""Upper bounds of totals of positions, from the best strategies found with a given effort.

The total of a position is the total number of guesses for its codes. Small positions are solved by ``optimal``'s
search. At larger ones the best guesses by ``lookahead``'s estimate are tried; the parts that they leave are valued in
the same way, with fewer guesses.
"""

from __future__ import annotations

import functools
import math
import time
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from .costs import estimate
from .memo import Memo
from .optimal import OutOfTimeError, Search
from .positions import SYMMETRIC_GUESSES, History, Positions, after, blocks
from .rules import Game
from .scoring import scorer

#: Factor by which fewer guesses are tried for the parts that a guess leaves.
_NARROWER = 4

#: Number of positions valued together, and of codes of positions split together.
TOGETHER, _CODES = 256, 1 << 20

#: Maximum number of positions in a search's transposition table, about 1 GB; beyond it a new search is begun.
MOST_SEARCHED = 3_000_000

#: The best known strategy of a position: its total, its first guess, and the last round that searched it (``_PROVEN``
#: after it was solved).
_BEST, _PROVEN = np.dtype([("total", np.int64), ("guess", np.int32), ("round", np.int64)]), 1 << 30
_UNKNOWN = np.array((np.iinfo(np.int64).max, -1, -1), _BEST)


class Effort(NamedTuple):
    """Effort of the search to value a position.

    Attributes:
      round: the number of the round, from 0.
      exact: maximum size of positions that are solved.
      width: number of guesses tried at larger ones.
    """

    round: int
    exact: int
    width: int

    @property
    def within(self) -> Effort:
        """The effort for parts of a position."""
        return self._replace(width=max(self.width // _NARROWER, 1))


class Valuer:
    """Values positions of a game, and stores the best known strategy of each.

    Args:
      game: the game.
      deadline: the time after which OutOfTimeError is raised, on the clock of ``time.monotonic``.

    Raises:
      GameError: the game's feedback table takes more than half of the memory.
    """

    def __init__(self, game: Game, deadline: float = math.inf) -> None:
        self._game, self._deadline = game, deadline
        self._scorer, self._estimate = scorer(game), estimate(game)
        self._search, self._positions = self._new_search(), Memo(game)
        self._best = np.zeros(0, _BEST)  # for each row of the positions

    def learn(self, positions: Positions, totals: np.ndarray, guesses: np.ndarray) -> None:
        """Stores strategies for positions: their totals and their first guesses, int[n]."""
        rows = self._rows(positions)
        self._best["total"][rows], self._best["guess"][rows] = totals, guesses

    def proven(self, positions: Positions) -> np.ndarray:
        """Whether the best known strategies are proved optimal, bool[n]."""
        rows = self._rows(positions)
        return np.asarray(self._best["round"][rows] == _PROVEN)

    def guesses(self, positions: Positions) -> np.ndarray:
        """The first guesses of the best known strategies, int32[n]; -1 if none is known."""
        rows = self._rows(positions)
        return np.asarray(self._best["guess"][rows])

    def totals(self, positions: Positions, histories: Sequence[History], effort: Effort) -> np.ndarray:
        """The lowest known totals of positions of more than two codes, int64[n], after a search with this effort."""
        rows = self._rows(positions)
        (earlier,) = np.nonzero(self._best["round"][rows] < effort.round)
        indices = np.array(list(dict(zip(rows[earlier].tolist(), earlier.tolist(), strict=True)).values()), np.int64)
        few = positions.sizes[indices] <= effort.exact
        search = functools.partial(self._search_guesses, effort=effort)
        for value, chosen in ((self._solve, indices[few]), (search, indices[~few])):
            for start in range(0, len(chosen), TOGETHER):
                some = chosen[start : start + TOGETHER]
                value(positions.take(some), [histories[index] for index in some.tolist()])
        return np.asarray(self._best["total"][rows])

    def _rows(self, positions: Positions) -> np.ndarray:
        """The rows of positions, int64[n]; new ones have no strategy."""
        rows, _ = self._positions.add(positions)
        if len(self._best) < len(self._positions):
            self._best = np.concatenate([self._best, np.full(len(self._positions), _UNKNOWN)])
        return rows

    def _solve(self, positions: Positions, histories: Sequence[History]) -> None:
        """Solves positions."""
        self._check_time()
        if len(self._search) > MOST_SEARCHED:
            self._search = self._new_search()
        # a search takes positions with equal numbers of guesses; None is given as one more guess than leave a symmetry
        lengths = np.array([SYMMETRIC_GUESSES + 1 if made is None else len(made) for made in histories])
        for length in np.unique(lengths).tolist():
            (alike,) = np.nonzero(lengths == length)
            chosen, made = positions.take(alike), [histories[index] for index in alike.tolist()]
            guesses, totals = self._search.solve(chosen, None if made[0] is None else np.array(made, np.int32))
            self.learn(chosen, totals, guesses)
            self._best["round"][self._rows(chosen)] = _PROVEN

    def _new_search(self) -> Search:
        """A search that ends at the deadline."""
        return Search(self._game, progress=lambda text: self._check_time())

    def _search_guesses(self, positions: Positions, histories: Sequence[History], effort: Effort) -> None:
        """Tries the best guesses of positions by the estimate, and the best known one."""
        owner, guesses = self._candidates(positions, histories, effort.width)
        for pairs in blocks(positions.sizes[owner], _CODES):
            self._try(
                positions.take(owner[pairs]), [histories[index] for index in owner[pairs]], guesses[pairs], effort
            )
        self._best["round"][self._rows(positions)] = effort.round

    def _candidates(
        self, positions: Positions, histories: Sequence[History], width: int
    ) -> tuple[np.ndarray, np.ndarray]:
        """Pairs of a position and a guess to try: (owner int64[pairs], guesses int32[pairs])."""
        owner, guesses, known = [], [], self.guesses(positions).tolist()
        for index, found, _ in self._scorer.ranked(positions, self._estimate, histories):
            best = known[index : index + 1] if known[index] >= 0 else []
            tried = [*best, *(guess for guess in found[:width].tolist() if guess not in best)]
            owner += [index] * len(tried)
            guesses += tried
        return np.array(owner, np.int64), np.array(guesses, np.int32)

    def _try(self, positions: Positions, histories: Sequence[History], guesses: np.ndarray, effort: Effort) -> None:
        """Values a guess at each position, and stores it if it is the best known."""
        self._check_time()
        found = self._scorer.partition(positions, guesses)
        useless, totals = found.useless, found.fixed_totals
        (large,) = np.nonzero((found.parts.sizes > 2) & ~useless[found.owner])
        if len(large):
            later = [after(histories[found.owner[part]], int(guesses[found.owner[part]])) for part in large]
            values = self.totals(found.parts.take(large), later, effort.within)
            totals += np.bincount(found.owner[large], values, len(positions)).astype(np.int64)
        totals[useless] = _UNKNOWN["total"]
        rows = self._rows(positions)
        order = np.lexsort((totals, rows))
        first = order[np.unique(rows[order], return_index=True)[1]]  # the lowest total of each position
        better = first[totals[first] < self._best["total"][rows[first]]]
        self.learn(positions.take(better), totals[better], guesses[better])

    def _check_time(self) -> None:
        if time.monotonic() > self._deadline:
            raise OutOfTimeError
