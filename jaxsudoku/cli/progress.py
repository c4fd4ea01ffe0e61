"""What the standard error shows: a line of progress that is written over, and messages that stay."""

from __future__ import annotations

import shutil
import sys
import time

#: Seconds between two pictures of the progress.
_PAUSE = 0.1


class Screen:
    """Messages, and a line of progress below them if ``bar`` is set and the standard error is a terminal."""

    def __init__(self, bar: bool) -> None:
        self._bar = bar and sys.stderr.isatty()
        self._width = 0
        self._last = 0.0

    def say(self, message: str) -> None:
        """Prints a line that stays."""
        self.clear()
        print(message, file=sys.stderr)

    def show(self, text: str, *, now: bool = False) -> None:
        """Shows a text as the progress, unless the last one has only just come up; ``now`` shows it anyway."""
        if not self._bar or not (now or time.monotonic() - self._last >= _PAUSE):
            return
        self._last = time.monotonic()
        text = text[: shutil.get_terminal_size().columns - 1]
        # spaces cover what is left of a longer text
        print(f"\r{text:<{self._width}}", end="", file=sys.stderr, flush=True)
        self._width = len(text)

    def clear(self) -> None:
        """Takes the progress off the terminal."""
        if self._width:
            print(f"\r{'':<{self._width}}\r", end="", file=sys.stderr, flush=True)
            self._width = 0


def started(quiet: bool) -> Screen:
    """Shows that a command has begun, and checks where compiled programs are kept; the screen for what follows."""
    screen = Screen(bar=not quiet)
    screen.show("starting ...", now=True)
    check_cache(screen)
    return screen


def check_cache(screen: Screen) -> None:
    """Warns if compiled programs can't be kept, once and in one line, where JAX would say several for each."""
    import jax

    from jaxsudoku import cache

    path = cache.folder()
    if path is None:
        return
    problem, usable = cache.fault(path)
    if problem:
        screen.say(f"jaxsudoku: warning: {problem}")
        cache.silence()
    if not usable:
        jax.config.update("jax_enable_compilation_cache", False)
