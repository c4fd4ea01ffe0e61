"""Compiled programs kept on disk, so that the next process starts quickly.

JAX has a persistent compilation cache, which is off unless a program names a folder for it. The library turns it on
while it compiles programs of its own, in the folder of JAX's settings, else in the user's cache directory, and then
turns it off again: functions that the caller compiles are treated as JAX's settings say. What is set there, by the
program or the environment, stays as it is.
"""

from __future__ import annotations

import contextlib
import os
import threading
import warnings
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import jax
from jax.experimental.compilation_cache import compilation_cache

#: The environment variable that turns the cache off for programs of the library, with the value 0.
SWITCH = "JAXSUDOKU_CACHE"
#: Programs that compile faster than this, in seconds, are not worth a file; JAX's own default is twice as much.
_SECONDS = 0.5

_FOLDER, _ENABLED = "jax_compilation_cache_dir", "jax_enable_compilation_cache"
_LEAST = "jax_persistent_cache_min_compile_time_secs"
_DEFAULT_LEAST = 1.0
#: What JAX says of every program that it can't write.
_UNWRITTEN = "Error writing persistent compilation cache entry"

_lock = threading.Lock()
_users = 0
#: Settings that are changed while somebody compiles: name to (the value before, the library's value).
_changed: dict[str, tuple[Any, Any]] = {}
_warned: set[str] = set()


@contextlib.contextmanager
def kept() -> Iterator[None]:
    """Programs compiled in this block are read from the persistent cache, or written to it.

    JAX's settings are global, so what other threads compile meanwhile is kept as well. Blocks may be nested, and be
    entered by several threads at once. As a decorator, it makes a function's body such a block.

    Warns:
      RuntimeWarning: once, if the user's cache directory can't be used.
    """
    global _users
    with _lock:
        _users += 1
        if _users == 1:
            _turn_on()
    try:
        yield
    finally:
        with _lock:
            _users -= 1
            if not _users:
                _restore()


def folder() -> str | None:
    """The folder that the library's compiled programs are kept in; None if they are not kept."""
    if os.environ.get(SWITCH) == "0" or not getattr(jax.config, _ENABLED):
        return None
    return getattr(jax.config, _FOLDER) or _user_folder()


def fault(path: str) -> tuple[str, bool]:
    """What is wrong with a folder as a cache, in words, "" if nothing, and whether it can at least be read.

    The folder is made if it is missing. A URL, of a bucket, is left to JAX.
    """
    if "://" in path:
        return "", True
    try:
        os.makedirs(path, exist_ok=True)
    except OSError as error:
        return f"{path}: {error.strerror}: compiled kernels can't be kept, so every start compiles anew", False
    if not os.access(path, os.W_OK | os.X_OK):
        return f"{path}: not writable: only kernels that it has already start at once", True
    return "", True


def silence() -> None:
    """Keeps JAX from a warning for each program that can't be written, where that has been said once."""
    warnings.filterwarnings("ignore", message=_UNWRITTEN)


def _user_folder() -> str:
    named = os.environ.get("XDG_CACHE_HOME", "")
    # a relative path is to be ignored, says the XDG base directory specification
    base = Path(named) if os.path.isabs(named) else Path(os.path.expanduser("~")) / ".cache"
    return str(base / "jaxsudoku")


def _turn_on() -> None:
    """Changes those of JAX's settings that nobody has set."""
    path = folder()
    if path is None:
        return
    if not getattr(jax.config, _FOLDER):
        problem, usable = fault(path)
        if problem and path not in _warned:
            _warned.add(path)
            warnings.warn(f"{problem} ({SWITCH}=0 turns this cache off)", RuntimeWarning, stacklevel=5)
            silence()
        if not usable:
            return
        _change(_FOLDER, path)
        compilation_cache.reset_cache()  # else JAX keeps to the folder that it used first
    if getattr(jax.config, _LEAST) == _DEFAULT_LEAST and _LEAST.upper() not in os.environ:
        _change(_LEAST, _SECONDS)


def _change(name: str, value: Any) -> None:
    _changed[name] = (getattr(jax.config, name), value)
    jax.config.update(name, value)


def _restore() -> None:
    """Takes the changes back, but for settings that somebody else has changed meanwhile."""
    for name, (before, ours) in _changed.items():
        if getattr(jax.config, name) == ours:
            jax.config.update(name, before)
    if _FOLDER in _changed:
        compilation_cache.reset_cache()
    _changed.clear()
