"""Coordination of the processes of a run: agreement on settings, stopping together, and detection of failures.

Steps communicate by collectives of the devices. Everything else uses the key-value store of JAX's coordination service,
which runs in process 0; a thread in every process reads it once a second.

- A signal stops all processes after the same step. Each process publishes the step that it has begun; the largest one
  is the last step of all.
- A process that ends by an error publishes the cause, and the others end with its message.
- A process that is killed publishes nothing. The others see that its heartbeat has stopped, and end with its number.
  JAX detects the death of process 0, and ends the others at once, with a message about "the leader".
"""

from __future__ import annotations

import itertools
import json
import signal
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from types import TracebackType
from typing import Any, NoReturn

import jax

# JAX has no public API for the client of the coordination service; its own multihost_utils uses this one.
from jax._src.distributed import global_state

from jaxsudoku import distributed
from jaxsudoku.runtime.part_folder import differences
from jaxsudoku.runtime.terminal.failure import described
from jaxsudoku.runtime.terminal.stop import Stop
from jaxsudoku.runtime.terminal.streams import print_error

#: Seconds between checks of the other processes, for up to 64 processes; longer for more.
_TICK = 1.0

#: Seconds without a new heartbeat after which a process counts as lost.
_SILENT = 20.0

#: Seconds without a heartbeat of JAX after which JAX itself ends all processes, without our message. They count from
#: JAX's last heartbeat, up to half of this time before a process is killed.
HEARTBEAT_TIMEOUT = 50

#: Seconds without a new heartbeat after a failed collective, which shows that some process has ended.
_SILENT_AFTER_FAILURE = 6.0

#: Seconds for a process to end by itself, with its own message, after another has ended.
_GRACE = 5.0

#: The shortest and the longest pause, in seconds, while this process waits for others.
_SHORTEST, _LONGEST = 0.01, 0.5

#: Counter of the runs of this program, each of which has its own keys.
_runs = itertools.count()


def joined() -> int:
    """The number of processes; 1 without ``jaxsudoku.distributed.start``. Does not initialize devices."""
    return global_state.num_processes or 1


class ProcessError(Exception):
    """Raised if another process of the run has ended; the message has its number, and the cause if known.

    Attributes:
      status: the exit status for this process.
    """

    def __init__(self, message: str, status: int = 1) -> None:
        super().__init__(message)
        self.status = status


class Processes:
    """The processes of a run; a context manager that monitors the other processes.

    In a program of one process it monitors nothing and never waits.

    Attributes:
      index: the number of this process.
      count: the number of processes.
    """

    def __init__(self) -> None:
        self.index, self.count = jax.process_index(), jax.process_count()
        self._client: Any = global_state.client
        self._place = f"jaxsudoku/run/{next(_runs)}"
        self._exchanges, self._said = 0, ""
        self._tick = max(_TICK, self.count / 64)
        self._wake, self._closed, self._agreed = threading.Event(), False, threading.Event()
        self._leaving = False
        self._lock = threading.Lock()
        self._signal = ""  # that this process was sent, by name
        self._begun = 0
        self._limit: int | None = None
        self._last = 0
        self._stop = signal.SIGTERM
        self._lives: dict[int, tuple[str, float]] = {}  # of the others: their heartbeat, and when it changed
        self._ends: dict[int, tuple[ProcessError, float]] = {}  # and how they ended, and when that was seen
        self._thread = threading.Thread(target=self._watch, name="processes", daemon=True)

    @property
    def first(self) -> bool:
        """Whether this is process 0, which writes everything except the others' parts of checkpoints."""
        return self.index == 0

    @property
    def several(self) -> bool:
        """Whether there are other processes."""
        return self.count > 1

    def __enter__(self) -> Processes:
        if self.several:
            self._thread.start()
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        if not self.several:
            return
        try:
            if error is None:
                self.exchange("end")
            else:
                self._leaving = True
                lost = self._lost_soon() if _of_a_collective(error) else None
                self._say_end(lost or error)
                if lost:
                    raise lost from error
        finally:
            self._closed = True
            self._wake.set()
            self._thread.join()

    # ------------------------------------------------------------------ exchange of values

    def exchange(self, name: str, text: str = "") -> list[str]:
        """The texts of all processes, in the order of their numbers; waits for all of them.

        All processes must make the same exchanges in the same order. There is no timeout, as some may have much work,
        but the end of another process also ends this one.

        Args:
          name: the name of the exchange.
          text: the text of this process.
        """
        if not self.several:
            return [text]
        folder = f"{self._place}/said/{self._exchanges}-{name}"
        self._exchanges += 1
        self._client.key_value_set(f"{folder}/{self.index}", f"={text}")
        pause = _SHORTEST
        while len(found := self._client.key_value_dir_get(folder)) < self.count:
            time.sleep(pause)
            pause = min(2 * pause, _LONGEST)
        if self._said:  # all have reached this exchange, so they have read the previous one
            self._client.key_value_delete(self._said)
        self._said = f"{folder}/{self.index}"
        texts = {_process(key): text.removeprefix("=") for key, text in found}
        return [texts[process] for process in range(self.count)]

    def share(self, name: str, jobs: Sequence[Callable[[], Any]]) -> list[Any]:
        """The results of functions, JSON, in their order: each is called in one process, and its result sent to all."""
        own = [job() for job in jobs[self.index :: self.count]]
        if not self.several:
            return own
        told = list(map(json.loads, self.exchange(name, json.dumps(own))))
        return [told[job % self.count][job // self.count] for job in range(len(jobs))]

    def agree(self, facts: Mapping[str, Any]) -> None:
        """Raises ValueError unless all processes have the same facts, which are JSON."""
        first, *others = map(json.loads, self.exchange("facts", json.dumps(facts)))
        for process, other in enumerate(others, 1):
            if found := differences(first, other):
                raise ValueError(f"process {process} (here) isn't like process 0 (there): {'; '.join(found)}")

    # ------------------------------------------------------------------ stopping together

    def ask_to_stop(self, number: int) -> None:
        """Requests all processes to stop after a common step; may be called by a signal handler."""
        self._signal = signal.Signals(number).name
        self._wake.set()

    def stop_before(self, step: int) -> signal.Signals | None:
        """The signal for which all processes stop before the unit that ends at this step; None to continue."""
        if not self.several:
            return None
        with self._lock:
            if self._limit is None:
                self._begun = step
                return None
        self._agreed.wait()
        return self._stop if step > self._last else None

    # ------------------------------------------------------------------ the thread

    def _watch(self) -> None:
        for life in itertools.count():
            try:
                self._set("alive", str(life))
                self._look(self._view())
            except jax.errors.JaxRuntimeError:
                pass  # process 0 can't be reached: unless it is back in time, JAX ends this process
            if self._closed:
                return
            self._wake.wait(_SHORTEST if self._limit is not None and not self._agreed.is_set() else self._tick)
            self._wake.clear()

    def _view(self) -> dict[str, dict[int, str]]:
        """The values that all processes have set, by name and process."""
        found: dict[str, dict[int, str]] = {name: {} for name in ("alive", "signal", "limit", "ended")}
        for key, value in self._client.key_value_dir_get(f"{self._place}/set"):
            found[key.split("/")[-2]][_process(key)] = value
        return found

    def _set(self, name: str, value: str) -> None:
        self._client.key_value_set(f"{self._place}/set/{name}/{self.index}", value, allow_overwrite=True)

    def _look(self, view: dict[str, dict[int, str]]) -> None:
        now = time.monotonic()
        for process, life in view["alive"].items():
            if process != self.index and self._lives.get(process, ("", now))[0] != life:
                self._lives[process] = life, now
        for process, end in view["ended"].items():
            if process != self.index and process not in self._ends:
                fields = json.loads(end)
                self._ends[process] = ProcessError(fields["message"], fields["status"]), now
        self._agree_on_the_last(view)
        if not self._leaving and not self._closed and (lost := self._lost(_SILENT, _GRACE)):
            self._end(lost)

    def _agree_on_the_last(self, view: dict[str, dict[int, str]]) -> None:
        """Takes part in the agreement on the last step."""
        signals, limits = view["signal"], view["limit"]
        if self._signal and self.index not in signals:
            self._set("signal", self._signal)
            signals[self.index] = self._signal
        if signals and self._limit is None:
            with self._lock:
                self._limit = self._begun
            self._set("limit", str(self._limit))
        if len(limits) == self.count and not self._agreed.is_set():
            self._last, self._stop = max(map(int, limits.values())), signal.Signals[signals[min(signals)]]
            self._agreed.set()

    def _lost(self, silent: float, grace: float = 0.0) -> ProcessError | None:
        """Error of a process that ended ``grace`` seconds ago or sent no heartbeat for ``silent`` s; else None."""
        now = time.monotonic()
        for error, seen in self._ends.copy().values():
            if now - seen >= grace:
                return error
        lost = [process for process, (_, seen) in self._lives.copy().items() if now - seen >= silent]
        if not lost or self._ends:
            return None
        which = f"process {lost[0]} has" if len(lost) == 1 else f"processes {', '.join(map(str, sorted(lost)))} have"
        return ProcessError(f"{which} ended without a word: killed, or out of reach; continue with --resume")

    def _lost_soon(self) -> ProcessError | None:
        """Error of the process whose end made a collective fail; None if all are alive."""
        until = time.monotonic() + _SILENT_AFTER_FAILURE + 3 * self._tick
        while time.monotonic() < until:
            if lost := self._lost(_SILENT_AFTER_FAILURE):
                return lost
            time.sleep(_LONGEST)
        return None

    def _say_end(self, error: BaseException) -> None:
        """Reports the end of this process; process 0 then waits until the others have ended or are lost."""
        if isinstance(error, ProcessError):
            end = {"message": str(error), "status": error.status}
        elif isinstance(error, Stop):
            advice = f"process {self.index} was stopped by {error.signal.name}; {error.advice}"
            end = {"message": advice, "status": 128 + error.signal}
        else:
            cause = described(error) if isinstance(error, Exception) and str(error) else type(error).__name__
            end = {"message": f"process {self.index} has ended: {cause}", "status": 1}
        self._set("ended", json.dumps(end))
        if self.first:
            self._outlive()

    def _outlive(self) -> None:
        """Waits in process 0 for the end of the others, as its end makes JAX end them without our message."""
        until, others = time.monotonic() + 2 * _GRACE, set(range(1, self.count))
        while time.monotonic() < until and not set(self._ends) | self._silent() >= others:
            time.sleep(_LONGEST)
        time.sleep(_LONGEST)  # time for the last one to end

    def _silent(self) -> set[int]:
        now = time.monotonic()
        return {process for process, (_, seen) in self._lives.copy().items() if now - seen >= _SILENT_AFTER_FAILURE}

    def _end(self, error: ProcessError) -> NoReturn:
        """Ends this process from the monitoring thread, as the main thread may be waiting for the lost process."""
        print_error(f"train: error: {error}")
        self._leaving = True
        try:
            self._set("ended", json.dumps({"message": str(error), "status": error.status}))
            if self.first:
                self._outlive()
        finally:
            distributed.end_at_once(error.status)


def _of_a_collective(error: BaseException | None) -> bool:
    """Whether an error, or its cause, may come from a collective or barrier in which a process is missing."""
    while error is not None:
        if isinstance(error, jax.errors.JaxRuntimeError) or "Gloo" in str(error):
            return True
        error = error.__cause__ or error.__context__
    return False


def _process(key: str) -> int:
    return int(key.rpartition("/")[2])
