"""Progress: in words, on a terminal and elsewhere, and as the library reports it."""

from __future__ import annotations

import dataclasses
import gzip
import io
import re
import signal
import sys
import threading
import time

import jax
import numpy as np
import pytest
import reference

import jaxsudoku as js
from jaxsudoku import mastermind as mm
from jaxsudoku.cli import main
from jaxsudoku.engine import batches
from jaxsudoku.engine.batches import Engine
from jaxsudoku.engine.kernels import PuzzleItems
from jaxsudoku.evaluation import EvaluateConfig
from jaxsudoku.io import open_puzzles
from jaxsudoku.runtime.terminal import progress
from jaxsudoku.runtime.terminal.progress import Meter, Screen, reports, share_read
from jaxsudoku.runtime.terminal.stop import Stop
from jaxsudoku.runtime.threads import in_order

FOUR = reference.SMALL["4x4"]


class Terminal(io.StringIO):
    def isatty(self):
        return True


@pytest.fixture
def clock(monkeypatch):
    """Seconds that a test sets."""
    now = [100.0]
    monkeypatch.setattr(time, "monotonic", lambda: now[0])
    return now


def waited(stream, text):
    """Whether a stream comes to hold a text."""
    end = time.perf_counter() + 5
    while text not in stream.getvalue() and time.perf_counter() < end:
        time.sleep(0.005)
    return text in stream.getvalue()


def test_a_line_has_share_number_rate_and_time_left(clock):
    meter = Meter()
    assert meter.line(0, 400) == f"[{'.' * 20}]   0% 0 of 400 puzzles"
    clock[0] += 2
    assert meter.line(100, 400) == f"[{'#' * 5}{'.' * 15}]  25% 100 of 400 puzzles, 50/s, 6 s left"
    assert meter.line(400, 400) == f"[{'#' * 20}] 100% 400 of 400 puzzles, 200/s"
    resumed = Meter()
    resumed.line(300, 400)
    clock[0] += 10
    assert resumed.line(310, 400).endswith("310 of 400 puzzles, 1/s, 2 min left")
    assert Meter().line(5, None) == "5 puzzles"
    assert [progress.per_second(rate) for rate in (1234.5, 2.34, 0.0893)] == ["1,234/s", "2.3/s", "0.089/s"]


def test_a_terminal_shows_that_time_passes(monkeypatch):
    monkeypatch.setattr(progress, "_TICK", 0.01)
    monkeypatch.setattr(sys, "stderr", terminal := Terminal())
    screen = Screen(bar=True)
    screen.show("compiling ...", now=True)
    assert waited(terminal, "\rcompiling ... (0 s)")
    screen.clear()
    cleared = terminal.getvalue()
    time.sleep(0.05)
    assert terminal.getvalue() == cleared


def test_the_same_text_again_is_no_change(monkeypatch, clock):
    monkeypatch.setattr(sys, "stderr", terminal := Terminal())
    screen = Screen(bar=True)
    screen.show("0 of 200 puzzles", now=True)
    clock[0] += 30
    screen.show("0 of 200 puzzles", now=True)
    screen.clear()
    assert "\r0 of 200 puzzles (30 s)" in terminal.getvalue()


def test_elsewhere_a_line_now_and_then(monkeypatch):
    monkeypatch.setattr(progress, "_TICK", 0.01)
    monkeypatch.setattr(progress, "_FIRST_LINE", 0.02)
    monkeypatch.setattr(sys, "stderr", pipe := io.StringIO())
    quiet, screen = Screen(bar=False), Screen(bar=True)
    quiet.show("nothing", now=True)
    screen.show("12 puzzles", now=True)
    assert waited(pipe, "12 puzzles (0 s)\n")
    screen.clear()
    assert "nothing" not in pipe.getvalue()
    assert "\r" not in pipe.getvalue()


def test_a_signal_does_not_part_a_message_from_its_end(monkeypatch):
    class Signalled(io.StringIO):
        def write(self, text):
            super().write(text)
            raise Stop(signal.SIGINT)

    monkeypatch.setattr(sys, "stderr", pipe := Signalled())
    with pytest.raises(Stop):
        Screen(bar=False).say("line 3: 5 cells")
    assert pipe.getvalue() == "line 3: 5 cells\n"


def test_true_is_a_bar(monkeypatch):
    monkeypatch.setattr(sys, "stderr", terminal := Terminal())
    with reports(True) as report:
        report(0, 2)
        report(2, 2)
    assert "100% 2 of 2 puzzles" in terminal.getvalue()
    assert terminal.getvalue().endswith("\r")


def test_a_notebook_shows_a_live_line(monkeypatch):
    """Its stream is no terminal, yet goes back to the start of a line."""
    stream = type("OutStream", (io.StringIO,), {"__module__": "ipykernel.iostream"})()
    monkeypatch.setattr(sys, "stderr", stream)
    with reports(True) as report:
        report(0, 2)
        assert stream.getvalue() == f"\rrunning: [{'.' * 20}]   0% 0 of 2 puzzles"
        report(2, 2)
    assert "\n" not in stream.getvalue()
    assert stream.getvalue().endswith(" \r")


def test_nothing_is_shown_unless_it_is_asked_for(monkeypatch):
    monkeypatch.setattr(sys, "stderr", terminal := Terminal())
    for silent in (None, False):
        with reports(silent) as report:
            report(0, 2)
    mm.build(mm.PegGame(2, 3), "minimax")
    assert terminal.getvalue() == ""


def test_mastermind_reports(monkeypatch):
    monkeypatch.setattr(sys, "stderr", terminal := Terminal())
    tree = mm.build(mm.PegGame(2, 3), "minimax", progress=True)
    assert "\rguess 1: 1 positions of 9 codes" in terminal.getvalue()
    assert terminal.getvalue().endswith(" \r")
    told = []
    assert mm.evaluate(mm.PegGame(2, 3), "minimax", progress=told.append).mean == tree.mean
    assert told[0] == "guess 1: 1 positions of 9 codes"


@pytest.mark.parametrize(
    "what", ["solve", "count", "rate", "technique", "rules", pytest.param("generate", marks=pytest.mark.slow)]
)
def test_the_library_reports(what):
    puzzles = reference.unique(FOUR, 10)
    calls = []

    def told(done, count):
        calls.append((done, count))

    options = {"batch_size": 4, "progress": told}
    if what == "solve":
        js.solve(puzzles, lanes=32, rules="naked", rounds=1, **options)
    elif what == "count":
        js.count_solutions(puzzles, lanes=32, rules="naked", rounds=1, **options)
    elif what == "rate":
        js.rate(puzzles, searches=1, **options)
    elif what == "technique":
        js.rate(puzzles, by="technique", up_to="full-house", **options)
    elif what == "rules":
        js.weakest_rules(puzzles, **options)
    else:
        js.generate(1, 10, FOUR, batch_size=64, progress=told)
    assert (calls[0], calls[-1]) == ((0, 10), (10, 10))
    assert calls == sorted(calls)
    assert len(set(calls)) > (2 if what != "generate" else 1)


@pytest.mark.slow
def test_attempts_are_reported():
    generator = js.generation.Generator(0, FOUR, js.generation.GenerateConfig(clues=4, attempts=3), 64)
    calls = []
    with pytest.raises(js.GenerationError):
        generator.make(0, 60, lambda found, attempts: calls.append((found, attempts)))
    assert calls[0] == (0, 0)
    assert calls[-1][1] == 3
    assert calls == sorted(calls)


def test_the_share_of_a_file_that_is_read(tmp_path):
    path = tmp_path / "puzzles.txt"
    path.write_bytes(b"x" * 100_000)
    with open(path, "rb", buffering=0) as file:
        share = share_read(file)
        file.read(50_000)
        assert share() == 0.5
    assert share() is None
    assert share_read("-")() is None
    assert share_read(io.BytesIO())() is None


def test_positions_follow_the_number_of_puzzles():
    assert [EvaluateConfig().positions_for(count) for count in (0, 100, 1000, 50_000)] == [0, 1000, 10_000, 10_000]
    assert EvaluateConfig(positions=7).positions_for(100) == 7


@pytest.mark.slow
def test_a_short_stretch_runs_the_same_program():

    generator = js.generation.Generator(0, FOUR, js.generation.GenerateConfig(clues=7), 64)
    whole = generator.make(0, 64)
    compiled = batches._compile.cache_info().misses
    np.testing.assert_array_equal(generator.make(5, 3).puzzles, whole.puzzles[5:8])
    assert batches._compile.cache_info().misses == compiled


def test_a_progress_that_nobody_took_off_is_cleared():
    """A command that ends early leaves no thread that prints into what follows."""
    screen = progress.Screen(bar=True)
    screen.show("working")
    assert screen._stopped is not None
    progress.clear_screens()
    assert screen._stopped is None and not progress._shown


# ---------------------------------------------------------------------- the line of a task


def test_the_line_of_a_task_has_its_stage(monkeypatch, clock):
    monkeypatch.setattr(sys, "stderr", terminal := Terminal())
    screen, meter = Screen(bar=True), Meter()

    def drawn(done, count):
        terminal.truncate(terminal.seek(0))
        screen.show(meter.line(done, count), now=True, task=True)
        return terminal.getvalue().strip()

    assert drawn(0, 400) == f"running: [{'.' * 20}]   0% 0 of 400 puzzles"
    with progress.compiling():
        clock[0] += 60
        assert drawn(0, 400) == f"compiling: [{'.' * 20}]   0% 0 of 400 puzzles (1 min)"
        with progress.compiling():
            clock[0] += 10
    clock[0] += 2
    assert "  25% 100 of 400 puzzles, 50/s, 6 s left" in drawn(100, 400), "without the 70 s of compiling"
    screen.clear()
    assert Meter().line(100, 400, about=True).endswith(" 100 of about 400 puzzles")


def test_engines_say_that_they_compile(monkeypatch):
    stages, levels = [], []

    @dataclasses.dataclass(frozen=True)
    class Kernel(PuzzleItems):
        name: str = "test_engines_say_that_they_compile"

        def resolve(self, board, platform):
            return self

        def __call__(self, board, puzzles, key, number, /):
            stages.append(bool(progress._compiling))
            levels.append(jax.config.jax_logging_level)
            return puzzles[:, 0]

    Engine(Kernel(), FOUR, batch_size=32).run(np.zeros((3, 16), np.uint8))
    assert stages == [True] and not progress._compiling
    assert levels == ["CRITICAL"], "XLA's alarm about slow compiling is no message of ours"
    assert jax.config.jax_logging_level == "NOTSET"


def test_who_waits_for_a_batch_is_told_every_now_and_then(monkeypatch):
    monkeypatch.setattr("jaxsudoku.runtime.threads._WAIT", 0.01)
    told = []
    wait = threading.Event()
    results = in_order(lambda item: wait.wait(5) and item, [1, 2], 1, lambda: told.append(0) or wait.set())
    assert list(results) == [1, 2] and told


@pytest.mark.parametrize("name", ["in.txt", "in.csv", "in.parquet", "in.txt.gz"])
def test_the_share_is_that_of_the_work(tmp_path, monkeypatch, name):
    """Not that of the bytes that were read: Parquet ends with what is read first, and text is read ahead."""
    count, path = 300, tmp_path / name
    puzzles = ["".join(map(str, puzzle)) for puzzle in reference.unique(FOUR, count)]
    if name.endswith(".parquet"):
        pa, pq = pytest.importorskip("pyarrow"), pytest.importorskip("pyarrow.parquet")
        pq.write_table(pa.table({"puzzle": puzzles}), path, row_group_size=100)
    else:
        data = "\n".join([*(["puzzle"] if name == "in.csv" else []), *puzzles, ""]).encode()
        path.write_bytes(gzip.compress(data) if name.endswith(".gz") else data)
    monkeypatch.setattr(progress, "_PAUSE", 0)
    monkeypatch.setattr(sys, "stderr", terminal := Terminal())
    assert main(["count", str(path), "--board", "4", "--batch-size", "32", "--output", str(tmp_path / "out.txt")]) == 0
    lines = [line.strip() for line in terminal.getvalue().split("\r") if "puzzles" in line and "in " not in line]
    form = re.compile(r"(compiling|running): \[.{20}\] +(\d+)% ([\d,]+) of (about )?([\d,]+) puzzles")
    found = [form.match(line) for line in lines]
    assert len(found) >= 10 and all(found), lines
    for line in found:
        share, done, whole = int(line[2]), int(line[3]), int(line[5])
        assert share == int(100 * done / count) and whole == count
    assert [int(line[3]) for line in found][-2:] == [288, 300]


def test_the_number_of_puzzles_is_known_at_the_end(tmp_path):
    path = tmp_path / "in.txt"
    path.write_text(("." * 16 + "\n") * 100)
    with open_puzzles(path, FOUR) as puzzles:
        assert (puzzles.read, puzzles.count) == (0, None)
        assert puzzles.has_puzzles() and puzzles.read == 100
        assert sum(map(len, puzzles.chunks(30))) == puzzles.count == 100
