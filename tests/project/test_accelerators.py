"""Programs compiled for accelerators that are not there: they fit, and do not get dearer than was recorded.

They need the plugins that compile for them, ``pip install -e '.[test,cuda12,tpu]'``, and minutes:
``python -m pytest -m "accelerator and not slow"`` for one program a target, ``-m accelerator`` for all.
"""

from __future__ import annotations

import importlib.util
import json
import os
import subprocess
import sys
from pathlib import Path

import jax
import pytest

sys.path.insert(0, str(Path(__file__).parents[2] / "benchmarks"))

import ratchet

pytestmark = pytest.mark.accelerator

BENCHMARKS = Path(ratchet.__file__).parent

#: The programs of 9x9 that are compiled for each target, the first one always, and the package that compiles them.
PROGRAMS = {
    "h100": ("exact", "count", "annealing", "gumbel"),
    "h100x8": ("exact",),
    "v5e": ("exact", "exact-pallas"),
}
PLUGINS = {"h100": "jax_cuda12_plugin", "h100x8": "jax_cuda12_plugin", "v5e": "libtpu"}
CASES = [
    pytest.param(target, program, marks=[pytest.mark.slow] * (program != programs[0]))
    for target, programs in PROGRAMS.items()
    for program in programs
]

#: Seconds in which all programs of a target compile, on any machine that runs tests.
LIMIT = 1200


def installed(target: str) -> bool:
    return importlib.util.find_spec(PLUGINS[target]) is not None


@pytest.fixture(scope="module")
def reports(tmp_path_factory, request):
    """The JSON of ``compiled.py`` for each target whose plugin is installed, with the programs that tests ask for."""
    folder = tmp_path_factory.mktemp("compiled")
    wanted = {}
    for item in request.session.items:
        if item.module is request.module:
            wanted.setdefault(item.callspec.params["target"], set()).add(item.callspec.params["program"])
    # a process each, as what jax compiles for is settled when it is imported; compiled as users do
    left_out = ("XLA_FLAGS", "JAX_COMPILATION_CACHE_DIR")
    environment = {name: value for name, value in os.environ.items() if name not in left_out}
    environment |= {"JAX_DISABLE_MOST_OPTIMIZATIONS": "0"}
    started = {}
    for target in filter(installed, wanted):
        options = ["--targets", target, "--programs", ",".join(sorted(wanted[target])), "--boards", "9"]
        command = [sys.executable, str(BENCHMARKS / "compiled.py"), *options, "--json", str(folder / f"{target}.json")]
        with (folder / f"{target}.log").open("w") as log:
            started[target] = subprocess.Popen(command, stdout=log, stderr=subprocess.STDOUT, env=environment)
    found = {}
    for target, process in started.items():
        try:
            process.wait(LIMIT)
        finally:
            process.kill()
        file = folder / f"{target}.json"
        assert file.exists(), (folder / f"{target}.log").read_text()
        found[target] = json.loads(file.read_text())
    return found


@pytest.fixture
def figures(reports, target, program):
    """The figures of one program."""
    if not installed(target):
        pytest.skip(f"{PLUGINS[target]} is not installed: pip install -e '.[test,cuda12,tpu]'")
    (row,) = (row for row in reports[target]["figures"] if row["program"] == program)
    return row


@pytest.mark.parametrize(("target", "program"), CASES)
def test_it_compiles_and_fits(figures):
    assert figures["error"] is None
    assert 0 < figures["memory_share"] < 1
    assert figures["step_kernels"] > 0 < figures["step_bytes"]


@pytest.mark.parametrize(("target", "program"), CASES)
def test_a_step_has_no_more_kernels_and_bytes_than_recorded(figures):
    recorded = json.loads(ratchet.RECORDED.read_text())
    version = ratchet.minor(jax.__version__)
    if recorded["jax"] != version:
        pytest.skip(f"recorded with jax {recorded['jax']}, and this is {version}: see benchmarks/ratchet.py")
    assert not ratchet.exceeded(figures, recorded)


@pytest.mark.parametrize(("target", "program"), [("h100", "exact")])
def test_a_node_is_in_registers(figures):
    """With at most 128 registers a multiprocessor has 16 warps at a time."""
    assert 0 < figures["registers"] <= 128
    assert figures["spilled_bytes"] == 0


@pytest.mark.parametrize(("target", "program"), [("h100x8", "exact")])
def test_devices_do_not_communicate_in_loops(figures):
    assert figures["devices"] == 8
    assert figures["collectives_in_loops"] == 0
