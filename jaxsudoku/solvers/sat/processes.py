"""Processes of SAT solvers. They are kept for later puzzles, and end with this process."""

from __future__ import annotations

import atexit
import concurrent.futures
import contextlib
import functools
import os
import pickle
import select
import subprocess
import sys
import threading
import warnings
from collections.abc import Sequence
from typing import Any

import numpy as np

from jaxsudoku.runtime.devices import usable_cores

from .encoding import Formula

#: The true variables, or None if there are none, and the number of conflicts.
Answer = tuple[np.ndarray | None, int]

#: Seconds between looks at whether this process ends.
_SECOND = 1.0

_COMMAND = (sys.executable, "-m", "jaxsudoku.solvers.sat.engine")


def answers(engine: str, formulas: Sequence[Formula], seconds: float | None) -> list[Answer | None]:
    """The answers of a SAT solver, in order; formulas are solved in one process per core.

    Args:
      engine: the name of the SAT solver in python-sat.
      formulas: the clauses of each.
      seconds: seconds for a formula; None for no limit.

    Returns:
      the answers; None for a formula that took too long, or whose process was killed, with a warning.

    Raises:
      RuntimeError: the processes cannot be started, or are interrupted.
    """
    ask = functools.partial(_pool().ask, engine, seconds)
    with concurrent.futures.ThreadPoolExecutor(usable_cores()) as threads:
        return list(threads.map(ask, formulas))


class _Pool:
    """Idle processes, and as many at work as there are cores, for all threads together."""

    def __init__(self) -> None:
        self._idle: list[subprocess.Popen[bytes]] = []
        self._lock = threading.Lock()
        self._places = threading.BoundedSemaphore(usable_cores())

    def ask(self, engine: str, seconds: float | None, formula: Formula) -> Answer | None:
        """The answer of one process; None if it took too long, or the solver was killed."""
        with self._places:
            with self._lock:
                process = self._idle.pop() if self._idle else None
            process = process or _started()
            try:
                answer = _asked(process, (engine, formula, seconds))
            except (EOFError, OSError) as error:
                raise RuntimeError(f"a process of {engine} ended with exit status {_ended(process)}") from error
            except BaseException:
                _ended(process)
                raise
            with self._lock:
                self._idle.append(process)
        if isinstance(answer, int):
            words = f"{engine} ended with exit status {answer}: its puzzle is left unsolved"
            warnings.warn(words, RuntimeWarning, stacklevel=2)
            return None
        found: Answer | None = answer
        return found

    def end(self) -> None:
        """Ends the idle processes."""
        with self._lock:
            while self._idle:
                _ended(self._idle.pop())


_pools: dict[int, _Pool] = {}
_making = threading.Lock()


def _pool() -> _Pool:
    """The pool of this process; a fork has its own."""
    with _making:
        if os.getpid() not in _pools:
            _pools[os.getpid()] = _Pool()
            atexit.register(_pools[os.getpid()].end)
        return _pools[os.getpid()]


def _started() -> subprocess.Popen[bytes]:
    """A process that is ready; raises RuntimeError if it does not start."""
    process = subprocess.Popen(_COMMAND, stdin=subprocess.PIPE, stdout=subprocess.PIPE)
    try:
        _answer(process)
    except EOFError:
        status = _ended(process)
        raise RuntimeError(f"{' '.join(_COMMAND)} does not start: exit status {status}") from None
    return process


def _ended(process: subprocess.Popen[bytes]) -> int:
    """Ends a process, and its solver with it; returns its exit status."""
    assert process.stdin is not None and process.stdout is not None
    with contextlib.suppress(OSError):  # what it has not read
        process.stdin.close()
    process.stdout.close()
    return process.wait()


def _asked(process: subprocess.Popen[bytes], question: tuple[str, Formula, float | None]) -> Any:
    assert process.stdin is not None
    pickle.dump(question, process.stdin)
    process.stdin.flush()
    return _answer(process)


def _answer(process: subprocess.Popen[bytes]) -> Any:
    """What a process writes next; raises EOFError if it ends, RuntimeError if this process does."""
    assert process.stdout is not None
    while not select.select([process.stdout], [], [], _SECOND)[0]:
        if not threading.main_thread().is_alive():  # threads are waited for
            raise RuntimeError("the process ends before the SAT solver does")
    return pickle.load(process.stdout)
