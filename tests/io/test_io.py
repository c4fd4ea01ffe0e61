"""Reading puzzles: every format on every board, round trips, and every error."""

import ast
import gzip
import io
import pathlib

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

import jaxsudoku.io
from jaxsudoku.core.board import Board
from jaxsudoku.core.drawing import draw
from jaxsudoku.io import (
    Chunk,
    LineError,
    PuzzleFileError,
    format_grids,
    grid_column,
    parse,
    read_chunks,
    read_grid_column,
    read_puzzles,
)
from jaxsudoku.io.csv_tables import CsvTable
from jaxsudoku.io.drawn import Drawn
from jaxsudoku.io.lines import Lines
from jaxsudoku.testing import check_format
from jaxsudoku.testing.format import SIDES

NINE = Board.classic(9)
PUZZLE = "4.....8.5.3..........7......2.....6.....8.4......1.......6.3.7.5..2.....1.4......"
ALPHABET = ".123456789ABCDEFGHIJKLMNOPQRSTUVWXYZ"


def some_grids(side, count=7, seed=0):
    return np.random.default_rng(seed).integers(0, side + 1, (count, side * side)).astype(np.uint8)


def as_characters(grid):
    return "".join(ALPHABET[value] for value in grid)


def as_numbers(grid):
    return " ".join(map(str, grid))


def as_drawing(grid, framed=True):
    side = int(len(grid) ** 0.5)
    rows = [
        f"| {as_numbers(row).replace(' 0', ' .')} |" if framed else as_characters(row)
        for row in grid.reshape(side, side)
    ]
    line = ["+" + "-" * (2 * side + 1) + "+"] * framed
    return "\n".join([*line, *rows, *line]) + "\n"


def as_drawn(grid):
    return draw(grid, Board(int(len(grid) ** 0.5), box=(1, int(len(grid) ** 0.5)))) + "\n"


FORMATS = {
    "characters": lambda grids: "".join(as_characters(grid) + "\n" for grid in grids),
    "characters, ragged": lambda grids: "".join(as_characters(g) + " x" * (i % 3) + "\n" for i, g in enumerate(grids)),
    "numbers": lambda grids: "".join(as_numbers(grid) + "\n" for grid in grids),
    "commas": lambda grids: "".join(as_numbers(grid).replace(" ", ",") + "\n" for grid in grids),
    "csv": lambda grids: "puzzle,solution\n" + "".join(f"{as_characters(grid)},{'1' * len(grid)}\n" for grid in grids),
    "csv, second column": lambda grids: "id,puzzle\n" + "".join(f"a,{as_characters(grid)}\n" for grid in grids),
    "csv, quoted": lambda grids: '"quizzes","x"\n' + "".join(f'"{as_characters(grid)}","a,\nb"\n' for grid in grids),
    "frames": lambda grids: "\n".join(as_drawing(grid) for grid in grids),
    "drawings of draw": lambda grids: "\n".join(as_drawn(grid) for grid in grids),
    "bare drawings": lambda grids: "\n".join(as_drawing(grid, framed=False) for grid in grids),
    "titles": lambda grids: "".join(f"Grid {i:02}\n{as_drawing(grid)}" for i, grid in enumerate(grids)),
}

#: Those in which a puzzle is several lines.
DRAWN = ("frames", "drawings of draw", "bare drawings", "titles")


def read(text, board=NINE, **options):
    data = text if isinstance(text, bytes) else text.encode()
    return list(read_chunks(io.BytesIO(data), board, **options))


def causes(text, board=NINE):
    return [error.cause for chunk in read(text, board) for error in chunk.errors]


# ---------------------------------------------------------------------- formats


@pytest.mark.parametrize("form", FORMATS)
def test_every_format_keeps_its_promises(form):
    kind = CsvTable if form.startswith("csv") else Drawn if form in DRAWN else Lines
    check_format(kind, lambda grids, board: FORMATS[form](grids).encode())


@pytest.mark.parametrize("side", SIDES)
@pytest.mark.parametrize("form", FORMATS)
def test_one_puzzle_of_every_format_is_parsed(form, side):
    grids = some_grids(side, 1)
    one = FORMATS[form](grids)
    np.testing.assert_array_equal(parse(one, Board.classic(side)), grids[0])
    np.testing.assert_array_equal(parse(one), grids[0])


@pytest.mark.parametrize("form", ["numbers", "commas", "frames"])
def test_digits_without_a_letter_are_numbers(form):
    grids, board = some_grids(36), Board.classic(36)
    text = FORMATS[form](grids)
    np.testing.assert_array_equal(read_puzzles(io.BytesIO(text.encode()), board), grids)
    np.testing.assert_array_equal(parse(FORMATS[form](grids[:1])), grids[0])


@pytest.mark.parametrize("side", [*SIDES, 36])
def test_formatted_grids_read_back(side):
    board, grids = Board.classic(side), some_grids(side, 50)
    np.testing.assert_array_equal(read_puzzles(io.BytesIO(format_grids(grids, board)), board), grids)
    assert format_grids(grids[:0], board) == b""


def test_format_is_characters_up_to_nine_and_numbers_above():
    assert format_grids(np.array([[0, 1, 2, 3] * 4], np.uint8), Board.classic(4)) == b".123.123.123.123\n"
    assert format_grids(np.tile(np.uint8([[0, 9, 10, 16]]), 64), Board.classic(16)).startswith(b"0 9 10 16 0 9 ")


def test_format_refuses_other_shapes_and_values():
    with pytest.raises(ValueError, match="shape"):
        format_grids(np.zeros((2, 80), np.uint8), NINE)
    with pytest.raises(ValueError, match="outside 0..9"):
        format_grids(np.full((1, 81), 10), NINE)


@pytest.mark.parametrize("blank", ".0*_-?xX")
def test_every_blank(blank):
    np.testing.assert_array_equal(parse(PUZZLE.replace(".", blank), NINE), parse(PUZZLE))
    rows = "\n".join(PUZZLE.replace(".", blank)[row : row + 9] for row in range(0, 81, 9))
    np.testing.assert_array_equal(parse(rows, NINE), parse(PUZZLE))


@pytest.mark.parametrize("rest", [" 17 clues", "\tx", ",x", ";x", "#x", "\r", " "])
def test_what_follows_a_puzzle_is_ignored(rest):
    np.testing.assert_array_equal(parse(PUZZLE + rest, NINE), parse(PUZZLE))


def test_rows_of_dashes_are_frames_unless_dashes_are_blanks():
    rows = [PUZZLE[row : row + 9] for row in range(0, 81, 9)]
    framed = "\n".join(["-" * 9, *rows[:3], "-" * 9, *rows[3:], "===+===+==="])
    np.testing.assert_array_equal(parse(framed, NINE), parse(PUZZLE))
    blank = ["-" * 9, *(row.replace(".", "-") for row in rows[1:])]
    assert not parse("\n".join(blank), NINE)[:9].any()


@pytest.mark.parametrize(
    "drawing",
    [
        "*---*\n|{}{}|{}{}|\n:---:\n|{}{}|{}{}|\n*===*\n{}{} {}{}\n'---'\n{}{}!{}{}",
        "Puzzle #1\n{} {} = {} {}\n{} {} | {} {}\n\t{}{}{}{}\n{} {} {} {}\n\n",
    ],
)
def test_frames_of_many_kinds(drawing):
    grid = some_grids(4, 1)[0]
    np.testing.assert_array_equal(parse(drawing.format(*grid), Board.classic(4)), grid)


def test_blank_lines_and_comments_are_no_puzzles():
    (chunk,) = read(f"# a\n\n{PUZZLE}\n   \n#{PUZZLE}\nbad\n{PUZZLE}\n\r\n")
    assert chunk.lines.tolist() == [3, 6, 7]
    assert chunk.good.tolist() == [True, False, True]
    assert [error.line for error in chunk.errors] == [6]
    assert not chunk.grids[1].any()


def test_csv_carries_other_columns_but_not_old_answers():
    for quote in ("", '"'):
        text = (
            f"id,puzzle,solution,clues,status,iterations\n{quote}a{quote},{PUZZLE},1,21,solved,7\nb,{PUZZLE},1,22,,\n"
        )
        (chunk,) = read(text)
        assert chunk.extras == {"id": ["a", "b"], "clues": ["21", "22"]}
        assert chunk.lines.tolist() == [2, 3]
        (chunk,) = read(text, keep=("solution",))
        assert chunk.extras == {"id": ["a", "b"], "solution": ["1", "1"], "clues": ["21", "22"]}


def test_a_column_of_grids():
    grids = some_grids(16, 9)
    column = grid_column(grids, Board.classic(16))
    read_back, causes = read_grid_column([*column, "-", " ", None, "!", "1", 7], 16)
    np.testing.assert_array_equal(read_back[:9], grids)
    assert not read_back[9:].any()
    assert causes == dict.fromkeys((12, 13, 14), "1 cell; a 16x16 board has 256") | {
        12: "'!' at column 1 is not a cell"
    }
    assert read_grid_column([], 9)[0].shape == (0, 81)


@pytest.mark.parametrize("side", [9, 16])
def test_a_column_of_grids_is_the_lines_of_their_text(side):
    board, grids = Board.classic(side), some_grids(side, 9)
    lines = format_grids(grids, board).decode().splitlines()
    column = grid_column(grids, board)
    assert (len(column), list(column), column[2], column[1:3]) == (9, lines, lines[2], lines[1:3])
    absent = np.arange(9) % 3 == 0
    assert list(grid_column(grids, board, absent)) == ["-" if row % 3 == 0 else line for row, line in enumerate(lines)]
    assert list(grid_column(grids[:0], board)) == []


def test_csv_lines_are_counted_through_quotes_and_blank_lines():
    (chunk,) = read(f'n,puzzle\n"a\nb",{PUZZLE}\n\n#\nonly\nc,bad\né,"{PUZZLE}"\n')
    assert chunk.lines.tolist() == [2, 6, 7, 8]
    assert chunk.good.tolist() == [True, False, False, True]
    assert [error.cause.split(";")[0] for error in chunk.errors] == ["1 fields", "3 cells"]
    assert chunk.extras["n"][3] == "é"


def test_quoted_fields_go_on_across_blocks(monkeypatch):
    monkeypatch.setattr("jaxsudoku.io.source.BLOCK", 64)
    rows = "".join(f'"{"x" * k}\n",{PUZZLE}\n' for k in range(40))
    chunk = Chunk.join(read("n,puzzle\n" + rows))
    assert chunk.good.all() and chunk.extras["n"] == ["x" * k + "\n" for k in range(40)]


def test_parquet():
    pa = pytest.importorskip("pyarrow")
    import pyarrow.parquet as pq

    grids = some_grids(9, 100)
    texts = [as_characters(grid) for grid in grids]
    for values in (pa.array([*texts, None, "x"]), pa.array([*texts, None, "x"]).dictionary_encode()):
        table = pa.table({"n": range(102), "puzzle": values, "solution": [*texts, "", ""]})
        file = io.BytesIO()
        pq.write_table(table, file, row_group_size=30)
        file.seek(0)
        chunks = list(read_chunks(file, NINE, chunk_size=40, skip=5))
        assert [len(chunk) for chunk in chunks] == [40, 40, 17]
        whole = Chunk.join(chunks)
        np.testing.assert_array_equal(whole.grids[:95], grids[5:])
        assert whole.extras == {"n": list(range(5, 102))}
        file.seek(0)
        kept = Chunk.join(list(read_chunks(file, NINE, keep=("solution",))))
        assert kept.extras["solution"] == [*texts, "", ""]
        assert [error.line for error in whole.errors] == [101, 102]
    with pytest.raises(PuzzleFileError, match="truncated"):
        read(file.getvalue()[:-9])
    other = io.BytesIO()
    pq.write_table(pa.table({"board": texts}), other)
    with pytest.raises(PuzzleFileError, match="no column named 'puzzle'"):
        read(other.getvalue())


def test_parquet_without_pyarrow_names_the_extra(monkeypatch):
    monkeypatch.setitem(__import__("sys").modules, "pyarrow", None)
    with pytest.raises(ImportError, match=r"jaxsudoku\[parquet\]"):
        read(b"PAR1....")


# ---------------------------------------------------------------------- chunks


@settings(max_examples=40, deadline=None)
@given(
    st.lists(st.sampled_from([PUZZLE, "bad", "", "#", PUZZLE + " x", "12 é"]), max_size=30),
    st.integers(1, 9),
    st.data(),
)
def test_chunks_are_the_whole_cut_up(lines, size, data):
    # The first line settles the format, so that whatever follows can be anything.
    text = "\n".join([PUZZLE, *lines])
    whole = Chunk.join(read(text))
    skip = data.draw(st.integers(0, len(whole) + 1))
    chunks = read(text, chunk_size=size, skip=skip)
    assert [len(chunk) for chunk in chunks[:-1]] == [size] * (len(chunks) - 1)
    assert [chunk.start for chunk in chunks] == list(range(skip, len(whole), size))
    if not chunks:
        assert skip >= len(whole)
        return
    joined, rest = Chunk.join(chunks), whole[skip:]
    np.testing.assert_array_equal(joined.grids, rest.grids)
    np.testing.assert_array_equal(joined.lines, rest.lines)
    assert joined.errors == rest.errors
    assert [error.line for error in joined.errors] == joined.lines[~joined.good].tolist()


@settings(max_examples=60, deadline=None)
@example(data=b"\r\0", head="")
@given(st.binary(max_size=400), st.sampled_from(["", PUZZLE + "\n", "puzzle,n\n", PUZZLE[:9] + "\n"]))
def test_any_bytes_are_answered_or_refused(data, head):
    try:
        for chunk in read(head.encode() + data):
            assert len(chunk.errors) == np.count_nonzero(~chunk.good)
            assert not chunk.grids[~chunk.good].any() and chunk.grids.max() <= 9
    except PuzzleFileError as error:
        assert str(error)


def test_even_and_odd_blocks_in_turn(monkeypatch):
    monkeypatch.setattr("jaxsudoku.io.source.BLOCK", 17)  # a 4x4 puzzle a block
    even = "1234.0.00.00123."
    lines = [even, even, even[:-1] + "/", even, even[:-1] + "%", even + "\r", even, even[:-1] + "5", even]
    (chunk,) = read_chunks(io.BytesIO("\n".join(lines).encode()), Board.classic(4))
    assert chunk.good.tolist() == [True, True, False, True, False, True, True, False, True]
    assert chunk.lines.tolist() == list(range(1, 10))
    assert [str(error) for error in chunk.errors] == [
        "<input>:3: '/' at column 16 is not a cell",
        "<input>:5: '%' at column 16 is not a cell",
        "<input>:8: '5', at column 16, is larger than 4, the largest digit of this board",
    ]
    assert {tuple(grid) for grid in chunk.grids[chunk.good].tolist()} == {(1, 2, 3, 4, *[0] * 8, 1, 2, 3, 0)}


def test_gzip_of_several_members_and_padding(tmp_path):
    member = gzip.compress(f"{PUZZLE}\n".encode())
    path = tmp_path / "puzzles"  # told by its content, not by a suffix
    path.write_bytes(member * 5 + b"\0" * 9)
    assert read_puzzles(path).shape == (5, 81)


def test_standard_input(monkeypatch):
    monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO(gzip.compress(f"{PUZZLE}\nbad\n".encode()))))
    (chunk,) = read_chunks("-", NINE)
    assert str(chunk.errors[0]).startswith("<stdin>:2: ")


def test_chunk_arguments_and_slices():
    with pytest.raises(ValueError, match="chunk_size"):
        read_chunks("-", NINE, chunk_size=0)
    (chunk,) = read(f"{PUZZLE}\n" * 3)
    with pytest.raises(ValueError, match="steps of 1"):
        chunk[::2]
    assert len(chunk[2:1]) == 0 and chunk[1:].start == 1


# ---------------------------------------------------------------------- errors


@pytest.mark.parametrize(
    ("line", "words"),
    [
        (PUZZLE[:17], "17 cells; a 9x9 board has 81"),
        ("-", "1 cell; a 9x9 board has 81"),
        (PUZZLE + ".", "82 cells"),
        ("." * 256, "256 cells; a 9x9 board has 81 (256 make a 16x16 board: --board 16)"),
        ("..1" * 3, "9 cells; a 9x9 board has 81 (9 make a 3x3 board)"),
        (PUZZLE[:-1].replace(".", " ") + "1", "spaces are no blanks here, and # begins a comment: write . or 0"),
        (PUZZLE.replace(".", "#"), "81 characters, but spaces are no blanks here, and # begins a comment"),
        (" ".join("1" * 41), "41 cells; a 9x9 board has 81"),
        ("+-------+-------+-------+", "a line of a drawn grid?"),
        ("| 8 . . | . . 1 | . . . |", "a line of a drawn grid? Drawn grids are read from files without other puzzles"),
        ("1 " * 80, "80 cells"),
        (PUZZLE[:80] + "!", "'!' at column 81 is not a cell"),
        ("  é" + PUZZLE[1:], "'é' at column 3"),
        (PUZZLE[:5] + "A" + PUZZLE[6:], "'A' (10), at column 6, is larger than 9"),
        ("1 " * 80 + "10", "'10', number 81 of the line, is larger than 9"),
        ("1 " * 80 + "999", "'999', number 81 of the line, is larger than 9"),
        ("1 " * 80 + "!", "'!', number 81 of the line, is not a cell"),
        (b"\xff\xfe" + PUZZLE.encode(), "byte 0xff, which is not text, at column 1"),
        (PUZZLE[:3] + "\0" + PUZZLE[4:], "byte 0x00, which is not text, at column 4"),
    ],
)
def test_causes(line, words):
    data = f"{PUZZLE}\n".encode() + (line if isinstance(line, bytes) else line.encode()) + f"\n{PUZZLE}\n".encode()
    (chunk,) = read(data)
    assert chunk.good.tolist() == [True, False, True]
    assert words in chunk.errors[0].cause and chunk.errors[0].line == 2


def test_parse_says_what_is_wrong():
    with pytest.raises(ValueError, match="17 cells; a 9x9 board has 81"):
        parse("4.....8.5.3......")
    with pytest.raises(ValueError, match="17 cells; a 9x9 board has 81"):
        parse("4.....8.5.3......", NINE)
    with pytest.raises(ValueError, match="no puzzle"):
        parse(" \n# nothing\n")
    with pytest.raises(ValueError, match="0 puzzles"):
        parse("", NINE)
    with pytest.raises(ValueError, match="2 puzzles"):
        parse(f"{PUZZLE}\n{PUZZLE}")


def test_malformed_drawings():
    grid = as_drawing(parse(PUZZLE), framed=False)
    rows = grid.splitlines()
    foreign = "\n".join([*rows[:4], "..1%.....", *rows[5:]])
    short = "\n".join([*rows[:4], "........", *rows[5:]])
    large = "\n".join([*rows[:4], "1 2 3 4 5 6 7 8 10", *rows[5:]])
    text = "\n\n".join([grid, foreign, short, large, "\n".join(rows[:5]), grid, "\n".join(rows[:3])])
    chunk = Chunk.join(read(text))
    assert chunk.good.tolist() == [True, False, False, False, False, True, False]
    words = [
        "'%', number 4 of the line, is not a cell",
        "8 cells, not 9",
        "is larger than 9",
        "after 5 of 9 rows",
        "after 3 of 9 rows",
    ]
    assert all(word in error.cause for word, error in zip(words, chunk.errors, strict=True))


def test_malformed_wide_grids():
    board, grid = Board.classic(36), some_grids(36, 1)[0]
    numbers, rows = as_numbers(grid).split(), as_drawing(grid, framed=True).splitlines()
    good = as_numbers(grid)
    bad = {
        " ".join([*numbers[:700], "37", *numbers[701:]]): "'37', number 701 of the line, is larger than 36, the",
        " ".join([*numbers[:700], "!", *numbers[701:]]): "'!', number 701 of the line, is not a cell",
        " ".join(numbers[:-1]): "1295 cells; a 36x36 board has 1296",
        " ".join([*numbers, "1"]): "1297 cells; a 36x36 board has 1296",
        "." * 700 + "!" + "." * 595: "'!' at column 701 is not a cell",
        "0 " * 37**2: "1369 cells; a 36x36 board has 1296 (1369 make a 37x37 board; boards are up to 36x36)",
    }
    for text, cause in bad.items():
        (error,) = Chunk.join(read(f"{good}\n{text}\n{good}\n", board)).errors
        assert str(error).startswith(f"<input>:2: {cause}")
    words = rows[20].split()
    bad = {
        " ".join([*words[:5], "%", *words[6:]]): "row 20 of the grid: '%', number 5 of the line, is not a cell",
        " ".join([*words[:5], *words[6:]]): "row 20 of the grid has 35 cells, not 36",
    }
    for text, cause in bad.items():
        (error,) = Chunk.join(read("\n".join([*rows[:20], text, *rows[21:]]), board)).errors
        assert str(error) == f"<input>:21: {cause}"
    with pytest.raises(ValueError, match="side must lie between 2 and 36, not 37"):
        parse("0 " * 37**2)
    with pytest.raises(PuzzleFileError, match="<input>:2: side must lie between 2 and 36, not 49"):
        read_puzzles(io.BytesIO(b"\n# board: 7x7\n" + b"0 " * 49**2))


def test_truncated_drawing_without_a_blank_line_before_the_next_title():
    rows = as_drawing(parse(PUZZLE), framed=False)
    chunk = Chunk.join(read(f"Grid 01\n{rows[:40]}\nGrid 02\n{rows}"))
    assert chunk.good.tolist() == [False, True]


def test_read_puzzles_keeps_what_is_good(tmp_path):
    path = tmp_path / "some.txt"
    path.write_text("\n".join([PUZZLE, *["bad"] * 8, PUZZLE]))
    with pytest.raises(PuzzleFileError, match="8 of 10 puzzles malformed") as caught:
        read_puzzles(path)
    assert caught.value.errors[0] == LineError(str(path), 2, caught.value.errors[0].cause)
    assert f"{path}:6: " in str(caught.value) and f"{path}:7: " not in str(caught.value)
    assert "and 3 more" in str(caught.value)
    assert caught.value.grids.shape == (10, 81) and caught.value.grids[[0, 9]].any(axis=1).all()


@pytest.mark.parametrize("kept", [0.5, 0.9])
def test_truncated_gzip_gives_all_lines_before(tmp_path, kept):
    data = gzip.compress(format_grids(some_grids(9, 3000), NINE))
    path = tmp_path / "cut.gz"
    path.write_bytes(data[: int(len(data) * kept)])
    read_lines = []
    with pytest.raises(PuzzleFileError, match=r"cut\.gz: truncated"):
        read_lines.extend(read_chunks(path, NINE, chunk_size=100))
    with pytest.raises(PuzzleFileError, match="truncated") as caught:
        read_puzzles(path)
    found = len(caught.value.grids)
    assert 3000 * kept * 0.8 < found < 3000
    np.testing.assert_array_equal(caught.value.grids, some_grids(9, 3000)[:found])


def test_damaged_gzip():
    data = bytearray(gzip.compress(format_grids(some_grids(9, 3000), NINE)))
    data[len(data) // 2 : len(data) // 2 + 50] = b"\xff" * 50
    with pytest.raises(PuzzleFileError, match="damaged gzip"):
        read(bytes(data))


def test_missing_and_unreadable_files(tmp_path):
    with pytest.raises(FileNotFoundError, match="nowhere"):
        read_chunks(tmp_path / "nowhere", NINE)
    with pytest.raises(IsADirectoryError):
        read_chunks(tmp_path, NINE)


@pytest.mark.parametrize("text", ["", "\n\n", "# nothing\n", "puzzle,n\n", "\ufeff", gzip.compress(b"", mtime=0)])
def test_an_empty_input_has_no_puzzles(text):
    assert read(text) == []
    data = text if isinstance(text, bytes) else text.encode()
    assert read_puzzles(io.BytesIO(data)).shape == (0, 81)


def test_csv_headers_without_use():
    with pytest.raises(PuzzleFileError, match="1: no column named 'puzzle' among 'id', 'board'"):
        read(f"id,board\n1,{PUZZLE}\n")
    with pytest.raises(PuzzleFileError, match="two columns are named 'n'"):
        read(f"n,puzzle,n\n1,{PUZZLE},1\n")


def test_a_file_of_text_and_what_is_no_file_are_refused(tmp_path):
    path = tmp_path / "puzzles.txt"
    path.write_text("." * 81)
    with open(path) as file, pytest.raises(TypeError, match=r"puzzles.txt: open the file in binary mode, open\(path"):
        read_puzzles(file)
    with pytest.raises(TypeError, match="<input>: open the file in binary mode"):
        read_puzzles(io.StringIO("." * 81))
    with pytest.raises(TypeError, match="an input is a path, '-' or a binary file, not int"):
        read_puzzles(3)


def test_endless_lines_are_refused(monkeypatch):
    monkeypatch.setattr("jaxsudoku.io.source.BLOCK", 100)
    monkeypatch.setattr("jaxsudoku.io.source.LONGEST_LINE", 1000)
    with pytest.raises(PuzzleFileError, match="longer than 1000 bytes"):
        read("1" * 5000)


def test_many_malformed_lines_take_linear_time():
    (chunk,) = read("bad\n" * 60000)
    assert len(chunk.errors) == 60000


def test_io_imports_no_jax():
    for module in pathlib.Path(jaxsudoku.io.__file__).parent.glob("*.py"):
        for node in ast.walk(ast.parse(module.read_text())):
            names = [alias.name for alias in node.names] if isinstance(node, ast.Import) else []
            names += [node.module or ""] if isinstance(node, ast.ImportFrom) else []
            assert not any(name.split(".")[0] == "jax" for name in names)
