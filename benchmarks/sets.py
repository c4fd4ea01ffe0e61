"""Puzzle sets by name: a name is the stem of a file in the data folder, or of one that the package ships.

Run as a script it lists the sets that can be found: name, side, puzzles, file.
"""

from __future__ import annotations

import argparse
import dataclasses
import math
import os
import re
from collections.abc import Iterator
from pathlib import Path

import numpy as np

import jaxsudoku as js

_CHECKOUT = Path(__file__).resolve().parent.parent
_ENDINGS = (".txt", ".csv", ".txt.gz", ".csv.gz")

#: What is known of some sets; every puzzle of any other set has exactly one solution.
_WITHOUT_SOLUTION = ("nosolution", "rust_sudoku_invalid")
_SEVERAL_SOLUTIONS = ("multisolution",)
_UNIQUENESS_UNKNOWN = ("acs_16x16", "acs_25x25")


@dataclasses.dataclass(frozen=True)
class PuzzleSet:
    """A set of puzzles of one size.

    Attributes:
      name: what it was asked for by.
      puzzles: uint8[N, cells], 0 = empty.
      distinct: puzzles before tiling; the first ``distinct`` are repeated over and over.
      source: name of the file, and whether the package ships it.
    """

    name: str
    puzzles: np.ndarray
    distinct: int
    source: str

    @property
    def side(self) -> int:
        return math.isqrt(self.puzzles.shape[1])

    @property
    def solvable(self) -> bool:
        """Whether every puzzle has a solution; otherwise none has."""
        return self.name not in _WITHOUT_SOLUTION

    @property
    def solutions(self) -> tuple[int, float]:
        """The fewest and the most solutions that a puzzle of the set may have."""
        if not self.solvable:
            return 0, 0
        if self.name in _SEVERAL_SOLUTIONS:
            return 2, math.inf
        return 1, math.inf if self.name.split("@")[0] in _UNIQUENESS_UNKNOWN else 1

    def resized(self, size: int) -> PuzzleSet:
        """The first ``size`` puzzles, the set being repeated as often as that takes."""
        repeats = -(-size // self.distinct)
        puzzles = np.tile(self.puzzles[: self.distinct], (repeats, 1))[:size]
        return dataclasses.replace(self, puzzles=puzzles, distinct=min(self.distinct, size))


def folders(data: str | None) -> list[Path]:
    """Where sets are looked for, in this order: the data folder, then what the package ships.

    Args:
      data: the data folder; None for that of the environment (JAXSUDOKU_DATA), or else ``.data`` in the checkout or
        ``../shared/data`` beside it.
    """
    data = data or os.environ.get("JAXSUDOKU_DATA")
    outside = [Path(data)] if data else [_CHECKOUT / ".data", _CHECKOUT.parent / "shared" / "data"]
    return [*outside, Path(js.__file__).parent / "puzzles"]


def load(name: str, data: str | None = None) -> PuzzleSet | None:
    """The set of that name; ``NAME@40`` takes of a set that names its percentages of givens those with 40.

    Returns:
      The set, or None if no folder has it.

    Raises:
      ValueError: the file holds no puzzles, or none of that percentage.
    """
    stem, _, percent = name.partition("@")
    for folder in folders(data):
        for ending in _ENDINGS:
            path = folder / (stem + ending)
            if path.is_file():
                puzzles = _read(path, percent)
                shipped = " (shipped)" if folder.parent == Path(js.__file__).parent else ""
                return PuzzleSet(name, puzzles, len(puzzles), path.name + shipped)
    return None


def found(data: str | None = None) -> Iterator[tuple[str, Path]]:
    """Name and file of every set there is; of two of one name the one that ``load`` takes."""
    seen = set()
    for folder in folders(data):
        for path in sorted(folder.glob("*")) if folder.is_dir() else ():
            ending = "".join(path.suffixes[-2:]) if path.suffix == ".gz" else path.suffix
            name = path.name.removesuffix(ending)
            if ending in _ENDINGS and name not in seen:
                seen.add(name)
                yield name, path


def _read(path: Path, percent: str) -> np.ndarray:
    if path.suffix != ".gz":
        with path.open() as file:
            head = [line for line in (file.readline(), file.readline()) if line.strip() and not line.startswith("#")]
        if head and _is_numbered(head[-1]):
            return _read_numbered(path, percent)
    if percent:
        raise ValueError(f"{path.name} names no percentages of givens")
    puzzles = js.read_puzzles(path, _board(path))
    if not len(puzzles):
        raise ValueError(f"{path.name} holds no puzzles")
    return puzzles


def _board(path: Path) -> js.Board:
    """The classic board of a file's puzzles, told by the file or by its first puzzle."""
    named = js.io.read_board(path)
    if named is not None:
        if not named.is_classic:
            raise ValueError(f"{path.name} has puzzles of the board {named}; only classic boards are measured")
        return named
    for chunk_side in (9, 16, 25, 4, 6, 12, 8, 10, 15, 20):
        chunk = next(js.io.read_chunks(path, js.Board.classic(chunk_side), chunk_size=1), None)
        if chunk is not None and len(chunk) and not chunk.errors:
            return js.Board.classic(chunk_side)
    raise ValueError(f"{path.name} holds no puzzles of a size that is known here")


def _is_numbered(line: str) -> bool:
    """Whether a line is ``percent index v1 v2 ...``, two numbers more than a grid has cells."""
    numbers = len(line.split())
    return numbers > 18 and math.isqrt(numbers - 2) ** 2 == numbers - 2 and bool(re.fullmatch(r"[\d\s]+", line))


def _read_numbered(path: Path, percent: str) -> np.ndarray:
    table = np.loadtxt(path, dtype=np.uint8, ndmin=2)
    chosen = table[table[:, 0] == int(percent)] if percent else table
    if not len(chosen):
        raise ValueError(f"{path.name} has no puzzles with {percent}% of the cells given")
    return np.ascontiguousarray(chosen[:, 2:])


def main() -> None:
    parser = argparse.ArgumentParser(description="Lists the puzzle sets that the benchmarks find.")
    parser.add_argument("--data", help="folder of puzzle sets")
    data = parser.parse_args().data
    for name, path in found(data):
        try:
            loaded = load(name, data)
        except (ValueError, OSError) as error:
            print(f"{name}\t-\t-\t{path}\t{str(error).splitlines()[0]}")
            continue
        if loaded is not None:
            print(f"{name}\t{loaded.side}\t{len(loaded.puzzles)}\t{path}")


if __name__ == "__main__":
    main()
