"""Reading puzzles: boards that files name, tables, JSON lines, compressions, line ends and encodings."""

import bz2
import csv
import dataclasses
import gzip
import io
import json
import lzma
import re
import sys
import types

import numpy as np
import pytest

import jaxsudoku as js
from jaxsudoku.core.board import Board
from jaxsudoku.io import (
    Chunk,
    PuzzleFileError,
    TableWriter,
    compression,
    format_grids,
    header_lines,
    mark_board,
    open_puzzles,
    open_slice,
    parse,
    read_board,
    read_chunks,
    read_puzzles,
    slices,
)
from jaxsudoku.io.decode import decode_texts
from jaxsudoku.io.format import Beginning, Format
from jaxsudoku.io.json_lines import JsonLines
from jaxsudoku.rating import GRADES, grade, grade_range
from jaxsudoku.runtime.suggestions import did_you_mean

FOUR, DIAGONAL = Board.classic(4), Board.diagonal(4)
PUZZLE, OTHER = "1.34.4122.4.43.1", "..34.4122.4.43.1"
GRIDS = np.stack([parse(PUZZLE), parse(OTHER)])
TEXT = f"{PUZZLE}\n{OTHER}\n"


def read(text, board=FOUR, **options):
    """All of a text: its puzzles as one chunk."""
    data = text if isinstance(text, bytes) else text.encode()
    return Chunk.join(list(read_chunks(io.BytesIO(data), board, **options)))


def refusal(text, board=FOUR, **options):
    """The message of the error that a text ends with, and how many good puzzles come before."""
    data = text if isinstance(text, bytes) else text.encode()
    good = 0
    with pytest.raises(PuzzleFileError) as caught:
        for chunk in read_chunks(io.BytesIO(data), board, **options):
            good += np.count_nonzero(chunk.good)
    return str(caught.value), good


def zstd(data):
    if sys.version_info >= (3, 14):
        from compression import zstd

        return zstd.compress(data)
    return pytest.importorskip("zstandard").compress(data)


# ---------------------------------------------------------------------- boards


@pytest.mark.parametrize("name", ["diagonal-4", "jigsaw:aabb/aabb/ccdd/ccdd", "6", "3x2"])
def test_the_board_that_a_file_names_is_its_board(name, tmp_path):
    board = Board.named(name)
    path = tmp_path / "puzzles.txt"
    grids = np.zeros((2, board.cells), np.uint8)
    grids[:, 3] = 2
    for before in ("", "\n# a comment\n", "\ufeff# puzzles: 2\r\n"):
        path.write_bytes(f"{before}# board: {name}\r\n".encode() + format_grids(grids, board))
        assert read_board(path) == board
        np.testing.assert_array_equal(read_puzzles(path), grids)
        np.testing.assert_array_equal(read_puzzles(path, board), grids)
        np.testing.assert_array_equal(parse(path.read_text().strip("\ufeff").rsplit("\n", 2)[0]), grids[0])
        line = 1 + before.count("\n")
        with pytest.raises(PuzzleFileError, match=rf"puzzles\.txt:{line}: the file is of the board {name} \(.*\), but"):
            read_puzzles(path, Board.classic(16))
        with open_puzzles(path) as puzzles:
            assert (puzzles.board, puzzles.names_board, puzzles.unique) == (board, True, False)


@pytest.mark.parametrize("name", ["Diagonal-4", "DIAGONAL-4"])
def test_names_of_boards_and_columns_may_be_of_either_case(name, tmp_path):
    row = json.dumps({"Puzzle": PUZZLE, "Board": name})
    for text in (f"# Board: {name}\n{PUZZLE}\n", f"Puzzle,Board\n{PUZZLE},{name}\n", f"{row}\n"):
        source = io.BytesIO(text.encode())
        assert read_board(source) == DIAGONAL
        assert "is of the board" in refusal(text)[0]
        if not text.startswith("#"):
            assert read(text, None).extras == {"board": [name]}
    assert "is of the board" in refusal(f"{TEXT}# Board: {name}\n{TEXT}")[0], "amid a text, too"
    with open_puzzles(io.BytesIO(f"# Solutions: 1\n{TEXT}".encode()), FOUR) as puzzles:
        assert puzzles.unique
    assert Board.named("Jigsaw:aAbB/aAbB/aAbB/aAbB") == Board.named("jigsaw:aAbB/aAbB/aAbB/aAbB") != FOUR
    pq, path = pytest.importorskip("pyarrow.parquet"), tmp_path / "puzzles.parquet"
    pq.write_table(pytest.importorskip("pyarrow").table({"puzzle": [PUZZLE], "BOARD": [name]}), path)
    assert read_board(path) == DIAGONAL
    (chunk,) = read_chunks(path)
    assert chunk.extras == {"board": [name]}


def test_a_file_without_a_board():
    assert read_board(io.BytesIO(TEXT.encode())) is None
    with pytest.raises(PuzzleFileError, match="16 cells; a 9x9 board has 81"):
        read_puzzles(io.BytesIO(TEXT.encode()))
    message, _ = refusal(f"# board: diagnal\n{TEXT}", None)
    assert message.startswith("<input>:1: unknown board 'diagnal'") and "did you mean 'diagonal'?" in message
    assert read(f"# board: 17b\n{TEXT}").good.all(), "a comment of others', as the board is named"


def test_joined_files_of_different_boards():
    for form in (f"{TEXT}# board: diagonal-4\n{TEXT}", f"# board: 4\n{TEXT}\ufeff# board: diagonal-4\n{TEXT}"):
        message, good = refusal(form)
        assert (good, "the file is of the board diagonal-4" in message) == (2, True)
        assert message.startswith(f"<input>:{3 + form.startswith('#')}: ")
    assert len(read(f"# board: 4\n{TEXT}# board: 2x2\n{TEXT}")) == 4
    drawing = "\n".join(PUZZLE[row : row + 4] for row in range(0, 16, 4)) + "\n"
    message, good = refusal(f"{drawing}# board: diagonal-4\n{drawing}")
    assert (good, message[:10]) == (1, "<input>:5:")


def test_whether_a_file_claims_one_solution():
    for comment, claimed in [("solutions: 1", 1), ("puzzles: 2 of 8 clues, minimal", 1), ("puzzles: 2", 0), ("x", 0)]:
        with open_puzzles(io.BytesIO(f"# {comment}\n{TEXT}".encode()), FOUR) as puzzles:
            assert puzzles.unique == bool(claimed)
    for name in js.shipped.names():
        with open_puzzles(io.BytesIO(js.shipped.read(name))) as puzzles:
            assert puzzles.unique and puzzles.board == js.shipped.board(name)


@pytest.mark.parametrize("delimiter", [",", ";", "\t"])
def test_a_column_names_the_board(delimiter):
    table = f"puzzle,board\n{PUZZLE},diagonal-4\n{OTHER},diagonal-4\n".replace(",", delimiter)
    assert read_board(io.BytesIO(table.encode())) == DIAGONAL
    assert read(table, None).extras == {"board": ["diagonal-4"] * 2}
    message, _ = refusal(table)
    assert message.startswith("<input>:2: the file is of the board diagonal-4")
    mixed = read(f"{table}{PUZZLE}{delimiter}1x4\n{OTHER}{delimiter}\n", None)
    assert mixed.good.tolist() == [True, True, False, True]
    assert str(mixed.errors[0]).startswith("<input>:4: a puzzle of the board 1x4 (4x4 with 1x4 boxes), not of 4x4")
    assert not mixed.grids[2].any()


def test_other_columns_by_that_name_are_carried_along():
    assert read(f"puzzle,board\n{PUZZLE},17\n{OTHER},A1\n").extras == {"board": ["17", "A1"]}
    assert read(f"puzzle,board\n{PUZZLE},9x9\n{OTHER},4x4\n").good.all()


def test_parquet_names_the_board(tmp_path):
    pa = pytest.importorskip("pyarrow")
    import pyarrow.parquet as pq

    path = tmp_path / "puzzles.parquet"
    pq.write_table(pa.table({"puzzle": [PUZZLE, OTHER], "board": ["diagonal-4"] * 2}), path)
    assert read_board(path) == DIAGONAL
    np.testing.assert_array_equal(read_puzzles(path), GRIDS)
    with pytest.raises(PuzzleFileError, match=r"puzzles\.parquet:1: the file is of the board diagonal-4"):
        read_puzzles(path, FOUR)


@pytest.mark.parametrize(
    "board",
    [
        FOUR,
        DIAGONAL,
        Board.classic(6, box=(3, 2)),
        Board.windoku(),
        Board.diagonal(),
        Board(5, box=(1, 5)),
        js.shipped.board("jigsaw-9x9"),
    ],
    ids=str,
)
def test_boards_have_names(board):
    assert Board.named(board.name) == board
    assert board.is_classic == (header_lines(board) == b"")


def test_a_board_without_a_name():
    board = Board(4, box=(2, 2), extra=((0, 5, 10, 15),))
    assert (board.name, board.is_classic) == (None, False)


def test_marked_chunks():
    (plain,) = mark_board([read(TEXT)], FOUR)
    (marked,) = mark_board([read(TEXT)], DIAGONAL)
    assert (plain.extras, marked.extras) == ({}, {"board": ["diagonal-4"] * 2})


def test_tables_as_text_have_a_heading(tmp_path):
    path = str(tmp_path / "table.txt")
    with TableWriter(path, {"puzzle": object, "clues": int}, heading=header_lines(DIAGONAL)) as table:
        table.write({"puzzle": [PUZZLE], "clues": np.array([8])})
    assert (read_board(path), len(read_puzzles(path))) == (DIAGONAL, 1)
    with TableWriter(f"{path}.csv", {"puzzle": object}, heading=header_lines(DIAGONAL)):
        pass
    assert (tmp_path / "table.txt.csv").read_bytes() == b"puzzle\n"


# ---------------------------------------------------------------------- tables


@pytest.mark.parametrize("delimiter", [",", ";", "\t"])
@pytest.mark.parametrize("quote", ["", '"'])
def test_delimiters(delimiter, quote):
    lines = ["id,Puzzle ,note", f"{quote}7{quote},{PUZZLE},x", f"8,{quote}{OTHER}{quote},y"]
    text = "\n".join(line.replace(",", delimiter) for line in lines) + "\n"
    chunk = read(text)
    np.testing.assert_array_equal(chunk.grids, GRIDS)
    assert chunk.extras == {"id": ["7", "8"], "note": ["x", "y"]}
    np.testing.assert_array_equal(parse(text.rsplit("\n", 2)[0]), GRIDS[0])


def test_a_column_by_name():
    table = f"id,Quiz\n1,{PUZZLE}\n"
    for column in ("Quiz", "quiz"):
        assert read(table, column=column).extras == {"id": ["1"]}
    assert refusal(table, column="qiuz")[0] == (
        "<input>:1: no column named 'qiuz' among 'id', 'Quiz'; did you mean 'Quiz'?"
    )
    assert refusal(table)[0].endswith("; another one can be named (column, --column)")
    assert "no column 'quiz'" in refusal(TEXT, column="quiz")[0]
    with pytest.raises(PuzzleFileError, match="no column"):
        read_puzzles(io.BytesIO(TEXT.encode()), FOUR, column="quiz")


@pytest.mark.parametrize(
    ("rows", "good", "line"),
    [
        (f'{PUZZLE},a\n{PUZZLE},"b\n{PUZZLE},c\n', 1, 3),
        (f'{PUZZLE},a\n{PUZZLE},"b', 1, 3),
        (f'{PUZZLE},"a\nb"\n"{PUZZLE},b\n{PUZZLE},c\n', 1, 4),
        (f'{PUZZLE},a\n{PUZZLE},"b\n{PUZZLE},c\n{PUZZLE},"d"\n{PUZZLE},e\n', 1, 3),
    ],
)
@pytest.mark.parametrize("block", [16, 1 << 20])
def test_a_quote_that_is_never_closed(rows, good, line, block, monkeypatch):
    monkeypatch.setattr("jaxsudoku.io.source.BLOCK", block)
    message, found = refusal(f"puzzle,note\n{rows}")
    assert (message, found) == (f"<input>:{line}: a quote is opened here and never closed", good)


def test_what_is_quoted_is_no_comment():
    chunk = read(f'n,puzzle\n"#1",{PUZZLE}\n#2,{PUZZLE}\n"#3",{OTHER}\n')
    assert chunk.extras == {"n": ["#1", "#3"]} and chunk.lines.tolist() == [2, 4]
    note = "see\n# board: diagonal-4\nthere"
    chunk = read(f'puzzle,note\n{PUZZLE},"{note}"\n{OTHER},x\n')
    assert chunk.extras == {"note": [note, "x"]}
    message, good = refusal(f'puzzle,note\n{PUZZLE},"{note}"\n# board: diagonal-4\n{OTHER},x\n')
    assert (message[:10], good) == ("<input>:5:", 1)


def test_a_header_over_several_lines():
    for header, record in [('puzzle,"x\ny"', f"{PUZZLE},1"), ('"x\ny",puzzle', f"1,{PUZZLE}")]:
        chunk = read(f"# a comment\n{header}\n{record}\n")
        assert chunk.extras == {"x\ny": ["1"]} and chunk.lines.tolist() == [4]
    assert len(parse(f'"x\ny",puzzle\n1,{PUZZLE}\n')) == 16
    assert read_board(io.BytesIO(f'"x\ny",board,puzzle\n1,Diagonal-4,{PUZZLE}\n'.encode())) == DIAGONAL
    assert read(f'puzzle,5" nail\n{PUZZLE},3" nail\n').extras == {'5" nail': ['3" nail']}, "no quotes of fields"
    for text in ('# puzzle\nnames,"x\ny"\n1,2\n', 'puzzle,"x\n1,2\n', '{"a": 1}\n'):
        with open_puzzles(io.BytesIO(text.encode()), FOUR, column="puzzle") as puzzles, pytest.raises(PuzzleFileError):
            puzzles.check()
    for text, columns in [('"x\ny",Puzzle,Status', ("x\ny", "status")), (PUZZLE, ()), ('{"puzzle":"","n":1}', ("n",))]:
        with open_puzzles(io.BytesIO(f"# {PUZZLE}\n{text}\n".encode()), FOUR) as puzzles:
            assert puzzles.check() == columns


def test_records_before_a_malformed_one():
    message, good = refusal(f'puzzle,n\n{PUZZLE},5" nail\n{OTHER},1\n{PUZZLE},a\rb\n{PUZZLE},c\n')
    assert (message[:10], good) == ("<input>:4:", 2)


def test_fields_may_be_as_long_as_lines():
    before = csv.field_size_limit()
    long = "x" * (before + 1)
    assert read(f'puzzle,n\n{PUZZLE},"{long}"\n').extras == {"n": [long]}
    assert csv.field_size_limit() == before


def test_quotes_within_fields_open_nothing():
    assert read(f'puzzle,note\n{PUZZLE},5" nail\n{OTHER},x\n').extras == {"note": ['5" nail', "x"]}


def test_an_endless_quote(monkeypatch):
    monkeypatch.setattr("jaxsudoku.io.source.BLOCK", 64)
    monkeypatch.setattr("jaxsudoku.io.csv_tables.LONGEST_LINE", 300)
    message, good = refusal(f'puzzle,note\n{PUZZLE},a\n{PUZZLE},"b\n' + f"{PUZZLE},c\n" * 100)
    assert (message, good) == ("<input>:3: a quote is opened here and never closed within 300 bytes", 1)


# ---------------------------------------------------------------------- JSON lines


CELLS = GRIDS[0].tolist()


@pytest.mark.parametrize(
    "value",
    [
        PUZZLE,
        CELLS,
        [CELLS[row : row + 4] for row in range(0, 16, 4)],
        [cell or None for cell in CELLS],
        " ".join(map(str, CELLS)),
        list(PUZZLE),
    ],
)
def test_json_lines(value):
    for line in (json.dumps({"id": 7, "puzzle": value, "tags": ["x"], "note": None}), json.dumps(value)):
        if isinstance(value, str) and not line.startswith("{"):
            continue
        chunk = read(f"# a comment\n\n{line}\n{line}")
        np.testing.assert_array_equal(chunk.grids, GRIDS[[0, 0]])
        np.testing.assert_array_equal(parse(line), GRIDS[0])
        assert chunk.lines.tolist() == [3, 4]
        if line.startswith("{"):
            assert chunk.extras == {"id": ["7"] * 2, "tags": ['["x"]'] * 2, "note": [""] * 2}


def test_half_of_a_surrogate_pair_stays_an_escape():
    assert read(f'{{"puzzle": "{PUZZLE}", "n\\ud800": "a\\udc80\\u00e9"}}\n').extras == {"n\\ud800": ["a\\udc80\u00e9"]}


def test_json_names_its_column_and_board():
    line = json.dumps({"q": PUZZLE, "board": "diagonal-4"})
    assert read(line, None, column="q").extras == {"board": ["diagonal-4"]}
    assert "the file is of the board diagonal-4" in refusal(line, column="q")[0]
    assert refusal(line)[0].startswith("<input>:1: no column named 'puzzle' among 'q', 'board'")


@pytest.mark.parametrize(
    ("line", "cause"),
    [
        ("{", "not a line of JSON"),
        ("[" * 100_000, "not a line of JSON"),
        ("7", "a puzzle is a text or a list of integers, not 7"),
        ('{"n": 1}', "no value is named 'puzzle'"),
        (json.dumps({"puzzle": None}), "a puzzle is a text or a list of integers, not null"),
        (f'{{"puzzle": "{PUZZLE}", "puzzle": "{OTHER}"}}', "two values are named 'puzzle'"),
        (json.dumps([1.5] * 16), "cell 1 is 1.5, not an integer"),
        (json.dumps([True] * 16), "cell 1 is true, not an integer"),
        (json.dumps([[[1]]] * 16), "cell 1 is [1], not an integer"),
        (json.dumps([1] * 15), "15 cells; a 4x4 board has 16"),
        (json.dumps([5] * 16), "'5', number 1 of the line, is larger than 4"),
        (json.dumps([-2] * 16), "'-2', number 1 of the line, is not a cell"),
        (json.dumps({"puzzle": "123"}), "3 cells; a 4x4 board has 16"),
        (json.dumps({"puzzle": "\ud800"}), "at column 1 is not a cell"),
    ],
)
def test_malformed_json(line, cause):
    chunk = read(f'{{"puzzle": "{PUZZLE}"}}\n{line}\n{{"puzzle": "{OTHER}"}}\n')
    assert chunk.good.tolist() == [True, False, True]
    assert cause in chunk.errors[0].cause or "'?'" in chunk.errors[0].cause
    assert chunk.errors[0].line == 2


def test_blocks_of_json(monkeypatch):
    monkeypatch.setattr("jaxsudoku.io.source.BLOCK", 50)
    chunk = read("".join(json.dumps({"puzzle": PUZZLE, "n": n}) + "\n" for n in range(20)))
    assert chunk.extras == {"n": [str(n) for n in range(20)]}
    assert JsonLines.sniff(Beginning("x", b' {"a": 1}\n'), 4) and not JsonLines.sniff(Beginning("x", b"1234\n"), 4)


@pytest.mark.parametrize(
    ("text", "cause"),
    [
        (json.dumps([PUZZLE, PUZZLE]), "a JSON array of puzzles; put one puzzle on each line"),
        (json.dumps([{"puzzle": PUZZLE}]), "a JSON array of puzzles; put one puzzle on each line"),
        (json.dumps({"puzzle": PUZZLE, "n": 3}, indent=1), "JSON over several lines; put one object on each line"),
    ],
)
def test_json_of_other_layouts(text, cause):
    assert f"<input>:1: {cause}" in refusal(text)[0]


# ---------------------------------------------------------------------- compressions


COMPRESSORS = {"gzip": gzip.compress, "bzip2": bz2.compress, "xz": lzma.compress, "zstd": zstd}


@pytest.mark.parametrize("name", COMPRESSORS)
def test_compressions(name, tmp_path, monkeypatch):
    compress = COMPRESSORS[name]
    rng = np.random.default_rng(0)
    grids = rng.integers(0, 5, (3000, 16)).astype(np.uint8)
    data = compress(format_grids(grids, FOUR))
    path = tmp_path / "puzzles"  # told by its content, not by a suffix
    path.write_bytes(data)
    monkeypatch.setattr(compression, "_OUTPUT", 1000)
    np.testing.assert_array_equal(read_puzzles(path, FOUR), grids)
    path.write_bytes(data + data)
    assert len(read_puzzles(path, FOUR)) == 6000
    assert not list(read_chunks(io.BytesIO(compress(b"")), FOUR))
    path.write_bytes(data[: len(data) * 3 // 4])
    with pytest.raises(PuzzleFileError, match=f"puzzles: truncated {name} data") as caught:
        read_puzzles(path, FOUR)
    np.testing.assert_array_equal(caught.value.grids, grids[: len(caught.value.grids)])
    path.write_bytes(data[:20] + bytes(len(data) - 20))
    with pytest.raises(PuzzleFileError, match=f"puzzles: (damaged|truncated) {name} data"):
        read_puzzles(path, FOUR)
    path.write_bytes(data + b"something else")
    with pytest.raises(PuzzleFileError, match=r"puzzles: .*\bpart 2\b") as caught:
        read_puzzles(path, FOUR)
    np.testing.assert_array_equal(caught.value.grids, grids)
    assert f"gzip data within {name} data" in refusal(compress(gzip.compress(TEXT.encode())))[0]
    assert f"a Parquet file within {name} data" in refusal(compress(b"PAR1" + bytes(20)))[0]


def test_zstandard_without_its_package_names_the_extra(monkeypatch):
    data = zstd(TEXT.encode())
    monkeypatch.setitem(sys.modules, "compression", None)
    monkeypatch.setitem(sys.modules, "zstandard", None)
    with pytest.raises(ImportError, match=r"jaxsudoku\[zstd\]"):
        read(data)


def test_zstandard_of_the_standard_library(monkeypatch):
    """Python 3.14 has a decoder with the interface of ``lzma``'s."""
    standard = types.SimpleNamespace(ZstdDecompressor=lzma.LZMADecompressor, ZstdError=lzma.LZMAError)
    monkeypatch.setitem(sys.modules, "compression", types.SimpleNamespace(zstd=standard))
    kind = next(kind for kind in compression.COMPRESSIONS if kind.name == "zstd")
    data = lzma.compress(TEXT.encode())
    assert b"".join(compression.decompress(kind, [data[:9], data[9:]], "x")) == TEXT.encode()
    with pytest.raises(PuzzleFileError, match="damaged zstd"):
        list(compression.decompress(kind, [b"nothing of that kind"], "x"))


def test_archives_are_refused():
    assert refusal(b"PK\x03\x04" + bytes(100))[0] == "<input>: a zip archive: unpack it first"


# ---------------------------------------------------------------------- new formats


class Runs(Format):
    """Grids whose blanks are counted, as in ``>1b34``: a format as it would be added."""

    name = "runs"

    @classmethod
    def sniff(cls, start, side):
        return cls(start) if start.lines and start.lines[0].startswith(b">") else None

    def read(self, blocks, check, keep=()):
        for line, block in check.cut_all(blocks):
            texts = [text[1:].translate(None, b" ") for text in block.split() if text.startswith(b">")]
            texts = [re.sub(rb"[a-z]", lambda run: b"." * (ord(run[0]) - 96), text) for text in texts]
            read = decode_texts(texts, check.digits)
            yield Chunk.of(read, np.arange(line, line + len(texts)), self.start.name)


def runs(grids, board):
    """Grids as the format has them."""
    lines = ["".join(map(str, grid)) for grid in grids]
    return "".join(f">{re.sub('0+', lambda run: chr(96 + len(run[0])), line)}\n" for line in lines).encode()


def test_a_format_is_added_by_one_class():
    js.testing.check_format(Runs, runs, [FOUR, DIAGONAL, Board.classic(6), Board.classic()])


@pytest.mark.parametrize(
    ("change", "words"),
    [
        (lambda chunk: chunk[:-1], r"7 puzzles were written, 6 are read\n  puzzle: [\d ]+$"),
        (lambda chunk: dataclasses.replace(chunk, grids=chunk.grids[::-1]), "a puzzle is not read back: another one"),
        (lambda chunk: dataclasses.replace(chunk, lines=chunk.lines[::-1]), "in small blocks has"),
        (
            lambda chunk: dataclasses.replace(chunk, good=np.ones(len(chunk), bool), errors=()),
            r"a malformed puzzle, on line 4, has errors on the lines \[\]\n  puzzle: ",
        ),
    ],
)
def test_a_wrong_format_is_found(change, words):
    class Wrong(Runs):
        def read(self, blocks, check, keep=()):
            return map(change, super().read(blocks, check, keep))

    with pytest.raises(AssertionError, match=words):
        js.testing.check_format(Wrong, runs, [FOUR])


def test_a_format_that_is_taken_for_another_is_found():
    with pytest.raises(AssertionError, match="a file of Runs is taken for one of Lines"):
        js.testing.check_format(Runs, format_grids, [FOUR])


# ---------------------------------------------------------------------- other files that were misread


@pytest.mark.parametrize(
    "data",
    [
        TEXT.replace("\n", "\r").encode(),
        TEXT.replace("\n", "\r\r\n").encode(),
        TEXT.encode("utf-16"),
        b"\xfe\xff" + TEXT.encode("utf-16-be"),
        f"{PUZZLE}\n\ufeff{OTHER}\n".encode(),
        f"{PUZZLE}\r{OTHER}".encode(),
        f"puzzle,n\r{PUZZLE},1\r{OTHER},2\r".encode(),
        "\r".join((PUZZLE + OTHER)[row : row + 4] for row in range(0, 32, 4)).encode(),
    ],
)
@pytest.mark.parametrize("block", [7, 1 << 20])
def test_line_ends_and_encodings(data, block, monkeypatch):
    monkeypatch.setattr("jaxsudoku.io.source.BLOCK", block)
    if block == 7 and b"\xef" in data:
        pytest.skip("a mark that is cut in two is reported as no cell")
    np.testing.assert_array_equal(read(data).grids, GRIDS)


@pytest.mark.parametrize("block", [1, 7, 1 << 20])
def test_carriage_returns_between_quotes_stay(block, monkeypatch):
    monkeypatch.setattr("jaxsudoku.io.source.BLOCK", block)
    chunk = read(f'puzzle,note\r{PUZZLE},"a\rb"\r{OTHER},"c""\r\r""\r\nd\r"\r\n')
    assert chunk.extras == {"note": ["a\rb", 'c"\r\r"\r\nd\r']}
    assert chunk.lines.tolist() == [2, 3]


@pytest.mark.parametrize("separator", [",", ";", "\t", ", "])
@pytest.mark.parametrize("blank", ["", "0"])
def test_a_grid_in_rows_of_a_spreadsheet(separator, blank):
    cells = [blank if character == "." else character for character in PUZZLE[:8] + "." * 8]
    rows = [separator.join(cells[row : row + 4]) for row in range(0, 16, 4)]
    text = "\n".join(rows) + "\n"
    expected = parse(PUZZLE[:8] + "." * 8)
    np.testing.assert_array_equal(read(text * 2).grids, np.stack([expected] * 2))
    np.testing.assert_array_equal(parse(text, None if text.split() == text.splitlines() else FOUR), expected)
    np.testing.assert_array_equal(parse(separator.join(cells)), expected)
    chunk = read("\n".join([*rows[:2], separator.join(cells[:3]), *rows[3:]]))
    assert str(chunk.errors[0]) == "<input>:3: row 3 of the grid has 3 cells, not 4"


def test_parse_refuses_a_malformed_record():
    with pytest.raises(ValueError, match="the first record is malformed"):
        parse("id;quizzes\n]\r]\r\r\n")


def test_a_drawing_with_boxes_apart_is_one_puzzle():
    drawing = "\n".join(f"|{PUZZLE[row : row + 2]}|{PUZZLE[row + 2 : row + 4]}|" for row in range(0, 16, 4))
    np.testing.assert_array_equal(parse(drawing), GRIDS[0])


def test_damaged_utf16():
    assert refusal(TEXT.encode("utf-16")[:-1])[0].startswith("<input>: damaged UTF-16 text")


# ---------------------------------------------------------------------- names


def test_suggestions():
    assert did_you_mean("exakt", ["exact", "mcts"]) == "; did you mean 'exact'?"
    assert did_you_mean("Exact", ["exact"]) == "; did you mean 'exact'?"
    assert did_you_mean("oracle", ["exact", "mcts"]) == ""


@pytest.mark.parametrize(
    ("call", "meant"),
    [
        (lambda: js.solvers.get("exakt"), "exact"),
        (lambda: js.solve(GRIDS, budgt=1), "budget"),
        (lambda: js.solve(GRIDS, rules="lokced"), "locked"),
        (lambda: js.make_network("cubee"), "cube"),
        (lambda: js.make_network("cube", widht=3), "width"),
        (lambda: js.load_network("cubes"), "cube"),
        (lambda: js.load("9x9-herd"), "9x9-hard"),
        (lambda: Board.named("windokuu"), "windoku"),
        (lambda: js.generate(0, 1, pattern="half-trun"), "half-turn"),
        (lambda: js.generate(0, 1, rating="herd"), "hard"),
        (lambda: js.mastermind.players.get("entrop"), "entropy"),
    ],
)
def test_unknown_names_come_with_what_may_be_meant(call, meant):
    with pytest.raises(ValueError, match=f"; did you mean '{meant}'\\?"):
        call()


def test_grades_are_ranges_of_ratings():
    eighths = np.arange(0, 100, 0.125)
    for number, name in enumerate(GRADES):
        low, high = grade_range(name)
        inside = (eighths >= low) & (eighths <= (np.inf if high is None else high))
        np.testing.assert_array_equal(inside, grade(eighths) == number)
        assert js.generation.GenerateConfig(rating=name).rating == (low, high)
    assert grade_range("Very_Hard") == grade_range("very-hard") == grade_range("very hard") == (10, 49.875)


def test_a_number_in_the_column_board_is_a_side_where_the_first_row_names_a_board(tmp_path):
    path = tmp_path / "boards.csv"
    path.write_text("puzzle,board\n1...............,diagonal-4\n.2..............,4\n..3.............,diagonal-4\n")
    (chunk,) = read_chunks(path, Board.diagonal(4))
    assert chunk.good.tolist() == [True, False, True]
    assert "a puzzle of the board 4" in chunk.errors[0].cause
    for size in (1, 2, 100):
        _, parts = slices(str(path), DIAGONAL, None, size)
        good = []
        for part in parts:
            with open_slice(part, DIAGONAL) as puzzles:
                good += [row for chunk in puzzles.chunks() for row in chunk.good.tolist()]
        assert good == [True, False, True]
    path.write_text("puzzle,board\n1...............,4\n.2..............,17\n")  # serial numbers
    (chunk,) = read_chunks(path, Board.diagonal(4))
    assert chunk.good.all()


# ---------------------------------------------------------------------- arrays of numpy


def saved(path, array):
    np.save(path, array)
    return path


@pytest.mark.parametrize("dtype", [np.uint8, np.int64])
def test_arrays_of_numpy(tmp_path, dtype):
    grids = js.load("4x4")[:30]
    four = Board.classic(4)
    for number, array in enumerate((grids, grids.reshape(-1, 4, 4), grids + 1)):
        found = read_puzzles(saved(tmp_path / f"{number}.npy", array.astype(dtype)), four)
        np.testing.assert_array_equal(found, grids)
    assert (grids.max(), grids.min()) == (4, 0)
    zero_based = saved(tmp_path / "zero.npy", grids.astype(np.int64) - 1)
    np.testing.assert_array_equal(read_puzzles(zero_based, four, zero_based=True), grids)
    with open_puzzles(tmp_path / "0.npy", four) as puzzles:
        assert [len(chunk) for chunk in puzzles.chunks(20)] == [20, 10] and puzzles.count == 30
    with open(tmp_path / "0.npy", "rb") as stream:
        np.testing.assert_array_equal(read_puzzles(stream, four), grids)


def test_rows_of_arrays_are_read_one_by_one(tmp_path):
    grids = js.load("4x4")[:5].astype(np.int64)
    grids[2, 3], grids[4, 1] = 7, -1
    found = read_puzzles(saved(tmp_path / "some.npy", grids), Board.classic(4), errors="mark")
    assert found.good.tolist() == [True, True, False, True, False]
    assert "some.npy:3: a value 7; a digit goes up to 4, and 0 is a blank" in str(found.errors[0])
    assert "some.npy:5: a value -1" in str(found.errors[1])


@pytest.mark.parametrize(
    ("array", "message"),
    [
        (np.zeros((3, 17), np.uint8), r"an array \[3, 17\]; a puzzle of this board has 16 cells"),
        (np.zeros((3, 16)), "an array of float64; puzzles are integers"),
        (np.array([{}, {}]), "damaged or truncated array of numpy, or one of objects"),
    ],
)
def test_arrays_without_puzzles(tmp_path, array, message):
    np.save(tmp_path / "bad.npy", array, allow_pickle=True)
    with pytest.raises(PuzzleFileError, match=message):
        read_puzzles(tmp_path / "bad.npy", Board.classic(4))


def test_a_truncated_array(tmp_path):
    path = saved(tmp_path / "cut.npy", js.load("4x4")[:30])
    path.write_bytes(path.read_bytes()[:-9])
    with pytest.raises(PuzzleFileError, match=r"cut\.npy: damaged or truncated array of numpy"):
        read_puzzles(path, Board.classic(4))
