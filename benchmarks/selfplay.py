"""Benchmark of self-play: rounds compared with their parts, in games and positions per second, without compile time.

Timed in turns, each from the same state: a round as ``train.selfplay`` makes it, with the next puzzles of a data set;
the games of that round alone, with the same puzzles; its steps alone, which learn from the games of earlier rounds. The
last line is the loop's time over the sum of its pieces'. Reports, validations and checkpoints are not part of a round.

    python benchmarks/selfplay.py --preset cpu --repeat 7
"""

from __future__ import annotations

import argparse
import dataclasses
import statistics
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

import arguments
import machine
import report

_COLUMNS = (
    ("part", 6, "<"),
    ("compile s", 9, ">"),
    ("s a round", 9, ">"),
    ("spread", 7, ">"),
    ("games/s", 9, ">"),
    ("positions/s", 11, ">"),
)


def measure(config: Any, repeat: int, warm: int) -> list[dict[str, Any]]:
    """A row for the loop, for its games and for its steps: ``repeat`` rounds each, after ``warm`` ones."""
    import jax
    import jax.numpy as jnp

    from jaxsudoku.runtime.devices import compiler_options
    from jaxsudoku.runtime.terminal.progress import Screen
    from train import rounds
    from train.devices import whole_mesh
    from train.processes import Processes
    from train.stream import Stream

    mesh, key = whole_mesh(), jax.random.key(config.seed)
    learners, actor = rounds.networks_at(config, config.steps)
    options = compiler_options(jax.default_backend())
    acting, learning = rounds.make_acting(config, actor, mesh), rounds.make_learning(config, learners, mesh)
    parts: dict[str, Any] = {
        "loop": rounds.round_at(config, config.steps, mesh),
        "games": jax.jit(acting, donate_argnums=0, compiler_options=options),
        "steps": jax.jit(learning, donate_argnums=(0, 1), compiler_options=options),
    }
    with tempfile.TemporaryDirectory() as folder:
        stream = Stream(config, mesh.size)
        stream.open(Path(folder), Screen(bar=False), Processes())
        puzzles = stream.rounds(key, mesh, 0)
        first = next(puzzles)

        rows: list[dict[str, Any]] = []
        runs: dict[str, Any] = {}
        state = rounds.placed_round_state(config, key, mesh)
        sums = rounds.no_sums(len(config.rivals))
        given: Any = {"loop": (state, sums, first, key), "games": (state, first, key), "steps": (state, sums, key)}
        for name, program in parts.items():
            begun = time.perf_counter()
            runs[name] = program.lower(*given[name]).compile()
            rows.append({"part": name, "compile_s": time.perf_counter() - begun, "runs_s": []})
        for _ in range(warm):
            state, sums = runs["loop"](state, sums, next(puzzles), key)
        for _ in range(repeat):
            for row in rows:
                own_state, own_sums = jax.block_until_ready(jax.tree.map(jnp.copy, (state, sums)))  # a run donates them
                name, begun = row["part"], time.perf_counter()
                if name == "loop":
                    now = next(puzzles)  # to fetch them is part of a round
                    done = runs[name](own_state, own_sums, now, key)
                elif name == "games":
                    done = runs[name](own_state, now, key)
                else:
                    done = runs[name](own_state, own_sums, key)
                jax.block_until_ready(done)
                row["runs_s"].append(time.perf_counter() - begun)
    for row in rows:
        row["median_s"] = statistics.median(row["runs_s"])
        row["games_per_s"] = None if row["part"] == "steps" else config.play.games / row["median_s"]
        positions = config.play.updates * config.batch_size
        row["positions_per_s"] = None if row["part"] == "games" else positions / row["median_s"]
    return rows


def line(row: dict[str, Any]) -> str:
    """A row of the table."""
    rates = (row["games_per_s"], row["positions_per_s"])
    return report.aligned(
        [
            row["part"],
            f"{row['compile_s']:.1f}",
            f"{row['median_s']:.3f}",
            f"{(max(row['runs_s']) - min(row['runs_s'])) / row['median_s']:.0%}",
            *("" if rate is None else f"{rate:,.1f}" for rate in rates),
        ],
        _COLUMNS,
    )


def main() -> int:
    args = _parse()
    cores = machine.keep_to_cores(args.cores)
    import jax

    if args.devices:
        jax.config.update("jax_num_cpu_devices", args.devices)
    about = machine.describe(cores, ["flax", "optax", "flashbax"])
    from train.selfplay_presets import PRESETS

    if args.preset not in PRESETS:
        print(f"selfplay: no preset {args.preset!r}: choose one of {', '.join(PRESETS)}", file=sys.stderr)
        return 2
    preset = PRESETS[args.preset]
    data = dataclasses.replace(preset.data, generate=args.generate)
    network = dataclasses.replace(preset.network, start=args.start)
    config = dataclasses.replace(preset, data=data, network=network).resolve(preset.board, jax.default_backend())
    print("\n".join(machine.lines(about)))
    print(f"preset   {args.preset}, board {preset.board}, {config.play.games} games and {config.play.updates} steps")
    print(f"         of {config.batch_size} positions a round, {jax.local_device_count()} devices")
    print(f"repeat   {args.repeat} rounds of each in turns, after {args.warm} rounds; medians\n")
    rows = measure(config, args.repeat, args.warm)
    print(report.aligned([name for name, _, _ in _COLUMNS], _COLUMNS))
    for row in rows:
        print(line(row))
    loop, games, steps = (row["median_s"] for row in rows)
    print(f"\nthe loop takes {loop / (games + steps):.3f} times as long as its pieces together")
    if args.json:
        report.save(args.json, {"about": about, "preset": args.preset, "rows": rows})
    return 0


def _parse() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n")[0], epilog="See benchmarks/README.md.")
    add = parser.add_argument
    add("--preset", default="cpu", help="settings by their name in train.selfplay_presets.PRESETS (default: cpu)")
    add("--start", help="a network to begin with; random parameters by default")
    add("--generate", type=arguments.size, default=20_000, help="puzzles that are generated (default: 20,000)")
    add("--warm", type=arguments.size, default=4, help="rounds before those that are timed (default: 4)")
    add("--repeat", type=arguments.size, default=7, help="timed rounds of each (default: 7)")
    add("--cores", default="all", help="restrict the process to this number of cores: 1, 2 ... or all")
    add("--devices", type=arguments.size, help="CPU devices; one by default")
    add("--json", type=Path, help="file for all raw figures")
    return parser.parse_args()


if __name__ == "__main__":
    sys.path.append(str(Path(__file__).resolve().parents[1]))  # for train/, which is not installed
    sys.exit(main())
