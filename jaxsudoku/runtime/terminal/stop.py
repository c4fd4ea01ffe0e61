"""Handlers of SIGINT and SIGTERM, which end a run between two writes, never within one."""

from __future__ import annotations

import contextlib
import signal
import threading
from collections.abc import Callable, Iterator
from types import FrameType
from typing import Any

_SIGNALS = (signal.SIGINT, signal.SIGTERM)


class Stop(BaseException):
    """Raised when a signal asks the program to stop.

    Attributes:
      signal: the signal.
      advice: advice to the user, such as how to resume; may be empty.
    """

    def __init__(self, number: int) -> None:
        super().__init__(number)
        self.signal = signal.Signals(number)
        self.advice = ""


class Signals:
    """A context manager in which the first signal raises ``Stop`` in the main thread; the next one kills as usual."""

    def __init__(self) -> None:
        self._before: dict[int, Any] = {}
        self._holding = False
        self._caught: int | None = None
        self._pass: Callable[[int], object] | None = None
        self._passed = False

    def __enter__(self) -> Signals:
        if threading.current_thread() is threading.main_thread():
            for number in _SIGNALS:
                # a shell makes its background jobs ignore Ctrl-C on purpose
                if signal.getsignal(number) is not signal.SIG_IGN:
                    self._before[number] = signal.signal(number, self._handle)
        return self

    def __exit__(self, *_: object) -> None:
        for number, handler in self._before.items():
            signal.signal(number, handler)

    @contextlib.contextmanager
    def held(self) -> Iterator[None]:
        """A context that a first signal doesn't interrupt; ``Stop`` is raised at its end."""
        self._check()  # raises a Stop again that Python ignored because it was raised in a finalizer
        self._holding = True
        try:
            yield
        finally:
            self._holding = False
        self._check()

    @contextlib.contextmanager
    def passed_to(self, receive: Callable[[int], object]) -> Iterator[None]:
        """A context in which a first signal only calls a function; the next one raises ``Stop``."""
        self._check()
        self._pass = receive
        try:
            yield
        finally:
            self._pass = None

    def _check(self) -> None:
        if self._caught is not None:
            self._raise(self._caught)

    def _handle(self, number: int, _: FrameType | None) -> None:
        if self._pass is not None and not self._passed:
            self._passed = True
            self._pass(number)
            return
        first, self._caught = self._caught is None and not self._passed, number
        if not (self._holding and first):
            self._raise(number)

    def _raise(self, number: int) -> None:
        for caught in self._before:
            signal.signal(caught, signal.SIG_DFL)
        raise Stop(number)
