"""Self-play over several processes: agreement with one process, resumed runs, other devices."""

from __future__ import annotations

import os
import shutil

import pytest
from processes import PLACE, SMALL_NETWORK, TIMEOUT, alone, interrupted, reports, run, saved

from jaxsudoku import networks
from train.selfplay import main

pytestmark = pytest.mark.slow

#: The preset, with the network that compiles in the least time; a time sets the steps.
FLAGS = ("--preset", "tiny", *SMALL_NETWORK, "--minutes", "9")

#: The command, whose processes take the time to be enough for different numbers of steps: for the first, two rounds,
#: each with a report, a validation and a checkpoint.
COMMAND = """
import sys
import jax
from train import selfplay
selfplay._steps_until = lambda *_: 20 * (1 + jax.process_index())
sys.exit(selfplay.main())
"""


def arguments(folder, *flags):
    """The arguments of Python for a tiny run with puzzles that it generates."""
    every = ("--report-every", "10", "--validate-every", "10", "--save-every", "10")
    return ["-c", COMMAND, *FLAGS, "--generate", "128", *every, "--output", str(folder), *flags]


@pytest.fixture(scope="module")
def two(tmp_path_factory):
    """A run of two processes with a device each; its folder and the logs of both."""
    folder = tmp_path_factory.mktemp("two")
    return folder / "run", run(arguments(folder / "run", *PLACE), 2, folder, timeout=TIMEOUT)


def test_one_process_goes_on_as_two_did(two, tmp_path):
    """With two devices, to the same bits."""
    whole, logs = two
    assert "solved" in logs[0] and "loss" not in logs[1]
    # both wrote their parts of the state
    assert {"ocdbt.process_0", "ocdbt.process_1"} <= set(os.listdir(whole / "checkpoints" / "20" / "state"))
    assert [(line["kind"], line["step"]) for line in reports(whole)] == [
        (kind, step) for step in (10, 20) for kind in ("train", "validate")
    ]
    folder = interrupted(whole, tmp_path / "run")
    assert saved(folder) == [10]
    alone(arguments(folder, "--resume"))
    assert reports(folder) == reports(whole)
    assert (folder / "network.safetensors").read_bytes() == (whole / "network.safetensors").read_bytes()
    facts, expected = (networks.read_card(run / "network").facts for run in (folder, whole))
    assert expected["device"].startswith("2 x ")
    assert facts["metrics"] == expected["metrics"] and facts["training"]["steps"] == 20


def test_another_number_of_devices_is_refused(two, tmp_path, monkeypatch, capsys):
    monkeypatch.setenv("JAX_NUM_CPU_DEVICES", "1")
    folder = tmp_path / "run"
    shutil.copytree(two[0], folder)
    assert main(arguments(folder, "--resume")[2:]) == 2
    error = "the last checkpoint was made on 2 devices, and there are 1: resume on as many"
    assert error in capsys.readouterr().err
    assert reports(folder) == reports(two[0])
