"""Pictures of boards and of steps: the shapes that they have, as SVG and by matplotlib."""

from __future__ import annotations

import builtins
import pickle
import re
import struct
import xml.etree.ElementTree as ElementTree
from collections import Counter

import matplotlib.figure
import numpy as np
import pytest
from matplotlib.backends.backend_agg import FigureCanvasAgg

import jaxsudoku as js
from jaxsudoku import pictures
from jaxsudoku.pictures import Marks, Picture
from jaxsudoku.pictures.shapes import ROLES, Arrow, Circle, Line, Rectangle, Text

pytestmark = pytest.mark.quick

NAMESPACE = "{http://www.w3.org/2000/svg}"


def drawn(picture: Picture, role: str) -> list:
    """The shapes of a picture that have a role."""
    return [shape for shape in picture.shapes if shape.role == role]


def texts(picture: Picture, role: str) -> list[str]:
    """The texts with a role."""
    return [shape.text for shape in drawn(picture, role)]


def elements(svg: str) -> list[ElementTree.Element]:
    return list(ElementTree.fromstring(svg).iter())


def test_givens_are_told_from_filled_cells():
    puzzle = js.parse("1.34.4122.4.43.1")
    solution = js.parse("1234341221434321")
    picture = js.Board.classic(4).picture(solution, puzzle)
    assert texts(picture, "given") == [str(digit) for digit in puzzle if digit]
    assert len(texts(picture, "filled")) == (puzzle == 0).sum()
    assert len(texts(js.Board.classic(4).picture(solution), "given")) == 16


@pytest.mark.parametrize("board", [js.Board.classic(4), js.Board.classic(6), js.Board.jigsaw("aaab cabb ccdb cddd")])
def test_borders_run_between_regions(board):
    labels = np.reshape(board.region_labels, (board.side, board.side))
    picture = board.picture()
    (edge, *inner) = sorted(drawn(picture, "border"), key=lambda line: -len(line.points))
    width = (edge.points[1][0] - edge.points[0][0]) / board.side
    found = 0
    for line in inner:
        ((x, y), (end_x, end_y)) = ((at - edge.points[0][0]) / width for at in line.points[0]), line.points[1]
        end_x, end_y = (end_x - edge.points[0][0]) / width, (end_y - edge.points[0][0]) / width
        for step in range(round(end_x - x + end_y - y)):
            if x == end_x:
                row, column = round(y) + step, round(x)
                assert labels[row, column] != labels[row, column - 1]
            else:
                row, column = round(y), round(x) + step
                assert labels[row, column] != labels[row - 1, column]
            found += 1
    assert found == (labels[1:] != labels[:-1]).sum() + (labels[:, 1:] != labels[:, :-1]).sum()
    assert len(drawn(picture, "line")) == 2 * (board.side - 1)


@pytest.mark.parametrize(
    ("board", "cells"),
    [
        ("diagonal", {"house-1": 8, "house-2": 8, "several-houses": 1}),
        ("diagonal-4", {"house-1": 4, "house-2": 4}),
        ("windoku", {"house-1": 36}),
        ("9", {}),
    ],
)
def test_further_houses_are_shaded(board, cells):
    """Houses that touch differ; windows lie apart."""
    picture = js.Board.named(board).picture()
    assert Counter(shape.role for shape in picture.shapes if isinstance(shape, Rectangle)) == cells


def test_five_houses_that_touch_have_four_shades():
    rows = tuple(tuple(range(4 * row, 4 * row + 4)) for row in range(4))
    board = js.Board(4, box=(2, 2), extra=(*rows, tuple(range(0, 16, 4))))
    roles = {shape.role for shape in board.picture().shapes if isinstance(shape, Rectangle)}
    assert roles == {"house-1", "house-2", "several-houses"}  # rows alternate; the column shares all of its cells


def test_marks_are_drawn_on_top():
    marks = Marks(
        candidates=[(0, 0), (1, 0), (2, 5)],
        cells={0: "pattern", 5: "placed"},
        marked={(1, 0): "removed", (3, 7): "kept"},
        arrows=[((0, 0), (2, 5))],
        shades={2: 0.5, 3: 0},
        wrong=[15],
        dashed=[((2, 5), (3, 7))],
    )
    picture = js.Board.classic(4).picture([0] * 15 + [4], marks=marks)
    counts = Counter(shape.role for shape in picture.shapes)
    wanted = {"candidate": 2, "removed": 1, "strike": 1, "kept": 1, "pattern": 1, "placed": 1, "arrow": 1, "shade": 1}
    wanted["dashed-arrow"] = 1
    assert {role: counts[role] for role in wanted} == wanted
    assert texts(picture, "removed") == ["2"]
    assert texts(picture, "wrong") == ["4"]


@pytest.mark.parametrize("board", ["9", "windoku", "diagonal", "jigsaw-9x9"])
def test_an_outline_runs_around_its_cells(board):
    board = js.shipped.board(board) if board.startswith("jigsaw") else js.Board.named(board)
    for house in board.houses:
        picture = board.picture(marks=Marks(houses=[house]))
        lines = [line.points for line in drawn(picture, "house")]
        ends = [
            Counter(end for line in lines if (line[0][0] == line[1][0]) == turned for end in line) for turned in (0, 1)
        ]
        assert ends[0] == ends[1] and max(ends[0].values()) == 1  # at each corner one line ends that turns
        inside = {divmod(cell, 9) for cell in house}
        for one, other in lines:
            for share in np.linspace(0.01, 0.99, 50):  # near the edge of a cell of the house, beyond none
                x, y = ((1 - share) * start + share * end for start, end in zip(one, other, strict=True))
                row, column = int((y - 6) // 48), int((x - 6) // 48)
                assert (row, column) in inside
        around = sum((row + a, column + b) not in inside for row, column in inside for a, b in ((0, 1), (1, 0)))
        long = sum(abs(end[0] - start[0]) + abs(end[1] - start[1]) for start, end in lines) / 48
        assert abs(long - 2 * around) <= 5 / 48 * len(lines) + 1e-6


@pytest.mark.parametrize(
    ("marks", "message"),
    [
        (Marks(cells={16: "placed"}), "a mark of cell 16; the board has cells 0 to 15"),
        (Marks(wrong=[-1]), "a mark of cell -1"),
        (Marks(houses=[[0, 16]]), "a mark of cell 16"),
        (Marks(candidates=[(4, 0)]), r"the candidate \(digit 4, cell 0\); digits are 0 to 3"),
        (Marks(arrows=[((0, 0), (0, 16))]), r"digit 0, cell 16"),
        (Marks(dashed=[((0, 0), (0, 17))]), r"digit 0, cell 17"),
        (Marks(cells={1: "red"}), "unknown mark 'red' of a cell: choose one of pattern, placed, clash"),
        (Marks(marked={(1, 1): "placed"}), "unknown mark 'placed' of a candidate: choose one of kept"),
        (Marks(shades={1: 1.5}), "shades lie between 0 and 1, not at 1.5"),
        (Marks(sizes={(1, 1): float("nan")}), "sizes lie between 0 and 1, not at nan"),
    ],
)
def test_marks_that_do_not_fit_are_refused(marks, message):
    with pytest.raises(ValueError, match=message):
        js.Board.classic(4).picture(marks=marks)


@pytest.mark.parametrize("side", [4, 6, 9, 16, 25, 36])
def test_candidates_lie_in_their_cells(side):
    cell = side * side - 2
    marks = Marks(candidates=[(digit, cell) for digit in range(side)], cells={cell: "pattern"})
    picture = js.Board.classic(side).picture(marks=marks)
    (square,) = drawn(picture, "pattern")
    boxes = []
    for text in drawn(picture, "candidate"):
        half = 0.6 * text.size * len(text.text) / 2  # digits of sans-serif fonts are 0.56 to 0.64 wide
        boxes.append((text.x - half, text.y - 0.36 * text.size, text.x + half, text.y + 0.36 * text.size))
    for left, top, right, bottom in boxes:
        assert square.x < left and square.y < top
        assert right < square.x + square.width and bottom < square.y + square.height
    for one in range(side):
        for other in range(one):
            a, b = boxes[one], boxes[other]
            assert a[2] <= b[0] or b[2] <= a[0] or a[3] <= b[1] or b[3] <= a[1]


def test_the_svg_has_every_shape_in_order():
    shapes = (
        Rectangle(1, 2, 3, 4, "shade", 0.25),
        Circle(5, 6, 7, "rim"),
        Line(((0, 0), (8, 9.126))[::1], "line"),
        Arrow((0, 0), (5, 0), (5, 5), "arrow"),
        Arrow((0, 0), (5, 0), (5, 5), "dashed-arrow"),
        Text(10, 20, 10, "a < b & c", "text"),
        Text(10, 20, 10, "left", "text", centred=False),
    )
    svg = Picture(30, 40, shapes, "1 < 2").svg
    root, title, style, paper, rectangle, circle, line, arrow, dashes, head, text, left = elements(svg)
    assert (root.get("viewBox"), root.get("class"), title.text) == ("0 0 30 40", "jaxsudoku", "1 < 2")
    assert paper.attrib == {"class": "paper", "width": "30", "height": "40"}
    assert rectangle.attrib == {"class": "shade", "x": "1", "y": "2", "width": "3", "height": "4", "opacity": "0.25"}
    assert circle.attrib == {"class": "rim", "cx": "5", "cy": "6", "r": "7"}
    assert line.get("d") == "M0 0L8 9.13"
    assert arrow.get("d") == "M0 0Q5 0 5 5M2 0L5 5L8 0"
    assert (dashes.get("d"), head.get("d"), head.get("stroke-dasharray")) == ("M0 0Q5 0 5 5", "M2 0L5 5L8 0", "none")
    assert re.search(r"\.dashed-arrow\{[^}]*stroke-dasharray:4\}", style.text)
    assert "dasharray" not in re.search(r"\.arrow\{[^}]*\}", style.text)[0]
    assert (text.get("class"), text.get("y"), text.text) == ("text middle", "23.6", "a < b & c")
    assert left.get("class") == "text"
    assert style.text.count("{") == style.text.count("}")
    assert ".given" not in style.text  # roles that do not occur have no style


def test_themes():
    picture = js.Board.classic(4).picture([1] * 16)
    light, dark = ROLES["given"].light, ROLES["given"].dark
    assert re.search(
        rf"\.jaxsudoku \.given\{{fill:{light}\}}.*@media.*\.jaxsudoku \.given\{{fill:{dark}\}}", picture.svg
    )
    fixed = picture.to_svg("dark")
    # in a page styles apply to all pictures of a class
    assert f".jaxsudoku-dark .given{{fill:{dark}}}" in fixed and light not in fixed and "@media" not in fixed
    assert elements(fixed)[0].get("class") == "jaxsudoku-dark"
    with pytest.raises(ValueError, match="unknown theme 'blue': choose light or dark"):
        picture.to_svg("blue")


#: Roles of what is read.
READ = (
    "border",
    "given",
    "filled",
    "wrong",
    "right",
    "candidate",
    "kept",
    "removed",
    "true",
    "false",
    "strike",
    "arrow",
    "dashed-arrow",
    "house",
    "label",
    "text",
    "exact",
)


@pytest.mark.parametrize("role", READ)
def test_colours_are_told_from_the_background(role):
    """Contrast of at least 3 for what is read, in both themes, as of WCAG 2."""
    look, paper = ROLES[role], ROLES["paper"]

    def luminance(colour: str) -> float:
        channels = [int(colour[at : at + 2], 16) / 255 for at in (1, 3, 5)]
        linear = [c / 12.92 if c <= 0.04045 else ((c + 0.055) / 1.055) ** 2.4 for c in channels]
        return float(np.dot(linear, [0.2126, 0.7152, 0.0722]))

    for theme in ("light", "dark"):
        low, high = sorted([luminance(getattr(look, theme)), luminance(getattr(paper, theme))])
        assert (high + 0.05) / (low + 0.05) >= 3, theme


def test_a_picture_is_saved(tmp_path):
    picture = js.Board.diagonal(4).picture([1, 2, 3, 4] * 4, [1, 0, 3, 0] * 4, Marks(arrows=[((0, 0), (3, 9))]), "Four")
    picture.save(tmp_path / "a.svg")
    assert (tmp_path / "a.svg").read_text() == f"{picture.svg}\n" == f"{picture}\n"
    picture.save(tmp_path / "a.png", dpi=96)
    head = (tmp_path / "a.png").read_bytes()[:24]
    assert head.startswith(b"\x89PNG")
    assert struct.unpack(">II", head[16:24]) == (round(picture.width), round(picture.height))
    picture.save(str(tmp_path / "a.PDF"))
    assert (tmp_path / "a.PDF").read_bytes().startswith(b"%PDF")
    picture.save(tmp_path / "again.pdf")
    assert (tmp_path / "again.pdf").read_bytes() == (tmp_path / "a.PDF").read_bytes()
    picture.save(tmp_path / "a.html")
    page = (tmp_path / "a.html").read_text()
    assert picture.svg in page and "<title>Four</title>" in page and page.startswith("<!doctype html>")
    with pytest.raises(ValueError, match=r"a\.jpg: the suffix must be one of \.svg, \.png, \.pdf, \.html, not '\.jpg'"):
        picture.save(tmp_path / "a.jpg")
    with pytest.raises(ValueError, match=r"c\.png: an image of 20,400 x 20,400 pixels is too large"):
        picture.save(tmp_path / "c.png", dpi=9600)
    with pytest.raises(ValueError, match="unknown theme"):
        picture.save(tmp_path / "b.png", theme="no")
    assert not (tmp_path / "b.png").exists()


def test_a_missing_extra_is_named(tmp_path, monkeypatch):
    picture = js.Board.classic(4).picture()
    imported = builtins.__import__

    def without(name, *args, **kwargs):
        if name.startswith("matplotlib"):
            raise ImportError(name)
        return imported(name, *args, **kwargs)

    monkeypatch.setattr(builtins, "__import__", without)
    with pytest.raises(ImportError, match=r"pip install 'jaxsudoku\[plot\]'"):
        picture.save(tmp_path / "a.png")
    picture.save(tmp_path / "a.svg")


@pytest.mark.parametrize("theme", ["light", "dark"])
def test_matplotlib_draws_where_the_shapes_are(theme):
    """Pixels have the colours of the shapes that are on top of them."""
    shapes = (
        Rectangle(10, 20, 40, 30, "pattern"),
        Circle(80, 40, 15, "exact"),
        Line(((0, 80), (100, 80)), "border"),
        Text(30, 35, 30, "1", "given"),
        Arrow((60, 90), (75, 90), (90, 90), "arrow"),
        Arrow((10, 95), (40, 95), (50, 95), "dashed-arrow"),
    )
    figure = matplotlib.figure.Figure(figsize=(1, 1), dpi=400)
    Picture(100, 100, shapes).plot(figure.add_axes((0, 0, 1, 1)), theme)
    canvas = FigureCanvasAgg(figure)
    canvas.draw()
    image = np.asarray(canvas.buffer_rgba())[..., :3]

    def colour(x: float, y: float) -> str:
        return "#" + bytes(image[int(4 * y), int(4 * x)]).hex()

    expected = {(12, 22): "pattern", (80, 40): "exact", (5, 5): "paper", (30, 80): "border", (75, 90): "arrow"}
    expected |= {(94, 40): "exact", (97, 40): "paper", (30.5, 36): "given", (48, 48): "pattern"}
    expected |= {(12, 95): "dashed-arrow", (16, 95): "paper", (20, 95): "dashed-arrow"}
    assert {at: colour(*at) for at in expected} == {at: getattr(ROLES[role], theme) for at, role in expected.items()}


def test_a_title_describes_the_picture():
    svg = js.Board.classic(4).picture(title="1 < 2 & 3").svg
    assert ElementTree.fromstring(svg).find(f"{NAMESPACE}title").text == "1 < 2 & 3"
    assert js.Board.windoku()._repr_svg_().count("9x9 with 3x3 boxes and 4 windows") == 1
    assert repr(js.Board.classic(4).picture()) == "Picture(width=204, height=204, title='4x4 with 2x2 boxes')"


@pytest.mark.parametrize(
    ("grid", "message"), [([0] * 15, "grid has 15 cells; the board has 16"), ([5] * 16, r"outside 0\.\.4")]
)
def test_a_grid_of_another_board_is_refused(grid, message):
    with pytest.raises(ValueError, match=message):
        js.Board.classic(4).picture(grid)


def test_every_step_has_a_picture():
    explanation = js.explain(js.load("9x9-hard")[3])
    drawings = [step.picture() for step in explanation]
    kinds = set()
    assert len(drawings) == len(explanation.steps)
    for step, picture in zip(explanation.steps, drawings, strict=True):
        marks, legend = step.marks(), bool(step.links)  # the legend has one of each
        assert sorted(texts(picture, "removed")) == sorted(
            [*(str(digit) for _, _, digit in step.eliminate), *"5" * legend]
        )
        assert len(drawn(picture, "placed")) == len(step.place)
        assert len(drawn(picture, "arrow")) == len(marks.arrows) + legend
        assert len(drawn(picture, "dashed-arrow")) == len(marks.dashed) + legend
        assert len(marks.arrows) + len(marks.dashed) == len(step.links)
        # a weak link makes its second candidate false
        false = {(digit - 1, 9 * row + column - 10) for row, column, digit in step.false}
        kinds |= {(one in false, other in false, "strong") for one, other in marks.arrows}
        kinds |= {(one in false, other in false, "weak") for one, other in marks.dashed}
        assert " ".join(text.text for text in drawn(picture, "text")).endswith(step.text)
        assert set(texts(picture, "label")) == {f"{axis}{number}" for axis in "rc" for number in range(1, 10)}
        assert bool(step.links) == (step.technique in ("aic", "xy-chain", "x-chain", "simple-colouring"))
    assert len(texts(drawings[-1], "filled")) == len([step for step in explanation.steps if step.place]) - 1
    assert kinds == {(True, False, "strong"), (False, True, "weak")}


def test_a_hint_has_a_picture():
    puzzle = js.load("9x9-hard")[3]
    step = js.hint(puzzle)
    picture = js.explain(puzzle)[0].picture()
    assert step.picture() == picture and step.picture(caption=False).svg in step._repr_html_()
    assert len(texts(picture, "given")) == np.count_nonzero(puzzle)
    assert pickle.loads(pickle.dumps(step)).picture() == picture


# ---------------------------------------------------------------------- sheets


def test_a_sheet_has_its_pictures_in_rows():
    parts = [js.Board.classic(4).picture([number] * 16) for number in (1, 2, 3, 4, 1)]
    page = pictures.sheet(
        parts, columns=2, titles=["a", "b", "c", "d", "a title that is much too long for its picture"]
    )
    assert sorted(texts(page, "given")) == sorted(["1"] * 32 + ["2", "3", "4"] * 16)
    titles = drawn(page, "text")
    assert [len({shape.x for shape in titles}), len({shape.y for shape in titles})] == [2, 3]
    assert titles[-1].text.endswith("…") and len(titles[-1].text) < 30
    for shape in page.shapes:
        for x, y in getattr(shape, "points", ()):
            assert 0 < x < page.width and 0 < y < page.height
    assert page.width > 2 * parts[0].width and page.height > 3 * parts[0].height


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (([],), "no pictures for a sheet"),
        (([js.Board.classic(4).picture()], 0), "columns must be at least 1, not 0"),
        (([js.Board.classic(4).picture()], 1, ["a", "b"]), "2 titles for 1 pictures"),
    ],
)
def test_wrong_sheets_are_refused(arguments, message):
    with pytest.raises(ValueError, match=message):
        pictures.sheet(*arguments)


PUZZLE, SOLUTION = js.parse("1.34.4122.4.43.1"), js.parse("1234341221434321")


def test_one_grid_or_many():
    one = js.picture(PUZZLE)
    assert (
        one == js.Board.classic(4).picture(PUZZLE) == js.picture("1.34.4122.4.43.1") == js.picture(PUZZLE.reshape(4, 4))
    )
    several = js.picture([PUZZLE, SOLUTION], givens=[PUZZLE, PUZZLE], columns=1, titles=["puzzle", "solution"])
    assert texts(several, "text") == ["puzzle", "solution"]
    assert len(texts(several, "filled")) == (PUZZLE == 0).sum()
    assert js.picture(["1.34.4122.4.43.1"] * 16) == js.picture(np.stack([PUZZLE] * 16), js.Board.classic(4))
    jigsaw = js.Board.jigsaw("aaab cabb ccdb cddd")
    assert js.picture(PUZZLE, jigsaw) == jigsaw.picture(PUZZLE)


def test_candidates_are_those_that_no_house_has():
    picture = js.picture(PUZZLE, candidates=True)
    assert sorted(texts(picture, "candidate")) == ["1", "2", "2", "3", "3"]
    given = np.zeros((4, 16), bool)
    given[:, 1] = True
    assert texts(js.picture(PUZZLE, candidates=given), "candidate") == ["1", "2", "3", "4"]
    diagonal = js.picture("1...............", js.Board.diagonal(4), candidates=True)
    assert texts(diagonal, "candidate").count("1") == 6  # of 15 empty cells, 9 see the 1


def test_probabilities_are_sizes():
    likely = np.zeros((4, 16))
    likely[:, 1] = 0.1, 0.3, 0.6, 0
    likely[0, 0] = 1  # a filled cell has no candidates
    picture = js.picture(PUZZLE, candidates=likely, solutions=SOLUTION)
    (right,), (wrong,), (other,) = drawn(picture, "right"), drawn(picture, "wrong"), drawn(picture, "candidate")
    assert (right.text, wrong.text, other.text) == ("2", "3", "1")
    assert other.size < right.size < wrong.size


def test_wrong_digits_and_shades():
    grid = SOLUTION.copy()
    grid[1] = 3
    shades = np.full(16, np.nan)
    shades[:3] = 0, 0.5, 1
    picture = js.picture(grid, givens=PUZZLE, solutions=SOLUTION, shades=shades)
    assert texts(picture, "wrong-filled") == ["3"]
    assert [shape.opacity for shape in drawn(picture, "shade")] == [0.3, 0.6]
    marked = js.picture(grid, solutions=SOLUTION, marks=Marks(cells={1: "clash"}, wrong=[2]))
    assert len(drawn(marked, "clash")) == 1 and texts(marked, "wrong") == ["3", "3"]


def test_clashes_are_red():
    picture = js.picture("11..............", clashes=True)
    assert texts(picture, "wrong") == ["1", "1"]
    assert texts(js.picture("11..............", givens="1...............", clashes=True), "wrong-filled") == ["1"]
    corners = "1..............1"
    assert texts(js.picture(corners, clashes=True), "wrong") == []
    assert texts(js.picture(corners, js.Board.diagonal(4), clashes=True), "wrong") == ["1", "1"]


@pytest.mark.parametrize(
    ("arguments", "options", "message"),
    [
        (([PUZZLE] * 401,), {}, "401 grids; a picture has 1 to 400: choose some"),
        ((np.zeros((0, 16), np.uint8),), {}, "0 grids"),
        (([PUZZLE] * 2,), {"marks": Marks(wrong=[1])}, "marks are of one grid"),
        ((PUZZLE,), {"titles": ["a"]}, "titles are of several grids"),
        ((PUZZLE / 2,), {}, "grids of dtype float64; they must be integers"),
        ((PUZZLE,), {"givens": [PUZZLE] * 2}, r"givens of shape \(2, 16\), for 1 grids of 16 cells"),
        ((PUZZLE,), {"shades": [2.0] * 16}, "shades lie between 0 and 1, not at 2.0"),
        ((PUZZLE,), {"candidates": np.zeros((4, 15), bool)}, r"candidates of shape \(4, 15\), where \[1, 4, 16\] are"),
        (
            (PUZZLE,),
            {"candidates": np.zeros((4, 16), int)},
            "candidates of dtype int64; they must be True, or an array",
        ),
    ],
)
def test_wrong_pictures_are_refused(arguments, options, message):
    with pytest.raises(ValueError, match=message):
        js.picture(*arguments, **options)


# ---------------------------------------------------------------------- search trees

#: A root with two moves, of which one is refuted and one leads to two nodes; node 4 has two parents; 5 is not reached.
CHILDREN = [[1, 2, -1], [4, -1, -1], [3, 4, -1], [-1] * 3, [-1] * 3, [0, -1, -1]]


def test_a_search_tree_has_a_node_for_each_position():
    refuted, solved = np.arange(6) == 1, np.arange(6) == 3
    tree = pictures.search_tree(CHILDREN, np.linspace(0, 1, 6), refuted, solved)
    nodes = drawn(tree, "rim")
    assert len(nodes) == 5 and len({(node.x, node.y) for node in nodes}) == 5
    assert len(drawn(tree, "edge")) == 3 and len(drawn(tree, "edge-removed")) == 1
    assert len(drawn(tree, "edge-joined")) == 1
    assert len(drawn(tree, "strike")) == 2 and len(drawn(tree, "ring")) == 1
    assert texts(tree, "text") == ["0 moves", "1 move", "2 moves"]
    root = nodes[0]
    (left, *_, right) = sorted(node.x for node in nodes if node.y > root.y)
    assert left < root.x < right
    assert [shape.opacity for shape in drawn(tree, "value")] == pytest.approx([0, 0.2, 0.4, 0.8, 0.6])


def test_a_large_search_tree_is_cut():
    tree = pictures.search_tree(CHILDREN, np.zeros(6), most=3)
    assert len(drawn(tree, "rim")) == 3
    assert texts(tree, "text")[-1] == "2 further nodes are not drawn"


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (([1, 2], [0, 0]), r"arrays of shapes \[\(2,\), \(2,\), \(2,\), \(2,\)\]; they must be \[nodes, moves\]"),
        (([[1], [-1]], [0]), "arrays of shapes"),
        (([[2], [-1]], [0, 0]), "children lie between -1 and 1"),
    ],
)
def test_wrong_trees_are_refused(arguments, message):
    with pytest.raises(ValueError, match=message):
        pictures.search_tree(*arguments)
