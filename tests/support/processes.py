"""Starts several processes of one Python program, as a job on several machines would, and ends them all."""

from __future__ import annotations

import os
import shutil
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from train.record import read

ROOT = Path(__file__).resolve().parents[2]

#: The flags of a program that is one of several processes.
PLACE = ("--coordinator", "{coordinator}", "--processes", "{processes}", "--process", "{process}")

#: Flags of training by which it has the network whose programs compile in the least time.
SMALL_NETWORK = ("--architecture", "cell_cnn", "--width", "8", "--features", "8", "--hidden", "8")

#: Seconds for a run of training, on a busy machine.
TIMEOUT = 420

#: Flags of Python under which warnings are errors, but that of a program that another process is still writing to the
#: folder of this run's programs, which is then compiled here as well.
WARNINGS_ARE_ERRORS = ("-W", "error", "-W", "ignore:Error reading persistent compilation cache entry")

#: Characters of a log that a failure shows.
_SHOWN = 6000


class Processes:
    """N processes of one Python program; a context manager, at whose end none of them is left.

    In an argument "{coordinator}" stands for the address of process 0, "{processes}" for their number and "{process}"
    for that of the process, so ``["-c", PROGRAM, "{coordinator}", "{processes}", "{process}"]`` runs a program that
    passes its arguments to ``distributed.start``. Standard output and error go to one log for each process.

    Args:
      arguments: the arguments of Python.
      count: the number of processes.
      folder: an existing folder for the logs, ``tmp_path`` of a test.
      devices: CPU devices of each process.
      environment: variables to set; None leaves a variable out.
    """

    def __init__(
        self,
        arguments: Sequence[str],
        count: int,
        folder: Path,
        devices: int = 1,
        environment: dict[str, str | None] | None = None,
    ) -> None:
        self.arguments = tuple(arguments)
        self.count = count
        self.folder = folder
        wanted = {"JAX_PLATFORMS": "cpu", "JAX_NUM_CPU_DEVICES": str(devices), "PYTHONUNBUFFERED": "1"}
        wanted |= environment or {}
        # what would make JAX find a cluster, or a proxy on the way to process 0
        outside = {name for name in os.environ if name.startswith("SLURM_") or name.lower().endswith("_proxy")}
        inherited = {name: value for name, value in os.environ.items() if name not in outside}
        self.environment = {name: value for name, value in (inherited | wanted).items() if value is not None}
        self.running: list[subprocess.Popen[bytes]] = []

    def __enter__(self) -> Processes:
        # The port is kept for this test: gRPC listens on it as well, as both sides allow that, and no one else can.
        self._reserved = _reserved_port()
        words = {"coordinator": f"localhost:{self._reserved.getsockname()[1]}", "processes": str(self.count)}
        try:
            for process in range(self.count):
                line = [_filled(argument, words | {"process": str(process)}) for argument in self.arguments]
                with self._log(process).open("wb") as log:
                    started = subprocess.Popen(
                        [sys.executable, *line],
                        cwd=ROOT,
                        env=self.environment,
                        stdin=subprocess.DEVNULL,
                        stdout=log,
                        stderr=subprocess.STDOUT,
                        start_new_session=True,
                    )
                self.running.append(started)
        except BaseException:
            self._end()
            raise
        return self

    def __exit__(self, *error: object) -> None:
        self._end()

    def wait(self, timeout: float) -> list[int]:
        """The exit statuses of all processes, negative for signals.

        Raises:
          AssertionError: some process is running after ``timeout`` seconds; the message has all logs.
        """
        until = time.monotonic() + timeout
        for process in range(self.count):
            self.wait_for(process, until - time.monotonic())
        return [started.returncode for started in self.running]

    def wait_for(self, process: int, timeout: float) -> int:
        """The exit status of one process; raises as ``wait`` does."""
        try:
            return self.running[process].wait(max(0, timeout))
        except subprocess.TimeoutExpired:
            raise AssertionError(f"process {process} is still running\n{self.logs()}") from None

    def succeed(self, timeout: float) -> None:
        """Waits for all processes, and raises AssertionError with all logs if one fails or takes longer."""
        until = time.monotonic() + timeout
        waiting = set(range(self.count))
        while waiting:
            ended = {process: self.running[process].poll() for process in waiting}
            failed = {process: status for process, status in ended.items() if status}
            assert not failed, f"exit statuses {failed}\n{self.logs()}"
            waiting -= {process for process, status in ended.items() if status == 0}
            assert not waiting or time.monotonic() < until, f"still running: {sorted(waiting)}\n{self.logs()}"
            time.sleep(0.05)

    def wait_until_said(self, text: str, timeout: float, processes: Sequence[int] | None = None) -> None:
        """Waits until the logs of the processes, by default all, contain a text.

        Raises:
          AssertionError: a process ends without having written it, or takes longer; the message has all logs.
        """
        until = time.monotonic() + timeout
        for process in range(self.count) if processes is None else processes:
            while text not in self.log(process):
                ended = self.running[process].poll() is not None and text not in self.log(process)
                assert not ended, f"process {process} ended and has not written {text!r}\n{self.logs()}"
                late = time.monotonic() > until
                assert not late, f"process {process} has not written {text!r} in {timeout} s\n{self.logs()}"
                time.sleep(0.05)

    def kill(self, process: int) -> None:
        """Kills a process by SIGKILL, with all that it started, and waits for its end."""
        _kill(self.running[process])

    def log(self, process: int) -> str:
        """What a process has written so far, output and errors."""
        return self._log(process).read_text(errors="replace")

    def logs(self) -> str:
        """The ends of all logs, for messages."""
        states = {process: started.poll() for process, started in enumerate(self.running)}
        return "\n".join(
            f"--- process {process}, {'running' if state is None else f'exit status {state}'}\n"
            f"{self.log(process)[-_SHOWN:]}"
            for process, state in states.items()
        )

    def _log(self, process: int) -> Path:
        return self.folder / f"process-{process}.log"

    def _end(self) -> None:
        for started in self.running:
            _kill(started)
        self._reserved.close()


def _kill(started: subprocess.Popen[bytes]) -> None:
    if started.poll() is None:  # else its number may be another's
        os.killpg(started.pid, signal.SIGKILL)
        started.wait()


def _filled(argument: str, words: dict[str, str]) -> str:
    """An argument with values in place of names in braces; other braces stay."""
    for name, value in words.items():
        argument = argument.replace(f"{{{name}}}", value)
    return argument


def _reserved_port() -> socket.socket:
    """A socket that holds a free port on all addresses and does not listen; the coordinator may listen there too."""
    family, address = (socket.AF_INET6, "::") if socket.has_dualstack_ipv6() else (socket.AF_INET, "0.0.0.0")
    holder = socket.socket(family, socket.SOCK_STREAM)
    holder.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEPORT, 1)
    if family == socket.AF_INET6:
        holder.setsockopt(socket.IPPROTO_IPV6, socket.IPV6_V6ONLY, 0)
    holder.bind((address, 0))
    return holder


def run(
    arguments: Sequence[str],
    count: int,
    folder: Path,
    *,
    devices: int = 1,
    timeout: float = 120,
    environment: dict[str, str | None] | None = None,
) -> list[str]:
    """Runs a program in several processes until all end, and returns their logs; the arguments are ``Processes``'.

    Raises:
      AssertionError: a process fails, or takes longer than ``timeout`` seconds; the message has all logs.
    """
    with Processes(arguments, count, folder, devices, environment) as job:
        job.succeed(timeout)
        return [job.log(process) for process in range(count)]


def alone(arguments: Sequence[str]) -> None:
    """Runs a program, which must succeed, in one process with two devices."""
    settings = {"JAX_PLATFORMS": "cpu", "JAX_NUM_CPU_DEVICES": "2"}
    done = subprocess.run(
        [sys.executable, *arguments],
        cwd=ROOT,
        env=os.environ | settings,
        capture_output=True,
        text=True,
        timeout=TIMEOUT,
    )
    assert done.returncode == 0, done.stderr


def reports(folder: Path) -> list[dict[str, Any]]:
    """What a run of training reported, but for times."""
    return [
        {name: value for name, value in line.items() if name not in ("seconds", "positions_per_second")}
        for line in read(folder / "metrics.jsonl")
    ]


def saved(folder: Path) -> list[int]:
    """The steps of the checkpoints of a run of training."""
    there = folder / "checkpoints"
    return sorted(int(entry) for entry in os.listdir(there) if entry.isdecimal()) if there.exists() else []


def interrupted(run: Path, folder: Path) -> Path:
    """A copy of a whole run of training without its last checkpoint and its networks, from where it can be resumed.

    Its log still has the later lines, as that of a run that was killed may have; a resumed run drops them.
    """
    shutil.copytree(run, folder)
    *_, last = saved(folder)
    shutil.rmtree(folder / "checkpoints" / str(last))
    for file in folder.glob("network*"):
        file.unlink()
    assert saved(folder)
    return folder
