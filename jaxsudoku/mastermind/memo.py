"""What a search knows of the positions that it has reached: in memory, or in the files of a folder. No JAX.

A position is found by a key of 128 bits, the sums of two random words of 64 bits for each of its codes. Two positions
of one game share a key with a probability of 2^-128, and nothing else tells them apart.

In a folder each column is a file that is mapped into memory: the operating system writes it, keeps in memory what there
is room for, and reads the rest again. A search that was killed finds there what it knew. A position counts from the
moment when the file ``count`` includes it, after all else of it is written. That order is kept when a process dies, but
not when the machine does.

So all that is in a folder is checked when it is opened. The key of a position is the checksum of its codes and of where
they are. Bounds and guesses are words with check numbers (``seals``), each written at once. The count has two check
numbers, that of the next count being written before the count is. What was damaged, or was not written to the end when
the machine crashed, is refused.

Several processes may share a folder. Then a lock on the file ``count`` protects it: a process holds the lock while it
adds positions, records results, or reads results that must belong together. Rows are never removed or moved, so that
numbers are the same in all processes. Each process finds positions by a table of its own, to which it adds the rows of
others before it appends any. Results only get better: a bound is raised, a state is added, and what is proven stays.
The file ``memo.json`` is locked as long as a memo is open, by one process alone or by several that share the folder.
"""

from __future__ import annotations

import contextlib
import itertools
import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np

from .mapped_files import Column, FileLock, MemoError
from .memo_folder import lock_folder, open_folder
from .positions import Positions
from .rules import Game
from .seals import count_seal, flags_of, intact, joined, numbers_of, sealed

#: The columns, and their dtypes. Words of bounds have the states as flags.
_COLUMNS = {
    "keys": np.dtype((np.uint64, 2)),
    "starts": np.dtype(np.int64),
    "sizes": np.dtype(np.int32),
    "bounds": np.dtype(np.uint64),
    "guesses": np.dtype(np.uint64),
}

#: The column of keys with which the words of a column are sealed.
_SEALED = {"bounds": 0, "guesses": 1}

#: States of a position: its guesses were scored; its bound is exact, and its guess reaches it.
SCORED, PROVEN = 1, 2

#: Rows of the first columns, and the least slots of the table for each position.
_ROWS, _SLOTS = 1 << 16, 2

#: Codes of positions that are checked together.
_CODES = 1 << 20


class Memo:
    """Distinct positions of a game, numbered in the order in which they are added, with a row of columns for each.

    Args:
      game: the game.
      folder: where the columns are kept; None for the machine's memory. A folder with a memo of the game is continued.
      shared: whether other processes use the folder at the same time, and share it as well. Without it nothing else may
        have the folder open until ``close``, if the file system has locks.
      checked: whether a process that shares the folder has checked all of it already.

    Attributes:
      bounds: int32[rows], a lower bound of the total of each position; read-only, as the others.
      guesses: int32[rows], where a bound is proven to be the total, a guess that reaches it.
      states: uint8[rows], ``SCORED`` and ``PROVEN``.

    Raises:
      MemoError: the folder holds something else, or is damaged; the message names the file and the cause.
      OSError: it can't be read or written, or there is no room; other processes use it; or it can't be shared, as the
        file system has no locks.
    """

    def __init__(
        self,
        game: Game,
        folder: str | os.PathLike[str] | None = None,
        shared: bool = False,
        checked: bool = False,
    ) -> None:
        self._folder = None if folder is None else Path(folder)
        if self._folder is not None:
            open_folder(self._folder, game)
        self._in_use = None if self._folder is None else lock_folder(self._folder, shared)
        try:
            self._lock = FileLock(self._folder / "count") if self._folder is not None and shared else None
            self._words = np.random.default_rng(0).integers(1 << 64, size=(2, game.secrets), dtype=np.uint64)
            self._slots, self._placed = np.zeros(0, np.int32), 0
            with self._locked():
                self._open(np.dtype(np.uint16 if game.secrets <= 1 << 16 else np.uint32))
                if self._folder is not None and not checked:
                    self._check_places()
                    self._check_rows(game)
                self._rehash()
        except BaseException:
            self.close()
            raise

    def _open(self, codes: np.dtype[Any]) -> None:
        """Opens all columns, that of codes with a dtype; begins a memo that was not begun."""
        self._count = self._column("count", np.dtype(np.int64), 3)
        count, *seals = self._count.array[:3].tolist()
        begun = any((count, *seals))
        if begun and (count < 0 or count_seal(count) not in seals):
            raise self._damaged("count", f"damaged: {count:,} has another check number")
        rows = 0 if len(self) else _ROWS  # a file that lacks rows is not made longer
        self._columns = {name: self._column(name, dtype, rows) for name, dtype in (_COLUMNS | {"codes": codes}).items()}
        for name in _COLUMNS:
            if len(self._columns[name].array) < len(self):
                raise self._damaged(name, f"damaged or missing, of a memo of {len(self):,} positions")
        if not begun:
            if self._columns["sizes"].array[0]:
                raise self._damaged("count", "damaged or missing, of a memo that has positions")
            self._set_count(0)

    def _column(self, name: str, dtype: np.dtype[Any], rows: int) -> Column:
        return Column(self._folder and self._folder / name, dtype, rows)

    def close(self) -> None:
        """Lets others open the folder; the memo is not to be used any more."""
        if self._in_use is not None:
            self._in_use.release()
            self._in_use = None

    def __len__(self) -> int:
        return int(self._count.array[0])

    @property
    def bounds(self) -> np.ndarray:
        return numbers_of(self._columns["bounds"].array)

    @property
    def guesses(self) -> np.ndarray:
        return numbers_of(self._columns["guesses"].array)

    @property
    def states(self) -> np.ndarray:
        return flags_of(self._columns["bounds"].array)

    def sizes(self, numbers: np.ndarray) -> np.ndarray:
        """The numbers of codes of some positions, int64[n]."""
        return self._columns["sizes"].array[numbers].astype(np.int64)

    def take(self, numbers: np.ndarray) -> Positions:
        """The positions with some numbers."""
        sizes = self.sizes(numbers)
        bounds = np.concatenate([np.zeros(1, np.int64), np.cumsum(sizes)])
        places = np.repeat(self._columns["starts"].array[numbers] - bounds[:-1], sizes) + np.arange(bounds[-1])
        return Positions(self._columns["codes"].array[places].astype(np.int32), bounds)

    def results(self, numbers: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """(whether positions are proven bool[n], their bounds int64[n], their guesses int32[n]), of one moment."""
        with self._locked():
            proven = (self.states[numbers] & PROVEN) > 0
            return proven, self.bounds[numbers].astype(np.int64), self.guesses[numbers]

    def record(self, numbers: np.ndarray, bounds: np.ndarray, guesses: np.ndarray, states: np.ndarray) -> None:
        """Adds what is found of different positions: a lower bound, or with ``PROVEN`` the total; a guess; states.

        A lower bound that is higher stays, and so does all of a position that is proven.

        Raises:
          MemoError: a total that is proven is below a bound, or is not the only one.
        """
        with self._locked():
            before, exact = self.bounds[numbers], (states & PROVEN) > 0
            known = (self.states[numbers] & PROVEN) > 0
            if ((exact & (before > bounds)) | (known & (before < bounds))).any():
                raise MemoError("a total that is proven is below a bound that is known")
            (still,) = np.nonzero(~known)
            numbers = numbers[still]
            self._write("guesses", numbers, guesses[still])  # first, for a process may be killed between
            self._write("bounds", numbers, np.maximum(before, bounds)[still], self.states[numbers] | states[still])

    def raise_bounds(self, numbers: np.ndarray, bounds: np.ndarray) -> None:
        """Raises lower bounds of positions, which may repeat; those that are higher stay.

        Raises:
          MemoError: a bound is above a total that is proven.
        """
        numbers, places = np.unique(numbers, return_inverse=True)
        highest = np.zeros(len(numbers), np.int64)
        np.maximum.at(highest, places, bounds)
        self.record(numbers, highest, self.guesses[numbers], np.zeros(len(numbers), np.uint8))

    def _write(self, name: str, numbers: np.ndarray | slice, values: np.ndarray, flags: np.ndarray | int = 0) -> None:
        """Writes values of rows to a column of words."""
        keys = self._columns["keys"].array[numbers, _SEALED[name]]
        self._columns[name].array[numbers] = sealed(joined(values, flags), keys)

    def add(self, positions: Positions, bounds: np.ndarray | None = None) -> tuple[np.ndarray, np.ndarray]:
        """(the numbers of positions int64[n], the indices int64[m] of those that were not in the memo before).

        New ones get lower bounds of their totals, int[n], or 0.
        """
        if not len(positions):
            return np.zeros(0, np.int64), np.zeros(0, np.int64)
        keys = self._keys(positions)
        order = np.lexsort((keys[:, 1], keys[:, 0]))  # stable: equal keys stay in order
        fresh = np.ones(len(order), bool)
        fresh[1:] = (keys[order[1:]] != keys[order[:-1]]).any(axis=1)
        firsts = order[fresh]
        numbers = self._find(keys[firsts])
        (missing,) = np.nonzero(numbers < 0)
        missing = missing[np.argsort(firsts[missing])]
        if len(missing):
            with self._locked():
                if self._lock is not None and self._absorb():
                    numbers[missing] = self._find(keys[firsts[missing]])
                    missing = missing[numbers[missing] < 0]
                new = firsts[missing]
                least = np.zeros(len(new), np.int64) if bounds is None else bounds[new]
                numbers[missing] = self._append(keys[new], positions.take(new), least)
        new = firsts[missing]
        found = np.empty(len(order), np.int64)
        found[order] = numbers[np.cumsum(fresh) - 1]
        return found, new

    def find(self, positions: Positions) -> np.ndarray:
        """The numbers of positions int64[n]; -1 for those that are not in the memo."""
        return self._find(self._keys(positions))

    def _keys(self, positions: Positions) -> np.ndarray:
        """The keys of positions, uint64[n, 2]."""
        sums = np.zeros((2, len(positions.codes) + 1), np.uint64)
        np.cumsum(self._words[:, positions.codes], axis=1, dtype=np.uint64, out=sums[:, 1:])
        return np.ascontiguousarray(np.diff(sums[:, positions.bounds], axis=1).T)

    def _append(self, keys: np.ndarray, positions: Positions, bounds: np.ndarray) -> np.ndarray:
        """Adds new positions with lower bounds; their numbers, int64[n]."""
        count, columns = len(self), self._columns
        rows, end = slice(count, count + len(keys)), self._end()
        for name in _COLUMNS:
            columns[name].grow(rows.stop)
        columns["codes"].grow(end + len(positions.codes))
        columns["codes"].array[end : end + len(positions.codes)] = positions.codes
        columns["keys"].array[rows] = keys
        columns["starts"].array[rows] = positions.bounds[:-1] + end
        columns["sizes"].array[rows] = positions.sizes
        self._write("bounds", rows, bounds)
        self._write("guesses", rows, np.zeros_like(bounds))
        self._set_count(rows.stop)
        self._place_rest()
        return np.arange(rows.start, rows.stop)

    def _absorb(self) -> bool:
        """Adds the positions of other processes to the table of slots; whether there were any. Under the lock."""
        count = len(self)
        if count == self._placed:
            return False
        for name in _COLUMNS:
            self._columns[name].grow(count)
        self._columns["codes"].grow(self._end())
        self._place_rest()
        return True

    @contextlib.contextmanager
    def _locked(self) -> Iterator[None]:
        """The lock on what processes share, if they do."""
        if self._lock is None:
            yield
            return
        self._lock.acquire()
        try:
            yield
        finally:
            self._lock.release()

    def _end(self) -> int:
        """The number of codes of all positions."""
        last = len(self) - 1
        return 0 if last < 0 else int(self._columns["starts"].array[last] + self._columns["sizes"].array[last])

    # ------------------------------------------------------------------ the table of slots, with open addressing

    def _rehash(self) -> None:
        """Makes a table of slots with room for at least twice the positions that there are."""
        size = 1 << max(16, (2 * _SLOTS * len(self)).bit_length())
        self._slots, self._placed = np.full(size, -1, np.int32), 0
        self._place_rest()

    def _place_rest(self) -> None:
        """Puts the positions that are not in the table into it."""
        if _SLOTS * len(self) > len(self._slots):
            self._rehash()
        for start in range(self._placed, len(self), _ROWS):
            self._place(np.arange(start, min(start + _ROWS, len(self))))
        self._placed = len(self)

    def _place(self, numbers: np.ndarray) -> None:
        """Puts different positions, none of which is in the table, into free slots."""
        mask = len(self._slots) - 1
        slots = (self._columns["keys"].array[numbers, 0] & np.uint64(mask)).astype(np.int64)
        while len(numbers):
            free = self._slots[slots] < 0
            self._slots[slots[free]] = numbers[free]  # of several for one slot the last one gets it
            left = self._slots[slots] != numbers
            numbers, slots = numbers[left], (slots[left] + 1) & mask

    def _find(self, keys: np.ndarray) -> np.ndarray:
        """The numbers of positions by their keys, int64[n]; -1 for those that are not in the memo."""
        mask, there = len(self._slots) - 1, self._columns["keys"].array
        found = np.full(len(keys), -1, np.int64)
        slots = (keys[:, 0] & np.uint64(mask)).astype(np.int64)
        left = np.arange(len(keys))
        while len(left):
            here = self._slots[slots]
            same = (here >= 0) & (there[here] == keys[left]).all(axis=1)
            found[left[same]] = here[same]
            on = (here >= 0) & ~same
            left, slots = left[on], (slots[on] + 1) & mask
        return found

    # ------------------------------------------------------------------ checks of what is in a folder

    def _set_count(self, count: int) -> None:
        """Writes the number of positions: first its check number beside the one before, then the number."""
        array = self._count.array
        place = 1 + int(array[1] == count_seal(len(self)))
        array[place] = count_seal(count)
        array[0] = count
        array[3 - place] = 0

    def _check_places(self) -> None:
        """Raises MemoError unless the codes of each position follow on those of the one before."""
        end = 0
        for start in range(0, len(self), _CODES):
            rows = slice(start, min(start + _CODES, len(self)))
            sizes = self._columns["sizes"].array[rows]
            self._check("sizes", start, (sizes > 0) & (sizes <= len(self._words[0])), "has no such number of codes")
            ends = end + np.cumsum(sizes, dtype=np.int64)
            follows = self._columns["starts"].array[rows] == ends - sizes
            self._check("starts", start, follows, "does not begin where the one before ends")
            end = int(ends[-1])
        if len(self._columns["codes"].array) < end:
            raise self._damaged("codes", f"damaged or missing, of a memo of {len(self):,} positions")

    def _check_rows(self, game: Game) -> None:
        """Raises MemoError unless all codes, keys, bounds and guesses are as they were written."""
        columns = {name: column.array for name, column in self._columns.items()}
        cuts = np.searchsorted(columns["starts"][: len(self)], np.arange(0, self._end(), _CODES))
        for start, stop in itertools.pairwise(np.unique([*cuts, len(self)]).tolist()):
            rows = np.arange(start, stop)
            positions, keys = self.take(rows), columns["keys"][start:stop]
            wrong = positions.codes >= game.secrets
            wrong[1:] |= positions.codes[1:] <= positions.codes[:-1]
            wrong[positions.bounds[:-1]] = positions.codes[positions.bounds[:-1]] >= game.secrets
            self._check("codes", start, ~np.logical_or.reduceat(wrong, positions.bounds[:-1]), "is no set of codes")
            same = (self._keys(positions) == keys).all(axis=1)
            self._check("keys", start, same, "has another key than its codes")
            for name, place in _SEALED.items():
                whole = intact(columns[name][start:stop], keys[:, place])
                self._check(name, start, whole, "has another check number")

    def _check(self, name: str, first: int, right: np.ndarray, cause: str) -> None:
        """Raises MemoError that names a file and the first position, from one on, that is not right, bool[n]."""
        if not right.all():
            raise self._damaged(name, f"damaged: position {first + int(np.argmin(right)):,} {cause}")

    def _damaged(self, name: str, cause: str) -> MemoError:
        """The error of a damaged file."""
        return MemoError(f"{self._folder and self._folder / name}: {cause}; delete the folder {self._folder}")
