"""Programs of several processes: start, barriers and end.

A thin layer over ``jax.distributed``, whose coordination service runs in process 0. It uses no collectives of devices,
so barriers have timeouts and failures have messages.
"""

from __future__ import annotations

import collections
import os
import sys
import time
from types import TracebackType
from typing import NoReturn

import jax

# JAX has no public API for the client of the coordination service; its own multihost_utils uses this one.
from jax._src.distributed import global_state

from jaxsudoku.runtime.settings import whole_number

#: Seconds without a heartbeat after which a process is dead. JAX then ends all others.
HEARTBEAT_TIMEOUT = 20

#: Further seconds until all processes know of a death.
_NOTICE = 5

#: The heartbeat timeout of this process.
_heartbeat_timeout = HEARTBEAT_TIMEOUT

#: How often this process has met each barrier.
_visits: collections.Counter[str] = collections.Counter()


def start(
    coordinator: str | None = None,
    processes: int | None = None,
    process: int | None = None,
    *,
    timeout: int = 300,
    heartbeat_timeout: int = HEARTBEAT_TIMEOUT,
    shutdown_timeout: int = 300,
) -> None:
    """Joins this process to the others, by ``jax.distributed.initialize``; call it before anything else of JAX.

    Without arguments JAX finds the other processes: in a SLURM job, under Open MPI, and on a TPU pod. Otherwise give
    the first three. On CPUs collectives are gloo's, JAX's default.

    From then on a failure of one process ends all:

    - A process that is killed, or whose machine is lost, ends all others within ``heartbeat_timeout`` seconds and a few
      more. JAX writes the reason to their standard error: "The following tasks are unhealthy" and the numbers of the
      dead processes. The death of process 0 ends the others at once; JAX calls it "the leader task".
    - An uncaught exception ends its process by ``end_at_once``, unless Python is interactive.
    - A process that ends in the ordinary way waits at its exit until all others end, at most ``shutdown_timeout``
      seconds, after which JAX ends all. If some may end much later than others, meet at a ``barrier`` first.

    A second call with the same arguments, or with none, does nothing.

    Args:
      coordinator: "host:port" of process 0, any free port there; the other processes connect to it.
      processes: the number of processes.
      process: the number of this process, from 0.
      timeout: seconds to wait until all processes have joined. JAX ends a process that waits longer, with "Deadline
        Exceeded".
      heartbeat_timeout: seconds without a heartbeat after which a process is dead.
      shutdown_timeout: seconds that a process waits at its exit for the others.

    Raises:
      ValueError: some of the first three arguments without the others; a number out of range, a coordinator without a
        port; or no arguments where JAX finds no cluster.
      RuntimeError: JAX has computed already, or this process has joined others with other arguments.
    """
    given = (coordinator, processes, process)
    if any(value is None for value in given) and any(value is not None for value in given):
        raise ValueError(
            "give coordinator, processes and process together, or none of them where JAX finds the processes: in a "
            f"SLURM job, under Open MPI, on a TPU pod; got coordinator={coordinator!r}, processes={processes!r}, "
            f"process={process!r}"
        )
    if coordinator is not None:
        processes = whole_number("processes", processes, 1)
        process = whole_number("process", process, 0, processes - 1)
        host, _, port = coordinator.rpartition(":")
        if not host or not port.isdecimal():
            raise ValueError(f"coordinator must be host:port, such as 10.0.0.1:1234, not {coordinator!r}")
    timeout = whole_number("timeout", timeout, 1)
    heartbeat_timeout = whole_number("heartbeat_timeout", heartbeat_timeout, 1)
    shutdown_timeout = whole_number("shutdown_timeout", shutdown_timeout, 1)
    global _heartbeat_timeout
    if jax.distributed.is_initialized():
        running = (global_state.coordinator_address, global_state.num_processes, global_state.process_id)
        if coordinator is not None and (coordinator, processes, process) != running:
            raise RuntimeError(
                f"this process is process {running[2]} of {running[1]} already, with coordinator {running[0]}; it "
                f"can't join others as process {process} of {processes}, with coordinator {coordinator}"
            )
        return
    try:
        jax.distributed.initialize(
            coordinator,
            processes,
            process,
            initialization_timeout=timeout,
            heartbeat_timeout_seconds=heartbeat_timeout,
            shutdown_timeout_seconds=shutdown_timeout,
        )
    except ValueError as error:
        if coordinator is not None:
            raise
        raise ValueError(
            "JAX finds no other processes: this is not a SLURM job, an Open MPI program or a TPU pod. Give "
            "coordinator='host:port' of process 0, processes= and process="
        ) from error
    _heartbeat_timeout = heartbeat_timeout
    _end_at_failures()


def is_first() -> bool:
    """Whether this is process 0, which writes files; True in a program of one process."""
    return jax.process_index() == 0


def barrier(name: str, timeout: float) -> None:
    """Waits until all processes have reached the barrier of this name; returns at once in a program of one process.

    Uses the coordination service, not a collective of devices. A name may be used again, equally often in all
    processes. After a timeout the processes are out of step: end the program.

    Args:
      name: the name, the same in all processes.
      timeout: seconds to wait.

    Raises:
      TimeoutError: some processes did not arrive in time; the message has their numbers. Raised at once in a process
        that arrives after the timeout.
      RuntimeError: process 0, which runs the coordination service, has ended.
    """
    client = global_state.client
    if client is None or global_state.num_processes == 1:
        return
    place = f"jaxsudoku/barrier/{name}/{_visits[name]}"
    _visits[name] += 1
    mine = f"{place}/{global_state.process_id}"
    try:
        client.key_value_set(mine, "here")
        client.wait_at_barrier(place, max(1, round(1000 * timeout)))
        client.key_value_delete(mine)
    except jax.errors.JaxRuntimeError as error:
        raise _why(place, name, timeout) from error


def _why(place: str, name: str, timeout: float) -> Exception:
    """The error of a barrier that failed."""
    client = global_state.client
    assert client is not None
    try:
        arrived = {int(key.rpartition("/")[2]) for key, _ in client.key_value_dir_get(place)}
    except jax.errors.JaxRuntimeError:
        return RuntimeError(f"barrier {name!r}: process 0, the coordinator, can't be reached; it has ended")
    missing = [str(process) for process in range(global_state.num_processes) if process not in arrived]
    if not missing:
        return TimeoutError(f"barrier {name!r}: process {global_state.process_id} arrived after the others' timeout")
    which = f"process {missing[0]} has" if len(missing) == 1 else f"processes {', '.join(missing)} have"
    return TimeoutError(f"barrier {name!r}: {which} not arrived within {timeout:g} s")


def end_at_once(status: int = 1, error: BaseException | None = None) -> NoReturn:
    """Ends this process without waiting for the others; JAX then ends the others, as after a kill.

    For failures: an ordinary exit, including ``sys.exit``, waits for the others, which may be waiting for this process.
    Functions registered with ``atexit`` are not called.

    Args:
      status: the exit status.
      error: the failure, if it is an exception. An error of XLA or gloo may be a collective that failed because another
        process died. In this case the function first waits for the heartbeat timeout and a few seconds, in which JAX
        reports the dead process and ends this one.
    """
    try:
        if global_state.num_processes > 1 and _is_communication(error):
            seconds = _heartbeat_timeout + _NOTICE
            print(f"if another process has died, JAX says so within {seconds} s", file=sys.stderr, flush=True)
            time.sleep(seconds)
        sys.stdout.flush()
        sys.stderr.flush()
    finally:
        os._exit(status)


def _is_communication(error: BaseException | None) -> bool:
    """Whether the error or one of its causes may be a failed collective."""
    while error is not None:
        # gloo's errors in a program that is computed at once are ValueErrors
        if isinstance(error, jax.errors.JaxRuntimeError) or "Gloo" in str(error):
            return True
        error = error.__cause__ or error.__context__
    return False


def _end_at_failures() -> None:
    """Makes an uncaught exception end this process at once, after printing it."""
    show = sys.excepthook

    def fail(kind: type[BaseException], error: BaseException, trace: TracebackType | None) -> None:
        show(kind, error, trace)
        if not hasattr(sys, "ps1") and not sys.flags.interactive:
            end_at_once(error=error)

    sys.excepthook = fail
