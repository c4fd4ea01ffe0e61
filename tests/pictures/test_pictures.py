"""Pictures of how errors fell: what is counted for them, and that they are drawn."""

from __future__ import annotations

import numpy as np
import pytest

import jaxsudoku as js
from jaxsudoku.pictures import Course

pytestmark = pytest.mark.quick

#: Histories of five puzzles: one is solved at its second step, one never, one takes no step.
HISTORY = np.array([[4, 0, -1, -1], [6, 6, 5, -1], [-1, -1, -1, -1], [2, 1, 1, 1], [3, 0, -1, -1]], np.int32)


@pytest.mark.parametrize("cuts", [[], [1], [2, 3], [1, 2, 3, 4]])
def test_a_course_counts_errors_by_step(cuts: list[int]) -> None:
    course = Course()
    for part in np.split(HISTORY, cuts):
        course.add(part)
    errors = np.array([[4, 6, 2, 3], [0, 6, 1, 0], [0, 5, 1, 0], [0, 5, 1, 0]])
    np.testing.assert_array_equal(course.counts, [np.bincount(row, minlength=7) for row in errors])
    np.testing.assert_allclose(course.mean(), errors.mean(axis=1))
    np.testing.assert_allclose(course.solved(), (errors == 0).mean(axis=1))
    np.testing.assert_array_equal(course.quantile(0.5), np.sort(errors, axis=1)[:, 1])
    np.testing.assert_array_equal(course.quantile(1), errors.max(axis=1))


def test_parts_may_have_any_number_of_steps() -> None:
    course = Course()
    for part in (HISTORY[:2, :2], HISTORY[2:], np.zeros((0, 3), np.int32), HISTORY[2:3]):
        course.add(part)
    errors = np.array([[4, 6, 2, 3], [0, 6, 1, 0], [0, 6, 1, 0], [0, 6, 1, 0]])
    np.testing.assert_array_equal(course.counts, [np.bincount(row, minlength=7) for row in errors])


def test_a_history_is_drawn(tmp_path) -> None:
    js.plot_history(HISTORY, tmp_path / "errors.svg")
    drawn = (tmp_path / "errors.svg").read_text()
    assert drawn.startswith("<?xml") and len(drawn) > 10_000
    js.plot_history(HISTORY[2:3], tmp_path / "nothing.png")
    assert (tmp_path / "nothing.png").read_bytes().startswith(b"\x89PNG")
    with pytest.raises(ValueError, match=r"errors.txt: no picture: its suffix must be one of .*\.png"):
        js.plot_history(HISTORY, tmp_path / "errors.txt")
    with pytest.raises(ValueError, match="no history: solve with record=N"):
        js.plot_history(None, tmp_path / "errors.png")
    js.plot_history(HISTORY[0], tmp_path / "one.png")
