"""Benchmark of stochastic solvers on full grids: solved shares, steps, and speed compared with plain numpy.

For each set the table has the solved share (every grid is checked with numpy only), the steps (sweeps of annealing,
epochs of evolution) and evaluated grids per puzzle, and the error of the best grids of unsolved puzzles. All puzzles
are one batch, on a CPU two. ``first s`` is a call without work, which compiles; later calls are warm. ``--speed``
compares epochs of evolution with the same loop in numpy, one organism after the other, in the same run.

    python benchmarks/population.py --set hardest_se11 --puzzles 500 --solver annealing --option rules=none
    python benchmarks/population.py --speed
"""

from __future__ import annotations

import argparse
import ast
import statistics
import sys
import time
from pathlib import Path
from typing import Any

import checking
import machine
import numpy as np
import report
import sets

_COLUMNS = (
    ("set", 18, "<"),
    ("solver", 14, "<"),
    ("settings", 30, "<"),
    ("puzzles", 7, ">"),
    ("solved", 7, ">"),
    ("steps: mean", 11, ">"),
    ("median", 8, ">"),
    ("most", 8, ">"),
    ("M grids: mean", 13, ">"),
    ("error", 6, ">"),
    ("first s", 8, ">"),
    ("seconds", 8, ">"),
    ("puzzles/s", 9, ">"),
    ("M grids/s", 9, ">"),
)

#: Hives of the race with numpy, and epochs in a measurement.
_HIVES, _EPOCHS = 64, 200

#: Organisms that numpy updates in a measurement: it does some ten thousand a second.
_BY_NUMPY = 4000


def most_steps(config: Any) -> int:
    """The largest number of steps of a puzzle."""
    return config.budget if hasattr(config, "budget") else config.epochs * (1 + config.restarts)


def measure(puzzles: np.ndarray, solver: str, options: dict[str, Any], seed: int) -> dict[str, Any]:
    """The row of a solver on the puzzles; compiled before the clock starts."""
    import jax

    import jaxsudoku as js

    config = js.SOLVERS[solver].config(**options)
    threads = 2 if jax.default_backend() == "cpu" else 1  # which share the puzzles
    batch = max(-(-len(puzzles) // threads), 1)
    settings: dict[str, Any] = {
        "solver": solver,
        "key": seed,
        "batch_size": batch,
        "record": most_steps(config),
    } | options
    start = time.perf_counter()
    js.solve(np.full_like(puzzles, 255), **settings)  # the same shapes, so the same program, and no work
    first = time.perf_counter() - start
    start = time.perf_counter()
    found = js.solve(puzzles, **settings)
    seconds = time.perf_counter() - start
    claimed = found.status == js.Status.SOLVED
    solved = claimed & checking.rightly_solved(puzzles, found.grids)
    steps = (found.stats["history"] >= 0).sum(axis=1)
    return {
        "claimed": int(claimed.sum()),
        "valid": int(solved.sum()),
        "batch": batch,
        "first_s": first,
        "seconds": seconds,
        "puzzles_per_s": len(puzzles) / seconds,
        "steps_mean": float(steps.mean()),
        "steps_median": float(np.median(steps)),
        "steps_most": int(steps.max()),
        "grids_mean": float(found.iterations.mean()),
        "grids": int(found.iterations.sum(dtype=np.int64)),
        "error": float(found.stats["errors"][~solved].mean()) if (~solved).any() else 0.0,
    }


def line(row: dict[str, Any]) -> str:
    """A row of the table."""
    settings = " ".join(f"{name}={value}" for name, value in row["options"].items())
    return report.aligned(
        [
            row["set"],
            row["solver"],
            settings,
            f"{row['puzzles']:,}",
            f"{row['valid'] / row['puzzles']:.1%}",
            f"{row['steps_mean']:,.1f}",
            f"{row['steps_median']:,.0f}",
            f"{row['steps_most']:,}",
            f"{row['grids_mean'] / 1e6:,.3f}",
            f"{row['error']:.1f}",
            f"{row['first_s']:,.1f}",
            f"{row['seconds']:,.1f}",
            f"{row['puzzles_per_s']:,.1f}",
            f"{row['grids'] / row['seconds'] / 1e6:,.1f}",
        ],
        _COLUMNS,
    )


# ---------------------------------------------------------------------- evolution beside plain numpy


class PlainHive:
    """The epochs of evolution in numpy, one organism after the other.

    Args:
      puzzle: uint8[81], 0 = empty.
      organisms: workers and explorers.
      workers: the number of workers.
      rng: the source of all random numbers.
    """

    def __init__(self, puzzle: np.ndarray, organisms: int, workers: int, rng: np.random.Generator) -> None:
        row, column = np.divmod(np.arange(81), 9)
        self.boxes = [
            np.flatnonzero((row // 3 == band) & (column // 3 == stack)) for band in range(3) for stack in range(3)
        ]
        self.lines = np.array([*np.arange(81).reshape(9, 9), *np.arange(81).reshape(9, 9).T])
        self.puzzle, self.rng = puzzle, rng
        self.free = [box[puzzle[box] == 0] for box in self.boxes]
        self.grids = np.array([self.random() for _ in range(workers)])
        self.errors = np.array([self.error(grid) for grid in self.grids])
        self.ages = np.zeros(workers, int)
        self.explorers = organisms - workers

    def random(self) -> np.ndarray:
        """A grid with each box's missing digits in its free cells, in random order."""
        grid = self.puzzle.copy()
        for box, free in zip(self.boxes, self.free, strict=True):
            grid[free] = self.rng.permutation(np.setdiff1d(np.arange(1, 10), self.puzzle[box]))
        return grid

    def error(self, grid: np.ndarray) -> int:
        """The number of digits that rows and columns miss."""
        held = np.bitwise_or.reduce(1 << grid[self.lines].astype(np.int64), axis=1)
        return 162 - int(np.bitwise_count(held).sum())

    def epoch(self, lifetime: int = 300, mistakes: float = 0.001) -> None:
        """Every worker evaluates a neighbour, every explorer a random grid; the best of each kind have a child."""
        for worker in range(len(self.grids)):
            free = self.free[self.rng.integers(9)]
            if len(free) < 2:
                continue
            pair = self.rng.choice(free, 2, replace=False)
            neighbour = self.grids[worker].copy()
            neighbour[pair] = neighbour[pair[::-1]]
            error = self.error(neighbour)
            self.ages[worker] += 1
            if error < self.errors[worker] or self.rng.random() < mistakes:
                self.ages[worker] *= error >= self.errors[worker]
                self.grids[worker], self.errors[worker] = neighbour, error
            elif self.ages[worker] > lifetime:
                self.grids[worker] = self.random()
                self.errors[worker], self.ages[worker] = self.error(self.grids[worker]), 0
        tried = [self.random() for _ in range(self.explorers)]
        mate = tried[int(np.argmin([self.error(grid) for grid in tried]))]
        child = self.grids[self.errors.argmin()].copy()
        for box in self.boxes:
            if self.rng.random() < 0.5:
                child[box] = mate[box]
        worst = self.errors.argmax()
        self.grids[worst], self.errors[worst], self.ages[worst] = child, self.error(child), 0


def race(puzzles: np.ndarray, repeat: int) -> dict[str, Any]:
    """Organisms a second that evolution updates, in the library and in numpy, in turns."""
    import jaxsudoku as js

    config = js.SOLVERS["evolution"].config()
    hives = np.resize(puzzles, (_HIVES, 81))
    settings: dict[str, Any] = {
        "solver": "evolution",
        "rules": "none",
        "epochs": _EPOCHS,
        "restarts": 0,
        "batch_size": _HIVES // 2,
    }
    js.solve(np.full_like(hives, 255), **settings)
    plain = PlainHive(puzzles[0], config.organisms, config.workers, np.random.default_rng(0))
    ours, theirs = [], []
    for turn in range(repeat):
        start = time.perf_counter()
        found = js.solve(hives, key=turn, **settings)
        ours.append(found.iterations.sum() / (time.perf_counter() - start))
        start = time.perf_counter()
        for _ in range(_BY_NUMPY // config.organisms):
            plain.epoch()
        theirs.append(_BY_NUMPY / (time.perf_counter() - start))
    return {"ours": statistics.median(ours), "numpy": statistics.median(theirs), "ours_all": ours, "numpy_all": theirs}


def main() -> int:
    args = _parse()
    about = machine.describe(machine.keep_to_cores("all"), [])
    print("\n".join(machine.lines(about)))
    rows: list[dict[str, Any]] = []
    speeds = None

    def save() -> None:
        if args.json:
            report.save(args.json, {"about": about | {"seed": args.seed}, "rows": rows, "speed": speeds})

    if args.set:
        print(f"seed {args.seed}\n" + report.aligned([name for name, _, _ in _COLUMNS], _COLUMNS))
    for name in args.set:
        puzzle_set = sets.wanted(name, args.data)
        puzzles = np.random.default_rng(5).permutation(puzzle_set.puzzles[: puzzle_set.distinct])[: args.puzzles]
        about_row = {"set": name, "solver": args.solver, "options": args.option, "puzzles": len(puzzles)}
        rows.append(about_row | measure(puzzles, args.solver, args.option, args.seed))
        print(line(rows[-1]), flush=True)
        save()
    if args.speed:
        puzzle_set = sets.wanted("9x9-hard", args.data)
        speeds = race(puzzle_set.puzzles, args.repeat)
        print(
            f"evolution updates {speeds['ours']:,.0f} organisms a second, numpy {speeds['numpy']:,.0f}: "
            f"{speeds['ours'] / speeds['numpy']:.0f} times as many (medians of {args.repeat}, in turns)"
        )
        save()
    wrong = sum(row["claimed"] - row["valid"] for row in rows)
    if wrong:
        print(f"population: {wrong} grids claimed as solved are not", file=sys.stderr)
    return int(wrong > 0)


def _parse() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n")[0], epilog="See benchmarks/README.md.")
    add = parser.add_argument
    add("--set", type=lambda text: text.split(","), default=[], help="puzzle sets by their names")
    add("--data", help="folder of puzzle sets")
    add("--puzzles", type=int, help="puzzles of each set, drawn at random; by default all")
    add("--solver", default="annealing", help="by its name (default: annealing)")
    add("--option", action="append", default=[], metavar="NAME=VALUE", help="a setting of the solver; may be repeated")
    add("--seed", type=int, default=0, help="seed of all random numbers (default: 0)")
    add("--speed", action="store_true", help="compare evolution with plain numpy")
    add("--repeat", type=int, default=7, help="turns of that comparison (default: 7)")
    add("--json", type=Path, help="file for all raw figures")
    args = parser.parse_args()
    if not args.set and not args.speed:
        parser.error("nothing to measure: name --set, or --speed")
    pairs = [option.partition("=") for option in args.option]
    if unclear := [name for name, equals, _ in pairs if not equals]:
        parser.error(f"--option takes NAME=VALUE, not {unclear[0]}")
    args.option = {name: _value(text) for name, _, text in pairs}
    return args


def _value(text: str) -> Any:
    """The text as a number if it is one."""
    try:
        return ast.literal_eval(text)
    except (ValueError, SyntaxError):
        return text


if __name__ == "__main__":
    sys.exit(main())
