"""Processes that are forked: JAX is refused where it would hang, and nothing else is."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

pytestmark = pytest.mark.skipif(not hasattr(os, "fork"), reason="processes are never forked here")

#: A process that forks before and after JAX has started; each child tells what happened by its exit status.
PROGRAM = """
import os, signal, subprocess, sys, warnings

warnings.simplefilter("ignore")  # JAX's own warning of a fork
import numpy as np
import jaxsudoku as js
from jaxsudoku import datasets, exact, mastermind, solvers
from jaxsudoku.engine import batches
from jaxsudoku.runtime import forks
from jaxsudoku.solvers import driver
from jaxsudoku.techniques.weakest_rules import weakest_of_puzzles

FOUR = js.Board.classic(4)
PUZZLES = np.zeros((1, 16), np.uint8)


def forked(work):
    "Whether a child that does some work ends well."
    child = os.fork()
    if child == 0:
        signal.alarm(60)
        status = 1
        try:
            work()
            status = 0
        finally:
            os._exit(status)
    return os.waitpid(child, 0)[1] == 0


def checks_grids():
    assert js.is_valid(PUZZLES, FOUR)[0]


assert forked(forks.check)
assert forked(lambda: forked(forks.check) or sys.exit(1))
assert forked(checks_grids), "JAX starts in a child"
engine = batches.Engine(driver.count_kernel(2), FOUR)  # starts JAX
planes = np.zeros((4, 4, 4, 1), np.uint32)
network = js.networks.Network("cell_cnn", js.networks.make_forward("cell_cnn", FOUR), {})
cubes = np.ones((1, 4, 16), bool)

CALLS = {
    "solve": lambda: js.solve(PUZZLES),
    "solve by a network": lambda: js.solve(PUZZLES, solver="one-shot"),
    "count_solutions": lambda: js.count_solutions(PUZZLES),
    "an engine of the parent": lambda: engine.run(PUZZLES),
    "rate": lambda: js.rate(PUZZLES),
    "rate by technique": lambda: js.rate(PUZZLES, by="technique"),
    "weakest_rules": lambda: js.weakest_rules(PUZZLES),
    "weakest_of_puzzles": lambda: weakest_of_puzzles(PUZZLES),
    "generate": lambda: js.generate(0, 1, FOUR),
    "explain": lambda: js.explain(np.zeros(1296, np.uint8)),
    "hint": lambda: js.hint(np.zeros(1296, np.uint8)),
    "evaluate": lambda: js.evaluate(network, PUZZLES, FOUR),
    "is_valid": lambda: js.is_valid(PUZZLES),
    "is_solved": lambda: js.is_solved(PUZZLES),
    "conflicts": lambda: js.conflicts(PUZZLES),
    "propagate": lambda: js.propagate(planes),
    "outcome": lambda: js.outcome(planes),
    "load_network": lambda: js.load_network("cube"),
    "make_network": lambda: js.make_network("cell_cnn", FOUR),
    "a network": lambda: network(cubes),
    "exact.search": lambda: exact.search(PUZZLES),
    "env.init": lambda: js.env.init(PUZZLES),
    "grids_to_planes": lambda: js.planes.grids_to_planes(PUZZLES),
    "symmetry.sample": lambda: js.symmetry.sample(0, FOUR),
    "symmetry.canonical": lambda: js.symmetry.canonical(js.load("9x9-easy")[:1]),
    "datasets.build": lambda: datasets.build(sys.argv[1], 1, board=FOUR),
    "mastermind.feedback": lambda: mastermind.feedback(mastermind.PegGame(2, 2), PUZZLES[:, :2], PUZZLES[:, :2]),
    "mastermind.build": lambda: mastermind.build(mastermind.PegGame(2, 2), "minimax"),
}


def all_are_refused():
    wrong = []
    for name, call in CALLS.items():
        try:
            call()
        except RuntimeError as error:
            if '"spawn"' not in str(error):
                wrong.append(f"{name}: {error}")
        except BaseException as error:
            wrong.append(f"{name}: {type(error).__name__}: {error}")
        else:
            wrong.append(f"{name}: no error")
    print(*wrong, sep="\\n", flush=True)
    assert not wrong


def others_work():
    js.draw(js.parse("1.34.4122.4.43.1"), FOUR)
    assert len(js.explain("1.34.4122.4.43.1").steps)
    assert subprocess.run([sys.executable, "-c", "print(1)"], preexec_fn=lambda: None).returncode == 0


assert forked(all_are_refused)
assert forked(others_work)
forks.check()  # the parent goes on
"""


def test_jax_is_refused_in_a_process_that_was_forked_after_it_started(tmp_path):
    done = subprocess.run(
        [sys.executable, "-c", PROGRAM, str(tmp_path / "set")],
        cwd=Path(__file__).parents[2],
        capture_output=True,
        text=True,
        timeout=180,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr
