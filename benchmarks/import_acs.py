"""Joins the instances of Lloyd & Amos, one file each, into one puzzle set for the benchmarks.

    python benchmarks/import_acs.py sudoku_acs/instances/general --side 16 --output .data/acs_16x16.txt

An instance inst16x16_40_8.txt (40% of the cells given, number 8) has two lines with the size of a box, then the rows of
the grid, -1 for a blank. The set has a line for each: percentage, number, and the cells row by row, 0 for a blank.
"""

from __future__ import annotations

import argparse
import re
import sys
from pathlib import Path

import numpy as np


def instances(folder: Path, side: int, step: int = 2) -> list[str]:
    """The lines of the set, by percentage and number.

    Args:
      folder: where the instances lie.
      side: the side of the boards to take.
      step: 1 takes every instance, 2 those with even numbers.

    Raises:
      ValueError: there are no instances of that side, or one is malformed; the message names the file.
    """
    pattern = re.compile(rf"inst{side}x{side}_(\d+)_(\d+)\.txt")
    named = [(match, path) for path in folder.iterdir() if (match := pattern.fullmatch(path.name))]
    chosen = sorted((int(match[1]), int(match[2]), path) for match, path in named if int(match[2]) % step == 0)
    if not chosen:
        raise ValueError(f"{folder} has no instances inst{side}x{side}_PERCENT_NUMBER.txt")
    return [f"{percent} {number} {' '.join(map(str, _cells(path, side)))}" for percent, number, path in chosen]


def _cells(path: Path, side: int) -> list[int]:
    try:
        numbers = np.array(path.read_text().split()[2:], int)
    except ValueError:
        raise ValueError(f"{path}: holds something else than numbers") from None
    if len(numbers) != side**2:
        raise ValueError(f"{path}: {len(numbers)} cells, not {side**2}")
    numbers = np.where(numbers == -1, 0, numbers)
    if numbers.min() < 0 or numbers.max() > side:
        raise ValueError(f"{path}: a value outside 1 to {side}")
    return numbers.tolist()


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n")[0])
    parser.add_argument("folder", type=Path, help="the instances, sudoku_acs/instances/general")
    parser.add_argument("--side", type=int, default=16, help="side of the boards: 9, 16 or 25 (default: 16)")
    parser.add_argument("--step", type=int, default=2, help="take every second (2) instance, or all (1); default: 2")
    parser.add_argument("--output", type=Path, required=True, help="the set, acs_16x16.txt in the folder of sets")
    args = parser.parse_args()
    try:
        lines = instances(args.folder, args.side, args.step)
        args.output.parent.mkdir(parents=True, exist_ok=True)
        args.output.write_text("".join(line + "\n" for line in lines))
    except (OSError, ValueError) as error:
        print(f"import_acs: {error}", file=sys.stderr)
        return 2
    print(f"{len(lines):,} puzzles in {args.output}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
