"""What a search knows of the positions that it has reached: in memory, or in the files of a folder. No JAX.

A position is found by a key of 128 bits, the sums of two random words of 64 bits for each of its codes. Two positions
of one game share a key with a probability of 2^-128, and nothing else tells them apart.

In a folder each column is a file that is mapped into memory: the operating system writes it, keeps in memory what there
is room for, and reads the rest again. A search that was killed finds there what it knew. A position counts from the
moment when the file ``count`` includes it, after all else of it is written. That order is kept when a process dies, but
not when the machine does: then the folder is to be deleted.

Several processes may share a folder. Then a lock on the file ``count`` protects it: a process holds the lock while it
adds positions, records results, or reads results that must belong together. Rows are never removed or moved, so that
numbers are the same in all processes. Each process finds positions by a table of its own, to which it adds the rows of
others before it appends any. Results only get better: a bound is raised, a state is added, and what is proven stays.
The file ``memo.json`` is locked as long as a memo is open, by one process alone or by several that share the folder.
"""

from __future__ import annotations

import contextlib
import errno
import json
import os
import sys
import time
import weakref
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import numpy as np

from jaxsudoku.files import TEMPORARY, write_file

from .games import from_fields, to_fields
from .positions import Positions
from .rules import Game

if sys.platform != "win32":
    import fcntl

#: The columns, and their dtypes.
_COLUMNS = {
    "keys": np.dtype((np.uint64, 2)),
    "starts": np.dtype(np.int64),
    "sizes": np.dtype(np.int32),
    "bounds": np.dtype(np.int32),
    "guesses": np.dtype(np.int32),
    "states": np.dtype(np.uint8),
}

#: The name and the version of the file that says what a folder holds.
_CARD, _VERSION = "memo.json", 1

#: States of a position: its guesses were scored; its bound is exact, and its guess reaches it.
SCORED, PROVEN = 1, 2

#: Rows of the first columns, and the least slots of the table for each position.
_ROWS, _SLOTS = 1 << 16, 2

#: Seconds to wait for the end of processes that use a folder.
_PATIENCE = 30.0


class MemoError(ValueError):
    """A folder that holds no memo, a damaged one or that of another game; or a memo that contradicts itself."""


def _rows(path: Path, dtype: np.dtype[Any]) -> int:
    """The rows of the file of a column."""
    return path.stat().st_size // dtype.itemsize if path.exists() else 0


class _Column:
    """An array that grows, in memory or in a file."""

    def __init__(self, path: Path | None, dtype: np.dtype[Any]) -> None:
        self._path, self._dtype = path, dtype
        self.array = np.zeros(0, dtype)
        self.grow(max(_rows(path, dtype) if path else 0, _ROWS))

    def grow(self, rows: int) -> None:
        """Makes room for so many rows at least."""
        if rows <= len(self.array):
            return
        there = len(self.array) if self._path is None else _rows(self._path, self._dtype)  # others may have added some
        new = there if rows <= there else max(rows, 2 * there)
        base, shape = self._dtype.base, (new, *self._dtype.shape)
        if self._path is None:
            grown = np.zeros(shape, base)
            grown[: len(self.array)] = self.array
            self.array = grown
            return
        if new > there:
            with self._path.open("ab") as file:
                file.truncate(new * self._dtype.itemsize)
        self.array = np.memmap(self._path, base, "r+", shape=shape)


class Memo:
    """Distinct positions of a game, numbered in the order in which they are added, with a row of columns for each.

    Args:
      game: the game.
      folder: where the columns are kept; None for the machine's memory. A folder with a memo of the game is continued.
      shared: whether other processes use the folder at the same time, and share it as well. Without it nothing else may
        have the folder open until ``close``, if the file system has locks.

    Attributes:
      bounds: int32[rows], a lower bound of the total of each position.
      guesses: int32[rows], where a bound is proven to be the total, a guess that reaches it.
      states: uint8[rows], ``SCORED`` and ``PROVEN``.

    Raises:
      MemoError: the folder holds something else, or lacks a part of what it held.
      OSError: it can't be read or written; other processes use it; or it can't be shared, as the file system has no
        locks.
    """

    def __init__(self, game: Game, folder: str | os.PathLike[str] | None = None, shared: bool = False) -> None:
        place = None if folder is None else Path(folder)
        if place is not None:
            _open_folder(place, game)
        self._in_use = None if place is None else _in_use(place, shared)
        self._lock = _FileLock(place / "count") if place is not None and shared else None
        codes = np.dtype(np.uint16 if game.secrets <= 1 << 16 else np.uint32)
        columns = _COLUMNS | {"codes": codes, "count": np.dtype(np.int64)}
        self._words = np.random.default_rng(0).integers(1 << 64, size=(2, game.secrets), dtype=np.uint64)
        self._slots, self._placed = np.zeros(0, np.int32), 0
        with self._locked():
            if place is not None:
                _check_columns(place, columns)
            self._columns = {name: _Column(place and place / name, dtype) for name, dtype in columns.items()}
            self._rehash()

    def close(self) -> None:
        """Lets others open the folder; the memo is not to be used any more."""
        if self._in_use is not None:
            self._in_use.release()
            self._in_use = None

    def __len__(self) -> int:
        return int(self._columns["count"].array[0])

    @property
    def bounds(self) -> np.ndarray:
        return self._columns["bounds"].array

    @property
    def guesses(self) -> np.ndarray:
        return self._columns["guesses"].array

    @property
    def states(self) -> np.ndarray:
        return self._columns["states"].array

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
            numbers, guesses, states = numbers[still], guesses[still], states[still]
            self.bounds[numbers] = np.maximum(before, bounds)[still]
            self.guesses[numbers] = guesses
            self.states[numbers] |= states  # last, for a process may be killed between

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
        columns["bounds"].array[rows] = bounds
        columns["guesses"].array[rows] = columns["states"].array[rows] = 0
        columns["count"].array[0] = rows.stop
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


class _FileLock:
    """A lock on a file, which excludes other processes. The system releases it when a process ends."""

    def __init__(self, path: Path) -> None:
        self._file = os.open(path, os.O_RDWR | os.O_CREAT, 0o666)
        weakref.finalize(self, os.close, self._file)

    def acquire(self, shared: bool = False, wait: bool = True) -> None:
        """Takes the lock, alone or shared; raises BlockingIOError if others have it and this one is not to wait."""
        kind = fcntl.LOCK_SH if shared else fcntl.LOCK_EX
        fcntl.flock(self._file, kind | (0 if wait else fcntl.LOCK_NB))

    def release(self) -> None:
        """Gives the lock back."""
        fcntl.flock(self._file, fcntl.LOCK_UN)


def _in_use(folder: Path, shared: bool) -> _FileLock | None:
    """The lock of a folder, alone or shared; waits a while, as processes may have been killed a moment ago."""
    if sys.platform == "win32":
        return None
    lock, until = _FileLock(folder / _CARD), time.monotonic() + _PATIENCE
    while True:
        try:
            lock.acquire(shared, wait=False)
        except BlockingIOError as error:
            if time.monotonic() > until:
                raise BlockingIOError(errno.EAGAIN, "other processes search with this memo", str(folder)) from error
            time.sleep(0.05)
        except OSError as error:
            if shared:
                raise OSError(error.errno, "several processes need locks, which it lacks", str(folder)) from error
            return None  # the file system has no locks, so nobody shares the folder
        else:
            return lock


def _check_columns(folder: Path, columns: Mapping[str, np.dtype[Any]]) -> None:
    """Raises MemoError if files of a folder lack rows that its count includes."""

    def value(name: str, row: int) -> int:
        dtype = columns[name]
        return int(np.fromfile(folder / name, dtype, 1, offset=row * dtype.itemsize)[0])

    rows = {name: _rows(folder / name, dtype) for name, dtype in columns.items()}
    count = value("count", 0) if rows["count"] else 0
    short = [name for name in _COLUMNS if rows[name] < count]
    if count > 0 and not short and rows["codes"] < value("starts", count - 1) + value("sizes", count - 1):
        short = ["codes"]
    if short or count < 0:
        damaged = folder / short[0] if short else folder / "count"
        raise MemoError(f"{damaged}: damaged or missing, of a memo of {count:,} positions; delete the folder {folder}")


def _is_other(entry: Path) -> bool:
    """Whether an entry of a folder is neither a lock nor a card that was not written to the end."""
    return entry.name[0] != "." and entry.name != f"{_CARD}{TEMPORARY}"


def _open_folder(folder: Path, game: Game) -> None:
    """Makes the folder of a memo, or checks that it is that of a game."""
    card = {"memo": _VERSION, "game": to_fields(game)}
    path = folder / _CARD
    if not path.exists():
        if folder.exists() and any(_is_other(entry) for entry in folder.iterdir()):
            raise MemoError(f"{folder} holds other files, and no memo of a search")
        folder.mkdir(parents=True, exist_ok=True)
        write_file(path, f"{json.dumps(card, indent=2)}\n".encode())
        return
    try:
        there = json.loads(path.read_text())
        version, other = there["memo"], from_fields(there["game"])
    except (ValueError, KeyError, TypeError) as error:
        raise MemoError(f"{path} says of no memo: {error}") from error
    if version != _VERSION:
        raise MemoError(f"{path}: version {version} of the format is not known, only {_VERSION}")
    if other != game:
        raise MemoError(f"{folder} is of another game: {other}, not {game}")
