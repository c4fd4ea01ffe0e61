"""Runs a task on many items with several fault-tolerant workers: processes of this machine, or actors of Ray."""

from __future__ import annotations

import dataclasses
import platform
from collections.abc import Callable, Iterator, Sequence
from typing import Any

from jaxsudoku._version import __version__

from .task import JobError, Task


@dataclasses.dataclass(frozen=True)
class Workers:
    """Number and kind of the workers of a job.

    Attributes:
      count: their number; None for one per GPU of the cluster, or per core if it has no GPU.
      ray: whether they are actors of Ray instead of processes of this machine.
    """

    count: int | None
    ray: bool = False

    @classmethod
    def parse(cls, text: str) -> Workers:
        """Parses ``4``, ``ray`` or ``ray:4``.

        Raises:
          ValueError: anything else.
        """
        kind, _, count = text.partition(":") if text.startswith("ray") else ("", "", text)
        if kind not in ("", "ray") or (not text.isdecimal() and text != "ray" and not count.isdecimal()):
            raise ValueError(f"{text!r} is neither a number of processes nor ray or ray:N")
        number = int(count) if count else None
        if number == 0:
            raise ValueError("there must be at least 1 worker")
        return cls(number, kind == "ray")

    def __str__(self) -> str:
        if not self.ray:
            return f"{self.count}"
        return "ray" if self.count is None else f"ray:{self.count}"


def run(workers: Workers, task: Task, items: Sequence[Any]) -> Iterator[tuple[int, Any]]:
    """Yields (number of the item, result) for all items, in the order in which they are finished.

    The item of a worker that dies is repeated by another one. Errors of the task are raised here, and end the workers.

    Args:
      workers: the workers.
      task: the work on an item.
      items: the items; a worker holds one at a time.

    Raises:
      JobError: workers die repeatedly, have other versions than this process, or there is no cluster.
      ImportError: Ray is missing.
    """
    if not items:
        return
    if workers.ray:
        from . import on_ray

        yield from on_ray.run(workers.count, Checked(task, versions()), items)
    else:
        from . import processes

        assert workers.count is not None
        yield from processes.run(workers.count, Checked(task, versions()), items)


def run_in_order(workers: Workers, task: Task, items: Sequence[Any]) -> Iterator[Any]:
    """Yields the results of ``run`` in the order of the items; buffers those that arrive early."""
    held: dict[int, Any] = {}
    due = 0
    for number, result in run(workers, task, items):
        held[number] = result
        while due in held:
            yield held.pop(due)
            due += 1


def versions() -> dict[str, str]:
    """This process's versions of software that results may depend on."""
    import importlib.metadata  # slow to import, and few commands need it

    return {
        "python": ".".join(platform.python_version_tuple()[:2]),
        "jaxsudoku": __version__,
        "jax": importlib.metadata.version("jax"),
        "numpy": importlib.metadata.version("numpy"),
    }


@dataclasses.dataclass(frozen=True)
class Checked:
    """A task whose workers must have the versions of the process that starts them.

    Attributes:
      task: the task.
      versions: ``versions()`` of the process that starts the workers.
    """

    task: Task
    versions: dict[str, str]

    def begin(self) -> Callable[[Any], Any]:
        """Begins the task; raises JobError if the versions differ."""
        own = versions()
        other = [f"{name} {own[name]}, not {here}" for name, here in self.versions.items() if own[name] != here]
        if other:
            raise JobError(f"a worker on {platform.node()} has {'; '.join(other)}: install the same versions on all")
        return self.task.begin()
