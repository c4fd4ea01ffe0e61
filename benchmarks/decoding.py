"""Benchmark of decoding with a network, without backtracking: solved shares by runs, rules and noise.

Every number of runs, temperature and noise is measured on the same puzzles. The table has the solved share, the
fillings, network calls and iterations per puzzle, and the seconds after compilation. The file also has the shares
solved within numbers of calls. Every grid is checked with numpy only.

    python benchmarks/decoding.py --set hardest_se11 --puzzles 512 --runs 1,8,32
    python benchmarks/decoding.py --set acs_16x16@30,acs_16x16@40,acs_25x25@50
"""

from __future__ import annotations

import argparse
import itertools
import sys
import time
from pathlib import Path
from typing import Any

import arguments
import checking
import machine
import numpy as np
import report
import sets

_COLUMNS = (
    ("set", 18, "<"),
    ("puzzles", 7, ">"),
    ("rules", 8, "<"),
    ("runs", 5, ">"),
    ("temperature", 11, ">"),
    ("noise", 6, ">"),
    ("solved", 8, ">"),
    ("fillings", 9, ">"),
    ("calls", 8, ">"),
    ("iterations", 10, ">"),
    ("seconds", 8, ">"),
)


def measure(puzzles: np.ndarray, board: Any, solver: str, options: dict[str, Any], network: Any) -> dict[str, Any]:
    """The row of a decoder on the puzzles; compiled before the clock starts."""
    import jaxsudoku as js

    nothing = np.full_like(puzzles, 255)  # the same shapes, so the same program, and no work
    js.solve(nothing, board, solver=solver, network=network, **options)
    start = time.perf_counter()
    found = js.solve(puzzles, board, solver=solver, network=network, **options)
    seconds = time.perf_counter() - start
    solved = (found.status == js.Status.SOLVED) & checking.rightly_solved(puzzles, found.grids, board)
    calls = found.stats["network_calls"]
    return {
        "solved": float(solved.mean()),
        "fillings": float(found.iterations.mean()),
        "calls": float(calls.mean()),
        "iterations": float(found.stats["network_iterations"].mean()),
        "solved_within_calls": {most: float((solved & (calls <= most)).mean()) for most in _within(int(calls.max()))},
        "seconds": seconds,
    }


def _within(most: int) -> list[int]:
    """0 and the powers of two up to the first one that is at least ``most``."""
    return [0, *(1 << power for power in range(max(most - 1, 0).bit_length() + 1))]


def line(row: dict[str, Any]) -> str:
    """A row of the table."""
    return report.aligned(
        [
            row["set"],
            f"{row['puzzles']:,}",
            row["rules"],
            f"{row['runs']}",
            f"{row['temperature']:g}",
            f"{row['noise']:g}",
            f"{row['solved']:.2%}",
            f"{row['fillings']:,.1f}",
            f"{row['calls']:,.1f}",
            f"{row['iterations']:,.1f}",
            f"{row['seconds']:,.1f}",
        ],
        _COLUMNS,
    )


def main() -> int:
    args = _parse()
    import jaxsudoku as js

    about = machine.describe(machine.keep_to_cores("all"), ["flax"])
    print("\n".join(machine.lines(about)))
    network = js.load_network(args.network, **({} if args.iterations is None else {"iterations": args.iterations}))
    print(f"{args.solver}, {network.size:,} parameters, {network.apply.config}\n")
    print(report.aligned([name for name, _, _ in _COLUMNS], _COLUMNS))
    rows = []
    for name in args.set:
        puzzle_set = sets.wanted(name, args.data)
        puzzles = puzzle_set.drawn(args.puzzles)
        fitting = js.networks.for_board(network, puzzle_set.board)
        for rules, runs, temperature, noise in itertools.product(args.rules, args.runs, args.temperature, args.noise):
            options = {"rules": rules, "runs": runs, "temperature": temperature, "noise": noise}
            options |= {"patience": args.patience} if args.patience else {}
            options |= {} if args.complete else {"complete": False}
            row = measure(puzzles, puzzle_set.board, args.solver, options, fitting)
            rows.append({"set": name, "puzzles": len(puzzles)} | options | row)
            print(line(rows[-1]), flush=True)
    if args.json:
        report.save(args.json, {"about": about, "settings": arguments.settings(args), "rows": rows})
    return 0


def _parse() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n")[0], epilog="See benchmarks/README.md.")
    add, names = parser.add_argument, arguments.names
    arguments.add_sets(parser, ["magictour_top1465"])
    add("--solver", default="iterative", choices=["iterative", "one-shot"], help="the decoder (default: iterative)")
    add("--rules", type=names, default=["locked"], help="rules between fillings (default: locked)")
    add("--runs", type=arguments.sizes, default=[1], help="most runs of a puzzle (default: 1)")
    add("--temperature", type=_floats, default=[0.5], help="noise on choices in later runs (default: 0.5)")
    add("--noise", type=_floats, default=[0.0], help="noise on features in later runs (default: 0)")
    add("--patience", type=arguments.size, help="most calls on a position (default: the solver's)")
    add("--complete", action=argparse.BooleanOptionalAction, default=True, help="complete positions at every turn")
    add("--network", default="cube", help="a shipped network by name, or a path (default: cube)")
    add("--iterations", type=arguments.size, help="iterations of the network (default: as in training)")
    add("--json", type=Path, help="file for all raw figures")
    return parser.parse_args()


def _floats(text: str) -> list[float]:
    return [float(part) for part in text.split(",")]


if __name__ == "__main__":
    sys.exit(main())
