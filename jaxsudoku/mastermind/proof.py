"""Proves that a strategy is optimal, or finds a better one, or bounds the best total.

The search of ``optimal`` gets the strategy's total as upper bound, so it only has to exclude better strategies. It does
so in steps: each excludes totals below some limit, which is then a lower bound for all strategies. Its transposition
table may be kept in a folder, from which a later search can continue.
"""

from __future__ import annotations

import contextlib
import dataclasses
import math
import multiprocessing
import os
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

from jaxsudoku.runtime import cache
from jaxsudoku.runtime.locks import OutputLock
from jaxsudoku.runtime.settings import real_number, whole_number
from jaxsudoku.runtime.workers import processes as workers

from .certificate import check_certified, save_certificate
from .claims import MOST_PROCESSES, Claims
from .costs import least_totals
from .mapped_files import MemoError
from .memo import Memo
from .optimal import OutOfTimeError, Search
from .players import Policy, Progress
from .positions import Positions
from .rules import Game
from .trees import Tree, grow

#: Name of the file of claims in the folder of a memo.
_CLAIMS = "claims"

#: Share of the gap between the lower and the upper bound that a step excludes. Small steps search fewer positions
#: deeper than needed, large steps revisit fewer positions.
_STEP = 1 / 16


@dataclasses.dataclass(frozen=True, eq=False)
class Proof:
    """Result of ``prove``: the best known strategy of a game, and bounds.

    Attributes:
      tree: the best known strategy.
      lower: a lower bound of the total guesses of any strategy for all codes.
      left: possible first guesses of a better strategy, one per orbit, with lower bounds of their totals; empty if the
        strategy is proved optimal.
      positions: the number of positions that the search has reached.
      seconds: the time of the search.
    """

    tree: Tree
    lower: int
    left: tuple[tuple[int, int], ...]
    positions: int
    seconds: float

    @property
    def game(self) -> Game:
        """The game."""
        return self.tree.game

    @property
    def upper(self) -> int:
        """The total guesses of the best known strategy for all codes."""
        return int(self.tree.attempts.sum())

    @property
    def proven(self) -> bool:
        """Whether the strategy is proved optimal."""
        return self.lower == self.upper


class _SettledError(Exception):
    """Raised if another process has excluded the totals of this step."""


@cache.kept()
def prove(
    tree: Tree,
    seconds: float = math.inf,
    memo: str | os.PathLike[str] | None = None,
    progress: Progress = lambda text: None,
    certificate: str | os.PathLike[str] | None = None,
    processes: int = 1,
    better: Callable[[Tree], None] = lambda tree: None,
) -> Proof:
    """Searches for a better strategy until one is found, or none is proved to exist.

    Args:
      tree: a strategy, preferably a good one, as totals that are not below its own are not searched.
      seconds: the time limit, after which the search ends without a proof, on a monotonic clock; time that the machine
        sleeps may not count. The construction of a better strategy takes additional time.
      memo: a folder for the transposition table, about 100 bytes for each position; an existing memo of the game is
        continued. None keeps it in memory, or with several processes in a temporary folder.
      progress: called with a text from time to time.
      certificate: a file for the certificate, as from ``save_certificate``, if there is a proof; the time limit does
        not include it.
      processes: number of processes of this machine that search, each with its share of the cores. The totals are the
        same; the strategy may be another one that is equally good. With several, a script needs
        ``if __name__ == "__main__":``, as they load it again.
      better: called with a better strategy, if there is one, before the certificate is made.

    Raises:
      ValueError: a number of processes outside 1 to 255, several on Windows, or several without the guard; a time that
        is not a number.
      GameError: the game's feedback table takes more than half of the memory, or its proofs have no certificates.
      TreeError: the strategy does not find every code.
      MemoError: the folder belongs to another game, has other contents, or is damaged; or its bounds exclude the
        strategy itself.
      JobError: processes have died several times, or there are more of them than GPUs.
      OSError: the memo or the certificate can't be read or written, or another process uses the memo.
    """
    begun, seconds = time.monotonic(), real_number("seconds", seconds)
    if certificate is not None:
        check_certified(tree.game, certificate)
    if whole_number("processes", processes, 1, MOST_PROCESSES) > 1:
        _check_processes()
        if memo is None:
            with tempfile.TemporaryDirectory(prefix="jaxsudoku-", ignore_cleanup_errors=True) as temporary:
                return prove(tree, seconds, Path(temporary, "memo"), progress, certificate, processes, better)
    with contextlib.ExitStack() as stack:
        if memo is not None:
            Path(memo).mkdir(parents=True, exist_ok=True)
            stack.enter_context(OutputLock(memo))
        if processes > 1 and memo is not None:
            _search_in_processes(tree, begun + seconds, Path(memo), processes, progress)
        known = Memo(tree.game, memo)  # if processes have filled it, this search ends immediately
        stack.callback(known.close)
        narrowing = _Narrowing(tree.game, int(tree.attempts.sum()), begun + seconds, known, progress)
        with contextlib.suppress(OutOfTimeError):
            if narrowing.finds_better():
                (tree,) = grow(tree.game, narrowing.policy(), player="optimal")
                better(tree)
        lower, upper = narrowing.lower, int(tree.attempts.sum())
        if lower > upper:
            raise MemoError(f"a strategy takes {upper:,} guesses, which the memo's bound of {lower:,} excludes")
        if certificate is not None and lower == upper:
            save_certificate(tree.game, lower, known, certificate, progress)
        left = narrowing.search.openings(upper) if lower < upper else []
        return Proof(tree, lower, tuple(left), len(known), time.monotonic() - begun)


class _Narrowing:
    """Raises the lower bound of the best total step by step, until a better strategy or a proof is found.

    Args:
      game: the game.
      upper: the upper limit of totals of better strategies.
      until: the time at which the search ends by OutOfTimeError, on the clock of ``time.monotonic``.
      memo: the transposition table.
      progress: called with a text from time to time.
      claims: the claims of this process, if others search with the same table.
    """

    def __init__(
        self, game: Game, upper: int, until: float, memo: Memo, progress: Progress, claims: Claims | None = None
    ) -> None:
        self._upper, self._until, self._limit = upper, until, math.inf
        self._memo, self._progress = memo, progress
        self._everything, self._row = Positions.everything(game), _root(game, memo)
        self.search = Search(game, None, self._report, memo, claims)

    @property
    def lower(self) -> int:
        """The lower bound so far."""
        return int(self._memo.bounds[self._row])

    def finds_better(self) -> bool:
        """Searches; whether there is a better strategy. If not, the lower bound reaches the upper one."""
        self._excludes(0)  # so that all processes have the same first limit
        while self.lower < self._upper:
            self._limit = _limit(self.lower, self._upper)
            with contextlib.suppress(_SettledError):
                if not self._excludes(self._limit):
                    return True
        return False

    def policy(self) -> Policy:
        """The policy of the best strategy, after it was found; without a time limit."""
        self._until = self._limit = math.inf
        return self.search.policy

    def _excludes(self, limit: float) -> bool:
        """Searches for a total below a limit; returns whether there is none."""
        return bool(self.search.solve(self._everything, np.zeros((1, 0), np.int32), limit)[0][0] < 0)

    def _report(self, text: str) -> None:
        if time.monotonic() > self._until:
            raise OutOfTimeError
        if self.lower >= self._limit:
            raise _SettledError
        self._progress(f"{text}; bounds {self.lower:,} and {self._upper:,}")


def _limit(lower: int, upper: int) -> int:
    """The limit of the next step, from the bounds so far."""
    return lower + math.ceil(_STEP * (upper - lower))


def _check_processes() -> None:
    """Raises ValueError if several processes can't be started."""
    if sys.platform == "win32":
        raise ValueError("several processes need locks on files that Windows lacks: leave out processes")
    # as multiprocessing itself finds that a process is still loading the script that has started it
    if getattr(multiprocessing.current_process(), "_inheriting", False):
        raise ValueError(
            'several processes load the script again, so it needs `if __name__ == "__main__":` around its work'
        )


def _search_in_processes(tree: Tree, until: float, folder: Path, processes: int, progress: Progress) -> None:
    """Searches in several processes with a shared memo, until one has a proof or a better strategy, or time is over."""
    game, upper, claims = tree.game, int(tree.attempts.sum()), folder / _CLAIMS
    task = _Task(game, upper, until, folder)
    with contextlib.closing(Memo(game, folder, shared=True)) as memo:
        root = _root(game, memo)

        def report() -> None:
            progress(f"{len(memo):,} positions; bounds {memo.bounds[root]:,} and {upper:,}")

        claims.unlink(missing_ok=True)  # left by killed processes
        running = workers.run(processes, task, [_Place(number, processes) for number in range(processes)], report)
        try:
            next(running)
        finally:
            running.close()  # which ends the others
            claims.unlink(missing_ok=True)


def _root(game: Game, memo: Memo) -> int:
    """The row of the position of all codes."""
    rows, _ = memo.add(Positions.everything(game), least_totals(game)[-1:])
    return int(rows[0])


@dataclasses.dataclass(frozen=True)
class _Place:
    """The number of a process, and of all processes."""

    number: int
    processes: int

    def __str__(self) -> str:
        return f"process {self.number + 1} of {self.processes}"


@dataclasses.dataclass(frozen=True)
class _Task:
    """The search in a process that shares a memo with others, a ``runtime.workers.task.Task``.

    Attributes:
      game: the game.
      upper: the upper limit of totals of better strategies.
      until: the time at which the search ends, on the clock of ``time.monotonic``, the same for all processes.
      folder: the folder of the memo.
    """

    game: Game
    upper: int
    until: float
    folder: Path

    def begin(self) -> Callable[[Any], Any]:
        """The search function of a ``_Place``, which returns at a proof or when the time is over."""
        return self._search

    @cache.kept()
    def _search(self, place: _Place) -> None:
        claims = Claims(self.folder / _CLAIMS, place.number, place.processes)
        known = contextlib.closing(Memo(self.game, self.folder, shared=True, checked=True))
        with known as memo, contextlib.suppress(OutOfTimeError):
            _Narrowing(self.game, self.upper, self.until, memo, lambda text: None, claims).finds_better()
