"""Makes a proxy of Sudoku-Extreme: a set of hard 9x9 puzzles with the make-up of its test set.

The test set of Sudoku-Extreme consists of 48.4% of a list of the forum's hardest puzzles, 23.9% of another list of hard
puzzles, 23.1% unbiased minimal puzzles, 2.3% of Kaggle's, 1.2% with 17 clues and 1.1% with a Sudoku Explainer rating of
11 or more. The proxy takes puzzles of the last four kinds from public sets. In place of the two lists it takes puzzles
that ``train.hardening`` finds near generated ones, with ratings from 60 on and from 30 to 60. No solution is equivalent
to one of ``--exclude``, such as training puzzles, and no two puzzles have equivalent solutions.

    python benchmarks/make_proxy.py --count 1000 --exclude TRAINING-SET --output proxy.csv

The folder ``--work`` keeps the intermediate files. The output has the columns puzzle, source, rating.
"""

from __future__ import annotations

import argparse
import csv
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import NamedTuple

import numpy as np
import sets

import jaxsudoku as js
from jaxsudoku import datasets, symmetry
from jaxsudoku.io import format_grids

#: Puzzles of a part from which those with different solutions are drawn.
_POOL = 50_000


class Part(NamedTuple):
    """A part of the proxy: its name, its share, and the public set or the range of ratings that it is drawn from."""

    source: str
    share: float
    puzzles: str | tuple[float, float]


PARTS = (
    Part("forum", 0.484, (60.0, np.inf)),
    Part("list", 0.239, (30.0, 60.0)),
    Part("minimal", 0.231, "ser/cbg_000"),
    Part("kaggle", 0.023, "kaggle3m_rated"),
    Part("17clue", 0.012, "17clue"),
    Part("se11", 0.011, "hardest_se11"),
)


def hardened(folder: Path, seed: int, puzzles: int) -> tuple[np.ndarray, np.ndarray]:
    """Hard puzzles near generated ones, uint8[N, 81], and their ratings float32[N]; takes minutes.

    Those with a rating from 60 on are searched near those from 30 on, which are searched near generated puzzles.
    """
    build = [sys.executable, "-m", "jaxsudoku", "build", "--seed", str(seed), "--quiet"]
    walk = [sys.executable, "-m", "train.hardening", "--most", "4", "--seed", str(seed)]
    start = folder / "generated"
    if not start.exists():
        subprocess.run([*build, "200000", "--output", str(start)], check=True)
    found = []
    for least, initial in ((30, 10), (60, 30)):
        file, hard = folder / f"{least}.txt", folder / f"hard-{least}"
        if not hard.exists():
            limits = ["--start", str(initial), "--least", str(least), "--count", str(4 * puzzles)]
            subprocess.run([*walk, *limits, "--data", str(start), "--output", str(file)], check=True)
            subprocess.run([*build, "--from", str(file), "--output", str(hard)], check=True)
        found += [datasets.load(hard / part).arrays() for part in datasets.PARTS if (hard / part).exists()]
        start = hard / "train"
    return np.concatenate([each.puzzles for each in found]), np.concatenate([each.rating for each in found])


def excluded(path: Path) -> list[int]:
    """Hashes of the solutions of a file of puzzles, or of a data set's, up to symmetry."""
    if path.is_dir():
        arrays = datasets.load(path).arrays()
        return symmetry.solution_hashes(arrays.puzzles, arrays.solutions).tolist()
    return symmetry.solution_hashes(js.io.read_puzzles(path)).tolist()


def main() -> int:
    args = _parse()
    random = np.random.default_rng(args.seed)
    with tempfile.TemporaryDirectory() as temporary:
        folder = args.work or Path(temporary)
        folder.mkdir(parents=True, exist_ok=True)
        hard, ratings = hardened(folder, args.seed, args.count)
    seen = {number for path in args.exclude for number in excluded(path)}
    rows: list[tuple[str, str]] = []
    for part in PARTS:
        wanted = round(part.share * args.count)
        if isinstance(part.puzzles, str):
            pool = sets.load(part.puzzles, args.data).puzzles
        else:
            low, high = part.puzzles
            pool = hard[(ratings >= low) & (ratings < high)]
        pool = random.permutation(pool)[:_POOL]
        chosen: list[np.ndarray] = []
        for puzzle, number in zip(pool, symmetry.solution_hashes(pool).tolist(), strict=True):
            if number not in seen and len(chosen) < wanted:
                seen.add(number)
                chosen.append(puzzle)
        if len(chosen) < wanted:
            print(f"{part.source}: only {len(chosen)} of {wanted} puzzles", file=sys.stderr)
            return 1
        texts = format_grids(np.stack(chosen), js.Board.classic()).decode().split()
        rows += [(text, part.source) for text in texts]
    puzzles = np.array([[int(digit) for digit in text.replace(".", "0")] for text, _ in rows], np.uint8)
    rated = js.rate(puzzles)
    with open(args.output, "w", newline="") as file:
        table = csv.writer(file)
        table.writerow(("puzzle", "source", "rating"))
        table.writerows((text, source, f"{rating:g}") for (text, source), rating in zip(rows, rated, strict=True))
    print(f"{len(rows):,} puzzles: " + ", ".join(f"{round(p.share * args.count)} {p.source}" for p in PARTS))
    return 0


def _parse() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n")[0], epilog="See benchmarks/README.md.")
    add = parser.add_argument
    add("--count", type=int, default=1000, help="number of puzzles (default: 1000)")
    add("--seed", type=int, default=11, help="seed of all randomness (default: 11)")
    add(
        "--exclude",
        type=Path,
        action="append",
        default=[],
        metavar="PATH",
        help="file of puzzles, or folder of a data set, whose solutions must not occur; may be repeated",
    )
    add("--data", help="folder of public sets (see benchmarks/README.md)")
    add("--work", type=Path, metavar="FOLDER", help="folder for intermediate files, which are used again")
    add("--output", type=Path, required=True, metavar="FILE", help="the CSV file")
    return parser.parse_args()


if __name__ == "__main__":
    sys.exit(main())
