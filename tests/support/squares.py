"""A task of workers, in a module that they import without JAX."""

from __future__ import annotations

import dataclasses
import os
import signal
from collections.abc import Callable
from pathlib import Path


@dataclasses.dataclass(frozen=True)
class Squares:
    """Squares of numbers; a worker that gets ``deadly`` dies, the first time alone if there is a file ``once``."""

    deadly: int = -1
    once: str = ""

    def begin(self) -> Callable[[int], tuple[int, int]]:
        return self._square

    def _square(self, number: int) -> tuple[int, int]:
        if number == 13:
            raise ValueError("13 has no square here")
        if number == self.deadly and not (self.once and os.path.exists(self.once)):
            if self.once:
                Path(self.once).touch()
            os.kill(os.getpid(), signal.SIGKILL)
        return number * number, os.getpid()
