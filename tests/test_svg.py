"""Pictures of boards and of steps as SVG."""

from __future__ import annotations

import xml.etree.ElementTree as ElementTree
from collections import Counter

import numpy as np
import pytest

import jaxsudoku as js
from jaxsudoku import svg

pytestmark = pytest.mark.quick

NAMESPACE = "{http://www.w3.org/2000/svg}"


def drawn(image: str, role: str) -> list[ElementTree.Element]:
    """The elements of an image that have a role."""
    return [element for element in ElementTree.fromstring(image).iter() if element.get("class") == role]


def texts(image: str, role: str) -> list[str]:
    """The texts with a role."""
    return [element.text for element in drawn(image, role)]


def test_givens_are_told_from_filled_cells():
    puzzle = js.parse("1.34.4122.4.43.1")
    solution = js.parse("1234341221434321")
    image = js.Board.classic(4).picture(solution, puzzle)
    assert texts(image, "given") == [str(digit) for digit in puzzle if digit]
    assert len(texts(image, "filled")) == (puzzle == 0).sum()
    assert len(texts(js.Board.classic(4).picture(solution), "given")) == 16


@pytest.mark.parametrize(
    ("board", "borders"),
    [
        (js.Board.classic(4), 2 * 2 * 4 + 1),  # two borders of four cells each way, and the outer edge on two sides
        (js.Board.jigsaw("aaab cabb ccdb cddd"), 4 + 4 + 1 + 12),
    ],
)
def test_borders_run_between_regions(board, borders):
    labels = np.zeros(board.cells, int)
    for number, house in enumerate(board.region_houses):
        labels[list(house)] = number
    grid = labels.reshape(board.side, board.side)
    inner = (grid[1:] != grid[:-1]).sum() + (grid[:, 1:] != grid[:, :-1]).sum()
    assert len(drawn(board.picture(), "border")) == inner + 2 * board.side + 1 == borders


@pytest.mark.parametrize(("name", "cells"), [("diagonal", 17), ("windoku", 36), ("9", 0)])
def test_further_houses_are_shaded(name, cells):
    assert len(drawn(js.Board.named(name).picture(), "house")) == cells


def test_marks_are_drawn_on_top():
    marks = svg.Marks(
        candidates=[(0, 0), (1, 0), (2, 5)],
        cells={0: "pattern", 5: "placed"},
        marked={(1, 0): "removed", (3, 7): "kept"},
        arrows=[((0, 0), (2, 5))],
    )
    image = js.Board.classic(4).picture(marks=marks)
    counts = Counter(element.get("class") for element in ElementTree.fromstring(image).iter())
    wanted = {"candidate": 2, "removed": 1, "kept": 1, "pattern": 1, "placed": 1, "arrow": 1}
    assert {role: counts[role] for role in wanted} == wanted
    assert texts(image, "removed") == ["2"]


@pytest.mark.parametrize("side", [4, 6, 9, 16, 25])
def test_candidates_lie_in_their_cells(side):
    cell = side * side - 2
    marks = svg.Marks(candidates=[(digit, cell) for digit in range(side)], cells={cell: "pattern"})
    image = js.Board.classic(side).picture(marks=marks)
    (square,) = drawn(image, "pattern")
    left, top, width = (float(square.get(name)) for name in ("x", "y", "width"))
    places = {(float(text.get("x")), float(text.get("y"))) for text in drawn(image, "candidate")}
    assert len(places) == side
    assert all(left < x < left + width and top < y < top + width for x, y in places)


def test_a_title_describes_the_picture():
    image = js.Board.classic(4).picture(title="1 < 2 & 3")
    assert ElementTree.fromstring(image).find(f"{NAMESPACE}title").text == "1 < 2 & 3"
    assert js.Board.windoku()._repr_svg_().count("9x9 with 3x3 boxes and 4 extra houses") == 1


@pytest.mark.parametrize(
    ("grid", "message"), [([0] * 15, "grid has 15 cells; the board has 16"), ([5] * 16, r"outside 0\.\.4")]
)
def test_a_grid_of_another_board_is_refused(grid, message):
    with pytest.raises(ValueError, match=message):
        js.Board.classic(4).picture(grid)


def test_every_step_has_a_picture():
    explanation = js.explain(js.load("9x9-hard")[3])
    pictures = list(explanation.pictures())
    assert len(pictures) == len(explanation.steps)
    for step, image in zip(explanation.steps, pictures, strict=True):
        assert sorted(texts(image, "removed")) == sorted(str(digit) for _, _, digit in step.eliminate)
        assert len(drawn(image, "placed")) == len(step.place)
        assert len(drawn(image, "arrow")) == len(step.links)
        assert bool(step.links) == (step.technique in ("aic", "xy-chain", "x-chain", "simple-colouring"))
    assert len(texts(pictures[-1], "filled")) == len([step for step in explanation.steps if step.place]) - 1
    page = explanation.page("<My puzzle>")
    assert page.count("<svg") == len(pictures)
    assert "&lt;My puzzle&gt;" in page
    assert explanation._repr_html_() in page
