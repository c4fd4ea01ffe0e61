"""A persistent cache of the library's compiled programs.

JAX has a persistent compilation cache, which is off until a program sets a folder for it. The library turns it on while
it compiles its own programs, in the folder of JAX's settings or else in the user's cache directory, then turns it off
again. So the caller's functions are compiled under the caller's settings, and no setting of the program or the
environment is changed.

Programs in the cache are run, so a user's cache directory that others may write to is not used.
"""

from __future__ import annotations

import contextlib
import os
import stat
import warnings
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import jax
from jax.experimental.compilation_cache import compilation_cache

from jaxsudoku.runtime import forks
from jaxsudoku.runtime.escapes import shown
from jaxsudoku.runtime.shared_context import SharedContext

#: Environment variable that turns the cache of the library's programs off if it is 0.
SWITCH = "JAXSUDOKU_CACHE"
#: Minimum compile time of programs that are cached, in seconds; half of JAX's default.
_SECONDS = 0.5

_FOLDER, _ENABLED = "jax_compilation_cache_dir", "jax_enable_compilation_cache"
_LEAST = "jax_persistent_cache_min_compile_time_secs"
_DEFAULT_LEAST = 1.0
#: JAX's warning for every program that it cannot write.
_UNWRITTEN = "Error writing persistent compilation cache entry"

#: JAX's settings that are changed at present: name to (previous value, the library's value).
_changed: dict[str, tuple[Any, Any]] = {}
_warned: set[str] = set()


@contextlib.contextmanager
def kept() -> Iterator[None]:
    """A context in which compiled programs are read from the persistent cache or written to it; also a decorator.

    JAX's settings are global, so programs of other threads are cached meanwhile as well. Contexts may be nested, and
    entered by several threads at once.

    Raises:
      RuntimeError: as ``forks.check``.

    Warns:
      RuntimeWarning: once, if the user's cache directory cannot be used.
    """
    forks.check()
    with _shared():
        yield


def folder() -> str | None:
    """The folder of the library's compiled programs; None if they are not cached."""
    if os.environ.get(SWITCH) == "0" or not getattr(jax.config, _ENABLED):
        return None
    return getattr(jax.config, _FOLDER) or _user_folder()


def fault(path: str) -> tuple[str, bool]:
    """Checks a folder for the cache, and creates it for this user alone if it is missing.

    The user's cache directory must not be writable by others. A folder named by JAX's settings may be shared on
    purpose, so its permissions are not checked, and URLs of buckets are left to JAX.

    Returns:
      a message, "" without a fault; and whether the folder can be used.
    """
    if "://" in path:
        return "", True
    try:
        os.makedirs(path, mode=0o700, exist_ok=True)
        writers = _other_writers(os.stat(path)) if path == _user_folder() else ""
    except OSError as error:
        return f"{path}: {error.strerror}: compiled kernels can't be cached, so every start compiles them again", False
    if writers:
        risk = "and compiled kernels in it would be run: it is not used, so every start compiles them again"
        return f"{path}: {writers}, {risk}; remove it, and it is created again", False
    if not os.access(path, os.W_OK | os.X_OK):
        return f"{path}: not writable: new kernels can't be cached", True
    return "", True


def _other_writers(status: os.stat_result) -> str:
    """Describes other users who can write to a folder; "" if there are none or the system has no owners."""
    if not hasattr(os, "geteuid"):
        return ""
    if status.st_uid not in (os.geteuid(), 0):
        return f"owned by another user, {status.st_uid}"
    return "others may write to it" if status.st_mode & (stat.S_IWGRP | stat.S_IWOTH) else ""


def silence() -> None:
    """Suppresses JAX's warning for each program that it cannot write, after the library has warned once."""
    warnings.filterwarnings("ignore", message=_UNWRITTEN)


def _user_folder() -> str:
    named = os.environ.get("XDG_CACHE_HOME", "")
    # the XDG base directory specification says to ignore relative paths
    base = Path(named) if os.path.isabs(named) else Path(os.path.expanduser("~")) / ".cache"
    return str(base / "jaxsudoku")


def _turn_on() -> None:
    """Changes the JAX settings that the program and the environment have left at their defaults."""
    path = folder()
    if path is None:
        return
    if not getattr(jax.config, _FOLDER):
        problem, usable = fault(path)
        if problem and path not in _warned:
            _warned.add(path)
            warnings.warn(f"{shown(problem)} ({SWITCH}=0 turns this cache off)", RuntimeWarning, stacklevel=5)
            silence()
        if not usable:
            return
        _change(_FOLDER, path)
        compilation_cache.reset_cache()  # otherwise JAX keeps using its first folder
    if getattr(jax.config, _LEAST) == _DEFAULT_LEAST and _LEAST.upper() not in os.environ:
        _change(_LEAST, _SECONDS)


def _change(name: str, value: Any) -> None:
    _changed[name] = (getattr(jax.config, name), value)
    jax.config.update(name, value)


def _restore() -> None:
    """Undoes the changes, except for settings that other code has changed meanwhile."""
    for name, (before, ours) in _changed.items():
        if getattr(jax.config, name) == ours:
            jax.config.update(name, before)
    if _FOLDER in _changed:
        compilation_cache.reset_cache()
    _changed.clear()


_shared = SharedContext(_turn_on, _restore)
