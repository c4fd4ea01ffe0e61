"""Memory of dropped arrays is used again, and never that of an array that something still reads."""

from __future__ import annotations

import jax
import numpy as np

from jaxsudoku.runtime import host_arrays

SHAPE = (1 << 14, 81)


def made() -> np.ndarray:
    return host_arrays.empty(SHAPE, np.uint8)


def test_memory_is_used_again_once_all_views_are_dropped(monkeypatch):
    monkeypatch.setattr(host_arrays, "_left", [])
    first = made()
    place, view = first.ctypes.data, first[5:, 3]
    first[...] = 7
    del first
    other = made()
    other[...] = 9
    assert other.ctypes.data != place and (view == 7).all()
    del view
    assert made().ctypes.data == place
    smaller = host_arrays.empty((1 << 14, 20), np.int32)  # another dtype, and nearly as many bytes
    assert smaller.ctypes.data == place and smaller.flags.writeable
    assert host_arrays.empty((3, 81), np.uint8).shape == (3, 81)


def test_no_more_than_so_much_is_kept(monkeypatch):
    monkeypatch.setattr(host_arrays, "_left", [])
    monkeypatch.setattr(host_arrays, "_MOST", 3 * SHAPE[0] * SHAPE[1])
    arrays = [made() for _ in range(5)]
    last = [array.ctypes.data for array in arrays][2:]
    while arrays:
        del arrays[0]
    assert [memory.ctypes.data for memory in host_arrays._left] == last
    assert len({made().ctypes.data for _ in range(2)}) == 1


def test_a_read_only_array_becomes_writable_in_place():
    values = np.arange(6, dtype=np.int32).reshape(2, 3)
    values.flags.writeable = False
    again = host_arrays.writable(values[:, 1:])
    again[...] = 0
    np.testing.assert_array_equal(values, [[0, 0, 0], [3, 0, 0]])


def test_results_come_by_page_locked_memory():
    """As an accelerator's do. A CPU has this kind of memory, and takes no copy of its own accord."""
    values = {"small": np.arange(7, dtype=np.uint8), "large": np.arange(1 << 15, dtype=np.uint32).reshape(-1, 2)}
    placed = jax.device_put(values)
    assert not host_arrays.page_locks(jax.devices()[0])
    for page_locked in (True, False):
        found = host_arrays.fetched(placed, page_locked)
        assert jax.tree.map(lambda array: (type(array), array.dtype), found) == {
            name: (np.ndarray, array.dtype) for name, array in values.items()
        }
        jax.tree.map(np.testing.assert_array_equal, found, values)
        copied = [found[name].ctypes.data != placed[name].unsafe_buffer_pointer() for name in values]
        assert copied == [page_locked] * 2
