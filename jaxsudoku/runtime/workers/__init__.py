"""Much work cut into items, which several workers do: processes of this machine, or actors of Ray. No JAX.

A ``Task`` says what a worker does with an item; ``run`` gives the results.
"""

from .pool import Workers, run, run_in_order
from .task import JobError, Task

__all__ = ["JobError", "Task", "Workers", "run", "run_in_order"]
