"""Random constraints that solved grids satisfy: cages, thermometers, kropki dots, arrows. Numpy, for a batch of grids.

Each function of ``DRAW`` draws the constraints of N grids at once. A grid's constraints depend on its seed alone.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterable, Iterator, Mapping

import numpy as np

from jaxsudoku.core.board import Board
from jaxsudoku.core.constraints import Cage, arrow, kropki, thermometer
from jaxsudoku.core.constraints.base import Constraint
from jaxsudoku.core.constraints.clues import Entries
from jaxsudoku.runtime.random import APART, mix

#: Shares of the sizes of cages, about; three cells on average.
_CAGE_SIZES = {2: 0.4, 3: 0.32, 4: 0.18, 5: 0.1}
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

    A cage starts at a free cell with fewest free neighbours and takes random neighbours. A cell that stays alone joins
    a neighbouring cage if that has room; otherwise the grid does not suit.
    """
    size, side = len(grids), board.side
    everyone = np.arange(size)
    bits = np.left_shift(np.uint64(1), grids.astype(np.uint64))
    sizes = [number for number in _CAGE_SIZES if number <= side]
    most = max(sizes)
    # the frame is neither free nor part of a cage
    framed = np.full((size, side + 2, side + 2), -2, np.int16)
    framed[:, 1:-1, 1:-1] = -1
    flat = framed.reshape(size, -1)
    place = (np.arange(side)[:, None] + 1) * (side + 2) + np.arange(side) + 1
    place = place.reshape(-1)
    steps = np.array([-side - 2, side + 2, -1, 1])
    count, cells, wanted = np.zeros(size, np.int64), np.zeros(size, np.int64), np.zeros(size, np.int64)
    members = np.zeros((size, board.cells), np.int64)  # of each cage
    digits = np.zeros((size, board.cells), np.uint64)
    failed = np.zeros(size, bool)
    while True:
        free = framed == -1
        open_ = free[:, 1:-1, 1:-1].reshape(size, -1)
        active = ~failed & (open_.any(axis=1) | (cells > 0))
        if not active.any():
            break
        near = np.sum(list(_shifted(free)), axis=0, dtype=np.int8).reshape(size, -1)
        own = framed == count[:, None, None]
        beside = np.logical_or.reduce(list(_shifted(own))).reshape(size, -1)
        growing = cells > 0
        unlike = bits & digits[everyone, count][:, None] == 0
        options = np.where(growing[:, None], open_ & beside & unlike, open_)
        noise = seeds.uniform(board.cells + 1)
        loose = np.where(growing & (noise[:, -1] < 0.5), 9, 1).astype(np.float32)
        chosen = np.where(options, near + loose[:, None] * noise[:, :-1], np.inf).argmin(axis=1)
        grown = active & options.any(axis=1) & ~(growing & (cells >= wanted))
        first = grown & ~growing
        wanted[first] = np.array(sizes)[_drawn(noise[first, -1], [_CAGE_SIZES[number] for number in sizes])]
        row = everyone[grown]
        flat[row, place[chosen[row]]] = count[row]
        members[row, count[row]] += 1
        digits[row, count[row]] |= bits[row, chosen[row]]
        cells[row] += 1
        # a cage ends at its size, or where no neighbour is left
        ended = active & ~grown
        alone = everyone[ended & (cells == 1)]
        failed[alone] = ~_joined(alone, flat, count, place, steps, members, digits, noise[:, -1], most)
        ended[alone] = False
        cells[alone] = 0
        count[ended] += 1
        cells[ended] = 0
    labels = framed[:, 1:-1, 1:-1].reshape(size, -1)
    order, ends = np.argsort(labels, axis=1, kind="stable"), members.cumsum(axis=1)
    drawn: Drawn = {}
    for number in range(2, most + 1):
        puzzle, cage = np.nonzero((members == number) & ~failed[:, None])
        places = order[puzzle[:, None], (ends - members)[puzzle, cage][:, None] + np.arange(number)]
        totals = grids[puzzle[:, None], places].astype(np.int32).sum(axis=1, keepdims=True)
        if len(puzzle):
            drawn[Cage(), number] = _entries(puzzle, places, totals)
    return drawn, ~failed


def _shifted(framed: np.ndarray) -> Iterator[np.ndarray]:
    """The four orthogonal neighbours of each cell of framed grids [N, side + 2, side + 2], each [N, side, side]."""
    yield framed[:, :-2, 1:-1]
    yield framed[:, 2:, 1:-1]
    yield framed[:, 1:-1, :-2]
    yield framed[:, 1:-1, 2:]


def _joined(
    rows: np.ndarray,
    labels: np.ndarray,
    count: np.ndarray,
    place: np.ndarray,
    steps: np.ndarray,
    members: np.ndarray,
    digits: np.ndarray,
    noise: np.ndarray,
    most: int,
) -> np.ndarray:
    """Puts the single cell of the last cage of puzzles ``rows`` into a neighbouring cage.

    Returns:
      bool[m], whether there was one with room.
    """
    cell = (labels[rows][:, place] == count[rows, None]).argmax(axis=1)
    last = count[rows]
    around = labels[rows[:, None], place[cell][:, None] + steps]
    own = digits[rows, last]
    cages = np.maximum(around, 0)
    fits = (around >= 0) & (members[rows[:, None], cages] < most) & (digits[rows[:, None], cages] & own[:, None] == 0)
    turn = (np.arange(4) + (noise[rows, None] * 4).astype(np.int64)) % 4
    chosen = turn[np.arange(len(rows)), fits[np.arange(len(rows))[:, None], turn].argmax(axis=1)]
    cage = cages[np.arange(len(rows)), chosen]
    good = fits.any(axis=1)
    joining = rows[good]
    labels[joining, place[cell[good]]] = cage[good]
    members[joining, cage[good]] += 1
    digits[joining, cage[good]] |= own[good]
    members[rows, last] = 0
    digits[rows, last] = 0
    return good


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
    cells = np.arange(board.cells).reshape(board.side, board.side)
    ways = (cells[:, :-1], cells[:, 1:]), (cells[:-1], cells[1:])
    pairs = np.concatenate([np.stack(way, axis=-1).reshape(-1, 2) for way in ways])
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


def united(parts: Iterable[Drawn]) -> Drawn:
    """The constraints of all parts."""
    found: dict[tuple[Constraint, int], list[Entries]] = {}
    for key, entries in itertools.chain.from_iterable(part.items() for part in parts):
        found.setdefault(key, []).append(entries)
    return {key: Entries.joined(ones) for key, ones in found.items()}


def _choice(options: np.ndarray, seeds: Seeds) -> np.ndarray:
    """A random one of the options bool[N, m] of each row, int64[N]."""
    return np.where(options, seeds.uniform(options.shape[1]), -1.0).argmax(axis=1)


def _drawn(uniform: np.ndarray, shares: list[float]) -> np.ndarray:
    """Indices of a distribution, from uniform numbers."""
    return np.searchsorted(np.cumsum(shares)[:-1] / np.sum(shares), uniform, side="right")


def _entries(puzzle: np.ndarray, cells: np.ndarray, numbers: np.ndarray) -> Entries:
    return Entries(puzzle.astype(np.int32), cells.astype(np.int32), numbers.astype(np.int32))
