"""Boards: what they are made of, how they are named, and what is no board."""

from __future__ import annotations

import collections
import dataclasses
import json
import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from jaxsudoku.core.board import MAX_SIDE, Board
from jaxsudoku.core.constraints import Cage, Chain, Distinct

pytestmark = pytest.mark.quick

SIDES = (4, 6, 8, 9, 10, 12, 15, 16, 25, 30, MAX_SIDE)
JIGSAW_4 = "aaab cabb ccdb cddd"

EVERY_KIND = {
    **{f"classic-{side}": Board.classic(side) for side in SIDES},
    "3x2": Board.classic(6, box=(3, 2)),
    "diagonal": Board.diagonal(),
    "diagonal-4": Board.diagonal(4),
    "diagonal-25": Board.diagonal(25),
    "windoku": Board.windoku(),
    "windoku-16": Board.windoku(16),
    "windoku-25": Board.windoku(25),
    "disjoint-6": Board.disjoint(6),
    "diagonal+windoku": Board.named("diagonal+windoku"),
    "jigsaw": Board.jigsaw(JIGSAW_4),
}

every_kind = pytest.mark.parametrize("board", EVERY_KIND.values(), ids=EVERY_KIND)


# ---------------------------------------------------------------------- houses


@every_kind
def test_a_house_has_side_distinct_cells(board):
    for house in board.houses:
        assert len(house) == len(set(house)) == board.side
        assert all(type(cell) is int and 0 <= cell < board.cells for cell in house)


@every_kind
def test_every_cell_has_a_row_a_column_and_a_region(board):
    rows, columns, regions = (board.houses[i * board.side : (i + 1) * board.side] for i in range(3))
    assert regions == board.region_houses
    assert board.houses[3 * board.side :] == board.extra
    for houses in (rows, columns, regions):
        assert sorted(cell for house in houses for cell in house) == list(range(board.cells))
    assert all({cell // board.side for cell in house} == {number} for number, house in enumerate(rows))
    assert all({cell % board.side for cell in house} == {number} for number, house in enumerate(columns))


@pytest.mark.parametrize("side", SIDES)
def test_every_cell_of_a_classic_board_lies_in_three_houses(side):
    counts = collections.Counter(cell for house in Board.classic(side).houses for cell in house)
    assert counts == dict.fromkeys(range(side * side), 3)


@pytest.mark.parametrize("side", SIDES)
def test_boxes_are_as_square_as_can_be_and_never_tall(side):
    rows, columns = Board.classic(side).box
    assert rows * columns == side
    assert rows <= columns
    assert not any(side % between == 0 for between in range(rows + 1, math.isqrt(side) + 1))


def test_boxes_in_reading_order():
    assert Board.classic(6).region_houses[:3] == ((0, 1, 2, 6, 7, 8), (3, 4, 5, 9, 10, 11), (12, 13, 14, 18, 19, 20))
    assert Board.classic(6, box=(3, 2)).region_houses[1] == (2, 3, 8, 9, 14, 15)
    assert Board.classic().region_houses[4] == (30, 31, 32, 39, 40, 41, 48, 49, 50)


def test_diagonals():
    assert Board.diagonal(4).extra == ((0, 5, 10, 15), (3, 6, 9, 12))
    assert Board.diagonal() == dataclasses.replace(Board.classic(), extra=Board.diagonal().extra)


@pytest.mark.parametrize(("side", "windows"), [(9, 4), (16, 9), (25, 16)])
def test_windows(side, windows):
    board = Board.windoku(side)
    cells = [cell for house in board.extra for cell in house]
    assert len(board.extra) == windows
    assert len(cells) == len(set(cells)), "windows do not overlap"
    edge = {line * size for line in range(side) for size in [math.isqrt(side) + 1] if line * size < side}
    inside = set(range(side)) - edge
    assert set(cells) == {r * side + c for r in inside for c in inside}


def test_houses_reached_through_tables():
    assert Board.classic().irregular_houses == ()
    assert Board.diagonal().irregular_houses == Board.diagonal().extra
    jigsaw = Board.jigsaw(JIGSAW_4)
    assert jigsaw.irregular_houses == jigsaw.region_houses
    both = dataclasses.replace(jigsaw, extra=Board.diagonal(4).extra)
    assert both.irregular_houses == jigsaw.region_houses + both.extra


# ---------------------------------------------------------------------- sizes


@every_kind
def test_sizes(board):
    assert board.cells == board.side * board.side
    assert board.candidates == board.cells * board.side
    assert 32 * (board.words - 1) < board.candidates <= 32 * board.words
    assert 2 ** (board.digit_bits - 1) <= board.side < 2**board.digit_bits


def test_sizes_of_the_ordinary_board():
    board = Board.classic()
    assert (board.cells, board.candidates, board.words, board.digit_bits) == (81, 729, 23, 4)


# ---------------------------------------------------------------------- values


@every_kind
def test_boards_compare_and_hash_by_value(board):
    twin = dataclasses.replace(board)
    assert board.houses == twin.houses, "what is cached takes no part in the value"
    assert twin is not board
    assert twin == board
    assert hash(twin) == hash(board)
    with pytest.raises(dataclasses.FrozenInstanceError):
        board.side = 9


def test_every_kind_is_another_board():
    assert len(set(EVERY_KIND.values())) == len(EVERY_KIND)


def test_as_text():
    assert str(Board.classic()) == "9x9 with 3x3 boxes"
    assert str(Board.diagonal(6)) == "6x6 with 2x3 boxes and 2 diagonals"
    assert str(Board(4, box=(2, 2), extra=((0, 5, 10, 15), (0, 1, 2, 3)))) == (
        "4x4 with 2x2 boxes and 1 diagonal and 1 extra house"
    )
    assert str(Board.jigsaw(JIGSAW_4)) == "4x4 with irregular regions"


def test_houses_have_names():
    names = Board.classic(4).house_names
    assert names[:5] == ("row 1", "row 2", "row 3", "row 4", "column 1") and names[-1] == "box 4"
    assert Board.jigsaw(JIGSAW_4).house_names[-1] == "region 4"
    assert Board.diagonal(4).house_names[12:] == ("diagonal 1", "diagonal 2")
    assert Board.windoku().house_names[27:] == ("window 1", "window 2", "window 3", "window 4")
    window, row, apart, broken, up = (5, 6, 9, 10), (0, 1, 2, 3), (0, 3, 12, 15), (1, 6, 11, 12), (3, 6, 9, 12)
    extra = (window, row, up, apart, broken)
    assert Board.disjoint(6).house_names[18:] == tuple(f"disjoint group {number}" for number in range(1, 7))
    wanted = ("window 1", "extra house 1", "diagonal 1", "extra house 2", "extra house 3")
    assert Board(4, box=(2, 2), extra=extra).house_names[12:] == wanted


# ---------------------------------------------------------------------- jigsaw

ROWS_4 = JIGSAW_4.split()


@pytest.mark.parametrize(
    "form",
    [
        JIGSAW_4,
        JIGSAW_4.replace(" ", ""),
        "\n".join(" ".join(row) for row in ROWS_4),
        ROWS_4,
        [list(row) for row in ROWS_4],
        tuple("".join(ROWS_4)),
        iter(ROWS_4),
        np.array([[ord(label) for label in row] for row in ROWS_4]),
        [ord(label) for row in ROWS_4 for label in row],
        JIGSAW_4.replace("a", "9").replace("b", "-"),
    ],
    ids=[
        "spaced",
        "bare",
        "cell by cell",
        "rows",
        "lists",
        "flat",
        "iterator",
        "array",
        "flat numbers",
        "other labels",
    ],
)
def test_forms_of_a_jigsaw(form):
    assert Board.jigsaw(form) == Board(4, regions=(0, 0, 0, 1, 2, 0, 1, 1, 2, 2, 3, 1, 2, 3, 3, 3))


@settings(max_examples=25)
@given(st.integers(2, 10).flatmap(lambda side: st.permutations(sorted(list(range(side)) * side))))
def test_a_jigsaw_has_the_regions_that_its_labels_name(labels):
    board = Board.jigsaw(labels)
    assert board.side**2 == len(labels)
    assert {frozenset(house) for house in board.region_houses} == {
        frozenset(cell for cell, other in enumerate(labels) if other == label) for label in labels
    }
    assert board.region_houses == tuple(sorted(board.region_houses)), "numbered as they are met"
    assert board == Board.jigsaw([chr(ord("z") - label) for label in labels]), "labels do not matter"


# ---------------------------------------------------------------------- names


@pytest.mark.parametrize(
    ("name", "board"),
    [
        ("9", Board.classic()),
        ("16", Board.classic(16)),
        (" 25 ", Board.classic(25)),
        ("classic", Board.classic()),
        ("classic-12", Board.classic(12)),
        ("3x4", Board.classic(12)),
        ("4x3", Board.classic(12, box=(4, 3))),
        ("1x5", Board.classic(5, box=(1, 5))),
        ("diagonal", Board.diagonal()),
        ("diagonal-16", Board.diagonal(16)),
        ("windoku", Board.windoku()),
        ("windoku-16", Board.windoku(16)),
        ("disjoint", Board.disjoint()),
        ("x", Board.diagonal()),
        ("X-16", Board.diagonal(16)),
        ("x+windoku", Board(9, box=(3, 3), extra=Board.diagonal().extra + Board.windoku().extra)),
        ("2x8+x", Board(16, box=(2, 8), extra=Board.diagonal(16).extra)),
        ("jigsaw:aaabcabbccdbcddd", Board.jigsaw(JIGSAW_4)),
        ("jigsaw:aaab/cabb/ccdb/cddd", Board.jigsaw(JIGSAW_4)),
    ],
)
def test_named(name, board):
    assert Board.named(name) == board


@every_kind
def test_the_name_of_a_board_is_read_back(board):
    assert Board.named(board.name) == board


def test_a_board_without_a_name():
    assert Board(4, box=(2, 2), extra=((0, 1, 2, 3),)).name is None
    assert Board(4, regions=(1, 1, 0, 0) * 2 + (2, 2, 3, 3) * 2).name is None, "numbered in another order"


def test_a_side_names_a_board():
    assert Board.named(16) == Board.named(np.int64(16)) == Board.classic(16)
    for wrong in (16.0, True, None):
        with pytest.raises(ValueError, match=f"unknown board {wrong}: name a side"):
            Board.named(wrong)


@pytest.mark.parametrize(
    "name", ["", " ", "sudoku", "9x", "x9", "3x3x3", "-9", "9.0", "diagonal-x", "Diagonal!", "9 9"]
)
def test_names_of_no_board(name):
    with pytest.raises(ValueError, match=r"unknown board .*: name a side"):
        Board.named(name)


@settings(max_examples=40)
@given(
    st.from_regex(
        r"((classic|diagonal|windoku)-?)?[0-9]{0,3}(\+(x|anti-king|cage|odd)(\(([0-9]|r[0-9]c[0-9]|,| ){0,9}\))?)?"
    )
    | st.from_regex(r"[0-9]{1,2}x[0-9]{1,2}", fullmatch=True)
    | st.from_regex(r"jigsaw:[ab/]{0,9}", fullmatch=True)
    | st.text()
)
def test_any_text_names_a_board_or_is_refused(text):
    try:
        board = Board.named(text)
    except ValueError:
        return  # any other exception fails the test
    assert 1 <= board.side <= MAX_SIDE
    assert all(len(house) == board.side for house in board.houses)


# ---------------------------------------------------------------------- what is no board


@pytest.mark.parametrize(
    ("make", "cause"),
    [
        (lambda: Board(0, box=(1, 1)), f"side must lie between 2 and {MAX_SIDE}, not 0"),
        (lambda: Board(-4, box=(2, 2)), f"side must lie between 2 and {MAX_SIDE}, not -4"),
        (
            lambda: Board(MAX_SIDE + 1, box=(1, MAX_SIDE + 1)),
            f"side must lie between 2 and {MAX_SIDE}, not {MAX_SIDE + 1}",
        ),
        (lambda: Board(4), "either a box shape or irregular regions"),
        (lambda: Board(4, box=(2, 2), regions=(0,) * 16), "either a box shape or irregular regions"),
        (lambda: Board(6, box=(2, 2)), "a box of 2x2 has 4 cells; a house of this board has 6"),
        (lambda: Board(6, box=(-2, -3)), "a box of -2x-3"),
        (lambda: Board.classic(9, box=(2, 3)), "a box of 2x3 has 6 cells; a house of this board has 9"),
        (lambda: Board.classic(7), "a side of 7 can't be cut into boxes"),
        (lambda: Board.classic(0), f"side must lie between 2 and {MAX_SIDE}, not 0"),
        (lambda: Board.classic(-9), f"side must lie between 2 and {MAX_SIDE}, not -9"),
        (lambda: Board.named("37"), f"side must lie between 2 and {MAX_SIDE}, not 37"),
        (lambda: Board.diagonal(31), "a side of 31 can't be cut into boxes; name 1x31 for a Latin square, or give"),
        (lambda: Board.diagonal(5), "a side of 5 can't be cut into boxes"),
        (lambda: Board.windoku(6), "windoku needs square boxes .* 6"),
        (lambda: Board.windoku(4), "windoku needs square boxes .* 4"),
        (lambda: Board(4, regions=(0, 1, 2)), "regions name 3 cells; a board of side 4 has 16"),
        (lambda: Board(2, regions=(0, 0, 2, 2)), "numbered 0, 1, 2 ... without a gap"),
        (lambda: Board(2, regions=(-1, -1, 0, 0)), "numbered 0, 1, 2 ... without a gap"),
        (lambda: Board(2, regions=(0, 0, 1, 2)), "there are 3 regions; a board of side 2 is tiled by 2"),
        (lambda: Board(2, regions=(0, 0, 0, 0)), "there are 1 regions; a board of side 2 is tiled by 2"),
        (lambda: Board(2, regions=(0, 1, 1, 1)), "region 0 has 1 cells; a house of this board has 2"),
        (lambda: Board.jigsaw("aab"), "regions name 3 cells, which is not the square"),
        (lambda: Board.jigsaw(""), "regions name 0 cells, which is not the square"),
        (lambda: Board.jigsaw("aaab"), "region 0 has 3 cells"),
        (lambda: Board.named("jigsaw:"), "regions name 0 cells"),
        (lambda: Board.named("11"), "a side of 11 can't be cut into boxes"),
        (lambda: Board.named("10x10"), f"side must lie between 2 and {MAX_SIDE}, not 100"),
        (lambda: Board.named("0x9"), f"side must lie between 2 and {MAX_SIDE}, not 0"),
        (lambda: Board(2, box=(1, 2), extra=((0,),)), "extra house 0 has 1 cells; a house of this board has 2"),
        (lambda: Board(2, box=(1, 2), extra=((0, 3), (1, 1))), "extra house 1 names a cell twice"),
        (lambda: Board(2, box=(1, 2), extra=((0, 4),)), "extra house 0 names a cell outside 0..3"),
        (lambda: Board(2, box=(1, 2), extra=((-1, 0),)), "extra house 0 names a cell outside 0..3"),
    ],
)
def test_what_is_no_board_says_why(make, cause):
    with pytest.raises(ValueError, match=cause):
        make()


class Wordless(Distinct):
    """A kind of a user, without a text."""

    def text(self, side):
        return None


def test_boards_in_cards_are_the_same_boards():
    plain = Board.diagonal(4)
    assert set(plain.to_json()) == {"side", "box", "regions", "extra"}
    for board in (plain, plain.with_(Chain((0, 1)), Cage((5, 6), (5,))), Board.jigsaw(JIGSAW_4)):
        assert Board.of_json(json.loads(json.dumps(board.to_json()))) == board
    with pytest.raises(ValueError, match=r"a file can't describe all constraints of .*: some have no text"):
        plain.with_(Wordless((0, 1))).to_json()
