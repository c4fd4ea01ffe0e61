"""Training over several processes: agreement with one process, resumed runs, signals, killed processes, errors."""

from __future__ import annotations

import os
import signal

import jax
import numpy as np
import pytest
from processes import PLACE, SMALL_NETWORK, TIMEOUT, Processes, alone, interrupted, reports, run, saved

import jaxsudoku as js
from jaxsudoku import datasets, networks
from jaxsudoku.runtime.terminal.stop import Signals, Stop
from train.devices import own_rows
from train.processes import ProcessError
from train.processes import Processes as Together
from train.supervised import main

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
def two(data, tmp_path_factory):
    """A run of two processes with a device each; its folder and the logs of both."""
    folder = tmp_path_factory.mktemp("two")
    return folder / "run", run(together(data, folder / "run"), 2, folder, timeout=TIMEOUT)


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


@pytest.mark.slow
def test_other_devices_go_on_with_other_positions(data, two, tmp_path, capsys, monkeypatch):
    monkeypatch.setenv("JAX_NUM_CPU_DEVICES", "1")
    folder = interrupted(two[0], tmp_path / "run")
    assert main(arguments(data, folder, "--resume")[2:]) == 0
    assert "the last checkpoint was made on 2 devices: positions differ on 1" in capsys.readouterr().err
    assert [line["step"] for line in reports(folder)] == [line["step"] for line in reports(two[0])]
    assert all(np.isfinite(line["loss"]) for line in reports(folder))


# ---------------------------------------------------------------------- shares


@pytest.mark.slow
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
    with pytest.raises(ValueError, match="rows must be consecutive rows of a batch of 60"):
        datasets.batches(datasets.load(data[0]), 0, 60, rows=rows)


def test_one_process_has_all_rows():
    mesh = jax.sharding.Mesh(np.asarray(jax.devices()[:1]), ("batch",))
    assert own_rows(mesh, 12) == slice(0, 12)


# ---------------------------------------------------------------------- signals and ends


#: The command, whose second process is sent a signal before its second step, while the first is slow.
SIGNALLED = """
import os, signal, sys, time
from train import processes, supervised

class Signalled(processes.Processes):
    def stop_before(self, step):
        if self.index == 0:
            time.sleep(0.6)
        elif step == 2:
            os.kill(os.getpid(), signal.SIGTERM)
        return super().stop_before(step)

supervised.Processes = Signalled
sys.exit(supervised.main())
"""


@pytest.mark.slow
def test_a_signal_to_one_process_stops_all_after_the_same_step_and_one_goes_on(data, two, tmp_path):
    folder = tmp_path / "run"
    with Processes(["-c", SIGNALLED, *together(data, folder)[2:]], 2, tmp_path) as job:
        assert job.wait(TIMEOUT) == [128 + signal.SIGTERM] * 2
        logs = [job.log(process) for process in range(2)]
    last = max(saved(folder))
    assert 2 <= last < STEPS and not (folder / "network.safetensors").exists()
    for log in logs:
        assert f"stopped by SIGTERM; continue with --resume, from step {last} of {STEPS}" in log
    assert max(line["step"] for line in reports(folder)) <= last
    # one process with two devices ends as two processes: bit for bit, as a sum of two numbers has one order
    alone(arguments(data, folder, "--resume"))
    assert (folder / "network.safetensors").read_bytes() == (two[0] / "network.safetensors").read_bytes()
    assert reports(folder) == reports(two[0])
    assert [line["step"] for line in reports(folder) if line["kind"] == "validate"] == [3, 6]


#: The command with a loop that trains nothing: a process ends before its fifth step, by a signal or by an error.
ENDING = """
import itertools, os, signal, sys
import jax, numpy as np
from jax.sharding import AxisType, NamedSharding, PartitionSpec
from train import processes, supervised

def train(*_, **__):
    mesh = jax.make_mesh((jax.device_count(),), ("batch",), axis_types=(AxisType.Auto,))
    place, ones = NamedSharding(mesh, PartitionSpec("batch")), np.ones(8, np.float32)
    ones = jax.make_array_from_callback(ones.shape, place, lambda index: ones[index])
    total = jax.jit(lambda values: values.sum(), out_shardings=NamedSharding(mesh, PartitionSpec()))
    with processes.Processes() as together:
        for step in itertools.count(1):
            if step == 5 and together.index == 1 and sys.argv[1] == "killed":
                os.kill(os.getpid(), signal.SIGKILL)
            if step == 5 and together.index == 0 and sys.argv[1] == "failing":
                raise OSError(28, "No space left on device", "disk")
            assert together.stop_before(step) is None and total(ones) == 8

supervised.train = train
sys.exit(supervised.main(sys.argv[2:]))
"""


@pytest.mark.slow
@pytest.mark.parametrize(
    ("end", "statuses", "messages"),
    [
        ("killed", [1, -signal.SIGKILL], ["process 1 has ended without a word"]),
        (
            "failing",
            [2, 1],
            [
                "train: error: disk: No space left on device",
                "train: error: process 0 has ended: disk: No space left on device",
            ],
        ),
    ],
)
def test_the_end_of_one_process_ends_all(end, statuses, messages, data, tmp_path):
    with Processes(["-c", ENDING, end, *together(data, tmp_path / "run")[2:]], 2, tmp_path) as job:
        assert job.wait(TIMEOUT) == statuses
        for process, message in enumerate(messages):
            assert message in job.log(process)


# ---------------------------------------------------------------------- what can't be run


@pytest.mark.slow
def test_processes_with_other_settings_are_refused(data, tmp_path):
    folder = tmp_path / "run"
    # the seed is the process' number
    with Processes(together(data, folder, "--seed", "{process}"), 2, tmp_path) as job:
        assert job.wait(TIMEOUT) == [2, 2]
        for process in range(2):
            assert "process 1 (here) isn't like process 0 (there): settings.seed is 0 there, 1 here" in job.log(process)
    assert not folder.exists()


@pytest.mark.parametrize(
    ("flags", "message"),
    [
        (["--process", "1"], "--coordinator and --processes is missing"),
        (["--coordinator", "x:1", "--processes", "2"], "--process is missing"),
        (["--distributed", *PLACE], "give --distributed, or --coordinator, --processes and --process, not both"),
    ],
)
def test_flags_that_do_not_go_together(flags, message, capsys):
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
