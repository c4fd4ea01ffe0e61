"""Benchmark of implementations of a 3x3 convolution on a CPU: boards per second, forward and with gradients, in a loop.

Each implementation runs a stack of residual convolutions, as wide as SeResNet's blocks, on 9x9 boards, in a loop over
microbatches, as in training and in solvers. Figures are medians of alternating runs. Results are compared with those of
XLA's operation, and a difference beyond rounding makes the exit status 1.

    python benchmarks/convolutions.py --cores 1
"""

from __future__ import annotations

import argparse
import functools
import statistics
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import arguments
import machine
import numpy as np
import report

_COLUMNS = (
    ("form", 12, "<"),
    ("boards", 7, ">"),
    ("compile s", 9, ">"),
    ("evaluated/s", 12, ">"),
    ("gradients/s", 12, ">"),
    ("times XLA's", 12, ">"),
    ("difference", 11, ">"),
)

#: Number of microbatches in a loop, and the side of their boards.
_MICROBATCHES, _SIDE = 4, 9

#: Maximum difference of gradients, relative to the largest one.
_ROUNDING = 1e-4


def programs(form: Callable[..., Any], boards: int, width: int, layers: int) -> tuple[list[Callable[[], Any]], float]:
    """Compiled calls of evaluation and of gradients, and the compile time of both in seconds."""
    import jax
    import jax.numpy as jnp
    from jax import lax

    frame = ((1, 1), (1, 1))
    kernels = 0.03 * jax.random.normal(jax.random.key(0), (layers, 3, 3, width, width))
    images = jax.random.normal(jax.random.key(1), (_MICROBATCHES, boards, _SIDE, _SIDE, width))

    def loss(kernels: Any, image: Any) -> Any:
        for kernel in kernels:
            image = image + jax.nn.silu(form(image, kernel, frame))  # smooth: rounding stays small
        return (image**2).mean()

    def evaluated(kernels: Any, images: Any) -> Any:
        return lax.scan(lambda total, image: (total + loss(kernels, image), None), 0.0, images)[0]

    def gradients(kernels: Any, images: Any) -> Any:
        of_one = jax.grad(loss)
        start = jnp.zeros_like(kernels)
        return lax.scan(lambda total, image: (total + of_one(kernels, image), None), start, images)[0]

    start = time.perf_counter()
    compiled = [jax.jit(function).lower(kernels, images).compile() for function in (evaluated, gradients)]
    seconds = time.perf_counter() - start
    return [functools.partial(program, kernels, images) for program in compiled], seconds


def measure(boards: int, repeat: int, width: int, layers: int) -> list[dict[str, Any]]:
    """A row for each form."""
    from jaxsudoku.networks.convolution import as_convolution, as_product, as_tiles

    forms = {"XLA's": as_convolution, "products": as_product, "tiles": as_tiles}
    prepared = {name: programs(form, boards, width, layers) for name, form in forms.items()}
    results = {name: np.asarray(calls[1]()) for name, (calls, _) in prepared.items()}
    times: dict[str, list[list[float]]] = {name: [[], []] for name in forms}
    for _ in range(repeat):
        for name, (calls, _) in prepared.items():
            for call, taken in zip(calls, times[name], strict=True):
                start = time.perf_counter()
                call().block_until_ready()
                taken.append(time.perf_counter() - start)
    right = results["XLA's"]
    rows: list[dict[str, Any]] = []
    for name, (_, compile_s) in prepared.items():
        evaluated, gradients = (_MICROBATCHES * boards / statistics.median(taken) for taken in times[name])
        rows.append(
            {
                "form": name,
                "boards": boards,
                "compile_s": compile_s,
                "evaluated_per_s": evaluated,
                "gradients_per_s": gradients,
                "times_xla": gradients / rows[0]["gradients_per_s"] if rows else 1.0,
                "difference": float(np.abs(results[name] - right).max() / np.abs(right).max()),
                "runs_s": times[name],
            }
        )
    return rows


def line(row: dict[str, Any]) -> str:
    """A row of the table."""
    return report.aligned(
        [
            row["form"],
            str(row["boards"]),
            f"{row['compile_s']:.1f}",
            f"{row['evaluated_per_s']:,.0f}",
            f"{row['gradients_per_s']:,.1f}",
            f"{row['times_xla']:.1f}",
            f"{row['difference']:.1e}",
        ],
        _COLUMNS,
    )


def main() -> int:
    args = _parse()
    about = machine.describe(machine.keep_to_cores(args.cores), [])
    print("\n".join(machine.lines(about)))
    print(f"{args.layers} convolutions of {args.width} channels, {_MICROBATCHES} microbatches\n")
    print(report.aligned([name for name, _, _ in _COLUMNS], _COLUMNS), flush=True)
    rows = []
    for boards in args.boards:
        found = measure(boards, args.repeat, args.width, args.layers)
        rows += found
        print("\n".join(map(line, found)), flush=True)
        if args.json:
            report.save(args.json, {"about": about, "rows": rows})
    if wrong := [row["form"] for row in rows if row["difference"] > _ROUNDING]:
        print(f"convolutions: the gradients of {', '.join(wrong)} are not those of XLA's operation", file=sys.stderr)
    return int(bool(wrong))


def _parse() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n")[0], epilog="See benchmarks/README.md.")
    add = parser.add_argument
    add("--boards", type=arguments.sizes, default=[8, 16, 32], help="boards of a microbatch (default: 8,16,32)")
    add("--width", type=arguments.size, default=128, help="channels (default: 128)")
    add("--layers", type=arguments.size, default=4, help="convolutions (default: 4)")
    add("--cores", default="all", help="restrict the process to this number of cores: 1, 2 ... or all")
    add("--repeat", type=arguments.size, default=3, help="timed runs of each (default: 3)")
    add("--json", type=Path, help="file for all raw figures")
    return parser.parse_args()


if __name__ == "__main__":
    sys.exit(main())
