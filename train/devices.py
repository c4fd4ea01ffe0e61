"""The devices of a run, in one or several processes, and the placement of arrays.

A batch is divided among the devices in the order of the mesh, in which each process has consecutive devices. So its
share of the batch is consecutive rows.
"""

from __future__ import annotations

from typing import Any

import jax
import numpy as np
from jax import Array, lax
from jax.sharding import Mesh, NamedSharding, PartitionSpec

from jaxsudoku.networks import Params


def whole_mesh() -> Mesh:
    """The mesh of all devices of all processes, which share a batch; devices of a process are consecutive."""
    return Mesh(np.asarray(sorted(jax.devices(), key=lambda device: device.process_index)), ("batch",))


def connect(mesh: Mesh) -> None:
    """Runs the first collective of the devices; all processes call it at the same time.

    On CPUs the first collective of a program, which connects the processes, waits for half a minute; later ones have no
    timeout.
    """
    total = jax.jit(jax.shard_map(lambda: lax.psum(1, "batch"), mesh=mesh, in_specs=(), out_specs=PartitionSpec()))
    jax.block_until_ready(total())


def own_rows(mesh: Mesh, total: int) -> slice:
    """This process's share of ``total`` rows divided among the devices."""
    own = [number for number, device in enumerate(mesh.devices.flat) if device.process_index == jax.process_index()]
    each = total // mesh.size
    return slice(own[0] * each, (own[-1] + 1) * each)


def placed(values: Any, shardings: Any) -> Any:
    """Places values that are equal in all processes on the devices.

    Args:
      values: a pytree of arrays.
      shardings: a sharding for each array, or one for all of them.
    """
    if jax.process_count() == 1:
        return jax.device_put(values, shardings)
    if isinstance(shardings, NamedSharding):
        shardings = jax.tree.map(lambda _: shardings, values)

    # device_put would compare the values of all processes, by a collective for each array
    def place(value: Any, sharding: NamedSharding) -> Array:
        host = np.asarray(value)
        return jax.make_array_from_callback(host.shape, sharding, lambda index: host[index])

    return jax.tree.map(place, values, shardings)


def placed_rows(values: Any, mesh: Mesh) -> Any:
    """Arrays divided among all devices, from this process's rows (``own_rows``)."""
    split = NamedSharding(mesh, PartitionSpec("batch"))
    if jax.process_count() == 1:
        return jax.device_put(values, split)
    return jax.tree.map(lambda value: jax.make_array_from_process_local_data(split, np.asarray(value)), values)


def on_one_device(params: Params) -> Params:
    """Replicated parameters as arrays on one device of this process."""
    first: Params = jax.tree.map(lambda leaf: leaf.addressable_shards[0].data, params)
    return first
