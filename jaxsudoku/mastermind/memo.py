"""Transposition table of a search, in memory or in memory-mapped files of a folder. No JAX.

A position is found by a key of 128 bits, the sums of two random words of 64 bits for each of its codes. Two positions
of one game share a key with a probability of 2^-128; codes themselves are not compared.

In a folder each column is a memory-mapped file, which the operating system writes and caches. A search that was killed
can continue from it. A row is valid once the file ``count`` includes it, after its columns are written. This order is
kept if a process dies, but not if the machine crashes.

So everything in a folder is checked when it is opened. The key of a position is the checksum of its codes and their
location. Bounds and guesses are words with checksums (``checksums``), each written atomically. The count has two
checksums; that of the next count is written before the count. Damaged or incomplete files are refused.

Several processes may share a folder. Then a lock on the file ``count`` protects it: a process holds the lock while it
adds rows, records results, or reads results that must be consistent. Rows are never removed or moved, so their numbers
are the same in all processes. Each process has a hash table of its own, to which it adds the rows of others before it
appends any. Results only improve: bounds are raised, states are added, and proven results are kept. The file
``memo.json`` is locked as long as a memo is open, exclusively or by several processes that share the folder.
"""

from __future__ import annotations

import contextlib
import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np

from .checksums import checked_words, count_checksum, flags_of, intact, numbers_of
from .mapped_files import Column, FileLock, MemoError
from .memo_folder import lock_folder, open_folder
from .positions import Positions
from .rules import Game

#: The columns, and their dtypes. Words of bounds have the states as flags.
_COLUMNS = {
    "keys": np.dtype((np.uint64, 2)),
    "starts": np.dtype(np.int64),
    "sizes": np.dtype(np.int32),
    "bounds": np.dtype(np.uint64),
    "guesses": np.dtype(np.uint64),
}

#: The columns of words with checksums, and the word of the row's key that the checksums depend on.
_CHECKED = {"bounds": 0, "guesses": 1}

#: States of a position: its guesses were scored; its bound is exact and attained by its guess.
SCORED, PROVEN = 1, 2

#: Initial number of rows, and minimum number of slots of the hash table per row.
_ROWS, _SLOTS = 1 << 16, 2

#: Number of codes of positions checked together.
_CODES = 1 << 20


class Memo:
    """Table of distinct positions of a game, one per row, numbered in the order in which they are added.

    Args:
      game: the game.
      folder: the folder of the columns' files; None for memory. An existing memo of the game is continued.
      shared: whether other processes share the folder at the same time. If not, no other process may have the folder
        open until ``close``, if the file system has locks.
      checked: whether a process that shares the folder has checked all of it already.

    Attributes:
      bounds: int32[rows], a lower bound of the total of each position; read-only, like the others.
      guesses: int32[rows], for proven positions a guess that attains the total.
      states: uint8[rows], ``SCORED`` and ``PROVEN``.

    Raises:
      MemoError: the folder holds something else, or is damaged; the message names the file and the cause.
      OSError: it can't be read or written, or there is no space; other processes use it; or it can't be shared, as the
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
                    self._check_rows(game)
                self._rehash()
        except BaseException:
            self.close()
            raise

    def _open(self, codes: np.dtype[Any]) -> None:
        """Opens all columns (codes with this dtype), and initializes a new memo."""
        self._count = self._column("count", np.dtype(np.int64), 3)
        count, *checksums = self._count.array[:3].tolist()
        begun = any((count, *checksums))
        if begun and (count < 0 or count_checksum(count) not in checksums):
            raise self._damaged("count", f"damaged: {count:,} has another checksum")
        rows = 0 if len(self) else _ROWS  # a file with missing rows is not extended
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
        """Releases the folder; the memo must not be used afterwards."""
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

    def sizes(self, rows: np.ndarray) -> np.ndarray:
        """The number of codes of positions, int64[n]."""
        return self._columns["sizes"].array[rows].astype(np.int64)

    def take(self, rows: np.ndarray) -> Positions:
        """The positions of some rows."""
        sizes = self.sizes(rows)
        bounds = np.concatenate([np.zeros(1, np.int64), np.cumsum(sizes)])
        places = np.repeat(self._columns["starts"].array[rows] - bounds[:-1], sizes) + np.arange(bounds[-1])
        return Positions(self._columns["codes"].array[places].astype(np.int32), bounds)

    def results(self, rows: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """(whether positions are proven bool[n], their bounds int64[n], their guesses int32[n]), consistent."""
        with self._locked():
            proven = (self.states[rows] & PROVEN) > 0
            return proven, self.bounds[rows].astype(np.int64), self.guesses[rows]

    def record(self, rows: np.ndarray, bounds: np.ndarray, guesses: np.ndarray, states: np.ndarray) -> None:
        """Adds results of different rows: a lower bound, or with ``PROVEN`` the total; a guess; states.

        Higher lower bounds and results of proven positions are kept.

        Raises:
          MemoError: a proven total is below a bound, or differs from another one.
        """
        with self._locked():
            before, exact = self.bounds[rows], (states & PROVEN) > 0
            known = (self.states[rows] & PROVEN) > 0
            if ((exact & (before > bounds)) | (known & (before < bounds))).any():
                raise MemoError("a proven total is below a known bound")
            (still,) = np.nonzero(~known)
            rows = rows[still]
            self._write("guesses", rows, guesses[still])  # written first, as a process may be killed in between
            self._write("bounds", rows, np.maximum(before, bounds)[still], self.states[rows] | states[still])

    def raise_bounds(self, rows: np.ndarray, bounds: np.ndarray) -> None:
        """Raises lower bounds of rows, which may repeat; higher bounds are kept.

        Raises:
          MemoError: a bound is above a proven total.
        """
        rows, places = np.unique(rows, return_inverse=True)
        highest = np.zeros(len(rows), np.int64)
        np.maximum.at(highest, places, bounds)
        self.record(rows, highest, self.guesses[rows], np.zeros(len(rows), np.uint8))

    def _write(self, name: str, rows: np.ndarray | slice, values: np.ndarray, flags: np.ndarray | int = 0) -> None:
        """Writes values to a column of words with checksums."""
        keys = self._columns["keys"].array[rows, _CHECKED[name]]
        self._columns[name].array[rows] = checked_words(values, flags, keys)

    def add(self, positions: Positions, bounds: np.ndarray | None = None) -> tuple[np.ndarray, np.ndarray]:
        """Adds positions; returns (their rows int64[n], the indices int64[m] of new ones).

        New ones get lower bounds of their totals, int[n], or 0.
        """
        if not len(positions):
            return np.zeros(0, np.int64), np.zeros(0, np.int64)
        keys = self._keys(positions)
        order = np.lexsort((keys[:, 1], keys[:, 0]))  # stable: equal keys stay in order
        fresh = np.ones(len(order), bool)
        fresh[1:] = (keys[order[1:]] != keys[order[:-1]]).any(axis=1)
        firsts = order[fresh]
        rows = self._find(keys[firsts])
        (missing,) = np.nonzero(rows < 0)
        missing = missing[np.argsort(firsts[missing])]
        if len(missing):
            with self._locked():
                if self._lock is not None and self._absorb():
                    rows[missing] = self._find(keys[firsts[missing]])
                    missing = missing[rows[missing] < 0]
                new = firsts[missing]
                least = np.zeros(len(new), np.int64) if bounds is None else bounds[new]
                rows[missing] = self._append(keys[new], positions.take(new), least)
        found = np.empty(len(order), np.int64)
        found[order] = rows[np.cumsum(fresh) - 1]
        return found, firsts[missing]

    def find(self, positions: Positions) -> np.ndarray:
        """The rows of positions int64[n]; -1 for positions not in the memo."""
        return self._find(self._keys(positions))

    def _keys(self, positions: Positions) -> np.ndarray:
        """The keys of positions, uint64[n, 2]."""
        sums = np.zeros((2, len(positions.codes) + 1), np.uint64)
        np.cumsum(self._words[:, positions.codes], axis=1, dtype=np.uint64, out=sums[:, 1:])
        return np.ascontiguousarray(np.diff(sums[:, positions.bounds], axis=1).T)

    def _append(self, keys: np.ndarray, positions: Positions, bounds: np.ndarray) -> np.ndarray:
        """Adds new positions with lower bounds; returns their rows, int64[n]."""
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
        """Adds the rows of other processes to the hash table; returns whether there were any. Needs the lock."""
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
        """The lock on shared files, if there are other processes."""
        if self._lock is None:
            yield
            return
        self._lock.acquire()
        try:
            yield
        finally:
            self._lock.release()

    def _end(self) -> int:
        """The total number of codes of all positions."""
        last = len(self) - 1
        return 0 if last < 0 else int(self._columns["starts"].array[last] + self._columns["sizes"].array[last])

    # ------------------------------------------------------------------ the hash table, with open addressing

    def _rehash(self) -> None:
        """Makes a hash table with slots for at least twice the number of rows."""
        size = 1 << max(16, (2 * _SLOTS * len(self)).bit_length())
        self._slots, self._placed = np.full(size, -1, np.int32), 0
        self._place_rest()

    def _place_rest(self) -> None:
        """Adds the missing rows to the hash table."""
        if _SLOTS * len(self) > len(self._slots):
            self._rehash()
        for start in range(self._placed, len(self), _ROWS):
            self._place(np.arange(start, min(start + _ROWS, len(self))))
        self._placed = len(self)

    def _place(self, rows: np.ndarray) -> None:
        """Puts new, different rows into free slots of the hash table."""
        mask = len(self._slots) - 1
        slots = (self._columns["keys"].array[rows, 0] & np.uint64(mask)).astype(np.int64)
        while len(rows):
            free = self._slots[slots] < 0
            self._slots[slots[free]] = rows[free]  # if several want one slot, the last one gets it
            left = self._slots[slots] != rows
            rows, slots = rows[left], (slots[left] + 1) & mask

    def _find(self, keys: np.ndarray) -> np.ndarray:
        """The rows of positions by their keys, int64[n]; -1 for positions not in the memo."""
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

    # ------------------------------------------------------------------ checks of a folder

    def _set_count(self, count: int) -> None:
        """Writes the number of rows: first its checksum beside the one before, then the number."""
        array = self._count.array
        place = 1 + int(array[1] == count_checksum(len(self)))
        array[place] = count_checksum(count)
        array[0] = count
        array[3 - place] = 0

    def _check_rows(self, game: Game) -> None:
        """Raises MemoError unless all rows are unaltered, and the codes of each follow those of the previous one."""
        columns = {name: column.array for name, column in self._columns.items()}
        start = end = 0
        while start < len(self):
            some = slice(start, min(start + _ROWS, len(self)))
            sizes = columns["sizes"][some].astype(np.int64)
            self._check("sizes", start, (sizes > 0) & (sizes <= game.secrets), "has no such number of codes")
            ends = end + np.cumsum(sizes)
            follows = columns["starts"][some] == ends - sizes
            self._check("starts", start, follows, "does not begin where the one before ends")
            rows = np.arange(start, start + max(int(np.searchsorted(ends, end + _CODES)), 1))
            end = int(ends[len(rows) - 1])
            if len(columns["codes"]) < end:
                raise self._damaged("codes", f"damaged or missing, of a memo of {len(self):,} positions")
            positions, keys = self.take(rows), columns["keys"][rows]
            wrong = positions.codes >= game.secrets
            wrong[1:] |= positions.codes[1:] <= positions.codes[:-1]
            wrong[positions.bounds[:-1]] = positions.codes[positions.bounds[:-1]] >= game.secrets
            self._check("codes", start, ~np.logical_or.reduceat(wrong, positions.bounds[:-1]), "is no set of codes")
            self._check("keys", start, (self._keys(positions) == keys).all(axis=1), "has another key than its codes")
            for name, place in _CHECKED.items():
                self._check(name, start, intact(columns[name][rows], keys[:, place]), "has another checksum")
            start += len(rows)

    def _check(self, name: str, first: int, right: np.ndarray, cause: str) -> None:
        """Raises a MemoError that names the file and the first position that is not ``right`` bool[n]."""
        if not right.all():
            raise self._damaged(name, f"damaged: position {first + int(np.argmin(right)):,} {cause}")

    def _damaged(self, name: str, cause: str) -> MemoError:
        """The error of a damaged file."""
        return MemoError(f"{self._folder and self._folder / name}: {cause}; delete the folder {self._folder}")
