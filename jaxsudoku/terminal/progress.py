"""Progress on the standard error: a live line on a terminal and in a notebook, a line now and then elsewhere."""

from __future__ import annotations

import contextlib
import os
import shutil
import stat
import sys
import threading
import time
import weakref
from collections.abc import Callable, Iterator
from typing import Any

from jaxsudoku.escapes import shown as escaped
from jaxsudoku.terminal.streams import print_error

#: A progress callback: how much is done, and how much there is.
Report = Callable[[int, int], object]

#: Seconds between two updates of the live line, and between two updates of the time that a long step takes.
_PAUSE, _TICK = 0.1, 1.0
#: Without a terminal, seconds until the first line, and the longest wait for another; each wait is twice the last.
_FIRST_LINE, _LAST_LINE = 30.0, 600.0
#: Characters of a bar.
_WIDTH = 20


def is_live(stream: Any) -> bool:
    """Whether a carriage return in a stream goes back to the start of a line: on a terminal, and in a notebook."""
    return bool(stream.isatty()) or type(stream).__module__.startswith("ipykernel.")


class Screen:
    """Messages, and a line of progress below them.

    A terminal or a notebook shows the progress in one line that is overwritten, with the time since it last changed, so
    that something moves while a program compiles or a long batch runs. Elsewhere it is printed after 30 seconds, then
    after twice as long, and so on. A thread updates the line while there is one.

    Args:
      bar: whether to show progress.
      messages: whether to show messages.
    """

    def __init__(self, bar: bool, messages: bool = True) -> None:
        self._bar, self._messages, self._terminal = bar, messages, is_live(sys.stderr)
        self._lock = threading.RLock()
        self._width = 0
        self._text = ""
        self._last = self._changed = 0.0
        self._wait, self._next_line = _FIRST_LINE, time.monotonic() + _FIRST_LINE
        self._stopped: threading.Event | None = None

    def say(self, message: str) -> None:
        """Prints a line that stays."""
        with self._lock:
            self.clear()
            if self._messages:
                print_error(message)

    def show(self, text: str, *, now: bool = False) -> None:
        """Shows a text as the progress; without ``now`` at most ten times a second."""
        if not self._bar:
            return
        with self._lock:
            self._text, self._changed = escaped(text), time.monotonic()
            if now or self._changed - self._last >= _PAUSE:
                self._draw()
            if self._stopped is None:
                _shown.add(self)
                self._stopped = threading.Event()
                threading.Thread(target=self._tick, args=(self._stopped,), daemon=True).start()

    def clear(self) -> None:
        """Removes the progress from the terminal, until the next ``show``."""
        with self._lock:
            if self._stopped is not None:
                self._stopped.set()
                self._stopped = None
                _shown.discard(self)
            self._text = ""
            if self._width:
                print(f"\r{'':<{self._width}}\r", end="", file=sys.stderr, flush=True)
                self._width = 0

    def _tick(self, stopped: threading.Event) -> None:
        while not stopped.wait(_TICK):
            with self._lock:
                if not stopped.is_set():
                    self._draw()

    def _draw(self) -> None:
        self._last = time.monotonic()
        still = self._last - self._changed
        text = f"{self._text} ({duration(still)})" if still >= _TICK else self._text
        if self._terminal:
            text = text[: shutil.get_terminal_size().columns - 1]
            # spaces cover what is left of a longer text
            print(f"\r{text:<{self._width}}", end="", file=sys.stderr, flush=True)
            self._width = len(text)
        elif self._last >= self._next_line:
            print_error(text)
            self._wait = min(2 * self._wait, _LAST_LINE)
            self._next_line = self._last + self._wait


#: Screens that show progress, whose threads run.
_shown: weakref.WeakSet[Screen] = weakref.WeakSet()


def clear_screens() -> None:
    """Removes the progress of every screen, as when a command ends early."""
    for screen in list(_shown):
        screen.clear()


class Meter:
    """The rate and the time left of a task, measured from the first line on.

    Args:
      what: what is counted, such as "puzzles".
    """

    def __init__(self, what: str = "puzzles") -> None:
        self._what = what
        self._start: tuple[float, float] | None = None

    def line(self, done: int, count: int | None) -> str:
        """A bar, the share, the number, the rate and the time left; without a count only the number and the rate."""
        now = time.monotonic()
        if self._start is None:
            self._start = now, done
        seconds, fresh = now - self._start[0], done - self._start[1]
        rate = fresh / seconds if seconds > 0 and fresh > 0 else 0.0
        pace = f", {rate:,.0f}/s" if rate >= 10 else f", {rate:.2g}/s" if rate else ""
        if count is None:
            return f"{done:,} {self._what}{pace}"
        left = f", {duration((count - done) / rate)} left" if rate and done < count else ""
        return f"{bar(done / count if count else 1.0)} {done:,} of {count:,} {self._what}{pace}{left}"


@contextlib.contextmanager
def reports(progress: Report | bool | None, what: str = "puzzles") -> Iterator[Report]:
    """The callback of an argument ``progress``: the caller's own, a bar if it is True, else one that does nothing.

    Raises:
      ValueError: it is none of these.
    """

    def begun(screen: Screen) -> Report:
        meter = Meter(what)
        return lambda done, count: screen.show(meter.line(done, count), now=done in (0, count))

    with shown(progress, begun) as report:
        yield report


@contextlib.contextmanager
def shown(progress: Any, begin: Callable[[Screen], Callable[..., object]]) -> Iterator[Callable[..., Any]]:
    """As ``reports``, for callbacks with any arguments.

    Args:
      progress: the argument.
      begin: makes the callback that shows the progress on a screen.
    """
    if progress is None or progress is False:
        yield lambda *_: None
    elif progress is True:
        screen = Screen(bar=True)
        try:
            yield begin(screen)
        finally:
            screen.clear()
    else:
        yield called(progress)


def called(progress: Any) -> Callable[..., Any]:
    """The caller's progress callback; raises ValueError if it is not callable."""
    if not callable(progress):
        raise ValueError(f"progress must be True or a function to be called, not {progress!r}")
    callback: Callable[..., Any] = progress
    return callback


def share_read(source: Any) -> Callable[[], str]:
    """How much of an input has been read, as a function that gives a bar; "" unless the input is a regular file."""
    try:
        descriptor = source.fileno()
        status = os.fstat(descriptor)
    except (AttributeError, OSError):
        return str
    if not stat.S_ISREG(status.st_mode) or not status.st_size:
        return str
    return lambda: "" if source.closed else f"{bar(os.lseek(descriptor, 0, os.SEEK_CUR) / status.st_size)} "


def bar(share: float) -> str:
    """A share as a bar and in per cent."""
    share = min(max(share, 0.0), 1.0)
    full = int(share * _WIDTH)
    return f"[{'#' * full}{'.' * (_WIDTH - full)}] {int(100 * share):3}%"


def duration(seconds: float) -> str:
    """Seconds in words: "45 s", "12 min", "3 h 20 min"."""
    if seconds < 60:
        return f"{seconds:.0f} s"
    hours, minutes = divmod(round(seconds / 60), 60)
    return f"{hours} h {minutes} min" if hours else f"{minutes} min"
