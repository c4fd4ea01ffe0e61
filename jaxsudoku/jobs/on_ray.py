"""Workers as actors of Ray Data, on a cluster or on this machine. Needs the extra ``ray``."""

from __future__ import annotations

import logging
import os
import pickle
import tempfile
from collections.abc import Callable, Iterator, Sequence
from typing import Any

from .pool import JobError, Task


class Actor:
    """A worker: does the items of a data set, a row at a time. Rows carry the task, so that actors can be restarted."""

    def __init__(self) -> None:
        _claim_core()
        self._function: Callable[[Any], Any] | None = None

    def __call__(self, row: dict[str, Any]) -> dict[str, Any]:
        """The result of an item, or the error, pickled."""
        try:
            if self._function is None:
                self._function = pickle.loads(row["task"]).begin()
            result = self._function(pickle.loads(row["item"]))
        except Exception as error:  # raised again by ``run``
            return {"number": row["number"], "result": pickle.dumps(_portable(error)), "failed": True}
        return {"number": row["number"], "result": pickle.dumps(result), "failed": False}


def run(count: int | None, task: Task, items: Sequence[Any]) -> Iterator[tuple[int, Any]]:
    """As ``pool.run``, with ``count`` actors, or one for each GPU, or else core, of the cluster."""
    ray = _import_ray()
    started = not ray.is_initialized()
    if started:
        try:
            os.environ.setdefault("RAY_BACKEND_LOG_LEVEL", "fatal")  # it reports as an error how Ray Data makes actors
            ray.init(log_to_driver=False, logging_level="ERROR")
        except ConnectionError as error:
            raise JobError(f"no cluster of Ray at {os.environ.get('RAY_ADDRESS', 'auto')}: {error}") from error
    try:
        resources = ray.cluster_resources()
        gpus, cores = int(resources.get("GPU", 0)), int(resources.get("CPU", 0))
        count = count or gpus or cores
        if count > (gpus or cores):
            have = f"{gpus} GPUs" if gpus else f"{cores} cores"
            raise JobError(f"{count} workers, but the cluster has {have}: a worker needs one of its own")
        logging.getLogger("ray.data").setLevel(logging.ERROR)
        context = ray.data.DataContext.get_current()
        context.enable_progress_bars = context.print_on_execution_start = False
        pickled = pickle.dumps(task)
        rows = [{"number": number, "task": pickled, "item": pickle.dumps(item)} for number, item in enumerate(items)]
        results = ray.data.from_items(rows, override_num_blocks=len(rows)).map(
            Actor,
            compute=ray.data.ActorPoolStrategy(size=min(count, len(rows)), max_tasks_in_flight_per_actor=2),
            **({"num_gpus": 1} if gpus else {"num_cpus": 1}),
        )
        for row in results.iter_rows():
            result = pickle.loads(row["result"])
            if row["failed"]:
                raise result
            yield int(row["number"]), result
    except ray.exceptions.RayError as error:
        cause = str(error).strip().splitlines()[-1]
        raise JobError(f"a worker of Ray failed: {cause}; is jaxsudoku installed on every machine?") from error
    finally:
        if started:
            ray.shutdown()


def _import_ray() -> Any:
    try:
        import ray
        import ray.data
        import ray.exceptions
    except ImportError as error:
        raise ImportError("workers on Ray need the extra ray: pip install 'jaxsudoku[ray]'") from error
    return ray


def _portable(error: Exception) -> Exception:
    """An error that can be pickled."""
    try:
        pickle.loads(pickle.dumps(error))
    except Exception:
        return JobError(f"{type(error).__name__}: {error}")
    return error


def _claim_core() -> None:
    """Keeps to a core of this machine that no other worker has, until the process ends.

    Ray gives an actor a number of cores, but does not say which.
    """
    if not hasattr(os, "sched_setaffinity"):
        return
    import fcntl

    for core in sorted(os.sched_getaffinity(0)):
        name = os.path.join(tempfile.gettempdir(), f"jaxsudoku-core-{os.getuid()}-{core}.lock")
        held = os.open(name, os.O_WRONLY | os.O_CREAT, 0o600)
        try:
            fcntl.flock(held, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            os.close(held)
            continue
        os.sched_setaffinity(0, {core})
        return
