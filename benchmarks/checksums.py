"""Checksums of the answers of every solver on the shipped sets, to verify that refactoring changes no answer.

    python benchmarks/checksums.py --json benchmarks/out/checksums.json
    python benchmarks/checksums.py --compare benchmarks/out/checksums.json

Floating point differs between processors and versions of jax, so both runs belong to one machine and one version.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

import arguments
import jax
import numpy as np

import jaxsudoku as js
from jaxsudoku import solvers

#: Number of puzzles per set, and the sets for solvers other than the exact search.
COUNT = 24
SMALL = ("4x4", "6x6", "9x9-easy", "9x9-hard", "windoku-9x9", "jigsaw-9x9")
#: Settings that limit the effort of solvers on puzzles that they may not solve.
BUDGETS: dict[str, dict[str, Any]] = {
    "gumbel": {"budget": 64, "simulations": 8},
    "alphasudoku": {"budget": 64, "simulations": 8},
    "mcgs": {"budget": 64, "simulations": 8},
    "mcts": {"budget": 64},
    "depth-first": {"budget": 2000},
    "best-first": {"budget": 2000},
    "elimination": {"budget": 2000},
    "annealing": {"budget": 2000},
    "evolution": {"epochs": 50, "restarts": 1},
    "hill-climbing": {"restarts": 2},
    "best-first-swaps": {"budget": 500},
    "evosax": {"generations": 50},
}


def digest(arrays: dict[str, np.ndarray]) -> str:
    """SHA-256 of arrays with their names, dtypes and shapes."""
    found = hashlib.sha256()
    for name, array in sorted(arrays.items()):
        array = np.ascontiguousarray(array)
        found.update(f"{name} {array.dtype} {array.shape}\n".encode())
        found.update(array.tobytes())
    return found.hexdigest()


def answers(solver: str, name: str) -> dict[str, np.ndarray]:
    """Grids, statuses, iterations and statistics of a solver on the first puzzles of a shipped set."""
    found = js.solve(js.load(name)[:COUNT], js.shipped.board(name), solver=solver, key=7, **BUDGETS.get(solver, {}))
    return {"grids": found.grids, "status": found.status, "iterations": found.iterations, **found.stats}


def apart(names: list[str]) -> dict[str, str]:
    """The checksums of solvers, each in a separate process, as one process can't map all their programs."""
    sums: dict[str, str] = {}
    with tempfile.TemporaryDirectory() as folder:
        for name in names:
            made = Path(folder) / f"{name}.json"
            subprocess.run([sys.executable, __file__, "--solvers", name, "--json", str(made)], check=True)
            sums |= json.loads(made.read_text())["sums"]
    return sums


def main(argv: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--solvers", type=arguments.names, default=list(solvers.SOLVERS), help="solvers by name")
    parser.add_argument("--json", type=Path, help="file to write")
    parser.add_argument("--compare", type=Path, help="file of an earlier run: differences are an error")
    args = parser.parse_args(argv)
    if len(args.solvers) > 1:
        sums = apart(args.solvers)
    else:
        (solver,) = args.solvers
        sums = {}
        for name in js.shipped.names() if solver == "exact" else SMALL:
            sums[f"{solver} {name}"] = digest(answers(solver, name))
            print(f"{solver} {name} {sums[f'{solver} {name}'][:16]}", flush=True)
        for name in SMALL if solver == "exact" else ():
            counts = js.count_solutions(js.load(name)[:COUNT], js.shipped.board(name))
            sums[f"count {name}"] = digest({"counts": counts})
    found = {"jax": jax.__version__, "sums": sums}
    if args.json:
        args.json.parent.mkdir(parents=True, exist_ok=True)
        args.json.write_text(json.dumps(found, indent=1) + "\n")
    if args.compare is None:
        return 0
    before = json.loads(args.compare.read_text())
    other = [name for name in sums if before["sums"].get(name) != sums[name]]
    print(f"{len(sums) - len(other)} of {len(sums)} answers are those of {args.compare} (jax {before['jax']})")
    for name in other:
        print(f"differs: {name}")
    return 1 if other else 0


if __name__ == "__main__":
    sys.exit(main())
