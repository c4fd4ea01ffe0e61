"""Training over several processes: agreement with one process, resumed runs, signals, killed processes, errors."""

from __future__ import annotations

import os
import shutil
import signal

import jax
import numpy as np
import pytest
from processes import PLACE, SMALL_NETWORK, TIMEOUT, Processes, alone, reports, run, saved

import jaxsudoku as js
from jaxsudoku import datasets, networks
from jaxsudoku.terminal.stop import Signals, Stop
from train.devices import own_rows
from train.processes import ProcessError
from train.processes import Processes as Together

#: Steps of a run that is compared with others.
STEPS = 6


@pytest.fixture(scope="module")
def data(tmp_path_factory):
    """Two data sets of 4x4 puzzles."""
    folder = tmp_path_factory.mktemp("data")
    for seed in (1, 2):
        datasets.build(folder / str(seed), 64, seed=seed, board=js.Board.classic(4))
    return [str(folder / str(seed)) for seed in (1, 2)]


def arguments(data, folder, *flags):
    """The arguments of Python for a tiny run."""
    every = ["--report-every", "2", "--validate-every", "3", "--save-every", "3", "--warmup", "2"]
    chosen = ["--preset", "tiny", "--steps", str(STEPS), "--datasets", *data, "--output", str(folder)]
    small = [*SMALL_NETWORK, "--kinds", "rules=none"]
    return ["-m", "train.supervised", *chosen, *every, *small, *flags]


def together(data, folder, *flags):
    """The same for one of several processes."""
    return arguments(data, folder, *PLACE, *flags)


# ---------------------------------------------------------------------- agreement


@pytest.fixture(scope="module")
def whole(data, tmp_path_factory):
    """A run of one process with two devices."""
    folder = tmp_path_factory.mktemp("whole") / "run"
    alone(arguments(data, folder))
    return folder


@pytest.fixture(scope="module")
def two(data, tmp_path_factory):
    """The same run of two processes with a device each; its folder and the logs of both."""
    folder = tmp_path_factory.mktemp("two")
    return folder / "run", run(together(data, folder / "run"), 2, folder, timeout=TIMEOUT)


@pytest.mark.slow
def test_two_processes_do_what_one_does_with_two_devices(whole, two):
    # bit for bit: a sum of two numbers has one order
    assert (two[0] / "network.safetensors").read_bytes() == (whole / "network.safetensors").read_bytes()
    assert reports(two[0]) == reports(whole)
    assert [line["step"] for line in reports(whole) if line["kind"] == "validate"] == [3, 6]


@pytest.mark.slow
def test_one_process_writes(two):
    folder, logs = two
    entries = ["checkpoints", "config.json", "metrics.jsonl", "network.json", "network.safetensors"]
    assert sorted(os.listdir(folder)) == entries
    assert "validated at 6 of 6" in logs[0] and "2 of 6: loss" in logs[0]
    assert "loss" not in logs[1]
    assert networks.read_card(folder / "network").facts["device"].startswith("2 x ")
    assert saved(folder) == [3, 6]
    # both wrote their parts of the state
    assert {"ocdbt.process_0", "ocdbt.process_1"} <= set(os.listdir(folder / "checkpoints" / "6" / "state"))


#: The command, which stops after a step as if it were interrupted there.
STOPPED = """
import functools, sys
from train import supervised
supervised.train = functools.partial(supervised.train, stop_at=3)
sys.exit(supervised.main())
"""


def stopped(arguments):
    """Arguments of Python for the first half of a run."""
    return ["-c", STOPPED, *arguments[2:]]


@pytest.mark.slow
def test_what_one_process_began_is_resumed(data, whole, tmp_path):
    """By two with as many devices in all, and with fewer devices."""
    began, folder, fewer = (tmp_path / name for name in ("began", "two", "fewer"))
    alone(stopped(arguments(data, began)))
    assert saved(began) == [3] and not (began / "network.safetensors").exists()
    for other in (folder, fewer):
        shutil.copytree(began, other)
    run(together(data, folder, "--resume"), 2, tmp_path, timeout=TIMEOUT)
    assert (folder / "network.safetensors").read_bytes() == (whole / "network.safetensors").read_bytes()
    assert reports(folder) == reports(whole)
    log = alone(arguments(data, fewer, "--resume"), devices=1)
    assert "the last checkpoint was made on 2 devices: positions differ on 1" in log
    assert [line["step"] for line in reports(fewer)] == [line["step"] for line in reports(whole)]
    assert all(np.isfinite(line["loss"]) for line in reports(fewer))


# ---------------------------------------------------------------------- shares


def test_shares_of_a_batch_are_the_batch(data):
    sets = [datasets.load(folder) for folder in data]
    for augment in (False, True):

        def some(rows, dataset=sets[0], augment=augment):
            found = datasets.batches(dataset, 5, 60, augment=augment, start=3, rows=rows)
            return [jax.tree.map(np.asarray, next(found)) for _ in range(3)]

        # one row alone too, where that is no program of its own
        cuts = (slice(0, 20), slice(20, 60)) if augment else (slice(0, 20), slice(20, 21), slice(21, 60))
        parts = [some(rows) for rows in cuts]
        for whole, *shares in zip(some(None), *parts, strict=True):
            for array, *pieces in zip(whole, *shares, strict=True):
                np.testing.assert_array_equal(array, np.concatenate(pieces))


@pytest.mark.parametrize("rows", [slice(5, 5), slice(0, 10, 2), slice(90, 99)])
def test_rows_that_are_no_share_are_refused(data, rows):
    with pytest.raises(ValueError, match="rows must be some successive rows of a batch of 60"):
        datasets.batches(datasets.load(data[0]), 0, 60, rows=rows)


def test_one_process_has_all_rows():
    mesh = jax.sharding.Mesh(np.asarray(jax.devices()[:1]), ("batch",))
    assert own_rows(mesh, 12) == slice(0, 12)


# ---------------------------------------------------------------------- signals and ends


#: Flags of a run that goes on until it is ended, without the time to compile a validation.
ENDLESS = ("--steps", "100000", "--validate-every", "100000")


@pytest.mark.slow
def test_a_signal_to_one_process_stops_all_after_the_same_step(data, tmp_path):
    folder = tmp_path / "run"
    with Processes(together(data, folder, *ENDLESS), 2, tmp_path) as job:
        job.wait_until_said("2 of 100,000: loss", TIMEOUT, [0])
        job.running[1].send_signal(signal.SIGTERM)
        assert job.wait(60) == [128 + signal.SIGTERM] * 2
        logs = [job.log(process) for process in range(2)]
    last = max(saved(folder))
    for log in logs:
        assert f"stopped by SIGTERM; continue with --resume, from step {last:,} of 100,000" in log
    assert max(line["step"] for line in reports(folder)) <= last


@pytest.mark.slow
def test_a_run_with_a_killed_process_is_resumed_by_one(data, whole, tmp_path):
    folder = tmp_path / "run"
    program = [*together(data, folder)]
    program[:2] = ["-c", KILLED]
    with Processes(program, 2, tmp_path) as job:
        assert job.wait(TIMEOUT) == [1, -signal.SIGKILL]
        assert "process 1 has ended without a word" in job.log(0)
    assert saved(folder) == [3] and not (folder / "network.safetensors").exists()
    alone(arguments(data, folder, "--resume"))
    assert (folder / "network.safetensors").read_bytes() == (whole / "network.safetensors").read_bytes()
    assert reports(folder) == reports(whole)


#: The command, whose second process is killed before its fifth step.
KILLED = """
import os, signal, sys
from train import processes, supervised

class Killed(processes.Processes):
    def stop_before(self, step):
        if self.index == 1 and step == 5:
            os.kill(os.getpid(), signal.SIGKILL)
        return super().stop_before(step)

supervised.Processes = Killed
sys.exit(supervised.main())
"""

#: The command, one process of which fails before a step.
FAILING = """
import sys
from train import processes, supervised

class Failing(processes.Processes):
    def stop_before(self, step):
        if self.index == int(sys.argv[1]) and step == 5:
            raise OSError(28, "No space left on device", "disk")
        return super().stop_before(step)

supervised.Processes = Failing
sys.exit(supervised.main(sys.argv[2:]))
"""


@pytest.mark.slow
def test_an_error_of_one_process_ends_all_with_its_message(data, tmp_path):
    program = together(data, tmp_path / "run")
    program[:2] = ["-c", FAILING, "0"]
    with Processes(program, 2, tmp_path) as job:
        assert job.wait(TIMEOUT) == [2, 1]
        logs = [job.log(process) for process in range(2)]
    assert "train: error: disk: No space left on device" in logs[0]
    assert "train: error: process 0 has ended: disk: No space left on device" in logs[1]


# ---------------------------------------------------------------------- what can't be run


def test_processes_with_other_settings_are_refused(data, tmp_path):
    folder = tmp_path / "run"
    # the seed is the process' number
    with Processes(together(data, folder, "--seed", "{process}"), 2, tmp_path) as job:
        assert job.wait(TIMEOUT) == [2, 2]
        for process in range(2):
            assert "process 1 (here) isn't like process 0 (there): settings.seed is 0 there, 1 here" in job.log(process)
    assert not folder.exists()


@pytest.mark.slow
def test_a_folder_in_use_is_refused(data, tmp_path):
    folder = tmp_path / "run"
    folder.mkdir()
    (folder / "notes").write_text("mine")
    with Processes(together(data, folder), 2, tmp_path) as job:
        statuses = job.wait(TIMEOUT)
        assert statuses[0] == 2 and statuses[1] == 1
        assert all("isn't empty: continue with --resume" in job.log(process) for process in range(2))
    assert os.listdir(folder) == ["notes"]


@pytest.mark.parametrize(
    ("flags", "message"),
    [
        (["--process", "1"], "--coordinator and --processes is missing"),
        (["--coordinator", "x:1", "--processes", "2"], "--process is missing"),
        (["--distributed", *PLACE], "give --distributed, or --coordinator, --processes and --process, not both"),
    ],
)
def test_flags_that_do_not_go_together(flags, message, capsys):
    from train.supervised import main

    numbers = {"{coordinator}": "localhost:1", "{processes}": "2", "{process}": "0"}
    with pytest.raises(SystemExit) as status:
        main(["--output", "x", *(numbers.get(flag, flag) for flag in flags)])
    assert status.value.code == 2
    assert message in capsys.readouterr().err


# ---------------------------------------------------------------------- in one process


def test_one_process_waits_for_no_one():
    with Together() as processes:
        assert (processes.first, processes.several, processes.count) == (True, False, 1)
        assert processes.exchange("something", "said") == ["said"]
        assert processes.stop_before(7) is None


def test_errors_pass_through():
    with pytest.raises(ZeroDivisionError), Together():
        raise ZeroDivisionError
    assert ProcessError("why", 143).status == 143


def test_a_first_signal_is_passed_on_and_a_second_one_raises():
    received = []
    with pytest.raises(Stop) as stop, Signals() as signals, signals.passed_to(received.append), signals.held():
        os.kill(os.getpid(), signal.SIGTERM)
        assert received == [signal.SIGTERM]
        os.kill(os.getpid(), signal.SIGINT)
        pytest.fail("the second signal was not raised")
    assert stop.value.signal == signal.SIGINT
