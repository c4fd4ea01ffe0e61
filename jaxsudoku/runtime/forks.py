"""Detects processes forked after JAX had started, in which JAX would hang. No JAX."""

from __future__ import annotations

import os
import sys

#: Whether JAX had started when this process last forked a child, and when this process itself was forked.
_started = _refused = False


def check() -> None:
    """Raises RuntimeError in a process in which JAX would hang; functions that compute with JAX call this first."""
    if _refused:
        raise RuntimeError(
            "this process was forked after JAX had started, and JAX would hang in it: start processes by the method "
            '"spawn", as multiprocessing.get_context("spawn") does, or fork before JAX computes anything'
        )


def _before() -> None:
    """Records whether JAX has started; in the parent, as the lock that this takes might stay locked in the child."""
    global _started
    bridge = sys.modules.get("jax._src.xla_bridge")  # JAX has no public API for this
    _started = bridge is not None and bridge.backends_are_initialized()


def _in_child() -> None:
    global _refused
    _refused = _refused or _started


if hasattr(os, "register_at_fork"):  # missing on systems without fork
    os.register_at_fork(before=_before, after_in_child=_in_child)
