"""Stopping a run in every way there is, and resuming it: the output equals that of a run left alone, byte for byte."""

import gzip
import os
import signal
import subprocess
import sys
import time

import numpy as np
import pytest

from jaxsudoku.cli import main
from jaxsudoku.runtime.locks import lock_path

SOLVED = "1234341221434321"
#: Puzzles: as many as take some tenths of a second.
ROWS = 600
#: Small batches slow the run down; a random order shows whether every batch gets the key that it would have had.
SETTINGS = ("--board", "4", "--batch-size", "15", "--order", "random", "--seed", "5")
PROGRAM = "from jaxsudoku.cli import main; sys.exit(main())"


@pytest.fixture(scope="module")
def puzzles(tmp_path_factory):
    """Puzzles of few givens, most of which have several solutions, some clashing, some malformed."""
    rng = np.random.default_rng(1)
    texts = np.where(rng.random((ROWS, 16)) < 0.2, list(SOLVED), ".")
    lines = ["id,puzzle", *(f"{row},{''.join(text)}" for row, text in enumerate(texts))]
    lines[50::200] = [f"{row},11.............." for row in range(3)]
    lines[70::200] = [f"{row},short" for row in range(3)]
    path = tmp_path_factory.mktemp("in") / "puzzles.csv"
    path.write_text("".join(f"{line}\n" for line in lines))
    return str(path)


@pytest.fixture(scope="module")
def undisturbed(puzzles, tmp_path_factory):
    """What a run left alone writes, by the output's name."""
    outputs = {}
    for name in ("out.txt", "out.csv"):
        path = tmp_path_factory.mktemp("alone") / name
        assert main(["solve", puzzles, *SETTINGS, "--output", str(path), "--quiet"]) == 1
        outputs[name] = path.read_bytes()
    return outputs


def stopped(puzzles, out, size, number):
    """Starts a run, sends it a signal when its output has some size, and gives its exit status and messages."""
    # whoever runs the tests in the background has Ctrl-C ignored, and what is started here would have it ignored, too
    program = "import signal, sys; signal.signal(signal.SIGINT, signal.SIG_DFL)\n" + PROGRAM
    process = subprocess.Popen(
        [sys.executable, "-c", program, "solve", puzzles, *SETTINGS, "--output", str(out)],
        stderr=subprocess.PIPE,
        text=True,
    )
    deadline = time.monotonic() + 60
    while not (out.exists() and out.stat().st_size >= size):
        assert process.poll() is None, process.stderr.read()
        assert time.monotonic() < deadline
        time.sleep(0.002)
    process.send_signal(number)
    _, err = process.communicate(timeout=60)
    return process.returncode, err


@pytest.mark.parametrize(
    ("name", "size"),
    [
        pytest.param("out.txt", 0, marks=pytest.mark.slow),
        ("out.txt", 1),
        pytest.param("out.csv.gz", 1000, marks=pytest.mark.slow),
    ],
)
def test_killed(puzzles, undisturbed, tmp_path, name, size):
    out = tmp_path / name
    code, _ = stopped(puzzles, out, size, signal.SIGKILL)
    assert code == -signal.SIGKILL
    contents = out.read_bytes() if size else b""
    assert lock_path(out) in map(str, tmp_path.iterdir())
    resumed(puzzles, out, undisturbed)
    assert os.listdir(tmp_path) == [name]
    assert out.read_bytes().startswith(contents[: len(contents) // 2]), "the answers there were kept"


@pytest.mark.slow
@pytest.mark.parametrize(("number", "status"), [(signal.SIGINT, 130), (signal.SIGTERM, 143)])
def test_stopped(puzzles, undisturbed, tmp_path, number, status):
    out = tmp_path / "out.csv"
    code, err = stopped(puzzles, out, 3000, number)
    assert code == status
    message = err.splitlines()[-1]
    assert message.startswith(f"jaxsudoku: stopped by {number.name}; {out} has complete rows; to continue: ")
    assert message.endswith(f"jaxsudoku solve {puzzles} {' '.join(SETTINGS)} --output {out} --resume")
    assert os.listdir(tmp_path) == ["out.csv"]  # no lock is left
    contents = out.read_bytes()
    assert contents.endswith(b"\n")
    assert undisturbed["out.csv"].startswith(contents)
    assert len(contents) < len(undisturbed["out.csv"])
    resumed(puzzles, out, undisturbed)


@pytest.mark.parametrize("cut", [1, 17, 15 * 17 + 5, -1])
def test_cut_anywhere(puzzles, undisturbed, tmp_path, cut):
    out = tmp_path / "out.txt"
    out.write_bytes(undisturbed["out.txt"][:cut])
    resumed(puzzles, out, undisturbed)


def resumed(puzzles, out, undisturbed):
    """Resumes a run here, and checks the output; a second time there is nothing left to do."""
    for _ in range(2):
        assert main(["solve", puzzles, *SETTINGS, "--output", str(out), "--quiet", "--resume"]) in (0, 1)
        name, written = out.name, out.read_bytes()
        if name.endswith(".gz"):
            name, written = name.removesuffix(".gz"), gzip.decompress(written)
        assert written == undisturbed[name]
