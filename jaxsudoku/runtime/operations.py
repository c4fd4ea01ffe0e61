"""Operations on arrays of any kind."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

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


def single(function: Callable[..., Any]) -> Callable[..., Any]:
    """A function of batches as one of single items: ``jax.vmap`` of it is the function itself on the whole batch."""
    function = jax.jit(function)  # keeps its constants to itself: a vmapped lax.cond would give them an axis

    @jax.custom_batching.custom_vmap
    def one(*items: Any) -> Any:
        return jax.tree.map(lambda leaf: leaf[0], function(*jax.tree.map(lambda leaf: leaf[None], items)))

    @one.def_vmap
    def many(size: int, batched: Any, *items: Any) -> Any:
        def spread(leaf: Array, is_batched: bool) -> Array:
            return leaf if is_batched else jnp.broadcast_to(leaf, (size, *jnp.shape(leaf)))

        results = function(*jax.tree.map(spread, items, tuple(batched)))
        return results, jax.tree.map(lambda _: True, results)

    return one
