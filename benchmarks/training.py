"""Benchmark of training: steps per second at the sizes of a preset of ``train``, without compile time.

Timed are steps as ``train.supervised`` makes them, on all devices: positions from puzzles, gradients, optimiser,
averaged parameters. The puzzles, those of the preset's held-out set repeated, stay on the devices: reading data,
validation and checkpoints are not part of a step. Errors and losses that are not finite stay in the table and make the
exit status 1.

    python benchmarks/training.py --preset gpu --batch 256,1024 --dtype bfloat16,float32

With --processes the same batch is divided among several processes on this machine, each with one CPU device and a core
of its own:

    python benchmarks/training.py --preset cpu --processes 1,2
"""

from __future__ import annotations

import argparse
import dataclasses
import itertools
import json
import math
import os
import socket
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

import arguments
import machine
import numpy as np
import report

_COLUMNS = (
    ("network", 12, "<"),
    ("parameters", 11, ">"),
    ("dtype", 9, "<"),
    ("batch", 7, ">"),
    ("processes", 9, ">"),
    ("compile s", 9, ">"),
    ("ms a step", 10, ">"),
    ("spread", 7, ">"),
    ("steps/s", 9, ">"),
    ("positions/s", 12, ">"),
    ("MiB", 9, ">"),
    ("", 0, "<"),
)


def measure(config: Any, steps: int, repeat: int) -> dict[str, Any]:
    """The row of resolved settings: ``repeat`` runs of ``steps`` steps, after two steps to warm up."""
    network = config.network
    row: dict[str, Any] = {
        "network": network.architecture,
        "sizes": dataclasses.asdict(network.sizes),
        "iterations": config.iterations_at(1),
        "parameters": None,
        "dtype": network.sizes.dtype,
        "batch": config.batch_size,
        "microbatch": config.microbatch,
        "devices": None,
        "processes": 1,
        "steps": steps,
        "compile_s": None,
        "bytes": None,
        "runs_s": [],
        "median_s": None,
        "steps_per_s": None,
        "positions_per_s": None,
        "loss": None,
        "error": "",
    }
    try:
        _fill(row, config, steps, repeat)
    except Exception as error:  # every error is recorded: a missing figure would mislead
        first, *_ = str(error).splitlines() or [""]
        row["error"] = f"{type(error).__name__}: {first[:200]}"
    return row


def _fill(row: dict[str, Any], config: Any, steps: int, repeat: int) -> None:
    """Compiles and measures."""
    import jax
    from jax.sharding import NamedSharding, PartitionSpec

    from jaxsudoku import distributed
    from train.devices import own_rows, placed, placed_rows, whole_mesh
    from train.objective import no_metrics
    from train.positions import puzzles_needed
    from train.step import compiled_step, initial_state, make_forward, place

    mesh = whole_mesh()
    row["devices"], row["processes"] = mesh.size, jax.process_count()
    needed = puzzles_needed(config, mesh.size)
    key = jax.random.key(config.seed)
    forward = make_forward(config, config.iterations_at(1))
    state = place(initial_state(config, key), mesh)
    sums = placed(no_metrics(), NamedSharding(mesh, PartitionSpec()))
    rows = own_rows(mesh, needed)
    batch = placed_rows(jax.tree.map(lambda leaf: leaf[rows], puzzles_of(config, needed)), mesh)
    row["parameters"] = sum(leaf.size for leaf in jax.tree.leaves(state.params))
    start = time.perf_counter()
    update = compiled_step(config, forward, mesh).lower(state, sums, batch, key).compile()
    row["compile_s"] = time.perf_counter() - start
    if memory := update.memory_analysis():
        row["bytes"] = memory.temp_size_in_bytes + memory.argument_size_in_bytes
    for run in range(repeat + 1):
        count = steps if run else 2
        distributed.barrier("run", 600)
        start = time.perf_counter()
        for _ in range(count):
            state, sums = update(state, sums, batch, key)
        jax.block_until_ready((state, sums))
        if run:
            row["runs_s"].append((time.perf_counter() - start) / count)
    row["loss"] = float(sums.loss) / max(float(sums.positions), 1.0)
    if not math.isfinite(row["loss"]):
        raise FloatingPointError(f"the loss is {row['loss']} after {int(state.step)} steps")
    if not float(sums.positions):
        raise ValueError("the rules left no position open")
    row["median_s"] = statistics.median(row["runs_s"])
    row["steps_per_s"] = 1 / row["median_s"]
    row["positions_per_s"] = config.batch_size / row["median_s"]


def puzzles_of(config: Any, needed: int) -> Any:
    """The ``needed`` puzzles of a step, a ``datasets.Batch``: the held-out ones, repeated.

    All ratings are 0: they weigh the draw of positions, which takes as long with any.
    """
    import jax.numpy as jnp

    import jaxsudoku as js
    from jaxsudoku import datasets
    from train.puzzles import load_held_out

    puzzles = load_held_out(config)
    found = js.solve(puzzles, config.board, rounds=1)
    if not (found.status == js.Status.SOLVED).all():
        raise ValueError(f"{config.data.held_out}: not every puzzle was solved")
    rows = np.arange(needed) % len(puzzles)
    clues = (puzzles > 0).sum(axis=1).astype(np.int32)
    ratings = np.zeros(len(rows), np.float32)
    return datasets.Batch(*map(jnp.asarray, (puzzles[rows], found.grids[rows], clues[rows], ratings)))


def line(row: dict[str, Any]) -> str:
    """A row of the table; a failed one shows the error."""
    size = f"{row['parameters']:,}" if row["parameters"] else ""
    texts = [row["network"], size, row["dtype"], f"{row['batch']:,}", f"{row['processes']}"]
    if row["error"]:
        return report.aligned([*texts, *[""] * 6, f"FAILED: {row['error']}"], _COLUMNS)
    return report.aligned(
        [
            *texts,
            f"{row['compile_s']:.1f}",
            f"{1e3 * row['median_s']:,.1f}",
            f"{(max(row['runs_s']) - min(row['runs_s'])) / row['median_s']:.0%}",
            f"{row['steps_per_s']:,.2f}",
            f"{row['positions_per_s']:,.0f}",
            f"{row['bytes'] / 2**20:,.0f}" if row["bytes"] else "-",
            "",
        ],
        _COLUMNS,
    )


def several(args: argparse.Namespace) -> int:
    """Runs this script in each number of processes, and compares positions per second; returns the exit status."""
    status, rates, figures = 0, {}, []
    for count in args.processes:
        with tempfile.TemporaryDirectory() as folder:
            file = Path(folder) / "figures.json"
            ended = _processes(count, file)
            status = status or max(ended)
            if file.exists():
                figures.append(json.loads(file.read_text()))
                rates[count] = [row["positions_per_s"] for row in figures[-1]["rows"]]
    if args.json:
        report.save(args.json, {"runs": figures})
    if not status:
        for count in args.processes[1:]:
            ratios = [more / one for more, one in zip(rates[count], rates[args.processes[0]], strict=True)]
            times = ", ".join(f"{ratio:.2f}" for ratio in ratios)
            print(f"{count} processes: {times} times the positions a second of {args.processes[0]}")
    return status


def _processes(count: int, file: Path) -> list[int]:
    """Runs this script in ``count`` processes, each with its own core; returns the exit statuses."""
    cores = sorted(os.sched_getaffinity(0))
    if count > len(cores):
        raise ValueError(f"--processes {count}: this process may use {len(cores)} cores")
    with socket.socket() as free:
        free.bind(("localhost", 0))
        place = f"localhost:{free.getsockname()[1]}"
    command = [sys.executable, str(Path(__file__).resolve()), *sys.argv[1:]]
    environment = os.environ | {"JAX_PLATFORMS": "cpu", "JAX_NUM_CPU_DEVICES": "1"}
    started = [
        subprocess.Popen(
            [*command, "--join", place, str(count), str(process), str(cores[process]), str(file)],
            env=environment,
            stdout=subprocess.DEVNULL if process else None,
        )
        for process in range(count)
    ]
    return [process.wait() for process in started]


def main() -> int:
    args = _parse()
    if args.processes and not args.join:
        return several(args)
    if args.join:
        place, count, process, core, file = args.join
        os.sched_setaffinity(0, {int(core)})
        args.json = Path(file) if process == "0" else None
        from jaxsudoku import distributed

        if int(count) > 1:
            distributed.start(place, int(count), int(process))
    about = machine.describe(machine.keep_to_cores(args.cores), ["flax", "optax"])
    import jax

    from train.presets import PRESETS
    from train.selfplay_config import parse_network

    if args.preset not in PRESETS:
        print(f"training: no preset {args.preset!r}: choose one of {', '.join(PRESETS)}", file=sys.stderr)
        return 2
    preset = PRESETS[args.preset]
    if args.network:
        try:
            preset = dataclasses.replace(preset, network=parse_network(args.network))
        except ValueError as error:
            print(f"training: {error}", file=sys.stderr)
            return 2
    preset = preset.resolve(preset.board, jax.default_backend())
    print("\n".join(machine.lines(about)))
    print(f"preset   {args.preset}, board {preset.board}, {preset.iterations_at(1)} iterations of the network")
    print(f"repeat   {args.repeat} runs of {args.steps} steps, after compiling and two steps; medians\n")
    print(report.aligned([name for name, _, _ in _COLUMNS], _COLUMNS), flush=True)
    rows = []
    for dtype, batch in itertools.product(args.dtype or [None], args.batch or [None]):
        sizes = dataclasses.replace(preset.network.sizes, dtype=dtype or preset.network.sizes.dtype)
        config = dataclasses.replace(
            preset,
            batch_size=batch or preset.batch_size,
            microbatch=args.microbatch or preset.microbatch,
            network=dataclasses.replace(preset.network, sizes=sizes),
        )
        rows.append(measure(config, args.steps, args.repeat))
        print(line(rows[-1]), flush=True)
        if args.json:
            report.save(args.json, {"about": about, "preset": args.preset, "rows": rows})
    if bad := sum(bool(row["error"]) for row in rows):
        print(f"{bad} of {len(rows)} rows FAILED")
    return int(bool(bad))


def _parse() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n")[0], epilog="See benchmarks/README.md.")
    add = parser.add_argument
    add("--preset", default="gpu", help="settings by their name in train.presets.PRESETS (default: gpu)")
    add("--network", help="NAME or NAME:SIZE=NUMBER,... instead of the preset's network")
    add("--batch", type=arguments.sizes, help="positions of a step, over all devices; by default the preset's")
    add("--microbatch", type=arguments.size, help="positions of a gradient at a time; by default the preset's")
    add("--dtype", type=arguments.names, help="computing dtypes: bfloat16,float32; by default the preset's")
    add("--steps", type=arguments.size, default=20, help="steps of a run (default: 20)")
    add("--processes", type=arguments.sizes, help="numbers of processes on this machine, a core each: 1,2")
    add("--join", nargs=5, help=argparse.SUPPRESS)
    add("--cores", default="all", help="restrict the process to this number of cores: 1, 2 ... or all")
    add("--repeat", type=arguments.size, default=5, help="timed runs of each (default: 5)")
    add("--json", type=Path, help="file for all raw figures")
    return parser.parse_args()


if __name__ == "__main__":
    sys.path.append(str(Path(__file__).resolve().parents[1]))  # for train/, which is not installed
    sys.exit(main())
