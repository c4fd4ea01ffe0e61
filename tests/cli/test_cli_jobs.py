"""Commands done by several workers, which answer what one process does."""

from __future__ import annotations

import json
import os
import pickle
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from jaxsudoku.cli import job, main, make_parser
from jaxsudoku.cli.part import check_details
from jaxsudoku.core.board import Board
from jaxsudoku.runtime.files import JsonError, with_checksum
from jaxsudoku.runtime.workers import Workers

TWO = Workers(2)

#: Odd details of a part, and what is said of them.
ODD_DETAILS = {
    "counts as a list": ({"counts": []}, "'counts' is [], which is not an object"),
    "a negative count": ({"counts": {"solved": -1}}, "'solved' is -1"),
    "a huge count": ({"counts": {"solved": 10**4000}}, "'solved' is 1000"),
    "a huge number of the summary": ({"summary": {"seed": 10**4000}}, "'seed' of 'summary' is 1000"),
    "a long number": ({"counts": {"9" * 5000: 1}}, "'counts' has the number 99999999999999999999..."),
    "no summary": ({"summary": None}, "'summary' is missing"),
    "an error that is a number": ({"error": 3}, "'error' is 3, which is not a text"),
    "notes of numbers": ({"notes": [1]}, "'notes' has an entry that is not a text"),
    "no bad lines": ({"bad": None}, "'bad' is missing"),
    "errors without lines": ({"errors": ["x"]}, "'errors' has the entry 'x', which is not a line and a cause"),
    "errors of negative lines": ({"errors": [[-1, "x"]]}, "'errors' has the entry [-1, 'x']"),
    "a header of texts": ({"header_lines": "1"}, "'header_lines' is '1'"),
}
DETAILS = {"counts": {"solved": 1}, "summary": {}, "error": None, "bad": 0, "lines": 1, "header_lines": 0, "errors": []}


@pytest.mark.quick
@pytest.mark.parametrize("kind", ODD_DETAILS)
def test_odd_details_of_a_part_are_named(kind):
    change, cause = ODD_DETAILS[kind]
    check_details(DETAILS, answers=True)
    details = {name: value for name, value in {**DETAILS, **change}.items() if value is not None}
    with pytest.raises(JsonError) as refusal:
        check_details(details, answers=True)
    assert cause in str(refusal.value)


# ---------------------------------------------------------------------- commands

#: One program for any number of puzzles.
FOUR = ("--board", 4, "--batch-size", 63)


@pytest.fixture(scope="module")
def on_cpus() -> Iterator[None]:
    """Workers compile for the CPU, as this process does, and find its programs."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("JAX_PLATFORMS", "cpu")
        yield


def content(folder: Path) -> str:
    """The parts of a job as one text, each with its header but the first without."""
    parts = [path.read_text() for path in sorted(folder.glob("part-*"))]
    heads = {part.partition("\n")[0] for part in parts} if parts[0].startswith("puzzle,") else set()
    assert len(heads) <= 1
    rest = [part.partition("\n")[2] if heads else part for part in parts[1:]]
    return "".join([parts[0], *rest])


@pytest.fixture(scope="module")
def easy(tmp_path_factory) -> Path:
    """A folder with 300 puzzles of 4x4 in two files of text, one of them malformed, and in CSV."""
    import jaxsudoku as js

    folder = tmp_path_factory.mktemp("easy")
    puzzles = js.load("4x4")
    lines = ["".join(map(str, puzzles[number % len(puzzles)])) for number in range(300)]
    lines[170] = "12x4"
    (folder / "in").mkdir()
    (folder / "in" / "a.txt").write_text("# board: 4\n" + "".join(f"{line}\n" for line in lines[:100]))
    (folder / "in" / "b.txt").write_text("# board: 4\n" + "".join(f"{line}\n" for line in lines[100:]))
    (folder / "all.txt").write_text("".join(f"{line}\n" for line in lines))
    (folder / "all.csv").write_text("number,puzzle\n" + "".join(f"{n},{line}\n" for n, line in enumerate(lines)))
    return folder


@pytest.mark.slow
def test_parts_answer_what_one_process_does(easy, tmp_path, on_cpus, capsys):
    argv = ("solve", *FOUR, "--output")
    assert run_main(*argv, tmp_path / "one.txt", easy / "all.txt", "--quiet") == 1
    job = (*argv, tmp_path / "job", easy / "in", "--workers", 2, "--part-size", 40)
    capsys.readouterr()
    assert run_main(*job, "--json") == 1  # a malformed line
    assert content(tmp_path / "job") == (tmp_path / "one.txt").read_text()
    told = capsys.readouterr()
    assert f"{easy / 'in' / 'b.txt'}:72: 4 cells; a 4x4 board has 16" in told.err
    summary = json.loads(told.out)
    assert summary["counts"] == {"solved": 299, "unsatisfiable": 0, "invalid": 0, "unsolved": 0, "malformed": 1}
    assert (summary["bad"], summary["parts"], summary["workers"]) == (1, 8, "2")
    assert run_main(*job, "--resume") == 1
    told = capsys.readouterr().err
    assert "0 puzzles in" in told and "300 were there already" in told
    assert run_main(*job[:-1], 50, "--resume") == 2
    assert "part_size is 40 there, 50 here" in capsys.readouterr().err


@pytest.mark.slow
def test_a_job_whose_first_process_was_killed_goes_on(easy, tmp_path, on_cpus, inline, capsys):
    argv = ("solve", easy / "all.csv", *FOUR, "--workers", 2, "--part-size", 6, "--output")
    whole, job = tmp_path / "whole", tmp_path / "job"
    assert run_main(*argv, whole) == 1
    first = subprocess.Popen(
        [sys.executable, "-m", "jaxsudoku", *map(str, argv), str(job), "--quiet"],
        cwd=Path(__file__).parents[2],
        start_new_session=True,
    )
    deadline = time.monotonic() + 120
    while not list(job.glob("part-*.json")) and time.monotonic() < deadline:
        time.sleep(0.002)
    first.kill()
    first.wait()
    assert list(job.glob("part-*.csv")) and "parts" not in json.loads((job / "manifest.json").read_text())
    deadline = time.monotonic() + 60
    while _in_session(first.pid) and time.monotonic() < deadline:  # the workers end with it
        time.sleep(0.01)
    assert not _in_session(first.pid)
    capsys.readouterr()
    assert run_main(*argv, job, "--resume") == 1
    assert "were there already" in capsys.readouterr().err
    assert sorted(path.name for path in job.iterdir()) == sorted(path.name for path in whole.iterdir())
    for path in job.glob("part-*"):
        assert path.read_bytes() == (whole / path.name).read_bytes()


def _in_session(session: int) -> list[int]:
    """The processes of a session."""
    found = []
    for stat in Path("/proc").glob("[0-9]*/stat"):
        try:
            fields = stat.read_text().rpartition(")")[2].split()
        except (FileNotFoundError, ProcessLookupError):
            continue
        if int(fields[3]) == session and fields[0] != "Z":
            found.append(int(stat.parent.name))
    return found


@pytest.mark.parametrize(
    ("argv", "cause"),
    [
        (["solve", "4x4", "--workers", "2"], "--workers needs --output, a folder for the parts"),
        (["solve", "missing/*.txt", "--workers", "2", "--output", "out"], "missing/*.txt: No such file"),
        (["solve", "{all}", "--workers", "2", "--output", "out", "--force"], "--force can't be used with --workers"),
        (["count", "{all}", "--output", "out", "--resume"], "--resume needs --workers"),
        (["solve", "{all}", "{sixteen}", "--workers", "2", "--output", "out"], "has the board 4x4 with 2x2 boxes"),
        (["solve", "s4://bucket/a.txt", "--workers", "2", "--output", "out"], "Protocol not known: s4"),
    ],
)
def test_wrong_flags_are_told(easy, tmp_path, argv, cause, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "sixteen.txt").write_text("# board: 16\n" + "." * 256 + "\n")
    names = {"all": easy / "in" / "a.txt", "sixteen": tmp_path / "sixteen.txt"}
    assert run_main(*(text.format(**names) for text in argv)) == 2
    assert cause in capsys.readouterr().err
    assert not (tmp_path / "out").exists()


def test_the_flags_of_a_job_are_those_of_its_command():
    for command in ("solve", "count", "rate"):
        args = make_parser().parse_args([command, "in", "--workers", "ray:3", "--part-size", "7", "--output", "out"])
        assert (args.workers, args.part_size) == (Workers(3, ray=True), 7)


# ---------------------------------------------------------------------- commands, in this process


@pytest.fixture
def inline(monkeypatch):
    """Does the parts of jobs in this process, the last one first."""

    def run_here(workers, task, items):
        do = task.begin()
        for number in reversed(range(len(items))):
            yield number, do(items[number])

    monkeypatch.setattr(job, "run_items", run_here)


def run_main(*argv: object) -> int:
    try:
        return main(list(map(str, argv)))
    except SystemExit as stop:
        return int(stop.code or 0)


@pytest.mark.parametrize("change", [b"[" * 200_000, {"details": {"counts": 5}}])
def test_a_command_refuses_odd_files_of_a_job(easy, tmp_path, inline, change, capsys):
    argv = ("solve", easy / "all.csv", *FOUR, "--workers", 2, "--output", tmp_path / "job")
    assert run_main(*argv) == 1
    (part,) = json.loads((tmp_path / "job" / "manifest.json").read_bytes())["parts"]
    data = with_checksum({**part, **change}) if isinstance(change, dict) else change
    (tmp_path / "job" / "part-00000.json").write_bytes(data)
    capsys.readouterr()
    assert run_main(*argv, "--resume") == 2
    told = capsys.readouterr().err
    assert told.startswith("jaxsudoku: ") and told.count("\n") == 2, "a note, and an error"
    assert f"jaxsudoku: error: {tmp_path / 'job' / 'part-00000.json'}: " in told


def test_a_resumed_command_makes_an_altered_part_again(easy, tmp_path, inline, capsys):
    argv = ("solve", easy / "in" / "a.txt", *FOUR, "--workers", 2, "--part-size", 40, "--output", tmp_path / "job")
    assert run_main(*argv) == 0
    before = {path.name: path.read_bytes() for path in (tmp_path / "job").iterdir()}
    part = tmp_path / "job" / "part-00001.txt"
    part.write_bytes(part.read_bytes().replace(b"1", b"2", 1))
    capsys.readouterr()
    assert run_main(*argv, "--resume") == 0
    told = capsys.readouterr().err
    assert f"{tmp_path / 'job'}: missing or altered since, so made again: part-00001.txt\n" in told
    after = {path.name: path.read_bytes() for path in (tmp_path / "job").iterdir()}
    assert after.keys() == before.keys() and after["part-00001.txt"] == before["part-00001.txt"]


def test_workers_that_have_nothing_to_do_are_explained(tmp_path, inline, capsys):
    pa = pytest.importorskip("pyarrow")
    import gzip

    import pyarrow.parquet as pq

    import jaxsudoku as js

    lines = ["".join(map(str, puzzle)) for puzzle in js.load("4x4")[:20]]
    table = pa.table({"puzzle": lines})
    pq.write_table(table, tmp_path / "one.parquet")
    pq.write_table(table, tmp_path / "two.parquet", row_group_size=10)
    text = "".join(f"{line}\n" for line in lines)
    (tmp_path / "a.txt").write_text(text)
    (tmp_path / "a.txt.gz").write_bytes(gzip.compress(text.encode()))
    (tmp_path / "a.csv").write_text('"puzzle"\n' + text)
    few = "jaxsudoku: note: 1 part for 2 workers, so some have nothing to do; "
    row_group = "is one row group, which can't be split: write it with smaller row groups"
    uncut = "can't be split, unlike Parquet, and lines or CSV without compression and quotes"
    size = "a smaller --part-size makes more of them"
    assert job.idle_shards(Workers(2), 10, 5) == "" == job.idle_shards(Workers(2), 0, 5)
    shards = "2 parts for 3 workers, so some have nothing to do; a shard has 5 puzzles: a smaller --shard-size"
    assert shards in job.idle_shards(Workers(3), 10, 5)
    cases = (
        ("one.parquet", (), f"{few}{tmp_path / 'one.parquet'} {row_group}\n"),
        ("two.parquet", (), f"{few}a part has 11,943,936 puzzles: {size}\n"),
        ("two.parquet", ("--part-size", 10), ""),
        ("a.txt.gz", (), f"{few}{tmp_path / 'a.txt.gz'} {uncut}\n"),
        ("a.csv", (), f"{few}{tmp_path / 'a.csv'} {uncut}\n"),
        ("a.txt", ("--part-size", 30), f"{few}a part has 30 puzzles: {size}\n"),
        ("a.txt", ("--part-size", 9), ""),
        ("a.txt", ("--quiet",), ""),
    )
    for number, (name, flags, note) in enumerate(cases):
        argv = ("solve", tmp_path / name, *FOUR, *flags, "--workers", 2, "--output", tmp_path / f"job-{number}")
        assert run_main(*argv) == 0
        told = [line for line in capsys.readouterr().err.splitlines(keepends=True) if "note" in line]
        assert told == ([note] if note else []), name


@pytest.mark.parametrize(
    ("command", "flags", "suffix"),
    [
        ("count", (), ".txt"),
        ("count", ("--format", "csv"), ".csv"),
        ("rate", (), ".csv"),
        ("solve", ("--format", "csv"), ".csv"),
        ("solve", (), ".csv"),
    ],
)
def test_commands_answer_in_parts_what_they_do_at_once(easy, tmp_path, inline, command, flags, suffix):
    whole, job_folder = tmp_path / f"whole{suffix}", tmp_path / "job"
    argv = (command, easy / "all.csv", *FOUR, *flags, "--quiet")
    assert run_main(*argv, "--output", whole) == 1
    assert run_main(*argv, "--output", job_folder, "--workers", 2, "--part-size", 90) == 1
    assert len(list(job_folder.glob(f"part-*{suffix}"))) > 3
    assert content(job_folder) == whole.read_text()


def test_generated_parts_are_those_of_one_sequence(tmp_path, inline):
    argv = ("generate", 60, "--board", 4, "--batch-size", 64, "--holes", "balanced", "--given", 0.4, "--seed", 3)
    assert run_main(*argv, "--quiet", "--output", tmp_path / "whole.csv") == 0
    assert run_main(*argv, "--quiet", "--output", tmp_path / "job", "--workers", 2, "--part-size", 20) == 0
    assert content(tmp_path / "job") == (tmp_path / "whole.csv").read_text()


def test_random_parts_differ(tmp_path, inline):
    (tmp_path / "empty.txt").write_text(("." * 16 + "\n") * 64)
    argv = ("solve", tmp_path / "empty.txt", "--board", 4, "--batch-size", 15, "--order", "random")
    argv = (*argv, "--workers", 2, "--part-size", 32)
    assert run_main(*argv, "--output", tmp_path / "job", "--quiet") == 0
    one, other = (path.read_text() for path in sorted((tmp_path / "job").glob("part-*.txt")))
    assert one != other
    assert run_main(*argv, "--output", tmp_path / "again", "--quiet") == 0
    assert content(tmp_path / "again") == one + other


def test_parquet_is_answered_in_row_groups(tmp_path, inline):
    pa = pytest.importorskip("pyarrow")
    import pyarrow.parquet as pq

    import jaxsudoku as js

    lines = ["".join(map(str, puzzle)) for puzzle in js.load("4x4")[:10]] * 10
    pq.write_table(pa.table({"puzzle": lines, "name": list(range(100))}), tmp_path / "in.parquet", row_group_size=30)
    argv = ("solve", tmp_path / "in.parquet", *FOUR, "--quiet", "--output")
    assert run_main(*argv, tmp_path / "job", "--workers", 2, "--part-size", 30) == 0
    assert run_main(*argv, tmp_path / "whole.parquet") == 0
    parts = sorted((tmp_path / "job").glob("part-*.parquet"))
    assert len(parts) == 4
    assert pa.concat_tables(map(pq.read_table, parts)).equals(pq.read_table(tmp_path / "whole.parquet"))


def test_an_input_that_breaks_off_keeps_what_was_read(tmp_path, inline, capsys):
    import gzip

    import jaxsudoku as js

    lines = "".join("".join(map(str, puzzle)) + "\n" for puzzle in js.load("4x4")) * 2
    (tmp_path / "in").mkdir()
    (tmp_path / "in" / "a.txt.gz").write_bytes(gzip.compress(lines.encode())[:-12])
    (tmp_path / "in" / "b.txt").write_text(lines)
    argv = ("solve", tmp_path / "in", *FOUR, "--workers", 2, "--output", tmp_path / "job")
    assert run_main(*argv) == 1
    assert "a.txt.gz: truncated" in capsys.readouterr().err
    assert (tmp_path / "job" / "part-00001.txt").read_text().count("\n") == lines.count("\n")
    assert "parts" not in json.loads((tmp_path / "job" / "manifest.json").read_text())


@pytest.mark.slow
def test_a_data_set_does_not_depend_on_the_workers(tmp_path, on_cpus):
    from jaxsudoku import datasets

    settings = {"count": 100, "seed": 5, "board": Board.classic(4), "shard_size": 30}
    datasets.build(tmp_path / "one", **settings)
    datasets.build(tmp_path / "two", **settings, workers=TWO)
    for path in (tmp_path / "one").iterdir():
        assert path.read_bytes() == (tmp_path / "two" / path.name).read_bytes()
    damaged = tmp_path / "two" / datasets.load(tmp_path / "one").card.shards[1].file
    whole = damaged.read_bytes()
    damaged.write_bytes(b"damaged")
    datasets.build(tmp_path / "two", **settings, workers=Workers(1), resume=True)
    assert damaged.read_bytes() == whole


def test_an_error_that_holds_puzzles_comes_back_from_a_worker():
    from jaxsudoku.generation import GenerationError

    error = pickle.loads(pickle.dumps(GenerationError("3 of 5 puzzles found", "the puzzles")))
    assert str(error) == "3 of 5 puzzles found" and error.found == "the puzzles"


# ---------------------------------------------------------------------- Ray


#: What actors do, in a process without pytest, which makes errors of Ray's warnings: items, and a command.
ON_RAY = """
import sys
from squares import Squares
from jaxsudoku.cli import main
from jaxsudoku.runtime.workers import JobError, Workers, run

try:
    list(run(Workers(1, ray=True), Squares(), [13]))
except ValueError as error:
    print(error)
results = dict(run(Workers(1, ray=True), Squares(3, sys.argv[1]), range(5)))
print([results[number][0] for number in range(5)])
try:
    list(run(Workers(1000, ray=True), Squares(), [1]))
except JobError as error:
    print(error)
sys.exit(main(sys.argv[2:]))
"""


@pytest.mark.slow
def test_actors_of_ray_answer_what_one_process_does(easy, tmp_path, on_cpus):
    """An item of one that dies is done again."""
    pytest.importorskip("ray")
    argv = ("solve", easy / "all.csv", *FOUR, "--quiet", "--output")
    assert run_main(*argv, tmp_path / "one.csv") == 1
    job = (*argv, tmp_path / "ray", "--part-size", 40, "--workers", "ray:1")
    done = subprocess.run(
        [sys.executable, "-c", ON_RAY, str(tmp_path / "died"), *map(str, job)],
        capture_output=True,
        text=True,
        env={**os.environ, "PYTHONPATH": str(Path(__file__).parents[1] / "support")},
        cwd=Path(__file__).parents[2],
        check=False,
        timeout=300,
    )
    assert done.returncode == 1, done.stderr  # a malformed line
    assert content(tmp_path / "ray") == (tmp_path / "one.csv").read_text()
    assert (tmp_path / "died").exists()
    told = done.stdout  # beside messages of Ray
    assert "13 has no square here\n" in told and "[0, 1, 4, 9, 16]\n" in told
    assert "1000 workers, but the cluster has" in told
