"""What a ``Solution`` shows of itself when it is printed."""

import pickle

import jax
import numpy as np
import pytest
from jax.sharding import PartitionSpec

import jaxsudoku as js
from jaxsudoku.engine.solution import Solution, Status

pytestmark = pytest.mark.quick


def solution(array=np.asarray, **stats):
    status = np.array([1, 1, 2, 3], np.int8)
    return Solution(
        array(np.zeros((4, 81), np.uint8)), array(status), array(np.array([3, 1, 1000, 0], np.int32)), stats
    )


@pytest.mark.parametrize("array", [np.asarray, jax.device_put])
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
        (jax.make_jaxpr, "Solution(grids=uint8[4,81], status=int8[4], iterations=int32[4])"),
        (jax.vmap, "Solution(grids=uint8[81], status=int8[], iterations=int32[])"),
    ],
)
def test_traced_arrays_are_shown_by_shape(transform, expected):
    shown = []

    def show(found):
        shown.append(str(found))
        return found.status

    transform(show)(solution(jax.device_put))
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
    found = jax.block_until_ready(solution(jax.device_put))
    found.status.delete()
    assert "status=int8[4]" in repr(found)


def test_an_unknown_status_is_told():
    assert "3 SOLVED, 1 status 9" in repr(solution()._replace(status=np.array([1, 9, 1, 1], np.int8)))


# ---------------------------------------------------------------------- some of its puzzles, pictures, tables

GRIDS = np.array([[1, 2, 3, 4, 3, 4, 1, 2, 2, 1, 4, 3, 4, 3, 2, 1], [0] * 16], np.uint8)
SOLVED = Solution(GRIDS, np.array([1, 2], np.int8), np.array([3, 7], np.int32), {"errors": np.array([0, -1], np.int32)})
PUZZLES = np.where(np.arange(16) % 3, GRIDS[0], 0) * np.ones((2, 1), np.uint8)


def test_the_results_of_some_puzzles():
    one = SOLVED.take(0)
    assert type(one) is Solution and one.grids.shape == (16,) and int(one.stats["errors"]) == 0
    assert SOLVED.take(slice(1, 2)).iterations.tolist() == [7]
    assert SOLVED.take(SOLVED.status == Status.SOLVED).iterations.tolist() == [3]
    assert SOLVED.take(np.array([1, 0])).status.tolist() == [2, 1]
    with pytest.raises(IndexError):
        SOLVED.take(2)
    for index in (0, slice(1, 2), np.array([1, 0])):
        traced = jax.eval_shape(lambda found, index=index: found.take(index), SOLVED)
        taken = SOLVED.take(index)
        assert type(traced) is Solution
        assert [leaf.shape for leaf in jax.tree.leaves(traced)] == [leaf.shape for leaf in jax.tree.leaves(taken)]


def test_a_solution_has_a_picture():
    one = SOLVED.take(0).picture(PUZZLES[0])
    assert sum(shape.role == "filled" for shape in one.shapes) == (PUZZLES[0] == 0).sum()
    assert SOLVED.picture(PUZZLES, titles=["solved", "none"]).svg.count("<title>") == 1
    with pytest.raises(ValueError, match="givens of shape"):
        SOLVED.picture(PUZZLES[0])


def test_a_notebook_shows_the_summary_and_the_first_grids():
    shown = SOLVED._repr_html_()
    assert shown.startswith("<p>Solution(2 puzzles of 16 cells: 1 SOLVED, 1 UNSATISFIABLE;")
    assert shown.count("<text") == 16
    assert "<svg" not in SOLVED.take(1)._repr_html_()
    assert SOLVED.take(0)._repr_html_().count("<text") == 16
    assert jax.tree.map(lambda part: np.stack([part] * 9), SOLVED)._repr_html_().count("<text") == 4 * 16
    shapes = jax.eval_shape(lambda found: found, SOLVED)
    assert (
        shapes._repr_html_()
        == "<p>Solution(grids=uint8[2,16], status=int8[2], iterations=int32[2], errors=int32[2])</p>"
    )


def test_boxes_are_drawn_only_if_the_grids_keep_them():
    """A solution does not know its board; of a jigsaw it shows no boxes."""
    rows = np.array([[1, 2, 3, 4], [2, 3, 4, 1], [3, 4, 1, 2], [4, 1, 2, 3]], np.uint8).reshape(1, 16)
    jigsaw = SOLVED.take(slice(1))._replace(grids=rows)
    borders = [found._repr_html_().count('class="border"') for found in (SOLVED.take(0), jigsaw)]
    assert borders == [3, 1]


def test_a_table_has_the_columns_of_the_command():
    table = SOLVED.to_table(PUZZLES)
    assert table.column_names == ["puzzle", "solution", "status", "iterations", "errors"]
    assert table.to_pylist() == [
        {
            "puzzle": ".23.34.22.43.32.",
            "solution": "1234341221434321",
            "status": "solved",
            "iterations": 3,
            "errors": 0,
        },
        {
            "puzzle": ".23.34.22.43.32.",
            "solution": None,
            "status": "unsatisfiable",
            "iterations": 7,
            "errors": -1,
        },
    ]
    assert SOLVED.to_table([".23.34.22.43.32."] * 2) == table
    assert jax.tree.map(jax.device_put, SOLVED).to_table().column_names == table.column_names[1:]
    assert len(SOLVED.take(0).to_table()) == 1
    with pytest.raises(ValueError, match="1 puzzles for 2 results"):
        SOLVED.to_table(PUZZLES[:1])


def test_generated_puzzles_have_a_table():
    clues, rating = np.array([10, 10], np.int32), np.array([0, 2.5], np.float32)
    table = js.Puzzles(PUZZLES, np.stack([GRIDS[0]] * 2), clues, rating).to_table()
    assert table.to_pylist()[1] == {
        "puzzle": ".23.34.22.43.32.",
        "solution": "1234341221434321",
        "clues": 10,
        "rating": 2.5,
    }
    assert [str(kind) for kind in table.schema.types] == ["string", "string", "int32", "float"]


def test_it_is_a_tuple_and_a_pytree_as_before():
    found = solution()
    assert isinstance(found, tuple) and type(jax.tree.map(lambda array: array, found)) is Solution
    assert len(jax.tree.leaves(found)) == 3
    restored = pickle.loads(pickle.dumps(found))
    assert type(restored) is Solution and (restored.status == found.status).all()
    assert Solution[np.ndarray](*found).status is found.status
    assert list(Status) == [0, 1, 2, 3, 4]
