"""Silences XLA's alarm about slow compilation, an error logged after two minutes; progress reports this already."""

from __future__ import annotations

import contextlib
import logging
import os
from collections.abc import Iterator

import jax

from jaxsudoku.runtime.shared_context import SharedContext

#: JAX's setting of the level at which JAX and XLA log, and its name for each of XLA's levels.
_SETTING, _LEVELS = "jax_logging_level", ("INFO", "WARNING", "ERROR", "CRITICAL")
#: Settings of JAX that log what is compiled.
_LOGS = ("jax_log_compiles", "jax_explain_cache_misses")

_before: str | None = None
_changed = False


@contextlib.contextmanager
def silenced() -> Iterator[None]:
    """A context in which XLA does not log the alarm, unless the program has configured JAX's logging.

    JAX's setting is global, so other errors that XLA logs meanwhile are hidden too; errors of compilation and of
    programs are still raised. Contexts may be nested, and entered by several threads at once.
    """
    with _shared():
        yield


def _silence() -> None:
    global _before, _changed
    untouched = all(logging.getLogger(name).level == logging.NOTSET for name in ("jax", "jaxlib"))
    _before = getattr(jax.config, _SETTING)
    _changed = untouched and _before in (None, "NOTSET") and not any(getattr(jax.config, name) for name in _LOGS)
    if _changed:
        jax.config.update(_SETTING, "CRITICAL")


def _restore() -> None:
    global _changed
    if _changed and getattr(jax.config, _SETTING) == "CRITICAL":
        level = os.environ.get("TF_CPP_MIN_LOG_LEVEL", "1")
        # XLA's own level, which the previous setting does not change
        jax.config.update(_SETTING, _LEVELS[min(int(level), 3)] if level.isdecimal() else "WARNING")
        jax.config.update(_SETTING, "NOTSET")
        if _before != "NOTSET":
            jax.config.update(_SETTING, _before)
    _changed = False


_shared = SharedContext(_silence, _restore)
