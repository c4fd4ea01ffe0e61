"""What the processes of a search work on, so that others take something else first. No JAX.

A claim is a byte of a small file that is mapped into memory, at the place of a hash. It decides the order of work and
no more: if it is lost, or is of something else with the same hash, processes may do some work twice.
"""

from __future__ import annotations

from pathlib import Path

import numpy as np

from .mapped_files import Column

#: The most processes, as a byte names one of them.
MOST_PROCESSES = 255

#: Bits of a hash, and the bytes of the file.
_BITS = 16
_PLACES = 1 << _BITS


class Claims:
    """The claims of one of several processes.

    Args:
      path: the file, which is made if it is missing.
      process: the number of the process, from 0, below ``MOST_PROCESSES``.
      processes: how many there are.
    """

    def __init__(self, path: Path, process: int, processes: int) -> None:
        self._places = Column(path, np.dtype(np.uint8), _PLACES).array
        self._own = np.uint8(process + 1)
        self.processes = processes
        self.release_all()  # of a process with this number that died

    def others(self, keys: np.ndarray) -> np.ndarray:
        """Whether others work on what has some keys int64[n], bool[n]."""
        found = self._places[_hash(keys)]
        return np.asarray((found != 0) & (found != self._own))

    def take(self, keys: np.ndarray) -> None:
        """Claims what nobody has claimed."""
        places = _hash(keys)
        self._places[places[self._places[places] == 0]] = self._own

    def release(self, keys: np.ndarray) -> None:
        """Gives claims back."""
        places = _hash(keys)
        self._places[places[self._places[places] == self._own]] = 0

    def release_all(self) -> None:
        """Gives all claims of this process back."""
        self._places[self._places == self._own] = 0


def _hash(keys: np.ndarray) -> np.ndarray:
    mixed = keys.astype(np.uint64) * np.uint64(0x9E3779B97F4A7C15)
    return (mixed >> np.uint64(64 - _BITS)).astype(np.int64)
