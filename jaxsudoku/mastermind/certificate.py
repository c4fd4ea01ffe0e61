"""Certificates of lower bounds: claims about positions, each of which a small program can check with the others.

A claim is a position and a lower bound of its total. It follows from claims about smaller positions: whatever the
guess, the position's size and the bounds of the parts that the guess leaves add up to the claimed bound or more. A part
for which there is no claim has the bound of its size (``optimal.least_totals``). The claim about the position of all
codes is a bound of all strategies. Claims are about relabelled positions (``Game.relabelled``) and hold for those that
are equivalent. They need not be in order, as a claim rests on smaller positions alone.

``tests/mastermind_checker.py`` reads the file and checks it, by numpy alone.
"""

from __future__ import annotations

import io
import json
import os
from pathlib import Path

import numpy as np

from jaxsudoku.files import write_file

from .costs import PartCost
from .games import to_fields
from .memo import Memo
from .optimal import Search, least_totals, sums_before
from .players import Progress
from .positions import SYMMETRIC_GUESSES, Positions, blocks, inequivalent_guesses
from .rules import Game
from .scoring import scorer

#: The version of the file.
VERSION = 1

#: Claims that are worked on together, and codes of positions that are split together.
_TOGETHER, _CODES = 256, 1 << 19


def save_certificate(
    game: Game, total: int, memo: Memo, path: str | os.PathLike[str], progress: Progress = lambda text: None
) -> int:
    """Writes the claims from which it follows that no strategy takes fewer guesses for all codes together.

    The file is a compressed npz: ``card``, JSON as bytes; ``codes`` and ``sizes``, the positions one after another,
    each with ascending codes; ``bounds``, a claimed bound for each. The last one is of all codes.

    Args:
      game: the game.
      total: the proven total.
      memo: what the search that proved it knows; bounds of further positions are added.
      path: the file.
      progress: called with a text now and then.

    Returns:
      the number of claims.
    """
    numbers = _Collector(game, memo, progress).claims(total)
    order = np.argsort(memo.sizes(numbers), kind="stable")
    positions = memo.take(numbers[order])
    card = {"certificate": VERSION, "game": to_fields(game), "total": total}
    kind = np.uint16 if game.secrets <= 1 << 16 else np.uint32
    columns = {
        "card": np.frombuffer(json.dumps(card).encode(), np.uint8),
        "codes": positions.codes.astype(kind),
        "sizes": positions.sizes.astype(np.int32),
        "bounds": memo.bounds[numbers[order]].astype(np.int32),
    }
    data = io.BytesIO()
    np.savez_compressed(data, **columns)
    write_file(Path(path), data.getvalue())
    return len(numbers)


class _Collector:
    """Collects the claims that a bound rests on."""

    def __init__(self, game: Game, memo: Memo, progress: Progress) -> None:
        self._game, self._memo, self._progress = game, memo, progress
        self._scorer, self._search = scorer(game), Search(game, memo=memo)
        self._least = least_totals(game)
        self._cost = PartCost(self._least.astype(np.int32), 1)
        self._claimed = np.zeros(0, bool)
        self._waiting: list[np.ndarray] = []

    def claims(self, total: int) -> np.ndarray:
        """The numbers of the positions that claims are about."""
        everything = np.arange(self._game.secrets, dtype=np.int32)
        self._relabel_first(Positions.of([everything]), ())
        (root,), _ = self._memo.add(Positions.of([everything]))
        if self._memo.bounds[root] < total:
            raise ValueError(f"the memo has a bound of {self._memo.bounds[root]:,}, not of {total:,}")
        found = []
        self._claim(np.array([root]))
        while self._waiting:
            numbers = np.concatenate(self._waiting)
            self._waiting = []
            found.append(numbers)
            for start in range(0, len(numbers), _TOGETHER):
                self._support(numbers[start : start + _TOGETHER])
                self._progress(f"{sum(map(len, found)) + sum(map(len, self._waiting)):,} claims")
        return np.concatenate(found)

    def _relabel_first(self, positions: Positions, history: tuple[int, ...]) -> None:
        """Gives the bounds of the first positions of the search, which keep their labels, to the relabelled ones."""
        if len(history) == SYMMETRIC_GUESSES:
            return
        for codes in positions:
            guesses = inequivalent_guesses(self._game, history)
            found = self._scorer.partition(Positions.of([codes] * len(guesses)), guesses)
            (large,) = np.nonzero((found.parts.sizes > 2) & (found.parts.sizes < len(codes)))
            parts = found.parts.take(large)
            numbers, _ = self._memo.add(parts)
            others, _ = self._memo.add(parts.relabelled(self._game))
            bounds = self._memo.bounds
            np.maximum.at(bounds, others, bounds[numbers])
            for owner in np.unique(found.owner[large]).tolist():
                if len(history) + 1 < SYMMETRIC_GUESSES:
                    own = parts.take(np.flatnonzero(found.owner[large] == owner))
                    self._relabel_first(own, (*history, int(guesses[owner])))

    def _claim(self, numbers: np.ndarray) -> None:
        """Claims the bounds of positions, unless that is done."""
        self._make_room()
        new = np.unique(numbers[~self._claimed[numbers]])
        self._claimed[new] = True
        if len(new):
            self._waiting.append(new)

    def _make_room(self) -> None:
        """Makes room for what is said of each position of the memo."""
        if len(self._claimed) < len(self._memo):
            grown = np.zeros(2 * len(self._memo), bool)
            grown[: len(self._claimed)] = self._claimed
            self._claimed = grown

    def _support(self, numbers: np.ndarray) -> None:
        """Claims what the bounds of some positions rest on."""
        positions = self._memo.take(numbers)
        below = (self._memo.bounds[numbers] - positions.sizes).tolist()
        ranked = self._scorer.ranked(positions, self._cost, [None] * len(numbers), below)
        pairs = [np.stack([np.full(len(guesses), index), guesses], axis=1) for index, guesses, _ in ranked]
        if not pairs:
            return
        owner, guesses = np.concatenate(pairs).T
        for some in blocks(positions.sizes[owner], _CODES):
            self._support_pairs(numbers, positions, owner[some], guesses[some])

    def _support_pairs(self, numbers: np.ndarray, positions: Positions, owner: np.ndarray, guesses: np.ndarray) -> None:
        """Claims what excludes the guesses of (position, guess) pairs."""
        found = self._scorer.partition(positions.take(owner), guesses)
        sizes = found.parts.sizes
        (large,) = np.nonzero((sizes > 2) & (sizes < positions.sizes[owner[found.owner]]))
        fixed = positions.sizes[owner] + np.bincount(found.owner, found.small_totals, len(owner)).astype(np.int64)
        whole = np.zeros(len(owner), bool)
        whole[found.owner] = sizes == positions.sizes[owner[found.owner]]
        of = found.owner[large]
        parts, _ = self._memo.add(found.parts.take(large).relabelled(self._game))
        least = self._least[sizes[large]]
        wanted = self._memo.bounds[numbers[owner]]
        self._raise(parts, of, least, fixed, np.where(whole, 0, wanted))
        bounds = np.maximum(self._memo.bounds[parts], least)
        gain = bounds - least
        missing = np.where(whole, 0, wanted - fixed - np.bincount(of, least, len(owner)).astype(np.int64))
        # first the claims that there are, then those that add most, as many as are enough
        self._make_room()
        order = np.lexsort((-gain, ~self._claimed[parts], of))
        before = sums_before(gain[order], of[order])
        needed = order[(before < missing[of[order]]) & (gain[order] > 0)]
        self._claim(parts[needed])

    def _raise(
        self, parts: np.ndarray, of: np.ndarray, least: np.ndarray, fixed: np.ndarray, wanted: np.ndarray
    ) -> None:
        """Raises the bounds of parts until each pair has the bound that is wanted.

        The search has these bounds for equivalent positions with other labels.
        """
        while True:
            bounds = np.maximum(self._memo.bounds[parts], least)
            lacking = wanted - fixed - np.bincount(of, bounds, len(fixed)).astype(np.int64)
            (pairs,) = np.nonzero(lacking > 0)
            if not len(pairs):
                return
            for pair in pairs.tolist():
                self._raise_pair(parts[of == pair], least[of == pair], int(wanted[pair] - fixed[pair]))

    def _raise_pair(self, parts: np.ndarray, least: np.ndarray, wanted: int) -> None:
        free = np.zeros((1, SYMMETRIC_GUESSES + 1), np.int32)
        for place in np.argsort(self._memo.sizes(parts), kind="stable").tolist():
            bounds = np.maximum(self._memo.bounds[parts], least)
            lacking = wanted - int(bounds.sum())
            if lacking <= 0:
                return
            self._search.solve(self._memo.take(parts[place : place + 1]), free, below=int(bounds[place]) + lacking)
        if int(np.maximum(self._memo.bounds[parts], least).sum()) < wanted:
            raise ValueError("a bound of the memo does not follow from the others")
