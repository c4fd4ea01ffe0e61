"""Large arrays on the host: memory that dropped ones leave is used again, as new pages cost more than filling them."""

from __future__ import annotations

import math
import threading
import weakref
from typing import Any

import numpy as np

#: The fewest bytes of memory that are worth being kept, and the most that are kept in all.
_LARGE, _MOST = 1 << 20, 1 << 28

_left: list[np.ndarray] = []
_lock = threading.RLock()  # an array may be dropped at any time, also by the thread that holds the lock


class _Holder:
    """What numpy takes for the owner of memory, and asks where that is."""

    def __init__(self, interface: dict[str, Any]) -> None:
        self.__array_interface__ = interface


def empty(shape: tuple[int, ...], dtype: Any) -> np.ndarray:
    """An array of undefined values, as ``numpy.empty``; a large one over memory that an earlier one has left.

    When the array and all views of it are dropped, its memory is kept for others, up to 256 MiB in all.
    """
    dtype = np.dtype(dtype)
    size = math.prod(shape) * dtype.itemsize
    if size < _LARGE:
        return np.empty(shape, dtype)
    with _lock:
        fitting = [place for place, memory in enumerate(_left) if size <= memory.nbytes <= 2 * size]
        memory = _left.pop(fitting[-1]) if fitting else np.empty(size, np.uint8)
    holder = _Holder({**memory.__array_interface__, "shape": (size,)})
    weakref.finalize(holder, _keep, memory).atexit = False
    return np.asarray(holder).view(dtype).reshape(shape)


def _keep(memory: np.ndarray) -> None:
    """Keeps memory, and drops what has been kept longest where it is too much."""
    with _lock:
        _left.append(memory)
        while sum(each.nbytes for each in _left) > _MOST:
            del _left[0]


def writable(array: np.ndarray) -> np.ndarray:
    """An array over the memory of a read-only one, such as JAX's, that nothing else reads."""
    holder: Any = _Holder({**array.__array_interface__, "data": (array.ctypes.data, False)})
    holder.array = array
    return np.asarray(holder)
