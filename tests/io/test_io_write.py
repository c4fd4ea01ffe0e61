"""Writing answers: every kind, resuming after a kill at any byte, and every error."""

import csv
import gzip
import io
import os
import sys

import numpy as np
import pytest

from jaxsudoku.core.board import Board
from jaxsudoku.engine.solution import Solution, Status
from jaxsudoku.io import (
    Chunk,
    PuzzleFileError,
    ResumeError,
    TableWriter,
    check_output,
    format_grids,
    open_output,
    read_chunks,
    read_puzzles,
)

FOUR = Board.classic(4)
NINE = Board.classic(9)
KINDS = ("out.txt", "out.csv", "out.txt.gz", "out.csv.gz", "out.jsonl", "out.jsonl.gz", "out.parquet")


def some_puzzles(count=11, seed=1):
    """4x4 puzzles, the seventh malformed, with a column that needs quotes."""
    rng = np.random.default_rng(seed)
    grids = solved(rng.integers(0, 2, (count, 16)))
    lines = ["puzzle,note"]
    for row, text in enumerate(format_grids(grids, FOUR).decode().split()):
        lines.append(f'{"bad" if row == 6 else text},"a ""{row}"",\nb"')
    return ("\n".join(lines) + "\n").encode()


def solved(puzzles):
    """The one grid all puzzles here have been dug out of, blank where they are."""
    grid = np.array([1, 2, 3, 4, 3, 4, 1, 2, 2, 1, 4, 3, 4, 3, 2, 1], np.uint8)
    return np.where(np.asarray(puzzles) > 0, grid, 0).astype(np.uint8)


def answer(chunk, side=4):
    """Answers in which every fifth puzzle of the input stays unsolved."""
    index = chunk.start + np.arange(len(chunk))
    status = np.where(index % 5 == 3, Status.UNSATISFIABLE, Status.SOLVED).astype(np.int8)
    full = solved(np.ones((len(chunk), 16)))
    return Solution(np.where(status[:, None] == Status.SOLVED, full, 0), status, index.astype(np.int32) * 3, {})


def run(target, data, chunk_size=2, stop=None, **options):
    """Answers an input; ``stop`` is the number of writes after which the run is interrupted."""
    with open_output(target, FOUR, **options) as writer:
        chunks = read_chunks(io.BytesIO(data), FOUR, chunk_size=chunk_size)
        for number, chunk in enumerate(writer.remaining(chunks)):
            if number == stop:
                raise KeyboardInterrupt
            writer.write(chunk, answer(chunk))
    return writer


def contents(target):
    name = str(target)
    if name.endswith(".parquet"):
        return pytest.importorskip("pyarrow.parquet").read_table(name).to_pydict()
    data = target.read_bytes()
    return gzip.decompress(data) if name.endswith(".gz") else data


# ---------------------------------------------------------------------- what is written


def test_text_has_a_solution_a_line(tmp_path):
    data = some_puzzles()
    run(tmp_path / "out.txt", data)
    lines = (tmp_path / "out.txt").read_text().splitlines()
    assert [row for row, line in enumerate(lines) if line == "-"] == [3, 6, 8]
    assert set(lines) == {"-", "1234341221434321"}
    assert len(lines) == 11


@pytest.mark.parametrize("name", ["out.csv", "out.csv.gz", "out.parquet"])
def test_tables_have_all_columns(tmp_path, name):
    data = some_puzzles()
    run(tmp_path / name, data)
    if name.endswith(".parquet"):
        table = contents(tmp_path / name)
        rows = [dict(zip(table, values, strict=True)) for values in zip(*table.values(), strict=True)]
    else:
        rows = list(csv.DictReader(io.StringIO(contents(tmp_path / name).decode(), newline="")))
    assert list(rows[0]) == ["puzzle", "solution", "status", "iterations", "note"]
    asked = [puzzle["puzzle"] for puzzle in csv.DictReader(io.StringIO(data.decode(), newline=""))]
    for index, row in enumerate(rows):
        status = "malformed" if index == 6 else "unsatisfiable" if index % 5 == 3 else "solved"
        assert row["status"] == status
        assert row["puzzle"] == asked[index], "malformed ones too"
        assert (row["solution"] == "-") == (status != "solved")
        assert int(row["iterations"]) == (0 if index == 6 else index * 3)
        assert row["note"] == f'a "{index}",\nb'


@pytest.mark.parametrize("side", [4, 6, 9, 16, 25, 36])
def test_solutions_read_back_on_every_board(tmp_path, side):
    board = Board.classic(side)
    grids = np.random.default_rng(0).integers(1, side + 1, (20, side * side)).astype(np.uint8)
    chunk = Chunk(grids, np.ones(20, bool), np.arange(1, 21))
    solution = Solution(grids, np.full(20, Status.SOLVED, np.int8), np.ones(20, np.int32), {})
    for name in ("out.txt", "out.csv", "out.txt.gz"):
        with open_output(tmp_path / name, board) as writer:
            writer.write(chunk, solution)
        np.testing.assert_array_equal(read_puzzles(tmp_path / name, board), grids)


def test_each_write_is_in_the_file_when_it_returns(tmp_path):
    for name in KINDS[:4]:
        sizes = []
        with open_output(tmp_path / name, FOUR) as writer:
            for chunk in read_chunks(io.BytesIO(some_puzzles()), FOUR, chunk_size=3):
                writer.write(chunk, answer(chunk))
                sizes.append(os.path.getsize(tmp_path / name))
                assert contents(tmp_path / name).endswith(b"\n")
        assert len(set(sizes)) == 4


def test_the_kind_may_be_named(tmp_path):
    run(tmp_path / "plain", some_puzzles(), kind="csv")
    assert (tmp_path / "plain").read_bytes().startswith(b"puzzle,solution,status,iterations,note\n")


@pytest.mark.parametrize("name", KINDS)
def test_an_input_without_puzzles_leaves_a_readable_output(tmp_path, name):
    run(tmp_path / name, b"")
    assert read_puzzles(tmp_path / name, FOUR).shape == (0, 16)
    run(tmp_path / name, b"", resume=True)
    assert not (tmp_path / "out.parquet.parts").exists()


def guided_run(target, data, stop=None, **options):
    """The answers of ``answer`` as a guided solver's, with a call for every cell."""
    with open_output(target, FOUR, stats=("network_calls",), **options) as writer:
        for number, chunk in enumerate(writer.remaining(read_chunks(io.BytesIO(data), FOUR, chunk_size=2))):
            if number == stop:
                raise KeyboardInterrupt
            writer.write(chunk, answer(chunk)._replace(stats={"network_calls": np.full(len(chunk), 16, np.int32)}))


@pytest.mark.parametrize("name", KINDS)
def test_calls_of_a_network_are_a_column(tmp_path, name):
    data = some_puzzles()
    guided_run(tmp_path / name, data)
    whole = contents(tmp_path / name)
    if name.endswith(".parquet"):
        assert list(whole) == ["puzzle", "solution", "status", "iterations", "network_calls", "note"]
        assert whole["network_calls"] == [0 if row == 6 else 16 for row in range(11)]
    elif ".csv" in name:
        rows = list(csv.DictReader(io.StringIO(whole.decode(), newline="")))
        assert list(rows[0]) == ["puzzle", "solution", "status", "iterations", "network_calls", "note"]
        assert [row["network_calls"] for row in rows] == ["0" if row == 6 else "16" for row in range(11)]
        assert [row["note"] for row in rows] == [f'a "{row}",\nb' for row in range(11)]
    resumed = tmp_path / f"again-{name}"
    with pytest.raises(KeyboardInterrupt):
        guided_run(resumed, data, stop=3)
    guided_run(resumed, data, resume=True)
    assert contents(resumed) == whole
    # answered again, none of our own columns is carried along
    if not name.startswith("out.txt"):
        (chunk,) = read_chunks(tmp_path / name, FOUR)
        assert list(chunk.extras) == ["note"]


@pytest.mark.parametrize("name", ["out.csv", "out.csv.gz", "out.parquet"])
def test_a_table_is_not_resumed_by_a_solver_of_another_kind(tmp_path, name):
    data = some_puzzles()
    for first, second, columns in (
        (run, guided_run, "puzzle, solution, status, iterations, network_calls"),
        (guided_run, run, "puzzle, solution, status, iterations"),
    ):
        with pytest.raises(KeyboardInterrupt):
            first(tmp_path / name, data, stop=3, force=True)
        with pytest.raises(ResumeError, match=f"should begin with {columns}$"):
            second(tmp_path / name, data, resume=True)


def test_a_guided_output_of_no_puzzles_has_the_column(tmp_path):
    for name in ("out.csv", "out.parquet"):
        guided_run(tmp_path / name, b"")
    assert contents(tmp_path / "out.csv") == b"puzzle,solution,status,iterations,network_calls\n"
    assert list(contents(tmp_path / "out.parquet"))[-1] == "network_calls"


def test_answers_of_another_kind_are_refused(tmp_path):
    (chunk,) = read_chunks(io.BytesIO(some_puzzles()), FOUR)
    output = open_output(tmp_path / "out.csv", FOUR, stats=("network_calls",))
    with output as writer, pytest.raises(ValueError, match="not answers"):
        writer.write(chunk, answer(chunk))


def test_standard_output(monkeypatch):
    stdout = io.TextIOWrapper(io.BytesIO())
    monkeypatch.setattr(sys, "stdout", stdout)
    run("-", some_puzzles())
    assert stdout.buffer.getvalue().count(b"\n") == 11


# ---------------------------------------------------------------------- resuming


@pytest.mark.parametrize("name", KINDS[:4])
def test_a_kill_at_any_byte_loses_nothing(tmp_path, name):
    data, target = some_puzzles(), tmp_path / name
    run(target, data)
    whole, text = target.read_bytes(), contents(target)
    end = len(whole)
    # every byte of the head and the first row, and of the end; of the rest, bytes at every place of a row
    for size in sorted({*range(min(80, end)), *range(0, end, 7), *range(end - 20, end + 1)}):
        target.write_bytes(whole[:size])
        writer = run(target, data, resume=True)
        assert contents(target) == text
        assert writer.done <= 11 and (size < end or writer.done == 11)


@pytest.mark.parametrize("name", KINDS)
@pytest.mark.parametrize("stop", [0, 1, 5, 6])
def test_an_interrupted_run_solves_nothing_twice(tmp_path, name, stop):
    data = some_puzzles()
    run(tmp_path / f"whole-{name}", data)
    if stop < 6:
        with pytest.raises(KeyboardInterrupt):
            run(tmp_path / name, data, stop=stop)
    else:
        run(tmp_path / name, data)
    writer = run(tmp_path / name, data, chunk_size=3, resume=True)
    assert writer.done == min(2 * stop, 11)
    assert contents(tmp_path / name) == contents(tmp_path / f"whole-{name}")
    assert sorted(os.listdir(tmp_path)) == sorted([name, f"whole-{name}"])


@pytest.mark.parametrize("name", KINDS)
def test_an_input_that_has_grown(tmp_path, name):
    run(tmp_path / name, b"\n".join(some_puzzles().split(b"\n")[:15]))
    done = run(tmp_path / name, some_puzzles(), resume=True).done
    run(tmp_path / f"whole-{name}", some_puzzles())
    assert done == 7
    assert contents(tmp_path / name) == contents(tmp_path / f"whole-{name}")


@pytest.mark.parametrize("name", KINDS)
def test_answers_to_another_input_are_left_untouched(tmp_path, name):
    target = tmp_path / name
    run(target, some_puzzles())
    before = target.read_bytes()
    wrong = np.roll(solved(np.ones((11, 16))), 1, axis=1)
    first_wrong = format_grids(wrong, FOUR)
    with pytest.raises(ResumeError, match="answer 1 is not to the puzzle on line 1"):
        run(target, first_wrong, resume=True)
    with pytest.raises(ResumeError, match="has 11 answers, the input only 5 puzzles"):
        run(target, b"\n".join(some_puzzles().split(b"\n")[:11]), resume=True)
    lines = some_puzzles().split(b"\n")
    lines[21] = b"4321432143214321" + lines[21][16:]
    with pytest.raises(ResumeError, match="answer 11 is not"):
        run(target, b"\n".join(lines), resume=True)
    assert target.read_bytes() == before
    assert os.listdir(tmp_path) == [name]


@pytest.mark.parametrize(
    ("name", "data"),
    [
        ("out.txt", b"notes of mine, no newline"),
        ("out.csv", b"name,age\nme,3\n"),
        ("out.csv", b"some words"),
        ("out.txt.gz", b"no gzip"),
        ("out.csv.gz", gzip.compress(b"my precious notes", mtime=0)),
        ("out.txt.gz", gzip.compress(b"my precious notes", mtime=0)),
        ("out.csv.gz", gzip.compress(b"a,b\n1,2", mtime=0)),
        ("out.txt.gz", gzip.compress(b"12 eggs\n-", mtime=0)),
        ("out.txt.gz", gzip.compress(b"some notes\n" * 9, mtime=0)[:-8]),
        ("out.csv", b"puzzle,solution,status,iterations\n1.34,a\rb\n"),
    ],
)
def test_what_is_no_output_is_not_resumed(tmp_path, name, data):
    (tmp_path / name).write_bytes(data)
    with pytest.raises(ResumeError):
        run(tmp_path / name, some_puzzles(), resume=True)
    assert (tmp_path / name).read_bytes() == data


@pytest.mark.parametrize("name", ["out.csv", "out.csv.gz"])
def test_fields_of_any_length_are_resumed(tmp_path, name):
    field = f'"{"x" * (csv.field_size_limit() + 1)}\r"'
    data = f"puzzle,note\n1...............,{field}\n................,b\n".encode()
    with pytest.raises(KeyboardInterrupt):
        run(tmp_path / name, data, chunk_size=1, stop=1)
    assert run(tmp_path / name, data, resume=True).done == 1
    (chunk,) = read_chunks(tmp_path / name, FOUR)
    assert chunk.extras["note"] == [field.strip('"'), "b"]


def test_parquet_holds_utf8_alone(tmp_path):
    data = b"puzzle,note\n" + b"................,a\n" * 2 + b"................,caf\xe9\n"
    with pytest.raises(
        OSError, match="the column 'note' of puzzle 3: not UTF-8.*the 2 answers written before"
    ) as caught:
        run(tmp_path / "out.parquet", data)
    assert caught.value.filename == str(tmp_path / "out.parquet")
    assert [path.name for path in (tmp_path / "out.parquet.parts").glob("*.parquet")] == ["part-00000.parquet"]
    with pytest.raises(OSError, match="the column 'caf.*', its name"):
        run(tmp_path / "new.parquet", b"puzzle,caf\xe9\n................,a\n")
    with (
        pytest.raises(OSError, match="the column 'note' of puzzle 1: not UTF-8"),
        TableWriter(str(tmp_path / "table.parquet"), {"puzzle": object, "note": object}) as table,
    ):
        table.write({"puzzle": ["." * 16], "note": ["caf\udce9"]})


def test_further_columns_of_every_type(tmp_path):
    pa, pq = pytest.importorskip("pyarrow"), pytest.importorskip("pyarrow.parquet")
    columns = {
        "puzzle": pa.array(["." * 16]),
        "time": pa.array([1], pa.timestamp("ns")),
        "day": pa.array([1], pa.date32()),
        "large": pa.array([2**64 - 1], pa.uint64()),
        "small": pa.array([7], pa.int8()),
        "share": pa.array([0.5], pa.float32()),
        "truth": pa.array([True]),
        "word": pa.array(["w"]).dictionary_encode(),
        "bytes": pa.array([b"\xff\x01"]),
        "map": pa.array([[("a", 1)]], pa.map_(pa.string(), pa.timestamp("ns"))),
        "list": pa.array([[{"x": [b"\xff"]}, None]]),
        "none": pa.array([None], pa.list_(pa.int32())),
    }
    pq.write_table(pa.table(columns), tmp_path / "in.parquet")
    (chunk,) = read_chunks(tmp_path / "in.parquet", FOUR)
    expected = {
        "time": "1970-01-01 00:00:00.000000001",
        "day": "1970-01-02",
        "large": str(2**64 - 1),
        "small": 7,
        "share": 0.5,
        "truth": True,
        "word": "w",
        "bytes": "ff01",
        "map": '[["a", "1970-01-01 00:00:00.000000001"]]',
        "list": '[{"x": ["ff"]}, null]',
        "none": None,
    }
    assert chunk.extras == {name: [value] for name, value in expected.items()}
    for name in ("out.parquet", "out.csv"):
        run(tmp_path / name, (tmp_path / "in.parquet").read_bytes())
    (row,) = pq.read_table(tmp_path / "out.parquet").to_pylist()
    assert {name: row[name] for name in expected} == expected


@pytest.mark.parametrize("name", ["out.json", "out.json.gz", "OUT.XLSX", "out.xls", "out.ods", "out.feather", "a.html"])
def test_names_of_other_formats_are_refused(tmp_path, name):
    with pytest.raises(ValueError, match=r"outputs of the format \.\w+ are not written"):
        run(tmp_path / name, some_puzzles())
    assert not os.listdir(tmp_path)


def test_other_extra_columns_are_not_resumed(tmp_path):
    run(tmp_path / "out.csv", b"\n".join(some_puzzles().split(b"\n")[:5]))
    with pytest.raises(ResumeError, match="columns"):
        run(tmp_path / "out.csv", some_puzzles().replace(b"note", b"remark"), resume=True)


@pytest.mark.parametrize("damage", [os.remove, lambda path: path.write_bytes(path.read_bytes()[::-1])])
def test_a_part_that_is_lost_or_altered_is_made_again_with_those_after_it(tmp_path, damage):
    pytest.importorskip("pyarrow")
    with pytest.raises(KeyboardInterrupt):
        run(tmp_path / "out.parquet", some_puzzles(), chunk_size=2, stop=4)
    damage(tmp_path / "out.parquet.parts" / "part-00001.parquet")
    assert run(tmp_path / "out.parquet", some_puzzles(), chunk_size=2, resume=True).done == 2
    run(tmp_path / "whole.parquet", some_puzzles())
    assert contents(tmp_path / "out.parquet") == contents(tmp_path / "whole.parquet")


def test_a_whole_output_is_kept_when_it_becomes_the_first_part(tmp_path, monkeypatch):
    """A run that goes on after it is killed right before or after the output is moved."""
    pytest.importorskip("pyarrow")
    target, data = tmp_path / "out.parquet", some_puzzles()
    few = b"\n".join(data.split(b"\n")[:5])  # two puzzles, of two lines each
    replace = os.replace
    for moved in (False, True):

        def dying(source, place, moved=moved):
            if source == str(target) and not moved:
                raise KeyboardInterrupt
            replace(source, place)
            if source == str(target):
                raise KeyboardInterrupt

        run(target, few, force=True)
        with monkeypatch.context() as patch, pytest.raises(KeyboardInterrupt):
            patch.setattr(os, "replace", dying)
            run(target, data, resume=True)
        assert run(target, data, resume=True).done == 2
    run(tmp_path / "whole.parquet", data)
    assert contents(target) == contents(tmp_path / "whole.parquet")


def test_resuming_without_an_output_begins(tmp_path):
    assert run(tmp_path / "out.txt", some_puzzles(), resume=True).done == 0
    assert len((tmp_path / "out.txt").read_text().splitlines()) == 11


# ---------------------------------------------------------------------- errors


@pytest.mark.parametrize("name", KINDS)
def test_an_existing_output_is_kept(tmp_path, name):
    run(tmp_path / name, some_puzzles())
    before = contents(tmp_path / name)
    with pytest.raises(FileExistsError, match="--resume.*--force"):
        run(tmp_path / name, some_puzzles())
    assert contents(tmp_path / name) == before
    run(tmp_path / name, some_puzzles(seed=3), force=True)
    run(tmp_path / f"new-{name}", some_puzzles(seed=3))
    assert contents(tmp_path / name) == contents(tmp_path / f"new-{name}")


def test_arguments_that_contradict_each_other(tmp_path):
    for target, options, words in (
        ("-", {"resume": True}, "resuming needs an output file"),
        ("-", {"kind": "parquet"}, "Parquet needs an output file"),
        (tmp_path / "a", {"kind": "xml"}, "unknown kind"),
        (tmp_path / "a.parquet.gz", {}, "takes no .gz"),
        (tmp_path / "a", {"resume": True, "force": True}, "use only one of them"),
    ):
        with pytest.raises(ValueError, match=words):
            open_output(target, FOUR, **options)


def test_the_output_may_not_be_the_input(tmp_path):
    path = tmp_path / "puzzles.txt"
    path.write_bytes(some_puzzles())
    (tmp_path / "link").symlink_to(path)
    for options in ({}, {"force": True}, {"resume": True}):
        with pytest.raises(ValueError, match="the output is the input"):
            open_output(tmp_path / "link", FOUR, source=path, **options)
    assert path.read_bytes() == some_puzzles()


@pytest.mark.parametrize("name", KINDS)
def test_no_other_name_of_the_input_is_written(tmp_path, monkeypatch, name):
    path = tmp_path / "puzzles.txt"
    path.write_bytes(some_puzzles())
    (tmp_path / name).hardlink_to(path)
    with open(path, "rb") as file, open(path, "a") as appended:
        monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(file))
        for source in (path, file, "-"):
            for options in ({}, {"force": True}, {"resume": True}):
                with pytest.raises(ValueError, match=f"{name}: the output is the input"):
                    open_output(tmp_path / name, FOUR, source=source, **options)
        monkeypatch.setattr(sys, "stdout", appended)
        for source in (path, file, "-"):
            with pytest.raises(ValueError, match="<stdout>: the output is the input"):
                open_output("-", FOUR, source=source)
    assert path.read_bytes() == some_puzzles()
    assert sorted(os.listdir(tmp_path)) == sorted([name, "puzzles.txt"])


@pytest.mark.skipif(not os.path.exists("/dev/null"), reason="no null device")
def test_devices_are_no_files_that_could_be_lost(tmp_path):
    with open("/dev/null", "rb") as source:
        run("/dev/null", some_puzzles(), source=source)
    assert not os.path.exists("/dev/null.jaxsudoku-lock")
    with pytest.raises(ValueError, match="must be a file, not a device"):
        open_output("/dev/null", FOUR, kind="parquet")


def test_every_check_of_an_output_in_one_place(tmp_path):
    out, data = tmp_path / "out.csv", tmp_path / "in.csv"
    check_output(out, reads=[data], writes=["-", str(tmp_path / "other.csv")])
    data.touch()
    for error, words, options in (
        (ValueError, "the plot is the input", {"reads": [out]}),
        (ValueError, "the plot would be written over .*out.csv", {"writes": [str(out)]}),
        (FileExistsError, "the plot exists: replace it with --force", {}),
        (FileExistsError, "the plot exists: continue it with --resume or", {"resumable": True}),
    ):
        out.touch()
        with pytest.raises(error, match=words):
            check_output(out, what="plot", **options)
    check_output(out, exist_ok=True)
    with open_output(out, FOUR, force=True), pytest.raises(BlockingIOError, match="is writing this output"):
        check_output(out, exist_ok=True)
    with pytest.raises(IsADirectoryError):
        check_output(tmp_path)
    with pytest.raises(FileNotFoundError):
        check_output(tmp_path / "nowhere" / "out.csv")
    assert sorted(os.listdir(tmp_path)) == ["in.csv", "out.csv"]


# ---------------------------------------------------------------------- what is not ours


def diary(folder):
    """A folder of someone's files, and what is in it."""
    folder.mkdir()
    (folder / "diary.txt").write_text("dear diary")
    (folder / "000000000000000.parquet").write_text("mine")
    return {path.name: path.read_bytes() for path in folder.iterdir()}


@pytest.mark.parametrize("options", [{}, {"force": True}, {"resume": True}], ids=str)
@pytest.mark.parametrize("table", [False, True])
def test_a_folder_of_other_files_is_no_folder_of_parts(tmp_path, options, table):
    pytest.importorskip("pyarrow")
    target, folder = tmp_path / "out.parquet", tmp_path / "out.parquet.parts"
    before = diary(folder)
    with pytest.raises(ResumeError, match=r"parts: holds no output to resume, but 0+\.parquet; it is left as it is"):
        if table:
            TableWriter(str(target), {"puzzle": object}, **options)
        else:
            open_output(target, FOUR, **options)
    assert {path.name: path.read_bytes() for path in folder.iterdir()} == before
    assert sorted(os.listdir(tmp_path)) == ["out.parquet.parts"]


@pytest.mark.parametrize("options", [{"force": True}, {"resume": True}], ids=str)
def test_a_file_that_came_among_the_parts_stays(tmp_path, options):
    pytest.importorskip("pyarrow")
    target, folder = tmp_path / "out.parquet", tmp_path / "out.parquet.parts"
    with pytest.raises(KeyboardInterrupt):
        run(target, some_puzzles(), stop=3)
    (folder / "diary.txt").write_text("dear diary")
    assert (run(target, some_puzzles(), **options).done > 0) == ("resume" in options)
    assert os.listdir(folder) == ["diary.txt"]
    run(tmp_path / "whole.parquet", some_puzzles())
    assert contents(target) == contents(tmp_path / "whole.parquet")


# ---------------------------------------------------------------------- two at once


@pytest.mark.parametrize("options", [{}, {"force": True}, {"resume": True}], ids=str)
@pytest.mark.parametrize("name", KINDS)
def test_an_output_that_is_being_written_is_refused(tmp_path, name, options):
    if name.endswith(".parquet"):
        pytest.importorskip("pyarrow")
    with open_output(tmp_path / name, FOUR) as writer:
        for chunk in read_chunks(io.BytesIO(some_puzzles()), FOUR, chunk_size=4):
            writer.write(chunk, answer(chunk))
            with pytest.raises(BlockingIOError, match=f"process {os.getpid()} on .* is writing this output"):
                open_output(tmp_path / name, FOUR, **options)
    run(tmp_path / f"whole-{name}", some_puzzles())
    assert contents(tmp_path / name) == contents(tmp_path / f"whole-{name}")
    assert sorted(os.listdir(tmp_path)) == sorted([name, f"whole-{name}"])


def test_an_output_that_is_being_written_under_another_name_is_refused(tmp_path):
    with open_output(tmp_path / "out.txt", FOUR) as writer:
        (chunk,) = read_chunks(io.BytesIO(some_puzzles()), FOUR)
        writer.write(chunk, answer(chunk))
        (tmp_path / "hard.txt").hardlink_to(tmp_path / "out.txt")
        with pytest.raises(BlockingIOError, match="another process is writing this output"):
            open_output(tmp_path / "hard.txt", FOUR, force=True)
    assert len((tmp_path / "hard.txt").read_text().splitlines()) == 11
    assert sorted(os.listdir(tmp_path)) == ["hard.txt", "out.txt"]


def test_a_refused_output_is_not_locked(tmp_path):
    (tmp_path / "out.txt").write_text("mine\n")
    for options in ({}, {"resume": True, "kind": "csv"}):
        with pytest.raises((FileExistsError, ResumeError)):
            open_output(tmp_path / "out.txt", FOUR, **options)
    writer = open_output(tmp_path / "new.txt", FOUR)
    writer.abandon()
    assert sorted(os.listdir(tmp_path)) == ["new.txt", "out.txt"]


@pytest.mark.parametrize("name", KINDS)
def test_missing_directory(tmp_path, name):
    with pytest.raises(FileNotFoundError, match="no such directory"):
        open_output(tmp_path / "nowhere" / name, FOUR)
    with pytest.raises(FileNotFoundError, match="no such directory"):
        TableWriter(str(tmp_path / "nowhere" / name), {"puzzle": object})


@pytest.mark.skipif(os.name != "posix" or os.geteuid() == 0, reason="all is writable for the superuser")
@pytest.mark.parametrize("name", KINDS)
def test_unwritable_directory(tmp_path, name):
    tmp_path.chmod(0o500)
    with pytest.raises(PermissionError):
        open_output(tmp_path / name, FOUR)


@pytest.mark.skipif(os.name != "posix" or os.geteuid() == 0, reason="all is writable for the superuser")
def test_a_file_in_an_unwritable_directory_is_replaced(tmp_path):
    (tmp_path / "out.txt").touch()
    tmp_path.chmod(0o500)
    run(tmp_path / "out.txt", some_puzzles(), force=True)
    assert len((tmp_path / "out.txt").read_text().splitlines()) == 11


def test_an_unwritable_directory_is_known_at_once(tmp_path, monkeypatch):
    """As above, for the superuser too."""
    (tmp_path / "out.txt").touch()
    monkeypatch.setattr(os, "access", lambda path, mode: not os.path.isdir(path))
    for name in KINDS[1:]:
        with pytest.raises(PermissionError, match="the directory can't be written"):
            open_output(tmp_path / name, FOUR)
    with open_output(tmp_path / "out.txt", FOUR, force=True) as writer:
        assert os.listdir(tmp_path) == ["out.txt"]  # no lock file, but a lock
        with pytest.raises(BlockingIOError):
            open_output(tmp_path / "out.txt", FOUR, force=True)
        (chunk,) = read_chunks(io.BytesIO(some_puzzles()), FOUR)
        writer.write(chunk, answer(chunk))
    assert len((tmp_path / "out.txt").read_text().splitlines()) == 11


@pytest.mark.parametrize("options", [{}, {"force": True}], ids=str)
@pytest.mark.parametrize("name", KINDS)
def test_the_output_is_a_directory(tmp_path, name, options):
    (tmp_path / name).mkdir()
    for make in (
        lambda: open_output(tmp_path / name, FOUR, **options),
        lambda: TableWriter(str(tmp_path / name), {"puzzle": object}, **options),
    ):
        with pytest.raises(IsADirectoryError):
            make()
    assert os.listdir(tmp_path) == [name]


@pytest.mark.skipif(not os.path.exists("/dev/full"), reason="no /dev/full")
def test_a_full_device():
    with pytest.raises(OSError, match="No space left on device: '/dev/full'$"):
        run("/dev/full", some_puzzles())


@pytest.mark.parametrize("room", [0, 10, 40, 70])
def test_a_full_disk_is_resumed(tmp_path, room):
    class Full:
        def __init__(self, file):
            self.file, self.room = file, room

        def write(self, data):
            taken = self.file.write(bytes(data[: self.room]))
            self.room -= taken
            if not taken:
                raise OSError(28, "No space left on device")
            return taken

        def __getattr__(self, name):
            return getattr(self.file, name)

    target = tmp_path / "out.txt"
    message = "No space left on device; the \\d+ answers written before are kept"
    with pytest.raises(OSError, match=message) as caught, open_output(target, FOUR) as writer:
        writer._output.file = Full(writer._output.file)
        for chunk in read_chunks(io.BytesIO(some_puzzles()), FOUR, chunk_size=1):
            writer.write(chunk, answer(chunk))
    assert caught.value.filename == str(target) and caught.value.errno == 28
    run(target, some_puzzles(), resume=True)
    run(tmp_path / "whole.txt", some_puzzles())
    assert contents(target) == contents(tmp_path / "whole.txt")


def test_a_broken_pipe_comes_through(monkeypatch):
    read_end, write_end = os.pipe()
    os.close(read_end)
    with open(write_end, "wb", buffering=0) as pipe:
        monkeypatch.setattr(sys, "stdout", type("Stdout", (), {"buffer": pipe}))
        with pytest.raises(BrokenPipeError):
            run("-", some_puzzles())


def test_chunks_are_answered_in_order_and_whole(tmp_path):
    chunks = list(read_chunks(io.BytesIO(some_puzzles()), FOUR, chunk_size=4))
    with open_output(tmp_path / "out.txt", FOUR) as writer:
        writer.write(chunks[0], answer(chunks[0]))
        with pytest.raises(ValueError, match="the next one to answer is 4"):
            writer.write(chunks[2], answer(chunks[2]))
        with pytest.raises(ValueError, match="not answers to 4 puzzles"):
            writer.write(chunks[1], answer(chunks[2]))


def test_a_truncated_input_keeps_the_answers_before(tmp_path):
    data = gzip.compress(some_puzzles(400))
    with pytest.raises(PuzzleFileError, match="truncated"):
        run(tmp_path / "out.txt", data[: len(data) // 2])
    assert 0 < len((tmp_path / "out.txt").read_text().splitlines()) < 400
    run(tmp_path / "out.txt", data, resume=True)
    assert len((tmp_path / "out.txt").read_text().splitlines()) == 400


@pytest.mark.parametrize("name", ["out.txt", "out.csv"])
def test_answers_for_another_board_are_not_gone_on_with(tmp_path, name):
    """A grid that keeps the givens and breaks a rule of the board is no answer."""
    path, board = tmp_path / name, Board.classic(4)
    puzzles = np.zeros((2, 16), np.uint8)
    puzzles[:, 0] = 1
    grid = np.array([1, 2, 3, 4, 3, 4, 1, 2, 2, 1, 4, 3, 4, 3, 2, 1], np.uint8)
    chunk = Chunk(puzzles, np.ones(2, bool), np.arange(1, 3), (), {})
    solved = Solution(np.stack([grid, grid]), np.full(2, Status.SOLVED, np.int8), np.ones(2, np.int32), {})
    with open_output(path, board) as sink:
        sink.write(chunk, solved)
    with open_output(path, board, resume=True) as sink:
        assert list(sink.remaining([chunk])) == []
    before = path.read_bytes()
    with (
        open_output(path, Board.diagonal(4), resume=True) as sink,
        pytest.raises(ResumeError, match="is not to the puzzle"),
    ):
        list(sink.remaining([chunk]))
    assert path.read_bytes() == before


def test_parquet_that_is_not_resumed_is_the_same(tmp_path):
    """Also where a column has nothing but nulls at first."""
    pytest.importorskip("pyarrow")
    import pyarrow.parquet as pq

    puzzles = np.tile(np.array([1, 2, 3, 4, 3, 4, 1, 2, 2, 1, 4, 3, 4, 3, 2, 1], np.uint8), (8, 1))
    solved = Solution(puzzles[:2], np.full(2, Status.SOLVED, np.int8), np.ones(2, np.int32), {})
    chunks = []
    for start in range(0, 8, 2):
        names = [None, None] if start < 4 else ["a", "b"]
        good, lines = np.ones(2, bool), np.arange(start, start + 2)
        chunks.append(Chunk(puzzles[start : start + 2], good, lines, (), {"name": names}, start))
    for name, resumable in (("parts", True), ("whole", False)):
        with open_output(tmp_path / f"{name}.parquet", Board.classic(4), resumable=resumable) as writer:
            for chunk in chunks:
                writer.write(chunk, solved)
    one, other = (pq.read_table(tmp_path / f"{name}.parquet") for name in ("parts", "whole"))
    assert one.equals(other) and one["name"].to_pylist() == [None] * 4 + ["a", "b"] * 2
    assert sorted(path.name for path in tmp_path.iterdir()) == ["parts.parquet", "whole.parquet"]
    with open_output(tmp_path / "empty.parquet", Board.classic(4), resumable=False):
        pass
    assert pq.read_table(tmp_path / "empty.parquet").column_names == ["puzzle", "solution", "status", "iterations"]
