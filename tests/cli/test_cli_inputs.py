"""What commands read: boards that files name, shipped sets, puzzles given inline, columns; and names misspelt."""

import csv
import gzip
import itertools
import json
import os

import pytest
import reference
from command import run

import jaxsudoku as js
from jaxsudoku.cli import main, make_parser
from jaxsudoku.core.board import Board
from jaxsudoku.generation import GenerateConfig

FOUR = ("--board", "4")
SOLVED, PROPER, CLASH = "1234341221434321", "1.34.4122.4.43.1", "1.1............."
DIAGONAL = Board.diagonal(4)


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """The current folder, empty."""
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.fixture(scope="module")
def crossed():
    """A puzzle with one solution on the diagonal board and several on the classic one, and that solution."""
    solution = "1234341243212143"  # of the diagonal board
    for given in itertools.combinations(range(16), 4):
        grid = [int(digit) if cell in given else 0 for cell, digit in enumerate(solution)]
        counts = [reference.count(board, grid, 2) for board in (DIAGONAL, Board.classic(4))]
        if counts == [1, 2]:
            return "".join(map(str, grid)).replace("0", "."), solution
    raise AssertionError("no such puzzle")


# ---------------------------------------------------------------------- boards


def test_the_board_in_a_file_is_honoured(capsys, folder, crossed):
    puzzle, solution = crossed
    (folder / "in.txt").write_text(f"# board: diagonal-4\n{puzzle}\n")
    assert run(capsys, "solve", "in.txt", "--quiet") == (0, f"{solution}\n", "")
    assert run(capsys, "solve", "in.txt", "--quiet", "--board", "diagonal-4") == (0, f"{solution}\n", "")
    assert run(capsys, "count", "in.txt", "--quiet") == (0, "1\n", "")
    assert "│" in run(capsys, "show", "in.txt")[1]
    for command in ("solve", "count", "show", "rate", "evaluate"):
        code, out, err = run(capsys, command, "in.txt", "--board", "4")
        assert (code, out) == (2, "")
        assert err.startswith("jaxsudoku: error: in.txt:1: the file is of the board diagonal-4 (4x4 with 2x2 boxes and")
        assert err.endswith("but is read as 4 (4x4 with 2x2 boxes)\n")
    code, _, err = run(capsys, "build", "4", "--output", "set", "--board", "4", "--exclude", "in.txt")
    assert (code, "in.txt:1: the file is of the board diagonal-4" in err) == (2, True)
    assert os.listdir() == ["in.txt"]


def test_the_board_goes_from_table_to_table(capsys, folder, crossed):
    puzzle, solution = crossed
    (folder / "in.txt").write_text(f"# board: diagonal-4\n{puzzle}\n")
    assert run(capsys, "solve", "in.txt", "--quiet", "--output", "solved.csv")[0] == 0
    assert run(capsys, "solve", "solved.csv", "--quiet", "--output", "again.csv")[0] == 0
    for name in ("solved.csv", "again.csv"):
        with open(name, newline="") as file:
            (row,) = csv.DictReader(file)
        assert (row["puzzle"], row["solution"], row["board"]) == (puzzle, solution, "diagonal-4")
    assert run(capsys, "count", "solved.csv", "--quiet") == (0, "1\n", "")
    assert "solved.csv:2: the file is of the board" in run(capsys, "count", "solved.csv", "--board", "4")[2]


@pytest.mark.parametrize("ending", ["txt", "csv", "parquet"])
def test_generated_files_name_their_board(capsys, folder, ending):
    if ending == "parquet":
        pytest.importorskip("pyarrow")
    made = ("--board", "diagonal-4", "--batch-size", "15", "--holes", "balanced", "--given", "0.4", "--quiet")
    assert run(capsys, "generate", "5", *made, "--output", f"made.{ending}")[0] == 0
    assert js.io.read_board(f"made.{ending}") == DIAGONAL
    assert js.read_puzzles(f"made.{ending}").shape == (5, 16)
    assert "is of the board diagonal-4" in run(capsys, "count", f"made.{ending}", "--board", "4")[2]


@pytest.mark.slow
def test_rated_files_name_their_board(capsys, folder):
    (folder / "in.txt").write_text(f"# board: diagonal-4\n{PROPER}\n")
    for name in ("rated.txt", "rated.csv"):
        run(capsys, "rate", "in.txt", "--quiet", "--output", name)
        assert js.io.read_board(name) == DIAGONAL


def test_false_claims_of_uniqueness_are_said(capsys, folder):
    (folder / "in.txt").write_text(f"# solutions: 1\n{PROPER}\n{'.' * 16}\n{CLASH}\n")
    words = "; 1 has several solutions, although the file states that each puzzle has one"
    for command in ("solve", "count"):
        assert words in run(capsys, command, "in.txt", *FOUR)[2]
    summary = json.loads(run(capsys, "solve", "in.txt", *FOUR, "--json")[2].splitlines()[-1])
    assert summary["several"] == 1
    (folder / "in.txt").write_text(f"{PROPER}\n{'.' * 16}\n")
    for command in ("solve", "count"):
        assert json.loads(run(capsys, command, "in.txt", *FOUR, "--json")[2])["several"] is None


# ---------------------------------------------------------------------- inputs


def test_shipped_sets_by_name(capsys, folder):
    assert run(capsys, "show", "4x4", "--index", "2")[0] == 0
    code, out, _ = run(capsys, "solve", "4x4", "--quiet")
    assert (code, len(out.split())) == (0, 100)
    (folder / "4x4").write_text(f"{PROPER}\n")
    assert run(capsys, "solve", "4x4", *FOUR, "--quiet") == (0, f"{SOLVED}\n", "")
    os.remove("4x4")
    os.mkdir("4x4")
    assert run(capsys, "show", "4x4")[0] == 0
    code, out, err = run(capsys, "solve", "9x9-herd")
    assert (code, out) == (2, "")
    assert "9x9-herd: No such file or directory, nor a set of this name; did you mean '9x9-hard'?" in err
    code, out, err = run(capsys, "solve", "9x9-insane")
    assert (code, out) == (2, "")
    assert "9x9-insane: No such file or directory, nor a set of this name: choose one of 12x12, 16x16," in err


def test_a_flag_of_another_solver(capsys):
    code, out, err = run(capsys, "solve", "4x4", "--solver", "depth-first", "--organisms", "10")
    assert (code, out) == (2, "")
    assert "the solver depth-first has no --organisms; those that do are evolution (see" in err


def test_the_board_of_a_shipped_set(capsys):
    code, out, _ = run(capsys, "show", "." * 81, "--board", "jigsaw-9x9")
    assert code == 0
    assert out == run(capsys, "show", "." * 81, "--board", js.shipped.about("jigsaw-9x9")["board"])[1]
    assert "windoku-9x9:3: the file is of the board windoku" in run(capsys, "show", "windoku-9x9", "--board", "9")[2]
    assert "did you mean 'jigsaw-9x9'?" in run(capsys, "show", "." * 81, "--board", "jigsaw-9x8")[2]


def test_puzzles_given_inline(capsys, folder):
    assert run(capsys, "solve", PROPER, "--quiet") == (0, f"{SOLVED}\n", "")
    apart = " ".join(PROPER[row : row + 4] for row in range(0, 16, 4))
    numbers = " ".join(PROPER)
    assert run(capsys, "solve", PROPER, apart, numbers, "--quiet") == (0, f"{SOLVED}\n" * 3, "")
    code, out, err = run(capsys, "solve", PROPER, CLASH, "--quiet")
    assert (code, out, err) == (1, f"{SOLVED}\n-\n", "<command line>:2: the givens clash: 1 twice in row 1\n")
    drawn = "+--+--+\n" + "\n".join(f"|{PROPER[row : row + 2]}|{PROPER[row + 2 : row + 4]}|" for row in range(0, 16, 4))
    assert run(capsys, "solve", drawn, "--quiet") == (0, f"{SOLVED}\n", "")
    letters = "." * 239 + "1G" + "." * 15
    assert "16" in run(capsys, "show", letters)[1]
    with open(PROPER, "w") as file:
        file.write(f"{CLASH}\n")
    assert run(capsys, "count", PROPER, *FOUR, "--quiet")[1] == "0\n", "a file of that name goes first"


@pytest.mark.parametrize(
    ("inputs", "cause"),
    [
        ((PROPER[:15],), f"{PROPER[:15]}: No such file or directory, nor a puzzle: 15 cells; "),
        ((PROPER, "--board", "9"), "nor a puzzle: 16 cells; a 9x9 board has 81"),
        ((PROPER, "." * 81), "puzzles of 16 and 81 cells given inline"),
        ((PROPER, "-"), "-: several inputs must be puzzles given inline"),
        (("4x4", "9x9"), "4x4: several inputs must be puzzles given inline; name one file or set"),
        (("puzzles-of-four",), "puzzles-of-four: No such file or directory"),
    ],
)
def test_inputs_that_are_none(capsys, folder, inputs, cause):
    code, out, err = run(capsys, "solve", *inputs)
    assert (code, out, err.count("\n")) == (2, "", 1)
    assert cause in err


def test_a_column_by_name(capsys, folder):
    (folder / "in.csv").write_text(f"id;quiz\n7;{PROPER}\n")
    assert run(capsys, "solve", "in.csv", *FOUR, "--quiet", "--column", "quiz") == (0, f"{SOLVED}\n", "")
    code, _, err = run(capsys, "solve", "in.csv", *FOUR, "--quiet", "--column", "qiuz")
    assert (code, "in.csv:1: no column named 'qiuz' among 'id', 'quiz'; did you mean 'quiz'?" in err) == (1, True)


def test_puzzles_before_an_open_quote_are_answered(capsys, folder):
    (folder / "in.csv").write_text(f'puzzle,n\n{PROPER},a\n{PROPER},"b\n{PROPER},c\n')
    code, out, err = run(capsys, "solve", "in.csv", *FOUR, "--quiet")
    assert (code, out) == (1, f"{SOLVED}\n")
    assert err == "jaxsudoku: error: in.csv:3: a quote is opened here and never closed\n"


@pytest.mark.parametrize("name", ["out.txt.zst", "out.csv.xz", "out.BZ2"])
@pytest.mark.parametrize("command", ["solve", "count", "rate", "generate"])
def test_compressions_that_are_not_written(capsys, folder, command, name):
    (folder / "in.txt").write_text(f"{PROPER}\n")
    source = "3" if command == "generate" else "in.txt"
    code, _, err = run(capsys, command, source, *FOUR, "--output", name)
    assert (code, f"{name}: outputs compressed by" in err) == (2, True)
    assert os.listdir() == ["in.txt"]


# ---------------------------------------------------------------------- names


@pytest.mark.parametrize(
    ("argv", "meant"),
    [
        (("sovle", "x"), "solve"),
        (("solve", "4x4", "--solver", "exakt"), "exact"),
        (("solve", "4x4", "--budgt", "4"), "--budget"),
        (("count", "4x4", "--limt=4"), "--limit"),
        (("show", "4x4", "--indx", "4"), "--index"),
        (("solve", "4x4", "--format", "cvs"), "csv"),
        (("solve", "4x4", "--board", "diagnal"), "diagonal"),
        (("solve", "4x4", "--solver", "iterative", "--network", "cubes"), "cube"),
        (("generate", "3", "--rating", "herd"), "hard"),
        (("generate", "3", "--ratng", "hard"), "--rating"),
        (("mastermind", "evaluate", "--playr", "entropy"), "--player"),
        (("mastermind", "evaluate", "--player", "entrop"), "entropy"),
        (("mastermind", "evalute"), "evaluate"),
    ],
)
def test_misspelt_names(capsys, argv, meant):
    code, out, err = run(capsys, *argv)
    assert (code, out, err.count("\n")) == (2, "", 1)
    assert f"; did you mean '{meant}'?" in err


def test_a_grade_as_rating():
    rating = make_parser().parse_args(["generate", "5", "--rating", "very-hard"]).rating
    assert GenerateConfig(rating=rating).rating == (10, 49.875)


@pytest.mark.parametrize(
    ("name", "text"), [("in.csv", "# sets\nquizzes;id\n1...............;7\n"), ("in.jsonl", '{"quizzes": "1..."}\n')]
)
def test_a_missing_column_is_known_before_the_output_is_made(capsys, tmp_path, name, text):
    path, out = tmp_path / name, tmp_path / "out.csv"
    path.write_text(text)
    assert main(["solve", str(path), "--board", "4", "--column", "quizes", "--output", str(out)]) == 1
    assert "did you mean 'quizzes'?" in capsys.readouterr().err
    assert not out.exists()


@pytest.mark.parametrize("command", ["solve", "rate"])
@pytest.mark.parametrize("fault", ["column", "type", "garbage", "gzip"])
def test_an_input_that_cannot_be_read_leaves_the_old_output(capsys, folder, command, fault):
    data = gzip.compress(f"{PROPER}\n".encode())[:8]
    if fault != "gzip":
        pa, pq = pytest.importorskip("pyarrow"), pytest.importorskip("pyarrow.parquet")
        pq.write_table(pa.table({"quiz": [PROPER], "n": [1]} if fault == "column" else {"puzzle": [7]}), "in")
        data = (folder / "in").read_bytes() if fault != "garbage" else b"PAR1 no more than that"
    (folder / "in").write_bytes(data)
    (folder / "out.csv").write_text("old\n")
    code, _, err = run(capsys, command, "in", *FOUR, "--output", "out.csv", "--force")
    assert (code, err[:20], err.count("\n")) == (1, "jaxsudoku: error: in", 1)
    assert run(capsys, command, "in", *FOUR, "--output", "new.csv")[0] == 1
    assert (folder / "out.csv").read_text() == "old\n" and sorted(os.listdir()) == ["in", "out.csv"]


def test_rating_makes_no_output_where_no_puzzle_can_be_read(capsys, folder):
    (folder / "in.csv").write_text(f'puzzle,n\n{PROPER},"b\n')
    code, _, err = run(capsys, "rate", "in.csv", *FOUR, "--output", "out.csv")
    assert (code, err) == (1, "jaxsudoku: error: in.csv:2: a quote is opened here and never closed\n")
    assert os.listdir() == ["in.csv"]


def test_columns_that_the_output_replaces_are_named(capsys, folder):
    (folder / "in.csv").write_text(f"puzzle,id,Status,solution,rating\n{PROPER},7,solved,{SOLVED},3\nx,8,,,\n")
    told = "in.csv: columns that the output replaces or leaves out: "
    code, out, err = run(capsys, "solve", "in.csv", *FOUR, "--format", "csv")
    assert f"{told}status, solution\n" in err
    assert out.splitlines()[0] == "puzzle,solution,status,iterations,id,rating"
    assert out.splitlines()[1].startswith(f"{PROPER},{SOLVED},solved,") and out.splitlines()[1].endswith(",7,3")
    assert told not in run(capsys, "solve", "in.csv", *FOUR)[2], "text has no columns"
    code, out, err = run(capsys, "rate", "in.csv", *FOUR)
    assert (code, f"{told}status, rating\n" in err) == (1, True)
    assert ": 1 naked, 1 malformed;" in err
    assert out.splitlines()[:2] == [
        "puzzle,clues,rating,rules,status,id,solution",
        f"{PROPER},11,0,naked,unique,7,{SOLVED}",
    ]


def test_digits_counted_from_0(capsys, folder):
    counted = "".join("." if c == "." else str(int(c) - 1) for c in PROPER)
    (folder / "in.txt").write_text(f"{counted}\n")
    code, out, err = run(capsys, "solve", "in.txt", *FOUR)
    assert (code, out) == (1, "") and "in.txt:1: '0' stands beside another blank" in err and "--zero-based" in err
    for given in ("in.txt", counted):
        assert run(capsys, "solve", given, *FOUR, "--quiet", "--zero-based") == (0, f"{SOLVED}\n", "")
    mixed = PROPER.replace(".", "0", 1)
    assert "4" in mixed and "." in mixed
    (folder / "in.txt").write_text(f"{mixed}\n")
    code, out, err = run(capsys, "solve", "in.txt", *FOUR)
    assert (code, out) == (0, f"{SOLVED}\n")
    assert "in.txt: 1 puzzle has both 0 and another blank: both were taken as blanks" in err


def test_candidates_by_place_are_solved_within(capsys, folder):
    listed = "".join(f"{digit}" if c in f".{digit}" else "." for c in PROPER for digit in range(1, 5))
    assert run(capsys, "solve", listed, "--quiet") == (0, f"{SOLVED}\n", "")
    less = next(
        listed[: 4 * cell + int(SOLVED[cell]) - 1] + "." + listed[4 * cell + int(SOLVED[cell]) :]
        for cell in range(16)
        if PROPER[cell] == "."
    )
    assert run(capsys, "solve", less, "--quiet")[:2] == (0, "-\n")


@pytest.mark.parametrize("command", ["solve", "count", "rate", "show", "explain"])
def test_a_file_of_another_kind_is_named(capsys, folder, command):
    (folder / "in.txt").write_text("version https://git-lfs.github.com/spec/v1\noid sha256:ab\nsize 5\n")
    code, out, err = run(capsys, command, "in.txt")
    assert (code, out) == (2, "") and "in.txt: this looks like a Git LFS pointer: fetch the file, git lfs pull" in err
