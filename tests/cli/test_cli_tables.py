"""Tables that commands write: their form by the output's suffix, their columns, and rows without a solution."""

import csv
import gzip
import os

import numpy as np
import pytest
from command import run

import jaxsudoku as js
from jaxsudoku.core.board import Board
from jaxsudoku.io import Chunk, CountWriter, LineError, check_folder_name, check_form, kind_of

FOUR = ("--board", "4")
PROPER, SOLVED = "1.34.4122.4.43.1", "1234341221434321"
SEVERAL, NONE, CLASH = "." * 16, "123...4.........", "1.1............."
#: Puzzles of every kind, two of them malformed, one with characters that CSV quotes.
ROWS = (("a", PROPER), ("b", SEVERAL), ("c", NONE), ("d", 'bad, "12"'), ("e", CLASH), ("f", ""))


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """A folder with the puzzles as a table and as lines."""
    monkeypatch.chdir(tmp_path)
    with open("in.csv", "w", newline="") as file:
        csv.writer(file).writerows([("name", "puzzle"), *ROWS])
    (tmp_path / "in.txt").write_text("".join(f"{puzzle}\n" for _, puzzle in ROWS[:5]))
    return tmp_path


def rows(name):
    """The rows of a table of any form, as texts."""
    if name.endswith(".parquet"):
        found = pytest.importorskip("pyarrow.parquet").read_table(name).to_pylist()
        return [{key: "" if value is None else str(value) for key, value in row.items()} for row in found]
    opener = gzip.open if name.endswith(".gz") else open
    with opener(name, "rt", newline="") as file:
        return list(csv.DictReader(file))


# ---------------------------------------------------------------------- count


@pytest.mark.parametrize("name", ["counts.csv", "counts.csv.gz", "counts.parquet"])
def test_counts_are_a_table_by_the_suffix(capsys, folder, name):
    code, out, _ = run(capsys, "count", "in.csv", *FOUR, "--limit", "2", "--output", name, "--quiet")
    assert (code, out) == (1, "")
    found = rows(name)
    assert list(found[0]) == ["puzzle", "count", "status", "iterations", "name"]
    assert [row["count"] for row in found] == ["1", "2", "0", "", "0", ""]
    statuses = ["unique", "several", "unsatisfiable", "malformed", "invalid", "malformed"]
    assert [row["status"] for row in found] == statuses
    assert [(row["name"], row["puzzle"]) for row in found] == list(ROWS), "malformed ones as they are in the input"
    assert [int(row["iterations"]) > 0 for row in found] == [True, True, True, False, False, False]
    assert sorted(os.listdir()) == sorted(["in.csv", "in.txt", name])
    assert "--force" in run(capsys, "count", "in.csv", *FOUR, "--output", name)[2]
    # a table of counts is an input again, whose own columns are replaced
    assert run(capsys, "count", name, *FOUR, "--limit", "1", "--output", f"again-{name}", "--quiet")[0] == 1
    assert [row["status"] for row in rows(f"again-{name}")][:2] == ["satisfiable", "satisfiable"]
    assert list(rows(f"again-{name}")[0]) == list(found[0])


def test_counts_are_lines_in_any_other_file(capsys, folder):
    lines = "1\n2\n0\n-\n0\n"
    for name in ("counts.txt", "counts", "counts.txt.gz"):
        assert run(capsys, "count", "in.txt", *FOUR, "--output", name, "--quiet")[0] == 1
        data = (folder / name).read_bytes()
        assert (gzip.decompress(data) if name.endswith(".gz") else data).decode() == lines
    code, out, err = run(capsys, "count", "in.txt", *FOUR)
    assert (code, out) == (1, lines)
    summary = (
        "1 with clashing givens, 1 malformed, 1 without a solution, 1 with 1 solution, 1 with 2 or more solutions;"
    )
    assert summary in err
    assert run(capsys, "count", "in.txt", *FOUR, "--format", "csv")[1].startswith("puzzle,count,status,iterations\n")


def test_counts_name_their_board(capsys, folder):
    (folder / "diagonal.txt").write_text(f"# board: diagonal-4\n{SEVERAL}\n")
    assert run(capsys, "count", "diagonal.txt", "--output", "counts.csv")[0] == 0
    assert rows("counts.csv")[0]["board"] == "diagonal-4"


def test_counts_that_are_not_finished_leave_nothing(tmp_path):
    pytest.importorskip("pyarrow")
    target = tmp_path / "counts.parquet"
    target.write_text("old")
    board, grids = Board.classic(4), np.zeros((1, 16), np.uint8)
    counted = Counted(np.array([1], np.int32), np.array([1], np.int32), ["unique"])
    with pytest.raises(KeyboardInterrupt), CountWriter(str(target), board, force=True) as writer:
        writer.write(Chunk(grids, np.ones(1, bool), np.ones(1, np.int64)), counted)
        raise KeyboardInterrupt
    assert (os.listdir(tmp_path), target.read_text()) == (["counts.parquet"], "old")


class Counted:
    """What ``CountWriter`` writes."""

    def __init__(self, counts, iterations, status):
        self.counts, self.iterations, self.status = counts, iterations, status


def test_puzzles_before_a_damaged_end_are_counted(capsys, folder):
    pytest.importorskip("pyarrow")
    (folder / "cut.csv").write_text(f'puzzle,n\n{PROPER},1\n{PROPER},"2\n')
    code, _, err = run(capsys, "count", "cut.csv", *FOUR, "--output", "counts.parquet", "--quiet")
    assert (code, "a quote is opened here and never closed" in err) == (1, True)
    assert [row["count"] for row in rows("counts.parquet")] == ["1"]


# ---------------------------------------------------------------------- suffixes


@pytest.mark.parametrize("command", ["solve", "count", "rate", "generate", "build"])
@pytest.mark.parametrize("name", ["out.json", "out.xlsx", "out.npz", "out.pq", "out.arrow", "out.zip", "out.csv.zst"])
def test_a_suffix_that_is_not_written_is_refused_before_the_work(capsys, folder, monkeypatch, command, name):
    monkeypatch.setattr("jaxsudoku.engine.batches.Engine", None)
    source = "3" if command in ("generate", "build") else "in.txt"
    code, out, err = run(capsys, command, source, *FOUR, "--output", name)
    assert (code, out, err.count("\n")) == (2, "", 1)
    assert err.startswith(f"jaxsudoku: error: {name}: ")
    assert sorted(os.listdir()) == ["in.csv", "in.txt"]


@pytest.mark.parametrize("command", ["solve", "count", "rate"])
@pytest.mark.parametrize("name", ["out.csv", "out.parquet", "out.txt", "out.json"])
def test_a_folder_has_no_suffix(capsys, folder, command, name):
    code, _, err = run(capsys, command, "in.txt", *FOUR, "--workers", "2", "--output", name)
    assert (code, f"{name}: the output is a folder of files" in err) == (2, True)
    assert not (folder / name).exists()


def test_a_kind_that_contradicts_the_suffix_is_refused(capsys, folder):
    for command in ("solve", "count", "rate"):
        code, _, err = run(capsys, command, "in.txt", *FOUR, "--format", "text", "--output", "out.parquet")
        assert (code, "out.parquet: the suffix is that of parquet, but the kind is text" in err) == (2, True)
    assert kind_of("out", "csv") == kind_of("out.txt", "csv") == kind_of("a.CSV", None) == ("csv", False)
    with pytest.raises(ValueError, match="a folder of files"):
        check_folder_name("made.parquet/")
    check_folder_name("folder.of/made")


@pytest.mark.parametrize(
    "argv",
    [
        ("evaluate", "in.txt", *FOUR, "--json"),
        ("mastermind", "train", "--simulations", "4", "--output"),
        ("mastermind", "evaluate", "--player", "entropy", "--save"),
    ],
    ids=" ".join,
)
def test_a_file_of_json_has_no_other_suffix(capsys, folder, argv):
    code, _, err = run(capsys, *argv, "out.csv")
    assert (code, "out.csv: the file is written as .json, and .csv is the suffix of another form" in err) == (2, True)
    for name in ("out", "out.json", "out.json.gz", "out.txt"):
        check_form(name, ".json")


def test_a_folder_of_pictures_has_no_suffix(capsys, folder):
    code, _, err = run(capsys, "explain", "in.txt", *FOUR, "--svg", "steps.svg")
    assert (code, "steps.svg: the output is a folder of files" in err) == (2, True)


# ---------------------------------------------------------------------- malformed rows


@pytest.mark.parametrize("command", ["solve", "rate"])
@pytest.mark.parametrize("suffix", [".csv", ".parquet"])
def test_malformed_rows_keep_their_text(capsys, folder, command, suffix):
    if suffix == ".parquet":
        pytest.importorskip("pyarrow")
    out = f"out{suffix}"
    assert run(capsys, command, "in.csv", *FOUR, "--output", out, "--quiet")[0] == 1
    found = rows(out)
    assert [(row["name"], row["puzzle"]) for row in found] == list(ROWS)
    assert [row["status"] for row in found][3] == [row["status"] for row in found][5] == "malformed"
    before = (folder / out).read_bytes()
    assert run(capsys, command, "in.csv", *FOUR, "--output", out, "--quiet", "--resume")[0] == 0
    assert (folder / out).read_bytes() == before


def test_texts_of_every_format_are_kept(folder):
    cases = {
        "lines.txt": (f"{PROPER}\nbad line\r\n".encode(), "bad line"),
        "latin.txt": (f"{PROPER}\n".encode() + b"b\xe4d\n", "b\\xe4d"),
        "in.jsonl": (f'{{"puzzle": "{PROPER}"}}\n{{"puzzle": [1, 2]}}\n'.encode(), "[1, 2]"),
        "short.csv": (f"puzzle,n\n{PROPER},1\n{PROPER}\n".encode(), PROPER),
        "library.txt": (b":0000:x:98.4..7.....:::\n" * 2, None),
    }
    for name, (data, text) in cases.items():
        (folder / name).write_bytes(data)
        marked = js.read_puzzles(name, Board.classic(4), errors="mark")
        if text is not None:
            assert marked.good.tolist() == [True, False]
            assert marked.errors[0].text == text and marked.texts == {1: text}
        else:
            assert [error.text for error in marked.errors] == [data.decode().split("\n")[0]] * 2
    # of a board that the row does not have, and of a drawn grid, whose text is on several lines
    (folder / "board.csv").write_text(f"puzzle,board\n{SEVERAL},classic-4\n{PROPER},diagonal-4\n{PROPER},classic-4\n")
    assert js.read_puzzles("board.csv", Board.classic(4), errors="mark").texts == {1: PROPER}
    (folder / "drawn.txt").write_text("1 2 3 4\n. . . .\n. . x .\n. . . .\n\n")
    assert js.read_puzzles("drawn.txt", Board.classic(4), errors="mark").texts == {}


def test_a_text_is_bounded():
    read = js.parse(["x" * 10_000, PROPER], errors="mark")
    assert [len(error.text) for error in read.errors] == [4096]
    assert read.errors[0] == LineError("<column>", 0, read.errors[0].cause)
