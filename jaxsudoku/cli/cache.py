"""Compiled kernels kept on disk, so that the second start is quick. For the command line alone, never the library."""

from __future__ import annotations

import os
import warnings
from collections.abc import Callable
from pathlib import Path

#: Kernels that compile faster than this are not worth a file.
_SECONDS = 0.5


def keep_compiled(warn: Callable[[str], None]) -> None:
    """Has JAX keep what it compiles: where its own settings say, else in the user's cache directory.

    Args:
      warn: told if that directory can't be written.
    """
    import jax

    jax.config.update("jax_persistent_cache_min_compile_time_secs", _SECONDS)
    folder = jax.config.values["jax_compilation_cache_dir"] or str(_user_cache())
    if "://" in folder:  # a bucket, which is JAX's own to look after
        return
    try:
        os.makedirs(folder, exist_ok=True)
    except OSError as error:
        warn(f"{folder}: {error.strerror}: compiled kernels can't be kept, so every start compiles anew")
        jax.config.update("jax_enable_compilation_cache", False)
        return
    jax.config.update("jax_compilation_cache_dir", folder)
    if not os.access(folder, os.W_OK | os.X_OK):
        warn(f"{folder}: not writable: only kernels that it has already start at once")
        # said already, and JAX would say it in several lines for each kernel
        warnings.filterwarnings("ignore", message="Error writing persistent compilation cache entry")


def _user_cache() -> Path:
    named = os.environ.get("XDG_CACHE_HOME", "")
    # a relative path is to be ignored, says the XDG base directory specification
    base = Path(named) if os.path.isabs(named) else Path.home() / ".cache"
    return base / "jaxsudoku"
