"""Improves a strategy, for as long as there is time: better guesses at every position, with proven ends.

For every position the best strategy known is kept: its total, the guesses that all its codes take together, and its
first guess. A round goes through the positions of the strategy, the smallest first. Positions of few codes are solved
by ``optimal``'s search. In larger ones the best guesses by ``lookahead``'s estimate are tried; the parts that they
leave are valued in the same way, with fewer guesses. Each round tries more guesses, and solves larger positions.
"""

from __future__ import annotations

import dataclasses
import time
from collections.abc import Callable, Iterator, Sequence
from typing import NamedTuple

import numpy as np
from jax import Array

from jaxsudoku import cache

from .lookahead import estimate
from .optimal import Search
from .players import Progress
from .positions import SYMMETRIC_GUESSES, History, Positions, blocks
from .scoring import scorer
from .trees import Tree, grow

#: The first round's effort: the most codes of positions that are solved, and the guesses that are tried of others. Each
#: round multiplies the first, and adds to the second.
_EXACT, _WIDTH, _LARGER, _WIDER = 16, 4, 1.5, 2

#: Of positions that are not in the strategy so many times fewer guesses are tried.
_NARROWER = 4

#: Positions that are valued together, and their codes; and codes of positions that are split together.
_TOGETHER, _CHUNK, _CODES = 256, 1 << 14, 1 << 20

#: Positions in the memory of a search, about 1 GB; after as many a new search is begun.
_MOST_SEARCHED = 3_000_000

#: Seconds between two strategies that are given out.
_PAUSE = 60.0

#: The round of positions that are proven.
_PROVEN = 1 << 30


class _Effort(NamedTuple):
    """How well positions are valued.

    Attributes:
      round: the number of the round, from 0.
      exact: the most codes of a position that is solved.
      width: guesses that are tried of a larger one.
    """

    round: int
    exact: int
    width: int

    @property
    def within(self) -> _Effort:
        """The effort for parts of a position."""
        return self._replace(width=max(self.width // _NARROWER, 1))


@dataclasses.dataclass
class _Known:
    """The best strategy known for a position: its total, its first guess, and the last round that looked for it."""

    total: int
    guess: int
    round: int


class _OutOfTimeError(Exception):
    """The time is over."""


@cache.kept()
def improve(
    tree: Tree,
    seconds: float,
    progress: Progress = lambda text: None,
    better: Callable[[Tree], None] = lambda tree: None,
) -> Tree:
    """A strategy with a mean that is the same or lower.

    Args:
      tree: the strategy to begin with.
      seconds: the time, to which that of putting the best strategy together is added. It ends earlier where the
        strategy is proven to be the best.
      progress: called with a text now and then.
      better: called with every strategy that is better than those before it, about once a minute at most.

    Raises:
      GameError: the game's feedback table takes more than half of the memory.
      TreeError: the strategy does not find every code.
    """
    best = tree
    for found in _Improver(tree, time.monotonic() + seconds, progress).strategies():
        if found.attempts.sum() < best.attempts.sum():
            best = found
            better(best)
    return best


class _Improver:
    """Improves a strategy until a deadline on ``time.monotonic``'s clock."""

    def __init__(self, tree: Tree, deadline: float, progress: Progress) -> None:
        self._game, self._player = tree.game, tree.player
        self._deadline, self._progress = deadline, progress
        self._scorer, self._estimate = scorer(tree.game), estimate(tree.game)
        self._search = self._new_search()
        self._rebuilt = Search(tree.game)  # without a deadline
        self._known: dict[bytes, _Known] = {}
        for node in _nodes(tree):
            self._known[node.codes.tobytes()] = _Known(node.total, node.guess, -1)

    def strategies(self) -> Iterator[Tree]:
        """The best strategy known, now and then, until the time is over or it is proven; the last one is the best."""
        number, exact, given = 0, float(_EXACT), time.monotonic()
        everything = np.arange(self._game.secrets, dtype=np.int32).tobytes()
        while self._known[everything].round < _PROVEN:
            effort, tree = _Effort(number, int(exact), _WIDTH + _WIDER * number), self._tree()
            nodes = sorted(_nodes(tree), key=lambda node: len(node.codes))
            try:
                for chunk in _chunks(nodes):
                    self._values(Positions.of(node.codes for node in chunk), [node.history for node in chunk], effort)
                    self._progress(
                        f"round {number + 1}: {effort.width} guesses, up to {effort.exact} codes solved; "
                        f"at positions of {len(chunk[-1].codes):,}; {tree.attempts.sum():,} guesses"
                    )
                    if time.monotonic() > given + _PAUSE:
                        tree, given = self._tree(), time.monotonic()
                        yield tree
            except _OutOfTimeError:
                break
            number, exact = number + 1, exact * _LARGER
        yield self._tree()

    def _tree(self) -> Tree:
        """The best strategy known as a tree."""
        if len(self._rebuilt) > _MOST_SEARCHED:
            self._rebuilt = Search(self._game)

        def policy(positions: Positions, history: np.ndarray, key: Array) -> np.ndarray:
            known = [self._known.get(codes.tobytes()) for codes in positions]
            guesses = np.array([-1 if found is None else found.guess for found in known], np.int32)
            (within,) = np.nonzero(guesses < 0)
            if len(within):  # solved ones, whose guesses are not kept
                free = np.zeros((len(within), _length(None)), np.int32)
                guesses[within] = self._rebuilt.solve(positions.take(within), free)[0]
            return guesses

        (tree,) = grow(self._game, policy, player=self._player)
        return tree

    # ------------------------------------------------------------------ values

    def _values(self, positions: Positions, histories: Sequence[History], effort: _Effort) -> np.ndarray:
        """The totals of positions of more than two codes, int64[n], after they were looked for with an effort."""
        keys = [codes.tobytes() for codes in positions]
        wanted = {}
        for index, key in enumerate(keys):
            known = self._known.get(key)
            if known is None or known.round < effort.round:
                wanted[key] = index
        indices = np.array(list(wanted.values()), np.int64)
        few = positions.sizes[indices] <= effort.exact
        for start in range(0, few.sum(), _TOGETHER):
            chosen = indices[few][start : start + _TOGETHER]
            self._solve(positions.take(chosen), [histories[index] for index in chosen.tolist()])
        for start in range(0, (~few).sum(), _TOGETHER):
            larger = indices[~few][start : start + _TOGETHER]
            self._search_guesses(positions.take(larger), [histories[index] for index in larger], effort)
        return np.array([self._known[key].total for key in keys], np.int64)

    def _solve(self, positions: Positions, histories: Sequence[History]) -> None:
        """Finds the best totals of positions."""
        self._check_time()
        if len(self._search) > _MOST_SEARCHED:
            self._search = self._new_search()
        for length in sorted({_length(history) for history in histories}):
            (alike,) = np.nonzero([_length(history) == length for history in histories])
            chosen = positions.take(alike)
            made = [histories[index] or (0,) * length for index in alike.tolist()]
            history = np.array(made, np.int32).reshape(len(alike), length)
            guesses, totals = self._search.solve(chosen, history)
            for codes, guess, total in zip(chosen, guesses.tolist(), totals.tolist(), strict=True):
                self._known[codes.tobytes()] = _Known(total, guess, _PROVEN)

    def _new_search(self) -> Search:
        """A search that ends at the deadline."""
        return Search(self._game, progress=lambda text: self._check_time())

    def _search_guesses(self, positions: Positions, histories: Sequence[History], effort: _Effort) -> None:
        """Tries the best guesses of positions by the estimate, and the best ones known."""
        owner, guesses = self._candidates(positions, histories, effort.width)
        for pairs in blocks(positions.sizes[owner], _CODES):
            self._try(
                positions.take(owner[pairs]), [histories[index] for index in owner[pairs]], guesses[pairs], effort
            )
        for codes in positions:
            self._known[codes.tobytes()].round = effort.round

    def _candidates(
        self, positions: Positions, histories: Sequence[History], width: int
    ) -> tuple[np.ndarray, np.ndarray]:
        """Pairs of a position and a guess to try: (owner int64[pairs], guesses int32[pairs])."""
        owner, guesses = [], []
        for index, found, _ in self._scorer.ranked(positions, self._estimate, histories):
            known = self._known.get(positions[index].tobytes())
            best = [] if known is None else [known.guess]
            tried = [*best, *(guess for guess in found[:width].tolist() if guess not in best)]
            owner += [index] * len(tried)
            guesses += tried
        return np.array(owner, np.int64), np.array(guesses, np.int32)

    def _try(self, positions: Positions, histories: Sequence[History], guesses: np.ndarray, effort: _Effort) -> None:
        """Values a guess of each position, and keeps those that are the best known."""
        self._check_time()
        found = self._scorer.partition(positions, guesses)
        sizes = found.parts.sizes
        whole = np.zeros(len(positions), bool)
        whole[found.owner] = sizes == positions.sizes[found.owner]  # the guess gives no information
        (large,) = np.nonzero((sizes > 2) & ~whole[found.owner])
        totals = positions.sizes + np.bincount(found.owner, found.small_totals, len(positions)).astype(np.int64)
        if len(large):
            after = [_after(histories[found.owner[part]], int(guesses[found.owner[part]])) for part in large]
            values = self._values(found.parts.take(large), after, effort.within)
            totals += np.bincount(found.owner[large], values, len(positions)).astype(np.int64)
        for index in np.flatnonzero(~whole).tolist():
            key, total = positions[index].tobytes(), int(totals[index])
            known = self._known.get(key)
            if known is None:
                self._known[key] = _Known(total, int(guesses[index]), -1)
            elif total < known.total:
                known.total, known.guess = total, int(guesses[index])

    def _check_time(self) -> None:
        if time.monotonic() > self._deadline:
            raise _OutOfTimeError


class _Node(NamedTuple):
    """A position of a strategy: its codes int32[n], the guesses before it, its guess, and its total."""

    codes: np.ndarray
    history: History
    guess: int
    total: int


def _nodes(tree: Tree) -> Iterator[_Node]:
    """The positions of more than two codes of a strategy; raises TreeError if it does not find every code."""
    totals = np.rint(tree.remaining * tree.codes)
    score = scorer(tree.game)
    positions, numbers = Positions.of([np.arange(tree.game.secrets)]), np.zeros(1, np.int64)
    histories: list[History] = [()]
    while True:
        (several,) = np.nonzero(positions.sizes > 2)
        if not len(several):
            return
        positions, numbers = positions.take(several), numbers[several]
        histories = [histories[index] for index in several]
        guesses = tree.guesses[numbers]
        for codes, number, history in zip(positions, numbers.tolist(), histories, strict=True):
            yield _Node(codes, history, int(tree.guesses[number]), int(totals[number]))
        found = score.partition(positions, guesses)
        (others,) = np.nonzero(~found.won)
        owner = found.owner[others]
        histories = [_after(histories[index], int(guesses[index])) for index in owner]
        positions, numbers = found.parts.take(others), tree.children[numbers[owner], found.feedback[others]]


def _after(history: History, guess: int) -> History:
    """The guesses so far after another one."""
    return None if history is None or len(history) >= SYMMETRIC_GUESSES else (*history, guess)


def _length(history: History) -> int:
    """The number of guesses so far; one more than leave a symmetry for None."""
    return SYMMETRIC_GUESSES + 1 if history is None else len(history)


def _chunks(nodes: list[_Node]) -> Iterator[list[_Node]]:
    """Successive positions that are valued together."""
    start = codes = 0
    for end, node in enumerate(nodes):
        codes += len(node.codes)
        if end - start == _TOGETHER or codes > _CHUNK:
            yield nodes[start : end + 1]
            start, codes = end + 1, 0
    if start < len(nodes):
        yield nodes[start:]
