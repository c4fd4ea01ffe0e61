"""Absent accelerators for which XLA compiles: descriptions for the compiler, and data sheets."""

from __future__ import annotations

import dataclasses
from typing import Any

_NVIDIA = """gpu_device_info {{ threads_per_block_limit: 1024 threads_per_warp: 32 shared_memory_per_block: 49152
 shared_memory_per_core: {shared} threads_per_core_limit: 2048 core_count: {cores} fpus_per_core: {units}
 block_dim_limit_x: 2147483647 block_dim_limit_y: 65535 block_dim_limit_z: 65535 memory_bandwidth: {bandwidth}
 l2_cache_size: {cache} clock_rate_ghz: {clock} device_memory_size: {memory} shared_memory_per_block_optin: {optin}
 cuda_compute_capability {{ major: {major} }} registers_per_core_limit: 65536 registers_per_block_limit: 65536 }}
platform_name: "CUDA" dnn_version_info {{ major: 9 minor: 8 patch: 0 }} device_description_str: "{name}"
"""


@dataclasses.dataclass(frozen=True)
class Target:
    """Devices to compile for.

    Attributes:
      name: the name of a device.
      platform: as the library's settings name it, "gpu" or "tpu".
      topology: the name of its topology for XLA.
      memory: bytes of a device's memory.
      bandwidth: bytes a second, of the data sheet.
      details: XLA's description of a GPU, a GpuTargetConfigProto as text; None for a TPU.
      count: devices that share each batch.
    """

    name: str
    platform: str
    topology: str
    memory: int
    bandwidth: int
    details: str | None = None
    count: int = 1

    def devices(self) -> list[Any]:
        """The devices, all of one process.

        Raises:
          RuntimeError: the plugin that compiles for them is not installed.
        """
        from jax.experimental import topologies

        try:
            if self.platform == "gpu":
                found = topologies.get_topology_desc(
                    platform="cuda",
                    topology_name=self.topology,
                    topology=f"1x1x{self.count}",  # partitions x hosts x devices
                    target_config=self.details,
                )
            else:
                found = topologies.get_topology_desc(platform="tpu", topology_name=self.topology)
        except (NotImplementedError, RuntimeError) as error:
            extra = "cuda12" if self.platform == "gpu" else "tpu"
            raise RuntimeError(f"cannot compile for {self.name}; pip install 'jax[{extra}]' ({error})") from error
        return list(found.devices[: self.count])


def _nvidia(name: str, topology: str, **properties: Any) -> Target:
    details = _NVIDIA.format(name=name, **properties)
    return Target(name, "gpu", topology, properties["memory"], properties["bandwidth"], details)


_H100 = _nvidia(
    "NVIDIA H100 80GB HBM3",
    "H100",
    major=9,
    cores=132,
    units=128,
    clock=1.98,
    memory=84978434048,
    bandwidth=3352320000000,
    cache=52428800,
    shared=233472,
    optin=232448,
)
_A100 = _nvidia(
    "NVIDIA A100-SXM4-80GB",
    "A100",
    major=8,
    cores=108,
    units=64,
    clock=1.41,
    memory=84994031616,
    bandwidth=2039000000000,
    cache=41943040,
    shared=167936,
    optin=166912,
)
# topologies of four chips; one or all are used
_V5E = Target("TPU v5e", "tpu", "v5e:2x2", 16 << 30, 819_000_000_000)
_V6E = Target("TPU v6e", "tpu", "v6e:2x2", 32 << 30, 1_640_000_000_000)

#: Every target, by name; x8 and x4 are several devices of one host.
TARGETS = {
    "h100": _H100,
    "h100x8": dataclasses.replace(_H100, count=8),
    "a100": _A100,
    "v5e": _V5E,
    "v5ex4": dataclasses.replace(_V5E, count=4),
    "v6e": _V6E,
    "v6ex4": dataclasses.replace(_V6E, count=4),
}
