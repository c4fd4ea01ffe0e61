"""Benchmark of general optimisers of real vectors: evosax's methods on random keys, compared with hill climbing.

Each evaluates about 100,000 grids of a puzzle, with the rules first and without. The columns are those of
``textbook.py``. Needs the extra ``evosax``.

    python benchmarks/baselines.py --set kaggle3m_rated --puzzles 100 --json benchmarks/out/baselines.json
"""

from __future__ import annotations

import argparse
import json
import sys
from pathlib import Path
from typing import Any

import machine
import report
import sets
import textbook

from jaxsudoku.solvers.population.evosax import ALGORITHMS

#: The measured solvers, (solver, options). A climb with steps sideways evaluates about 25,000 grids without rules.
METHODS: list[tuple[str, dict[str, Any]]] = [
    *(("evosax", {"algorithm": algorithm, "generations": 1000, "population": 100}) for algorithm in ALGORITHMS),
    ("hill-climbing", {"sideways": 100, "restarts": 3}),
]


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n")[0], epilog="See benchmarks/README.md.")
    parser.add_argument("--set", required=True, help="a puzzle set by its name")
    parser.add_argument("--data", help="folder of puzzle sets")
    parser.add_argument("--puzzles", type=int, help="number of puzzles, the first ones; by default all")
    parser.add_argument(
        "--rules", type=lambda text: text.split(","), default=["none", "locked"], help="rules before the solver"
    )
    parser.add_argument("--json", type=Path, help="file for all raw figures")
    args = parser.parse_args()
    puzzle_set = sets.wanted(args.set, args.data)
    puzzles = puzzle_set.puzzles[: args.puzzles]
    about = machine.describe(machine.keep_to_cores("all"), [])
    print("\n".join(machine.lines(about)))
    print(report.aligned([name for name, _, _ in textbook.COLUMNS], textbook.COLUMNS))
    rows = []
    for rules in args.rules:
        for solver, settings in METHODS:
            options = settings | {"rules": rules}
            about_row = {"set": args.set, "solver": solver, "options": options, "puzzles": len(puzzles)}
            rows.append(about_row | textbook.measure(puzzles, solver, options))
            print(textbook.line(rows[-1]), flush=True)
    if args.json:
        args.json.parent.mkdir(parents=True, exist_ok=True)
        args.json.write_text(json.dumps({"about": about, "rows": rows}, indent=1) + "\n")
    return int(any(row["claimed"] != row["valid"] for row in rows))


if __name__ == "__main__":
    sys.exit(main())
