"""Puzzles on devices: the answers are those of numpy arrays, on the puzzles' devices, without the host."""

from __future__ import annotations

import json

import jax
import numpy as np
import pytest
import reference
from processes import WARNINGS_ARE_ERRORS, alone

import jaxsudoku as js
from jaxsudoku.runtime import host_arrays
from jaxsudoku.runtime.arrays import from_dlpack
from jaxsudoku.solvers.driver import SolveKernel

FOUR = reference.SMALL["4x4"]

#: A batch that no other is below, and settings with which a small board is soon compiled; those of ``test_driver``.
SMALL = {"batch_size": 7, "lanes": 32, "rules": "naked"}


def puzzles_of_all_kinds() -> np.ndarray:
    """12 puzzles with one solution, several, or none."""
    puzzles = reference.batch(FOUR, 12)
    puzzles[::5] = 0
    return puzzles


class Foreign:
    """An array of another library, such as one of PyTorch: numpy reads it by DLPack alone."""

    def __init__(self, array):
        self.array = array

    def __dlpack__(self, **options):
        return self.array.__dlpack__(**options)

    def __dlpack_device__(self):
        return self.array.__dlpack_device__()


@pytest.mark.parametrize("kind", [jax.device_put, Foreign, np.asarray, np.ndarray.tolist])
def test_answers_are_those_of_numpy_arrays(kind):
    puzzles = puzzles_of_all_kinds()
    expected, found = js.solve(puzzles, **SMALL), js.solve(kind(puzzles), results="device", **SMALL)
    counts = js.count_solutions(kind(puzzles), limit=5, results="device", **SMALL)
    for array in (*found[:3], counts):
        assert isinstance(array, jax.Array) and array.sharding == jax.device_put(puzzles).sharding
    for one, other in zip(found[:3], expected[:3], strict=True):
        np.testing.assert_array_equal(one, other)
        assert one.dtype == other.dtype
    np.testing.assert_array_equal(counts, js.count_solutions(puzzles, limit=5, **SMALL))


def test_shapes_are_those_of_the_puzzles():
    puzzles = reference.unique(FOUR, 12)
    expected = js.solve(puzzles, **SMALL).grids
    texts = ["".join(map(str, puzzle)) for puzzle in puzzles]
    for given in (texts, jax.numpy.asarray(puzzles.reshape(3, 4, 4, 4)), puzzles.astype(np.int64).reshape(3, 4, 16)):
        found = js.solve(given, results="device", **SMALL)
        assert found.grids.shape == ((12, 16) if given is texts else given.shape)
        assert found.status.shape == ((12,) if given is texts else (3, 4))
        np.testing.assert_array_equal(found.grids.reshape(12, 16), expected)
    one = js.solve(jax.numpy.asarray(puzzles[0]), results="device", **SMALL)
    np.testing.assert_array_equal(one.grids, expected[0])
    assert one.status.shape == ()
    assert js.solve(jax.numpy.zeros((0, 16), "uint8"), results="device", **SMALL).grids.shape == (0, 16)


def test_a_further_call_traces_nothing(monkeypatch):
    puzzles = jax.numpy.asarray(puzzles_of_all_kinds())
    first = js.solve(puzzles, results="device", **SMALL)

    def traced(*arguments):
        raise AssertionError("the kernel is traced again")

    monkeypatch.setattr(SolveKernel, "__call__", traced)
    np.testing.assert_array_equal(js.solve(puzzles, results="device", **SMALL).grids, first.grids)


@pytest.mark.parametrize(
    "settings", [{"searches": 1}, pytest.param({"by": "technique", "up_to": "naked-single"}, marks=pytest.mark.slow)]
)
def test_ratings_are_those_of_numpy_arrays(settings):
    puzzles = puzzles_of_all_kinds()
    expected = js.rate(puzzles, batch_size=7, **settings)
    found = js.rate(jax.numpy.asarray(puzzles), batch_size=7, results="device", **settings)
    for one, other in zip(jax.tree.leaves(found), jax.tree.leaves(expected), strict=True):
        assert isinstance(one, jax.Array) and one.dtype == other.dtype
        np.testing.assert_array_equal(one, other)


def test_what_does_not_stay_on_a_device_is_refused():
    puzzles = puzzles_of_all_kinds()
    for arguments, message in (
        ({"results": "gpu"}, "unknown results 'gpu': choose one of host, device"),
        ({"devices": jax.devices()}, "solved on the devices that hold them; leave out devices"),
        ({"candidates": np.ones((12, 4, 16), bool)}, "without candidates; leave out results, or candidates"),
        ({"errors": "mark"}, "marked on the host; leave out results"),
    ):
        for answer in (js.solve, js.count_solutions):
            with pytest.raises(ValueError, match=message):
                answer(puzzles, **{"results": "device", **arguments})
    for wrong, message in (
        (puzzles.astype(np.float32), "puzzles of dtype float32; they must be integers"),
        (puzzles.astype(np.int32) - 1, r"puzzles hold values outside 0\.\.4"),
    ):
        with pytest.raises(ValueError, match=message):
            js.solve(jax.numpy.asarray(wrong), results="device", **SMALL)


def test_results_of_a_batch_can_be_written_to(monkeypatch):
    """Those of one batch, which are not copied unless they are few, and those of several."""
    puzzles, taken, writable = puzzles_of_all_kinds(), [], host_arrays.writable
    monkeypatch.setattr(host_arrays, "writable", lambda array: (taken.append(len(array)), writable(array))[1])
    for size, uncopied in ((5, 3), (2, 0), (12, 0)):
        taken.clear()
        found = js.solve(puzzles[:size], **SMALL)
        assert taken == [size] * uncopied
        again = js.solve(puzzles[:size], **SMALL)
        for array in found[:3]:
            array[...] = 9
        np.testing.assert_array_equal(again.grids, js.solve(puzzles[:size], **SMALL).grids)


def test_arrays_of_other_libraries_are_taken_without_a_copy():
    array = puzzles_of_all_kinds()
    assert np.shares_memory(from_dlpack(Foreign(array)), array)
    assert from_dlpack(array) is array
    assert from_dlpack("12") == "12"
    np.testing.assert_array_equal(js.solve(Foreign(array), **SMALL).status, js.solve(array, **SMALL).status)


#: Solves puzzles that are sharded in several ways, with no copy to the host while they are solved.
PROGRAM = """
import json, sys
import jax, numpy as np
import jaxsudoku as js
from jax.sharding import NamedSharding, PartitionSpec as P

puzzles = np.array(json.loads(sys.argv[1]), np.uint8)
small = {"batch_size": 16, "lanes": 32, "rules": "naked"}
mesh, copies = jax.make_mesh((2,), ("batch",)), jax.make_mesh((1, 2), ("batch", "copy"))
expected = js.solve(puzzles, **small)
places = [NamedSharding(mesh, P("batch")), NamedSharding(copies, P("batch")), NamedSharding(copies, P())]
for place in places:
    array = jax.device_put(puzzles, place)
    with jax.transfer_guard_device_to_host("disallow_explicit"):
        found = js.solve(array, results="device", **small)
    for result in found[:3]:
        assert result.sharding.is_equivalent_to(place, result.ndim), (result.sharding, place)
    np.testing.assert_array_equal(found.status, expected.status)
    np.testing.assert_array_equal(found.grids, expected.grids)
"""


def test_sharded_puzzles_are_solved_where_they_lie():
    puzzles = reference.unique(FOUR, 48)
    alone([*WARNINGS_ARE_ERRORS, "-c", PROGRAM, json.dumps(puzzles.tolist())])
