"""Benchmark of variants: killers without givens, thermometers, kropki dots, arrows and anti-knight, with at most 12.

All puzzles of a set differ; they are solved and counted in one call, and compilation is timed apart. Every grid is
checked by numpy alone, with rules of this file. CP-SAT of OR-tools, on one thread, solves a sample of the same puzzles
and proves that each solution is the only one. Times are CPU seconds of the process, as other work may share the core.
Sets are made once and kept in ``--folder``.

    python benchmarks/variants.py --cores 1 [--sets killer,kropki] [--puzzles 10000] [--peer-puzzles 20] [--json FILE]
"""

from __future__ import annotations

import argparse
import itertools
import pickle
import statistics
import time
from pathlib import Path
from typing import Any

import arguments
import checking
import machine
import numpy as np
import report
from peers import CpSat

from jaxsudoku.core.board import Board

SETS = ("killer", "thermometer", "kropki", "arrow", "anti-knight")
#: The most givens of puzzles that are no killers.
_GIVENS = 12

#: Rates of the library and of CP-SAT that are compared.
_COMPARED = (("solve", "solved"), ("count", "proved"))
#: Constraints of a puzzle: the name of their rule, the cells and the total, if any.
Rules = list[tuple[str, list[int], int]]


def load(name: str, count: int, folder: Path) -> tuple[Any, np.ndarray, np.ndarray, Any]:
    """A set, made if it isn't there: the board, puzzles and solutions uint8[N, 81], and clues or None."""
    import jaxsudoku as js

    knight = name == "anti-knight"
    board = js.Board.classic().with_(js.constraints.anti_knight()) if knight else js.Board.classic()
    path = folder / f"{name}-{count}.pickle"
    if not path.exists():
        if knight:
            made = js.generate(0, count, board, clues=(None, _GIVENS), progress=True)
            kept: tuple[Any, ...] = made.puzzles, made.solutions, None
        else:
            own = js.generate_variants(0, count, name, progress=True)
            kept = own.puzzles, own.solutions, own.clues
        folder.mkdir(parents=True, exist_ok=True)
        path.write_bytes(pickle.dumps(kept))
    puzzles, solutions, clues = pickle.loads(path.read_bytes())
    together = np.concatenate([puzzles, solutions], axis=1)
    assert len(np.unique(together, axis=0)) == count, f"{name}: some puzzles are equal"
    return board, puzzles, solutions, clues


# ---------------------------------------------------------------------- checks


def rules_of(name: str, clues: Any) -> list[tuple[str, np.ndarray, np.ndarray, np.ndarray]]:
    """The rules of all puzzles: (rule, puzzles int[m], cells int[m, size], totals int[m])."""
    if clues is None:
        pairs = [
            (9 * row + column, 9 * (row + down) + column + right)
            for down, right in ((1, 2), (2, 1), (1, -2), (2, -1))
            for row in range(9 - down)
            for column in range(9)
            if 0 <= column + right < 9
        ]
        return [("differ", np.full(len(pairs), -1), np.array(pairs), np.zeros(len(pairs), int))]
    found = []
    for (kind, _), entries in clues.entries().items():
        rule = {"differ by 1": "white", "times 2": "black"}.get(getattr(kind, "relation", ""), name)
        totals = entries.numbers[:, 0] if name == "killer" else np.zeros(len(entries.puzzle), int)
        found.append((rule, entries.puzzle, entries.cells, totals))
    return found


def satisfied(name: str, clues: Any, grids: np.ndarray) -> np.ndarray:
    """Whether grids uint8[N, 81] satisfy the rules of their puzzles beyond those of Sudoku: bool[N]."""
    good = np.ones(len(grids), bool)
    for rule, puzzle, cells, totals in rules_of(name, clues):
        if rule == "differ":
            one, other = grids[:, cells[:, 0]], grids[:, cells[:, 1]]
            good &= (one != other).all(axis=1)
            continue
        digits = grids[puzzle[:, None], cells].astype(int)
        ordered = np.sort(digits, axis=1)
        right = {
            "killer": lambda d, s, t: (d.sum(axis=1) == t) & (s[:, 1:] > s[:, :-1]).all(axis=1),
            "thermometer": lambda d, s, t: (d == s).all(axis=1) & (s[:, 1:] > s[:, :-1]).all(axis=1),
            "white": lambda d, s, t: s[:, 1] == s[:, 0] + 1,
            "black": lambda d, s, t: s[:, 1] == 2 * s[:, 0],
            "arrow": lambda d, s, t: d[:, 0] == d[:, 1:].sum(axis=1),
        }[rule](digits, ordered, totals)
        np.logical_and.at(good, puzzle, right)
    return good


# ---------------------------------------------------------------------- the peer


def cp_sat(solver: CpSat, puzzle: np.ndarray, rules: Rules) -> tuple[np.ndarray, float, float]:
    """Solves a puzzle by CP-SAT on one thread: the grid, seconds to solve it, and to prove that it is the only one."""
    model, cells = solver.pose(puzzle)
    pairs = {"white": [(d, d + 1) for d in range(1, 9)], "black": [(d, 2 * d) for d in range(1, 5)]}
    for rule, scope, total in rules:
        own = [cells[cell] for cell in scope]
        if rule == "killer":
            model.add(sum(own) == total)
            model.add_all_different(own)
        elif rule == "thermometer":
            for before, after in itertools.pairwise(own):
                model.add(before < after)
        elif rule == "arrow":
            model.add(own[0] == sum(own[1:]))
        elif rule == "differ":
            model.add(own[0] != own[1])
        else:
            model.add_allowed_assignments(own, pairs[rule] + [pair[::-1] for pair in pairs[rule]])
    began = time.process_time()
    grid = solver.answer(model)
    first = time.process_time() - began
    assert grid is not None and grid.any(), "CP-SAT finds no solution"
    others = []
    for cell, digit in zip(cells, grid.tolist(), strict=True):
        others.append(model.new_bool_var(""))
        model.add(cell != digit).only_enforce_if(others[-1])
    model.add_bool_or(others)
    began = time.process_time()
    second = solver.answer(model)
    assert second is not None and not second.any(), "CP-SAT finds a second solution"
    return grid, first, time.process_time() - began


def peer(name: str, puzzles: np.ndarray, solutions: np.ndarray, clues: Any, count: int) -> dict[str, Any]:
    """Puzzles per second of CP-SAT, on puzzles that are spread over the set; time in the solver alone."""
    rows, times = np.linspace(0, len(puzzles) - 1, count).astype(int), []
    rules: dict[int, Rules] = {row: [] for row in rows.tolist()}
    for rule, puzzle, cells, totals in rules_of(name, clues):
        for row, scope, total in zip(puzzle.tolist(), cells.tolist(), totals.tolist(), strict=True):
            for target in rules if row < 0 else [row] if row in rules else []:
                rules[target].append((rule, scope, total))
    solver = CpSat()
    solver.prepare(Board.classic())
    for row, own in rules.items():
        grid, solving, proving = cp_sat(solver, puzzles[row], own)
        assert (grid == solutions[row]).all(), f"CP-SAT has another solution of {name} {row}"
        times.append((solving, solving + proving))
    solve, prove = np.array(times).sum(axis=0)
    return {"puzzles": len(times), "solved_per_s": len(times) / solve, "proved_per_s": len(times) / prove}


# ---------------------------------------------------------------------- measuring


def measure(name: str, args: argparse.Namespace) -> dict[str, Any]:
    """Seconds of the first call, which compiles, and of later calls; everything is checked."""
    import jaxsudoku as js

    board, puzzles, solutions, clues = load(name, args.puzzles, args.folder)
    assert checking.rightly_solved(puzzles, solutions).all() and satisfied(name, clues, solutions).all()
    row: dict[str, Any] = {"set": name, "puzzles": len(puzzles), "givens": float((puzzles > 0).sum(axis=1).mean())}
    for what in ("solve", "count"):
        seconds = []
        for _ in range(args.repeat + 1):
            began = time.process_time()
            if what == "solve":
                solved = js.solve(puzzles, board, clues=clues)
            else:
                counts = js.count_solutions(puzzles, board, clues=clues, limit=2)
            seconds.append(time.process_time() - began)
        row[f"{what}_first_s"], row[f"{what}_s"] = seconds[0], seconds[1:]
        row[f"{what}_per_s"] = len(puzzles) / statistics.median(seconds[1:])
    assert checking.rightly_solved(puzzles, solved.grids).all() and satisfied(name, clues, solved.grids).all()
    assert (solved.grids == solutions).all() and (counts == 1).all(), f"{name}: a wrong grid or count"
    row["nodes"] = {"mean": float(solved.iterations.mean()), "most": int(solved.iterations.max())}
    if args.peer_puzzles:
        row["cp_sat"] = peer(name, puzzles, solutions, clues, min(args.peer_puzzles, len(puzzles)))
    return row


def line(row: dict[str, Any]) -> str:
    text = (
        f"{row['set']:<12} {row['puzzles']:>7,} puzzles, {row['givens']:4.1f} givens; first call "
        f"{row['solve_first_s']:.0f} s, solve {row['solve_per_s']:>7,.0f}/s, "
        f"count {row['count_per_s']:>7,.0f}/s; nodes {row['nodes']['mean']:,.1f}, "
        f"most {row['nodes']['most']:,}"
    )
    if "cp_sat" in row:
        other = row["cp_sat"]
        ratios = (row[f"{ours}_per_s"] / other[f"{theirs}_per_s"] for ours, theirs in _COMPARED)
        text += f"; CP-SAT {other['solved_per_s']:.1f}/s, {other['proved_per_s']:.1f}/s: "
        text += " and ".join(f"{ratio:,.0f}" for ratio in ratios) + " times"
    return text


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    add = parser.add_argument
    add("--sets", type=arguments.names, default=list(SETS), help="sets by their names (default: all)")
    add("--puzzles", type=arguments.size, default=10_000, help="puzzles of each set")
    add("--repeat", type=arguments.size, default=3, help="timed calls after the first")
    add("--peer-puzzles", type=int, default=20, help="puzzles for CP-SAT; 0 leaves it out")
    add("--cores", default="all", help="cores to keep to (default: all)")
    add("--folder", type=Path, default=Path("build/variants"), help="where sets are kept")
    add("--json", type=Path)
    args = parser.parse_args()
    if unknown := set(args.sets) - set(SETS):
        parser.error(f"unknown sets {', '.join(sorted(unknown))}; there are {', '.join(SETS)}")
    if args.peer_puzzles and not CpSat().available():
        parser.error("CP-SAT needs ortools; install it, or leave it out by --peer-puzzles 0")
    about = machine.describe(machine.keep_to_cores(args.cores), ("ortools",) if args.peer_puzzles else ())
    print("\n".join(machine.lines(about)))
    rows = []
    for name in args.sets:
        rows.append(measure(name, args))
        print(line(rows[-1]), flush=True)
        if args.json:
            report.save(args.json, {"about": about, "results": rows})


if __name__ == "__main__":
    main()
