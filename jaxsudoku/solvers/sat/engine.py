"""The process of a SAT solver: ``python -m jaxsudoku.solvers.sat.engine``.

It writes a pickle of True when it is ready. Then it reads pickles (name of the solver, formula, seconds or None) from
the standard input, and answers each by a pickle on the standard output: the true variables int32[k], or None if there
is no solution, and the conflicts; None after so many seconds; or the status of a solver that was killed.

A solver does not return to Python before it ends. So each formula has a process of its own, a fork, which is killed
when its time is over, and when the standard input is closed because the asking process is gone.
"""

from __future__ import annotations

import ctypes
import os
import pickle
import select
import signal
import sys
import time
import traceback
from typing import Any

import numpy as np

from .encoding import Formula

#: On Linux, the call by which a process is killed when its parent ends.
_PR_SET_PDEATHSIG = 1


def main() -> None:
    import pysat.solvers  # noqa: F401  # before it is ready

    signal.signal(signal.SIGINT, signal.SIG_DFL)
    output = os.fdopen(os.dup(1), "wb")
    os.dup2(2, 1)  # what a solver prints does not mix with answers
    answer: Any = True
    while True:
        pickle.dump(answer, output)
        output.flush()
        try:
            name, formula, seconds = pickle.load(sys.stdin.buffer)
        except EOFError:
            return
        answer = _in_a_fork(name, formula, seconds, (0, output.fileno()))


def _in_a_fork(name: str, formula: Formula, seconds: float | None, own: tuple[int, int]) -> Any:
    """The answer; exits when the standard input is closed. The fork closes the files ``own`` of this process."""
    result, end = os.pipe()
    child = os.fork()
    if not child:
        for file in (*own, result):
            os.close(file)
        if sys.platform.startswith("linux"):
            ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, signal.SIGKILL)
        status = 1
        try:
            with os.fdopen(end, "wb") as pipe:
                pickle.dump(_solved(name, formula), pipe)
            status = 0
        except BaseException:
            traceback.print_exc()
        os._exit(status)  # without the rest of the program
    os.close(end)
    stop = None if seconds is None else time.monotonic() + seconds
    waiting = select.poll()
    waiting.register(result, select.POLLIN)
    waiting.register(0, select.POLLIN)
    parts: list[bytes] = []
    try:
        while True:
            left = None if stop is None else max(stop - time.monotonic(), 0) * 1000
            ready = dict(waiting.poll(left))
            if 0 in ready:  # nothing is asked before the answer
                sys.exit(1)
            if not ready:
                return None
            part = os.read(result, 1 << 16)
            if not part:
                break
            parts.append(part)
    finally:
        os.close(result)
        if not parts:
            os.kill(child, signal.SIGKILL)
        _, status = os.waitpid(child, 0)
    return pickle.loads(b"".join(parts)) if status == 0 else os.waitstatus_to_exitcode(status)


def _solved(name: str, formula: Formula) -> tuple[np.ndarray | None, int]:
    from pysat.solvers import Solver

    with Solver(name, bootstrap_with=formula.clauses()) as solver:
        true = None
        if solver.solve():
            model = np.array(solver.get_model(), np.int32)
            true = model[model > 0]
        return true, int(solver.accum_stats()["conflicts"])


if __name__ == "__main__":
    main()
