"""Training over several processes: agreement with one process, resumed runs, signals, killed processes, errors."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import jax
import numpy as np
import pytest
from processes import Processes, run

import jaxsudoku as js
from jaxsudoku import datasets, networks
from jaxsudoku.terminal.stop import Signals, Stop
from train.devices import own_rows
from train.presets import PRESETS
from train.processes import ProcessError, Processes as Together
from train.record import read
from train.selfplay import main as self_play

ROOT = Path(__file__).parents[1]
PLACE = ("--coordinator", "{coordinator}", "--processes", "{processes}", "--process", "{process}")

#: Steps of a run that is compared with others.
STEPS = 6
TIMEOUT = 240


@pytest.fixture(scope="module")
def data(tmp_path_factory):
    """Two data sets of 4x4 puzzles."""
    folder = tmp_path_factory.mktemp("data")
    for seed in (1, 2):
        datasets.build(folder / str(seed), 300, seed=seed, board=js.Board.classic(4))
    return [str(folder / str(seed)) for seed in (1, 2)]


@pytest.fixture(scope="module")
def environment(tmp_path_factory):
    """A folder of compiled programs that all processes share."""
    return {
        "JAX_COMPILATION_CACHE_DIR": str(tmp_path_factory.mktemp("cache")),
        "JAX_PERSISTENT_CACHE_MIN_COMPILE_TIME_SECS": "0",
        "JAXSUDOKU_CACHE": None,
    }


def arguments(data, folder, *flags, steps=STEPS):
    """The arguments of Python for a tiny run."""
    every = ["--report-every", "2", "--validate-every", "3", "--save-every", "3", "--warmup", "2"]
    chosen = ["--preset", "tiny", "--steps", str(steps), "--datasets", *data, "--output", str(folder)]
    return ["-m", "train.supervised", *chosen, *every, *flags]


def together(data, folder, *flags, **options):
    return arguments(data, folder, *PLACE, *flags, **options)


def alone(arguments, environment, devices=2):
    """Runs the program in one process; its standard error."""
    settings = {"JAX_PLATFORMS": "cpu", "JAX_NUM_CPU_DEVICES": str(devices), **environment}
    kept = {name: value for name, value in (os.environ | settings).items() if value is not None}
    done = subprocess.run(
        [sys.executable, *arguments], cwd=ROOT, env=kept, capture_output=True, text=True, timeout=TIMEOUT
    )
    assert done.returncode == 0, done.stderr
    return done.stderr


def reports(folder):
    """What a run reported, but for times."""
    return [
        {name: value for name, value in line.items() if name not in ("seconds", "positions_per_second")}
        for line in read(folder / "metrics.jsonl")
    ]


def saved(folder):
    """The steps of the checkpoints."""
    there = folder / "checkpoints"
    return sorted(int(entry) for entry in os.listdir(there) if entry.isdecimal()) if there.exists() else []


# ---------------------------------------------------------------------- agreement


@pytest.fixture(scope="module")
def whole(data, environment, tmp_path_factory):
    """A run of one process with two devices."""
    folder = tmp_path_factory.mktemp("whole") / "run"
    alone(arguments(data, folder), environment)
    return folder


@pytest.fixture(scope="module")
def two(data, environment, tmp_path_factory):
    """The same run of two processes with a device each; its folder and the logs of both."""
    folder = tmp_path_factory.mktemp("two")
    return folder / "run", run(together(data, folder / "run"), 2, folder, timeout=TIMEOUT, environment=environment)


def test_two_processes_do_what_one_does_with_two_devices(whole, two):
    # bit for bit: a sum of two numbers has one order
    assert (two[0] / "network.safetensors").read_bytes() == (whole / "network.safetensors").read_bytes()
    assert reports(two[0]) == reports(whole)
    assert [line["step"] for line in reports(whole) if line["kind"] == "validate"] == [3, 6]


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


def test_two_processes_are_resumed_by_one(data, environment, whole, two, tmp_path):
    parts = tmp_path / "run"
    stopped = "from train.supervised import *; from jaxsudoku import distributed; distributed.start(*place)"
    del stopped
    _stop_at(3, together(data, parts), 2, tmp_path, environment)
    assert saved(parts) == [3] and not (parts / "network.safetensors").exists()
    alone(arguments(data, parts, "--resume"), environment)
    assert (parts / "network.safetensors").read_bytes() == (whole / "network.safetensors").read_bytes()
    assert reports(parts) == reports(whole)
