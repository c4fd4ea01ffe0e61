"""Contexts that change a global setting while any of them is open. No JAX."""

from __future__ import annotations

import contextlib
import threading
from collections.abc import Callable, Iterator


class SharedContext:
    """Changes a global setting while any of several nested or concurrent contexts is open.

    Args:
      change: changes the setting.
      restore: changes it back.
    """

    def __init__(self, change: Callable[[], object], restore: Callable[[], object]) -> None:
        self._change, self._restore = change, restore
        self._lock = threading.Lock()
        self._open = 0

    @contextlib.contextmanager
    def __call__(self) -> Iterator[None]:
        """A context; any thread may open it."""
        with self._lock:
            self._open += 1
            if self._open == 1:
                self._change()
        try:
            yield
        finally:
            with self._lock:
                self._open -= 1
                if not self._open:
                    self._restore()
