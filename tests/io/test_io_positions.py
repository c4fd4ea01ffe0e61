"""Reading positions in play and drawn grids: pencil marks, HoDoKu's library, SadMan's sections, frames of all kinds."""

from __future__ import annotations

import io
import json

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from jaxsudoku.cli.inputs import known_solutions
from jaxsudoku.core.board import Board
from jaxsudoku.core.drawing import draw
from jaxsudoku.core.host_rules import all_candidates, allowed_candidates
from jaxsudoku.io import (
    Chunk,
    PuzzleFileError,
    library_line,
    open_puzzles,
    parse,
    parse_position,
    read_chunks,
    read_positions,
    read_puzzles,
)

pytestmark = pytest.mark.quick

FOUR, NINE = Board.classic(4), Board.classic()
ROWS = ["1.34", ".412", "2.4.", "43.1"]
PUZZLE = "".join(ROWS)
GRID = np.array([1, 0, 3, 4, 0, 4, 1, 2, 2, 0, 4, 0, 4, 3, 0, 1], np.uint8)

SIMPLE_SUDOKU = """\
 *-----------*
 |.3.|4..|...|
 |9.2|8.6|3.1|
 |...|...|.2.|
 |---+---+---|
 |8..|.6.|7..|
 |.6.|2.5|.9.|
 |..3|.4.|..8|
 |---+---+---|
 |.7.|...|...|
 |4.8|9.2|5.6|
 |...|..8|.3.|
 *-----------*
 Simple Sudoku
  Version 4.2n
"""

SIMPLE_SUDOKU_MARKS = """\
*--------------------------------------------------------------------*
| 1567   3      1567   | 4      12579  179    | 689    5678   579    |
| 9      45     2      | 8      57     6      | 3      457    1      |
| 1567   1458   14567  | 1357   13579  1379   | 4689   2      4579   |
|----------------------+----------------------+----------------------|
| 8      12459  1459   | 13     6      139    | 7      145    2345   |
| 17     6      147    | 2      1378   5      | 14     9      34     |
| 1257   1259   3      | 17     4      179    | 126    156    8      |
|----------------------+----------------------+----------------------|
| 12356  7      1569   | 1356   135    134    | 12489  148    249    |
| 4      1      8      | 9      137    2      | 5      17     6      |
| 1256   1259   1569   | 1567   157    8      | 1249   3      2479   |
*--------------------------------------------------------------------*
                           Simple Sudoku
                            Version 4.2n
"""

#: The same position as a step of HoDoKu, with its marks, and as a line of its library.
HODOKU_STEP = """\
.----------------.--------------.-----------------.
|  9     8     4 | 12   127  36 | 135  67   57    |
|  37    67    2 | 5    178  36 | 139  4    789   |
| *357  *567   1 | 9    78   4  | 3-5  678  2     |
:----------------+--------------+-----------------:
|  58    145   6 | 148  9    7  | 2    3    458   |
|  578   1457  3 | 6    148  2  | 59   78   45789 |
|  2     47    9 | 48   3    5  | 6    1    478   |
:----------------+--------------+-----------------:
|  1     9     5 | 7    6    8  | 4    2    3     |
|  4     2     7 | 3    5    1  | 8    9    6     |
|  6     3     8 | 24   24   9  | 7    5    1     |
'----------------'--------------'-----------------'
Locked Candidates Type 1 (Pointing): 5 in b1 => r3c7<>5
"""
HODOKU_LINE = (
    ":0100:5:984........+25...4...+1+9.+4..2..6.972+3...3+6.2...+2.+9.+3+5+61.+1+95+76+8+4+234+27+35189+6+63+8..97+5+1"
    "::537:"
)

SADMAN = """\
#ARuud
#DA random puzzle
#B03-08-2006
#Uhttp://www.sudocue.net/
[Puzzle]
2..1.5..3
.54...71.
.1.2.3.8.
6.28.73.4
.........
1.53.98.6
.2.7.1.6.
.81...24.
7..4.2..1
[State]
2..1.5..3
.54...71.
.1.2.3.8.
6.28.73.4
4........
1.53.98.6
.2.7.1.6.
.81...24.
7..4.2..1
[PencilMarks]
,89,,,7,,,,
,,,,,,,,
,,,,,,,,
,,,,,,,,
,,,,,,,,
,,,,,,,,
,,,,,,,,
,,,,,,,,
,,,,,,,,
"""
SADMAN_PUZZLE = "2..1.5..3.54...71..1.2.3.8.6.28.73.4.........1.53.98.6.2.7.1.6..81...24.7..4.2..1"


def read(text, board=NINE):
    """All of a text as one chunk."""
    return Chunk.join(list(read_chunks(io.BytesIO(text.encode()), board)))


def dotted(grid):
    """A grid as a line of text."""
    return "".join(str(digit) if digit else "." for digit in grid.tolist())


# ---------------------------------------------------------------------- frames


def framed(grid, board, style, blank, each, spaced):
    """A grid with bars between boxes, or between all cells (each), and lines between bands."""
    side, width = board.side, 1 if each else board.box[1]
    bar, line = style[0], style[1:]
    lines = []
    for row, cells in enumerate(grid.reshape(side, side).tolist()):
        texts = [f"{digit or blank:>{len(str(side))}}" for digit in cells]
        boxes = [texts[first : first + width] for first in range(0, side, width)]
        parts = [" " + " ".join(box) + " " if spaced else "".join(box) for box in boxes]
        if line and (each or row % board.box[0] == 0):
            lines.append(line[-1] + line[-1].join(line[0] * len(part) for part in parts) + line[-1])
        lines.append(bar + bar.join(parts) + bar)
    return "\n".join(lines) + "\n"


@pytest.mark.parametrize(
    ("board", "style"),
    [
        *((FOUR, style) for style in ("|-", "|-+", "|", "│─┼", "┃━╋", "║═╬", "!=", "¦—+", ":-", "|=")),
        *((Board.classic(6), style) for style in ("|-+", "┃━╋", "!=")),
        *((NINE, style) for style in ("|-", "|", "│─┼", ":-")),
        *((Board.classic(16), style) for style in ("|-+", "║═╬")),
    ],
    ids=str,
)
def test_grids_are_read_in_any_frame(board, style):
    rng = np.random.default_rng(board.side)
    for blank in (".", "0", "_", "·", "□", "-", " "):
        for each, spaced in ((False, True), (True, True), (False, False), (True, False)):
            if board.side > 9 and not each and (not spaced or blank == " "):
                continue  # numbers that run together, and blanks of no certain width
            if blank == " " and style[0] in "!:":
                continue  # not taken for bars between spaces
            if blank == "-" and "-" in style and each and not spaced:
                continue  # |-|-|-|-| is a frame or a row
            grid = (rng.integers(1, board.side + 1, board.cells) * (rng.random(board.cells) < 0.6)).astype(np.uint8)
            text = framed(grid, board, style, blank, each, spaced)
            chunk = read(f"{text}\n{text}", board)
            assert chunk.good.all() and len(chunk) == 2, (text, chunk.errors)
            np.testing.assert_array_equal(chunk.grids, np.stack([grid, grid]), text)
            np.testing.assert_array_equal(parse(text), grid, text)
            assert not chunk.marks


def test_spaces_between_bars_are_blanks_in_a_blank_row():
    for text in (
        "|1| |3|4|\n| | | | |\n|2| |4| |\n|4|3| |1|\n",
        "|1 |34|\n|  |  |\n|2 |4 |\n|43| 1|\n",
        "| 1   | 3 4 |\n|     |     |\n| 2   | 4   |\n| 4 3 |   1 |\n",
        "║1│ ║3│4║\n║ │ ║ │ ║\n║2│ ║4│ ║\n║4│3║ │1║\n",
        "||1| ||3|4||\n|| | || | ||\n||2| ||4| ||\n||4|3|| |1||\n",
    ):
        expected = GRID.copy()
        expected[4:8] = 0
        np.testing.assert_array_equal(read(text, FOUR).grids, expected[None], text)
        np.testing.assert_array_equal(parse(text), expected, text)
    padded = "+-----+-----+\n|     |     |\n| 1 . | 3 4 |\n" + "\n".join(ROWS[1:])
    np.testing.assert_array_equal(read(padded, FOUR).grids, GRID[None])
    (error,) = read("|1| |3|4|\n| |4|1|\n|2| |4| |\n|4|3| |1|\n", FOUR).errors
    assert str(error) == "<input>:2: row 2 of the grid has 2 cells, not 4"


@pytest.mark.parametrize("board", [FOUR, Board.classic(6), NINE, Board.classic(16), Board.classic(25)], ids=str)
def test_drawings_of_boards_are_read_back(board):
    rng = np.random.default_rng(0)
    grid = rng.integers(0, board.side + 1, board.cells).astype(np.uint8)
    givens = (grid * (rng.random(board.cells) < 0.5)).astype(np.uint8)
    for text in (draw(grid, board), draw(grid, board, givens)):
        np.testing.assert_array_equal(parse(text), grid)
        np.testing.assert_array_equal(
            read(text * 2 if text.endswith("\n") else f"{text}\n{text}", board).grids[1], grid
        )
    rows = "\n".join("".join(f"[{digit}]" for digit in row) for row in grid.reshape(board.side, -1).tolist())
    np.testing.assert_array_equal(read(rows, board).grids, grid[None])  # no JSON


def test_drawings_of_jigsaws_are_read_back():
    board = Board.jigsaw("aaabb aacbb cccbd ecddd eeeed")
    grid = np.random.default_rng(0).integers(0, 6, 25).astype(np.uint8)
    np.testing.assert_array_equal(parse(draw(grid, board), board), grid)
    candidates = allowed_candidates(np.zeros(25, np.uint8), board)
    np.testing.assert_array_equal(parse_position(draw(grid * 0, board, candidates=candidates), board)[1], candidates)


# ---------------------------------------------------------------------- pencil marks


def test_pencil_marks_of_programs():
    chunk = read(f"{SIMPLE_SUDOKU}\n{SIMPLE_SUDOKU_MARKS}\n{HODOKU_STEP}")
    assert chunk.good.all() and chunk.listed.tolist() == [False, True, True] and chunk.lines.tolist() == [2, 18, 34]
    givens, marks, _ = chunk.grids
    assert ((givens > 0) <= (givens == marks)).all() and (marks > 0).sum() == 29
    assert np.flatnonzero(chunk.candidates_of([1])[0, :, 0]).tolist() == [0, 4, 5, 6]
    np.testing.assert_array_equal(chunk.candidates_of([0])[0], all_candidates(givens, 9))
    grid, candidates, _ = parse_position(HODOKU_STEP)
    np.testing.assert_array_equal(grid, chunk.grids[2])
    np.testing.assert_array_equal(candidates, chunk.candidates_of([2])[0])


def test_a_step_and_the_line_of_a_library_are_one_position():
    (grid, candidates, _), (other, listed, _) = map(parse_position, (HODOKU_STEP, HODOKU_LINE))
    np.testing.assert_array_equal(grid, other)
    allowed = allowed_candidates(grid, NINE)
    np.testing.assert_array_equal(candidates & allowed, listed & allowed)


@settings(max_examples=25, deadline=None)
@given(st.sampled_from([FOUR, Board.classic(6), NINE, Board.classic(16)]), st.integers(0, 2**32), st.integers(1, 9))
def test_drawn_candidates_and_lines_of_a_library_are_read_back(board, seed, tenths):
    rng = np.random.default_rng(seed)
    grid = (rng.integers(1, board.side + 1, board.cells) * (rng.random(board.cells) < 0.3)).astype(np.uint8)
    candidates = rng.random((board.side, board.cells)) < tenths / 10
    candidates[rng.integers(board.side, size=board.cells), np.arange(board.cells)] = True
    candidates = np.where(grid == 0, candidates, all_candidates(grid, board.side))
    alone = np.where(candidates.sum(axis=0) == 1, candidates.argmax(axis=0) + 1, 0)  # these are read as filled
    for text in (
        draw(grid, board, candidates=candidates),
        f"# board: {board.side}\n{draw(grid, candidates=candidates)}",
    ):
        found, listed, _ = parse_position(text, None if text.startswith("#") else board)
        np.testing.assert_array_equal(found, alone)
        np.testing.assert_array_equal(listed, candidates)
    if board.side <= 9:
        found, listed, _ = parse_position(library_line(grid, candidates, board))
        np.testing.assert_array_equal(found, grid)
        allowed = allowed_candidates(grid, board)
        np.testing.assert_array_equal(listed & allowed, candidates & allowed)


@pytest.mark.parametrize(
    ("row", "cause"),
    [
        ("12 11 3 4", "row 2 of the grid: '11', number 2 of the line, lists 1 twice"),
        ("12 15 3 4", "row 2 of the grid: '15', number 2 of the line, lists 5; the digits of this board are 1 to 4"),
        ("12 . 3 4", "row 2 of the grid: '.', number 2 of the line, lists no candidates, but other cells do"),
        ("12 0 3 4", "row 2 of the grid: '0', number 2 of the line, lists no candidates, but other cells do"),
        ("1 . 3 4", "row 2, column 2 lists no candidates, but other cells do"),
        ("12 123 34", "row 2 of the grid has 3 cells, not 4"),
        ("12 1?3 3 4", "row 2 of the grid"),
    ],
)
def test_malformed_pencil_marks(row, cause):
    good = "12 123 3 4\n34 3 12 1\n2 1 4 3\n4 3 12 1\n"
    bad = good.replace("34 3 12 1", row)
    chunk = read(f"{good}\n{bad}\n{good}", FOUR)
    assert chunk.good.tolist() == [True, False, True]
    (error,) = chunk.errors
    assert str(error).startswith(f"<input>:7: {cause}")
    assert chunk.listed.tolist() == [True, False, True]


def test_candidates_beyond_9x9_are_numbers_and_commas():
    board = Board.classic(16)
    rows = [" ".join(["1,16", "2", *["."] * 14]), *[" ".join(["."] * 16)] * 15]
    (error,) = read("\n".join(rows), board).errors
    assert error.cause == "row 1 of the grid: '.', number 3 of the line, lists no candidates, but other cells do"
    rows = [" ".join(["1,17", *["2"] * 15]), *[" ".join(["3"] * 16)] * 15]
    (error,) = read("\n".join(rows), board).errors
    assert (
        error.cause == "row 1 of the grid: '1,17', number 1 of the line, lists 17; the digits of this board are 1 to 16"
    )
    rows = [" ".join(["1,16", *["2"] * 15]), *[" ".join(["12"] * 16)] * 15]
    chunk = read("\n".join(rows), board)
    assert chunk.grids[0, 0] == 0 and chunk.grids[0, 16] == 12
    assert np.flatnonzero(chunk.candidates_of([0])[0, :, 0]).tolist() == [0, 15]


# ---------------------------------------------------------------------- HoDoKu's library


def test_lines_of_a_library():
    text = f"# W-Wing\n:0803-x:14:1+234+3.12........:421 231::\n\n{PUZZLE} a plain one\n:0000:x:{PUZZLE}:::\n"
    chunk = read(text, FOUR)
    assert chunk.good.all() and chunk.lines.tolist() == [2, 4, 5]
    assert list(map(dotted, chunk.grids)) == ["12343.12........", PUZZLE, PUZZLE]
    assert chunk.listed.tolist() == [True, False, False]
    assert np.argwhere(~chunk.candidates_of([0])[0] & (chunk.grids[0] == 0)).tolist() == [[1, 8]]
    with open_puzzles(io.BytesIO(text.encode()), FOUR) as puzzles:
        assert puzzles.check() == ()


@pytest.mark.parametrize(
    ("line", "cause"),
    [
        (":0:x:1+.34............:::", "'+' at column 7 has no digit after it"),
        (":0:x:1+:::", "'+' at column 7 has no digit after it"),
        (":0:x:123:::", "3 cells; a 4x4 board has 16"),
        (":0:x:1235............:::", "'5', at column 9, is larger than 4"),
        (":0:x:123!............:::", "'!', at column 9, is not a cell"),
        (
            ":0:x:123.............:451:::",
            "the deleted candidate '451' is not a digit, a row and a column, each from 1 to 4",
        ),
        (":0:x:123.............:41:::", "the deleted candidate '41' is not a digit"),
        (":0:x:123.............:4x1:::", "the deleted candidate '4x1' is not a digit"),
        (":0:x:123.............:212 213::", "the deleted candidate '212' is the digit of its cell"),
    ],
)
def test_malformed_lines_of_a_library(line, cause):
    chunk = read(f":0:x:{PUZZLE}:::\n{line}\n{PUZZLE}\n", FOUR)
    assert chunk.good.tolist() == [True, False, True]
    assert str(chunk.errors[0]).startswith(f"<input>:2: {cause}")


def test_a_library_is_of_boards_up_to_9x9():
    board = Board.classic(16)
    assert "has a board up to 9x9" in read(":0:x:123456789:::", board).errors[0].cause
    with pytest.raises(ValueError, match="for boards up to 9x9, not 16x16"):
        library_line(np.zeros(256, np.uint8), np.ones((16, 256), bool), board)
    with pytest.raises(ValueError, match="a position has shapes"):
        library_line(np.zeros(16, np.uint8), np.ones((16, 256), bool), FOUR)


# ---------------------------------------------------------------------- SadMan's sections


@pytest.mark.parametrize(
    "text",
    [SADMAN, SADMAN.replace("\n", "\r\n"), SADMAN.replace("[Puzzle]\n", "").split("[State]")[0], SADMAN.upper()],
)
def test_the_section_puzzle_is_the_puzzle(text):
    chunk = read(text)
    assert list(map(dotted, chunk.grids)) == [SADMAN_PUZZLE]
    assert dotted(parse(text)) == SADMAN_PUZZLE


def test_joined_files_with_sections():
    plain = SADMAN.split("[State]")[0].replace("[Puzzle]\n", "")
    for text, lines in [
        (SADMAN + SADMAN, [6, 40]),
        (SADMAN + plain, [6, 39]),
        (SADMAN.split("[Pencil")[0] + plain.split("net/\n")[1], [6, 25]),  # no heading
        (plain + SADMAN, [5, 19]),
    ]:
        chunk = read(text)
        assert chunk.good.all() and chunk.lines.tolist() == lines
        assert set(map(dotted, chunk.grids)) == {SADMAN_PUZZLE}
    with pytest.raises(PuzzleFileError, match=r"<input>:1: a section \[State\], but no section \[Puzzle\]"):
        read("[State]" + SADMAN.split("[State]")[1])
    for form in (f"[Puzzle]\n{PUZZLE}\n[State]\n1234341221434321\n", "[puzzle]\n" + "\n".join(ROWS)):
        np.testing.assert_array_equal(read(form, FOUR).grids, GRID[None])


# ---------------------------------------------------------------------- candidates are not lost without a word


def test_positions_of_a_file(tmp_path):
    path = tmp_path / "marks.txt"
    path.write_text(f"{SIMPLE_SUDOKU}\n{HODOKU_STEP}")
    positions = read_positions(path)
    assert positions.grids.shape == (2, 81) and positions.candidates.shape == (2, 9, 81)
    with pytest.warns(UserWarning, match="1 puzzle lists candidates, which are left out; io.read_positions reads them"):
        np.testing.assert_array_equal(read_puzzles(path), positions.grids)
    with pytest.warns(UserWarning, match=r"candidates, which are left out; io\.parse_position"):
        np.testing.assert_array_equal(parse(HODOKU_STEP), positions.grids[1])
    path.write_text(f"{PUZZLE}\n")
    grids, candidates, _ = read_positions(path, FOUR)
    np.testing.assert_array_equal(grids, GRID[None])
    np.testing.assert_array_equal(candidates, all_candidates(grids, 4))
    path.write_text("# nothing\n")
    assert read_positions(path).candidates.shape == (0, 9, 81)
    path.write_text(f"{PUZZLE}\n123\n")
    with pytest.raises(PuzzleFileError, match="1 of 2 puzzles malformed"):
        read_positions(path, FOUR)


def test_chunks_keep_candidates():
    plain, marks = read("\n".join(ROWS), FOUR), read("12 123 3 4\n34 3 12 1\n2 1 4 3\n4 3 12 1\n", FOUR)
    joined = Chunk.join([plain, marks])
    assert joined.listed.tolist() == [False, True] and joined[1:].listed.tolist() == [True]
    np.testing.assert_array_equal(joined.candidates_of([0])[0], all_candidates(GRID, 4))
    assert not Chunk.join([plain, plain]).marks
    assert not joined.with_errors("x", {1: "why"}).listed.any()
    (small,) = list(read_chunks(io.BytesIO(HODOKU_LINE.encode()), NINE, chunk_size=1))
    assert small.candidates_of([0]).shape == (1, 9, 81)


# ---------------------------------------------------------------------- columns of well-known sets


@pytest.mark.parametrize("names", ["quizzes,solutions", "puzzle,solution", "question,answer", "Question,Answer"])
def test_columns_of_well_known_sets(names):
    solution = "1234341221434321"
    chunk = read(f"id,{names}\n7,{PUZZLE},{solution}\n8,{PUZZLE},12\n", FOUR)
    np.testing.assert_array_equal(chunk.grids, np.stack([GRID, GRID]))
    keep = ("solution",)
    chunk = Chunk.join(
        list(read_chunks(io.BytesIO(f"{names}\n{PUZZLE},{solution}\n{PUZZLE},12\n".encode()), FOUR, keep=keep))
    )
    found, causes = known_solutions(chunk)
    assert dotted(found[0]) == solution
    assert causes == {1: "the solution is malformed: 2 cells; a 4x4 board has 16"}
    quiz, answer = names.split(",")
    line = json.dumps({quiz: PUZZLE, answer: solution})
    (chunk,) = read_chunks(io.BytesIO(line.encode()), FOUR, keep=keep)
    assert dotted(known_solutions(chunk)[0][0]) == solution
