"""The beginning of a command: the screen, and whether compiled programs can be kept."""

from __future__ import annotations

import os
import stat
from collections.abc import Callable
from typing import Any

from jaxsudoku.terminal.progress import Screen, bar


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


def share_read(source: Any) -> Callable[[], str]:
    """Tells how much of an input has been read, as a bar for the line of progress; "" of what is no regular file."""
    try:
        descriptor = source.fileno()
        status = os.fstat(descriptor)
    except (AttributeError, OSError):
        return str
    if not stat.S_ISREG(status.st_mode) or not status.st_size:
        return str
    return lambda: "" if source.closed else f"{bar(os.lseek(descriptor, 0, os.SEEK_CUR) / status.st_size)} "
