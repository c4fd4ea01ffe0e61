"""Benchmark of networks: boards evaluated per second by network, dtype and batch, without compile time.

Timed is one call of the compiled network, from candidates on the device to policy and value on the device, with
random parameters, which take as long as trained ones. Each figure is the median of several runs, in which the batches
and dtypes of a network take turns. Failures stay in the table and make the exit status 1.

    python benchmarks/networks.py --networks cube,axial --batch 32,1024 --dtype float32,bfloat16
"""

from __future__ import annotations

import argparse
import functools
import itertools
import statistics
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import arguments
import machine
import report

#: Heading, width and alignment of each column.
_COLUMNS = (
    ("network", 12, "<"),
    ("parameters", 11, ">"),
    ("dtype", 9, "<"),
    ("positions", 16, "<"),
    ("batch", 7, ">"),
    ("compile s", 9, ">"),
    ("median ms", 10, ">"),
    ("spread", 7, ">"),
    ("boards/s", 11, ">"),
    ("µs each", 10, ">"),
    ("", 0, "<"),
)

#: The least number of seconds of a run; it has as many calls as that needs.
_LEAST = 0.05


def prepare(
    name: str, board_name: str, dtype: str, positions: str, batch: int
) -> tuple[dict[str, Any], Callable[[], Any] | None]:
    """The row of a network on a batch, and the call to time; None if it failed, with the error in the row."""
    row: dict[str, Any] = {
        "network": name,
        "board": board_name,
        "parameters": None,
        "dtype": dtype,
        "positions": positions,
        "batch": batch,
        "compile_s": None,
        "calls": 1,
        "runs_s": [],
        "median_s": None,
        "boards_per_s": None,
        "error": "",
    }
    try:
        call, row["parameters"], row["compile_s"] = compile_network(name, board_name, dtype, positions, batch)
        start = time.perf_counter()
        call()
        row["calls"] = max(1, round(_LEAST / (time.perf_counter() - start)))
    except Exception as error:  # every error is recorded: a missing figure would mislead
        row["error"] = told(error)
        return row, None
    return row, call


def compile_network(
    name: str, board_name: str, dtype: str, positions: str, batch: int
) -> tuple[Callable[[], Any], int, float]:
    """The warm call, the number of parameters, and the compile time in seconds."""
    import jax
    import numpy as np

    import jaxsudoku as js

    network = untrained(name, board_name, dtype)
    board = network.board
    seen = candidates(board, positions, batch)
    placed = jax.block_until_ready(jax.device_put((network.params, seen)))
    start = time.perf_counter()
    compiled = jax.jit(network.apply, compiler_options=js.compiler_options()).lower(*placed).compile()
    seconds = time.perf_counter() - start
    outputs = jax.block_until_ready(compiled(*placed))
    if not (np.isfinite(outputs.policy).all() and np.isfinite(outputs.value).all()):
        raise ArithmeticError("outputs that are not finite")
    return lambda: jax.block_until_ready(compiled(*placed)), network.size, seconds


def candidates(board: Any, positions: str, batch: int) -> Any:
    """Candidates bool[B, side, cells]: random ones, or those that rules leave of shipped puzzles, SET:RULES."""
    import numpy as np

    import jaxsudoku as js
    from jaxsudoku import env

    if positions != "random":
        name, _, rules = positions.partition(":")
        puzzles = js.load(name)
        state = env.init(puzzles[np.arange(batch) % len(puzzles)], board, rules)
        return np.asarray(env.observe(state, board))
    random = np.random.default_rng(0)
    # every cell has a digit, and half of the others
    digits = random.integers(board.side, size=(batch, 1, board.cells))
    return (random.random((batch, board.side, board.cells)) < 0.5) | (digits == np.arange(board.side)[:, None])


@functools.cache
def untrained(name: str, board_name: str, dtype: str) -> Any:
    """The network with random parameters."""
    import jaxsudoku as js

    return js.make_network(name, js.Board.named(board_name), dtype=dtype)


def measure(row: dict[str, Any], call: Callable[[], Any]) -> None:
    """One run, of the number of calls in the row."""
    try:
        start = time.perf_counter()
        for _ in range(row["calls"]):
            call()
        row["runs_s"].append((time.perf_counter() - start) / row["calls"])
    except Exception as error:  # recorded as above
        row["error"] = told(error)
        return
    row["median_s"] = statistics.median(row["runs_s"])
    row["boards_per_s"] = row["batch"] / row["median_s"]


def told(error: Exception) -> str:
    """An error as one line."""
    first, *_ = str(error).splitlines() or [""]
    return f"{type(error).__name__}: {first[:200]}"


def line(row: dict[str, Any]) -> str:
    """A row of the table; a failed one shows the error."""
    size = f"{row['parameters']:,}" if row["parameters"] else ""
    texts = [row["network"], size, row["dtype"], row["positions"], f"{row['batch']:,}"]
    if row["error"]:
        return report.aligned([*texts, *[""] * 5, f"FAILED: {row['error']}"], _COLUMNS)
    runs, median = row["runs_s"], row["median_s"]
    return report.aligned(
        [
            *texts,
            f"{row['compile_s']:.2f}",
            f"{1e3 * median:,.3f}",
            f"{(max(runs) - min(runs)) / median:.0%}",
            f"{row['boards_per_s']:,.0f}",
            f"{1e6 / row['boards_per_s']:,.2f}",
            "",
        ],
        _COLUMNS,
    )


def main() -> int:
    args = _parse()
    try:
        cores = machine.keep_to_cores(args.cores)
    except (OSError, ValueError) as error:
        print(f"networks: {error}", file=sys.stderr)
        return 2
    about = machine.describe(cores, ["flax"])
    print("\n".join(machine.lines(about)))
    heading = report.aligned([name for name, _, _ in _COLUMNS], _COLUMNS)
    print(f"board    {args.board}; repeat {args.repeat}, after compiling and a first call; medians\n\n{heading}")
    rows = []
    for name in args.networks or _all_networks():
        entries = [
            prepare(name, args.board, *each) for each in itertools.product(args.dtype, args.positions, args.batch)
        ]
        for _ in range(args.repeat):
            for row, call in entries:
                if call is not None and not row["error"]:
                    measure(row, call)
        print("\n".join(line(row) for row, _ in entries), flush=True)
        rows += [row for row, _ in entries]
        if args.json:
            report.save(args.json, {"about": about, "rows": rows})
    if bad := sum(bool(row["error"]) for row in rows):
        print(f"{bad} of {len(rows)} rows FAILED")
    return int(bool(bad))


def _all_networks() -> list[str]:
    from jaxsudoku.networks import NETWORKS

    return list(NETWORKS)


def _parse() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n")[0], epilog="See benchmarks/README.md.")
    add = parser.add_argument
    add("--networks", type=arguments.names, help="names in jaxsudoku.networks.NETWORKS; by default all")
    add("--board", default="9", help="the board, as the command line names it")
    add("--batch", type=arguments.sizes, default=[1, 32, 256, 1024], help="boards in a call")
    add("--dtype", type=arguments.names, default=["float32"], help="computing dtypes: float32,bfloat16")
    add("--positions", type=arguments.names, default=["random"], help="random, or SET:RULES, such as 9x9-hard:locked")
    add("--cores", default="all", help="restrict the process to this number of cores: 1, 2 ... or all")
    add("--repeat", type=arguments.size, default=5, help="timed runs of each")
    add("--json", type=Path, help="file for all raw figures")
    args = parser.parse_args()
    if args.cores != "all" and not args.cores.isdecimal():
        parser.error(f"--cores {args.cores}: give a number or all")
    return args


if __name__ == "__main__":
    sys.exit(main())
