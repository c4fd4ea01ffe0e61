"""Collects hard puzzles for training, by local search in the neighbourhood of given ones.

    python -m train.hardening --data FOLDER --count 100000 --output hard.txt

Random puzzles are rarely hard, but puzzles near a hard one, with one or two clues exchanged, are hard far more often. A
search walks from each of the hardest puzzles of data sets to neighbours that are about as hard or harder, and collects
puzzles above a rating, at most ``--most`` near each start, with its solution. ``jaxsudoku build --from FILE
--exclude FILE`` makes a data set of them.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path

import numpy as np

import jaxsudoku as js
from jaxsudoku import datasets
from jaxsudoku.runtime.files import write_file
from jaxsudoku.runtime.terminal.progress import Meter, Screen

#: Number of puzzles changed at a time, and of searches for rating their neighbours.
_BATCH, _SEARCHES = 8192, 4

#: A step may lead to a neighbour with at least this share of the rating.
_DOWN = 0.8


def neighbours(puzzles: np.ndarray, solutions: np.ndarray, random: np.random.Generator) -> np.ndarray:
    """Puzzles with one or two clues exchanged for others of their solutions.

    Args:
      puzzles: uint8[N, cells], 0 = empty.
      solutions: uint8[N, cells].
      random: the source of randomness.

    Returns:
      uint8[N, cells]; they may have several solutions.
    """
    score = random.random(puzzles.shape)
    number = random.integers(1, 3, (len(puzzles), 1))
    changed = puzzles.copy()
    for given in (True, False):
        rank = np.where((puzzles > 0) == given, score, 2.0).argsort(axis=1).argsort(axis=1)
        changed = np.where(rank < number, 0 if given else solutions, changed)
    return changed.astype(np.uint8)


def harden(
    puzzles: np.ndarray,
    solutions: np.ndarray,
    ratings: np.ndarray,
    least: float,
    seed: int = 0,
    most: int = sys.maxsize,
) -> Iterator[tuple[np.ndarray, np.ndarray]]:
    """Walks from puzzles to their neighbours, until enough are found near each.

    Args:
      puzzles: uint8[N, cells] with one solution each; each is the start of a walk.
      solutions: uint8[N, cells].
      ratings: float32[N], as from ``jaxsudoku.rate``.
      least: minimum rating of collected puzzles.
      seed: seed of all randomness.
      most: maximum number of puzzles to find near each start.

    Yields:
      puzzles uint8[M, cells] with one solution and at least this rating, found in a step, and their ratings float32[M].
    """
    random = np.random.default_rng(seed)
    puzzles, ratings = puzzles.copy(), ratings.copy()
    number, seen = np.zeros(len(puzzles), np.int64), set[bytes]()
    for step in range(sys.maxsize):
        row = random.permutation(np.flatnonzero(number < most))[:_BATCH]
        if not len(row):
            return
        near = neighbours(puzzles[row], solutions[row], random)
        unique = js.count_solutions(near) == 1
        row, near = row[unique], near[unique]
        if not len(near):
            continue
        found = js.rate(near, key=(seed << 20) + step, searches=_SEARCHES)
        accepted = found >= _DOWN * ratings[row]
        puzzles[row[accepted]], ratings[row[accepted]] = near[accepted], found[accepted]
        hard = np.isfinite(found) & (found >= least)
        for place in np.flatnonzero(hard).tolist():
            hard[place] = (text := near[place].tobytes()) not in seen
            seen.add(text)
        number[row[hard]] += 1  # a start has one row
        yield near[hard], found[hard]


def main(argv: Sequence[str] | None = None) -> int:
    """Runs the command line; returns the exit status: 0, 1 if fewer puzzles were found, 2 after a usage error."""
    parser = argparse.ArgumentParser(prog="train.hardening", description="Collects hard 9x9 puzzles near given ones.")
    parser.add_argument("--data", action="append", required=True, metavar="FOLDER", help="data set with ratings")
    parser.add_argument("--start", type=float, default=10.0, help="minimum rating of initial puzzles")
    parser.add_argument("--least", type=float, default=20.0, help="minimum rating of collected puzzles")
    parser.add_argument("--count", type=int, default=100_000, help="number of puzzles")
    parser.add_argument(
        "--most", type=int, default=100, help="maximum number of puzzles near each initial one (default: 100)"
    )
    parser.add_argument("--seed", type=int, default=0, help="seed of all randomness")
    parser.add_argument("--output", type=Path, required=True, metavar="FILE", help="file for the puzzles")
    args = parser.parse_args(argv)
    if not args.output.absolute().parent.is_dir():
        parser.error(f"--output {args.output}: there is no such folder")
    try:
        data = [datasets.load(name) for name in args.data]
    except FileNotFoundError as error:
        parser.error(f"--data {error.filename}: there is no such folder")
    except datasets.DatasetError as error:
        parser.error(str(error))
    if any(part.board != js.Board.classic() for part in data):
        parser.error("--data: puzzles of another board than the classic 9x9")
    parts = [part.arrays() for part in data]
    hard = np.concatenate([part.rating for part in parts]) >= args.start
    if not hard.any():
        parser.error(f"no puzzle has a rating of {args.start:g} or more")
    puzzles, solutions, ratings = (
        np.concatenate([getattr(part, name) for part in parts])[hard] for name in ("puzzles", "solutions", "rating")
    )
    screen, meter = Screen(bar=True), Meter()
    screen.say(f"{len(puzzles):,} puzzles to start from")
    collected: list[np.ndarray] = []
    screen.show(meter.line(0, args.count), now=True, task=True)
    try:
        for found, _ in harden(puzzles, solutions, ratings, args.least, args.seed, args.most):
            collected.extend(found)
            screen.show(meter.line(min(len(collected), args.count), args.count), task=True)
            if len(collected) >= args.count:
                break
        else:
            screen.say(f"{len(collected):,} puzzles: --most of them near every initial puzzle")
    except KeyboardInterrupt:  # the result of minutes of work
        screen.say(f"interrupted: {len(collected):,} puzzles are written")
    screen.clear()
    lines = ("".join(map(str, puzzle.tolist())) for puzzle in collected[: args.count])
    write_file(args.output, "".join(f"{line}\n" for line in lines).encode())
    return int(len(collected) < args.count)


if __name__ == "__main__":
    sys.exit(main())
