"""Operations on pytrees of arrays: optimization barriers, selection, and functions of single items."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

import jax
import jax.numpy as jnp
from jax import Array, lax

_T = TypeVar("_T")


def fence(values: _T) -> _T:
    """An optimization barrier: without it XLA would fuse a shared value into each reader and recompute it."""
    return lax.optimization_barrier(values)


def cpu_fence(values: _T) -> _T:
    """``fence`` on a CPU only: on an accelerator recomputing is cheaper than another pass through memory."""
    return lax.platform_dependent(values, cpu=lax.optimization_barrier, default=lambda values: values)


def select(chosen: Array, one: _T, other: _T) -> _T:
    """The leaves [B, ...] of the first pytree where ``chosen`` bool[B] is set, else those of the second."""

    def selected(x: Array, y: Array) -> Array:
        return jnp.where(chosen.reshape(-1, *[1] * (x.ndim - 1)), x, y)

    return jax.tree.map(selected, one, other)


def single(function: Callable[..., Any]) -> Callable[..., Any]:
    """Turns a function of batches into one of single items; its ``jax.vmap`` calls the function on the whole batch."""
    function = jax.jit(function)  # closes over its constants: a vmapped lax.cond would batch them

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
