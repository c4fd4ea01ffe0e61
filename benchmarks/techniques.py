"""Benchmark of rating by techniques: puzzles per second, solved shares by the hardest technique, soundness.

For each set and each hardest technique a line: the share that techniques solve, and puzzles a second, the median of
several warm runs. The proof that each puzzle has one solution, which ``js.rate`` makes before, is a column of its own.
Then the number of puzzles that need each technique. In every position that is left at the end each cell is checked to
have the digit of the solution, which numpy alone has checked.

    python benchmarks/techniques.py --set kaggle3m_rated,17clue --up-to w-wing,aic,forcing-chain
"""

from __future__ import annotations

import argparse
import functools
import statistics
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
    ("up to", 38, "<"),
    ("solved", 8, ">"),
    ("proof s", 8, ">"),
    ("seconds", 8, ">"),
    ("puzzles/s", 10, ">"),
)


def measure(puzzles: np.ndarray, board: Any, up_to: str, repeat: int) -> tuple[dict[str, Any], np.ndarray]:
    """The row of a hardest technique, and the hardest techniques int8[N]; compiled before the clock starts."""
    import jaxsudoku as js
    from jaxsudoku.techniques.ratings import technique_engine

    start = time.perf_counter()
    counts = js.count_solutions(puzzles, board=board)
    proof = time.perf_counter() - start
    engine = technique_engine(board, up_to)
    engine.run(np.full_like(puzzles, 255))  # the same shapes, so the same program, and no work
    seconds = []
    for _ in range(repeat):
        start = time.perf_counter()
        hardest, solved = engine.run(puzzles)
        seconds.append(time.perf_counter() - start)
    row = {
        "up_to": up_to,
        "puzzles": len(puzzles),
        "unique": int((counts == 1).sum()),
        "solved": float(solved.mean()),
        "proof_s": proof,
        "seconds": seconds,
        "puzzles_per_s": len(puzzles) / statistics.median(seconds),
    }
    return row, np.where(solved, hardest, -1)


def check(puzzles: np.ndarray, board: Any, up_to: str) -> int:
    """The number of puzzles whose solution techniques keep; raises RuntimeError if there is one that they do not."""
    import jax

    import jaxsudoku as js
    from jaxsudoku.core.planes import planes_to_cubes
    from jaxsudoku.techniques.position import unpack
    from jaxsudoku.techniques.registry import names_up_to
    from jaxsudoku.techniques.solving import solve_by_techniques

    @functools.partial(jax.jit, compiler_options=js.compiler_options())
    def left(part: Any) -> Any:
        found = solve_by_techniques(part, board, names_up_to(up_to))
        candidates = unpack(board, found.words).candidates
        return planes_to_cubes(candidates.reshape(*(board.side,) * 3, -1), board), found.solved

    solutions = js.solve(puzzles, board).grids
    if not checking.rightly_solved(puzzles, solutions, board).all():
        raise RuntimeError("the exact search has solved a puzzle wrongly")
    size = min(4096, len(puzzles) + -len(puzzles) % 32)
    for start in range(0, len(puzzles), size):
        part, wanted = puzzles[start : start + size], solutions[start : start + size].astype(int)
        padded = np.full((size, board.cells), 255, np.uint8)
        padded[: len(part)] = part
        cubes, solved = (np.asarray(values)[: len(part)] for values in left(padded))
        kept = np.take_along_axis(cubes, wanted[:, None] - 1, axis=1).all(axis=(1, 2))
        if not kept.all() or (cubes[solved].sum(axis=1) != 1).any():
            raise RuntimeError(
                f"techniques have removed a digit of the solution of puzzle {start + int(kept.argmin())}"
            )
    return len(puzzles)


def correlations(
    name: str, data: str | None, numbers: np.ndarray, puzzles: np.ndarray, board: Any
) -> dict[str, float | None]:
    """Rank correlations of the scores with the rating by nodes, and with the difficulties that the set gives."""
    import jaxsudoku as js
    from jaxsudoku.techniques import TECHNIQUES

    scores = np.array([*(technique.score for technique in TECHNIQUES), 10.0])[numbers]
    found = {"rating by nodes": _ranked(scores, js.rate(puzzles, board))}
    given = sets.drawn_column(name, "difficulty", len(puzzles), data)
    return found if given is None else found | {"difficulty of the set": _ranked(scores, given)}


def _ranked(one: np.ndarray, other: np.ndarray) -> float | None:
    """Spearman's rank correlation, ties with the mean of their ranks; None if all values are equal."""

    def ranks(values: np.ndarray) -> np.ndarray:
        _, inverse, counts = np.unique(values, return_inverse=True, return_counts=True)
        return (np.cumsum(counts) - (counts - 1) / 2)[inverse]

    if (one == one[0]).all() or (other == other[0]).all():
        return None
    return float(np.corrcoef(ranks(one), ranks(other))[0, 1])


def main() -> int:
    args = _parse()
    from jaxsudoku.techniques import TECHNIQUES

    about = machine.describe(machine.keep_to_cores(args.cores), [])
    print("\n".join([*machine.lines(about), "", report.aligned([name for name, _, _ in _COLUMNS], _COLUMNS)]))
    rows = []
    for name in args.set:
        puzzle_set = sets.wanted(name, args.data, any_board=True)
        board, puzzles = puzzle_set.board, puzzle_set.drawn(args.puzzles)
        for up_to in args.up_to:
            row, numbers = measure(puzzles, board, up_to, args.repeat)
            names = [*(technique.name for technique in TECHNIQUES), "none"]
            row = {"set": name} | row
            row["by_technique"] = {names[number]: int((numbers == number).sum()) for number in np.unique(numbers)}
            rows.append(row)
            median = statistics.median(row["seconds"])
            texts = [name, f"{len(puzzles):,}", up_to, f"{row['solved']:.2%}"]
            numbers_shown = [f"{row['proof_s']:.2f}", f"{median:.3f}", f"{row['puzzles_per_s']:,.0f}"]
            print(report.aligned([*texts, *numbers_shown], _COLUMNS), flush=True)
        row["kept"] = check(puzzles, board, args.up_to[-1])
        row["correlations"] = correlations(name, args.data, numbers, puzzles, board)
        shares = ", ".join(f"{count:,} {technique}" for technique, count in row["by_technique"].items())
        print(f"  {shares}\n  all {row['kept']:,} solutions kept; rank correlation of the score with the ", end="")
        print(
            ", ".join(
                f"{what} {'-' if value is None else format(value, '.3f')}"
                for what, value in row["correlations"].items()
            ),
            flush=True,
        )
    if args.json:
        report.save(args.json, {"about": about, "settings": arguments.settings(args), "rows": rows})
    return 0


def _parse() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n")[0], epilog="See benchmarks/README.md.")
    add, names = parser.add_argument, arguments.names
    arguments.add_sets(parser, ["9x9-hard", "9x9-easy"])
    add("--up-to", type=names, default=["w-wing", "aic", "forcing-chain-with-locked-candidates"], help="techniques")
    add("--repeat", type=arguments.size, default=3, help="warm runs (default: 3)")
    add("--cores", default="all", help='cores of this process, or "all" (default)')
    add("--json", type=Path, help="file for all raw figures")
    return parser.parse_args()


if __name__ == "__main__":
    sys.exit(main())
