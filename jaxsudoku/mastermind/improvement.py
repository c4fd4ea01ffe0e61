"""Anytime improvement of a strategy: better guesses at every position, and optimal play at small ones.

A round processes the positions of the strategy, the smallest first, and values each with an effort (``valuation``).
Each round tries more guesses, and solves larger positions.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator

import numpy as np
from jax import Array

from jaxsudoku.runtime import cache
from jaxsudoku.runtime.settings import real_number

from .optimal import OutOfTimeError, Search
from .players import Progress
from .positions import Positions
from .trees import Node, Tree, grow, nodes
from .valuation import MOST_SEARCHED, TOGETHER, Effort, Valuer

#: Effort of the first round: the maximum size of positions that are solved, and the number of guesses tried at larger
#: ones. Each round multiplies the first and adds to the second.
_EXACT, _WIDTH, _LARGER, _WIDER = 16, 4, 1.5, 2

#: Number of codes of positions valued together.
_CHUNK = 1 << 14

#: Minimum seconds between strategies passed to ``better``.
_PAUSE = 60.0


@cache.kept()
def improve(
    tree: Tree,
    seconds: float,
    progress: Progress = lambda text: None,
    better: Callable[[Tree], None] = lambda tree: None,
) -> Tree:
    """Improves a strategy; returns one with the same or a lower mean.

    Args:
      tree: the initial strategy.
      seconds: the time limit, without the construction of the last strategy. It ends earlier if the strategy is proved
        optimal.
      progress: called with a text from time to time.
      better: called with every better strategy, about once a minute at most.

    Raises:
      ValueError: the time is not a number.
      GameError: the game's feedback table takes more than half of the memory.
      TreeError: the strategy does not find every code.
    """
    best, seconds = tree, real_number("seconds", seconds)
    for found in _Improver(tree, time.monotonic() + seconds, progress).strategies():
        if found.attempts.sum() < best.attempts.sum():
            best = found
            better(best)
    return best


class _Improver:
    """Improves a strategy until a deadline, on the clock of ``time.monotonic``."""

    def __init__(self, tree: Tree, deadline: float, progress: Progress) -> None:
        self._game, self._player = tree.game, tree.player
        self._progress = progress
        self._valuer = Valuer(tree.game, deadline)
        self._rebuilt = Search(tree.game)  # without a deadline
        reached = list(nodes(tree))
        totals, guesses = np.array([(node.total, node.guess) for node in reached], np.int64).reshape(-1, 2).T
        self._valuer.learn(Positions.of(node.codes for node in reached), totals, guesses)

    def strategies(self) -> Iterator[Tree]:
        """Yields the best strategy known from time to time, and at the end (time over, or proved optimal)."""
        number, exact, given = 0, float(_EXACT), time.monotonic()
        everything = Positions.everything(self._game)
        # one or two codes have one best strategy
        while self._game.secrets > 2 and not self._valuer.proven(everything).all():
            effort, tree = Effort(number, int(exact), _WIDTH + _WIDER * number), self._tree()
            reached = sorted(nodes(tree), key=lambda node: len(node.codes))
            try:
                for chunk in _chunks(reached):
                    positions = Positions.of(node.codes for node in chunk)
                    self._valuer.totals(positions, [node.history for node in chunk], effort)
                    self._progress(
                        f"round {number + 1}: {effort.width} guesses, up to {effort.exact} codes solved; "
                        f"at positions of {len(chunk[-1].codes):,}; {tree.attempts.sum():,} guesses"
                    )
                    if time.monotonic() > given + _PAUSE:
                        tree, given = self._tree(), time.monotonic()
                        yield tree
            except OutOfTimeError:
                break
            number, exact = number + 1, exact * _LARGER
        yield self._tree()

    def _tree(self) -> Tree:
        """The best known strategy as a tree."""
        if len(self._rebuilt) > MOST_SEARCHED:
            self._rebuilt = Search(self._game)

        def policy(positions: Positions, history: np.ndarray, key: Array) -> np.ndarray:
            guesses = self._valuer.guesses(positions)
            (within,) = np.nonzero(guesses < 0)
            if len(within):  # below solved positions, where later guesses are not stored
                guesses[within] = self._rebuilt.solve(positions.take(within), None)[0]
            return guesses

        (tree,) = grow(self._game, policy, player=self._player)
        return tree


def _chunks(reached: list[Node]) -> Iterator[list[Node]]:
    """Batches of successive positions that are valued together."""
    start = codes = 0
    for end, node in enumerate(reached):
        codes += len(node.codes)
        if end - start == TOGETHER or codes > _CHUNK:
            yield reached[start : end + 1]
            start, codes = end + 1, 0
    if start < len(reached):
        yield reached[start:]
