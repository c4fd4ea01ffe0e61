"""Certificates of lower bounds: claims about positions, each of which a small program can check with the others.

A claim is a position and a lower bound of its total. It follows from claims about smaller positions: whatever the
guess, the position's size and the bounds of the parts that the guess leaves add up to the claimed bound or more. A part
for which there is no claim has the bound of its size (``optimal.least_totals``), or that of the most parts that any
guess leaves, if it is higher: the first code of each part takes a guess or more, each other code two. Of guesses that
are equivalent by exchanges of two colours, of two pegs or of both that keep the position, the first one is enough. The
claim about the position of all codes is a bound of all strategies. Claims are about relabelled positions
(``Game.relabelled``) and hold for those that are equivalent. They need not be in order, as a claim rests on smaller
positions alone.

``tests/support/mastermind_checker.py`` reads the file and checks it, by numpy alone.
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

from .costs import PartCost
from .games import to_fields
from .memo import Memo
from .optimal import Search, least_totals, sums_before
from .peg_game import PegGame
from .players import Progress
from .positions import SYMMETRIC_GUESSES, Positions, blocks, inequivalent_guesses
from .rules import Game, GameError, code_text
from .scoring import scorer

#: The version of the file. Version 1 had all claims, also about what follows from the number of parts, and excluded
#: equivalent guesses too. Versions 1 and 2 had the codes of positions instead of their steps.
VERSION = 3

#: Claims that are worked on together, codes of positions that are split together, and rows of the memo.
_TOGETHER, _CODES, _ROWS = 256, 1 << 19, 1 << 20

#: Up to this size the number of parts gives good bounds of guesses, and is fast.
_SMALL = 28

#: How many times what is missing is looked up at once.
_AHEAD = 4

#: Images of a position that are looked up for a bound, in one round after another.
_IMAGES = (4, 16, 64)


def save_certificate(
    game: Game, total: int, memo: Memo, path: str | os.PathLike[str], progress: Progress = lambda text: None
) -> int:
    """Writes the claims from which it follows that no strategy takes fewer guesses for all codes together.

    The file is an npz with LZMA compression, which ``numpy.load`` reads: ``card``, JSON as bytes; ``steps`` and
    ``sizes``, the positions one after another, each as its first code and the differences of its ascending codes;
    ``bounds``, a claimed bound for each. The last one is of all codes.

    Args:
      game: the game.
      total: the proven total.
      memo: what the search that proved it knows; bounds of further positions are added.
      path: the file.
      progress: called with a text now and then.

    Returns:
      the number of claims.

    Raises:
      ValueError: the memo has a lower bound than the total, or one that a claim needs does not follow from the others:
        every claim is checked before anything is written.
      GameError: the game is not of pegs.
      OSError: the file can't be written.
    """
    check_certified(game, path)
    collector = _Collector(game, memo, progress)
    numbers = collector.claims(total)[::-1]
    positions = memo.take(numbers)
    card = {"certificate": VERSION, "game": to_fields(game), "total": total}
    kind = np.uint16 if game.secrets <= 1 << 16 else np.uint32
    steps, firsts = np.diff(positions.codes, prepend=0), positions.bounds[:-1]
    steps[firsts] = positions.codes[firsts]
    columns = {
        "card": np.frombuffer(json.dumps(card).encode(), np.uint8),
        "steps": steps.astype(kind),
        "sizes": positions.sizes.astype(np.int32),
        "bounds": collector.wanted[numbers],
    }
    data = io.BytesIO()
    with zipfile.ZipFile(data, "w", zipfile.ZIP_LZMA) as archive:
        for name, column in columns.items():
            with archive.open(f"{name}.npy", "w", force_zip64=True) as file:
                np.lib.format.write_array(file, column, allow_pickle=False)
    write_file(Path(path), data.getvalue())
    return len(numbers)


def check_certified(game: Game, path: str | os.PathLike[str]) -> None:
    """Raises GameError if there are no certificates for a game, FileNotFoundError if the file's folder is missing."""
    if not isinstance(game, PegGame):
        raise GameError(f"certificates are for games of pegs, not for {game}")
    check_folder(Path(path))


class _Collector:
    """Collects the claims that a bound rests on, the largest positions first.

    When a position's turn comes, all larger ones are done, so the bound that they want of it is known. It may be lower
    than the memo's bound, and then it rests on less.

    Attributes:
      wanted: int32[rows], the bound that is claimed of each position of the memo; 0 where there is no claim.
    """

    def __init__(self, game: Game, memo: Memo, progress: Progress) -> None:
        self._game, self._memo, self._progress = game, memo, progress
        self._scorer, self._search = scorer(game), Search(game, memo=memo)
        self._least = least_totals(game)
        by_number = np.maximum(2 * np.arange(game.secrets + 1) - 1, 0)
        self._by_size, self._by_number = (PartCost(total.astype(np.int32), 1) for total in (self._least, by_number))
        self._gain, self._most_gain = self._gains()
        self._exchanges = _exchanges(game)
        self._rng = np.random.default_rng(0)
        self._waiting: dict[int, list[np.ndarray]] = {}  # by size
        self._number = 0
        self.wanted = np.zeros(0, np.int32)

    def claims(self, total: int) -> np.ndarray:
        """The numbers of the positions that claims are about which the file needs, the largest first."""
        everything = Positions.of([np.arange(self._game.secrets, dtype=np.int32)])
        (root,), _ = self._memo.add(everything)
        if self._memo.bounds[root] < total:
            raise ValueError(f"the memo has a bound of {self._memo.bounds[root]:,}, not of {total:,}")
        self._relabel_first(everything, ())
        self._want(np.array([root]), np.array([total]))
        found, done = [np.array([root])], 0
        while self._waiting:
            size = max(self._waiting)
            numbers = np.sort(np.concatenate(self._waiting.pop(size)))
            for start in range(0, len(numbers), _TOGETHER):
                some = numbers[start : start + _TOGETHER]
                needed = self._support(some)
                found.append(needed[needed != root])
                done += len(some)
                self._progress(f"claims: {done:,} done, {self._number - done:,} waiting, of {size:,} codes at most")
        return np.concatenate(found)

    def _gains(self) -> tuple[np.ndarray, np.ndarray]:
        """What the memo's bounds add to those of a size in the mean, float64[secrets + 1], and at most, int64."""
        number, total, most = (np.zeros(self._game.secrets + 1, np.int64) for _ in range(3))
        for start in range(0, len(self._memo), _ROWS):
            numbers = np.arange(start, min(start + _ROWS, len(self._memo)))
            sizes = self._memo.sizes(numbers)
            gain = np.maximum(self._memo.bounds[numbers] - self._least[sizes], 0)
            number += np.bincount(sizes, minlength=len(number))
            total += np.bincount(sizes, gain, len(total)).astype(np.int64)
            np.maximum.at(most, sizes, gain)
        return (total + 1) / (number + 1), most

    def _relabel_first(self, positions: Positions, history: tuple[int, ...]) -> None:
        """Gives the bounds of the first positions of the search, which keep their labels, to the relabelled ones."""
        for codes in positions:
            guesses = inequivalent_guesses(self._game, history)
            found = self._scorer.partition(Positions.of([codes] * len(guesses)), guesses)
            numbers = self._memo.find(found.parts)
            (known,) = np.nonzero((numbers >= 0) & (found.parts.sizes < len(codes)))
            self._raise_bounds(found.parts.take(known).relabelled(self._game), self._memo.bounds[numbers[known]])
            if len(history) + 1 < SYMMETRIC_GUESSES:
                for owner in np.unique(found.owner[known]).tolist():
                    own = found.parts.take(known[found.owner[known] == owner])
                    self._relabel_first(own, (*history, int(guesses[owner])))

    def _raise_bounds(self, positions: Positions, bounds: np.ndarray) -> None:
        """Adds positions to the memo where that has a lower bound or none."""
        numbers = self._memo.find(positions)
        (higher,) = np.nonzero((numbers < 0) | (self._memo.bounds[numbers] < bounds))
        numbers, _ = self._memo.add(positions.take(higher))
        self._memo.raise_bounds(numbers, bounds[higher])
        sizes = positions.sizes[higher]
        np.maximum.at(self._most_gain, sizes, bounds[higher] - self._least[sizes])

    def _want(self, numbers: np.ndarray, bounds: np.ndarray) -> None:
        """Claims bounds of positions, or higher ones than before."""
        self._make_room()
        new = np.unique(numbers[self.wanted[numbers] == 0])
        np.maximum.at(self.wanted, numbers, bounds.astype(np.int32))
        sizes = self._memo.sizes(new)
        for size in np.unique(sizes).tolist():
            self._waiting.setdefault(size, []).append(new[sizes == size])
        self._number += len(new)

    def _make_room(self) -> None:
        """Makes room for what is wanted of each position of the memo."""
        if len(self.wanted) < len(self._memo):
            self.wanted = np.concatenate([self.wanted, np.zeros(2 * len(self._memo) - len(self.wanted), np.int32)])

    def _support(self, numbers: np.ndarray) -> np.ndarray:
        """Claims what the wanted bounds of some positions of one size rest on.

        Returns the numbers of those whose bounds do not follow from the number of parts.
        """
        positions = self._memo.take(numbers)
        size = int(positions.sizes[0])
        _, scores = self._scorer.best(positions, self._by_number)
        (left,) = np.nonzero(scores + size < self.wanted[numbers])
        if not len(left):
            return numbers[left]
        numbers, positions = numbers[left], positions.take(left)
        cost = self._by_number if size <= _SMALL else self._by_size
        below = (self.wanted[numbers] - size).tolist()
        pairs = []
        for index, guesses, _ in self._scorer.ranked(positions, cost, [None] * len(numbers), below):
            if len(guesses) > 1:
                guesses = np.intersect1d(guesses, self._inequivalent(positions[index]), assume_unique=True)
            pairs.append(np.stack([np.full(len(guesses), index), guesses], axis=1))
        owner, guesses = np.concatenate(pairs).T
        for some in np.array_split(np.arange(len(owner)), -(-len(owner) * size // _CODES) or 1):
            if len(some):
                self._support_pairs(numbers[owner[some]], positions.take(owner[some]), guesses[some])
        return numbers

    def _inequivalent(self, codes: np.ndarray) -> np.ndarray:
        """The first guess of each class of those that exchanges turn into each other which keep a position."""
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

    def _support_pairs(self, numbers: np.ndarray, positions: Positions, guesses: np.ndarray) -> None:
        """Claims what excludes the guesses of (position, guess) pairs; the positions have one size."""
        found = self._scorer.partition(positions, guesses)
        owner, sizes, size = found.owner, found.parts.sizes, int(positions.sizes[0])
        totals = np.bincount(owner, np.where(found.won, 0, self._least[sizes]), len(guesses)).astype(np.int64)
        missing = self.wanted[numbers] - size - totals
        missing[owner[sizes == size]] = 0  # the position stays whole
        (kept,) = np.nonzero((missing[owner] > 0) & (self._most_gain[sizes] > 0) & ~found.won)
        parts, of = found.parts.take(kept), owner[kept]
        where = self._looked_up(parts, of, missing)
        lacking = self._lacking(where, parts.sizes, of, missing) > 0
        if lacking.any():
            (here,) = np.nonzero(lacking[of])
            some = np.cumsum(lacking) - 1
            where[here] = self._raised(parts.take(here), some[of[here]], missing[lacking])
            self._check(self._lacking(where, parts.sizes, of, missing), numbers, positions, guesses)
        self._choose(where, parts.sizes, of, missing)

    def _check(self, lacking: np.ndarray, numbers: np.ndarray, positions: Positions, guesses: np.ndarray) -> None:
        """Raises ValueError if something is still missing of a pair, int64[pairs]: a claim does not follow."""
        if (lacking > 0).any():
            pair = int(np.argmax(lacking))
            code, bound = code_text(self._game, int(guesses[pair])), int(self.wanted[numbers[pair]])
            raise ValueError(
                f"the memo has a bound of {bound:,} for a position of {len(positions[pair]):,} codes; with the guess "
                f"{code} only {bound - int(lacking[pair]):,} follow from its other bounds"
            )

    def _looked_up(self, parts: Positions, of: np.ndarray, missing: np.ndarray) -> np.ndarray:
        """The numbers of relabelled parts of pairs, int64[n], -1 where it is not known.

        The smaller parts are looked up first, until what they add is enough for each pair; more at once than may be
        enough, as some of them may be claimed already.
        """
        sizes, where = parts.sizes, np.full(len(parts), -1, np.int64)
        left = np.lexsort((sizes, of))
        while True:
            lacking = self._lacking(where, sizes, of, missing)
            left = left[lacking[of[left]] > 0]
            if not len(left):
                return where
            chosen = sums_before(self._gain[sizes[left]], of[left]) < _AHEAD * lacking[of[left]]
            where[left[chosen]] = self._memo.find(parts.take(left[chosen]).relabelled(self._game))
            left = left[~chosen]

    def _gain_of(self, where: np.ndarray, sizes: np.ndarray) -> np.ndarray:
        """What the memo's bounds of positions add to those of their sizes, int64[n]; 0 where the number is -1."""
        return np.where(where < 0, 0, np.maximum(self._memo.bounds[where] - self._least[sizes], 0))

    def _lacking(self, where: np.ndarray, sizes: np.ndarray, of: np.ndarray, missing: np.ndarray) -> np.ndarray:
        """What is missing of each pair beyond what the memo's bounds of its parts add, int64[pairs]."""
        found: np.ndarray = missing - np.bincount(of, self._gain_of(where, sizes), len(missing)).astype(np.int64)
        return found

    def _choose(self, where: np.ndarray, sizes: np.ndarray, of: np.ndarray, missing: np.ndarray) -> None:
        """Claims bounds of parts that add what is missing of each pair.

        First those that are claimed already, then the smaller ones, whose claims rest on less; as many as are enough.
        """
        (known,) = np.nonzero(where >= 0)
        where, of, least = where[known], of[known], self._least[sizes[known]]
        self._make_room()
        before = np.maximum(self.wanted[where], least) - least
        missing = missing - np.bincount(of, before, len(missing)).astype(np.int64)
        more = np.maximum(self._memo.bounds[where] - least, 0) - before
        order = np.lexsort((sizes[known], before == 0, of))
        order = order[more[order] > 0]
        left = missing[of[order]] - sums_before(more[order], of[order])
        chosen = order[left > 0]
        take = np.minimum(more[chosen], left[left > 0])
        self._want(where[chosen], least[chosen] + before[chosen] + take)

    # ------------------------------------------------------------------ bounds that are known for other labels

    def _raised(self, parts: Positions, of: np.ndarray, missing: np.ndarray) -> np.ndarray:
        """The numbers of relabelled parts of pairs whose bounds do not add what is missing, after these are raised.

        The search has such bounds for equivalent positions: where pegs or colours can't be told apart, several
        equivalent positions stay different. They are found by relabelling images at random. What is still missing then
        is searched for.
        """
        parts = parts.relabelled(self._game)
        where, _ = self._memo.add(parts)
        sizes = parts.sizes
        for images in _IMAGES:
            lacking = self._lacking(where, sizes, of, missing)
            some = np.unique(where[lacking[of] > 0])
            if not len(some):
                return where
            for block in blocks(self._memo.sizes(some) * images, _CODES):
                positions = self._memo.take(np.repeat(some[block], images))
                others = self._memo.find(_images(self._game, positions, self._rng).relabelled(self._game))
                bounds = np.where(others < 0, 0, self._memo.bounds[others]).reshape(-1, images).max(axis=1)
                self._raise_bounds(self._memo.take(some[block]), bounds)
        self._search_for(where, sizes, of, missing)
        return where

    def _search_for(self, where: np.ndarray, sizes: np.ndarray, of: np.ndarray, missing: np.ndarray) -> None:
        """Searches for bounds of parts, the smaller ones first, until they add what is missing of each pair."""
        order = np.lexsort((sizes, of))
        turns = np.arange(len(of)) - np.searchsorted(of[order], of[order])
        for turn in range(int(turns.max(initial=-1)) + 1):
            lacking = self._lacking(where, sizes, of, missing)
            chosen = order[turns == turn]
            chosen = chosen[lacking[of[chosen]] > 0]
            if not len(chosen):
                continue
            limits = self._least[sizes[chosen]] + self._gain_of(where[chosen], sizes[chosen]) + lacking[of[chosen]]
            history = np.zeros((len(chosen), SYMMETRIC_GUESSES + 1), np.int32)  # so long that it leaves no symmetry
            _, bounds = self._search.solve(self._memo.take(where[chosen]), history, limits)
            np.maximum.at(self._most_gain, sizes[chosen], bounds - self._least[sizes[chosen]])


def _exchanges(game: Game) -> np.ndarray:
    """The image of each code under each exchange of two colours, of two pegs, or both, int32[n, size]."""
    if not isinstance(game, PegGame):
        return np.zeros((0, game.size), np.int32)
    swaps = [[np.arange(number), *_swaps(number)] for number in (game.colours, game.pegs)]
    images = [game.index_of(colours.astype(np.uint8)[game.codes[:, pegs]]) for colours in swaps[0] for pegs in swaps[1]]
    return np.array(images[1:], np.int32).reshape(-1, game.size)


def _swaps(number: int) -> Iterator[np.ndarray]:
    for pair in itertools.combinations(range(number), 2):
        swapped = np.arange(number)
        swapped[list(pair)] = pair[::-1]
        yield swapped


def _images(game: Game, positions: Positions, rng: np.random.Generator) -> Positions:
    """Positions with pegs and colours in a random order, another one for each; words stay as they are."""
    if not isinstance(game, PegGame):
        return positions
    number, owner = len(positions), np.repeat(np.arange(len(positions)), positions.sizes)
    spaces = game.pegs if game.repeats and not game.elsewhere else 1  # then each peg's colours are permuted alone
    colours = rng.random((number, spaces, game.colours)).argsort(axis=2).astype(np.uint8)
    pegs = rng.random((number, game.pegs)).argsort(axis=1)
    images = colours[owner[:, None], np.arange(game.pegs) % spaces, game.codes[positions.codes]]
    images = np.take_along_axis(images, pegs[owner], axis=1)
    codes = np.sort(owner * game.secrets + game.index_of(images)) - owner * game.secrets
    return Positions(codes.astype(np.int32), positions.bounds)
