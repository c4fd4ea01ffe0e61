"""Forks: in a process that was forked after JAX had started JAX hangs, so the library refuses to use it. No JAX."""

from __future__ import annotations

import os
import sys

#: Whether JAX had started when this process forked last, and whether it had when this process was forked itself.
_started = _refused = False


def check() -> None:
    """Raises RuntimeError in a process in which JAX would hang; whatever computes by JAX calls this first."""
    if _refused:
        raise RuntimeError(
            "this process was forked after JAX had started, and JAX would hang in it: start processes by the method "
            '"spawn", as multiprocessing.get_context("spawn") does, or fork before JAX computes anything'
        )


def _before() -> None:
    """Asks JAX whether it has started: in the parent, as the lock that this takes might stay locked in the child."""
    global _started
    bridge = sys.modules.get("jax._src.xla_bridge")  # JAX has no public way to ask
    _started = bridge is not None and bridge.backends_are_initialized()


def _in_child() -> None:
    global _refused
    _refused = _refused or _started


if hasattr(os, "register_at_fork"):  # not where processes are never forked
    os.register_at_fork(before=_before, after_in_child=_in_child)
