"""Compiled kernels kept on disk, so that the second start is quick. For the command line alone, never the library."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path

#: Kernels that compile faster than this are not worth a file.
_SECONDS = 0.5


def keep_compiled(warn: Callable[[str], None]) -> None:
    """Has JAX keep what it compiles: where its own settings say, else in the user's cache directory.

    Args:
      warn: told if that directory can't be written, in which case every start compiles anew.
    """
    import jax

    jax.config.update("jax_persistent_cache_min_compile_time_secs", _SECONDS)
    folder = Path(jax.config.jax_compilation_cache_dir or _user_cache())
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        reason = error.strerror
    else:
        reason = "" if os.access(folder, os.W_OK | os.X_OK) else "not writable"
    if reason:
        warn(f"{folder}: {reason}: compiled kernels are not kept, so the next start will take as long as this one")
        jax.config.update("jax_enable_compilation_cache", False)
    else:
        jax.config.update("jax_compilation_cache_dir", str(folder))


def _user_cache() -> Path:
    named = os.environ.get("XDG_CACHE_HOME", "")
    # a relative path is to be ignored, says the XDG base directory specification
    base = Path(named) if os.path.isabs(named) else Path.home() / ".cache"
    return base / "jaxsudoku"
