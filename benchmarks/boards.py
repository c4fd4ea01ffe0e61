"""Benchmark of a network on several boards: one pass, decoding and search, compared with the exact search.

For each set there is a line for the network alone, on the puzzles with one solution: shares of correct cells and boards
when all cells are filled at once, and how well the value separates positions with and without a solution. Then there is
a line for each solver. Every grid is checked with numpy only.

    python benchmarks/boards.py --set acs_16x16@40,16x16-very-hard,jigsaw-9x9
    python benchmarks/boards.py --set acs_16x16@40 --solvers exact,guided-exact:calls=4,alphasudoku:simulations=32
    python benchmarks/boards.py --set acs_25x25@60 --bare 64,256 --runs 1,8 --no-alone --solvers ""

``--bare`` measures the network without rules and search, by numbers of iterations and of runs; any right grid counts.
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
import solver_options

_COLUMNS = (
    ("set", 18, "<"),
    ("puzzles", 7, ">"),
    ("by", 34, "<"),
    ("solved", 8, ">"),
    ("grids", 9, ">"),
    ("calls", 9, ">"),
    ("seconds", 8, ">"),
)

_SOLVERS = "iterative,iterative:runs=8,alphasudoku:cell=surest,exact"


def alone(network: Any, puzzles: np.ndarray, board: Any, rules: str) -> dict[str, Any]:
    """The row of the network without a solver; without figures if no puzzle has exactly one solution."""
    import jaxsudoku as js

    unique = js.count_solutions(puzzles, board=board) == 1
    row: dict[str, Any] = {"by": "one pass", "puzzles": int(unique.sum())}
    if not unique.any():
        return row
    options: dict[str, Any] = {"rules": (rules,), "iterative": False, "rating": np.zeros(unique.sum()), "sample": None}
    found = js.evaluate(network, puzzles[unique], board, **options)
    level = found.levels[rules]
    row |= {"cells": level.total.cells, "boards": level.total.boards, "rules_alone": level.total.rules_alone}
    if level.calibration is not None:
        values = level.calibration
        row |= {name: getattr(values, name) for name in ("positions", "alive", "log_loss", "brier", "auc")}
    return row


def bare(network: Any, puzzles: np.ndarray, board: Any, args: argparse.Namespace) -> list[dict[str, Any]]:
    """The rows of the bare protocol."""
    from jaxsudoku.evaluation import evaluate_bare

    options = {} if args.noise is None else {"noise": args.noise}
    found = evaluate_bare(
        network, puzzles, board, iterations=tuple(args.bare), runs=tuple(args.runs), sample=None, **options
    )
    common = {"puzzles": found.puzzles, "several": found.several, "noise": found.noise, "seconds": found.seconds}
    return [
        {"by": f"bare: {score.iterations:,} x {score.runs:,}", "solved": score.boards, "spent": score.spent} | common
        for score in found.scores
    ]


def measure(puzzles: np.ndarray, board: Any, label: str, settings: dict[str, Any], network: Any) -> dict[str, Any]:
    """The row of a solver; compiled before the clock starts."""
    import jaxsudoku as js

    if js.solvers.get(settings["solver"]).guided:
        settings = settings | {"network": network}
    js.solve(np.full_like(puzzles, 255), board, **settings)  # the same shapes, so the same program, and no work
    start = time.perf_counter()
    found = js.solve(puzzles, board, **settings)
    seconds = time.perf_counter() - start
    solved = (found.status == js.Status.SOLVED) & checking.rightly_solved(puzzles, found.grids, board)
    calls = found.stats.get("network_calls")
    return {
        "by": label,
        "puzzles": len(puzzles),
        "solved": float(solved.mean()),
        "grids": float(found.iterations.mean()),
        "most_grids": int(found.iterations.max()),
        "calls": None if calls is None else float(calls.mean()),
        "seconds": seconds,
    }


def line(row: dict[str, Any]) -> str:
    """A row of the table."""
    if "cells" in row:
        texts = [f"one pass: {row['cells']:.1%} of cells" if row["cells"] is not None else "one pass: no open cell"]
        numbers = [f"{row['boards']:.2%}", "-", "-", "-"]
        if row.get("auc") is not None:
            numbers[-1] = f"value: area {row['auc']:.4f}, log loss {row['log_loss']:.4f}"
    elif "spent" in row:
        texts = [row["by"]]
        numbers = [f"{row['solved']:.2%}", "-", f"{row['spent']:,.0f} it.", f"{row['seconds']:,.1f}"]
    elif row["by"] == "one pass":
        texts, numbers = ["one pass"], ["-"] * 4
    else:
        texts = [row["by"]]
        calls = "-" if row["calls"] is None else f"{row['calls']:,.1f}"
        numbers = [f"{row['solved']:.2%}", f"{row['grids']:,.1f}", calls, f"{row['seconds']:,.1f}"]
    return report.aligned([row["set"], f"{row['puzzles']:,}", *texts, *numbers], _COLUMNS)


def main() -> int:
    args = _parse()
    import jaxsudoku as js

    about = machine.describe(machine.keep_to_cores(args.cores), ["flax", "mctx"])
    print("\n".join(machine.lines(about)))
    network = js.load_network(args.network, **({} if args.iterations is None else {"iterations": args.iterations}))
    print(f"rules {args.rules}, {network.size:,} parameters, {network.apply.config}\n")
    print(report.aligned([name for name, _, _ in _COLUMNS], _COLUMNS))
    rows = []
    for name in args.set:
        puzzle_set = sets.wanted(name, args.data, any_board=True)
        board = puzzle_set.board
        puzzles = puzzle_set.drawn(args.puzzles)
        fitting = js.networks.for_board(network, board)
        if args.alone:
            rows.append({"set": name} | alone(fitting, puzzles, board, args.rules))
            print(line(rows[-1]), flush=True)
        for row in bare(fitting, puzzles, board, args) if args.bare else []:
            rows.append({"set": name} | row)
            print(line(rows[-1]), flush=True)
        for label, settings in args.solvers:
            rows.append({"set": name} | measure(puzzles, board, label, {"rules": args.rules} | settings, fitting))
            print(line(rows[-1]), flush=True)
    if args.json:
        report.save(args.json, {"about": about, "settings": arguments.settings(args), "rows": rows})
    return 0


def _parse() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n")[0], epilog="See benchmarks/README.md.")
    add = parser.add_argument
    arguments.add_sets(parser, ["16x16", "jigsaw-9x9"])
    add(
        "--solvers",
        type=solver_options.solvers,
        default=_SOLVERS,
        help=f"NAME[:SETTING=VALUE]... (default: {_SOLVERS})",
    )
    add("--alone", action=argparse.BooleanOptionalAction, default=True, help="the network in one pass, and its value")
    add("--bare", type=arguments.sizes, default=[], help="numbers of iterations without rules, separated by commas")
    add("--runs", type=arguments.sizes, default=[1], help="numbers of runs without rules (default: 1)")
    add("--noise", type=float, help="noise of later runs without rules")
    add("--rules", default="locked", help="rules of all solvers (default: locked)")
    add("--network", default="cube", help="a shipped network by name, or a path (default: cube)")
    add("--iterations", type=arguments.size, help="iterations of the network (default: as in training)")
    add("--cores", default="all", help='cores of this process, or "all" (default)')
    add("--json", type=Path, help="file for all raw figures")
    return parser.parse_args()


if __name__ == "__main__":
    sys.exit(main())
