"""Jobs: workers that die, folders that are resumed, and commands done by several workers."""

from __future__ import annotations

import dataclasses
import json
import os
import pickle
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from squares import Squares

from jaxsudoku.cli import job, main, make_parser
from jaxsudoku.cli.part import check_details
from jaxsudoku.core.board import Board
from jaxsudoku.io import ResumeError
from jaxsudoku.jobs import JobFolder, Plan
from jaxsudoku.runtime.files import JsonError, with_checksum
from jaxsudoku.runtime.workers import JobError, Workers, pool, processes, run

TWO = Workers(2)


# ---------------------------------------------------------------------- workers


def gone(pid: int) -> bool:
    """Whether a process ends, which may take a moment."""
    deadline = time.monotonic() + 30
    while Path(f"/proc/{pid}").exists() and time.monotonic() < deadline:
        time.sleep(0.01)
    return not Path(f"/proc/{pid}").exists()


def test_a_worker_does_every_item_once_up_to_an_error_which_is_raised_and_ends_it():
    results = {}
    with pytest.raises(ValueError, match="13 has no square here"):
        for number, result in run(Workers(1), Squares(), [*range(12), 13, 14]):
            assert number not in results
            results[number] = result
            if number == 11:
                time.sleep(0.2)  # in which the last item is done as well
    assert {number: square for number, (square, _) in results.items()} == {n: n * n for n in range(12)}
    (worker,) = {pid for _, pid in results.values()}
    assert worker != os.getpid() and gone(worker)


@pytest.mark.quick  # newer Pythons end the other workers of a pool in another way
def test_items_of_a_worker_that_dies_are_done_again(tmp_path):
    items = [*range(13), *[12] * 87]  # without the one that is an error, which may come first on a busy machine
    results = run(TWO, Squares(3, str(tmp_path / "died")), items)
    found = {}
    while not found.keys() >= set(range(8)):
        number, result = next(results)
        assert number not in found
        found[number] = result
    assert (tmp_path / "died").exists()
    assert all(square == items[number] ** 2 for number, (square, _) in found.items())
    workers = {pid for _, pid in found.values()}
    assert 1 <= len(workers) <= 4, "two, and two after one of them died"
    results.close()  # which ends them
    assert all(gone(pid) for pid in workers)


def test_workers_that_die_again_and_again_end_the_job():
    with pytest.raises(JobError, match="workers died 3 times in a row, killed or out of memory, at one of: .*5"):
        list(run(Workers(1), Squares(deadly=5), [5]))


def test_other_versions_are_refused():
    with pytest.raises(JobError, match="a worker on .* has jax .*, not 0.0: install the same versions on all"):
        pool.Checked(Squares(), {**pool.versions(), "jax": "0.0"}).begin()


def test_a_worker_has_a_gpu_of_its_own(monkeypatch):
    monkeypatch.setenv("JAX_PLATFORMS", "cuda")
    monkeypatch.setenv("CUDA_VISIBLE_DEVICES", "4,6")
    assert processes._places(2) == [{"CUDA_VISIBLE_DEVICES": "4"}, {"CUDA_VISIBLE_DEVICES": "6"}]
    with pytest.raises(JobError, match="3 workers, but 2 GPUs"):
        processes._places(3)


@pytest.mark.parametrize("text", ["3", "ray", "ray:3"])
def test_workers_by_name(text):
    assert str(Workers.parse(text)) == text


@pytest.mark.parametrize("text", ["", "0", "ray:0", "ray:", "-1", "rays", "2.5", "dask:2"])
def test_other_names_are_refused(text):
    with pytest.raises(ValueError, match="neither a number of processes nor ray or ray:N|at least 1 worker"):
        Workers.parse(text)


# ---------------------------------------------------------------------- folders


def plan_of(items: int = 3, **changes: object) -> Plan:
    settings = {"board": "4x4", "seed": 0, **changes}
    return Plan("solve", settings, [{"name": "a.txt", "bytes": 10}], [{"work": [n]} for n in range(items)], ".txt")


def finish(folder: JobFolder, plan: Plan, number: int, error: str | None = None):
    with folder.writing(plan.part(number)) as path:
        Path(path).write_text(f"answer {number}\n")
        return folder.finish(path, {"error": error, "counts": {}})


def read(folder: JobFolder, name: str) -> bytes:
    with folder._files.open(name) as file:
        return file.read()


@pytest.fixture(params=["path", "url"])
def folder(request, tmp_path):
    """A folder for a job: a path, and a URL of fsspec's file system in memory."""
    if request.param == "path":
        yield JobFolder(str(tmp_path / "job"))
        return
    fsspec = pytest.importorskip("fsspec")
    memory = fsspec.filesystem("memory")
    yield JobFolder(f"memory://{tmp_path.name}/job")
    memory.rm("/", recursive=True)


def test_a_job_goes_on_with_the_parts_that_are_missing(folder):
    plan = plan_of()
    with folder.begun(plan, resume=False) as records:
        assert records == {}
        finish(folder, plan, 1)
        finish(folder, plan, 2, error="damaged")
    with folder.begun(plan, resume=True) as records:
        assert list(records) == [1]  # a part that was not read to its end is done again
        done = [finish(folder, plan, 0), records[1], finish(folder, plan, 2)]
        folder.complete(plan, done)
    assert folder._files.names() == ["manifest.json", "part-00000.txt", "part-00001.txt", "part-00002.txt"]
    assert [part["file"] for part in folder.parts()] == folder._files.names()[1:]
    with folder.begun(plan, resume=True) as records:
        assert list(records) == [0, 1, 2]


def test_a_part_without_its_file_is_done_again(folder):
    plan = plan_of()
    with folder.begun(plan, resume=False):
        folder.complete(plan, [finish(folder, plan, number) for number in range(3)])
    folder._files.remove(["part-00001.txt"])
    folder._files.write("part-00002.txt", b"cut")
    said = []
    with folder.begun(plan, resume=True, say=said.append) as records:
        assert list(records) == [0]
    assert said == [f"{folder.name}: missing or altered since, so made again: part-00001.txt, part-00002.txt"]


@pytest.mark.parametrize("complete", [False, True])
def test_a_part_with_an_altered_digit_is_done_again(folder, complete):
    plan = plan_of()
    with folder.begun(plan, resume=False):
        done = [finish(folder, plan, number) for number in range(3)]
        if complete:
            folder.complete(plan, done)
    part = read(folder, "part-00001.txt")
    folder._files.write("part-00001.txt", part.replace(b"1", b"7"))
    said = []
    with folder.begun(plan, resume=True, say=said.append) as records:
        assert list(records) == [0, 2]
        finish(folder, plan, 1)
    assert "part-00001.txt" in said[0] and len(said) == 1
    with folder.begun(plan, resume=True, say=said.append) as records:  # killed before the manifest was written again
        assert list(records) == [0, 1, 2]
        folder.complete(plan, [records[number] for number in range(3)])
    assert read(folder, "part-00001.txt") == part and len(said) == 1


def test_the_record_of_a_part_that_was_done_again_counts(folder):
    """Its checksum may be another one than in the manifest."""
    plan = plan_of()
    with folder.begun(plan, resume=False):
        folder.complete(plan, [finish(folder, plan, number) for number in range(3)])
    with folder.begun(plan, resume=True), folder.writing(plan.part(2)) as path:
        Path(path).write_text("another answer 2\n")
        folder.finish(path, {"error": None, "counts": {}})
    with folder.begun(plan, resume=True, say=pytest.fail) as records:
        assert list(records) == [0, 1, 2]


def test_other_jobs_are_left_as_they_are(folder):
    with folder.begun(plan_of(), resume=False):
        finish(folder, plan_of(), 0)
    before = {name: read(folder, name) for name in folder._files.names()}
    with pytest.raises(FileExistsError, match="the folder is not empty: --resume goes on with its job"):
        folder.begun(plan_of(), resume=False).__enter__()
    for plan, cause in (
        (plan_of(seed=1), "holds another job: seed is 0 there, 1 here"),
        (plan_of(items=4), "holds another job: its parts are others"),
        (dataclasses.replace(plan_of(), inputs=[]), "its inputs are others, or were changed"),
        (dataclasses.replace(plan_of(), command="count"), "it is of the command solve"),
    ):
        with pytest.raises(ResumeError, match=cause):
            folder.begun(plan, resume=True).__enter__()
    assert {name: read(folder, name) for name in folder._files.names()} == before


def test_a_folder_of_something_else_is_not_resumed(folder):
    folder._files.write("thesis.txt", b"do not lose me")
    with pytest.raises(ResumeError, match="holds no job to resume, but thesis.txt; it is left as it is"):
        folder.begun(plan_of(), resume=True).__enter__()
    assert folder._files.names() == ["thesis.txt"]


def test_a_damaged_manifest_is_named(folder):
    with folder.begun(plan_of(), resume=False):
        pass
    text = read(folder, "manifest.json").replace(b'"seed": 0', b'"seed": 7')
    folder._files.write("manifest.json", text)
    with pytest.raises(ResumeError, match=r"manifest.json: altered: the checksum is not that of the other fields"):
        folder.begun(plan_of(), resume=True).__enter__()


#: Of manifests: what is changed of a sound one, or the whole file, and what is said of it.
ODD_MANIFESTS = {
    "not JSON": (b"parts: 3", "not JSON"),
    "not UTF-8": (b'{"command": "\xff"}', "not JSON"),
    "deep": (b"[" * 200_000, "more than 32 levels"),
    "deep objects": (b'{"a":' * 200_000, "more than 32 levels"),
    "a list": (b"[]", "not a JSON object"),
    "empty": (b"", "not JSON"),
    "no command": ({"command": None}, "'command' is missing"),
    "a number for the command": ({"command": 7}, "'command' is 7, which is not a text"),
    "a list of settings": ({"settings": [1]}, r"'settings' is \[1\], which is not an object"),
    "inputs as a number": ({"inputs": 1e300}, "'inputs' is 1e[+]300, which is not a list"),
    "no items": ({"items": None}, "'items' is missing"),
    "parts as a text": ({"parts": "x" * 10_000}, "'parts' is 'x{39}, which is not a list"),
    "parts of numbers": ({"parts": [1, 2, 3]}, "'parts' has an entry that is not an object"),
    "too few parts": ({"parts": [{}]}, "it lists 1 parts, where the job has 3"),
    "empty parts": ({"parts": [{}, {}, {}]}, "'file' is missing"),
}
RECORD = {"file": "part-00000.txt", "bytes": 9, "sha256": "0" * 64, "details": {}}
ODD_RECORDS = {
    "not JSON": (b"{", "not JSON"),
    "deep": (b"[" * 200_000, "more than 32 levels"),
    "another file": ({"file": "../../secret"}, "a record of '../../secret', not of part-00000.txt"),
    "no file": ({"file": None}, "'file' is missing"),
    "negative bytes": ({"bytes": -9}, "'bytes' is -9, which is not a whole number from 0 to"),
    "bytes as truth": ({"bytes": True}, "'bytes' is True, which is not a whole number"),
    "no checksum": ({"sha256": None}, "'sha256' is missing"),
    "details as a list": ({"details": []}, r"'details' is \[\], which is not an object"),
}


def altered(folder: JobFolder, name: str, sound: dict, change: bytes | dict) -> None:
    """Writes a file with other fields, None for one that is left out, or of other bytes."""
    if isinstance(change, dict):
        change = with_checksum({field: value for field, value in {**sound, **change}.items() if value is not None})
    folder._files.write(name, change)


@pytest.mark.quick
@pytest.mark.parametrize("kind", ODD_MANIFESTS)
def test_an_odd_manifest_is_named_with_the_cause(folder, kind):
    change, cause = ODD_MANIFESTS[kind]
    altered(folder, "manifest.json", plan_of().as_json(), change)
    with pytest.raises(ResumeError, match=f"job/manifest.json: {cause}.*; the folder is left as it is"):
        folder.begun(plan_of(), resume=True).__enter__()


@pytest.mark.quick
@pytest.mark.parametrize("kind", ODD_RECORDS)
def test_an_odd_record_is_named_with_the_cause(folder, kind):
    change, cause = ODD_RECORDS[kind]
    with folder.begun(plan_of(), resume=False):
        pass
    altered(folder, "part-00000.json", RECORD, change)
    with pytest.raises(ResumeError, match=f"job/part-00000.json: {cause}.*; the folder is left as it is"):
        folder.begun(plan_of(), resume=True).__enter__()


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


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="there are no named pipes here")
@pytest.mark.parametrize("name", ["manifest.json", "part-00000.json", "part-00000.txt"])
def test_a_pipe_in_the_folder_is_not_waited_for(tmp_path, name):
    folder, plan = JobFolder(str(tmp_path / "job")), plan_of()
    with folder.begun(plan, resume=False):
        finish(folder, plan, 0)
    (tmp_path / "job" / name).unlink()
    os.mkfifo(tmp_path / "job" / name)
    with pytest.raises(OSError, match="not a regular file"):
        folder.begun(plan, resume=True).__enter__()


def test_two_processes_do_not_work_on_one_job(tmp_path):
    folder = JobFolder(str(tmp_path / "job"))
    with folder.begun(plan_of(), resume=False), pytest.raises(BlockingIOError, match="is writing this output"):
        folder.begun(plan_of(), resume=True).__enter__()


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
        (["solve", "{all}", "--workers", "2", "--output", "out", "--force"], "--force does not go with --workers"),
        (["count", "{all}", "--output", "out", "--resume"], "--resume goes with --workers"),
        (["solve", "{all}", "{sixteen}", "--workers", "2", "--output", "out"], "is of 4x4 with 2x2 boxes"),
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
    folder = JobFolder(str(tmp_path / "job"))
    (part,) = folder.parts()
    altered(folder, "part-00000.json", part, change)
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
    row_group = "is one row group, which is not cut: write it with smaller row groups"
    uncut = "is not cut: Parquet is, and lines and CSV, not compressed and without quotes"
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
