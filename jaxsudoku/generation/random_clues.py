"""Random constraints that solved grids satisfy: cages, thermometers, kropki dots, arrows. Numpy, for a batch of grids.

Each function of ``DRAW`` draws the constraints of N grids at once. A grid's constraints depend on its seed alone.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping

import numpy as np

from jaxsudoku.core.board import Board
from jaxsudoku.core.constraints import Cage, arrow, kropki, thermometer
from jaxsudoku.core.constraints.base import Constraint
from jaxsudoku.core.constraints.clues import Entries
from jaxsudoku.runtime.random import APART, mix

#: Shares of the sizes up to which cages are joined, which make cages of three cells on average in unique 9x9 puzzles.
_CAGE_SIZES = {2: 0.55, 3: 0.2, 4: 0.15, 5: 0.1}
#: The fewest and the most cells of a thermometer and of an arrow, with its circle.
_THERMOMETER, _ARROW = (3, 6), (3, 5)
#: Arrows that are tried for each one that is wanted, as few random paths add up to their circle.
_TRIES = 4
#: Moves (rows, columns) to the eight neighbours of a cell.
_AROUND = [(down, right) for down in (-1, 0, 1) for right in (-1, 0, 1) if down or right]

#: Constraints by kind and number of cells.
Drawn = dict[tuple[Constraint, int], Entries]


class Seeds:
    """Random numbers of N puzzles, each from its seed uint32[N]; every call gives new ones."""

    def __init__(self, seeds: np.ndarray) -> None:
        self._seeds, self._calls = seeds.astype(np.uint32), 0

    def uniform(self, size: int) -> np.ndarray:
        """Numbers from 0 to 1, float32[N, size]."""
        self._calls += 1
        counters = np.arange(size, dtype=np.uint32) * APART
        seeds = mix(self._seeds ^ np.uint32(self._calls * 0x85EBCA6B & 0xFFFFFFFF))  # type: ignore[arg-type]
        bits = mix(seeds[:, None] + counters)
        return (np.asarray(bits) >> 8).astype(np.float32) / np.float32(1 << 24)


# ---------------------------------------------------------------------- cages


def draw_cages(grids: np.ndarray, board: Board, seeds: Seeds) -> tuple[Drawn, np.ndarray]:
    """Cages of 2 to 5 cells that cover the grid; their cells are connected by edges, their digits differ.

    Every cell is a cage at first. The pairs of neighbours are visited in random order, and join their two cages up to a
    random size; then once more, to join cages of one cell with others. If one is left, the grid does not suit.
    """
    size, everyone, pairs = len(grids), np.arange(len(grids)), _pairs(board.side)
    sizes = np.array([number for number in _CAGE_SIZES if number <= board.side])
    # the number of each cell's cage, and of each cage its cells and the set of its digits
    cage = np.tile(np.arange(board.cells), (size, 1))
    cells, digits = np.ones(cage.shape, np.int64), np.left_shift(np.uint64(1), grids.astype(np.uint64))
    order = np.argsort(seeds.uniform(len(pairs)), axis=1).T
    shares = np.cumsum([_CAGE_SIZES[number] for number in sizes.tolist()])
    limits = sizes[np.searchsorted(shares[:-1] / shares[-1], seeds.uniform(len(pairs)).T, side="right")]
    for most, smaller in ((limits, sizes.max()), (np.full_like(limits, sizes.max()), 1)):
        for pair, limit in zip(order, most, strict=True):
            one, other = (cage[everyone, pairs[pair, end]] for end in (0, 1))
            counts = cells[everyone, one], cells[everyone, other]
            joined = (one != other) & (sum(counts) <= limit) & (np.minimum(*counts) <= smaller)
            row = np.flatnonzero(joined & (digits[everyone, one] & digits[everyone, other] == 0))
            kept, gone = one[row], other[row]
            cells[row, kept] += cells[row, gone]
            digits[row, kept] |= digits[row, gone]
            cells[row, gone] = 0
            cage[row] = np.where(cage[row] == gone[:, None], kept[:, None], cage[row])
    good = (cells != 1).all(axis=1)
    places, ends = np.argsort(cage, axis=1, kind="stable"), cells.cumsum(axis=1)
    drawn: Drawn = {}
    for number in sizes.tolist():
        puzzle, own = np.nonzero((cells == number) & good[:, None])
        found = places[puzzle[:, None], (ends - cells)[puzzle, own][:, None] + np.arange(number)]
        if len(puzzle):
            drawn[Cage(), number] = _entries(puzzle, found, grids[puzzle[:, None], found].sum(axis=1, keepdims=True))
    return drawn, good


def _pairs(side: int) -> np.ndarray:
    """The pairs of cells that share an edge, int64[m, 2]."""
    cells = np.arange(side * side).reshape(side, side)
    ways = (cells[:, :-1], cells[:, 1:]), (cells[:-1], cells[1:])
    return np.concatenate([np.stack(way, axis=-1).reshape(-1, 2) for way in ways])


# ---------------------------------------------------------------------- lines


def draw_thermometers(grids: np.ndarray, board: Board, seeds: Seeds) -> tuple[Drawn, np.ndarray]:
    """Up to ``side`` thermometers of 3 to 6 cells that share no cell."""

    def rises(before: np.ndarray, after: np.ndarray, total: np.ndarray, head: np.ndarray) -> np.ndarray:
        return after > before

    low = 2 * grids.astype(np.int64) <= board.side
    taken, found = _nothing_taken(grids), []
    for _ in range(board.side):
        line = _walk(grids, board, seeds, taken, low, _THERMOMETER[1], rises)
        length = (line >= 0).sum(axis=1)
        found.append(_kept(line, length >= _THERMOMETER[0], taken))
    return _lines(found, lambda size: thermometer(range(size), board.side)[0], _THERMOMETER), np.ones(len(grids), bool)


def draw_arrows(grids: np.ndarray, board: Board, seeds: Seeds) -> tuple[Drawn, np.ndarray]:
    """Up to ``side`` arrows with a circle of one cell and a path of 2 to 4 cells, that share no cell."""

    def reaches(before: np.ndarray, after: np.ndarray, total: np.ndarray, head: np.ndarray) -> np.ndarray:
        rest = (head - total)[:, None]
        return after <= np.where(total[:, None] == 0, rest - 1, rest)

    high = grids > board.side // 3
    taken, found = _nothing_taken(grids), []
    left = np.full(len(grids), board.side)
    for _ in range(_TRIES * board.side):
        line = _walk(grids, board, seeds, taken, high, _ARROW[1], reaches)
        digit = np.where(line >= 0, np.take_along_axis(grids, np.maximum(line, 0), axis=1).astype(np.int64), 0)
        full = (digit[:, 0] > 0) & (digit[:, 1:].sum(axis=1) == digit[:, 0]) & (left > 0)
        left -= full
        found.append(_kept(line, full, taken))
    return _lines(found, lambda size: arrow([0], range(1, size), board.side)[0], _ARROW), np.ones(len(grids), bool)


def _walk(
    grids: np.ndarray,
    board: Board,
    seeds: Seeds,
    taken: np.ndarray,
    starts: np.ndarray,
    most: int,
    allowed: Callable[[np.ndarray, np.ndarray, np.ndarray, np.ndarray], np.ndarray],
) -> np.ndarray:
    """A random line in each grid, of up to ``most`` neighbouring cells that are not taken.

    Args:
      grids, board, seeds: as in ``draw_thermometers``.
      taken: bool[N, cells + 1]; the last column is that of cells off the board.
      starts: bool[N, cells], the cells in which a line may start.
      most: the most cells.
      allowed: whether a step is allowed, from the digits of the last cell [N, 1] and of its neighbours [N, 8], the sum
        of the cells after the first [N], and the digit of the first [N].

    Returns:
      int64[N, most], -1 for no cell.
    """
    size, everyone = len(grids), np.arange(len(grids))
    neighbours, digits = _neighbours(board.side), np.pad(grids.astype(np.int64), ((0, 0), (0, 1)))
    options = starts & ~taken[:, :-1]
    line = np.full((size, most), -1)
    line[:, 0] = np.where(options.any(axis=1), _choice(options, seeds), -1)
    total, head, going = np.zeros(size, np.int64), digits[everyone, line[:, 0]], line[:, 0] >= 0
    for step in range(1, most):
        last = line[:, step - 1]
        near = neighbours[last]
        used = (near[:, :, None] == line[:, None, :step]).any(axis=2)
        options = going[:, None] & ~taken[everyone[:, None], near] & ~used
        options &= allowed(digits[everyone, last][:, None], digits[everyone[:, None], near], total, head)
        going = options.any(axis=1)
        chosen = near[everyone, _choice(options, seeds)]
        line[:, step] = np.where(going, chosen, -1)
        total += np.where(going, digits[everyone, chosen], 0)
    return line


def _nothing_taken(grids: np.ndarray) -> np.ndarray:
    """The cells that no line takes, bool[N, cells + 1]; the last column is that of cells off the board."""
    taken = np.zeros((len(grids), grids.shape[1] + 1), bool)
    taken[:, -1] = True
    return taken


def _kept(line: np.ndarray, good: np.ndarray, taken: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """The puzzles and cells of the good lines; their cells are taken from now on."""
    puzzle = np.flatnonzero(good)
    taken[puzzle[:, None], line[puzzle]] = True
    return puzzle, line[puzzle]


def _lines(
    found: list[tuple[np.ndarray, np.ndarray]], example: Callable[[int], Constraint], sizes: tuple[int, int]
) -> Drawn:
    """The entries of lines of each size, with the kind and the numbers of an example."""
    puzzle, cells = map(np.concatenate, zip(*found, strict=True))
    length, drawn = (cells >= 0).sum(axis=1), {}
    for size in range(sizes[0], sizes[1] + 1):
        own, constraint = np.flatnonzero(length == size), example(size)
        numbers = np.tile(constraint.numbers, (len(own), 1))
        if len(own):
            drawn[constraint.kind, size] = _entries(puzzle[own], cells[own, :size], numbers)
    return drawn


def _neighbours(side: int) -> np.ndarray:
    """The eight neighbours of each cell, int64[cells + 1, 8]; ``cells`` for those off the board."""
    found = np.full((side * side + 1, len(_AROUND)), side * side)
    for row, column in np.ndindex(side, side):
        for number, (down, right) in enumerate(_AROUND):
            if 0 <= row + down < side and 0 <= column + right < side:
                found[row * side + column, number] = (row + down) * side + column + right
    return found


# ---------------------------------------------------------------------- dots


def draw_dots(grids: np.ndarray, board: Board, seeds: Seeds) -> tuple[Drawn, np.ndarray]:
    """All kropki dots: black between a digit and its double, else white between consecutive digits."""
    del seeds
    pairs = _pairs(board.side)
    low, high = np.sort(grids.astype(np.int64)[:, pairs], axis=2).transpose(2, 0, 1)
    black = high == 2 * low
    white = ~black & (high == low + 1)
    drawn = {}
    for dots, example in ((white, kropki(white=[(0, 1)])[0]), (black, kropki(black=[(0, 1)])[0])):
        puzzle, pair = np.nonzero(dots)
        if len(puzzle):
            drawn[example.kind, 2] = _entries(puzzle, pairs[pair], np.zeros((len(puzzle), 0)))
    return drawn, np.ones(len(grids), bool)


#: The functions that draw constraints of solved grids uint8[N, cells] on a board, by the names of variants. They return
#: the constraints, and whether there are any that suit, bool[N].
DRAW: Mapping[str, Callable[[np.ndarray, Board, Seeds], tuple[Drawn, np.ndarray]]] = {
    "killer": draw_cages,
    "thermometer": draw_thermometers,
    "kropki": draw_dots,
    "arrow": draw_arrows,
}


def renumbered(drawn: Drawn, puzzles: np.ndarray, numbers: np.ndarray) -> Drawn:
    """The constraints of some puzzles int[m], which get other numbers int[m]."""
    found = {}
    for key, entries in drawn.items():
        place = np.full(1 + max(int(part.max(initial=-1)) for part in (entries.puzzle, puzzles)), -1, np.int32)
        place[puzzles] = numbers
        own = place[entries.puzzle] >= 0
        if own.any():
            found[key] = Entries(place[entries.puzzle[own]], entries.cells[own], entries.numbers[own])
    return found


def _choice(options: np.ndarray, seeds: Seeds) -> np.ndarray:
    """A random one of the options bool[N, m] of each row, int64[N]."""
    return np.where(options, seeds.uniform(options.shape[1]), -1.0).argmax(axis=1)


def _entries(puzzle: np.ndarray, cells: np.ndarray, numbers: np.ndarray) -> Entries:
    return Entries(puzzle.astype(np.int32), cells.astype(np.int32), numbers.astype(np.int32))
