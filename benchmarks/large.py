"""Benchmark on large boards: solvers of the library compared with SAT and CP solvers on puzzle sets, in one run.

The library solves each set in one call, and with --single one puzzle after another, as peers do. Compilation is timed
separately; clauses of the board are not timed. Every grid that counts as solved is checked against its givens with
numpy only. With --wrong-clue each puzzle gets a clue that contradicts its solution, found before; puzzles that still
have a solution are left out, so that every puzzle must be refuted.

The first of --solvers is called --repeat times and compared with the peers, the others once; a solver's settings follow
its name: annealing:budget=5000. Guided solvers take the default network, of "cube".

A set such as balanced_36x36@50 is made by ``generate``. Puzzles of a set with --board may have no solution; glucose4
finds out which, untimed. Hard sets end with --budget, nodes of the library for a puzzle,
and --peer-limit, seconds of a peer for a puzzle. Puzzles that are given up are not decided, and times are over all
puzzles, so the mean is then a lower bound, shown as ">".

    python benchmarks/large.py --cores 1 --json benchmarks/out/large.json
"""

from __future__ import annotations

import argparse
import json
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import checking
import machine
import numpy as np
import report
import sets
import solver_options
from peers import PEERS

import jaxsudoku as js

#: Columns for a solver on a set; times are in milliseconds a puzzle.
COLUMNS = (
    ("set", 22, "<"),
    ("puzzles", 7, ">"),
    ("by", 26, "<"),
    ("decided", 7, ">"),
    ("first s", 8, ">"),
    ("mean", 9, ">"),
    ("median", 9, ">"),
    ("worst", 9, ">"),
    ("nodes", 9, ">"),
    ("most", 9, ">"),
    ("", 0, "<"),
)


def main() -> int:
    args = _parse()
    about = machine.describe(machine.keep_to_cores(args.cores), [peer.package for peer in args.peers])
    print("\n".join(machine.lines(about)))
    print(report.aligned([name for name, _, _ in COLUMNS], COLUMNS))
    rows: list[dict[str, Any]] = []
    for name in args.sets:
        puzzle_set = sets.wanted(name, args.data, board=args.board)
        board, puzzles = puzzle_set.board, puzzle_set.puzzles[: args.puzzles]
        solvable = np.ones(len(puzzles), bool) if args.board is None else _solvable(board, puzzles)
        if args.wrong_clue:
            puzzles, name = _refutable(board, puzzles, args.key), f"{name} + clue"
            solvable = np.zeros(len(puzzles), bool)
        for row in _measured(name, board, puzzles, solvable, args):
            rows.append(row)
            print(_line(row), flush=True)
    if args.json:
        args.json.parent.mkdir(parents=True, exist_ok=True)
        args.json.write_text(json.dumps({"about": about, "rows": rows}, indent=1) + "\n")
    return int(any(row["wrong"] for row in rows))


def _parse() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n")[0], epilog="See benchmarks/README.md.")
    add = parser.add_argument
    default = ["acs_25x25@40", "acs_25x25@45", "acs_25x25@50"]
    add("--sets", type=lambda text: text.split(","), default=default, help=f"by name (default: {','.join(default)})")
    add("--data", help="folder of puzzle sets")
    add("--board", type=js.Board.named, help="board of the sets, such as 1x25 (default: classic ones of their sizes)")
    add(
        "--puzzles",
        type=int,
        help="puzzles in a call, a set being repeated as often as that takes; peers take each once",
    )
    add("--peers", default="glucose4", help="peers by name, an empty text for none (default: glucose4)")
    add(
        "--solvers",
        type=solver_options.solvers,
        default="exact",
        help="NAME[:SETTING=VALUE]..., with commas (default: exact)",
    )
    add("--budget", type=int, help="nodes after which exact gives a puzzle up (default: none)")
    add("--peer-limit", type=float, metavar="SECONDS", help="after which a peer gives a puzzle up (default: never)")
    add("--single", action="store_true", help="also call the library once for each puzzle")
    add("--wrong-clue", action="store_true", help="add a clue to each puzzle that leaves it without a solution")
    add(
        "--repeat",
        type=int,
        default=3,
        help="calls with a whole set, in other orders; peers solve it once (default: 3)",
    )
    add("--cores", default="all", help='cores of this process, or "all" (default)')
    add("--key", type=int, default=0, help="seed of the orders and of the wrong clues (default: 0)")
    add("--json", type=Path, help="file for all raw figures")
    args = parser.parse_args()
    if args.wrong_clue and (args.budget or args.peer_limit):
        parser.error("--wrong-clue takes neither --budget nor --peer-limit: it needs every puzzle's solution")
    names = [name for name in args.peers.split(",") if name]
    if (args.wrong_clue or args.board) and not PEERS["glucose4"].available():
        parser.error(f"--wrong-clue and --board need glucose4: pip install {PEERS['glucose4'].package}")
    if unknown := [name for name in names if name not in PEERS]:
        parser.error(f"unknown {', '.join(unknown)}: choose from {', '.join(PEERS)}")
    args.peers = [PEERS[name] for name in names]
    if args.budget is not None:
        args.solvers = [
            (label, solver | {"budget": args.budget} if solver["solver"] == "exact" else solver)
            for label, solver in args.solvers
        ]
    for peer in args.peers:
        if not peer.available():
            parser.error(f"{peer.name} needs {peer.package}: pip install {peer.package}")
        if args.peer_limit is not None and not peer.limitable:
            parser.error(f"{peer.name} takes no --peer-limit")
    return args


def _ours(
    name: str,
    board: js.Board,
    puzzles: np.ndarray,
    solvable: np.ndarray,
    solver: tuple[str, dict[str, Any]],
    repeat: int,
    args: argparse.Namespace,
) -> dict[str, Any]:
    """The row of a solver of the library, from calls with the whole set."""
    label, settings = solver
    start = time.perf_counter()
    js.solve(np.full_like(puzzles, 255), board, **settings)  # the same program, and no work
    first = time.perf_counter() - start
    times, nodes, decided, wrong = [], [], len(puzzles), 0
    rng = np.random.default_rng(args.key)
    for _ in range(repeat):
        # another order of the puzzles is another search of those that are left at the end
        order = rng.permutation(len(puzzles))
        shuffled = puzzles[order]
        start = time.perf_counter()
        found = js.solve(shuffled, board, **settings)
        times.append(time.perf_counter() - start)
        nodes.append(np.asarray(found.iterations))
        right, amiss = _judged(board, shuffled, solvable[order], np.asarray(found.grids), np.asarray(found.status))
        decided, wrong = min(decided, right), wrong + amiss
    row = _row(name, label, len(puzzles), decided, wrong)
    row |= {"first_s": first, "runs_s": times, "mean_ms": float(np.median(times)) * 1e3 / len(puzzles)}
    return row | {"nodes": float(np.mean(nodes)), "most_nodes": int(np.max(nodes))}


def _measured(
    name: str, board: js.Board, distinct: np.ndarray, solvable: np.ndarray, args: argparse.Namespace
) -> Iterator[dict[str, Any]]:
    """A row for each solver of the library, one for single calls if wanted, and one for each peer."""
    size = args.puzzles or len(distinct)
    puzzles, every = np.resize(distinct, (size, board.cells)), np.resize(solvable, size)
    solver, *others = args.solvers
    ours = _ours(name, board, puzzles, every, solver, args.repeat, args)
    yield ours
    if args.single:
        start = time.perf_counter()
        js.solve(np.full_like(puzzles[:1], 255), board, **solver[1])
        single = _row(name, f"{solver[0]}, one a call", len(distinct), 0, 0) | {"first_s": time.perf_counter() - start}
        seconds = []
        for puzzle, fact in zip(distinct, solvable, strict=True):
            start = time.perf_counter()
            found = js.solve(puzzle[None], board, **solver[1])
            seconds.append(time.perf_counter() - start)
            status = np.asarray(found.status)
            right, amiss = _judged(board, puzzle[None], fact[None], np.asarray(found.grids), status)
            single["decided"] += right
            single["wrong"] += amiss
        yield single | _spread(np.array(seconds))
    for peer in args.peers:
        peer.prepare(board)
        grids, seconds, known = peer.solve_each(distinct, args.peer_limit)
        status = np.where(grids.any(axis=1), js.Status.SOLVED, js.Status.UNSATISFIABLE)
        status = np.where(known, status, js.Status.UNSOLVED)
        right, amiss = _judged(board, distinct, solvable, grids, status)
        row = _row(name, peer.name, len(distinct), right, amiss) | _spread(seconds)
        if ours["decided"] == len(puzzles):
            row["ratio"] = row["mean_ms"] / ours["mean_ms"]
        yield row
    for other in others:
        yield _ours(name, board, puzzles, every, other, 1, args)


def _row(name: str, by: str, puzzles: int, decided: int, wrong: int) -> dict[str, Any]:
    return {"set": name, "by": by, "puzzles": puzzles, "decided": decided, "wrong": wrong}


def _spread(seconds: np.ndarray) -> dict[str, float]:
    return {
        "mean_ms": float(seconds.mean()) * 1e3,
        "median_ms": float(np.median(seconds)) * 1e3,
        "worst_ms": float(seconds.max()) * 1e3,
    }


def _judged(
    board: js.Board, puzzles: np.ndarray, solvable: np.ndarray, grids: np.ndarray, status: np.ndarray
) -> tuple[int, int]:
    """Numbers of puzzles decided correctly and wrongly; ``solvable`` bool[N] are those to be solved, not refuted."""
    solved = status == js.Status.SOLVED
    refuted = np.isin(status, [js.Status.UNSATISFIABLE, js.Status.INVALID])
    right = np.where(solvable, solved & checking.rightly_solved(puzzles, grids, board), refuted)
    return int(right.sum()), int(((solved | refuted) & ~right).sum())


def _solvable(board: js.Board, puzzles: np.ndarray) -> np.ndarray:
    """Which puzzles have a solution, bool[N], as the peer glucose4 finds."""
    judge = PEERS["glucose4"]
    judge.prepare(board)
    found: np.ndarray = np.any(judge.solve(puzzles) > 0, axis=1)
    return found


def _refutable(board: js.Board, puzzles: np.ndarray, key: int) -> np.ndarray:
    """The puzzles with a further clue that no solution has, as the peer glucose4 proves; others are left out."""
    solutions = np.asarray(js.solve(puzzles, board).grids)
    rng = np.random.default_rng(key)
    changed = puzzles.copy()
    for puzzle, solution in zip(changed, solutions, strict=True):
        empty = rng.permutation(np.flatnonzero(puzzle == 0))
        for cell in empty:
            around = {int(puzzle[c]) for house in board.houses if cell in house for c in house}
            digits = [d for d in range(1, board.side + 1) if d not in around and d != solution[cell]]
            if digits:
                puzzle[cell] = rng.choice(digits)
                break
    return changed[~_solvable(board, changed)]


def _line(row: dict[str, Any]) -> str:
    bound = ">" if row["decided"] < row["puzzles"] else ""
    numbers = [f"{row[key]:,.2f}" if key in row else "-" for key in ("mean_ms", "median_ms", "worst_ms")]
    numbers[0] = bound + numbers[0]
    nodes = [f"{row[key]:,.0f}" if key in row else "-" for key in ("nodes", "most_nodes")]
    first = f"{row['first_s']:.1f}" if "first_s" in row else "-"
    note = f"{row['wrong']} WRONG" if row["wrong"] else f"{bound}{row['ratio']:.2f}x" if "ratio" in row else ""
    texts = [row["set"], f"{row['puzzles']:,}", row["by"], f"{row['decided']:,}", first, *numbers, *nodes, note]
    return report.aligned(texts, COLUMNS)


if __name__ == "__main__":
    sys.exit(main())
