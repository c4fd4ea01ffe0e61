"""Workers as actors of Ray, on a cluster or on this machine. Needs the extra ``ray``."""

from __future__ import annotations

import os
import pickle
import tempfile
from collections.abc import Callable, Iterator, Sequence
from typing import Any

from .task import MOST_DEATHS, JobError, Task


class Actor:
    """A worker as an actor of Ray, which restarts it if its process dies.

    Args:
      task: the task, pickled.
    """

    def __init__(self, task: bytes) -> None:
        _claim_core()
        self._task = task
        self._function: Callable[[Any], Any] | None = None

    def do(self, number: int, item: bytes) -> tuple[int, bool, bytes]:
        """Returns (number of the item, whether it failed, the result or the error); items and results are pickled."""
        try:
            if self._function is None:
                self._function = pickle.loads(self._task).begin()
            result = self._function(pickle.loads(item))
        except Exception as error:  # raised again by ``run``
            return number, True, pickle.dumps(_portable(error))
        return number, False, pickle.dumps(result)


def run(count: int | None, task: Task, items: Sequence[Any]) -> Iterator[tuple[int, Any]]:
    """``pool.run`` with ``count`` actors; None for one per GPU of the cluster, or per core if it has no GPU."""
    ray = _import_ray()
    started = not ray.is_initialized()
    if started:
        try:
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
        # the item of a worker that dies is repeated by the actor that replaces it
        kind = ray.remote(Actor).options(
            num_cpus=0 if gpus else 1,
            num_gpus=1 if gpus else 0,
            max_restarts=-1,
            max_task_retries=MOST_DEATHS - 1,
        )
        pickled = pickle.dumps(task)
        pool = ray.util.ActorPool([kind.remote(pickled) for _ in range(min(count, len(items)))])
        numbered = ((number, pickle.dumps(item)) for number, item in enumerate(items))
        for number, failed, result in pool.map_unordered(lambda actor, each: actor.do.remote(*each), numbered):
            if failed:
                raise pickle.loads(result)
            yield number, pickle.loads(result)
    except ray.exceptions.RayError as error:
        cause = str(error).strip().splitlines()[-1]
        raise JobError(f"a worker of Ray failed: {cause}; is jaxsudoku installed on every machine?") from error
    finally:
        if started:
            ray.shutdown()


def _import_ray() -> Any:
    try:
        import ray
        import ray.exceptions
        import ray.util
    except ImportError as error:
        raise ImportError("workers on Ray need the extra ray: pip install 'jaxsudoku[ray]'") from error
    return ray


def _portable(error: Exception) -> Exception:
    """The error if it can be pickled, else a picklable one with its message."""
    try:
        pickle.loads(pickle.dumps(error))
    except Exception:
        return JobError(f"{type(error).__name__}: {error}")
    return error


def _claim_core() -> None:
    """Pins the process to a core of this machine that no other worker has, until the process ends.

    Ray gives an actor a number of cores, but not specific ones.
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
