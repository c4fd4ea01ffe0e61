"""The commands that make and rate puzzles."""

from __future__ import annotations

import csv
import io
import itertools
import json
import os
import re
import signal
import subprocess
import sys
import time

import numpy as np
import pytest
import reference
from command import run

import jaxsudoku as js
from jaxsudoku import datasets
from jaxsudoku.cli import main
from jaxsudoku.cli.invocation import Invocation
from jaxsudoku.engine import batches
from jaxsudoku.generation import Generator
from jaxsudoku.io import TableWriter
from jaxsudoku.runtime.terminal.stop import Signals, Stop

FOUR = reference.SMALL["4x4"]
#: One program for any number of puzzles above 16, that of other tests of generation.
SMALL = ("--board", "4", "--batch-size", "64")
PROPER, NONE, SEVERAL, CLASH = "1.34.4122.4.43.1", "123...4.........", "." * 16, "11.............."


def table(text):
    """The columns of a CSV."""
    rows = list(csv.DictReader(io.StringIO(text)))
    return {name: [row[name] for row in rows] for name in rows[0]}


# ---------------------------------------------------------------------- generate


def test_generated_puzzles_are_those_of_the_library(capsys, tmp_path):
    code, out, err = run(capsys, "generate", "30", *SMALL, "--seed", "5", "--quiet")
    assert (code, err) == (0, "")
    made = js.generate(5, 30, FOUR, batch_size=64)
    columns = table(out)
    assert list(columns) == ["puzzle", "solution", "clues", "rating"]
    np.testing.assert_array_equal([js.parse(text) for text in columns["puzzle"]], made.puzzles)
    np.testing.assert_array_equal([js.parse(text) for text in columns["solution"]], made.solutions)
    np.testing.assert_array_equal(np.array(columns["clues"], int), made.clues)
    np.testing.assert_array_equal(np.array(columns["rating"], np.float32), made.rating)
    code, text, _ = run(capsys, "generate", "20", *SMALL, "--seed", "5", "--quiet", "--format", "text")
    assert text.split() == columns["puzzle"][:20]
    path = tmp_path / "made.csv.gz"
    assert run(capsys, "generate", "20", *SMALL, "--seed", "5", "--output", str(path))[0] == 0
    np.testing.assert_array_equal(js.read_puzzles(path, FOUR), made.puzzles[:20])


def test_a_parquet_table(capsys, tmp_path):
    pytest.importorskip("pyarrow")
    path = tmp_path / "made.parquet"
    assert run(capsys, "generate", "20", *SMALL, "--output", str(path), "--quiet")[0] == 0
    np.testing.assert_array_equal(js.read_puzzles(path, FOUR), js.generate(0, 20, FOUR, batch_size=64).puzzles)
    assert os.listdir(tmp_path) == ["made.parquet"]


def test_settings_and_the_summary(capsys, tmp_path):
    path = str(tmp_path / "made.csv")
    code, out, _ = run(capsys, "generate", "20", *SMALL, "--clues", "6:7", "--output", path, "--json")
    summary = json.loads(out)
    assert (code, summary["puzzles"], summary["error"]) == (0, 20, None)
    assert summary["puzzles_per_second"] == pytest.approx(20 / summary["seconds"], rel=0.01)
    assert summary["compile_seconds"] >= 0
    assert sum(summary["counts"].values()) == 20
    assert summary["counts"]["easy"] > 10
    with open(path) as file:
        assert set(table(file.read())["clues"]) == {"6", "7"}
    code, _, err = run(capsys, "generate", "20", *SMALL, "--output", path)
    assert (code, err) == (
        2,
        f"jaxsudoku: error: {path}: the output exists: continue it with --resume or replace it with --force\n",
    )
    code, _, err = run(capsys, "generate", "20", *SMALL, "--output", path, "--force")
    assert code == 0
    assert re.fullmatch(r"20 puzzles in [\d.]+ s \([\d,]+/s\): .*; start [\d.]+ s, compilation [\d.]+ s\n", err)


#: Instances with holes, which take less time than puzzles.
HOLES = ("--holes", "balanced", "--given", "0.4")
MADE = {"made.txt": HOLES, "made.csv": (), "made.csv.gz": HOLES, "made.parquet": HOLES}


@pytest.fixture(scope="module")
def one_core():
    """Puzzles are made in stretches of one batch, on any machine."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(batches, "usable_cores", lambda: 1)
        yield


@pytest.fixture(scope="module")
def made(one_core, tmp_path_factory):
    """What a run of 150 puzzles left alone writes, by the output's name."""
    folder = tmp_path_factory.mktemp("made")
    for name, options in MADE.items():
        if name.endswith(".parquet"):
            pytest.importorskip("pyarrow")
        assert main(["generate", "150", *SMALL, *options, "--output", str(folder / name), "--quiet"]) == 0
    assert sorted(os.listdir(folder)) == sorted(MADE)
    return {name: (folder / name).read_bytes() for name in MADE}


@pytest.mark.parametrize(
    ("name", "stop"), [("made.txt", 0), ("made.txt", 2), ("made.csv", 1), ("made.csv.gz", 2), ("made.parquet", 1)]
)
def test_an_interrupted_run_goes_on_to_the_same_bytes(capsys, made, tmp_path, monkeypatch, name, stop):
    path, make, calls = tmp_path / name, Generator.make, itertools.count()

    def interrupted(self, first, count, *progress):
        if next(calls) == stop:
            raise KeyboardInterrupt
        return make(self, first, count, *progress)

    with monkeypatch.context() as patch, pytest.raises(KeyboardInterrupt):
        patch.setattr(Generator, "make", interrupted)
        main(["generate", "150", *SMALL, *MADE[name], "--output", str(path)])
    for there in (64 * stop, 150):
        argv = ("generate", "150", *SMALL, *MADE[name], "--output", str(path), "--resume", "--json")
        code, out, err = run(capsys, *argv)
        summary = json.loads(out)
        assert (code, err, summary["puzzles"], summary["already_there"]) == (0, "", 150 - there, there)
        assert sum(summary["counts"].values()) == 150 - there
        assert path.read_bytes() == made[name]
    assert os.listdir(tmp_path) == [name]


@pytest.mark.parametrize(
    ("name", "share"), [("made.txt", 0.5), ("made.csv", 0.0), ("made.csv", 0.5), ("made.csv.gz", 0.5)]
)
def test_a_run_that_was_killed_within_a_row_goes_on(capsys, made, tmp_path, name, share):
    path = tmp_path / name
    path.write_bytes(made[name][: int(share * len(made[name]))])
    code, _, err = run(capsys, "generate", "150", *SMALL, *MADE[name], "--output", str(path), "--resume")
    assert code == 0
    assert ("were there already" in err) == (share > 0)
    assert path.read_bytes() == made[name]


@pytest.mark.parametrize(
    ("name", "count", "options", "cause"),
    [
        ("made.txt", "150", ("--seed", "1"), "row 1 holds another puzzle; the output is left as it is"),
        ("made.parquet", "150", ("--seed", "1"), "row 1 holds another puzzle; the output is left as it is"),
        ("made.csv", "150", ("--clues", "9:11"), "holds another puzzle; the output is left as it is"),
        ("made.csv.gz", "149", (), "has 150 puzzles, more than 149; the output is left as it is"),
        ("made.parquet", "149", (), "has 150 puzzles, more than 149; the output is left as it is"),
    ],
)
def test_other_arguments_are_not_gone_on_with(capsys, made, tmp_path, name, count, options, cause):
    path = tmp_path / name
    path.write_bytes(made[name])
    code, _, err = run(capsys, "generate", count, *SMALL, *MADE[name], *options, "--output", str(path), "--resume")
    assert (code, err.count("\n")) == (2, 1)
    assert err.startswith(f"jaxsudoku: error: {path}: ") and cause in err
    assert path.read_bytes() == made[name]
    assert os.listdir(tmp_path) == [name]


def test_more_puzzles_are_made_after_fewer(capsys, made, tmp_path):
    path = tmp_path / "made.csv"
    assert run(capsys, "generate", "20", *SMALL, "--output", str(path), "--quiet")[0] == 0
    assert run(capsys, "generate", "150", *SMALL, "--output", str(path), "--quiet", "--resume")[0] == 0
    assert path.read_bytes() == made["made.csv"]


def test_a_table_of_other_columns_is_not_gone_on_with(capsys, tmp_path):
    path = tmp_path / "made.csv"
    path.write_text("puzzle,note\n1...............,mine\n")
    code, _, err = run(capsys, "generate", "150", *SMALL, "--output", str(path), "--resume")
    cause = "the columns are puzzle, note, and should be puzzle, solution, clues, rating"
    assert (code, err) == (2, f"jaxsudoku: error: {path}: {cause}\n")


def test_whoever_stops_a_run_is_told_how_to_go_on(tmp_path):
    argv = ["generate", "180", "--output", "made.csv", "--force"]
    sink = TableWriter(str(tmp_path / "made.csv"), {"puzzle": object})
    with pytest.raises(Stop) as caught, Invocation(argv, Signals(), 0.0).resumable("made.csv", sink):
        raise Stop(signal.SIGINT)
    command = "jaxsudoku generate 180 --output made.csv --resume"
    assert caught.value.advice == f"made.csv has complete rows; to continue: {command}"
    assert os.listdir(tmp_path) == ["made.csv"]  # and no lock


def test_what_cannot_be_leaves_what_was_found(capsys):
    code, out, err = run(capsys, "generate", "20", *SMALL, "--clues", "4", "--attempts", "1", "--quiet")
    assert code == 1
    found = table(out)["clues"]
    assert 0 < len(found) < 20
    assert set(found) == {"4"}
    assert f"{len(found)} of 20 puzzles found" in err


def test_instances_with_holes(capsys, one_core, tmp_path):
    path, whole = str(tmp_path / "holes.csv"), str(tmp_path / "whole.csv")
    argv = (*SMALL, *HOLES, "--output")
    assert run(capsys, "generate", "40", *argv, whole)[0] == 0
    code, out, _ = run(capsys, "generate", "20", *argv, path, "--json")
    assert (code, json.loads(out)["counts"]) == (0, {"unrated": 20})
    code, _, err = run(capsys, "generate", "40", *argv, path, "--resume")
    assert code == 0
    assert re.match(r"20 puzzles in .*: 20 unrated; .*; 20 were there already\n", err)
    with open(path) as file, open(whole) as other:
        text = file.read()
        assert text == other.read()
    columns, made = table(text), js.generate(0, 40, FOUR, batch_size=64, holes="balanced", given=0.4)
    assert list(columns) == ["puzzle", "solution", "clues"]
    assert set(columns["clues"]) == {"6"}
    np.testing.assert_array_equal([js.parse(text) for text in columns["puzzle"]], made.puzzles)
    np.testing.assert_array_equal([js.parse(text) for text in columns["solution"]], made.solutions)
    code, _, err = run(capsys, "generate", "40", *argv[:-2], "0.5", "--output", path, "--resume")
    assert (code, "row 1 holds another puzzle" in err) == (2, True)
    code, _, err = run(capsys, "generate", "150", *SMALL, "--output", path, "--resume")
    assert (code, "the columns are puzzle, solution, clues, and should be" in err) == (2, True)


def test_killers_are_generated_and_solved(capsys, tmp_path):
    path = tmp_path / "killers.jsonl"
    argv = (*SMALL, "--variant", "killer", "--seed", "1", "--output", str(path))
    assert run(capsys, "generate", "5", *argv, "--quiet")[0] == 0
    text = path.read_text()
    solution = json.loads(text.splitlines()[0])["solution"]
    path.write_text(text.replace(solution, solution[::-1]))
    code, _, err = run(capsys, "generate", "8", *argv, "--resume")
    assert (code, "row 1 holds another puzzle" in err) == (2, True)
    path.write_text(text)
    code, _, err = run(capsys, "generate", "8", *argv, "--resume")
    assert code == 0 and re.match(r"3 puzzles in .*: 3 unrated; .*; 5 were there already\n", err)
    records, read = list(map(json.loads, path.read_text().splitlines())), js.read_puzzles(path, FOUR, errors="mark")
    assert list(records[0]) == ["puzzle", "solution", "clues", "constraints"]
    for record, own in zip(records, read.constraints, strict=True):
        grid = js.parse(record["solution"]).astype(int)
        assert own and all(one.holds(grid[list(one.cells)], one.numbers, 4) for one in own)
        assert (record["puzzle"], record["clues"]) == ("." * 16, 0)
    code, out, _ = run(capsys, "solve", str(path), "--board", "4", "--batch-size", "64", "--quiet", "--format", "text")
    assert (code, out.split()) == (0, [record["solution"] for record in records])


@pytest.mark.parametrize(
    ("argv", "cause"),
    [
        (("0",), "must be at least 1, not 0"),
        (("5", "--holes", "balanced"), "holes needs given, the share of cells that are given, such as 0.45"),
        (("5", "--given", "0.5"), "given is for instances with holes"),
        (("5", "--holes", "balance", "--given", "0.5"), "did you mean 'balanced'"),
        (("5", "--holes", "random", "--given", "45"), "between 0 and 1, not 45: for 45% it is 0.45"),
        (("5", "--holes", "random", "--given", "45%"), "'45%' is not a share such as 0.45"),
        (
            ("5", "--holes", "random", "--given", "0.999"),
            "is 81 of the 81 cells of 9x9 with 3x3 boxes, which leaves no",
        ),
        (("5", "--holes", "random", "--given", "0.5", "--minimal", "--clues", "30"), "takes no clues, minimal"),
        (("5", "--clues", "7:5"), "clues must be a number or a range from few to many"),
        (("5", "--clues", "many"), "'many' is neither a number nor a range such as 20:30, 20: or :30"),
        (("5", "--clues", "99"), "99 clues; a board of 9x9 with 3x3 boxes has 81 cells"),
        (("5", "--clues", "0"), "0 clues: no puzzle of 9x9 with 3x3 boxes with fewer than 17 has one solution"),
        (("5", "--rating", ":"), "':' is no range such as 20:30, 20: or :30"),
        (("5", "--rating", "20"), "'20' is no range such as 20:30, 20: or :30"),
        (("5", "--pattern", "spiral"), "unknown pattern 'spiral'"),
        (("5", "--output", "/nowhere/x.csv"), "/nowhere/x.csv: there is no such directory"),
        (("5", "--format", "parquet"), "Parquet needs an output file"),
        (("5", "--variant", "killers"), "did you mean 'killer'"),
        (("5", "--variant", "killer", "--output", "x.txt"), "needs a table, with a column for the constraints"),
        (("5", "--variant", "killer", "--workers", "2", "--format", "text", "--output", "x"), "csv, jsonl or parquet"),
        (("5", "--variant", "killer", "--minimal", "--rating", "3:"), "does not go with --minimal, --rating"),
        (("5", "--variant", "killer", "--clues", "3:4"), "--variant takes a number of clues, not a range"),
        (("5", "--variant", "arrow", "--clues", "99"), "givens must be at most 81, not 99"),
        (("5", "--variant", "arrow", "--board", "36"), "boards with constraints have a side of at most 32"),
    ],
)
def test_usage_errors(capsys, argv, cause):
    code, out, err = run(capsys, "generate", *argv)
    assert (code, out) == (2, "")
    assert cause in err


def test_puzzles_chosen_by_technique_have_its_columns(capsys):
    code, out, err = run(
        capsys, "generate", "20", *SMALL, "--score", "1:1", "--clues", "12:", "--attempts", "40", "--quiet"
    )
    columns = table(out)
    assert (code, err) == (0, "")
    assert list(columns) == ["puzzle", "solution", "clues", "rating", "score", "technique"]
    assert columns["score"] == ["1"] * 20
    assert columns["technique"] == ["full-house"] * 20


# ---------------------------------------------------------------------- rate


def test_ratings_and_rules(capsys, tmp_path):
    path = tmp_path / "puzzles.csv"
    path.write_text(f'name,puzzle\none,{PROPER}\n"two, too",{SEVERAL}\nthree,{NONE}\nfour,123\nfive,{CLASH}\n')
    code, out, err = run(capsys, "rate", str(path), *SMALL, "--quiet")
    columns = table(out)
    assert list(columns) == ["puzzle", "clues", "rating", "rules", "status", "name"]
    assert columns["name"] == ["one", "two, too", "three", "four", "five"]
    assert columns["puzzle"] == [PROPER, SEVERAL, NONE, "123", CLASH]
    assert columns["status"] == ["unique", "several", "unsatisfiable", "malformed", "invalid"]
    assert columns["rating"] == ["0", "", "", "", ""]
    assert columns["rules"] == ["naked", "", "", "", ""]
    assert columns["clues"] == ["11", "0", "4", "", "2"]
    assert code == 1
    assert err.splitlines() == [
        f"{path}:5: 3 cells; a 4x4 board has 16",
        f"{path}:6: the givens clash: 1 twice in row 1",
    ]


def test_a_rated_table_is_rated_anew(capsys, tmp_path):
    first, second = tmp_path / "first.csv", tmp_path / "second.csv"
    assert run(capsys, "generate", "20", *SMALL, "--output", str(first), "--quiet")[0] == 0
    assert run(capsys, "rate", str(first), *SMALL, "--output", str(second), "--quiet")[0] == 0
    one, other = table(first.read_text()), table(second.read_text())
    assert list(other) == ["puzzle", "clues", "rating", "rules", "status", "solution"]
    for name in ("puzzle", "clues", "rating", "solution"):
        assert other[name] == one[name]


def test_ratings_by_technique(capsys, tmp_path):
    path, out = tmp_path / "in.txt", tmp_path / "rated.csv"
    complete = "1234341221434321"
    path.write_text("\n".join([PROPER, NONE, SEVERAL, complete, CLASH]))
    argv = ("rate", str(path), *SMALL, "--by", "technique", "--output", str(out))
    code, _, err = run(capsys, *argv, "--up-to", "full-house")
    assert code == 1  # a puzzle whose givens clash
    assert "1 full-house, 1 complete, 1 with several solutions, 1 without a solution, 1 with clashing givens;" in err
    columns = table(out.read_text())
    assert list(columns) == ["puzzle", "clues", "score", "technique", "status"]
    assert columns["status"] == ["unique", "unsatisfiable", "several", "unique", "invalid"]
    assert columns["score"] == ["1", "", "", "0", ""]
    assert columns["technique"] == ["full-house", "", "", "", ""]
    code, _, err = run(capsys, *argv, "--resume", "--up-to", "naked-single")
    assert code in (0, 1)  # the same ratings, so the table goes on
    code, _, err = run(capsys, "rate", str(path), *SMALL, "--up-to", "x-wing")
    assert (code, "--up-to needs --by technique" in err) == (2, True)


@pytest.mark.parametrize(("flag", "value"), [("--searches", "8"), ("--seed", "0")])
def test_ratings_by_technique_take_no_flags_of_searches(capsys, flag, value):
    code, _, err = run(capsys, "rate", PROPER, *SMALL, "--by", "technique", flag, value)
    assert (code, f"{flag} needs --by nodes" in err) == (2, True)


@pytest.mark.parametrize("name", ["rated.csv", "rated.parquet"])
def test_ratings_by_other_techniques_are_not_mixed(capsys, tmp_path, name):
    if name.endswith(".parquet"):
        pytest.importorskip("pyarrow")
    puzzles, path = tmp_path / "puzzles.txt", tmp_path / name
    rows = [PROPER] * 10 + ["..3.4....4.....1"]  # the last one needs a hidden single
    argv = ("rate", str(puzzles), *SMALL, "--by", "technique", "--quiet", "--output", str(path))
    for one, other in (("full-house", "naked-single"), ("naked-single", "full-house")):
        puzzles.write_text("\n".join(rows))
        assert run(capsys, *argv, "--up-to", one, "--force")[0] == 0
        before = path.read_bytes()
        puzzles.write_text("\n".join([*rows, PROPER]))
        code, _, err = run(capsys, *argv, "--up-to", other, "--resume")
        assert (code, "puzzle 11 is rated" in err, f"--up-to {other}" in err) == (2, True, True)
        assert path.read_bytes() == before
    assert run(capsys, *argv, "--up-to", "naked-single", "--resume")[0] == 0
    assert run(capsys, *argv, "--up-to", "naked-single", "--resume")[0] == 0


@pytest.mark.parametrize("name", ["rated.csv", "rated.csv.gz", "rated.parquet"])
def test_rating_goes_on(capsys, tmp_path, name):
    if name.endswith(".parquet"):
        pytest.importorskip("pyarrow")
    puzzles, path, whole = tmp_path / "puzzles.csv", tmp_path / name, tmp_path / f"whole-{name}"
    rows = ["puzzle,number", *(f"{''.join(map(str, puzzle))},{at}" for at, puzzle in enumerate(js.load("4x4")[:40]))]
    rows[20] = "short,"
    puzzles.write_text("".join(f"{row}\n" for row in rows[:21]))
    assert run(capsys, "rate", str(puzzles), *SMALL, "--output", str(path), "--quiet")[0] == 1
    puzzles.write_text("".join(f"{row}\n" for row in rows))
    code, out, _ = run(capsys, "rate", str(puzzles), *SMALL, "--output", str(path), "--resume", "--json")
    assert (code, json.loads(out)["puzzles"], json.loads(out)["already_there"]) == (0, 20, 20)
    assert run(capsys, "rate", str(puzzles), *SMALL, "--output", str(whole), "--quiet")[0] == 1
    if name == "rated.csv":
        assert path.read_bytes() == whole.read_bytes()
    before = path.read_bytes()
    for text, cause in (
        ("".join(f"{row}\n" for row in rows[:20]), "has 40 puzzles, the input only 19"),
        ("".join(f"{row}\n" for row in [rows[0], *rows[2:]]), "row 1 holds another puzzle"),
    ):
        puzzles.write_text(text)
        code, _, err = run(capsys, "rate", str(puzzles), *SMALL, "--output", str(path), "--resume")
        assert (code, cause in err) == (2, True)
    puzzles.write_text("".join(f"{row}\n" for row in rows))
    path.write_bytes(before)
    if ".csv" in name and ".gz" not in name:  # a rating of another seed
        changed = before.split(b"\n")
        fields = changed[2].split(b",")
        changed[2] = b",".join([*fields[:2], b"7.25", *fields[3:]])
        path.write_bytes(b"\n".join(changed))
        code, _, err = run(capsys, "rate", str(puzzles), *SMALL, "--output", str(path), "--resume")
        assert (code, "puzzle 2 is rated 7.25, and by --seed 0 --searches 8 it is" in err) == (2, True)
        assert path.read_bytes() == b"\n".join(changed)
    else:
        assert path.read_bytes() == before


def test_no_puzzles_to_rate(capsys, tmp_path):
    path = tmp_path / "puzzles.txt"
    path.write_text("")
    message = f"jaxsudoku: error: {path}: there are no puzzles in it\n"
    assert run(capsys, "rate", str(path), *SMALL, "--quiet") == (2, "", message)
    assert run(capsys, "rate", str(tmp_path / "none"), *SMALL)[0] == 2


# ---------------------------------------------------------------------- build


@pytest.mark.slow
def test_a_build_that_is_killed_goes_on(capsys, tmp_path):
    folder, whole = tmp_path / "killed", tmp_path / "whole"
    argv = ["build", "200", *SMALL, "--clues", "5:8", "--shard-size", "20", "--output"]
    assert run(capsys, *argv, str(whole))[0] == 0
    process = subprocess.Popen(
        [sys.executable, "-m", "jaxsudoku", *argv, str(folder)],
        stderr=subprocess.DEVNULL,
    )
    while process.poll() is None and not list(folder.glob("shard-*")):
        time.sleep(0.01)
    process.send_signal(signal.SIGKILL)
    process.wait()
    code, _, err = run(capsys, *argv, str(folder))
    assert code == 2
    assert "the folder exists: continue it with --resume" in err
    # a shard counts once its record is written; those of a data set that is complete are in its card
    complete = (folder / "card.json").exists()
    there = 200 if complete else 20 * len(list(folder.glob("shard-*.json")))
    code, out, _ = run(capsys, *argv, str(folder), "--resume", "--json")
    summary = json.loads(out)
    assert (code, summary["puzzles"], summary["already_there"]) == (0, 200 - there, there)
    assert sum(summary["counts"].values()) == 200 - there
    assert summary["puzzles_per_second"] == pytest.approx((200 - there) / summary["seconds"], rel=0.01)
    code, _, err = run(capsys, *argv, str(folder), "--resume")
    assert code == 0 and err.startswith("0 puzzles in ") and err.endswith("; 200 were there already\n")
    names = sorted(os.listdir(whole))
    assert sorted(os.listdir(folder)) == names
    assert all((folder / name).read_bytes() == (whole / name).read_bytes() for name in names)
    assert len(datasets.load(folder, verify=True)) == 200


@pytest.mark.slow
def test_a_build_that_gave_up_may_try_harder(capsys, tmp_path):
    argv = ["build", "16", *SMALL, "--clues", "4", "--minimal", "--shard-size", "8", "--quiet"]
    argv += ["--output", str(tmp_path / "set")]
    code, _, err = run(capsys, *argv, "--attempts", "1")
    assert code == 1
    assert "of 8 puzzles found" in err
    assert run(capsys, *argv, "--attempts", "400", "--resume")[0] == 0
    assert (datasets.load(tmp_path / "set").arrays().clues == 4).all()


def test_several_files_are_excluded(capsys, tmp_path, monkeypatch):
    files = [tmp_path / "one.txt", tmp_path / "two.txt"]
    grids = ["1" + "." * 15, "2" + "." * 15]
    for file, grid in zip(files, grids, strict=True):
        file.write_text(f"{grid}\n")
    seen = []
    monkeypatch.setattr(datasets, "build", lambda *args, **settings: seen.append(settings) or datasets.load("nowhere"))
    argv = ["build", "4", *SMALL, "--output", str(tmp_path / "set"), "--quiet"]
    run(capsys, *argv, *(word for file in files for word in ("--exclude", str(file))))
    assert seen[0]["exclude"][:, 0].tolist() == [1, 2]


# ---------------------------------------------------------------------- tables


def test_tables_refuse_what_does_not_fit(tmp_path):
    columns = {"puzzle": object, "clues": np.int32}
    with TableWriter(str(tmp_path / "table.csv"), columns) as writer:
        writer.write({"puzzle": ['a "b", c'], "clues": np.array([3], np.int32)})
        with pytest.raises(ValueError, match=r"lengths \[1, 2\]; the table has puzzle, clues"):
            writer.write({"puzzle": ["a"], "clues": np.array([3, 4])})
        with pytest.raises(ValueError, match="columns clues of lengths"):
            writer.write({"clues": np.array([3])})
    assert table((tmp_path / "table.csv").read_text()) == {"puzzle": ['a "b", c'], "clues": ["3"]}
