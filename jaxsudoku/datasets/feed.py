"""Shuffled batches of a data set for training, each puzzle under a random symmetry of its board.

In every epoch the shards are put in a random order and divided into windows of several; the rows of a window are
shuffled together. Only one window is kept in memory (two while the next one is read). A data set no larger than a
window is shuffled as a whole and read once.

All randomness comes from the key, the epoch and the step, so training can resume from any step.
"""

from __future__ import annotations

import functools
import itertools
from collections.abc import Iterator
from typing import NamedTuple

import jax
import numpy as np
from jax import Array

from jaxsudoku import symmetry
from jaxsudoku.core.board import Board
from jaxsudoku.generation import Puzzles
from jaxsudoku.runtime import cache
from jaxsudoku.runtime.random import as_key
from jaxsudoku.runtime.settings import whole_number

from .loader import Dataset

#: Default size of a window in bytes. The order of puzzles depends on it.
_WINDOW_BYTES = 1 << 28


class Batch(NamedTuple):
    """A training batch of puzzles, on the device.

    Attributes:
      puzzles: uint8[B, cells], 0 = empty.
      solutions: uint8[B, cells].
      clues: int32[B].
      rating: float32[B].
    """

    puzzles: Array
    solutions: Array
    clues: Array
    rating: Array


def batches(
    dataset: Dataset,
    key: Array | int,
    batch_size: int,
    *,
    augment: bool = True,
    epochs: int | None = None,
    drop_last: bool = True,
    start: int = 0,
    window: int | None = None,
    rows: slice | None = None,
) -> Iterator[Batch]:
    """Yields batches of a data set, shuffled again in each epoch.

    Args:
      dataset: the data set.
      key: a JAX key or a seed.
      batch_size: puzzles in a batch.
      augment: whether to apply a random symmetry of the board to each puzzle and its solution, a new one each time.
      epochs: number of epochs; None for endless batches.
      drop_last: leave out the last rows of an epoch if they are not a full batch (different rows in each epoch);
        otherwise the last batch is smaller.
      start: number of batches to skip.
      window: puzzles that are shuffled together, in whole shards; by default 256 MB of them. The order depends on it.
      rows: the rows of every batch to return, such as ``slice(0, 32)``: the share of one of several processes. None for
        all.

    Returns:
      Iterator of ``Batch``; raises ``DatasetError`` at a damaged shard.

    Raises:
      ValueError: a number is out of range, or the data set is smaller than a batch.
    """
    limits = (("batch_size", batch_size, 1), ("start", start, 0), ("epochs", epochs, 0), ("window", window, 1))
    for name, value, least in limits:
        if value is not None:
            whole_number(name, value, least, None)
    chosen = range(batch_size)[rows or slice(None)]
    if chosen.step != 1 or not chosen:
        raise ValueError(f"rows must be consecutive rows of a batch of {batch_size}, not {rows}")
    if drop_last and batch_size > len(dataset):
        raise ValueError(f"{len(dataset)} puzzles are fewer than a batch of {batch_size}")
    key = as_key(key)
    shuffle = _Shuffle(dataset, key, window)
    return _stream(shuffle, key, batch_size, augment, epochs, drop_last, start, chosen)


def _stream(
    shuffle: _Shuffle,
    key: Array,
    batch_size: int,
    augment: bool,
    epochs: int | None,
    drop_last: bool,
    start: int,
    chosen: range,
) -> Iterator[Batch]:
    size, board = len(shuffle.dataset), shuffle.dataset.board
    steps = size // batch_size if drop_last else -(-size // batch_size)
    first, skipped = divmod(start, steps)
    step = start
    for epoch in itertools.count(first) if epochs is None else range(first, epochs):
        for part, whole in _cut(shuffle.rows(epoch, skipped * batch_size), batch_size, drop_last, chosen):
            batch = Batch(*jax.device_put(part))
            if augment:
                with cache.kept():
                    batch = _augmented(board, whole, chosen.start, key, np.uint32(step), batch)
            yield batch
            step += 1
        skipped = 0


@functools.partial(jax.jit, static_argnames=("board", "size", "first"))
def _augmented(board: Board, size: int, first: int, key: Array, step: Array, batch: Batch) -> Batch:
    """Applies random symmetries to puzzles and solutions: rows from ``first`` on of a batch of ``size``."""
    chosen = symmetry.sample(jax.random.fold_in(key, step), board, (size,))
    if len(batch.puzzles) < size:
        chosen = jax.tree.map(lambda leaf: leaf[first : first + len(batch.puzzles)], chosen)
    puzzles, solutions = (symmetry.apply(chosen, grids) for grids in batch[:2])
    return batch._replace(puzzles=puzzles, solutions=solutions)


def _cut(
    pieces: Iterator[tuple[Puzzles, np.ndarray]], size: int, drop_last: bool, chosen: range
) -> Iterator[tuple[Puzzles, int]]:
    """Cuts pieces into batches of ``size``, across their borders; yields the chosen rows and the batches' sizes."""
    taken: list[Puzzles] = []
    missing = size
    for arrays, rows in pieces:
        while len(rows):
            now, rows = rows[:missing], rows[missing:]
            start, stop = (max(0, bound - (size - missing)) for bound in (chosen.start, chosen.stop))
            taken.append(Puzzles(*(array[now[start:stop]] for array in arrays)))
            missing -= len(now)
            if not missing:
                yield _joined(taken), size
                taken, missing = [], size
    if taken and not drop_last:
        yield _joined(taken), size - missing


def _joined(parts: list[Puzzles]) -> Puzzles:
    return parts[0] if len(parts) == 1 else Puzzles(*map(np.concatenate, zip(*parts, strict=True)))


class _Shuffle:
    """The order of a data set's rows in every epoch, and the rows themselves."""

    def __init__(self, dataset: Dataset, key: Array, window: int | None) -> None:
        self.dataset = dataset
        window = window or _WINDOW_BYTES // (2 * dataset.board.cells + 8)
        self._together = max(1, window // dataset.card.shard_size)  # shards in a window
        self._key = np.asarray(jax.random.key_data(key)).tolist()
        self._read: tuple[list[int], Puzzles] | None = None

    def rows(self, epoch: int, skip: int) -> Iterator[tuple[Puzzles, np.ndarray]]:
        """Yields the puzzles of each window and the order of its rows, without the first ``skip`` rows of the epoch."""
        shards = self._permutation(len(self.dataset.card.shards), epoch, 0)
        for number, start in enumerate(range(0, len(shards), self._together), 1):
            window = sorted(shards[start : start + self._together].tolist())
            size = sum(self.dataset.card.shards[shard].puzzles for shard in window)
            if skip < size:
                yield self._arrays(window), self._permutation(size, epoch, number)[skip:]
            skip = max(0, skip - size)

    def _arrays(self, window: list[int]) -> Puzzles:
        if self._read is None or self._read[0] != window:
            self._read = None
            self._read = window, self.dataset.arrays(window)
        return self._read[1]

    def _permutation(self, size: int, epoch: int, number: int) -> np.ndarray:
        # numpy guarantees only raw bits to be the same in all versions
        source = np.random.PCG64(np.random.SeedSequence([*self._key, epoch, number]))
        return np.argsort(source.random_raw(size), kind="stable")
