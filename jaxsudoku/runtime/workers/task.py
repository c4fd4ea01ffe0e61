"""What workers of a job do."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Protocol

#: How often workers may die, one after the other, before an item is finished.
MOST_DEATHS = 3


class JobError(RuntimeError):
    """A job can't go on; the message is for the user."""


class Task(Protocol):
    """What workers do with items; pickled for them. Each worker begins once, and keeps what it has compiled."""

    def begin(self) -> Callable[[Any], Any]:
        """The function of an item, which returns what is pickled back; called in the worker."""
