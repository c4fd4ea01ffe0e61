"""Being told to stop: SIGINT and SIGTERM end a run between two writes, never within one."""

from __future__ import annotations

import contextlib
import shlex
import signal
import threading
from collections.abc import Iterator, Sequence
from types import FrameType
from typing import Any, Protocol

_SIGNALS = (signal.SIGINT, signal.SIGTERM)


class Stop(BaseException):
    """A signal asks the program to stop.

    Attributes:
      signal: which.
      advice: what the user may do now, empty if nothing.
    """

    def __init__(self, number: int) -> None:
        super().__init__(number)
        self.signal = signal.Signals(number)
        self.advice = ""


class Signals:
    """A context manager in which the first signal raises ``Stop`` in the main thread; the next one kills as ever."""

    def __init__(self) -> None:
        self._before: dict[int, Any] = {}
        self._holding = False
        self._caught: int | None = None

    def __enter__(self) -> Signals:
        if threading.current_thread() is threading.main_thread():
            for number in _SIGNALS:
                # a shell makes its background jobs ignore Ctrl-C, and means it
                if signal.getsignal(number) is not signal.SIG_IGN:
                    self._before[number] = signal.signal(number, self._handle)
        return self

    def __exit__(self, *_: object) -> None:
        for number, handler in self._before.items():
            signal.signal(number, handler)

    @contextlib.contextmanager
    def held(self) -> Iterator[None]:
        """A block that a first signal doesn't interrupt: ``Stop`` is raised at its end."""
        self._check()  # a Stop that was raised where Python ignores exceptions, in a finalizer, is raised again
        self._holding = True
        try:
            yield
        finally:
            self._holding = False
        self._check()

    def _check(self) -> None:
        if self._caught is not None:
            self._raise(self._caught)

    def _handle(self, number: int, _: FrameType | None) -> None:
        first, self._caught = self._caught is None, number
        if not (self._holding and first):
            self._raise(number)

    def _raise(self, number: int) -> None:
        for caught in self._before:
            signal.signal(caught, signal.SIG_DFL)
        raise Stop(number)


class Abandonable(Protocol):
    """An output that can be left as it is, to be resumed."""

    def abandon(self) -> None:
        """Closes it; does nothing after it is finished."""


@contextlib.contextmanager
def resumable(output: str, argv: Sequence[str], sink: Abandonable) -> Iterator[None]:
    """A block whose output is closed at its end in any case; a ``Stop`` gets the command that resumes it.

    Args:
      output: the output's name, ``-`` for the standard output, which can't be resumed.
      argv: the arguments of the command.
      sink: the output.
    """
    try:
        yield
    except Stop as stop:
        if output != "-":
            stop.advice = f"{output} is whole as far as it goes; to go on: {go_on(argv)}"
        raise
    finally:
        sink.abandon()


def go_on(argv: Sequence[str]) -> str:
    """The command that goes on with a run of these arguments: without those that do not go with --resume."""
    end = argv.index("--") if "--" in argv else len(argv)  # what follows is no option
    parts, rest = [], iter(argv[:end])
    for part in rest:
        if part == "--history":
            next(rest)  # its file
        elif part not in ("--force", "--resume") and not part.startswith("--history="):
            parts.append(part)
    return shlex.join(["jaxsudoku", *parts, "--resume", *argv[end:]])
