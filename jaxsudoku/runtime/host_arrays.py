"""Large arrays on the host, and results that come to it from a device.

Memory that dropped arrays leave is used again, as new pages cost more than filling them. Results come to page-locked
memory, which an accelerator writes at the full rate of its connection; to other memory it takes several times as long.
"""

from __future__ import annotations

import math
import threading
import weakref
from typing import Any

import jax
import numpy as np

#: JAX's kind of memory that is page-locked.
_PAGE_LOCKED = "pinned_host"

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


def page_locks(device: jax.Device) -> bool:
    """Whether a device is an accelerator that writes to page-locked memory of the host."""
    return device.platform != "cpu" and _PAGE_LOCKED in {memory.kind for memory in device.addressable_memories()}


def fetched(arrays: Any, page_locked: bool) -> Any:
    """A pytree of JAX arrays as read-only numpy arrays. All copies begin at once, and none is made on a CPU.

    Args:
      arrays: the arrays, each on one device.
      page_locked: whether to copy to page-locked memory. JAX keeps at most 64 GiB of it, unless
        ``XLA_PJRT_GPU_HOST_MEMORY_LIMIT_GB`` allows more.
    """
    if page_locked:
        arrays = jax.device_put(
            arrays, jax.tree.map(lambda array: array.sharding.with_memory_kind(_PAGE_LOCKED), arrays)
        )
    for leaf in jax.tree.leaves(arrays):
        leaf.copy_to_host_async()
    return jax.tree.map(np.asarray, arrays)
