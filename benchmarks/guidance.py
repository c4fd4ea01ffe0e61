"""Ablation of a network's guidance of tree search: full, with a uniform prior, without its value, and without it.

All numbers of simulations use the same puzzles. The table has the solved share, also within 500 iterations, and the
iterations (grids) and network calls per puzzle. Every grid is checked with numpy only.

    python benchmarks/guidance.py --set magictour_top1465 --puzzles 256 --iterations 32

With a uniform prior the network's policy is not used for the choice of the cell either: it is the first cell with
fewest candidates. The value is still the network's.
"""

from __future__ import annotations

import argparse
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

#: Options: all iterations of the network at every position, and no completion of grids.
_SEARCH = {"rules": "singles", "complete": False, "sure": 1.0}

#: The part of the network that is used, by its name in the table.
GUIDES: dict[str, dict[str, Any]] = {
    "network": _SEARCH,
    "uniform prior": {**_SEARCH, "prior": "uniform", "cell": "fewest"},
    "no value": {**_SEARCH, "value": "none"},
    "neither": {**_SEARCH, "prior": "uniform", "cell": "fewest", "value": "none"},
}

_COLUMNS = (
    ("set", 18, "<"),
    ("solver", 12, "<"),
    ("guided by", 14, "<"),
    ("simulations", 11, ">"),
    ("puzzles", 7, ">"),
    ("solved", 7, ">"),
    ("within 500", 10, ">"),
    ("mean", 8, ">"),
    ("median", 7, ">"),
    ("most", 7, ">"),
    ("calls", 8, ">"),
    ("seconds", 8, ">"),
)


def measure(puzzles: np.ndarray, solver: str, options: dict[str, Any], network: Any) -> dict[str, Any]:
    """The row of a search on the puzzles; compiled before the clock starts."""
    import jaxsudoku as js

    half = max(-(-len(puzzles) // 2), 32)  # so that two threads share them
    nothing = np.full_like(puzzles, 255)  # the same shapes, so the same program, and no work
    js.solve(nothing, solver=solver, batch_size=half, network=network, **options)
    start = time.perf_counter()
    found = js.solve(puzzles, solver=solver, batch_size=half, network=network, **options)
    seconds = time.perf_counter() - start
    calls = found.stats["network_calls"]
    solved = (found.status == js.Status.SOLVED) & checking.rightly_solved(puzzles, found.grids)
    return {
        "solved": float(solved.mean()),
        "within": float((solved & (found.iterations <= 500)).mean()),
        "mean": float(found.iterations.mean()),
        "median": float(np.median(found.iterations)),
        "most": int(found.iterations.max()),
        "calls": float(calls.mean()),
        "calls_median": float(np.median(calls)),
        "seconds": seconds,
    }


def line(row: dict[str, Any]) -> str:
    """A row of the table."""
    return report.aligned(
        [
            row["set"],
            row["solver"],
            row["guide"],
            f"{row['simulations']}",
            f"{row['puzzles']:,}",
            f"{row['solved']:.1%}",
            f"{row['within']:.1%}",
            f"{row['mean']:,.1f}",
            f"{row['median']:,.0f}",
            f"{row['most']:,}",
            f"{row['calls']:,.1f}",
            f"{row['seconds']:,.1f}",
        ],
        _COLUMNS,
    )


def main() -> int:
    args = _parse()
    import jaxsudoku as js

    about = machine.describe(machine.keep_to_cores("all"), ["flax", "mctx"])
    print("\n".join(machine.lines(about)))
    network = js.load_network(args.network, **({} if args.iterations is None else {"iterations": args.iterations}))
    print(f"rules {args.rules}, {network.apply.config}\n")
    print(report.aligned([name for name, _, _ in _COLUMNS], _COLUMNS))
    rows = []
    for name in args.set:
        puzzle_set = sets.wanted(name, args.data)
        puzzles = puzzle_set.drawn(args.puzzles)
        for solver in args.solvers:
            for guide in args.guides:
                for simulations in args.simulations:
                    options = {"rules": args.rules, "budget": args.budget, "simulations": simulations} | GUIDES[guide]
                    about_row = {"set": name, "solver": solver, "guide": guide, "simulations": simulations}
                    rows.append(about_row | {"puzzles": len(puzzles)} | measure(puzzles, solver, options, network))
                    print(line(rows[-1]), flush=True)
    if args.json:
        report.save(args.json, {"about": about, "settings": arguments.settings(args), "rows": rows})
    return 0


def _parse() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n")[0], epilog="See benchmarks/README.md.")
    add, names = parser.add_argument, arguments.names
    add("--set", type=names, default=["magictour_top1465", "hardest_se11"], help="puzzle sets by their names")
    add("--data", help="folder of puzzle sets")
    add("--puzzles", type=arguments.size, default=256, help="puzzles of each set, drawn at random (default: 256)")
    add("--solvers", type=names, default=["alphasudoku", "gumbel"], help="by their names")
    add("--guides", type=names, default=list(GUIDES), help=f"of {', '.join(GUIDES)} (default: all)")
    add(
        "--simulations",
        type=arguments.sizes,
        default=[8, 16, 32, 64, 128, 256],
        help="simulations a search (default: 8,16,32,64,128,256)",
    )
    add("--rules", default="singles", help="what is deduced after every move (default: singles)")
    add("--budget", type=arguments.size, help="iterations after which a puzzle is left (default: no limit)")
    add("--network", default="cube", help="a shipped network by name, or a path (default: cube)")
    add("--iterations", type=arguments.size, help="iterations of the network, if it has any; by default as in training")
    add("--json", type=Path, help="file for all raw figures")
    args = parser.parse_args()
    if unknown := [name for name in args.guides if name not in GUIDES]:
        parser.error(f"unknown {', '.join(unknown)}: choose from {', '.join(GUIDES)}")
    if unknown := [name for name in args.solvers if name not in ("alphasudoku", "gumbel")]:
        parser.error(f"unknown {', '.join(unknown)}: choose from alphasudoku, gumbel")
    return args


if __name__ == "__main__":
    sys.exit(main())
