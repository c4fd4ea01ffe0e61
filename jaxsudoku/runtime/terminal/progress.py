"""Progress on the standard error: a live line on a terminal or in a notebook, an occasional line elsewhere.

A task's line has the same parts everywhere: the stage (compiling or running), the share of the work that is done,
numbers, the rate and the time left.
"""

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

from jaxsudoku.runtime.escapes import shown as escaped
from jaxsudoku.runtime.terminal.streams import print_error

#: A progress callback: (amount done, total amount).
Report = Callable[[int, int], object]

#: Seconds between updates of the live line, and between updates of the elapsed time of a long step.
_PAUSE, _TICK = 0.1, 1.0
#: Without a terminal: seconds until the first line, and maximum seconds between lines; intervals double.
_FIRST_LINE, _LAST_LINE = 30.0, 600.0
#: Width of a bar in characters.
_WIDTH = 20


def is_live(stream: Any) -> bool:
    """Whether a stream is a terminal or a notebook, where a carriage return goes back to the start of the line."""
    return bool(stream.isatty()) or type(stream).__module__.startswith("ipykernel.")


class _Compiling:
    """Counts programs being compiled in this process, and the seconds in which there is at least one."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._programs, self._since, self._before = 0, 0.0, 0.0

    def __bool__(self) -> bool:
        return self._programs > 0

    def change(self, programs: int) -> None:
        """Changes the number of programs being compiled."""
        with self._lock:
            if self._programs:
                self._before += time.monotonic() - self._since
            self._programs += programs
            self._since = time.monotonic()

    @property
    def seconds(self) -> float:
        """Seconds of compilation so far."""
        with self._lock:
            return self._before + (time.monotonic() - self._since if self._programs else 0.0)


_compiling = _Compiling()


@contextlib.contextmanager
def compiling() -> Iterator[None]:
    """A context for compiling a program: progress shows the stage, and rates exclude the time."""
    _compiling.change(1)
    try:
        yield
    finally:
        _compiling.change(-1)


class Screen:
    """Messages, and a line of progress below them.

    On a terminal or in a notebook the progress is one line that is overwritten. It shows the time since the last
    change, updated by a thread, so that a user sees activity while a program compiles or a long batch runs. Elsewhere a
    line is printed after 30 seconds, then after twice as long, and so on.

    Args:
      bar: whether to show progress.
      messages: whether to show messages.
    """

    def __init__(self, bar: bool, messages: bool = True) -> None:
        self._bar, self._messages, self._terminal = bar, messages, is_live(sys.stderr)
        self._lock = threading.RLock()
        self._width = 0
        self._text, self._task = "", False
        self._last = self._changed = 0.0
        self._wait, self._next_line = _FIRST_LINE, time.monotonic() + _FIRST_LINE
        self._stopped: threading.Event | None = None

    def say(self, message: str) -> None:
        """Prints a line that stays."""
        with self._lock:
            self.clear()
            if self._messages:
                print_error(message)

    def show(self, text: str, *, now: bool = False, task: bool = False) -> None:
        """Shows a text as the progress.

        Args:
          text: the text.
          now: whether to show it at once; otherwise lines are limited to ten a second.
          task: whether it is a task's line, as from ``Meter``; its stage is shown before it.
        """
        if not self._bar:
            return
        with self._lock:
            moment, text = time.monotonic(), escaped(text)
            if text != self._text:
                self._changed = moment
            self._text, self._task = text, task
            if now or moment - self._last >= _PAUSE:
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
        stage = "compiling: " if _compiling else "running: " if self._task else ""
        text = f"{stage}{self._text} ({duration(still)})" if still >= _TICK else f"{stage}{self._text}"
        if self._terminal:
            text = text[: shutil.get_terminal_size().columns - 1]
            # spaces cover what is left of a longer text
            print(f"\r{text:<{self._width}}", end="", file=sys.stderr, flush=True)
            self._width = len(text)
        elif self._last >= self._next_line:
            print_error(text)
            self._wait = min(2 * self._wait, _LAST_LINE)
            self._next_line = self._last + self._wait


#: Screens that show progress and have a running thread.
_shown: weakref.WeakSet[Screen] = weakref.WeakSet()


def clear_screens() -> None:
    """Removes the progress of every screen, as when a command ends early."""
    for screen in list(_shown):
        screen.clear()


class Meter:
    """Formats a task's line: share, rate and time left, measured from the first line on, without compilation.

    Args:
      what: what is counted, such as "puzzles".
    """

    def __init__(self, what: str = "puzzles") -> None:
        self._what = what
        self._start: tuple[float, float] | None = None

    def line(self, done: int, count: int | None, about: bool = False) -> str:
        """A bar, the share, the number, the rate and the time left; without a count only the number and the rate.

        Args:
          done: the amount done.
          count: the total amount; None if unknown.
          about: whether the count is an estimate.
        """
        now = time.monotonic() - _compiling.seconds
        if self._start is None:
            self._start = now, done
        seconds, fresh = now - self._start[0], done - self._start[1]
        rate = fresh / seconds if seconds > 0 and fresh > 0 else 0.0
        pace = f", {per_second(rate)}" if rate else ""
        if count is None:
            return f"{done:,} {self._what}{pace}"
        left = f", {duration((count - done) / rate)} left" if rate and done < count else ""
        whole = f"{'about ' if about else ''}{count:,}"
        return f"{bar(done / count if count else 1.0)} {done:,} of {whole} {self._what}{pace}{left}"


@contextlib.contextmanager
def reports(progress: Report | bool | None, what: str = "puzzles") -> Iterator[Report]:
    """The callback for an argument ``progress``: the caller's function, a bar for True, or one that does nothing.

    Raises:
      ValueError: it is neither a function nor a bool.
    """

    def begun(screen: Screen) -> Report:
        meter = Meter(what)
        return lambda done, count: screen.show(meter.line(done, count), now=done in (0, count), task=True)

    with shown(progress, begun) as report:
        yield report


@contextlib.contextmanager
def shown(progress: Any, begin: Callable[[Screen], Callable[..., object]]) -> Iterator[Callable[..., Any]]:
    """``reports`` for callbacks with any arguments.

    Args:
      progress: the argument.
      begin: makes a callback that shows progress on a screen.
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


def share_read(source: Any) -> Callable[[], float | None]:
    """A function that returns the share of an input that has been read; None unless it is a regular file."""
    try:
        descriptor = source.fileno()
        status = os.fstat(descriptor)
    except (AttributeError, OSError):
        return lambda: None
    if not stat.S_ISREG(status.st_mode) or not status.st_size:
        return lambda: None
    return lambda: None if source.closed else os.lseek(descriptor, 0, os.SEEK_CUR) / status.st_size


def bar(share: float) -> str:
    """A share as a bar and in per cent."""
    share = min(max(share, 0.0), 1.0)
    full = int(share * _WIDTH)
    return f"[{'#' * full}{'.' * (_WIDTH - full)}] {int(100 * share):3}%"


def per_second(rate: float) -> str:
    """A rate in words, with two digits below 10: "1,200/s", "2.3/s", "0.089/s"."""
    return f"{rate:,.0f}/s" if rate >= 10 else f"{rate:.2g}/s"


def duration(seconds: float) -> str:
    """Seconds in words: "45 s", "12 min", "3 h 20 min"."""
    if seconds < 60:
        return f"{seconds:.0f} s"
    hours, minutes = divmod(round(seconds / 60), 60)
    return f"{hours} h {minutes} min" if hours else f"{minutes} min"
