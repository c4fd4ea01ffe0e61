"""Benchmark of graph search: placements before its first error, and the effect of transpositions.

Every puzzle is played by graph search without backtracking: each search is followed by its best placement, until the
puzzle is solved or a placement is wrong. The table has the share of open cells filled correctly before the first error,
and the share of boards without an error. A search that finds a solution ends the game with it.

Both are measured with and without transpositions, at equal simulations, with the numbers of nodes and transposition
hits.

    python benchmarks/graph.py --set 17clue --puzzles 1000 --simulations 32 --rules none
"""

from __future__ import annotations

import argparse
import sys
import time
from pathlib import Path
from typing import Any

import arguments
import machine
import numpy as np
import report
import sets

_COLUMNS = (
    ("transpositions", 14, "<"),
    ("puzzles", 7, ">"),
    ("boards", 7, ">"),
    ("cells", 7, ">"),
    ("moves", 7, ">"),
    ("moves right", 11, ">"),
    ("nodes", 8, ">"),
    ("hits", 6, ">"),
    ("nodes/puzzle", 12, ">"),
    ("seconds", 8, ">"),
)


def played(
    board: Any, config: Any, network: Any, puzzles: np.ndarray, truth: np.ndarray, batch: int
) -> dict[str, float]:
    """The games of puzzles, each with one solution ``truth``, all uint8[N, cells], ``batch`` of them at a time."""
    import jax

    from train import arena

    start = time.perf_counter()
    parts = [
        arena.play_alone(board, config, network.apply, network.params, puzzles[part], truth[part])
        for part in (slice(first, first + batch) for first in range(0, len(puzzles), batch))
    ]
    found = jax.tree.map(lambda *parts: np.concatenate(parts), *parts)
    return {
        "puzzles": len(puzzles),
        "boards": float(found.solved.mean()),
        "cells": float((found.right / np.maximum(found.opened, 1)).mean()),
        "moves": int(found.moves.sum()),
        "right_moves": int(found.moves.sum() - (~found.solved).sum()),
        "nodes": int(found.nodes.sum()),
        "hits": int(found.hits.sum()),
        "seconds": time.perf_counter() - start,
    }


def line(transpositions: bool, found: dict[str, float]) -> str:
    """A row of the table."""
    return report.aligned(
        [
            "with" if transpositions else "without",
            f"{found['puzzles']:,}",
            f"{found['boards']:.1%}",
            f"{found['cells']:.1%}",
            f"{found['moves']:,}",
            f"{found['right_moves'] / max(found['moves'], 1):.1%}",
            f"{found['nodes']:,}",
            f"{found['hits']:,}",
            f"{found['nodes'] / found['puzzles']:,.1f}",
            f"{found['seconds']:,.1f}",
        ],
        _COLUMNS,
    )


def main() -> int:
    args = _parse()
    sys.path.append(str(Path(__file__).resolve().parents[1]))  # for train/, which is not installed
    import jax

    import jaxsudoku as js
    from jaxsudoku.solvers.tree import McgsConfig

    about = machine.describe(machine.keep_to_cores("all"), ["flax"])
    print("\n".join(machine.lines(about)))
    puzzle_set = sets.wanted(args.set, args.data)
    puzzles = np.random.default_rng(0).permutation(puzzle_set.puzzles)[: args.puzzles]
    exact = js.solve(puzzles)
    if not (exact.status == js.Status.SOLVED).all():
        print(f"graph: {args.set} has puzzles without a solution", file=sys.stderr)
        return 2
    network = js.load_network(args.network, **({} if args.iterations is None else {"iterations": args.iterations}))
    print(f"set {args.set}, rules {args.rules}, {args.simulations} simulations a move, {network.apply.config}\n")
    print(report.aligned([name for name, _, _ in _COLUMNS], _COLUMNS))
    board, rows = js.Board.classic(), []
    for transpositions in (choice == "with" for choice in args.transpositions):
        config = McgsConfig(rules=args.rules, simulations=args.simulations, transpositions=transpositions)
        config = config.resolve(board, jax.default_backend())
        found = played(board, config, network, puzzles, exact.grids, args.batch)
        rows.append({"transpositions": transpositions, **found})
        print(line(transpositions, rows[-1]), flush=True)
    if args.json:
        report.save(args.json, {"about": about, "settings": arguments.settings(args), "rows": rows})
    return 0


def _parse() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n")[0], epilog="See benchmarks/README.md.")
    add = parser.add_argument
    add("--set", default="17clue", help="a puzzle set by its name (default: 17clue)")
    add("--data", help="folder of puzzle sets")
    add("--puzzles", type=arguments.size, default=1000, help="number of puzzles, drawn at random (default: 1000)")
    add("--batch", type=arguments.size, default=256, help="puzzles played together (default: 256)")
    add("--rules", default="none", help="what is deduced after every move (default: none)")
    add("--simulations", type=arguments.size, default=32, help="simulations a move (default: 32)")
    add(
        "--transpositions",
        type=arguments.names,
        default=["with", "without"],
        help="with, without, or both (default)",
    )
    add("--network", default="cube", help="a shipped network by name, or a path (default: cube)")
    add("--iterations", type=arguments.size, help="iterations of the network, if it has any")
    add("--json", type=Path, help="file for all raw figures")
    args = parser.parse_args()
    if unknown := [name for name in args.transpositions if name not in ("with", "without")]:
        parser.error(f"--transpositions: with or without was expected, not {', '.join(unknown)}")
    return args


if __name__ == "__main__":
    sys.exit(main())
