"""Large arrays on the host, with reused memory, and copies of results from devices.

Memory of dropped arrays is reused, as new pages cost more than filling them. Results are copied to page-locked memory,
which an accelerator writes at the full rate of its connection; copies to other memory take several times as long.
"""

from __future__ import annotations

import math
import threading
import weakref
from typing import Any

import jax
import numpy as np

#: JAX's name for page-locked memory.
_PAGE_LOCKED = "pinned_host"

#: Minimum size of memory that is kept for reuse, and maximum of all kept memory, in bytes.
_LARGE, _MOST = 1 << 20, 1 << 28

_left: list[np.ndarray] = []
_lock = threading.RLock()  # an array may be dropped at any time, also by the thread that holds the lock


class _Holder:
    """Owner of memory, from which numpy makes an array (``__array_interface__``)."""

    def __init__(self, interface: dict[str, Any]) -> None:
        self.__array_interface__ = interface


def empty(shape: tuple[int, ...], dtype: Any) -> np.ndarray:
    """An uninitialized array, as ``numpy.empty``; a large one reuses the memory of a dropped array.

    When the array and all views of it are dropped, its memory is kept for reuse, up to 256 MiB in all.
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
    """Keeps memory for reuse; frees the oldest kept memory above the maximum."""
    with _lock:
        _left.append(memory)
        while sum(each.nbytes for each in _left) > _MOST:
            del _left[0]


def writable(array: np.ndarray) -> np.ndarray:
    """A writable array over the memory of a read-only one, such as JAX's, that has no other readers."""
    holder: Any = _Holder({**array.__array_interface__, "data": (array.ctypes.data, False)})
    holder.array = array
    return np.asarray(holder)


def page_locks(device: jax.Device) -> bool:
    """Whether a device is an accelerator that can write to page-locked memory of the host."""
    return device.platform != "cpu" and _PAGE_LOCKED in {memory.kind for memory in device.addressable_memories()}


def fetched(arrays: Any, page_locked: bool) -> Any:
    """Copies a pytree of JAX arrays to read-only numpy arrays, all at the same time; no copies on a CPU.

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
