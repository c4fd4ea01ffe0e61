"""The library's programs, compiled for accelerators that are not there: time to compile, memory, kernels, bytes.

Each program is compiled by the library's own engine, with the settings that it chooses for that platform. No figure is
a measurement on the device. A predicted step is

    bytes / memory bandwidth + kernels x 2 microseconds

of the loop whose step moves most: the kernels and bytes that ``hlo_cost`` counts in the compiled program, the bandwidth
in the data sheet, and a launch of 2 microseconds.

    python benchmarks/compiled.py --targets h100,a100 --programs exact,count
    python benchmarks/compiled.py --programs exact --boards 9 --settle pallas
    python benchmarks/compiled.py --targets v5e --boards 9 --json benchmarks/out/compiled.json

NVIDIA targets need jax's CUDA plugin (``pip install 'jax[cuda12]'``), TPU targets libtpu (``pip install 'jax[tpu]'``);
neither needs a device.
"""

from __future__ import annotations

import argparse
import json
import os
import sys
import time
from pathlib import Path
from typing import Any, NamedTuple

import hlo_cost
import machine
import report

#: Seconds that a kernel's launch takes, assumed.
_LAUNCH = 2e-6

_NVIDIA = """gpu_device_info {{ threads_per_block_limit: 1024 threads_per_warp: 32 shared_memory_per_block: 49152
 shared_memory_per_core: {shared} threads_per_core_limit: 2048 core_count: {cores} fpus_per_core: {units}
 block_dim_limit_x: 2147483647 block_dim_limit_y: 65535 block_dim_limit_z: 65535 memory_bandwidth: {bandwidth}
 l2_cache_size: {cache} clock_rate_ghz: {clock} device_memory_size: {memory} shared_memory_per_block_optin: {optin}
 cuda_compute_capability {{ major: {major} }} registers_per_core_limit: 65536 registers_per_block_limit: 65536 }}
platform_name: "CUDA" dnn_version_info {{ major: 9 minor: 8 patch: 0 }} device_description_str: "{name}"
"""


class Target(NamedTuple):
    """A device to compile for.

    Attributes:
      name: the device's name.
      platform: as the library's settings name it, "gpu" or "tpu".
      topology: the name of its topology for XLA.
      memory: bytes of its memory.
      bandwidth: bytes a second, of the data sheet.
      details: XLA's description of a GPU, a GpuTargetConfigProto as text; None for a TPU.
    """

    name: str
    platform: str
    topology: str
    memory: int
    bandwidth: int
    details: str | None = None


def _nvidia(name: str, topology: str, **properties: Any) -> Target:
    details = _NVIDIA.format(name=name, **properties)
    return Target(name, "gpu", topology, properties["memory"], properties["bandwidth"], details)


TARGETS = {
    "h100": _nvidia(
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
    ),
    "a100": _nvidia(
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
    ),
    "v5e": Target("TPU v5e", "tpu", "v5e:2x2", 16 << 30, 819_000_000_000),
    "v6e": Target("TPU v6e", "tpu", "v6e:2x2", 32 << 30, 1_640_000_000_000),
}

#: Puzzles of 9x9 in a call; other boards have as many candidates.
_PUZZLES = 1 << 20

_COLUMNS = (
    ("target", 6, "<"),
    ("program", 12, "<"),
    ("board", 6, "<"),
    ("lanes", 7, ">"),
    ("compile s", 9, ">"),
    ("memory GB", 9, ">"),
    ("of device", 9, ">"),
    ("kernels", 7, ">"),
    ("KB/lane", 7, ">"),
    ("predicted us/step", 17, ">"),
)


def devices_of(target: Target) -> Any:
    """The devices of a target's topology.

    Raises:
      RuntimeError: the plugin that compiles for it is not installed.
    """
    from jax.experimental import topologies

    try:
        if target.platform == "gpu":
            found = topologies.get_topology_desc(
                platform="cuda", topology_name=target.topology, topology="1x1x1", target_config=target.details
            )
        else:
            found = topologies.get_topology_desc(platform="tpu", topology_name=target.topology)
    except (NotImplementedError, RuntimeError) as error:
        extra = "cuda12" if target.platform == "gpu" else "tpu"
        raise RuntimeError(f"cannot compile for {target.name}; pip install 'jax[{extra}]' ({error})") from error
    return found.devices


def measure(target: Target, program: str, side: int, puzzles: int | None, settle: str = "xla") -> dict[str, Any]:
    """Compiles a program for a target; the row of the table, with the same keys in JSON."""
    import jax
    import numpy as np

    import jaxsudoku as js
    from jaxsudoku import solvers
    from jaxsudoku.batches import Engine
    from jaxsudoku.solvers import driver

    board = js.Board.classic(side)
    device = devices_of(target)[0]
    if program == "count":
        kernel, shared = driver.count_kernel(2), ()
    else:
        options = {"settle": settle} if program == "exact" else {}
        kernel = driver.solve_kernel(program, solvers.make_config(solvers.get(program), **options))
        shared = driver.networks_for(program, None, board)
    size = puzzles or max(_PUZZLES * 9**3 // board.candidates // 32 * 32, 32)
    engine = Engine(kernel, board, 0, size, [device], shared)
    start = time.perf_counter()
    # Pallas asks the mesh, else the default backend, what it compiles for
    with jax.sharding.use_abstract_mesh(jax.sharding.Mesh(np.array([device]), ("batch",)).abstract_mesh):
        compiled = engine.compile(size)
    seconds = time.perf_counter() - start
    memory = compiled.memory_analysis()
    used = memory.temp_size_in_bytes + memory.argument_size_in_bytes + memory.output_size_in_bytes
    lanes = getattr(engine.kernel.config, "lanes", None)
    loop = hlo_cost.main_loop(compiled.as_text())
    return {
        "target": target.name,
        "program": program,
        "board": f"{side}x{side}",
        "puzzles": size,
        "lanes": lanes,
        "settle": settle if program == "exact" else "xla",
        "compile_seconds": seconds,
        "temporary_bytes": memory.temp_size_in_bytes,
        "memory_share": used / target.memory,
        "step_kernels": loop.kernels,
        "step_bytes": loop.bytes,
        "predicted_step_seconds": loop.bytes / target.bandwidth + loop.kernels * _LAUNCH,
    }


def _row(found: dict[str, Any], target: str) -> list[str]:
    lanes = found["lanes"]
    return [
        target,
        found["program"],
        found["board"],
        f"{lanes:,}" if lanes else "",
        f"{found['compile_seconds']:.1f}",
        f"{found['temporary_bytes'] / 1e9:.2f}",
        f"{found['memory_share']:.0%}",
        str(found["step_kernels"]),
        f"{found['step_bytes'] / (lanes or found['puzzles']) / 1e3:.1f}",
        f"{found['predicted_step_seconds'] * 1e6:,.0f}",
    ]


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    add = parser.add_argument
    add("--targets", default="h100,v5e", help=f"of {', '.join(TARGETS)} (default: h100,v5e)")
    add("--programs", default="exact,count", help="solvers, or count, by commas (default: exact,count)")
    add("--boards", default="9,16,25", help="sides of classic boards (default: 9,16,25)")
    add("--puzzles", type=int, help="puzzles in a call (default: 2^20 on 9x9, as many candidates on others)")
    add("--settle", default="xla", choices=("xla", "pallas"), help="what runs the rules of exact (default: xla)")
    add("--json", type=Path, help="write the figures to this file")
    args = parser.parse_args()
    targets = args.targets.split(",")
    if unknown := [name for name in targets if name not in TARGETS]:
        parser.error(f"unknown target {unknown[0]!r}: choose among {', '.join(TARGETS)}")
    # before jax is imported: no device is looked for, neither a GPU nor the TPU of a cloud machine
    os.environ.update(JAX_PLATFORMS="cpu", JAX_SKIP_CUDA_CONSTRAINTS_CHECK="1", TPU_SKIP_MDS_QUERY="1")
    os.environ.update(TPU_WORKER_HOSTNAMES="localhost", TPU_ACCELERATOR_TYPE="v5litepod-4", JAXSUDOKU_CACHE="0")
    about = machine.describe(len(os.sched_getaffinity(0)), ("jax-cuda12-plugin", "libtpu"))
    print("\n".join(machine.lines(about)))
    print(report.aligned([heading for heading, _, _ in _COLUMNS], _COLUMNS))
    figures = []
    for name in targets:
        for program in args.programs.split(","):
            for side in map(int, args.boards.split(",")):
                figures.append(measure(TARGETS[name], program, side, args.puzzles, args.settle))
                print(report.aligned(_row(figures[-1], name), _COLUMNS), flush=True)
    if args.json:
        args.json.write_text(json.dumps({"about": about, "launch_seconds": _LAUNCH, "figures": figures}, indent=1))
    return 0


if __name__ == "__main__":
    sys.exit(main())
