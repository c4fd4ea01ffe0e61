"""Distance of generated solved grids from the uniform distribution: all 4x4 and 6x6 grids, known shares on 9x9.

    python benchmarks/uniformity.py [--grids 200000] [--seed 0]

Small boards: grids are relabelled so that their first row reads 1 2 3 ..., which leaves 12 of 4x4 and 39,168 of 6x6,
each equally likely if all grids are. The table has the total variation distance (half the sum of differences), beside
the distance of a uniform sample of the same size.

9x9: the share of bands in which the rows of one box are whole rows of the next. Among all bands it is
2/56; weighted by how many grids complete each, which differs by no more than 7% between bands (Felgenhauer and Jarvis,
Enumerating possible Sudoku grids, 2005), it stays within 7% of that.
"""

from __future__ import annotations

import argparse
from collections.abc import Iterator

import numpy as np

import jaxsudoku as js


def grids_of(board: js.Board, number: int, seed: int) -> np.ndarray:
    """Generated solved grids uint8[number, side, side]."""
    made = js.generate(seed, number, board, clues=board.cells)
    return made.solutions.reshape(-1, board.side, board.side)


def relabelled(grids: np.ndarray) -> np.ndarray:
    """The grids with digits renamed so that the first row reads 1, 2, 3 ..."""
    side = grids.shape[1]
    names = np.zeros((len(grids), side + 1), np.uint8)
    np.put_along_axis(names, grids[:, 0].astype(int), np.arange(1, side + 1, dtype=np.uint8)[None], axis=1)
    return np.take_along_axis(names, grids.reshape(len(grids), -1).astype(int), axis=1)


def all_grids(board: js.Board) -> Iterator[tuple[int, ...]]:
    """All solved grids whose first row reads 1, 2, 3 ..., cell by cell."""
    peers = [
        [other for other in range(cell) if any(cell in house and other in house for house in board.houses)]
        for cell in range(board.cells)
    ]

    def extend(grid: list[int]) -> Iterator[tuple[int, ...]]:
        cell = len(grid)
        if cell == board.cells:
            yield tuple(grid)
            return
        taken = {grid[other] for other in peers[cell]}
        for digit in range(1, board.side + 1):
            if digit not in taken:
                yield from extend([*grid, digit])

    return extend(list(range(1, board.side + 1)))


def distance(grids: np.ndarray, number: int) -> float:
    """Total variation distance of a sample from the uniform distribution on ``number`` grids."""
    counts = np.unique(grids, axis=0, return_counts=True)[1]
    shares = np.concatenate([counts / counts.sum(), np.zeros(number - len(counts))])
    return float(np.abs(shares - 1 / number).sum() / 2)


def share_of_whole_rows(grids: np.ndarray) -> float:
    """The share of bands, across and down, whose first two boxes have the same three sets of digits as rows."""
    bands = np.concatenate([grids, grids.swapaxes(1, 2)]).reshape(-1, 3, 9)
    sets = (1 << bands.astype(int)).reshape(-1, 3, 3, 3).sum(axis=-1)  # of each row of each box
    return float((np.sort(sets[:, :, 0], axis=1) == np.sort(sets[:, :, 1], axis=1)).all(axis=1).mean())


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--grids", type=int, default=200_000)
    parser.add_argument("--seed", type=int, default=0)
    options = parser.parse_args()
    rng = np.random.default_rng(options.seed)
    for side in (4, 6):
        board = js.Board.classic(side)
        known = np.array(list(all_grids(board)), np.uint8)
        found = distance(relabelled(grids_of(board, options.grids, options.seed)), len(known))
        chance = distance(known[rng.integers(len(known), size=options.grids)], len(known))
        print(f"{side}x{side}: distance from uniform {found:.4f}, of a uniform sample {chance:.4f}")
    share = share_of_whole_rows(grids_of(js.Board.classic(), options.grids, options.seed))
    print(f"9x9: bands whose boxes share their rows {share:.4%}, of all bands {2 / 56:.4%}")


if __name__ == "__main__":
    main()
