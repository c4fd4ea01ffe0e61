"""The AlphaSudoku study repeated: solved shares and iterations of several solvers on rated puzzles.

Its author compared backtracking, a network cell by cell, MCTS with rollouts, and PUCT with a network, on puzzles with a
difficulty. Here they run on one set, together with Gumbel search and graph search, at his settings (no rules but
that a cell's digits must not clash, 20 expansions a move) and at the library's own (singles after every move).

    python benchmarks/study.py --puzzles kaggle3m_rated.csv --output benchmarks/out/study

The folder gets a row for each puzzle and solver (puzzles.csv), a row for each group (summary.csv), and, with the extra
plot, solved.png and iterations.png. Every grid is checked by numpy alone.
"""

from __future__ import annotations

import argparse
import csv
import json
import sys
import time
from pathlib import Path
from typing import Any

import checking
import machine
import numpy as np
import report

#: Each solver's options, by the name of the settings.
SETTINGS: dict[str, dict[str, dict[str, Any]]] = {
    "study": {
        "exact": {"rules": "naked"},
        "iterative": {"rules": "none"},
        "mcts": {"rules": "none", "simulations": 20, "exploration": 0.2},
        "alphasudoku": {"rules": "none", "simulations": 20, "cell": "fewest", "formula": "study", "exploration": 1.0},
        "gumbel": {"rules": "none", "simulations": 20, "cell": "fewest"},
        "mcgs": {"rules": "none", "simulations": 20},
    },
    "ours": {
        "exact": {"rules": "singles"},
        "iterative": {"rules": "singles"},
        "mcts": {"rules": "singles"},
        "alphasudoku": {"rules": "singles"},
        "gumbel": {"rules": "singles"},
        "mcgs": {"rules": "singles"},
    },
}

#: Solvers that take a budget of iterations a puzzle.
_BUDGETED = ("mcts", "alphasudoku", "gumbel", "mcgs")

_COLUMNS = (
    ("settings", 8, "<"),
    ("solver", 12, "<"),
    ("difficulty", 10, ">"),
    ("puzzles", 7, ">"),
    ("solved", 7, ">"),
    ("median", 8, ">"),
    ("mean", 9, ">"),
    ("most", 8, ">"),
    ("calls", 8, ">"),
    ("seconds", 8, ">"),
)


def read(path: Path, below: float, limit: int | None) -> tuple[np.ndarray, np.ndarray]:
    """Puzzles uint8[N, 81] under a difficulty, and their difficulties; from columns puzzle and difficulty.

    Raises:
      ValueError: a missing column, or a malformed puzzle; the message names the file and the line.
    """
    puzzles, difficulties = [], []
    with path.open(newline="") as file:
        rows = csv.DictReader(file)
        if missing := {"puzzle", "difficulty"} - set(rows.fieldnames or ()):
            raise ValueError(f"{path}: no column {', '.join(sorted(missing))}")
        for row in rows:
            text = row["puzzle"].replace(".", "0")
            if len(text) != 81 or not text.isdigit():
                raise ValueError(f"{path}:{rows.line_num}: a puzzle of 81 digits was expected, not {row['puzzle']!r}")
            try:
                difficulty = float(row["difficulty"])
            except ValueError:
                raise ValueError(f"{path}:{rows.line_num}: {row['difficulty']!r} is no difficulty") from None
            if difficulty < below:
                puzzles.append(np.frombuffer(text.encode(), np.uint8) - ord("0"))
                difficulties.append(difficulty)
    if not puzzles:
        raise ValueError(f"{path}: no puzzle of a difficulty under {below}")
    order = np.random.default_rng(0).permutation(len(puzzles))[:limit]
    return np.array(puzzles)[order], np.array(difficulties)[order]


def solve(puzzles: np.ndarray, solver: str, options: dict[str, Any], network: Any) -> dict[str, np.ndarray | float]:
    """The solution of the puzzles by a solver; compiled before the clock starts."""
    import jaxsudoku as js

    given = {"network": network} if js.SOLVERS[solver].guided else {}
    nothing = np.full_like(puzzles, 255)  # the same shapes, so the same program, and no work
    js.solve(nothing, solver=solver, batch_size=_batch(len(puzzles)), **given, **options)
    start = time.perf_counter()
    found = js.solve(puzzles, solver=solver, batch_size=_batch(len(puzzles)), **given, **options)
    seconds = time.perf_counter() - start
    solved = (found.status == js.Status.SOLVED) & checking.rightly_solved(puzzles, found.grids)
    calls = found.stats.get("network_calls", np.zeros(len(puzzles), np.int32))
    return {"solved": solved, "iterations": found.iterations, "calls": calls, "seconds": seconds}


def _batch(size: int) -> int:
    """Half of the puzzles, so that two threads share them."""
    return max(-(-size // 2), 32)


def summary(settings: str, solver: str, found: dict[str, Any], difficulty: np.ndarray) -> list[list[Any]]:
    """A row for each whole difficulty, and one for all."""
    rows = []
    groups = [(str(low), np.floor(difficulty) == low) for low in np.unique(np.floor(difficulty)).astype(int)]
    for name, group in [*groups, ("all", np.ones(len(difficulty), bool))]:
        iterations = found["iterations"][group]
        rows.append(
            [
                settings,
                solver,
                name,
                int(group.sum()),
                float(found["solved"][group].mean()),
                float(np.median(iterations)),
                float(iterations.mean()),
                int(iterations.max()),
                float(found["calls"][group].mean()),
                found["seconds"] if name == "all" else None,
            ]
        )
    return rows


def line(row: list[Any]) -> str:
    """A row of the table."""
    settings, solver, name, size, solved, median, mean, most, calls, seconds = row
    texts = [
        settings,
        solver,
        name,
        f"{size:,}",
        f"{solved:.1%}",
        f"{median:,.0f}",
        f"{mean:,.1f}",
        f"{most:,}",
        f"{calls:,.1f}",
        "" if seconds is None else f"{seconds:,.1f}",
    ]
    return report.aligned(texts, _COLUMNS)


def draw(rows: list[list[Any]], samples: dict[tuple[str, str], dict[str, Any]], folder: Path) -> None:
    """Bars of the solved shares by difficulty, and boxes of the iterations; needs matplotlib, the extra plot."""
    from matplotlib.figure import Figure

    names = sorted({row[0] for row in rows})
    bars = Figure(figsize=(9, 3.2 * len(names)), layout="constrained")
    boxes = Figure(figsize=(9, 3.2 * len(names)), layout="constrained")
    for number, settings in enumerate(names, 1):
        solvers = [solver for kind, solver in samples if kind == settings]
        panel = bars.add_subplot(len(names), 1, number)
        for place, solver in enumerate(solvers):
            mine = [row for row in rows if row[:2] == [settings, solver]]
            xs = np.arange(len(mine)) + (place - len(solvers) / 2) * 0.8 / len(solvers)
            panel.bar(xs, [row[4] for row in mine], 0.8 / len(solvers), label=solver, align="edge")
            panel.set_xticks(range(len(mine)), [row[2] for row in mine])
        panel.set(title=f"settings: {settings}", xlabel="difficulty", ylabel="solved", ylim=(0, 1.02))
        panel.legend(fontsize="small", ncols=3)
        panel = boxes.add_subplot(len(names), 1, number)
        panel.boxplot([samples[settings, solver]["iterations"] for solver in solvers], whis=(0, 100))
        panel.set_xticks(range(1, len(solvers) + 1), solvers)
        panel.set(title=f"settings: {settings}", yscale="log", ylabel="iterations")
    bars.savefig(folder / "solved.png", dpi=120)
    boxes.savefig(folder / "iterations.png", dpi=120)


def main() -> int:
    args = _parse()
    import jaxsudoku as js

    try:
        puzzles, difficulty = read(args.puzzles, args.below, args.limit)
    except (OSError, ValueError) as error:
        print(f"study: {error}", file=sys.stderr)
        return 2
    about = machine.describe(machine.keep_to_cores("all"), ["flax", "mctx"])
    print("\n".join(machine.lines(about)))
    print(report.aligned([name for name, _, _ in _COLUMNS], _COLUMNS))
    options = {} if args.iterations is None else {"iterations": args.iterations}
    network = js.load_network(args.network, **options)
    rows: list[list[Any]] = []
    samples = {}
    for settings in args.settings:
        for solver in args.solvers or SETTINGS[settings]:
            chosen = SETTINGS[settings][solver] | ({"budget": args.budget} if solver in _BUDGETED else {})
            found = samples[settings, solver] = solve(puzzles, solver, chosen, network)
            rows += summary(settings, solver, found, difficulty)
            print(line(rows[-1]), flush=True)
    print("\n".join(line(row) for row in rows if row[2] != "all"))
    args.output.mkdir(parents=True, exist_ok=True)
    (args.output / "about.json").write_text(json.dumps(about | {"arguments": vars(args)}, indent=1, default=str) + "\n")
    with (args.output / "summary.csv").open("w", newline="") as file:
        csv.writer(file).writerows([[name for name, _, _ in _COLUMNS], *rows])
    with (args.output / "puzzles.csv").open("w", newline="") as file:
        writer = csv.writer(file)
        writer.writerow(["settings", "solver", "difficulty", "solved", "iterations", "calls"])
        for (settings, solver), found in samples.items():
            for each in zip(difficulty, found["solved"], found["iterations"], found["calls"], strict=True):
                writer.writerow([settings, solver, each[0], int(each[1]), *each[2:]])
    if args.plot:
        draw(rows, samples, args.output)
    return 0


def _parse() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n")[0], epilog="See benchmarks/README.md.")
    add = parser.add_argument
    add("--puzzles", type=Path, required=True, help="CSV file with columns puzzle and difficulty")
    add("--below", type=float, default=5.0, help="puzzles under this difficulty (default: 5)")
    add("--limit", type=int, help="number of puzzles, drawn at random; by default all")
    add("--settings", type=_names(SETTINGS), default=list(SETTINGS), help="study, ours, or both (default)")
    add("--solvers", type=_names(SETTINGS["ours"]), help="by their names; by default all")
    add("--network", default="cube", help="a shipped network by name, or a path (default: cube)")
    add("--iterations", type=int, help="iterations of the network, if it has any; by default as in training")
    add("--budget", type=int, default=3000, help="iterations after which a search leaves a puzzle (default: 3000)")
    add("--output", type=Path, required=True, help="folder for tables and pictures")
    add("--plot", action=argparse.BooleanOptionalAction, default=True, help="draw pictures (needs the extra plot)")
    return parser.parse_args()


def _names(known: Any) -> Any:
    def names(text: str) -> list[str]:
        chosen = text.split(",")
        if unknown := [name for name in chosen if name not in known]:
            raise argparse.ArgumentTypeError(f"unknown {', '.join(unknown)}: choose from {', '.join(known)}")
        return chosen

    return names


if __name__ == "__main__":
    sys.exit(main())
