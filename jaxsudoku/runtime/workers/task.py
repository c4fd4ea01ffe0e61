"""Tasks of worker pools, and the error of a job."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Protocol

#: Maximum number of deaths of workers in a row before an item is finished.
MOST_DEATHS = 3


class JobError(RuntimeError):
    """Raised if a job can't continue; the message is for the user."""


class Task(Protocol):
    """Work on items; pickled for the workers. Each worker calls ``begin`` once, and keeps its compiled programs."""

    def begin(self) -> Callable[[Any], Any]:
        """Returns the function that is applied to items, with picklable results; called in the worker."""
