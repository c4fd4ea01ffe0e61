"""Workers as processes of this machine, each with a share of the cores or its own GPU."""

from __future__ import annotations

import collections
import concurrent.futures
import multiprocessing
import os
import signal
import threading
from collections.abc import Callable, Generator, Sequence
from concurrent.futures.process import BrokenProcessPool, ProcessPoolExecutor
from multiprocessing.context import SpawnContext
from pathlib import Path
from typing import Any

from .task import MOST_DEATHS, JobError, Task

#: Items submitted per worker: the current one and the next.
_AHEAD = 2

#: Seconds between calls of ``meanwhile``.
_SECOND = 1.0

#: In a worker: the task's function of an item, once it has begun.
_function: Callable[[Any], Any] | None = None


def run(
    count: int, task: Task, items: Sequence[Any], meanwhile: Callable[[], None] | None = None
) -> Generator[tuple[int, Any], None, None]:
    """``pool.run`` with ``count`` processes; ``meanwhile`` is called about once a second until the end."""
    places = _places(count)
    waiting = collections.deque(range(len(items)))
    deaths = 0
    while waiting:
        others = set(multiprocessing.active_children())
        context = multiprocessing.get_context("spawn")
        pool = ProcessPoolExecutor(count, context, _settle, (_numbers(context, count), places))
        running: dict[concurrent.futures.Future[Any], int] = {}
        try:
            while waiting or running:
                while waiting and len(running) < _AHEAD * count:
                    call = pool.submit(_do, task, items[waiting[0]])
                    running[call] = waiting.popleft()
                patience = None if meanwhile is None else _SECOND
                done, _ = concurrent.futures.wait(running, patience, concurrent.futures.FIRST_COMPLETED)
                if meanwhile is not None:
                    meanwhile()
                for future in sorted(done, key=running.__getitem__):  # a worker finishes its items in this order
                    result = future.result()
                    deaths = 0
                    yield running.pop(future), result
            pool.shutdown()
        except BrokenProcessPool as error:
            deaths += 1
            if deaths == MOST_DEATHS:
                parts = ", ".join(str(items[number]) for number in sorted(running.values())[:count])
                raise JobError(
                    f"workers died {deaths} times in a row, killed or out of memory, at one of: {parts}"
                ) from error
            waiting.extendleft(sorted(running.values(), reverse=True))
        finally:
            pool.shutdown(wait=False, cancel_futures=True)
            for process in set(multiprocessing.active_children()) - others:
                process.kill()


def _places(count: int) -> list[dict[str, str]]:
    """Environment variables of each worker, which select its GPU; empty on machines without GPUs."""
    if os.environ.get("JAX_PLATFORMS", "").split(",")[0] == "cpu":
        return [{}] * count
    named = os.environ.get("CUDA_VISIBLE_DEVICES")
    gpus = named.split(",") if named else [str(number) for number, _ in enumerate(Path("/dev").glob("nvidia[0-9]*"))]
    if not gpus:
        return [{}] * count
    if count > len(gpus):
        raise JobError(f"{count} workers, but {len(gpus)} GPUs: a worker needs one of its own")
    return [{"CUDA_VISIBLE_DEVICES": gpu} for gpu in gpus[:count]]


def _numbers(context: SpawnContext, count: int) -> Any:
    """A queue of the numbers of a pool's workers; each worker takes one."""
    numbers = context.SimpleQueue()
    for number in range(count):
        numbers.put(number)
    return numbers


def _settle(numbers: Any, places: list[dict[str, str]]) -> None:
    """Initializes a worker before JAX is loaded: signals, devices and cores."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # the parent process handles Ctrl-C and ends the workers
    parent = multiprocessing.parent_process()
    assert parent is not None
    threading.Thread(target=_end_with, args=(parent,), daemon=True).start()
    number = numbers.get()
    os.environ.update(places[number])
    if hasattr(os, "sched_setaffinity"):
        cores = sorted(os.sched_getaffinity(0))
        os.sched_setaffinity(0, cores[number % len(cores) :: len(places)])


def _end_with(parent: Any) -> None:
    """Ends the worker when the parent process has ended, even by a kill."""
    parent.join()
    os._exit(1)


def _do(task: Task, item: Any) -> Any:
    """The task's result for an item."""
    global _function
    if _function is None:
        _function = task.begin()
    return _function(item)
