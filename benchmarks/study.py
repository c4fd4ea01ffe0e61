"""Replication of the AlphaSudoku study: solvers compared by solved shares, iterations and cells left empty.

Its author compared five solvers on rated puzzles: backtracking, a network for all cells at once (DeepSolver), the
network cell by cell (DeepIterativeSolver), tree search with random rollouts, and tree search with a network
(AlphaSudoku). ``--settings paper`` runs them at his settings, ``--settings ours`` at the library's own.

    python benchmarks/study.py --settings paper --puzzles 700 --csv benchmarks/out/paper.csv
    python benchmarks/study.py --settings ours --puzzles 700 --csv benchmarks/out/ours.csv
    python benchmarks/study.py --settings ours --board 16 --csv benchmarks/out/ours-16x16.csv

The CSV file has a row for each solver and puzzle; with ``--append`` it holds several settings. Its pictures lie beside
it, unless ``--no-pictures`` is given: they need the extra plot. Every grid that counts as solved was checked by numpy
alone.

At the paper's settings no rule is applied but that a cell's digits must not clash, and all searches fill a cell with
fewest choices. Both tree searches have 20 simulations a move, which is that of the highest mean reward, the share of
cells filled; they keep their tree, prove nothing, take no move back, and end after 10,000 iterations. MCTS is UCT with
sqrt 2. AlphaSudoku takes priors from the network, with the weight 1 that is in its code, and rollouts, which take the
surest digit of the board where no cell is forced. Their iterations are changes of the grid that is looked at; network
calls count a grid once. Backtracking counts every filling and every erasure. DeepIterativeSolver fills cells with a
single digit first, and counts every cell. Difficulties are rounded, as there, and its figures are of puzzles below 5.
"""

from __future__ import annotations

import argparse
import csv
import json
import math
import sys
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any, NamedTuple

import arguments
import checking
import machine
import numpy as np
import report
import sets
import solver_options

#: The study's search, which is given up when a move is made after more than 10,000 iterations.
_SEARCH = {
    "rules": "none",
    "simulations": 20,
    "proofs": False,
    "move": "value",
    "reward": "filled",
    "budget": 10_001,
}

#: The difficulty below which the study's figures are.
_BELOW = 5

#: For each settings the solvers by their names in the study: the library's solver, and its options.
SETTINGS: dict[str, dict[str, tuple[str, dict[str, Any]]]] = {
    "paper": {
        "backtracking": ("depth-first", {"rules": "none", "order": "sorted"}),
        "deep": ("one-shot", {"rules": "none"}),
        "deep iterative": ("iterative", {"rules": "naked", "patience": 1, "complete": False}),
        "mcts": ("mcts", {**_SEARCH, "exploration": math.sqrt(2)}),
        "alphasudoku": (
            "alphasudoku",
            {
                **_SEARCH,
                "exploration": 1.0,
                "cell": "fewest",
                "formula": "study",
                "value": "rollout",
                "rollout": "surest",
            },
        ),
    },
    "ours": {
        "backtracking": ("exact", {"rules": "singles"}),
        "deep": ("one-shot", {"rules": "locked", "patience": 4}),
        "deep iterative": ("iterative", {"rules": "locked"}),
        "mcts": ("mcts", {"rules": "singles"}),
        "alphasudoku": ("alphasudoku", {"rules": "singles", "complete": False, "sure": 1.0}),
    },
}

#: Sets by the side of the board.
_SETS = {9: "kaggle3m_rated", 16: "acs_16x16", 25: "acs_25x25"}

#: Columns of the CSV file.
FIELDS = (
    *("settings", "side", "solver", "seconds", "puzzle"),
    *("clues", "difficulty", "solved", "iterations", "network_calls", "empty"),
)

_COLUMNS = (
    ("solver", 14, "<"),
    ("difficulty", 10, ">"),
    ("puzzles", 7, ">"),
    ("solved", 7, ">"),
    ("cells", 7, ">"),
    ("median", 8, ">"),
    ("mean", 9, ">"),
    ("most", 8, ">"),
    ("to 500", 7, ">"),
    ("calls", 8, ">"),
    ("seconds", 8, ">"),
)


class Rated(NamedTuple):
    """Puzzles with a difficulty.

    Attributes:
      puzzles: uint8[N, cells], 0 = empty.
      difficulty: float[N]; of instances with a percentage of cells given, that percentage.
      label: what the difficulty is.
    """

    puzzles: np.ndarray
    difficulty: np.ndarray
    label: str

    @property
    def side(self) -> int:
        return math.isqrt(self.puzzles.shape[1])

    @property
    def clues(self) -> np.ndarray:
        """int[N]"""
        return (self.puzzles > 0).sum(axis=1)

    @property
    def levels(self) -> np.ndarray:
        """int[N], the rounded difficulties."""
        return np.round(self.difficulty).astype(int)

    def drawn(self, count: int | None) -> Rated:
        """That many of the puzzles at random, or all; always the same ones."""
        order = np.random.default_rng(0).permutation(len(self.puzzles))[:count]
        return self._replace(puzzles=self.puzzles[order], difficulty=self.difficulty[order])


class Run(NamedTuple):
    """The results of a solver.

    Attributes:
      solved: bool[N].
      iterations: int[N], as the study counts them.
      calls: int[N], calls of the network.
      empty: int[N], cells left empty; 0 where solved.
      right: int[N], cells of the puzzle's solution that were filled in; None if the set has no solutions.
      seconds: without compilation.
    """

    solved: np.ndarray
    iterations: np.ndarray
    calls: np.ndarray
    empty: np.ndarray
    right: np.ndarray | None
    seconds: float


def read(path: Path) -> Rated:
    """The puzzles of a CSV file with columns puzzle and difficulty, or of lines ``percent index v1 v2 ...``.

    Raises:
      ValueError: a missing column, or a malformed line; the message names the file and the line.
    """
    if path.suffix == ".csv":
        return _read_table(path)
    puzzles, percents = [], []
    with path.open() as file:
        for number, line in enumerate(file, 1):
            try:
                percent, _, *cells = map(int, line.split())
            except ValueError:
                raise ValueError(f"{path}:{number}: numbers were expected: percent index v1 v2 ...") from None
            side = math.isqrt(len(cells))
            if not cells or side**2 != len(cells) or not 0 <= min(cells) <= max(cells) <= side:
                raise ValueError(f"{path}:{number}: {len(cells)} values that are no grid")
            puzzles.append(cells)
            percents.append(percent)
    if len({len(cells) for cells in puzzles}) != 1:
        raise ValueError(f"{path}: no puzzles, or of several sizes")
    return Rated(np.array(puzzles, np.uint8), np.array(percents, float), "% of cells given")


def _read_table(path: Path) -> Rated:
    puzzles, difficulties = [], []
    with path.open(newline="") as file:
        rows = csv.DictReader(file)
        if missing := {"puzzle", "difficulty"} - set(rows.fieldnames or ()):
            raise ValueError(f"{path}: no column {', '.join(sorted(missing))}")
        for row in rows:
            text = (row["puzzle"] or "").replace(".", "0")
            if len(text) != 81 or not text.isdigit():
                raise ValueError(f"{path}:{rows.line_num}: a puzzle of 81 digits was expected, not {row['puzzle']!r}")
            try:
                difficulties.append(float(row["difficulty"] or ""))
            except ValueError:
                raise ValueError(f"{path}:{rows.line_num}: {row['difficulty']!r} is no difficulty") from None
            puzzles.append(np.frombuffer(text.encode(), np.uint8) - ord("0"))
    if not puzzles:
        raise ValueError(f"{path}: no puzzles")
    return Rated(np.array(puzzles), np.array(difficulties), "difficulty")


def solve(
    puzzles: np.ndarray,
    solutions: np.ndarray | None,
    solver: str,
    options: dict[str, Any],
    network: Any,
    batch: int | None = None,
) -> Run:
    """The results of a solver; its program is compiled before the clock starts. By default two threads share them."""
    import jaxsudoku as js

    given = {"network": network} if js.SOLVERS[solver].guided else {}
    batch = batch or max(-(-len(puzzles) // 2), 32)
    common = {"solver": solver, "batch_size": batch, "keep_partial": True, **given, **options}
    js.solve(np.full_like(puzzles, 255), **common)  # the same shapes, so the same program, and no work
    start = time.perf_counter()
    found = js.solve(puzzles, **common)
    seconds = time.perf_counter() - start
    solved = (found.status == js.Status.SOLVED) & checking.rightly_solved(puzzles, found.grids)
    empty = np.where(solved, 0, (np.where(puzzles > 0, puzzles, found.grids) == 0).sum(axis=1))
    iterations = np.asarray(found.stats.get("changes", found.iterations), np.int64)
    if solver == "depth-first":
        # a node, but for the root, is a filling; all of them but those of the answer were erased
        fillings = iterations - 1
        open_cells = (puzzles == 0).sum(axis=1)
        iterations = fillings + fillings - np.where(solved, open_cells, 0)
    if solver == "iterative" and not options.get("complete", True):  # cell by cell, those with one digit left too
        iterations = ((puzzles == 0) & (found.grids > 0)).sum(axis=1)
    calls = found.stats.get("network_calls", np.zeros(len(puzzles), np.int32))
    right = None if solutions is None else ((found.grids == solutions) & (puzzles == 0)).sum(axis=1)
    return Run(solved, iterations, calls, empty, right, seconds)


def summary(name: str, run: Run, rated: Rated) -> list[list[Any]]:
    """Rows of the table: one for each rounded difficulty, one for those below 5 on 9x9, and one for all."""
    levels = rated.levels
    groups: list[tuple[str, np.ndarray]] = [(str(level), levels == level) for level in np.unique(levels)]
    if rated.side == 9:
        groups.append((f"below {_BELOW}", levels < _BELOW))
    rows = []
    for group, members in [*groups, ("all", np.ones(len(levels), bool))]:
        iterations = run.iterations[members]
        opened = (rated.puzzles[members] == 0).sum()
        rows.append(
            [
                name,
                group,
                int(members.sum()),
                float(run.solved[members].mean()),
                None if run.right is None else float(run.right[members].sum() / max(opened, 1)),
                float(np.median(iterations)),
                float(iterations.mean()),
                int(iterations.max(initial=0)),
                float((iterations <= 500).mean()),
                float(run.calls[members].mean()),
                run.seconds if group == "all" else None,
            ]
        )
    return rows


def line(row: list[Any]) -> str:
    """A row of the table as text."""
    name, group, size, solved, cells, median, mean, most, soon, calls, seconds = row
    texts = [
        name,
        group,
        f"{size:,}",
        f"{solved:.1%}",
        "-" if cells is None else f"{cells:.1%}",
        f"{median:,.0f}",
        f"{mean:,.1f}",
        f"{most:,}",
        f"{soon:.1%}",
        f"{calls:,.1f}",
        "" if seconds is None else f"{seconds:,.1f}",
    ]
    return report.aligned(texts, _COLUMNS)


def write(path: Path, before: str, settings: str, rated: Rated, runs: dict[str, Run]) -> None:
    """Writes the CSV file: what was there before, and a row for each solver and puzzle.

    Seconds are the mean of a solver's puzzles; puzzles have their number in the draw.
    """
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.open("w", newline="") as file:
        file.write(before)
        writer = csv.writer(file, lineterminator="\n")
        if not before:
            writer.writerow(FIELDS)
        for name, run in runs.items():
            own = settings, rated.side, name, f"{run.seconds / len(rated.puzzles):.3g}"
            rows = zip(rated.clues, rated.difficulty, run.solved, run.iterations, run.calls, run.empty, strict=True)
            for number, (clues, difficulty, solved, iterations, calls, empty) in enumerate(rows):
                writer.writerow([*own, number, clues, f"{difficulty:g}", int(solved), iterations, calls, empty])


def _found(args: argparse.Namespace) -> Path:
    """The file of the set."""
    if args.set and (path := Path(args.set)).is_file():
        return path
    name = args.set or _SETS[args.board]
    for stem, path in sets.found(args.data):
        if stem == name:
            return path
    known = ", ".join(str(folder) for folder in sets.folders(args.data))
    raise ValueError(f"no puzzle set {name!r} in {known}; benchmarks/README.md says where to get it")


def _solutions(rated: Rated) -> np.ndarray | None:
    """The solutions, where every puzzle has exactly one; else None."""
    import jaxsudoku as js

    if rated.side > 9 or (js.count_solutions(rated.puzzles, limit=2) != 1).any():
        return None
    return js.solve(rated.puzzles).grids


def main() -> int:
    args = _parse()
    import jaxsudoku as js

    try:
        if args.pictures:  # before the work
            import study_pictures
        if args.csv.suffix != ".csv":
            raise ValueError(f"{args.csv}: the name of a table ends with .csv")
        rated = read(_found(args))
        if rated.side != args.board:
            raise ValueError(f"the set is of {rated.side}x{rated.side} boards, not of side {args.board}")
        if args.below is not None:
            kept = rated.difficulty < args.below
            rated = rated._replace(puzzles=rated.puzzles[kept], difficulty=rated.difficulty[kept])
        rated = rated.drawn(args.puzzles)
        if not len(rated.puzzles):
            raise ValueError(f"the set has no puzzle of a difficulty under {args.below}")
        board = js.Board.classic(args.board)
        name = args.network or ("house_resnet" if args.settings == "paper" else "cube")
        network = js.load_network(name, board=board, **_given(iterations=args.iterations))
    except (OSError, ValueError, ImportError) as error:
        print(f"study: {error}", file=sys.stderr)
        return 2
    about = machine.describe(machine.keep_to_cores("all"), ["flax", "mctx"])
    print("\n".join(machine.lines(about)))
    print(report.aligned([name for name, _, _ in _COLUMNS], _COLUMNS))
    solutions = _solutions(rated)
    before = args.csv.read_text() if args.append and args.csv.exists() else ""
    runs: dict[str, Run] = {}
    rows: list[list[Any]] = []
    for name in args.solvers:
        solver, options = SETTINGS[args.settings][name]
        options = options | _asked(args, name)
        runs[name] = solve(rated.puzzles, solutions, solver, options, network, args.batch)
        rows += summary(name, runs[name], rated)
        print(line(rows[-1]), flush=True)
        write(args.csv, before, args.settings, rated, runs)
    print("\n".join(line(row) for row in rows if row[1] != "all"))
    figures = {"about": about | {"arguments": vars(args)}, "columns": [name for name, _, _ in _COLUMNS], "rows": rows}
    args.csv.with_suffix(".json").write_text(json.dumps(figures, indent=1, default=str) + "\n")
    if args.pictures:
        study_pictures.draw(rated, runs, args.settings, args.csv.with_suffix(""))
    return 0


def _asked(args: argparse.Namespace, name: str) -> dict[str, Any]:
    """The options of a solver on the command line, which override those of the settings."""
    options = {} if name in ("backtracking", "mcts") else _given(votes=args.votes)
    return options | (solver_options.parsed(args.option) if name in ("mcts", "alphasudoku") else {})


def _given(**values: Any) -> dict[str, Any]:
    """The given values, without None."""
    return {name: value for name, value in values.items() if value is not None}


def _parse(argv: Sequence[str] | None = None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n")[0], epilog="See benchmarks/README.md.")
    add = parser.add_argument
    add("--settings", choices=SETTINGS, default="paper", help="those of the study, or the library's (default: paper)")
    add("--board", type=int, choices=_SETS, default=9, help="side of the board (default: 9)")
    add("--set", help="name or file of the puzzles (default: kaggle3m_rated, of other boards the Lloyd & Amos sets)")
    add("--data", help="folder of puzzle sets")
    add("--below", type=float, help="puzzles under this difficulty alone")
    add("--puzzles", type=arguments.size, metavar="N", help="number of puzzles, drawn at random (default: all)")
    add("--solvers", type=_solvers, default=list(SETTINGS["paper"]), help="by the names in the table (default: all)")
    add(
        "--network",
        help="a shipped network by name, or a file (default: house_resnet at the paper's settings, or cube)",
    )
    add("--iterations", type=arguments.size, help="iterations of the network, if it has any (default: as trained)")
    add("--votes", type=arguments.size, help="symmetries under which the network sees each position (default: 1)")
    add("--batch", type=arguments.size, help="puzzles in a batch (default: half of them)")
    add(
        "--option",
        action="append",
        default=[],
        metavar="NAME=VALUE",
        help="an option of the tree searches that overrides the settings, such as simulations=1",
    )
    add("--csv", type=Path, required=True, metavar="FILE", help="the table; figures and pictures lie beside it")
    add("--append", action="store_true", help="keep the rows that the table has")
    add("--pictures", action=argparse.BooleanOptionalAction, default=True, help="draw pictures (extra plot)")
    return parser.parse_args(argv)


def _solvers(text: str) -> list[str]:
    chosen = arguments.names(text)
    if unknown := [name for name in chosen if name not in SETTINGS["paper"]]:
        raise argparse.ArgumentTypeError(f"unknown {', '.join(unknown)}: choose from {', '.join(SETTINGS['paper'])}")
    return chosen


if __name__ == "__main__":
    sys.exit(main())
