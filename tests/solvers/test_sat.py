"""The solvers that end with a SAT solver on the host: answers against brute force, limits, and what is missing."""

from __future__ import annotations

import concurrent.futures
import importlib.util
import itertools
import os
import pathlib
import signal
import subprocess
import sys
import time
import warnings

import numpy as np
import pytest
import reference

import jaxsudoku as js
from jaxsudoku.engine.solution import Status
from jaxsudoku.solvers.sat import encoding, processes

FOUR = reference.SMALL["4x4"]

#: Settings with which every puzzle that the rules leave open is a SAT solver's.
SHORT = {"lanes": 32, "rules": "naked", "rounds": 1, "budget": 1}


#: One variable, which is true.
EASY = encoding.Formula(np.array([1, 0], np.int32), np.zeros((0, 2), np.int32))


def pigeons(count):
    """Clauses that put pigeons into one hole fewer: resolution needs exponentially many steps to refute them."""
    holes = range(1, count)
    places = [[pigeon * count + hole for hole in holes] for pigeon in range(count)]
    alone = [[-one[hole - 1], -two[hole - 1]] for one, two in itertools.combinations(places, 2) for hole in holes]
    groups = [literal for clause in places for literal in (*clause, 0)]
    return encoding.Formula(np.array(groups, np.int32), np.array(alone, np.int32))


@pytest.mark.parametrize("engine", ["cadical195", "glucose4"])
@pytest.mark.parametrize("name", ["4x4", "2x3", "jigsaw-5"])
def test_clauses_have_the_solutions_of_a_puzzle(name, engine):
    board = reference.SMALL[name]
    puzzles = reference.batch(board, 12)
    allowed = js.core.host_rules.allowed_candidates(puzzles, board)
    found = processes.answers(engine, [encoding.formula(each, board) for each in allowed], None)
    for puzzle, candidates, (true, conflicts) in zip(puzzles, allowed, found, strict=True):
        solutions = reference.solutions(board, puzzle, 1)
        assert (true is None) == (not solutions)
        assert conflicts >= 0
        if solutions:
            assert reference.is_solution(board, encoding.grid(candidates, true), puzzle)


@pytest.mark.parametrize("solver", ["sat", "auto"])
def test_candidates_that_are_left_out_stay_out(solver):
    rng = np.random.default_rng(3)
    puzzles = reference.batch(FOUR, 24)
    candidates = rng.random((24, 4, 16)) < 0.7
    found = js.solve(puzzles, FOUR, solver=solver, candidates=candidates, **(SHORT if solver == "auto" else {}))
    for puzzle, allowed, grid, status in zip(puzzles, candidates, found.grids, found.status, strict=True):
        right = [
            solution
            for solution in reference.solutions(FOUR, puzzle, 288)
            if all(puzzle[cell] or allowed[digit - 1, cell] for cell, digit in enumerate(solution))
        ]
        assert status == (
            Status.SOLVED if right else Status.INVALID if reference.is_clash(FOUR, puzzle) else Status.UNSATISFIABLE
        )
        if right:
            assert grid.tolist() in [list(solution) for solution in right]


def test_large_boards_end_with_the_same_answers(monkeypatch):
    puzzles = js.load("16x16-hard")[:4].copy()
    puzzles[0, np.flatnonzero(puzzles[0] == 0)[0]] = 16
    asked = []
    monkeypatch.setattr(
        processes, "_asked", lambda *question, real=processes._asked: asked.append(1) or real(*question)
    )
    whole = js.solve(puzzles, lanes=32)
    short = js.solve(puzzles, solver="auto", lanes=32, budget=1, engine="glucose4")
    np.testing.assert_array_equal(short.status, whole.status)
    np.testing.assert_array_equal(short.grids, whole.grids)
    assert asked


def test_a_formula_that_takes_too_long_is_left():
    late, in_time = processes.answers("glucose4", [pigeons(14), EASY], 1)
    assert late is None
    assert in_time[0].tolist() == [1]


def test_a_solver_that_is_killed_is_told():
    pool = processes._Pool()
    with concurrent.futures.ThreadPoolExecutor(1) as thread, warnings.catch_warnings(record=True) as said:
        warnings.simplefilter("always")
        asked = thread.submit(pool.ask, "cadical195", None, pigeons(14))
        os.kill(solver_of(os.getpid()), signal.SIGKILL)
        assert asked.result() is None
    assert "exit status -9" in str(said[-1].message)
    assert pool.ask("glucose4", None, EASY)[0].tolist() == [1]
    pool.end()


def test_an_interrupt_ends_the_work():
    """That of a terminal goes to all processes of the group."""
    pool = processes._Pool()
    with concurrent.futures.ThreadPoolExecutor(1) as thread:
        asked = thread.submit(pool.ask, "cadical195", None, pigeons(14))
        solver = solver_of(os.getpid())
        os.kill(int(pathlib.Path(f"/proc/{solver}/stat").read_text().split()[3]), signal.SIGINT)
        with pytest.raises(RuntimeError, match="exit status -2"):
            asked.result()
    assert gone(solver)


def solver_of(process):
    """A grandchild of a process: a solver at work."""
    while True:
        for child in children(process):
            if b"sat.engine" in command(child):
                for solver in children(child):
                    return solver
        time.sleep(0.05)


def children(process):
    found = []
    for task in pathlib.Path(f"/proc/{process}/task").iterdir():
        found += map(int, (task / "children").read_text().split())
    return found


def command(process):
    return pathlib.Path(f"/proc/{process}/cmdline").read_bytes()


@pytest.mark.parametrize("sent", [signal.SIGKILL, signal.SIGTERM])
def test_solvers_end_with_the_process_that_asks(sent):
    program = """
import sys
sys.path += sys.argv[1:]
from test_sat import pigeons, processes
processes.answers("cadical195", [pigeons(14)], None)
"""
    asking = subprocess.Popen([sys.executable, "-c", program, *sys.path])
    solver = solver_of(asking.pid)
    asking.send_signal(sent)
    asking.wait()
    assert gone(solver)


def gone(process):
    """Whether a process ends within ten seconds; if not, it is killed."""
    for _ in range(100):
        if not pathlib.Path(f"/proc/{process}").exists():
            return True
        time.sleep(0.1)
    os.kill(process, signal.SIGKILL)
    return False


def test_a_process_that_does_not_start_is_an_error(monkeypatch):
    monkeypatch.setattr(processes, "_COMMAND", (sys.executable, "-c", "raise SystemExit(3)"))
    with pytest.raises(RuntimeError, match="does not start: exit status 3"):
        processes._Pool().ask("glucose4", None, EASY)


def test_a_refuted_puzzle_has_no_grid():
    puzzle = np.zeros(16, np.uint8)
    puzzle[:3], puzzle[11] = (1, 2, 3), 4
    found = js.solve(puzzle, FOUR, solver="sat", keep_partial=True)
    assert found.status == Status.UNSATISFIABLE
    assert not found.grids.any()


def test_the_engine_suits_the_board():
    for solver in ("sat", "auto"):
        config = js.SOLVERS[solver].config()
        assert config.resolve(js.Board.classic(25), "cpu").engine == "glucose4"
        assert config.resolve(js.Board.classic(36), "cpu").engine == "cadical195"


def test_without_a_sat_solver_sat_says_so_and_auto_is_exact(monkeypatch):
    found = importlib.util.find_spec
    monkeypatch.setattr(importlib.util, "find_spec", lambda name: None if name.startswith("pysat") else found(name))
    sat, auto = (js.SOLVERS[name].config() for name in ("sat", "auto"))
    with pytest.raises(ImportError, match=r"the solver sat needs python-sat: pip install 'jaxsudoku\[sat\]'"):
        sat.resolve(FOUR, "cpu")
    with pytest.warns(RuntimeWarning, match="auto solves all puzzles by exact"):
        assert auto.resolve(FOUR, "cpu") == js.SOLVERS["exact"].config().resolve(FOUR, "cpu")


@pytest.mark.parametrize("solver", ["sat", "auto"])
def test_results_on_devices_are_refused(solver):
    with pytest.raises(ValueError, match=f"the solver {solver} ends on the host"):
        js.solve(np.zeros((1, 16), np.uint8), FOUR, solver=solver, results="device")
