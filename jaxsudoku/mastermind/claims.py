"""Work claims of the processes of one search: each process prefers work that no other has claimed. No JAX.

A claim is a byte of a small memory-mapped file, at the index of a hash. It only affects the order of work: if it is
lost, or its hash collides, processes may do some work twice.
"""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from pathlib import Path

import numpy as np

from .mapped_files import Column

#: Maximum number of processes, which are numbered in a byte.
MOST_PROCESSES = 255

#: Number of bits of a hash; the file has 65,536 bytes.
_BITS = 16


class Claims:
    """The claims of one of several processes.

    Args:
      path: the file, which is created if missing.
      process: the number of the process, from 0, below ``MOST_PROCESSES``.
      processes: the number of processes.
    """

    def __init__(self, path: Path, process: int, processes: int) -> None:
        self._places = Column(path, np.dtype(np.uint8), 1 << _BITS).array
        self._own = np.uint8(process + 1)
        self.processes = processes
        self._places[self._places == self._own] = 0  # left by a dead process with this number

    def others(self, keys: np.ndarray) -> np.ndarray:
        """Whether other processes have claimed the work with some keys int64[n], bool[n]."""
        found = self._places[_hash(keys)]
        return np.asarray((found != 0) & (found != self._own))

    @contextlib.contextmanager
    def held(self, keys: np.ndarray) -> Iterator[None]:
        """A context that claims the work with some keys int64[n], except that claimed by other processes."""
        places = _hash(keys)
        self._places[places[self._places[places] == 0]] = self._own
        try:
            yield
        finally:
            self._places[places[self._places[places] == self._own]] = 0


def _hash(keys: np.ndarray) -> np.ndarray:
    mixed = keys.astype(np.uint64) * np.uint64(0x9E3779B97F4A7C15)
    return (mixed >> np.uint64(64 - _BITS)).astype(np.int64)
