"""How pictures show constraints: the shapes of each kind, where they are, and what stands beside and below a board."""

from __future__ import annotations

import dataclasses

import matplotlib.figure
import numpy as np
import pytest

import jaxsudoku as js
from jaxsudoku import constraints
from jaxsudoku.pictures.boards import Geometry
from jaxsudoku.pictures.constraints import Symbol
from jaxsudoku.pictures.shapes import Arrow, Circle, Line, Text

pytestmark = pytest.mark.quick

SIX = js.Board.classic(6)
WIDTH = 48


def drawn(*added: list[constraints.Constraint], **options) -> js.Picture:
    """The picture of a 6x6 board with constraints."""
    return SIX.with_(*added).picture(**options)


def with_role(picture: js.Picture, role: str) -> list:
    return [shape for shape in picture.shapes if shape.role == role]


def middle(cell: int, start: float = 6) -> tuple[float, float]:
    """The middle of a cell of a board with this margin."""
    return start + WIDTH * (cell % 6 + 0.5), start + WIDTH * (cell // 6 + 0.5)


def texts(picture: js.Picture) -> dict[str, Text]:
    return {shape.text: shape for shape in picture.shapes if isinstance(shape, Text)}


def test_a_cage_is_outlined_within_its_cells_and_labelled_in_the_first():
    picture = drawn(constraints.killer([("r2c2 r2c3 r3c2", 10)], side=6))
    lines = with_role(picture, "cage")
    assert len(lines) == 6
    points = np.array([point for line in lines for point in line.points])
    assert points.min() == 6 + WIDTH + 4
    assert points.max() == 6 + 3 * WIDTH - 4
    label = texts(picture)["10"]
    assert (label.x // WIDTH, label.y // WIDTH) == (1, 1)


@pytest.mark.parametrize(
    ("added", "role"),
    [
        (constraints.thermometer("r4c2 r3c3 r2c3", side=6), "grey-line"),
        (constraints.slow_thermometer("r4c2 r3c3 r2c3", side=6), "grey-line"),
        (constraints.whispers("r4c2 r3c3 r2c3", 3, side=6), "green-line"),
        (constraints.renban("r4c2 r3c3 r2c3", side=6), "purple-line"),
        (constraints.nabner("r4c2 r3c3 r2c3", side=6), "yellow-line"),
        (constraints.palindrome("r4c2 r3c3 r2c3", side=6), "grey-line"),
        (constraints.between("r4c2 r3c3 r2c3", side=6), "grey-line"),
        (constraints.lockout("r4c2 r3c3 r2c3", side=6), "blue-line"),
        (constraints.region_sums(["r4c2 r3c3", "r2c3"], side=6), "blue-line"),
        (constraints.zipper("r4c2 r3c3 r2c3", side=6), "lavender-line"),
        (constraints.double_arrow("r4c2 r3c3 r2c3", side=6), "lavender-line"),
        (constraints.entropic("r4c2 r3c3 r2c3", side=6), "orange-line"),
        (constraints.modular("r4c2 r3c3 r2c3", side=6), "teal-line"),
        (constraints.parity("r4c2 r3c3 r2c3", side=6), "red-line"),
    ],
)
def test_lines_have_their_customary_colours(added, role):
    (line,) = with_role(drawn(added), role)
    assert line.points == tuple(middle(cell) for cell in (19, 14, 8))


def test_ends_of_lines():
    bulb = with_role(drawn(constraints.thermometer("r4c2 r3c3 r2c3", side=6)), "bulb")
    assert [(shape.x, shape.y) for shape in bulb] == [middle(19)]
    circles = with_role(drawn(constraints.between("r4c2 r3c3 r2c3", side=6)), "shaft")
    assert [(shape.x, shape.y) for shape in circles] == [middle(19), middle(8)]
    diamonds = with_role(drawn(constraints.lockout("r4c2 r3c3 r2c3", side=6)), "diamond")
    assert [len(shape.points) for shape in diamonds] == [5, 5]


def test_an_arrow_begins_at_its_circle():
    circle, line, arrow = with_role(drawn(constraints.arrow("r2c2", "r2c3 r1c4", side=6)), "shaft")
    assert isinstance(circle, Circle) and (circle.x, circle.y) == middle(7)
    assert isinstance(line, Line) and line.points == ((middle(7)[0] + circle.radius, middle(7)[1]), middle(8))
    assert isinstance(arrow, Arrow) and (arrow.start, arrow.end) == (middle(8), middle(3))
    pill, line, _ = with_role(drawn(constraints.arrow("r2c2 r2c3", "r3c3 r4c3 r5c3", side=6)), "shaft")
    assert pill.points[0] == pill.points[-1]
    assert line.points[0] == pytest.approx((middle(8)[0], middle(8)[1] + circle.radius))


def between(one: int, other: int) -> tuple[float, float]:
    (x, y), (end_x, end_y) = middle(one), middle(other)
    return (x + end_x) / 2, (y + end_y) / 2


def test_pairs_are_dots_and_letters_between_their_cells():
    picture = drawn(
        constraints.kropki(["r1c1 r1c2"], ["r3c3 r4c3"], side=6),
        constraints.difference(["r1c4 r1c5"], 3, side=6),
        constraints.xv(["r5c5 r5c6"], ["r5c1 r6c1"], side=6),
    )
    rims = with_role(picture, "dot-rim")
    assert [(rim.x, rim.y) for rim in rims] == [between(0, 1), between(14, 20), between(3, 4)]
    assert [(dot.x, dot.y) for dot in with_role(picture, "dot")] == [between(14, 20)]
    found = texts(picture)
    assert {text: (shape.x, shape.y) for text, shape in found.items()} == {
        "3": between(3, 4),
        "X": between(28, 29),
        "V": between(24, 30),
    }


def test_signs_point_at_the_smaller_digit():
    for pair, (across, down) in {"r2c2 r2c3": (-1, 0), "r2c3 r2c2": (1, 0), "r2c2 r3c2": (0, -1)}.items():
        (sign,) = with_role(drawn(constraints.futoshiki([pair], side=6)), "sign")
        (x, y), tip, (end_x, end_y) = sign.points
        assert (np.sign(tip[0] - (x + end_x) / 2), np.sign(tip[1] - (y + end_y) / 2)) == (across, down)


def test_cells_are_shaded():
    picture = drawn(constraints.odd("r1c1", side=6), constraints.even("r1c2", side=6))
    circle, square = with_role(picture, "parity")
    assert (circle.x, circle.y) == middle(0)
    assert (square.x + square.width / 2, square.y + square.height / 2) == middle(1)
    assert len(with_role(drawn(constraints.distinct("r1c1 r2c2", side=6)), "house-1")) == 2
    clones = drawn(constraints.clone("r1c1 r1c2", "r4c4 r4c5", side=6))
    assert len(with_role(clones, "house-1")) == 4
    assert len(with_role(drawn(constraints.row_indexer("r2c3", side=6)), "house-2")) == 1


def test_a_quadruple_is_a_circle_where_its_cells_meet():
    picture = drawn(constraints.quadruple("r2c2 r2c3 r3c2 r3c3", [1, 4, 4], side=6))
    (rim,) = with_role(picture, "dot-rim")
    assert (rim.x, rim.y) == (6 + 2 * WIDTH, 6 + 2 * WIDTH)
    assert set(texts(picture)) == {"14", "4"}


def test_numbers_stand_outside_the_board():
    picture = drawn(
        constraints.sandwich(range(6), 5, side=6),
        constraints.skyscraper(range(30, -1, -6), 4, side=6),
        constraints.little_killer("r1c3 r2c4 r3c5 r4c6", 15, side=6),
    )
    border = [point for line in with_role(picture, "border") for point in line.points]
    first, last = min(border)[0], max(border)[0]
    assert picture.width == picture.height > last + 6
    found = texts(picture)
    assert found["5"].x < first < found["5"].y < first + WIDTH
    assert found["4"].y > last and first < found["4"].x < first + WIDTH
    assert found["15"].y < first
    (arrow,) = with_role(picture, "outside-arrow")
    assert arrow.end[0] > arrow.start[0] and arrow.end[1] > arrow.start[1]


def test_a_line_that_begins_inside_is_a_cage():
    inside = drawn([constraints.Sum((7, 14, 21), (9,))])
    assert with_role(inside, "cage") and "9+" in texts(inside)


def test_rules_of_the_whole_board_are_named_below_it():
    plain = SIX.picture()
    picture = drawn(constraints.anti_knight(6), constraints.not_ratio(2, ["r1c1 r1c2"], side=6))
    assert picture.shapes[: len(plain.shapes)] == plain.shapes
    assert " ".join(texts(picture)) == "Rules: anti-knight, negative ratio 2."
    assert picture.height > plain.height


def test_labels_of_cages_leave_room_for_candidates():
    board = SIX.with_(constraints.killer([("r1c1 r1c2", 10)], side=6))
    picture = js.picture(np.zeros(36, int), board, candidates=True)
    label, places = texts(picture)["10"], Geometry(6, True, False, board.symbols)
    candidates = with_role(picture, "candidate")
    assert len(candidates) == 216
    assert min(shape.y - shape.size / 2 for shape in candidates) > label.y + label.size / 2 - 1
    assert {(shape.x, shape.y) for shape in candidates} == {
        places.spot((digit, cell)) for digit in range(6) for cell in range(36)
    }


def test_a_latin_square_has_no_borders_inside():
    assert len(with_role(js.Board.named("1x6").picture(), "border")) == 1


def test_matplotlib_draws_cages_dashed():
    figure = matplotlib.figure.Figure()
    axes = figure.add_subplot()
    drawn(constraints.killer([("r1c1 r1c2", 10)], side=6)).plot(axes)
    dashed = [one for one in axes.collections if one.get_linestyles()[0][1]]
    assert [len(one.get_paths()) for one in dashed] == [4]


@dataclasses.dataclass(frozen=True)
class Own(constraints.Constraint):
    """A kind of a user's, which allows everything."""

    symbol: str = ""

    def prune(self, masks, numbers, side):
        return masks

    def holds(self, digits, numbers, side):
        return digits[0] > 0

    def drawing(self, side):
        return (Symbol(self.symbol, self.cells),) if self.symbol else super().drawing(side)


def test_an_own_kind_chooses_its_symbol():
    assert len(with_role(drawn([Own((7, 8), (), "renban")]), "purple-line")) == 1
    assert list(texts(drawn([Own((7, 8), (3, 5))]))) == ["3,5"]
    with pytest.raises(ValueError, match="unknown symbol 'cagee': choose one of line, .*cage"):
        drawn([Own((7, 8), (), "cagee")])
