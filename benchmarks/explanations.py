"""Benchmark of explanations: processor time for all steps of a puzzle, in plain Python, and their number.

For each set there are the median, the mean, the 95th percentile and the maximum, each puzzle once, in one process. The
proof that a puzzle has one solution is a separate column. Final grids are checked with numpy only, and no step may
remove a digit of the solution.

    python benchmarks/explanations.py --set kaggle3m_rated --puzzles 200
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

_COLUMNS = (
    ("set", 18, "<"),
    ("puzzles", 7, ">"),
    ("solved", 8, ">"),
    ("steps", 6, ">"),
    ("proof s", 8, ">"),
    ("median s", 9, ">"),
    ("mean s", 8, ">"),
    ("95% s", 8, ">"),
    ("most s", 8, ">"),
)


def measure(puzzles: np.ndarray, board: Any) -> dict[str, Any]:
    """The figures of a set.

    Raises:
      RuntimeError: a puzzle without one solution, a wrong grid, or a step that removes a digit of the solution.
    """
    from jaxsudoku.explanation import explained, prove

    proofs, seconds, steps, solved = [], [], [], []
    for number, puzzle in enumerate(puzzles):
        start = time.process_time()
        fault = prove(puzzle, board).fault
        proofs.append(time.process_time() - start)
        if fault is not None:
            raise RuntimeError(f"puzzle {number} has {fault}")
        start = time.process_time()
        explanation = explained(puzzle, board)
        seconds.append(time.process_time() - start)
        steps.append(len(explanation))
        solved.append(explanation.solved)
        if explanation.solved:
            _check(number, puzzle, explanation, board)
    return {
        "puzzles": len(puzzles),
        "solved": float(np.mean(solved)),
        "steps": float(np.mean(steps)),
        "proof_s": float(np.mean(proofs)),
        "seconds": seconds,
    }


def _check(number: int, puzzle: np.ndarray, explanation: Any, board: Any) -> None:
    """Raises RuntimeError if the grid at the end or a step is wrong."""
    grid = explanation.grid
    if not checking.rightly_solved(puzzle[None], grid[None], board).all():
        raise RuntimeError(f"the steps of puzzle {number} end with a wrong grid")
    for step in explanation:
        if any(grid[(row - 1) * board.side + column - 1] == digit for row, column, digit in step.eliminate):
            raise RuntimeError(f"puzzle {number}: a step removes a digit of the solution: {step.text}")


def main() -> int:
    args = _parse()
    about = machine.describe(machine.keep_to_cores("1"), [])
    print("\n".join([*machine.lines(about), "", report.aligned([name for name, _, _ in _COLUMNS], _COLUMNS)]))
    rows = []
    for name in args.set:
        puzzle_set = sets.wanted(name, args.data, any_board=True)
        row = {"set": name} | measure(puzzle_set.drawn(args.puzzles), puzzle_set.board)
        rows.append(row)
        seconds = row["seconds"]
        figures = [np.median(seconds), np.mean(seconds), np.percentile(seconds, 95), max(seconds)]
        texts = [name, f"{row['puzzles']:,}", f"{row['solved']:.2%}", f"{row['steps']:.0f}", f"{row['proof_s']:.4f}"]
        print(report.aligned([*texts, *(f"{figure:.3f}" for figure in figures)], _COLUMNS), flush=True)
    if args.json:
        report.save(args.json, {"about": about, "settings": arguments.settings(args), "rows": rows})
    return 0


def _parse() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n")[0], epilog="See benchmarks/README.md.")
    arguments.add_sets(parser, ["9x9-hard", "9x9-easy"])
    parser.add_argument("--json", type=Path, help="file for all raw figures")
    return parser.parse_args()


if __name__ == "__main__":
    sys.exit(main())
