"""The devices of this process: selection, kinds, memory, cores and compiler options."""

from __future__ import annotations

import functools
import importlib.util
import os
import re
from collections.abc import Iterable, Sequence

import jax

from jaxsudoku.runtime import forks

#: The lowest compute capability of NVIDIA GPUs that Pallas' Mosaic supports, that of the H100. On others it ends the
#: process.
_MOSAIC = 9


def compiler_options(platform: str | None = None, one_thread: bool = False) -> dict[str, str] | None:
    """Options for ``jax.jit(..., compiler_options=...)`` under which the library's kernels run fastest.

    On a CPU they ask for vectors of 512 bits where it has them; XLA's default of 256 makes a search a tenth slower. In
    jax 0.10 they also disable a pass that removes ``lax.optimization_barrier`` before fusion, which makes a search a
    hundred times slower. Other platforms need none.

    Args:
      platform: platform of the devices; None for the default backend.
      one_thread: whether a CPU runs each call of the program in one thread. It suits programs of many short loops that
        are called from one thread per core, as distributing short loops over threads takes longer than running them.
    """
    platform = platform or jax.default_backend()
    if platform != "cpu":
        return None
    options = {"xla_cpu_prefer_vector_width": "512"}
    passes = ["cse_barrier_expander"] if jax.__version_info__ < (0, 11) else []
    passes += ["cpu-parallel-task-assigner"] if one_thread else []
    if passes:
        # an option overrides the XLA flag of its name, so passes that the flag disables are repeated
        named = re.findall(r"--xla_disable_hlo_passes=(\S+)", os.environ.get("XLA_FLAGS", ""))
        options["xla_disable_hlo_passes"] = ",".join([*passes, *named])
    return options


def quick_options() -> dict[str, str]:
    """Further compiler options for a CPU: compiling takes half as long, and the program runs several times as long."""
    options = {"xla_backend_optimization_level": "0"}
    if jax.__version_info__ < (0, 11):  # newer versions have no other emitters
        options["xla_cpu_use_fusion_emitters"] = "False"
    return options


def used_devices(devices: Sequence[jax.Device] | None) -> tuple[jax.Device, ...]:
    """The given devices, or by default all local devices of the default backend.

    Raises:
      ValueError: an empty sequence, or anything but devices.
      RuntimeError: as ``forks.check``.
    """
    forks.check()
    if devices is None:
        return tuple(jax.local_devices())
    if isinstance(devices, str) or not isinstance(devices, Iterable):
        raise ValueError(f"devices must be a sequence of JAX's devices, such as jax.devices(), not {devices!r}")
    used = tuple(devices)
    if wrong := [device for device in used if not isinstance(device, jax.Device)]:
        raise ValueError(f"devices must be JAX's, such as jax.devices(), not {wrong[0]!r}")
    if not used:
        raise ValueError("devices is empty; name at least one, or leave it out for all")
    return used


def kind(device: jax.Device) -> str:
    """Kind of a device, for settings: "cpu", "tpu", "gpu", or "other gpu" if Pallas' Mosaic doesn't support it."""
    if device.platform != "gpu":
        return device.platform
    major = str(getattr(device, "compute_capability", "")).partition(".")[0]
    return "gpu" if major.isdecimal() and int(major) >= _MOSAIC else "other gpu"


@functools.cache
def compiles_for_gpus() -> bool:
    """Whether jax's CUDA plugin is installed, so that a process without a GPU can compile for NVIDIA GPUs."""
    return any(importlib.util.find_spec(f"jax_cuda{version}_plugin") for version in (12, 13))


def usable_cores() -> int:
    """Number of cores that this process may run on."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def device_memory() -> int:
    """The bytes of memory of the first device, or of the machine if that is a CPU."""
    device = jax.local_devices()[0]
    limit: int | None = None if device.platform == "cpu" else (device.memory_stats() or {}).get("bytes_limit")
    return limit or os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
