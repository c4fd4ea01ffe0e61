"""Worker pools that process items in parallel: processes of this machine, or actors of Ray. No JAX.

A ``Task`` defines the work on an item; ``run`` yields the results.
"""

from .pool import Workers, run, run_in_order
from .task import JobError, Task

__all__ = ["JobError", "Task", "Workers", "run", "run_in_order"]
