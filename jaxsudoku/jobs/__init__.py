"""Jobs: much work cut into items, which several worker processes do, on one machine or on a cluster. No JAX.

A ``Task`` says what a worker does with an item; ``pool`` runs it on processes of this machine or on Ray. ``JobFolder``
keeps what the items give: a job that is stopped, even killed, goes on where it was.
"""

from .folder import JobFolder, Plan, Record
from .pool import Workers, run, run_in_order
from .task import JobError, Task

__all__ = ["JobError", "JobFolder", "Plan", "Record", "Task", "Workers", "run", "run_in_order"]
