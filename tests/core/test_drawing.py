"""Boards in text: golden drawings, and what holds for the drawing of any board."""

from __future__ import annotations

import re

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from jaxsudoku.core.board import Board
from jaxsudoku.core.drawing import draw

pytestmark = pytest.mark.quick

JIGSAW_5 = Board.jigsaw("aaabb aacbb cccbd ecddd eeeed")

PUZZLE_4 = [1, 2, 3, 4, 3, 4, 0, 2, 2, 0, 4, 3, 0, 3, 2, 1]

DRAWN_4 = """\
┌─────┬─────┐
│ 1 2 │ 3 4 │
│ 3 4 │ . 2 │
├─────┼─────┤
│ 2 . │ 4 3 │
│ . 3 │ 2 1 │
└─────┴─────┘"""

DRAWN_6 = """\
┌───────┬───────┐
│ . 1 2 │ 3 4 5 │
│ 6 . 1 │ 2 3 4 │
├───────┼───────┤
│ 5 6 . │ 1 2 3 │
│ 4 5 6 │ . 1 2 │
├───────┼───────┤
│ 3 4 5 │ 6 . 1 │
│ 2 3 4 │ 5 6 . │
└───────┴───────┘"""

DRAWN_6_TALL = """\
┌─────┬─────┬─────┐
│ . 1 │ 2 3 │ 4 5 │
│ 6 . │ 1 2 │ 3 4 │
│ 5 6 │ . 1 │ 2 3 │
├─────┼─────┼─────┤
│ 4 5 │ 6 . │ 1 2 │
│ 3 4 │ 5 6 │ . 1 │
│ 2 3 │ 4 5 │ 6 . │
└─────┴─────┴─────┘"""

GIVENS_9 = "530070000600195000098000060800060003400803001700020006060000280000419005000080079"
SOLUTION_9 = "534678912672195348198342567859761423426853791713924856961537284287419635345286179"

DRAWN_9 = """\
┌─────────┬─────────┬─────────┐
│[5][3] 4 │ 6 [7] 8 │ 9  1  2 │
│[6] 7  2 │[1][9][5]│ 3  4  8 │
│ 1 [9][8]│ 3  4  2 │ 5 [6] 7 │
├─────────┼─────────┼─────────┤
│[8] 5  9 │ 7 [6] 1 │ 4  2 [3]│
│[4] 2  6 │[8] 5 [3]│ 7  9 [1]│
│[7] 1  3 │ 9 [2] 4 │ 8  5 [6]│
├─────────┼─────────┼─────────┤
│ 9 [6] 1 │ 5  3  7 │[2][8] 4 │
│ 2  8  7 │[4][1][9]│ 6  3 [5]│
│ 3  4  5 │ 2 [8] 6 │ 1 [7][9]│
└─────────┴─────────┴─────────┘"""

DRAWN_JIGSAW = """\
┌───────────┬───────┐
│ .   1   2 │ 3   4 │
│       ┌───┤       │
│ 5   . │ 1 │ 2   3 │
├───────┘   │   ┌───┤
│ 4   5   . │ 1 │ 2 │
├───┐   ┌───┴───┘   │
│ 3 │ 4 │ 5   .   1 │
│   └───┴───────┐   │
│ 2   3   4   5 │ . │
└───────────────┴───┘"""

DRAWN_JIGSAW_GIVENS = """\
┌───────────┬───────┐
│ .  [1]  2 │ 3  [4]│
│       ┌───┤       │
│ 5   . │ 1 │ 2   3 │
├───────┘   │   ┌───┤
│[4]  5   . │ 1 │ 2 │
├───┐   ┌───┴───┘   │
│ 3 │[4]│ 5   .   1 │
│   └───┴───────┐   │
│ 2   3  [4]  5 │ . │
└───────────────┴───┘"""


def digits(text: str) -> np.ndarray:
    return np.array([int(digit) for digit in text])


def cycled(side: int) -> np.ndarray:
    return np.arange(side * side) % (side + 1)


@pytest.mark.parametrize(
    ("grid", "board", "drawing"),
    [
        (PUZZLE_4, Board.classic(4), DRAWN_4),
        (cycled(6), Board.classic(6), DRAWN_6),
        (cycled(6), Board.classic(6, box=(3, 2)), DRAWN_6_TALL),
        (cycled(5), JIGSAW_5, DRAWN_JIGSAW),
    ],
    ids=["4x4", "6x6", "6x6 of tall boxes", "jigsaw"],
)
def test_golden(grid, board, drawing):
    assert draw(grid, board) == drawing


def test_filled_in_digits_leave_the_givens_in_brackets():
    assert draw(digits(SOLUTION_9), Board.classic(), digits(GIVENS_9)) == DRAWN_9
    assert draw(cycled(5), JIGSAW_5, digits("0100400000400000400000400")) == DRAWN_JIGSAW_GIVENS


def test_wide_digits_are_aligned_to_the_right():
    grid = np.zeros((12, 12), int)
    grid[0] = [1, 2, 3, 10, 11, 12, 4, 5, 6, 7, 8, 9]
    plain = "│  1  2  3 10 │ 11 12  4  5 │  6  7  8  9 │"
    assert draw(grid, Board.classic(12)).split("\n")[1] == plain
    givens = grid * (grid > 9)
    marked = "│  1   2   3 [10]│[11][12]  4   5 │  6   7   8   9 │"
    assert draw(grid, Board.classic(12), givens).split("\n")[1] == marked


def test_brackets_only_where_there_is_something_to_set_apart():
    board = Board.classic(4)
    assert draw(PUZZLE_4, board, PUZZLE_4) == DRAWN_4, "nothing is filled in"
    assert draw(PUZZLE_4, board, [0] * 16) == DRAWN_4, "nothing was given"


def test_a_changed_given_is_no_given():
    drawing = draw(PUZZLE_4, Board.classic(4), [1, 3] + [0] * 14)
    assert drawing.split("\n")[1] == "│[1] 2 │ 3  4 │"


def test_color_sets_givens_in_bold():
    givens = [1] + [0] * 15
    drawing = draw(PUZZLE_4, Board.classic(4), givens, color=True)
    assert drawing == DRAWN_4.replace("│ 1 2", "│ \x1b[1m1\x1b[0m 2", 1)
    assert draw(PUZZLE_4, Board.classic(4), color=True) == DRAWN_4, "no givens are known"


def test_extra_houses_are_not_drawn():
    assert draw(cycled(9), Board.diagonal()) == draw(cycled(9), Board.classic()) == draw(cycled(9), Board.windoku())


@pytest.mark.parametrize(
    ("grid", "cause"),
    [
        (np.zeros(80, int), r"grid has shape \(80,\); the board has 9x9 cells"),
        (np.zeros((9, 10), int), r"grid has shape \(9, 10\)"),
        (np.zeros((1, 81), int), r"grid has shape \(1, 81\)"),
        (np.zeros(81), "grid holds float64 values"),
        (
            np.r_[np.zeros(10, int), 10, np.zeros(70, int)],
            "grid holds 10 in row 2, column 2; values lie between 0 and 9",
        ),
        (np.r_[-1, np.zeros(80, int)], "grid holds -1 in row 1, column 1"),
    ],
)
def test_a_grid_that_does_not_fit(grid, cause):
    with pytest.raises(ValueError, match=cause):
        draw(grid, Board.classic())
    with pytest.raises(ValueError, match=cause.replace("grid", "givens", 1)):
        draw(np.zeros(81, int), Board.classic(), grid)


@st.composite
def boards_and_grids(draw_from):
    """A board, classic or with regions strewn at random, with a grid and givens that it keeps in part."""
    side = draw_from(st.integers(2, 12))
    labels = np.repeat(np.arange(side), side)
    board = Board.jigsaw(draw_from(st.permutations(labels)) if draw_from(st.booleans()) else labels)
    values = st.lists(st.integers(0, side), min_size=side * side, max_size=side * side)
    return board, np.array(draw_from(values), np.uint8), draw_from(st.none() | values)


@settings(max_examples=40)
@given(boards_and_grids(), st.booleans())
def test_every_drawing_can_be_read_back(case, color):
    board, grid, givens = case
    drawing = re.sub("\x1b.*?m", "", draw(grid, board, givens, color=color))
    assert [int(text) if text != "." else 0 for text in re.findall(r"\d+|\.", drawing)] == grid.tolist()
    assert len({len(line) for line in drawing.split("\n")}) == 1
    assert not drawing.endswith("\n")
    assert drawing == re.sub("\x1b.*?m", "", draw(grid.reshape(board.side, board.side), board, givens, color=color))


@settings(max_examples=40)
@given(boards_and_grids())
def test_borders_part_regions_and_nothing_else(case):
    board, grid, givens = case
    region = np.empty(board.cells, int)
    for label, house in enumerate(board.region_houses):
        region[list(house)] = label
    region = region.reshape(board.side, board.side)

    lines = draw(grid, board, givens).split("\n")[1:-1]
    rows = [number for number, line in enumerate(lines) if re.search(r"[\d.]", line)]
    cells = [[match.end() - 1 for match in re.finditer(r"\d+|\.", lines[row])] for row in rows]
    for r in range(board.side):
        for c in range(board.side - 1):
            between = lines[rows[r]][cells[r][c] : cells[r][c + 1]]
            assert ("│" in between) == (region[r, c] != region[r, c + 1])
    for r in range(board.side - 1):
        between = lines[rows[r] + 1 : rows[r + 1]]
        for c in range(board.side):
            assert any(line[cells[r][c]] == "─" for line in between) == (region[r, c] != region[r + 1, c])


@pytest.mark.parametrize("side", [16, 25, 36])
def test_wide_boards(side):
    lines = draw(cycled(side), Board.classic(side)).split("\n")
    box = int(side**0.5)
    assert len(lines) == side + box + 1
    assert len(set(map(len, lines))) == 1
    assert f" {side} " in "\n".join(lines)
    assert lines[0] == "┌" + "┬".join(["─" * (3 * box + 1)] * box) + "┐"
    assert all(line.count("│") in (0, box + 1) for line in lines)


# ---------------------------------------------------------------------- candidates

MARKS_4 = """\
┌───────┬────────┐
│ 1 2   │ 3 4    │
│ 3 4   │ 1 2    │
├───────┼────────┤
│ 2 134 │ 4 .    │
│ 1 3   │ 2 1234 │
└───────┴────────┘"""


def test_candidates_are_listed_in_open_cells():
    candidates = np.zeros((4, 16), bool)
    candidates[[0, 2, 3], 9] = True
    candidates[0, [6, 12]] = True
    candidates[:, 15] = True
    grid = [*PUZZLE_4[:6], 0, 2, 2, 0, 4, 0, 0, 3, 2, 0]
    assert draw(grid, candidates=candidates) == MARKS_4
    assert draw(grid, givens=grid, candidates=candidates) == MARKS_4
    coloured = draw(grid, givens=[0] * 15 + [0], candidates=candidates, color=True)
    assert coloured == MARKS_4
    coloured = draw(grid, givens=[1] + [0] * 15, candidates=candidates, color=True)
    assert coloured == MARKS_4.replace("│ 1 2   │ 3 4    │", "│ \x1b[1m1\x1b[0m 2   │ 3 4    │")
    wide = np.zeros((16, 256), bool)
    wide[[0, 9, 15], 0] = True
    assert draw(np.zeros(256, int), candidates=wide).splitlines()[1].startswith("│ 1,10,16 . . . │")
    for wrong in (candidates[:3], candidates.astype(int)):
        with pytest.raises(ValueError, match=r"candidates .*; they must be bool\[4, 16\]"):
            draw(grid, candidates=wrong)
