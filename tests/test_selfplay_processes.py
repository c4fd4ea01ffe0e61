"""Self-play over several processes: agreement with one process, resumed runs, killed processes."""

from __future__ import annotations

import os
import shutil

import numpy as np
import pytest
import reference
from processes import PLACE, SMALL_NETWORK, TIMEOUT, Processes, alone, reports, run, saved

import jaxsudoku as js
from jaxsudoku import networks

pytestmark = pytest.mark.slow

#: The preset, with the network that compiles in the least time.
TINY = ("--preset", "tiny", *SMALL_NETWORK)

#: Steps of a run that is compared with others: two rounds, each with a report, a validation and a checkpoint.
STEPS = 20


@pytest.fixture(scope="module")
def puzzles(tmp_path_factory):
    """A file of 4x4 puzzles."""
    file = tmp_path_factory.mktemp("data") / "puzzles.txt"
    different = np.unique(reference.unique(js.Board.classic(4), 80), axis=0)
    file.write_text("".join("".join(map(str, puzzle)) + "\n" for puzzle in different))
    return str(file)


def arguments(puzzles, folder, *flags):
    """The arguments of Python for a tiny run."""
    every = ["--report-every", "10", "--validate-every", "10", "--save-every", "10"]
    chosen = [*TINY, "--steps", str(STEPS), "--puzzles", puzzles]
    return ["-m", "train.selfplay", *chosen, *every, "--output", str(folder), *flags]


def together(puzzles, folder, *flags):
    """The same for one of several processes."""
    return arguments(puzzles, folder, *PLACE, *flags)


@pytest.fixture(scope="module")
def whole(puzzles, tmp_path_factory):
    """A run of one process with two devices."""
    folder = tmp_path_factory.mktemp("whole") / "run"
    alone(arguments(puzzles, folder))
    return folder


def same(folder, other):
    """Asserts that two runs reported the same, and ended in the same networks, bit for bit."""
    assert reports(folder) == reports(other)
    files = sorted(file.name for file in other.glob("*.safetensors"))
    assert files and files == sorted(file.name for file in folder.glob("*.safetensors"))
    for file in files:
        assert (folder / file).read_bytes() == (other / file).read_bytes()


#: The command, which stops after a step as if it were interrupted there.
STOPPED = """
import functools, sys
from train import selfplay
selfplay.self_play = functools.partial(selfplay.self_play, stop_at=10)
sys.exit(selfplay.main())
"""


def stopped(arguments):
    """Arguments of Python for the first round of a run."""
    return ["-c", STOPPED, *arguments[2:]]


def test_two_processes_and_one_that_resumes_do_what_one_does_with_two_devices(puzzles, whole, tmp_path):
    folder = tmp_path / "run"
    logs = run(stopped(together(puzzles, folder)), 2, tmp_path, timeout=TIMEOUT)
    assert saved(folder) == [10] and not (folder / "network.safetensors").exists()
    assert "solved" in logs[0] and "loss" not in logs[1]
    # both wrote their parts of the state
    assert {"ocdbt.process_0", "ocdbt.process_1"} <= set(os.listdir(folder / "checkpoints" / "10" / "state"))
    alone(arguments(puzzles, folder, "--resume"))
    same(folder, whole)
    assert [(line["kind"], line["step"]) for line in reports(whole)] == [
        (kind, step) for step in (10, 20) for kind in ("train", "validate")
    ]
    facts = networks.read_card(folder / "network").facts
    assert facts["metrics"] == networks.read_card(whole / "network").facts["metrics"]


#: The command, whose processes take the time to be enough for different numbers of steps.
TIMED = """
import sys
from train import selfplay
selfplay._steps_until = lambda *_: 10 * (1 + int(sys.argv[-1]))
sys.exit(selfplay.main())
"""


def test_the_time_of_the_first_sets_the_steps_of_all_who_share_generated_puzzles(tmp_path):
    folder = tmp_path / "run"
    flags = [*TINY, "--minutes", "9", "--generate", "128", "--rivals", "house_cnn:layers=3,width=8,hidden=8"]
    flags += ["--output", str(folder), *PLACE]
    run(["-c", TIMED, *flags], 2, tmp_path, timeout=TIMEOUT)
    facts = networks.read_card(folder / "network").facts
    assert facts["device"].startswith("2 x ")
    assert facts["training"]["steps"] == reports(folder)[-1]["step"] == 10
    assert (folder / "network-house_cnn.safetensors").exists()


def test_another_number_of_devices_is_refused(puzzles, whole, tmp_path):
    folder = tmp_path / "run"
    shutil.copytree(whole, folder)
    with Processes(arguments(puzzles, folder, "--resume"), 1, tmp_path) as job:
        assert job.wait(TIMEOUT) == [2]
        assert "the last checkpoint was made on 2 devices, and there are 1: resume on as many" in job.log(0)
    assert reports(folder) == reports(whole)
