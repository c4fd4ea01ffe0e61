"""Benchmark of textbook solvers: the questions of a course work (IFT3335, on AIMA's search code) in one run.

Depth-first search in three orders within 10,000 nodes, best-first search by three heuristics, candidate elimination
alone and followed by a search, hill climbing, and best-first search over full grids. The table has the puzzles that a
solver claims to have solved, those whose grid is right (checked by numpy alone), and the explored nodes. For hill
climbing nodes are all evaluated grids. For both searches over full grids the table also has what is left wrong in two
units, the digits that rows and columns miss and the course work's conflicts, and for hill climbing the steps. With
``--times`` the first puzzles are solved one at a time as well, for the mean and the standard deviation of their times.
The question "published" repeats the course work's own runs beside its seconds a puzzle.

    python benchmarks/textbook.py --set ift3335_100,ift3335_1000 --json benchmarks/out/textbook.json
"""

from __future__ import annotations

import argparse
import json
import math
import sys
import time
from pathlib import Path
from typing import Any

import checking
import machine
import numpy as np
import report
import sets

#: Runs of the course work: solver, options, and its own seconds a puzzle, mean ± standard deviation where it has one.
PUBLISHED: list[tuple[str, dict[str, Any], str]] = [
    *(
        ("depth-first", {"actions": "any", "order": order, "budget": 10_000}, seconds)
        for order, seconds in (("sequential", "27.36 ± 2.06"), ("random", "24.62 ± 1.62"), ("sorted", "38.04 ± 1.49"))
    ),
    ("best-first", {"actions": "any", "heuristic": "most-constrained", "budget": 100, "room": 30_000}, "163 ± 43"),
    ("best-first-swaps", {"budget": 100}, "125 ± 138"),
    ("elimination", {"rules": "naked", "then": "best-first", "heuristic": "remaining"}, "1.55"),
    ("elimination", {"rules": "naked", "then": "depth-first"}, "11.27"),
    ("hill-climbing", {"neighbourhood": "swaps"}, "0.18"),
    ("hill-climbing", {"neighbourhood": "super"}, "1.25"),
]

#: The questions by name: (solver, options). Depth-first search as in the course work may fill any cell of a grid next;
#: with "cell" the order selects the cell.
QUESTIONS: dict[str, list[tuple[str, dict[str, Any]]]] = {
    "depth-first": [
        ("depth-first", {"actions": actions, "order": order})
        for actions in ("any", "cell")
        for order in ("sequential", "random", "sorted")
    ],
    "best-first": [
        ("best-first", {"heuristic": heuristic}) for heuristic in ("most-constrained", "conflicts", "remaining")
    ],
    "elimination": [
        ("elimination", options)
        for options in (
            *({"then": then} for then in ("none", "depth-first", "best-first")),
            # as in the course work: naked singles alone
            {"rules": "naked", "then": "best-first", "heuristic": "remaining"},
            {"rules": "naked", "then": "depth-first"},
        )
    ],
    "best-first-swaps": [("best-first-swaps", options) for options in ({}, {"rules": "singles"}, {"rules": "locked"})],
    "hill-climbing": [
        ("hill-climbing", options)
        for options in (
            {"neighbourhood": "swaps"},
            {"neighbourhood": "super"},
            {"restarts": 100},
            {"sideways": 100},
            {"sideways": 100, "restarts": 100},
            {"sideways": 100, "restarts": 100, "rules": "locked"},
        )
    ],
    "published": [(solver, options) for solver, options, _ in PUBLISHED],
}

#: Solvers whose nodes the course work limits.
_BOUNDED = ("depth-first", "best-first", "best-first-swaps")

#: Columns for a solver on a set.
COLUMNS = (
    ("set", 17, "<"),
    ("solver", 16, "<"),
    ("settings", 48, "<"),
    ("puzzles", 7, ">"),
    ("claimed", 7, ">"),
    ("valid", 7, ">"),
    ("nodes: mean", 11, ">"),
    ("deviation", 9, ">"),
    ("median", 8, ">"),
    ("most", 9, ">"),
    ("seconds", 8, ">"),
    ("ms each", 15, ">"),
    ("author's s each", 15, ">"),
    ("missing digits", 14, ">"),
    ("conflicts", 12, ">"),
    ("steps", 8, ">"),
)


def measure(puzzles: np.ndarray, solver: str, options: dict[str, Any], timed: int = 0) -> dict[str, Any]:
    """The row of a solver on the puzzles; compiled before the clock starts.

    Args:
      puzzles: uint8[N, cells].
      solver: its name.
      options: its settings.
      timed: number of puzzles that are also solved one at a time, for the mean and the deviation of their times.
    """
    import jaxsudoku as js

    half = max(-(-len(puzzles) // 2), 32)  # so that two threads share them
    nothing = np.full_like(puzzles, 255)  # the same shapes, so the same program, and no work
    settings: dict[str, Any] = {"solver": solver, "batch_size": half, "keep_partial": True, **options}
    js.solve(nothing, **settings)
    start = time.perf_counter()
    found = js.solve(puzzles, **settings)
    seconds = time.perf_counter() - start
    claimed = found.status == js.Status.SOLVED
    valid = claimed & checking.rightly_solved(puzzles, found.grids)
    measured = {
        "claimed": int(claimed.sum()),
        "valid": int(valid.sum()),
        "mean": float(found.iterations.mean()),
        "nodes_deviation": float(found.iterations.std()),
        "median": float(np.median(found.iterations)),
        "most": int(found.iterations.max()),
        "seconds": seconds,
    }
    if timed:
        js.solve(nothing[:1], solver=solver, **options)
        times = [_seconds(puzzle[None], solver, options) for puzzle in puzzles[:timed]]
        measured |= {"timed": len(times), "time_mean": float(np.mean(times)), "time_deviation": float(np.std(times))}
    if "errors" in found.stats:
        for unit, left in (("missing", found.stats["errors"]), ("conflicts", conflicts(found.grids))):
            measured |= {unit: float(left.mean()), f"{unit}_deviation": float(left.std())}
    if solver == "hill-climbing" and "rules" not in options:  # with rules fewer cells are free than in the puzzles
        around = neighbours(puzzles, options.get("neighbourhood") == "super")
        measured["steps"] = float(((found.iterations - 1) / np.maximum(around, 1)).mean())
    return measured


def _seconds(puzzles: np.ndarray, solver: str, options: dict[str, Any]) -> float:
    """Seconds for solving puzzles."""
    import jaxsudoku as js

    start = time.perf_counter()
    js.solve(puzzles, solver=solver, **options)
    return time.perf_counter() - start


def conflicts(grids: np.ndarray) -> np.ndarray:
    """The course work's conflicts of complete grids uint8[N, cells]: int[N].

    A cell counts once if its row has its digit again, and once more if its column has.
    """
    side = math.isqrt(grids.shape[1])
    rows = grids.reshape(-1, side, side)
    found = [(lines[..., :, None] == lines[..., None, :]).sum(axis=-1) > 1 for lines in (rows, rows.swapaxes(1, 2))]
    return np.sum(found, axis=(0, 2, 3))


def neighbours(puzzles: np.ndarray, threefold: bool) -> np.ndarray:
    """The number of neighbours of grids: swaps of two empty cells of a box, with ``threefold`` also of three boxes."""
    side = math.isqrt(puzzles.shape[1])
    rows, columns = checking.box_shape(side)
    empty = (puzzles == 0).reshape(-1, side // rows, rows, side // columns, columns).sum(axis=(2, 4)).reshape(-1, side)
    swaps = (empty * (empty - 1) // 2).sum(axis=1)
    able = (empty > 1).sum(axis=1)
    return swaps + (able * (able - 1) * (able - 2) // 6 if threefold else 0)


def line(row: dict[str, Any]) -> str:
    """A row of the table."""
    settings = " ".join(f"{name}={value}" for name, value in row["options"].items())
    return report.aligned(
        [
            row["set"],
            row["solver"],
            settings,
            f"{row['puzzles']:,}",
            f"{row['claimed']:,}",
            f"{row['valid']:,}",
            f"{row['mean']:,.1f}",
            f"{row['nodes_deviation']:,.1f}",
            f"{row['median']:,.0f}",
            f"{row['most']:,}",
            f"{row['seconds']:,.2f}",
            f"{row['time_mean'] * 1e3:,.1f} ± {row['time_deviation'] * 1e3:,.1f}" if "timed" in row else "",
            next((author for *run, author in PUBLISHED if run == [row["solver"], row["options"]]), ""),
            *(
                f"{row[unit]:.2f} ± {row[f'{unit}_deviation']:.2f}" if unit in row else ""
                for unit in ("missing", "conflicts")
            ),
            f"{row['steps']:,.1f}" if "steps" in row else "",
        ],
        COLUMNS,
    )


def main() -> int:
    args = _parse()
    about = machine.describe(machine.keep_to_cores("all"), [])
    print("\n".join(machine.lines(about)))
    print(f"at most {args.budget:,} nodes of {', '.join(_BOUNDED)}\n")
    print(report.aligned([name for name, _, _ in COLUMNS], COLUMNS))
    rows = []
    for name in args.set:
        puzzle_set = sets.wanted(name, args.data)
        puzzles = puzzle_set.puzzles[: args.puzzles]
        for question in args.questions:
            for solver, options in QUESTIONS[question]:
                budget = {"budget": args.budget} if solver in _BOUNDED else {}
                about_row = {"set": name, "solver": solver, "options": options, "puzzles": len(puzzles)}
                rows.append(about_row | measure(puzzles, solver, budget | options, args.times))
                print(line(rows[-1]), flush=True)
    if args.json:
        args.json.parent.mkdir(parents=True, exist_ok=True)
        args.json.write_text(json.dumps({"about": about | {"budget": args.budget}, "rows": rows}, indent=1) + "\n")
    wrong = sum(row["claimed"] - row["valid"] for row in rows)
    if wrong:
        print(f"textbook: {wrong} grids claimed as solved are not", file=sys.stderr)
    return int(wrong > 0)


def _parse() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n")[0], epilog="See benchmarks/README.md.")
    add = parser.add_argument

    def names(text: str) -> list[str]:
        return text.split(",")

    add("--set", type=names, default=["ift3335_100", "ift3335_1000"], help="puzzle sets by their names")
    add("--data", help="folder of puzzle sets")
    add("--puzzles", type=int, help="puzzles of each set, the first ones; by default all")
    add("--questions", type=names, default=list(QUESTIONS), help=f"of {', '.join(QUESTIONS)} (default: all)")
    add("--budget", type=int, default=10_000, help="nodes after which a search leaves a puzzle (default: 10000)")
    add("--times", type=int, default=0, help="puzzles of each set solved one at a time too, for times (default: 0)")
    add("--json", type=Path, help="file for all raw figures")
    args = parser.parse_args()
    if unknown := [name for name in args.questions if name not in QUESTIONS]:
        parser.error(f"unknown {', '.join(unknown)}: choose from {', '.join(QUESTIONS)}")
    return args


if __name__ == "__main__":
    sys.exit(main())
