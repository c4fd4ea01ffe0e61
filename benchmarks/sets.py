"""Puzzle sets by name: the stem of a file in the data folder or of a shipped file.

Names such as ``balanced_36x36@50`` and ``random_25x25@45`` are instances with holes (50% and 45% of the cells are
given), which are generated when loaded.

Run as a script it lists the sets that are found: name, side, puzzles, file.
"""

from __future__ import annotations

import argparse
import csv
import dataclasses
import gzip
import math
import os
import re
import sys
from collections.abc import Iterator
from pathlib import Path

import numpy as np

import jaxsudoku as js
from jaxsudoku.generation import HOLES

_CHECKOUT = Path(__file__).resolve().parent.parent
_SHIPPED = Path(js.__file__).parent / "puzzles"
_ENDINGS = (".txt", ".csv", ".txt.gz", ".csv.gz")

#: Sides that are tried for files without a header, the most frequent first.
_SIDES = (9, 16, 25, 4, 6, 12, 8, 10, 15, 20)

#: Facts about some sets; every puzzle of any other set has exactly one solution.
_WITHOUT_SOLUTION = ("nosolution", "rust_sudoku_invalid")
_SEVERAL_SOLUTIONS = ("multisolution",)
_UNIQUENESS_UNKNOWN = ("acs_16x16", "acs_25x25")

#: Names of sets that are made, and how many instances they have.
_MADE = re.compile(rf"({'|'.join(HOLES)})_(\d+)x\2@(\d+(?:\.\d+)?)")
_MADE_SIZE = 50


@dataclasses.dataclass(frozen=True)
class PuzzleSet:
    """A set of puzzles of one board.

    Attributes:
      name: the name by which it was loaded.
      board: the board, which the file's header names ("# board: windoku"), or else the classic one of the size.
      puzzles: uint8[N, cells], 0 = empty.
      distinct: puzzles before tiling; the first ``distinct`` are repeated over and over.
      source: name of the file, and whether it is a shipped one; or the call that made the puzzles.
    """

    name: str
    board: js.Board
    puzzles: np.ndarray
    distinct: int
    source: str

    @property
    def side(self) -> int:
        return self.board.side

    @property
    def solvable(self) -> bool:
        """Whether every puzzle has a solution; otherwise none has."""
        return self.name not in _WITHOUT_SOLUTION

    @property
    def solutions(self) -> tuple[int, float]:
        """Minimum and maximum number of solutions of the set's puzzles."""
        if not self.solvable:
            return 0, 0
        if self.name in _SEVERAL_SOLUTIONS:
            return 2, math.inf
        several = self.name.split("@")[0] in _UNIQUENESS_UNKNOWN or _MADE.fullmatch(self.name)
        return 1, math.inf if several else 1

    def drawn(self, most: int) -> np.ndarray:
        """At most ``most`` of the distinct puzzles, drawn at random with a fixed seed: uint8[N, cells]."""
        return _drawn(self.puzzles[: self.distinct], most)

    def resized(self, size: int) -> PuzzleSet:
        """The first ``size`` puzzles, the set being repeated as often as that takes."""
        repeats = -(-size // self.distinct)
        puzzles = np.tile(self.puzzles[: self.distinct], (repeats, 1))[:size]
        return dataclasses.replace(self, puzzles=puzzles, distinct=min(self.distinct, size))


def folders(data: str | None) -> list[Path]:
    """The folders with sets, in this order: the data folder, then the shipped puzzles.

    Args:
      data: the data folder; None for that of the environment (JAXSUDOKU_DATA), or else ``.data`` in the checkout or
        ``../shared/data`` beside it.
    """
    data = data or os.environ.get("JAXSUDOKU_DATA")
    outside = [Path(data)] if data else [_CHECKOUT / ".data", _CHECKOUT.parent / "shared" / "data"]
    return [*outside, _SHIPPED]


def load(name: str, data: str | None = None, any_board: bool = False, board: js.Board | None = None) -> PuzzleSet:
    """The set of that name; ``NAME@40`` takes the puzzles with 40% given, from a set with percentages.

    ``balanced_25x25@45`` and ``random_25x25@45`` are made.

    Args:
      name: the stem of a file, or the name of a set that is made.
      data: as in ``folders``.
      any_board: whether boards other than classic ones are accepted.
      board: the board of a file's puzzles; None for the one that it names, or the classic one of its size.

    Raises:
      ValueError: there is no such set, its file holds no puzzles or malformed ones, or none of that percentage, or its
        board is not a classic one.
    """
    if board is not None and "@" in name:
        raise ValueError(f"{name} is of a classic board: give no other")
    if match := _MADE.fullmatch(name):
        holes, side, percent = match.groups()
        made, given = js.Board.classic(int(side)), float(percent) / 100
        puzzles = js.generate(0, _MADE_SIZE, made, holes=holes, given=given).puzzles
        call = f'js.generate(0, {_MADE_SIZE}, js.Board.classic({side}), holes="{holes}", given={given:g})'
        return PuzzleSet(name, made, puzzles, len(puzzles), call)
    stem, _, percent = name.partition("@")
    for folder in folders(data):
        for ending in _ENDINGS:
            path = folder / (stem + ending)
            if path.is_file():
                own, puzzles = _read(path, percent) if board is None else (board, _puzzles(path, board))
                if board is None and not any_board and own != js.Board.classic(own.side):
                    raise ValueError(f"{path.name} is for {own}; this benchmark takes classic boards alone")
                shipped = " (shipped)" if folder == _SHIPPED else ""
                return PuzzleSet(name, own, puzzles, len(puzzles), path.name + shipped)
    there = ", ".join(name for name, _ in found(data))
    raise ValueError(
        f"no puzzle set {name!r} in {', '.join(map(str, folders(data)))}. There are {there}. "
        f'benchmarks/README.md, "Public puzzle sets", says where to get others; --data names their folder'
    )


def wanted(name: str, data: str | None = None, any_board: bool = False, board: js.Board | None = None) -> PuzzleSet:
    """``load`` for a command line: an error is printed, and the exit status is 2."""
    try:
        return load(name, data, any_board, board)
    except (OSError, ValueError) as error:
        print(f"{Path(sys.argv[0]).stem}: {error}", file=sys.stderr)
        raise SystemExit(2) from None


def drawn_column(name: str, column: str, most: int, data: str | None = None) -> np.ndarray | None:
    """A column of numbers for the puzzles that ``PuzzleSet.drawn`` draws, float64[N]; None if the set has none."""
    path = next((path for known, path in found(data) if known == name), None)
    if path is None or path.suffix != ".csv":
        return None
    with path.open() as file:
        values = [row.get(column) for row in csv.DictReader(file)]
    if not values or values[0] is None:
        return None
    return _drawn(np.array(values, np.float64), most)


def _drawn(rows: np.ndarray, most: int) -> np.ndarray:
    """At most ``most`` rows, drawn at random with a fixed seed."""
    return rows[np.random.default_rng(5).permutation(len(rows))][:most]


def found(data: str | None = None) -> Iterator[tuple[str, Path]]:
    """Name and file of every set; of two with the same name the one that ``load`` takes."""
    seen = set()
    for folder in folders(data):
        for path in sorted(folder.glob("*")) if folder.is_dir() else ():
            ending = "".join(path.suffixes[-2:]) if path.suffix == ".gz" else path.suffix
            name = path.name.removesuffix(ending)
            if ending in _ENDINGS and name not in seen:
                seen.add(name)
                yield name, path


def _read(path: Path, percent: str) -> tuple[js.Board, np.ndarray]:
    """The board and the puzzles of a file; ``percent`` as in ``load``."""
    header, first = _head(path)
    if _is_numbered(first):
        puzzles = _read_numbered(path, percent)
        return js.Board.classic(math.isqrt(puzzles.shape[1])), puzzles
    if percent:
        raise ValueError(f"{path.name} names no percentages of givens")
    if "board" in header:
        board = js.Board.named(header["board"])
        return board, _puzzles(path, board)
    # a line with a whole grid gives the size; if it is a line of a drawn grid, another size reads the file
    whole = math.isqrt(len(first)) if math.isqrt(len(first)) ** 2 == len(first) else 0
    failure = None
    for side in sorted(_SIDES, key=lambda side: side != whole):
        board = js.Board.classic(side)
        try:
            chunk = next(js.io.read_chunks(path, board, chunk_size=1), None)
            if chunk is not None and len(chunk) and not chunk.errors:
                return board, _puzzles(path, board)
        except ValueError as error:
            failure = failure or error
    raise failure or ValueError(f"{path.name} holds no puzzles of a size that is known here")


def _puzzles(path: Path, board: js.Board) -> np.ndarray:
    puzzles = js.read_puzzles(path, board)
    if not len(puzzles):
        raise ValueError(f"{path.name} holds no puzzles")
    return puzzles


def _head(path: Path) -> tuple[dict[str, str], str]:
    """The comments at the top of a file, by keyword, and its first line with a puzzle."""
    header = {}
    with gzip.open(path, "rt") if path.suffix == ".gz" else path.open() as file:
        for line in map(str.strip, file):
            if line.startswith("#"):
                keyword, _, said = line.removeprefix("#").partition(":")
                header[keyword.strip()] = said.strip()
            elif line:
                return header, line
    return header, ""


def _is_numbered(line: str) -> bool:
    """Whether a line is ``percent index v1 v2 ...``, two numbers more than a grid has cells."""
    numbers = len(line.split())
    return numbers > 18 and math.isqrt(numbers - 2) ** 2 == numbers - 2 and bool(re.fullmatch(r"[\d\s]+", line))


def _read_numbered(path: Path, percent: str) -> np.ndarray:
    table = np.loadtxt(path, dtype=np.uint8, ndmin=2)
    there = list(map(str, np.unique(table[:, 0])))
    if percent and percent not in there:
        raise ValueError(f"{path.name} has no puzzles with {percent}% of the cells given; it has {', '.join(there)}%")
    chosen = table[table[:, 0] == int(percent)] if percent else table
    return np.ascontiguousarray(chosen[:, 2:])


def main() -> None:
    parser = argparse.ArgumentParser(description="Lists the puzzle sets that the benchmarks find.")
    parser.add_argument("--data", help="folder of puzzle sets")
    data = parser.parse_args().data
    for name, path in found(data):
        try:
            loaded = load(name, data, any_board=True)
        except (ValueError, OSError) as error:
            print(f"{name}\t-\t-\t{path}\t{str(error).splitlines()[0]}")
            continue
        classic = loaded.board == js.Board.classic(loaded.side)
        note = "" if classic else f"\t{loaded.board}"
        print(f"{name}\t{loaded.side}\t{len(loaded.puzzles)}\t{path}{note}")


if __name__ == "__main__":
    main()
