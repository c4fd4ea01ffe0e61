"""Compiles the library's programs for absent accelerators: time to compile, memory, kernels, bytes.

Each program has the settings and the batch size that the library chooses for the platform. No figure is measured on the
device. A step is a step of the loop that moves most data (except the judge's), or the whole program if it runs once per
call. The predicted time of a step is

    bytes / memory bandwidth + kernels x 2 microseconds

with the kernels and bytes that ``hlo_cost`` counts in the compiled program, the bandwidth of the data sheet, and 2
microseconds per launch. With ``--steps`` the steps for a puzzle set are counted, by a search on this machine's CPU with
the accelerator's settings; the predicted throughput is puzzles / (steps x time of a step). With several devices,
figures are those of one device, and "loop comm." counts the communicating instructions in loops. The JSON also has the
registers per thread of Pallas kernels for GPUs, and the bytes that they spill.

    python benchmarks/compiled.py --targets h100,v5e
    python benchmarks/compiled.py --targets h100x8,v5ex4 --programs exact,gumbel
    python benchmarks/compiled.py --targets h100 --programs exact --boards 9 --steps 17clue=1048576,hardest_se11=262144

A program that does not compile, or needs more memory than the device has, is reported in its row; the exit status is
then 1. NVIDIA targets need jax's CUDA plugin (``pip install 'jax[cuda12]'``), TPU targets libtpu
(``pip install 'jax[tpu]'``); neither needs a device.
"""

from __future__ import annotations

import argparse
import atexit
import functools
import os
import re
import shutil
import sys
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import hlo_cost
import machine
import report
import sets
from sets import PuzzleSet
from targets import TARGETS, Target

#: Assumed seconds of a kernel launch.
_LAUNCH = 2e-6

#: Sides of boards for programs that are compiled not only for 9x9 by default, and whose steps are counted.
_SIDES = {"exact": (9, 16, 25), "count": (9, 16, 25)}

_COLUMNS = (
    ("target", 6, "<"),
    ("program", 18, "<"),
    ("board", 9, "<"),
    ("items", 9, ">"),
    ("lanes", 7, ">"),
    ("compile s", 9, ">"),
    ("memory GB", 9, ">"),
    ("of device", 9, ">"),
    ("step", 7, "<"),
    ("kernels", 7, ">"),
    ("fusions", 7, ">"),
    ("MB", 9, ">"),
    ("KB/lane", 7, ">"),
    ("predicted us", 12, ">"),
    ("loop comm.", 10, ">"),
)


def measure(target: Target, name: str, side: int, items: int | None, puzzles: Sequence[PuzzleSet]) -> dict[str, Any]:
    """Compiles a program for a target.

    Args:
      target: the target.
      name: the program.
      side: the side of its board.
      items: the number of items in a call, None for the library's choice.
      puzzles: the sets whose steps are counted.

    Returns:
      the figures; ``error`` is None, or the cause if there are no others or they are useless.
    """
    figures: dict[str, Any] = {"program": name, "board": f"{side}x{side}", "error": None}
    try:
        figures |= _compiled(target, name, side, items, puzzles)
    except Exception as error:  # the compiler raises various errors
        lines = str(error).split("\n")[:2]  # a TPU's compiler says the kind of error, then the cause
        figures["error"] = f"{type(error).__name__}: {' '.join(lines).strip() or 'no message'}"
    return figures


def _compiled(target: Target, name: str, side: int, items: int | None, puzzles: Sequence[PuzzleSet]) -> dict[str, Any]:
    import programs

    program = programs.make(name, target.devices(), side, items)
    notes = _notes()
    start = time.perf_counter()
    compiled = program.compile()
    seconds = time.perf_counter() - start
    memory, text = compiled.memory_analysis(), compiled.as_text()
    said = "".join(file.read_text() for file in notes.glob("*.ptxas")) if hlo_cost.MOSAIC in text else ""
    used = memory.temp_size_in_bytes + memory.argument_size_in_bytes + memory.output_size_in_bytes
    used -= memory.alias_size_in_bytes  # results that reuse arguments' memory
    once = program.whole or not hlo_cost.loops(text)
    step = hlo_cost.whole(text) if once else hlo_cost.main_loop(text, left_out="judge").step
    step_seconds = step.bytes / target.bandwidth + step.kernels * _LAUNCH
    fitting = [chosen for chosen in puzzles if chosen.side == side and name in _SIDES]
    return {
        "device": target.name,
        "devices": target.count,
        "board": program.board,
        "items": program.items,
        "lanes": program.lanes,
        "compile_seconds": seconds,
        "temporary_bytes": memory.temp_size_in_bytes,
        "memory_bytes": used,
        "memory_share": used / target.memory,
        "step": "whole" if once else "loop",
        "step_kernels": step.kernels,
        "step_fusions": step.fusions,
        "step_bytes": step.bytes,
        "predicted_step_seconds": step_seconds,
        "registers": max(map(int, re.findall(r"Used (\d+) registers", said)), default=None),
        "spilled_bytes": sum(map(int, re.findall(r"(\d+) bytes spill stores", said))),
        "collectives_in_loops": len(hlo_cost.collectives_in_loops(text)),
        "sets": [_prediction(program.kernel, step_seconds, chosen) for chosen in fitting],
        "error": f"does not fit: {used / 1e9:.1f} of {target.memory / 1e9:.1f} GB" if used > target.memory else None,
    }


@functools.cache
def _notes() -> Path:
    """The folder with the compiler's resource reports of Pallas kernels for GPUs; each kernel is compiled once."""
    folder = tempfile.mkdtemp()
    atexit.register(shutil.rmtree, folder)
    os.environ |= {"MOSAIC_GPU_DUMP_PTXAS": "1", "MOSAIC_GPU_DUMP_TO": folder}
    return Path(folder)


#: The steps of a kernel for a puzzle set, counted once for all targets.
_counted: dict[tuple[Any, str], int] = {}


def _prediction(kernel: Any, step_seconds: float, puzzles: PuzzleSet) -> dict[str, Any]:
    """The number of steps of a search of a puzzle set, and the predicted throughput of a device."""
    import jax
    import numpy as np
    from steps import main_loop_steps

    if (kernel, puzzles.name) not in _counted:
        key, number = jax.random.key(0), np.uint32(0)
        function = functools.partial(kernel, puzzles.board)
        _counted[kernel, puzzles.name] = main_loop_steps(function, puzzles.puzzles, key, number)
    steps = _counted[kernel, puzzles.name]
    count = len(puzzles.puzzles)
    return {
        "set": puzzles.name,
        "puzzles": count,
        "steps": steps,
        "predicted_puzzles_per_second": count / (steps * step_seconds),
    }


def lines_of(target: str, figures: dict[str, Any]) -> list[str]:
    """The figures as lines of the table, with further lines for an error and for each puzzle set."""
    if "items" not in figures:
        return [f"{target:6}  {figures['program']:18}  {figures['board']:9}  FAILED: {figures['error']}"]
    lanes, step_bytes = figures["lanes"], figures["step_bytes"]
    cells = [
        target,
        figures["program"],
        figures["board"],
        f"{figures['items']:,}",
        f"{lanes:,}" if lanes else "-",
        f"{figures['compile_seconds']:.1f}",
        f"{figures['temporary_bytes'] / 1e9:.2f}",
        f"{figures['memory_share']:.0%}",
        figures["step"],
        f"{figures['step_kernels']:,}",
        f"{figures['step_fusions']:,}",
        f"{step_bytes / 1e6:,.1f}",
        f"{step_bytes / lanes / 1e3:.1f}" if lanes else "-",
        f"{figures['predicted_step_seconds'] * 1e6:,.0f}",
        str(figures["collectives_in_loops"]),
    ]
    lines = [report.aligned(cells, _COLUMNS)]
    if figures["error"]:
        lines.append(f"        FAILED: {figures['error']}")
    for found in figures["sets"]:
        throughput = f"predicted {found['predicted_puzzles_per_second']:,.0f} puzzles/s a device"
        lines.append(f"        {found['set']}, {found['puzzles']:,} puzzles: {found['steps']:,} steps, {throughput}")
    return lines


def _set_of(text: str, data: str | None) -> PuzzleSet:
    """The set of ``NAME`` or ``NAME=PUZZLES``."""
    name, _, count = text.partition("=")
    found = sets.wanted(name, data)
    return found.resized(int(count)) if count else found


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    add = parser.add_argument
    add("--targets", default="h100,v5e", help=f"of {', '.join(TARGETS)} (default: h100,v5e)")
    add("--programs", default="all", help="solvers and other programs, by commas (default: all, which --list names)")
    add("--boards", help="sides of classic boards, by commas (default: 9, of exact and count 9,16,25)")
    add("--items", type=int, help="puzzles in a call over all devices (default: the library's choice)")
    add("--steps", help="count the steps of exact and count for these puzzle sets: NAME or NAME=PUZZLES, by commas")
    add("--data", help="folder of puzzle sets")
    add("--list", action="store_true", help="list the programs")
    add("--json", type=Path, help="write the figures to this file, after each program")
    args = parser.parse_args()
    targets = args.targets.split(",")
    if unknown := [name for name in targets if name not in TARGETS]:
        parser.error(f"unknown target {unknown[0]!r}: choose among {', '.join(TARGETS)}")
    # before jax is imported: no device is looked for, neither a GPU nor the TPU of a cloud machine
    os.environ.update(JAX_PLATFORMS="cpu", JAX_SKIP_CUDA_CONSTRAINTS_CHECK="1", TPU_SKIP_MDS_QUERY="1")
    os.environ.update(TPU_WORKER_HOSTNAMES="localhost", TPU_ACCELERATOR_TYPE="v5litepod-4", JAXSUDOKU_CACHE="0")
    os.environ.update(ALLOW_MULTIPLE_LIBTPU_LOAD="1")  # nothing is run, so processes do not disturb each other
    import programs

    names = programs.names()
    if args.list:
        print("\n".join(names))
        return 0
    wanted = names if args.programs == "all" else args.programs.split(",")
    if unknown := [name for name in wanted if name not in names]:
        parser.error(f"unknown program {unknown[0]!r}: choose among {', '.join(names)}")
    puzzles = [_set_of(text, args.data) for text in args.steps.split(",")] if args.steps else []
    about = machine.describe(len(os.sched_getaffinity(0)), ("jax-cuda12-plugin", "libtpu"))
    print("\n".join(machine.lines(about)))
    print(report.aligned([heading for heading, _, _ in _COLUMNS], _COLUMNS))
    figures = []
    for target in targets:
        for name in wanted:
            sides = map(int, args.boards.split(",")) if args.boards else _SIDES.get(name, (9,))
            for side in sides:
                figures.append({"target": target, **measure(TARGETS[target], name, side, args.items, puzzles)})
                print("\n".join(lines_of(target, figures[-1])), flush=True)
                if args.json:
                    report.save(args.json, {"about": about, "launch_seconds": _LAUNCH, "figures": figures})
    failed = sum(found["error"] is not None for found in figures)
    if failed:
        print(f"{failed} of {len(figures)} programs FAILED")
    return int(failed > 0)


if __name__ == "__main__":
    sys.exit(main())
