"""Makes the puzzle files that ship in ``jaxsudoku/puzzles``: random grids, emptied in random order while unique.

    python benchmarks/make_puzzles.py FOLDER [--seed 0]

Each file holds one puzzle a line. A puzzle marked minimal loses its uniqueness with any further clue; the larger boards
stop at a number of clues.
"""

from __future__ import annotations

import argparse
import pathlib

import jax
import numpy as np

import jaxsudoku as js
from jaxsudoku.io import format_grids

#: File name: board, number of puzzles, clues to stop at (0 for minimal).
FILES = {
    "4x4.txt": ("4", 50, 0),
    "6x6.txt": ("6", 100, 0),
    "9x9.txt": ("9", 1000, 0),
    "diagonal-9x9.txt": ("diagonal-9", 100, 0),
    "windoku-9x9.txt": ("windoku-9", 100, 0),
    "16x16.txt": ("16", 20, 110),
}


def make(board: js.Board, number: int, clues: int, seed: int) -> np.ndarray:
    """Puzzles uint8[number, cells], each with one solution."""
    full = js.solve(np.zeros((number, board.cells), np.uint8), board, key=seed, order="random")
    assert (full.status == js.Status.SOLVED).all()
    puzzles = np.array(full.grids)
    rng = np.random.default_rng(seed)
    row = np.arange(number)
    for cell in rng.permuted(np.tile(np.arange(board.cells), (number, 1)), axis=1).T:
        trial = puzzles.copy()
        trial[row, cell] = 0
        removable = (js.count_solutions(trial, 2, board) == 1) & ((puzzles > 0).sum(axis=1) > clues)
        puzzles[removable] = trial[removable]
    return puzzles


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("folder", type=pathlib.Path)
    parser.add_argument("--seed", type=int, default=0)
    options = parser.parse_args()
    for name, (board_name, number, clues) in FILES.items():
        board = js.Board.named(board_name)
        puzzles = make(board, number, clues, options.seed)
        (options.folder / name).write_bytes(format_grids(puzzles, board))
        print(f"{name}: {number} puzzles of {(puzzles > 0).sum(axis=1).mean():.1f} clues, jax {jax.__version__}")


if __name__ == "__main__":
    main()
