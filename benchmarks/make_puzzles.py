"""Makes the puzzle files that ship in ``jaxsudoku/puzzles``, each by one call of ``generate``, written in its header.

    python benchmarks/make_puzzles.py FOLDER [--only 9x9-hard 16x16-easy]

The same version of the library makes the same files on every machine. Files of one board that could share puzzles take
theirs from different parts of the sequence. Graded 16x16 puzzles get numbers of clues that often lead to their grade.
For an extreme 9x9 puzzle one long attempt is made, which mostly fails; the puzzles that were found are kept.
"""

from __future__ import annotations

import argparse
import time
from pathlib import Path
from typing import Any

import jax
import numpy as np

import jaxsudoku as js
from jaxsudoku.datasets import GRADES, grade
from jaxsudoku.io import format_grids

#: The seed of all puzzles, which is also the key of their ratings: that of ``rate`` by default.
SEED = 0

#: Ratings of each grade, both bounds included. Ratings are eighths, as means of eight searches.
EASY, MEDIUM, HARD, VERY_HARD, EXTREME = (0, 0), (0.125, 1.875), (2, 9.875), (10, 49.875), (50, None)

#: Regions that are unchanged by a quarter turn.
JIGSAW = "jigsaw:aaaaabbcc/aaaabbbcc/ddddebbcc/ddddebbcc/fdeeeeegc/ffhhegggg/ffhhegggg/ffhhhiiii/ffhhiiiii"

#: Name: board, number of puzzles, arguments of ``generate``.
FILES: dict[str, tuple[str, int, dict[str, Any]]] = {
    "4x4": ("4", 100, {}),
    "6x6": ("6", 200, {}),
    "9x9": ("9", 1000, {"first": 500}),
    "9x9-easy": ("9", 500, {"rating": EASY}),
    "9x9-medium": ("9", 500, {"rating": MEDIUM, "steps": 0}),
    "9x9-hard": ("9", 500, {"rating": HARD, "steps": 0}),
    "9x9-very-hard": ("9", 500, {"rating": VERY_HARD, "steps": 0, "attempts": 2000}),
    "9x9-extreme": ("9", 512, {"rating": EXTREME, "steps": 400, "attempts": 1}),
    "12x12": ("12", 100, {}),
    "16x16": ("16", 100, {"clues": (110, 130), "first": 100}),
    "16x16-easy": ("16", 50, {"clues": (120, 130), "rating": EASY}),
    "16x16-medium": ("16", 50, {"clues": (110, 120), "rating": MEDIUM, "steps": 0}),
    "16x16-hard": ("16", 50, {"clues": (110, 115), "rating": HARD, "steps": 0}),
    "16x16-very-hard": ("16", 50, {"clues": (105, 110), "rating": VERY_HARD, "steps": 0}),
    "16x16-extreme": ("16", 50, {"clues": (100, 105), "rating": EXTREME, "steps": 0, "attempts": 12}),
    "25x25": ("25", 8, {"clues": 375}),
    "diagonal-9x9": ("diagonal", 200, {}),
    "windoku-9x9": ("windoku", 200, {}),
    "jigsaw-9x9": (JIGSAW, 200, {}),
}


def make(name: str) -> bytes:
    """The text of a file: comments that ``js.shipped.about`` reads, then a puzzle a line."""
    board_name, count, settings = FILES[name]
    board = js.Board.named(board_name)
    try:
        made = js.generate(SEED, count, board, batch_size=512 if board.side < 10 else 64, **settings)
    except js.GenerationError as error:
        if settings.get("attempts") != 1:
            raise
        made = error.found
    numbers = np.bincount(grade(made.rating), minlength=len(GRADES))
    asked = "".join(f", {field}={value!r}" for field, value in settings.items())
    minimal = "" if "clues" in settings else ", minimal"
    about = {
        "puzzles": f"{len(made.puzzles)} of {made.clues.min()} to {made.clues.max()} clues{minimal}",
        "solutions": "1",
        "board": board_name,
        "grades": ", ".join(f"{number} {of}" for of, number in zip(GRADES, numbers, strict=True) if number),
        "made by": f'js.generate({SEED}, {count}, js.Board.named("{board_name}"){asked})',
    }
    comments = "".join(f"# {keyword}: {said}\n" for keyword, said in about.items())
    return comments.encode() + format_grids(made.puzzles, board)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("folder", type=Path)
    parser.add_argument("--only", nargs="+", choices=FILES, default=list(FILES), metavar="NAME", help="names of files")
    options = parser.parse_args()
    print(f"jaxsudoku {js.__version__}, jax {jax.__version__}")
    for name in options.only:
        start = time.perf_counter()
        data = make(name)
        (options.folder / f"{name}.txt").write_bytes(data)
        print(f"{name}: {len(data)} bytes in {time.perf_counter() - start:.0f} s", flush=True)


if __name__ == "__main__":
    main()
