"""What a ``Solution`` shows of itself when it is printed."""

import pickle

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from jax.sharding import PartitionSpec

from jaxsudoku.solution import Solution, Status

pytestmark = pytest.mark.quick


def solution(array=np.asarray, **stats):
    status = np.array([1, 1, 2, 3], np.int8)
    return Solution(
        array(np.zeros((4, 81), np.uint8)), array(status), array(np.array([3, 1, 1000, 0], np.int32)), stats
    )


@pytest.mark.parametrize("array", [np.asarray, jnp.asarray])
def test_a_batch_is_summed_up(array):
    shown = repr(jax.block_until_ready(solution(array)))
    assert shown == (
        "Solution(4 puzzles of 81 cells: 2 SOLVED, 1 UNSATISFIABLE, 1 INVALID; iterations mean 251.0, max 1,000)"
    )
    assert str(solution()) == shown


def test_other_counts_are_told_and_a_history_is_not():
    calls, history = np.array([5, 2, 0, 0], np.int32), np.zeros((4, 1000), np.int32)
    shown = repr(solution(network_calls=calls, errors=np.array([0, 0, 7, -1], np.int32), history=history))
    assert shown.endswith("; network calls mean 1.8, max 5; errors mean 2.3, max 7)")


def test_a_large_batch_takes_one_line():
    many = Solution(
        np.zeros((3, 50_000, 16), np.uint8), np.ones((3, 50_000), np.int8), np.ones((3, 50_000), np.int32), {}
    )
    assert repr(many) == "Solution(150,000 puzzles of 16 cells: 150,000 SOLVED; iterations mean 1.0, max 1)"


def test_a_single_puzzle_and_none_at_all():
    one = jax.tree.map(lambda array: array[2], solution())
    assert repr(one) == "Solution(1 puzzle of 81 cells: UNSATISFIABLE; iterations 1,000)"
    assert repr(jax.tree.map(lambda array: array[:1], solution())).startswith(
        "Solution(1 puzzle of 81 cells: 1 SOLVED;"
    )
    assert repr(jax.tree.map(lambda array: array[:0], solution())) == "Solution(0 puzzles of 81 cells)"


@pytest.mark.parametrize(
    ("transform", "expected"),
    [
        (jax.jit, "Solution(grids=uint8[4,81], status=int8[4], iterations=int32[4])"),
        (jax.vmap, "Solution(grids=uint8[81], status=int8[], iterations=int32[])"),
    ],
)
def test_traced_arrays_are_shown_by_shape(transform, expected):
    shown = []

    def show(found):
        shown.append(str(found))
        return found.status

    transform(show)(solution(jnp.asarray))
    assert shown == [expected]


def test_what_stands_for_arrays_is_shown_too():
    shapes = jax.eval_shape(lambda found: found, solution())
    assert repr(shapes) == "Solution(grids=uint8[4,81], status=int8[4], iterations=int32[4])"
    assert repr(Solution(0, None, 0, {})) == "Solution(grids=0, iterations=0)"
    axes = Solution(*[PartitionSpec("data")] * 3, {})
    assert repr(axes) == "Solution(grids={0}, status={0}, iterations={0})".format(repr(PartitionSpec("data")))
    assert "float32[4]" in repr(solution()._replace(iterations=np.zeros(4, np.float32)))
    assert "status=int8[3]" in repr(solution()._replace(status=np.zeros(3, np.int8)))


def test_printing_waits_for_no_device():
    class Pending:
        """An array that is still being computed."""

        shape, dtype, is_fully_addressable = (4,), np.dtype(np.int8), True

        def is_deleted(self):
            return False

        def is_ready(self):
            return False

        def __array__(self, *_, **__):
            raise AssertionError("this would wait")

    assert "status=int8[4]" in repr(solution()._replace(status=Pending()))


def test_arrays_that_were_given_away_are_shown_by_shape():
    found = jax.block_until_ready(solution(jnp.asarray))
    found.status.delete()
    assert "status=int8[4]" in repr(found)


def test_an_unknown_status_is_told():
    assert "3 SOLVED, 1 status 9" in repr(solution()._replace(status=np.array([1, 9, 1, 1], np.int8)))


def test_it_is_a_tuple_and_a_pytree_as_before():
    found = solution()
    assert isinstance(found, tuple) and type(jax.tree.map(lambda array: array, found)) is Solution
    assert len(jax.tree.leaves(found)) == 3
    restored = pickle.loads(pickle.dumps(found))
    assert type(restored) is Solution and (restored.status == found.status).all()
    assert Solution[np.ndarray](*found).status is found.status
    assert list(Status) == [0, 1, 2, 3]
