"""Helpers for sharded arrays: loops under ``jax.shard_map``, and batches sharded over explicit mesh axes."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

import jax
from jax import Array, lax
from jax.sharding import PartitionSpec

T = TypeVar("T")


def vary_as(source: Array, values: T) -> T:
    """Marks a pytree of arrays as varying over the mesh axes over which ``source`` varies; the values are unchanged.

    Under ``jax.shard_map`` the carry of a loop must have the type that the loop's body returns. Constants vary over no
    axis, values computed from a shard do.
    """
    axes = jax.typeof(source).manual_axis_type.varying
    if not axes:
        return values

    def varying(leaf: Array) -> Array:
        missing = axes - jax.typeof(leaf).manual_axis_type.varying
        return lax.pcast(leaf, tuple(sorted(missing)), to="varying") if missing else leaf

    return jax.tree.map(varying, values)


def like(array: Array, shape: tuple[int, ...]) -> jax.ShapeDtypeStruct:
    """The type of an array of this shape, with the dtype and the varying mesh axes of another array."""
    return jax.ShapeDtypeStruct(shape, array.dtype, manual_axis_type=jax.typeof(array).manual_axis_type)


def gathered(array: Array, axes: int) -> Array:
    """The array, with its last ``axes`` axes unsharded; the others stay sharded as they are."""
    sharding = jax.typeof(array).sharding
    batch = array.ndim - axes
    if not sharding.mesh.explicit_axes or all(axis is None for axis in sharding.spec[batch:]):
        return array
    whole = PartitionSpec(*sharding.spec[:batch], *[None] * axes)
    return jax.sharding.reshard(array, jax.NamedSharding(sharding.mesh, whole))


def by_shards(function: Callable[..., T], batch: Array, *others: Any, checked: bool = True) -> T:
    """Calls a function of batches, on each shard separately if they are sharded over explicit mesh axes.

    Args:
      function: maps arrays with leading axis B to a pytree of such arrays, row by row.
      batch: an array with leading axis B.
      *others: further such arrays, pytrees of them, or None.
      checked: ``check_vma`` of ``jax.shard_map``; False for Pallas' interpret mode, which fails with it.

    Returns:
      the function's results, sharded along the leading axis like the first sharded array.
    """
    shardings = [jax.typeof(x).sharding for x in jax.tree.leaves((batch, *others))]
    explicit = [sharding for sharding in shardings if sharding.mesh.explicit_axes]
    if not explicit:
        return function(batch, *others)
    sharding = explicit[0]
    axes = next((axes for axes in (next(iter(one.spec), None) for one in explicit) if axes is not None), None)
    spec = PartitionSpec(axes)
    inputs = jax.sharding.reshard((batch, *others), jax.NamedSharding(sharding.mesh, spec))
    names = set(sharding.mesh.explicit_axes)
    return jax.shard_map(
        function, mesh=sharding.mesh, in_specs=spec, out_specs=spec, axis_names=names, check_vma=checked
    )(*inputs)
