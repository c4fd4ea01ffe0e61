"""Certificates of lower bounds: claims about positions, which a small program can check one by one.

A claim is a position and a lower bound of its total. It follows from claims about smaller positions: for every guess,
the position's size and the bounds of the parts that the guess leaves sum to at least the claimed bound. A part without
a claim has the bound of its size (``costs.least_totals``) or, if higher, the bound from the maximum number of parts of
any guess: the first code of each part takes at least one guess, each other code two. It suffices to test one guess per
orbit of the exchanges (of two colours, of two pegs, or of both) that fix the position. The claim about the position of
all codes bounds all strategies. Claims are about positions in the canonical labelling (``Game.relabelled``) and hold
for equivalent ones. Their order does not matter, as a claim depends only on smaller positions.

``tests/support/mastermind_checker.py`` reads and checks the file, with numpy only.
"""

from __future__ import annotations

import io
import itertools
import json
import os
import zipfile
from collections.abc import Iterator
from pathlib import Path

import numpy as np

from jaxsudoku.runtime.files import check_folder, write_file

from . import costs
from .games import to_fields
from .memo import Memo
from .optimal import Search
from .peg_game import PegGame
from .players import Progress
from .positions import SYMMETRIC_GUESSES, Positions, blocks, representatives, sums_before
from .rules import Game, GameError
from .scoring import scorer

#: Version of the file. Version 1 also had claims that follow from the number of parts, and excluded every guess.
#: Versions 1 and 2 had the codes of positions instead of their differences.
VERSION = 3

#: Numbers of claims processed together, of codes of positions split together, and of rows summed together.
_TOGETHER, _CODES, _ROWS = 256, 1 << 19, 1 << 20

#: Maximum size of positions for which guesses are bounded by the number of parts, which is fast.
_SMALL = 28

#: Parts are looked up together until their expected gain is this multiple of their pair's deficit.
_AHEAD = 4

#: Numbers of random images of a position that are looked up for a bound, by round.
_IMAGES = (4, 16, 64)


def save_certificate(
    game: Game, total: int, memo: Memo, path: str | os.PathLike[str], progress: Progress = lambda text: None
) -> None:
    """Writes claims that prove that no strategy takes fewer guesses in total for all codes.

    The file is an npz with LZMA compression, which ``numpy.load`` reads: ``card``, JSON as bytes; ``steps`` and
    ``sizes``, the concatenated positions, each as its first code and the differences of its ascending codes;
    ``bounds``, a claimed bound for each. The last position has all codes.

    Args:
      game: the game.
      total: the proven total.
      memo: the transposition table of the search that proved it; bounds of further positions are added.
      path: the file.
      progress: called with a text from time to time.

    Raises:
      ValueError: the memo's bound is below the total, or a claim does not follow from the others; all are checked
        before writing.
      GameError: the game is not a game of pegs.
      OSError: the file can't be written.
    """
    collector = _Collector(check_certified(game, path), memo, progress)
    rows = collector.claims(total)[::-1]
    positions = memo.take(rows)
    card = {"certificate": VERSION, "game": to_fields(game), "total": total}
    kind = np.uint16 if game.secrets <= 1 << 16 else np.uint32
    steps, firsts = np.diff(positions.codes, prepend=0), positions.bounds[:-1]
    steps[firsts] = positions.codes[firsts]
    columns = {
        "card": np.frombuffer(json.dumps(card).encode(), np.uint8),
        "steps": steps.astype(kind),
        "sizes": positions.sizes.astype(np.int32),
        "bounds": collector.claimed[rows],
    }
    data = io.BytesIO()
    with zipfile.ZipFile(data, "w", zipfile.ZIP_LZMA) as archive:
        for name, column in columns.items():
            with archive.open(f"{name}.npy", "w", force_zip64=True) as file:
                np.lib.format.write_array(file, column, allow_pickle=False)
    write_file(Path(path), data.getvalue())


def check_certified(game: Game, path: str | os.PathLike[str]) -> PegGame:
    """Returns the game; raises GameError if it has no certificates, FileNotFoundError if the folder is missing."""
    if not isinstance(game, PegGame):
        raise GameError(f"certificates are for games of pegs, not for {game}")
    check_folder(Path(path))
    return game


class _Collector:
    """Collects the claims that a bound depends on, the largest positions first.

    When a position is processed, all larger ones are done, so the bound that they need from it is known. It may be
    lower than the memo's bound, and then needs fewer claims.

    Attributes:
      claimed: int32[rows], the claimed bound of each row of the memo; 0 without a claim.
    """

    def __init__(self, game: PegGame, memo: Memo, progress: Progress) -> None:
        self._game, self._memo, self._progress = game, memo, progress
        self._scorer, self._search = scorer(game), Search(game, memo=memo)
        self._least = costs.least_totals(game)
        self._by_size, self._by_parts = costs.bounds(game)
        self._gain, self._most_gain = self._gains()
        self._exchanges = _exchanges(game)
        self._rng = np.random.default_rng(0)
        self._waiting: dict[int, list[np.ndarray]] = {}  # by size
        self._number = 0
        self.claimed = np.zeros(0, np.int32)

    def claims(self, total: int) -> np.ndarray:
        """The rows of the positions with claims in the file, the largest first."""
        everything = Positions.everything(self._game)
        (root,), _ = self._memo.add(everything)
        if self._memo.bounds[root] < total:
            raise ValueError(f"the memo has a bound of {self._memo.bounds[root]:,}, not of {total:,}")
        self._relabel_first(everything, ())
        self._claim(np.array([root]), np.array([total]))
        found, done = [np.array([root])], 0
        while self._waiting:
            size = max(self._waiting)
            rows = np.sort(np.concatenate(self._waiting.pop(size)))
            for start in range(0, len(rows), _TOGETHER):
                some = rows[start : start + _TOGETHER]
                needed = self._support(some)
                found.append(needed[needed != root])
                done += len(some)
                self._progress(f"claims: {done:,} done, {self._number - done:,} waiting, of {size:,} codes at most")
        return np.concatenate(found)

    def _gains(self) -> tuple[np.ndarray, np.ndarray]:
        """Excess of the memo's bounds over the bounds by size: the mean float64[secrets + 1] and the maximum, int64."""
        number, total, most = (np.zeros(self._game.secrets + 1, np.int64) for _ in range(3))
        for start in range(0, len(self._memo), _ROWS):
            rows = np.arange(start, min(start + _ROWS, len(self._memo)))
            sizes = self._memo.sizes(rows)
            gain = self._gain_of(rows, sizes)
            number += np.bincount(sizes, minlength=len(number))
            total += np.bincount(sizes, gain, len(total)).astype(np.int64)
            np.maximum.at(most, sizes, gain)
        return (total + 1) / (number + 1), most

    def _relabel_first(self, positions: Positions, history: tuple[int, ...]) -> None:
        """Copies the bounds of the search's first positions, which are not relabelled, to the relabelled ones."""
        for codes in positions:
            guesses = representatives(self._game, history)
            found = self._scorer.partition(Positions.of([codes] * len(guesses)), guesses)
            rows = self._memo.find(found.parts)
            (known,) = np.nonzero((rows >= 0) & (found.parts.sizes < len(codes)))
            self._raise_bounds(found.parts.take(known).relabelled(self._game), self._memo.bounds[rows[known]])
            if len(history) + 1 < SYMMETRIC_GUESSES:
                for owner in np.unique(found.owner[known]).tolist():
                    own = found.parts.take(known[found.owner[known] == owner])
                    self._relabel_first(own, (*history, int(guesses[owner])))

    def _raise_bounds(self, positions: Positions, bounds: np.ndarray) -> None:
        """Adds positions with these bounds to the memo, or raises lower bounds that it has."""
        rows = self._memo.find(positions)
        (higher,) = np.nonzero((rows < 0) | (self._memo.bounds[rows] < bounds))
        rows, _ = self._memo.add(positions.take(higher))
        self._memo.raise_bounds(rows, bounds[higher])
        sizes = positions.sizes[higher]
        np.maximum.at(self._most_gain, sizes, bounds[higher] - self._least[sizes])

    def _claim(self, rows: np.ndarray, bounds: np.ndarray) -> None:
        """Claims bounds of positions, or raises claimed bounds."""
        self._make_room()
        new = np.unique(rows[self.claimed[rows] == 0])
        np.maximum.at(self.claimed, rows, bounds.astype(np.int32))
        sizes = self._memo.sizes(new)
        for size in np.unique(sizes).tolist():
            self._waiting.setdefault(size, []).append(new[sizes == size])
        self._number += len(new)

    def _make_room(self) -> None:
        """Makes room for a claim about each row of the memo."""
        if len(self.claimed) < len(self._memo):
            self.claimed = np.concatenate([self.claimed, np.zeros(2 * len(self._memo) - len(self.claimed), np.int32)])

    def _support(self, rows: np.ndarray) -> np.ndarray:
        """Makes the claims that claims about some positions of one size depend on.

        Returns the rows of positions whose bounds do not follow from the number of parts.
        """
        positions = self._memo.take(rows)
        size = int(positions.sizes[0])
        _, scores = self._scorer.best(positions, self._by_parts)
        (left,) = np.nonzero(scores + size < self.claimed[rows])
        if not len(left):
            return rows[left]
        rows, positions = rows[left], positions.take(left)
        cost = self._by_parts if size <= _SMALL else self._by_size
        below = (self.claimed[rows] - size).tolist()
        pairs = []
        for index, guesses, _ in self._scorer.ranked(positions, cost, [None] * len(rows), below):
            if len(guesses) > 1:
                guesses = np.intersect1d(guesses, self._representatives(positions[index]), assume_unique=True)
            pairs.append(np.stack([np.full(len(guesses), index), guesses], axis=1))
        owner, guesses = np.concatenate(pairs).T
        for some in np.array_split(np.arange(len(owner)), -(-len(owner) * size // _CODES) or 1):
            if len(some):
                self._support_pairs(rows[owner[some]], positions.take(owner[some]), guesses[some])
        return rows

    def _representatives(self, codes: np.ndarray) -> np.ndarray:
        """One guess per orbit of the exchanges that fix the position, the first one."""
        inside = np.zeros(self._game.size, bool)
        inside[codes] = True
        keep = self._exchanges[inside[self._exchanges[:, codes]].all(axis=1)]
        first = np.arange(self._game.size)
        while True:
            before = first
            for images in keep:
                first = np.minimum(first, first[images])
            if (first == before).all():
                return np.flatnonzero(first == np.arange(len(first)))

    def _support_pairs(self, rows: np.ndarray, positions: Positions, guesses: np.ndarray) -> None:
        """Makes the claims that exclude (position, guess) pairs; the positions have one size."""
        found = self._scorer.partition(positions, guesses)
        owner, sizes, size = found.owner, found.parts.sizes, int(positions.sizes[0])
        totals = np.bincount(owner, np.where(found.won, 0, self._least[sizes]), len(guesses)).astype(np.int64)
        deficit = self.claimed[rows] - size - totals
        deficit[owner[sizes == size]] = 0  # the guess does not split the position
        (useful,) = np.nonzero((deficit[owner] > 0) & (self._most_gain[sizes] > 0) & ~found.won)
        parts, of = found.parts.take(useful), owner[useful]
        known = self._looked_up(parts, of, deficit)
        open_pairs = self._rest(known, parts.sizes, of, deficit) > 0
        if open_pairs.any():
            (here,) = np.nonzero(open_pairs[of])
            some = np.cumsum(open_pairs) - 1
            known[here] = self._raised(parts.take(here), some[of[here]], deficit[open_pairs])
            self._check(self._rest(known, parts.sizes, of, deficit), rows, positions, guesses)
        self._choose(known, parts.sizes, of, deficit)

    def _check(self, rest: np.ndarray, rows: np.ndarray, positions: Positions, guesses: np.ndarray) -> None:
        """Raises ValueError if a pair's deficit, int64[pairs], is not covered, so that a claim does not follow."""
        if (rest > 0).any():
            pair = int(np.argmax(rest))
            code, bound = self._game.code_text(int(guesses[pair])), int(self.claimed[rows[pair]])
            raise ValueError(
                f"the memo has a bound of {bound:,} for a position of {len(positions[pair]):,} codes; with the guess "
                f"{code} only {bound - int(rest[pair]):,} follow from its other bounds"
            )

    def _looked_up(self, parts: Positions, of: np.ndarray, deficit: np.ndarray) -> np.ndarray:
        """The rows of relabelled parts of pairs, int64[n]; -1 for parts that are missing or not needed.

        Smaller parts are looked up first, until their gains cover each pair's deficit, with a surplus, as some of them
        may be claimed already.
        """
        sizes, rows = parts.sizes, np.full(len(parts), -1, np.int64)
        left = np.lexsort((sizes, of))
        while True:
            rest = self._rest(rows, sizes, of, deficit)
            left = left[rest[of[left]] > 0]
            if not len(left):
                return rows
            chosen = sums_before(self._gain[sizes[left]], of[left]) < _AHEAD * rest[of[left]]
            rows[left[chosen]] = self._memo.find(parts.take(left[chosen]).relabelled(self._game))
            left = left[~chosen]

    def _gain_of(self, rows: np.ndarray, sizes: np.ndarray) -> np.ndarray:
        """Excess of the memo's bounds of positions over the bounds by size, int64[n]; 0 for row -1."""
        return np.where(rows < 0, 0, np.maximum(self._memo.bounds[rows] - self._least[sizes], 0))

    def _rest(self, rows: np.ndarray, sizes: np.ndarray, of: np.ndarray, deficit: np.ndarray) -> np.ndarray:
        """The part of each pair's deficit that the memo's bounds of its parts do not cover, int64[pairs]."""
        found: np.ndarray = deficit - np.bincount(of, self._gain_of(rows, sizes), len(deficit)).astype(np.int64)
        return found

    def _choose(self, rows: np.ndarray, sizes: np.ndarray, of: np.ndarray, deficit: np.ndarray) -> None:
        """Claims bounds of parts until each pair's deficit is covered.

        Parts that are claimed already come first, then smaller ones, whose claims need fewer others.
        """
        (known,) = np.nonzero(rows >= 0)
        rows, of, least = rows[known], of[known], self._least[sizes[known]]
        self._make_room()
        before = np.maximum(self.claimed[rows], least) - least
        deficit = deficit - np.bincount(of, before, len(deficit)).astype(np.int64)
        more = np.maximum(self._memo.bounds[rows] - least, 0) - before
        order = np.lexsort((sizes[known], before == 0, of))
        order = order[more[order] > 0]
        left = deficit[of[order]] - sums_before(more[order], of[order])
        chosen = order[left > 0]
        take = np.minimum(more[chosen], left[left > 0])
        self._claim(rows[chosen], least[chosen] + before[chosen] + take)

    # ------------------------------------------------------------------ bounds known under other labels

    def _raised(self, parts: Positions, of: np.ndarray, deficit: np.ndarray) -> np.ndarray:
        """Raises bounds of parts until each pair's deficit is covered; returns the rows of the relabelled parts.

        If the labelling can't distinguish some pegs or colours, equivalent positions may stay different, and the memo
        may have the bound of another one. Random images are relabelled to find it; remaining bounds are searched for.
        """
        parts = parts.relabelled(self._game)
        rows, _ = self._memo.add(parts)
        sizes = parts.sizes
        for images in _IMAGES:
            rest = self._rest(rows, sizes, of, deficit)
            some = np.unique(rows[rest[of] > 0])
            if not len(some):
                return rows
            for block in blocks(self._memo.sizes(some) * images, _CODES):
                positions = self._memo.take(np.repeat(some[block], images))
                others = self._memo.find(_images(self._game, positions, self._rng).relabelled(self._game))
                bounds = np.where(others < 0, 0, self._memo.bounds[others]).reshape(-1, images).max(axis=1)
                self._raise_bounds(self._memo.take(some[block]), bounds)
        self._search_for(rows, sizes, of, deficit)
        return rows

    def _search_for(self, rows: np.ndarray, sizes: np.ndarray, of: np.ndarray, deficit: np.ndarray) -> None:
        """Searches for bounds of parts, the smaller ones first, until each pair's deficit is covered."""
        order = np.lexsort((sizes, of))
        turns = np.arange(len(of)) - np.searchsorted(of[order], of[order])
        for turn in range(int(turns.max(initial=-1)) + 1):
            rest = self._rest(rows, sizes, of, deficit)
            chosen = order[turns == turn]
            chosen = chosen[rest[of[chosen]] > 0]
            if not len(chosen):
                continue
            limits = self._least[sizes[chosen]] + self._gain_of(rows[chosen], sizes[chosen]) + rest[of[chosen]]
            _, bounds = self._search.solve(self._memo.take(rows[chosen]), None, limits)
            np.maximum.at(self._most_gain, sizes[chosen], bounds - self._least[sizes[chosen]])


def _exchanges(game: PegGame) -> np.ndarray:
    """The image of each code under each exchange of two colours, of two pegs, or of both, int32[n, size]."""
    swaps = [[np.arange(number), *_swaps(number)] for number in (game.colours, game.pegs)]
    images = [game.index_of(colours.astype(np.uint8)[game.codes[:, pegs]]) for colours in swaps[0] for pegs in swaps[1]]
    return np.array(images[1:], np.int32).reshape(-1, game.size)


def _swaps(number: int) -> Iterator[np.ndarray]:
    for pair in itertools.combinations(range(number), 2):
        swapped = np.arange(number)
        swapped[list(pair)] = pair[::-1]
        yield swapped


def _images(game: PegGame, positions: Positions, rng: np.random.Generator) -> Positions:
    """Applies a random permutation of pegs and colours to each position."""
    number, owner = len(positions), np.repeat(np.arange(len(positions)), positions.sizes)
    spaces = game.pegs if game.separate else 1  # then each peg's colours are permuted independently
    colours = rng.random((number, spaces, game.colours)).argsort(axis=2).astype(np.uint8)
    pegs = rng.random((number, game.pegs)).argsort(axis=1)
    images = colours[owner[:, None], np.arange(game.pegs) % spaces, game.codes[positions.codes]]
    images = np.take_along_axis(images, pegs[owner], axis=1)
    codes = np.sort(owner * game.secrets + game.index_of(images)) - owner * game.secrets
    return Positions(codes.astype(np.int32), positions.bounds)
