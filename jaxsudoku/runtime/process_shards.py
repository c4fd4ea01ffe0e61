"""Sharded arrays over one or several processes: this process's shards, and results with the same sharding."""

from __future__ import annotations

from typing import Any

import jax
from jax.sharding import NamedSharding, PartitionSpec

_ADVICE = "shard the batch alone, over devices of all processes: jax.NamedSharding(mesh, jax.P('batch'))"


def is_spread(values: Any) -> bool:
    """Whether the values are an array that other processes hold parts of."""
    return isinstance(values, jax.Array) and not isinstance(values, jax.core.Tracer) and not values.is_fully_addressable


class ProcessShards:
    """An array on one device, or sharded along its batch over devices, of one process or several.

    A share is the data of one shard. Shards that are copies of each other are one share, and must be in one process.
    Everything but ``shares`` depends on the sharding only, so an error is raised in all processes or in none.

    Args:
      array: the array.
      batch_axes: the number of leading axes that are the batch, at least one if the array can be sharded along it.

    Attributes:
      count: the number of shares, in all processes.
      positions: those that this process holds, by their position in the order of the batch.
      devices: a device that holds each of them.

    Raises:
      ValueError: the array is on several devices but not a batch, its sharding is not a ``NamedSharding``, other axes
        than the batch's are sharded, or several processes have copies of a shard, as with a replicated array.
    """

    def __init__(self, array: jax.Array, batch_axes: int) -> None:
        sharding = array.sharding
        if len(sharding.device_set) > 1:
            if not isinstance(sharding, NamedSharding):
                raise ValueError(f"an array over several devices has a {sharding}, not a NamedSharding; {_ADVICE}")
            if not batch_axes:
                raise ValueError(f"one puzzle, {array.dtype}{list(array.shape)}, on several devices; {_ADVICE}")
            if sharding.shard_shape(array.shape)[batch_axes:] != array.shape[batch_axes:]:
                raise ValueError(
                    f"puzzles over several devices are sharded along their cells, {sharding.spec}; {_ADVICE}"
                )
        self._array, self._batch_axes = array, batch_axes
        self._holders: dict[tuple[int, ...], list[jax.Device]] = {}
        for number, (device, index) in enumerate(sharding.devices_indices_map(array.shape).items()):
            start = tuple(part.indices(size)[0] for part, size in zip(index, array.shape, strict=True))
            if not array.size:  # all start at 0, and none is a copy
                start = (number, *start)
            self._holders.setdefault(start, []).append(device)
        for holders in self._holders.values():
            among = sorted({device.process_index for device in holders})
            if len(among) > 1:
                raise ValueError(
                    f"processes {', '.join(map(str, among))} hold the same puzzles, {sharding}, and each would solve "
                    f"them; {_ADVICE}"
                )
        here = jax.process_index()
        self._starts = sorted(self._holders)
        self.count = len(self._starts)
        self.positions = [
            position for position, start in enumerate(self._starts) if self._holders[start][0].process_index == here
        ]
        self.devices = [self._holders[self._starts[position]][0] for position in self.positions]

    def shares(self) -> list[jax.Array]:
        """The shares that this process holds, [s, ...], with one axis for the batch, each on its device."""
        data = {shard.device: shard.data for shard in self._array.addressable_shards}
        item = self._array.shape[self._batch_axes :]
        return [data[device].reshape(-1, *item) for device in self.devices]

    def assemble(self, results: list[Any], empty: Any) -> Any:
        """Arrays on the same devices, sharded along the batch as this one is.

        Args:
          results: for each of ``positions`` a pytree of arrays [s, ...], row by row for its share.
          empty: such a pytree with no rows, which gives dtypes and shapes in a process without shares.

        Returns:
          the pytree, of arrays [*b, ...].
        """
        sharding = place = self._array.sharding
        batch = self._array.shape[: self._batch_axes]
        share = sharding.shard_shape(self._array.shape)[: self._batch_axes]
        if isinstance(sharding, NamedSharding):
            spec = PartitionSpec(*sharding.spec[: self._batch_axes])
            place = NamedSharding(sharding.mesh, spec, memory_kind=sharding.memory_kind)
        holders = [self._holders[self._starts[position]] for position in self.positions]

        def whole(empty: Any, *parts: Any) -> jax.Array:
            item = empty.shape[1:]
            placed = [
                jax.device_put(part.reshape(share + item), device)
                for part, devices in zip(parts, holders, strict=True)
                for device in devices
            ]
            return jax.make_array_from_single_device_arrays(batch + item, place, placed, dtype=empty.dtype)

        return jax.tree.map(whole, empty, *results)
