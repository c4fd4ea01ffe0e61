"""Operations on arrays of any kind."""

from __future__ import annotations

from typing import TypeVar

import jax
import jax.numpy as jnp
from jax import Array, lax

_T = TypeVar("_T")


def fence(values: _T) -> _T:
    """An optimization barrier: without it XLA would fuse and compute a shared value again for each of its readers."""
    return lax.optimization_barrier(values)


def cpu_fence(values: _T) -> _T:
    """``fence`` on a CPU alone: on an accelerator computing again is cheaper than another pass through memory."""
    return lax.platform_dependent(values, cpu=lax.optimization_barrier, default=lambda values: values)


def select(chosen: Array, one: _T, other: _T) -> _T:
    """The leaves [B, ...] of the first pytree where ``chosen`` bool[B] is set, else those of the second."""

    def selected(x: Array, y: Array) -> Array:
        return jnp.where(chosen.reshape(-1, *[1] * (x.ndim - 1)), x, y)

    return jax.tree.map(selected, one, other)
