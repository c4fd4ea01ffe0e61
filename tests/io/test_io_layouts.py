"""Layouts of puzzle files that people have: read right, or refused with the reason; nothing is misread silently."""

from __future__ import annotations

import io
import json
import tracemalloc

import numpy as np
import pytest

from jaxsudoku.core.board import Board
from jaxsudoku.io import (
    Chunk,
    NoPuzzlesError,
    PuzzleFileError,
    open_puzzles,
    open_slice,
    parse,
    parse_position,
    read_chunks,
    read_positions,
    read_puzzles,
    slices,
)
from jaxsudoku.testing.format import read_slices

PUZZLE = "53..7....6..195....98....6.8...6...34..8.3..17...2...6.6....28....419..5....8..79"
SOLUTION = "534678912672195348198342567859761423426853791713924856961537284287419635345286179"
GRID = np.array([int(character.replace(".", "0")) for character in PUZZLE], np.uint8)
OTHER = "4.....8.5.3..........7......2.....6.....8.4......1.......6.3.7.5..2.....1.4......"
ROWS = [PUZZLE[row : row + 9] for row in range(0, 81, 9)]
NUMBERS = [[character.replace(".", "0") for character in row] for row in ROWS]
MINUS = [[cell if cell != "0" else "-1" for cell in row] for row in NUMBERS]
TRAILED = "".join("\t".join(row) + "\t\n" for row in MINUS)
COUNTED = "".join("." if character == "." else str(int(character) - 1) for character in PUZZLE)
LETTERED = "".join("." if character == "." else chr(ord("A") + int(character) - 1) for character in PUZZLE)
LISTS = ",\n".join(f"[{', '.join(row)}]" for row in NUMBERS)
NINE, FOUR, SIXTEEN = map(Board.classic, (9, 4, 16))


def lines(rows):
    return "".join(f"{row}\n" for row in rows)


def read(text, board=NINE, **options) -> Chunk:
    data = text if isinstance(text, bytes) else text.encode()
    return Chunk.join(list(read_chunks(io.BytesIO(data), board, **options)))


def bands(rows, height, gap="\n"):
    return gap.join(lines(rows[row : row + height]) for row in range(0, len(rows), height))


LAYOUTS = {
    "rows apart": bands(ROWS, 1),
    "bands apart": bands(ROWS, 3),
    "bands of numbers": bands([" ".join(row) for row in NUMBERS], 3),
    "a delimiter after each row": lines(",".join(row) + "," for row in NUMBERS),
    "a delimiter after each row, blanks empty": lines(",".join(row).replace("0", "") + "," for row in NUMBERS),
    "minus one": lines("\t".join(row) for row in MINUS),
    "two lines of sizes": "3\n1\n" + TRAILED,
    "the side on the first line": "9\n" + lines(" ".join(row) for row in NUMBERS),
    "sides on the first line": "9x9:\n" + lines(",".join(row).replace("0", "*") for row in NUMBERS),
    "count and solution": f"{PUZZLE}:1:{SOLUTION}",
    "equals": f"{PUZZLE}={SOLUTION}",
    "a hash before": f"00015097c6c3 {PUZZLE} 7.2",
    "a number before": f"1,{PUZZLE}",
    "words before": f"Easy 1: {PUZZLE} # easy",
    "rows in a line": " ".join(ROWS),
    "rows between slashes": "/".join(ROWS),
    "JSON rows": json.dumps({"puzzle": ROWS}),
    "JSON rows alone": json.dumps(ROWS),
    "JSON rows of numbers": json.dumps({"puzzle": [" ".join(row) for row in NUMBERS]}),
    "JSON with nulls": json.dumps([int(cell) or None for row in NUMBERS for cell in row]),
    "JSON with empty texts": json.dumps([cell.replace("0", "") for row in NUMBERS for cell in row]),
    "rows in a field": 'name,puzzle\na,"' + "\n".join(ROWS) + '"\n',
    "x": PUZZLE.replace(".", "x"),
    "X": PUZZLE.replace(".", "X"),
    "question marks": PUZZLE.replace(".", "?"),
    "rows of question marks": lines(",".join(row).replace("0", "?") for row in NUMBERS),
    "Excel's separator": f"sep=;\nn;puzzle\n1;{PUZZLE}\n",
    "QQWing": f"Puzzle,Solution,Time (milliseconds),Difficulty\n{PUZZLE},{SOLUTION},46.717,Easy,\n",
    "letters": LETTERED,
    "rows of letters": lines(LETTERED[row : row + 9] for row in range(0, 81, 9)),
    "a column of another name": f"sudoku\n{PUZZLE}\n",
    "a quoted column of another name": f'"sudoku"\n"{PUZZLE}"\n',
    "JSON with one key": json.dumps({"sudoku": PUZZLE}),
    "a list of lists": f"[{LISTS}]",
    "lists": LISTS,
    "lists of texts": f"[{LISTS}]".replace("0", '"."'),
    "texts in a list": "[\n" + ",\n".join(f'  "{row}"' for row in ROWS) + "\n]\n",
    "Python": f"grid = [\n{LISTS},\n]\n".replace("0", "None"),
    "numpy": str(GRID.reshape(9, 9)),
    "numpy in code": f"board = np.{GRID.reshape(9, 9)!r}\n",
    "MATLAB": "A = [" + ";\n ".join(" ".join(row) for row in NUMBERS) + "];\n",
    "comments after rows": "grid = [\n" + "".join(f"[{', '.join(row)}],  # row\n" for row in NUMBERS) + "]\n",
    "a title that is a column's name": "Puzzle\n" + lines(ROWS),
    "a section of its solution": "[Puzzle]\n" + lines(ROWS) + "[Solution]\n" + lines(ROWS),
    "C": "int board[9][9] = {\n" + LISTS.replace("[", "{").replace("]", "}") + "\n};\n",
    "commas first": f"[{LISTS}]".replace(",\n", "\n,"),
    "a JSON array, a value a line": f'[\n{{"puzzle": "{PUZZLE}"}},\n]\n',
    "OpenSudoku": f'<?xml version="1.0"?>\n<opensudoku>\n<game data="{PUZZLE.replace(".", "0")}" />\n</opensudoku>\n',
    "OpenSudoku over several lines": f"""<opensudoku><!-- <game data="{OTHER}"/> -->
<game user-data="{OTHER}"
 note="a > b"
data="{PUZZLE}"></game></opensudoku>
""",
}


@pytest.mark.parametrize("layout", LAYOUTS)
def test_layouts(layout):
    text = LAYOUTS[layout]
    np.testing.assert_array_equal(read(text).grids, [GRID])
    np.testing.assert_array_equal(parse(text), GRID)
    assert not read(text).errors


def test_many_puzzles_after_words_are_read_as_one_by_one():
    grids = np.array([np.roll(GRID, shift) for shift in range(200)])
    texts = ["".join(map(str, grid)).replace("0", ".") for grid in grids]
    chunk = read(lines(f"{number:08x} {text}  {number / 7:.2f}" for number, text in enumerate(texts)))
    np.testing.assert_array_equal(chunk.grids, grids)
    text = lines(
        [*(f"{n},{text}" for n, text in enumerate(texts)), f"7,{SOLUTION}", f"a # {PUZZLE}", f"a,{PUZZLE[1:]}"]
    )
    chunk = read(text)
    np.testing.assert_array_equal(chunk.grids[:200], grids)
    assert [error.line for error in chunk.errors] == [201, 202, 203]


@pytest.mark.parametrize("line", [f"{PUZZLE[:40]},{SOLUTION}", f"{PUZZLE[:80]},{SOLUTION}", f"{PUZZLE[:80]}e {PUZZLE}"])
def test_what_follows_a_damaged_puzzle_is_not_read_in_its_place(line):
    assert not read(line).good.any()


def test_a_solution_before_its_puzzle_is_not_taken_for_it():
    for line in (f"{SOLUTION},{PUZZLE}", f"{SOLUTION} 1 {PUZZLE}"):
        chunk = read(lines([PUZZLE, line, PUZZLE]))
        assert chunk.good.tolist() == [True, False, True] and "a puzzle that it may solve" in chunk.errors[0].cause
    assert read(lines([f"{SOLUTION},{OTHER}", f"{SOLUTION} 3"])).good.all()


# ---------------------------------------------------------------------- bands


def test_grids_in_bands():
    other = [OTHER[row : row + 9] for row in range(0, 81, 9)]
    grids = [GRID, parse(OTHER)]
    for text in (
        bands([*ROWS, *other], 3),
        bands(ROWS, 3) + "\n\n" + bands(other, 3),
        bands(ROWS, 3) + "Grid 2\n" + bands(other, 1),
        lines(ROWS) + "\n" + bands(other, 3),
        bands(ROWS, 3) + "\n" + lines(other),
        bands(ROWS, 3, "\n \n") + "\n\n\n" + bands(other, 3, "\n \n"),
    ):
        np.testing.assert_array_equal(read(text).grids, grids)


def test_a_lost_band_loses_no_grid_without_a_word():
    other = [OTHER[row : row + 9] for row in range(0, 81, 9)]
    chunk = read(bands([*ROWS[:6], *other, *ROWS], 3))
    assert not chunk.good.any() and "where each begins is unknown" in chunk.errors[0].cause
    chunk = read(bands(ROWS[:6], 3) + "\n\n" + bands(other, 3))
    assert chunk.good.tolist() == [False, True], "a longer gap, or a title, tells where a grid begins"
    assert str(chunk.errors[0]) == "<input>:1: the grid ends after 6 of 9 rows"
    chunk = read(lines(ROWS[:3]) + "\n" + lines(other))
    assert chunk.good.tolist() == [False, True]


def test_a_lone_number_amid_rows_is_no_size():
    chunk = read(lines([*ROWS[:4], "9", *ROWS[5:]]))
    assert not chunk.good.any() and "row 5 of the grid" in chunk.errors[0].cause
    assert not read(lines(["53", *ROWS[1:]])).good.any()


@pytest.mark.parametrize(
    ("text", "cause"),
    [
        (lines(",".join(["", *"53..7..."]).replace(".", "") + "," for _ in range(9)), "both these fields are empty"),
        (",".join(["", *PUZZLE[:80]]).replace(".", "") + ",", "both these fields are empty"),
        (lines([*ROWS, "-" * 9] * 9).replace(".", "-"), "every 10th row is the same"),
        (lines(["123456789", *ROWS] * 9), "every 10th row is the same"),
        (lines("|" + "|".join(row.replace(".", " ")) + "|\n" + "|" + " |" * 9 for row in ROWS), "every 2th row"),
        (lines([*ROWS[:4], *ROWS[5:], *ROWS, *ROWS]), "8 rows are left after grids that nothing separates"),
    ],
)
def test_rows_that_may_be_shifted_are_refused(text, cause):
    chunk = read(text)
    assert not chunk.good.any() and cause in chunk.errors[0].cause


OTHER_ROWS = [OTHER[row : row + 9] for row in range(0, 81, 9)]
COMMAS = [",".join(row).replace(".", "") for row in ROWS]
#: Damaged drawings, and how many of their grids are read: these are whole, and no other one is made of parts of two.
DAMAGED = {
    "a row cut between bars": (lines(["| " + " | ".join(row) + " |" for row in ROWS[:8]] + ["| . | . | 7 |"]), 0),
    "the first cell on the line before": ("5\n" + lines([COMMAS[0][1:], *COMMAS[1:]]), 0),
    "the last cell on the line after": (lines([*COMMAS[:8], COMMAS[8][:-1]]) + "9\n\n" + lines(ROWS), 1),
    "a lost row and a number": (lines([*ROWS[:8], *OTHER_ROWS, "2"]), 0),
    "a lost row and words": (lines([*ROWS[:8], *OTHER_ROWS, "a,b"]), 0),
    "a doubled row, and a lost one after a comment": (lines([*ROWS, ROWS[8], "# 2", *OTHER_ROWS[1:]]), 0),
    "a lost row of many grids": (lines((ROWS + OTHER_ROWS) * 200)[10:], 0),
    "bands of six and three": (
        lines(ROWS[:6]) + "\n" + lines(ROWS[6:] + OTHER_ROWS[:6]) + "\n" + lines(OTHER_ROWS[6:]),
        0,
    ),
    "bands that are shifted": (
        lines(ROWS[:6]) + "\n" + "\n".join(lines((ROWS * 3)[at : at + 9]) for at in (6, 15)) + "\n" + lines(ROWS[6:]),
        0,
    ),
    "numbers cut off": ("\n".join("\t".join(row) for row in MINUS[:8]) + "\n-1\t3\t6\t-1\t5\t8\t-", 0),
    "two cells that became one": (lines(["1\t1\t" + "0\t" * 14] * 15 + ["1\t01\t" + "0\t" * 13]), 0),
    "short rows after a grid": (lines(ROWS) + "\n" + lines(row[:5] for row in ROWS), 1),
    "another size": (lines(ROWS) + "\n1..2\n..3.\n.4..\n2...\n\n" + lines(OTHER_ROWS), 2),
    "puzzles after words": (lines([*ROWS, ""]) * 25 + f"Easy: {PUZZLE}\n", 25),
    "rows after words": (lines([*ROWS, ""]) * 25 + lines(f"Row 1: {row}" for row in ROWS), 25),
    "another section": (
        "[Puzzle]\n" + lines(ROWS) + "[State\n" + lines(SOLUTION[row : row + 9] for row in range(0, 81, 9)),
        0,
    ),
    "half of a surrogate pair": (json.dumps({"puzzle": f"5\ud800{PUZZLE[2:]}"}), 0),
    "a solution before a damaged puzzle": (f"{SOLUTION},{PUZZLE[1:]}", 0),
}


@pytest.mark.parametrize("name", DAMAGED)
def test_damaged_drawings_give_whole_grids_alone_and_say_what_is_lost(name):
    text, whole = DAMAGED[name]
    chunk = read(text, SIXTEEN if "became" in name else NINE)
    grids = {GRID.tobytes(), read(OTHER).grids.tobytes()}
    assert all(grid.tobytes() in grids for grid in chunk.grids[chunk.good])
    assert chunk.good.sum() == whole and chunk.errors


def test_grids_without_blank_lines_between_them():
    for between in ("# 2", "-----", "2", "2.", "Easy"):
        text = bands(ROWS, 3) + f"{between}\n" + bands(OTHER_ROWS, 3)
        assert read(text).good.tolist() == [True] * 2 and not read(text).errors
    for end in ("Easy", "end", "EOF"):
        assert read(lines(ROWS) + f"{end}\n").good.tolist() == [True]


def test_tables_whose_columns_have_another_order_are_not_joined():
    with pytest.raises(PuzzleFileError, match="<input>:3: a header with 'solution' in the column of puzzles") as error:
        read(f"puzzle,solution\n{PUZZLE},{SOLUTION}\nsolution,puzzle\n{SOLUTION},{PUZZLE}\n")
    assert str(error.value).endswith("whose columns have the same order")
    with pytest.raises(PuzzleFileError, match="<input>:3: a header with 'solution'"):
        read(f",puzzle\n0,{PUZZLE}\nquestion,solution\n{PUZZLE},{SOLUTION}\n")


def test_joined_tables_may_repeat_their_header():
    record = f"{PUZZLE},{SOLUTION}\n"
    for header in ("puzzle,solution\n", '"puzzle",Solution\n'):
        for keep in ((), ("solution",)):
            joined = read("puzzle,solution\n" + record + header + record + header, keep=keep)
            assert joined.good.tolist() == [True, True] and joined.lines.tolist() == [2, 4]
    assert not read("puzzle,solution\n" + record + "puzzle,clues\n" + record, keep=("solution",)).good.all()


def test_sides_that_rows_leave_open():
    with pytest.raises(ValueError, match="9 groups of 9|are not a grid"):
        parse(".........;6..195...;.98....6.;8...6...34;..8.3..1;7...2...6;.6....28.;...419..5;....8..79")
    with pytest.raises(ValueError, match="rows of 9 cells and a delimiter, or of 10"):
        parse(lines(f"{','.join(row)}," for row in [*NUMBERS, NUMBERS[0]]))
    assert parse(f"{PUZZLE.replace('.', 'x')},easy").tolist() == GRID.tolist()


def test_labels_and_letters_of_two_meanings_are_refused():
    text = lines(f"{n}: " + ",".join(["", *row[1:]]).replace(".", "") for n, row in enumerate(ROWS, 1))
    assert "a label or a cell" in read(text).errors[0].cause
    board = Board.classic(36)
    numbers = ["x", "36", *["x"] * 1294]
    assert read(" ".join(numbers), board).grids[0, :3].tolist() == [0, 36, 0]
    wide = "Y" + "x" * 624
    assert "another case than all other letters" in read(wide, Board.classic(25)).errors[0].cause


def test_one_deleted_candidate_after_many_lines():
    for line, removed in ((f":0000:x:{PUZZLE}:314::", 1), (f" :0000:x:{PUZZLE}:314:::", 1), (f"{PUZZLE}:314:", 1)):
        positions = read_positions(io.BytesIO(f"{line}\n".encode() * 40), NINE)
        gone = ~positions.candidates & (positions.grids == 0)[:, None]
        assert (gone.sum(axis=(1, 2)) == removed).all()


def test_titles_and_quotes():
    titles = (
        "1",
        "01",
        "1.",
        "(1)",
        "1/50",
        "No. 1",
        "E1",
        "9*9",
        "n=9",
        "Grid_01",
        "=== 1 ===",
        "// grid 1, easy",
        "R\u00e4tsel",
    )
    for title in (*titles, "R\u00e4tsel"):
        for gap in "\n", "":
            text = f"{title}\n{lines(ROWS)}{gap}{title}\n{lines(ROWS)}"
            np.testing.assert_array_equal(read(text).grids, [GRID] * 2)
    cut = read(f"{lines(ROWS)}53")
    assert cut.good.tolist() == [True, False] and cut.errors[0].line == 10
    np.testing.assert_array_equal(read(f'"{PUZZLE}"\n"1","{PUZZLE}","{SOLUTION}"\n').grids, [GRID] * 2)
    chunk = read("<opensudoku>\n<game/>\n</opensudoku>\n")
    assert str(chunk.errors[0]) == "<input>:2: a game without its puzzle, an attribute 'data'"
    with pytest.raises(PuzzleFileError, match=r"<input>:3: damaged XML"):
        read(f'<opensudoku>\n<game data="{PUZZLE}"/>\n<game')


# ---------------------------------------------------------------------- digits counted from 0


def hexadecimal(blank="."):
    """A 16x16 grid with digits counted from 0, as text, and as it is."""
    grid = np.random.default_rng(5).integers(-1, 16, 256)
    grid[:3] = 15, 0, -1
    return "".join(blank if value < 0 else f"{value:X}" for value in grid), (grid + 1).astype(np.uint8)


def layouts_of(text, side):
    """A grid with a character per cell in several layouts."""
    rows = [text[row : row + side] for row in range(0, side * side, side)]
    numbers = [[cell if cell == "." else str(int(cell, 36)) for cell in row] for row in rows]
    yield text
    yield " ".join(cell for row in numbers for cell in row)
    yield lines(rows)
    yield lines("|" + row + "|" for row in rows)
    yield lines(",".join(row) for row in numbers)
    yield "[Puzzle]\n" + lines(rows)
    yield f"puzzle,name\n{text},a\n"
    yield json.dumps({"puzzle": text})
    yield json.dumps([None if cell == "." else int(cell) for row in numbers for cell in row])
    yield f'<opensudoku>\n<game data="{text}"/>\n</opensudoku>'


@pytest.mark.parametrize("side", [4, 9, 16])
def test_digits_counted_from_0_are_refused_or_read(side):
    board = Board.classic(side)
    text, grid = hexadecimal() if side == 16 else (COUNTED, GRID)
    if side == 4:
        text, grid = (
            "0.1..23.1...0..2",
            np.array([int(c.replace(".", "/"), 36) + 1 if c != "." else 0 for c in text[:0]]),
        )
        grid = np.array([0 if c == "." else int(c) + 1 for c in text], np.uint8)
    for layout in layouts_of(text, side):
        with pytest.raises(PuzzleFileError, match=rf":\d: '0' stands beside .* no digit is {side}: .*--zero-based"):
            read(layout, board)
        np.testing.assert_array_equal(read(layout, board, zero_based=True).grids, [grid])
        np.testing.assert_array_equal(parse(layout, board, zero_based=True), grid)
        np.testing.assert_array_equal(read_puzzles(io.BytesIO(layout.encode()), board, zero_based=True), [grid])
        with pytest.raises(ValueError, match="zero_based"):
            parse(layout, board)


def test_the_largest_digit_anywhere_tells_that_0_is_a_blank():
    mixed = PUZZLE[:40] + PUZZLE[40:].replace(".", "0")
    small = mixed.replace("9", "8")
    chunk = read(lines([small, PUZZLE, mixed, PUZZLE]))
    assert chunk.mixed.tolist() == [True, False, True, False] and chunk.good.all()
    with pytest.raises(PuzzleFileError, match="<input>:2: '0' stands beside"):
        read(lines([PUZZLE.replace("9", "8"), small]))
    chunks = read_chunks(io.BytesIO(lines([PUZZLE, *[small] * 5]).encode()), chunk_size=2)
    assert [int(chunk.mixed.sum()) for chunk in chunks] == [1, 2, 2], "found in an earlier chunk"
    with pytest.raises(PuzzleFileError, match=r"'9', at column 2, is larger than 8, .* counted from 0"):
        read_puzzles(io.BytesIO(PUZZLE.replace("3", "9", 1).encode()), zero_based=True)


# ---------------------------------------------------------------------- letters


def test_letters_from_A_on_where_no_digit_is_a_number():
    grid = np.random.default_rng(2).integers(0, 17, 256).astype(np.uint8)
    text = "".join("." if not value else chr(ord("a") + value - 1) for value in grid)
    for layout in (text, lines(text[row : row + 16] for row in range(0, 256, 16)), f"puzzle\n{text}\n"):
        np.testing.assert_array_equal(read(layout, SIXTEEN).grids, [grid])
    few = "." * 250 + "ABCDEF"
    message = "all digits are letters: 'A' is 10, or 1 if they are counted from A"
    assert message in read(few, SIXTEEN).errors[0].cause
    assert message in read(lines([few[row : row + 16] for row in range(0, 256, 16)]), SIXTEEN).errors[0].cause
    assert read(few.replace("A", "1"), SIXTEEN).grids[0, 250:].tolist() == [1, 11, 12, 13, 14, 15]
    wide = "".join("." if not value else chr(ord("A") + value - 1) for value in np.arange(625) % 26)
    np.testing.assert_array_equal(read(wide, Board.classic(25)).grids, [np.arange(625) % 26])


# ---------------------------------------------------------------------- candidates


def by_place(candidates):
    """bool[side, cells] as ``side`` characters per cell."""
    return "".join(f"{digit + 1:X}" if held else "." for cell in candidates.T for digit, held in enumerate(cell))


@pytest.mark.parametrize("side", [4, 6, 9, 12])
def test_candidates_by_place(side):
    board = Board.classic(side)
    rng = np.random.default_rng(side)
    candidates = rng.random((side, side * side)) < 0.4
    candidates[rng.integers(0, side, side * side), np.arange(side * side)] = True
    text = by_place(candidates)
    single = candidates.sum(axis=0) == 1
    for layout in (text, f"# a comment\n{text}", f"puzzle\n{text}\n", json.dumps({"puzzle": text})):
        position = parse_position(layout)
        np.testing.assert_array_equal(position.candidates, candidates)
        np.testing.assert_array_equal(position.grids > 0, single)
        np.testing.assert_array_equal(read_positions(io.BytesIO(layout.encode()), board).candidates, [candidates])
    with pytest.warns(UserWarning, match="lists candidates"):
        assert parse(text).shape == (side * side,)
    assert not read(text.replace("1", "2", 1), board).good.any()


def test_a_text_that_is_also_a_larger_board():
    text = by_place(np.ones((4, 16), bool))
    assert parse_position(text).grids.shape == (16,)
    assert "or candidates of a 4x4 board" in read(text, Board.classic(8)).errors[0].cause
    puzzle = "1" + "." * 62 + "8"
    assert parse(puzzle).shape == (64,) and read(puzzle, Board.classic(8)).good.all()


def test_values_with_marks_of_placed_cells():
    text = "+1.2" + "." * 12 + "+4"
    position = parse_position(text)
    assert position.grids[[0, 2, 15]].tolist() == [1, 2, 4] and position.givens.nonzero()[0].tolist() == [2]
    position = parse_position("1.2" + "." * 12 + "4:312 422", FOUR)
    assert (~position.candidates[:, 1]).nonzero()[0].tolist() == [2] and not position.candidates[3, 5]
    line = ":0100:3:+1.2" + "." * 12 + "+4:312:::"
    assert read_positions(io.BytesIO(line.encode()), FOUR).givens.nonzero()[1].tolist() == [2]


def test_a_library_line_after_many_plain_ones():
    chunk = read(lines([PUZZLE] * 400 + [f":0000:x:{PUZZLE}:314::"]))
    assert chunk.good.all() and chunk.listed.nonzero()[0].tolist() == [400]
    assert not chunk.candidates_of([400])[0, 2, 3] and chunk.candidates_of([0]).all(axis=1).sum() == (GRID == 0).sum()


LIBRARY = """\
# A file of the form of HoDoKu's regression library: comments, blank lines and variants of techniques.

### Singles
:0000:4:53+4.7....6..195....98....6.8...6...34..8.3..17...2...6.6....28....419..5....8..79:::143::
:0003:x:53..7....6..195....98....6.8...6...34..8.3..17...2...6.6....28....419..5....8..79::143::
### Locked candidates, with deleted candidates
:0100-2:1:53..7....6..195....98....6.8...6...34..8.3..17...2...6.6....28....419..5....8..79:113 213 114:214:::
:0901x:12 4:53+4.7....6+7+2195....98....6.8...6...34..8.3..17...2...6.6....28....419..5....8..79:614::::comment
:0607:48:53+4+6+7.+9+1+26+7+21953+4+81+9834256+78...6...34..8.3..17...2...6.6....28....419..5....8..79:::
53+4.7....6..195....98....6.8...6...34..8.3..17...2...6.6....28....419..5....8..79:614
"""


def test_a_file_of_the_form_of_a_regression_library():
    chunk = read(LIBRARY)
    assert chunk.good.all() and chunk.lines.tolist() == [4, 5, 7, 8, 9, 10]
    rows = range(6)
    given = np.where(chunk.givens_of(rows), chunk.grids, 0)
    assert (given[[0, 1, 2, 3, 5]] == GRID).all() and (given[4] > 0).sum() > 30
    assert [int((grid > 0).sum() - (GRID > 0).sum()) for grid in chunk.grids[:4]] == [1, 0, 0, 3]
    removed = ~chunk.candidates_of(rows) & (chunk.grids == 0)[:, None]
    found = [[(d + 1) * 100 + (c // 9 + 1) * 10 + c % 9 + 1 for d, c in np.argwhere(one).tolist()] for one in removed]
    assert found == [[], [], [113, 114, 213], [614], [], [614]]
    with pytest.warns(UserWarning, match="3 puzzles list candidates"):
        read_puzzles(io.BytesIO(LIBRARY.encode()))


@pytest.mark.parametrize("text", ["n,ser\n12,34\n13,35\n", "id;rating\n1;7.2\n", "a\tSER\n1\t2\n"])
def test_a_table_without_puzzles_is_told_by_its_names(text):
    with pytest.raises(
        PuzzleFileError, match=r"<input>:1: no column named 'puzzle' among '(n|id|a)', '(ser|rating|SER)'"
    ):
        read(text)


# ---------------------------------------------------------------------- no puzzles


@pytest.mark.parametrize(
    ("data", "words"),
    [
        (b"version https://git-lfs.github.com/spec/v1\noid sha256:abc\nsize 5\n", "a Git LFS pointer: fetch the file"),
        (b"/annex/objects/SHA256E-s5--ab\n", "a git-annex pointer"),
        (b"\n<!DOCTYPE html>\n<html>\n", "a web page"),
        (b'<?xml version="1.0"?>\n<grid/>\n', "XML"),
        (b"p cnf 3 2\n1 2 0\n", "SAT"),
        (b"%PDF-1.4\n", "a PDF document"),
        ("12..\n".encode("utf-16-le"), "UTF-16 or UTF-32 text"),
        ("12..\n".encode("utf-32-be"), "UTF-16 or UTF-32 text"),
        (b"SQLite format 3\0", "a database"),
        (b"[Puzzle]\n\n[State]\n1\n", "no puzzle in it"),
        (b"<opensudoku>\n<folder/>\n</opensudoku>\n", "no puzzle in it"),
    ],
)
def test_files_of_other_kinds_are_named(data, words):
    for call in (lambda: read(data), lambda: read_puzzles(io.BytesIO(data))):
        with pytest.raises(NoPuzzlesError, match=words):
            call()
    with pytest.raises(NoPuzzlesError, match=words), open_puzzles(io.BytesIO(data)) as puzzles:
        puzzles.check()
        puzzles.has_puzzles()


def test_regions_beside_a_puzzle_are_refused_by_name():
    assert "the map of its regions" in read(PUZZLE + "112233445" * 9).errors[0].cause
    with pytest.raises(ValueError, match="the map of its regions"):
        parse(PUZZLE + "112233445" * 9)


# ---------------------------------------------------------------------- slices


SLICED = {
    "lines, then rows": lines([PUZZLE] * 3 + ROWS * 4),
    "lines after words": lines(f"{n} {PUZZLE}" for n in range(9)),
    "a table": "n,puzzle\n" + lines(f"{n},{PUZZLE}" for n in range(9)),
    "a header after long comments": f"# {'c' * 900}\n# c\nn,puzzle\n" + lines(f"{n},{PUZZLE}" for n in range(9)),
    "a table with further carriage returns": "n,puzzle,x\r\r\n" + f"1,{PUZZLE},a\r\r\n" * 4 + f"1,{PUZZLE}\r\n" * 2,
    "a table with blank lines": "\n\nn;puzzle\n" + lines(f"{n};{PUZZLE}\n" for n in range(9)),
    "quotes": lines([PUZZLE, f'{PUZZLE} "', f"{PUZZLE}\r{PUZZLE}", PUZZLE] * 3),
    "quoted fields": 'puzzle,n\n"' + PUZZLE + '","a\rb"\n' + lines([f"{PUZZLE},x"] * 9),
    "carriage returns": lines([f"{PUZZLE}\r{PUZZLE}", f"{PUZZLE}\r"] * 4),
    "libraries": lines([PUZZLE, f":0000:x:{PUZZLE}:314::"] * 5),
    "what looks compressed": lines([PUZZLE] * 4 + ["BZh91AY&SY", "PK\x03\x04"] + [PUZZLE] * 4),
    "Excel's separator amid": lines([PUZZLE] * 4 + ["sep=;", "# board: 9"] + [PUZZLE] * 4),
    "rows of JSON amid": lines([PUZZLE] * 4 + ['{"puzzle": 1}', "[Puzzle]", "a,b", "puzzle"] + [PUZZLE] * 4),
}


@pytest.mark.parametrize("name", SLICED)
@pytest.mark.parametrize("size", [1, 2, 5])
def test_slices_read_what_the_whole_reads(name, size, tmp_path):
    path = tmp_path / "puzzles.txt"
    path.write_bytes(SLICED[name].encode())
    whole = Chunk.join(list(read_chunks(str(path))))
    parts = read_slices(path, NINE, size)
    np.testing.assert_array_equal(parts.grids, whole.grids)
    np.testing.assert_array_equal(parts.good, whole.good)
    np.testing.assert_array_equal(parts.listed, whole.listed)
    assert [error.cause for error in parts.errors] == [error.cause for error in whole.errors]
    if "\r" not in SLICED[name]:  # lone carriage returns end lines, too
        assert parts.lines.tolist() == whole.lines.tolist()
    assert parts.extras == whole.extras


def test_slices_of_digits_counted_from_0(tmp_path):
    path = tmp_path / "puzzles.txt"
    path.write_text(lines([COUNTED] * 20))
    with pytest.raises(PuzzleFileError, match="zero-based"):
        slices(str(path), None, None, 4)
    _, parts = slices(str(path), None, None, 4, zero_based=True)
    assert len(parts) == 5
    for part in parts:
        with open_slice(part, NINE) as puzzles:
            np.testing.assert_array_equal(Chunk.join(list(puzzles.chunks())).grids, [GRID] * 4)
    path.write_text(lines([COUNTED] * 20 + [PUZZLE]))
    assert len(slices(str(path), None, None, 4)[1]) == 6


# ---------------------------------------------------------------------- hostile files


@pytest.mark.parametrize("first", ["", ":0:x:12345678:::\n", "puzzle\n"])
def test_short_lines_on_a_large_board_take_little_memory(first):
    data = first.encode() + b"x\n" * 2_000
    tracemalloc.start()
    try:
        count = sum(map(len, read_chunks(io.BytesIO(data), Board.classic(36), chunk_size=100)))
        assert count >= 2_000 and tracemalloc.get_traced_memory()[1] < 40_000_000  # 95 MB if each held candidates
    finally:
        tracemalloc.stop()


HOSTILE = [
    "a" * 100_000 + "!,b",
    "# a" + " " * 100_000 + "x",
    "\r" * 100_000,
    "\r" * 50_000 + "x" + "\r" * 50_000,
    "# board" + " " * 100_000,
    ("# a" + " " * 1000 + "\n") * 100,
    ":" * 100_000,
    ":a" * 50_000,
    "<opensudoku>" + "<game " * 17_000,
    "<opensudoku>" + "data='" * 17_000,
    "[" * 100_000,
    "{" * 100_000,
    '"' * 100_000,
    '"a",' * 25_000,
    '"\n' * 50_000,
    "|" * 100_000,
    "+" * 100_000,
    "-" * 100_000,
    " " * 100_000 + "x",
    "\t" * 100_000,
    "," * 100_000,
    "1" * 100_000,
    "1 " * 50_000,
    "1:" * 50_000,
    "1+" * 50_000,
    "123 " * 25_000,
    ".:" + "123 " * 25_000 + "x",
    "a-" * 50_000,
    "aB" * 50_000 + "-",
    "_" * 100_000 + "!",
    "a1" * 50_000 + "!,b",
    "sep=" * 25_000,
    "#\n" * 50_000,
    "\n" * 100_000,
    "x\n" * 50_000,
    "1,\n" * 33_000,
    "é" * 50_000,
    "\0" * 100_000,
    "[Puzzle]\n" * 11_000,
    " [ puzzle " * 10_000,
    "=" * 100_000,
    "1|" * 50_000,
    "c " * 50_000 + "p cnf",
    "../" * 33_000,
    "\ufeff" * 30_000,
    "{" + ",".join(f'"{n}":1' for n in range(9_000)) + ',"1":2}',
    "puzzle," + ",".join(f"ab{n}" for n in range(14_000)) + ",ab1",
    "puzzle,a\n" + f'{PUZZLE},"\n# board: 16\n"\n' * 1_000,
]


HOSTILE += [
    unit * (100_000 // len(unit)) + "!" for unit in [*"a1.,; #'|+-[{:=/\\_xA", "a ", " a", "1,", "# ", "\t#", ": "]
]
HOSTILE += [
    unit * 50_000 + other * 50_000 for unit, other in [" \t", "a ", " a", "1 ", ": ", "\r ", "#a", ".+", "a_", "1a"]
]
_FAST = (0, 1, 2, 3, 8, 11, 14)


@pytest.mark.parametrize(
    "number", [n if n in _FAST else pytest.param(n, marks=pytest.mark.slow) for n in range(len(HOSTILE))]
)
def test_long_inputs_of_odd_shapes_are_answered(number):
    for board, tail in ((FOUR, ""), (NINE, f"\n{PUZZLE}\n")):
        try:
            read(HOSTILE[number] + tail, board)
        except (PuzzleFileError, ValueError) as error:
            assert len(str(error)) < 3000
