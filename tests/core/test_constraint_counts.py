"""Counts of solutions on 9x9 boards with constraints, compared with a SAT solver."""

from __future__ import annotations

import functools
import itertools
from collections.abc import Callable, Sequence

import numpy as np
import pytest

import jaxsudoku as js
from jaxsudoku.core import constraints as c
from jaxsudoku.core.constraints import Constraint
from jaxsudoku.exact.uniqueness import solve_and_count
from tests.support import constraint_sat

NINE = js.Board.classic(9)
LINES = [tuple(range(9 * row, 9 * row + 9)) for row in range(9)] + [tuple(range(column, 81, 9)) for column in range(9)]


def path(rng: np.random.Generator, size: int, touching: bool = True) -> tuple[int, ...]:
    """A random path of cells, each beside the next one or touching its corner."""
    while True:
        cells = [int(rng.integers(81))]
        for _ in range(size - 1):
            row, column = divmod(cells[-1], 9)
            around = [
                9 * r + k
                for r in range(max(row - 1, 0), min(row + 2, 9))
                for k in range(max(column - 1, 0), min(column + 2, 9))
                if 9 * r + k not in cells and (touching or (r == row) != (k == column))
            ]
            if not around:
                break
            cells.append(around[int(rng.integers(len(around)))])
        if len(cells) == size:
            return tuple(cells)


Maker = Callable[[np.random.Generator, Sequence[int]], list[Constraint]]


def line(rng: np.random.Generator) -> tuple[int, ...]:
    cells = LINES[int(rng.integers(18))]
    return cells if rng.random() < 0.5 else cells[::-1]


def total(grid: Sequence[int], cells: Sequence[int]) -> int:
    return sum(int(grid[cell]) for cell in cells)


def sandwiched(grid: Sequence[int], cells: Sequence[int]) -> int:
    digits = [int(grid[cell]) for cell in cells]
    first, last = sorted((digits.index(1), digits.index(9)))
    return sum(digits[first + 1 : last])


def visible(grid: Sequence[int], cells: Sequence[int]) -> int:
    tops = list(itertools.accumulate((int(grid[cell]) for cell in cells), max))
    return len(set(tops))


def segments(rng: np.random.Generator) -> list[tuple[int, ...]]:
    cells = path(rng, 4)
    return [cells[:2], cells[2:]]


#: Random constraints by family; those that a grid does not satisfy are dropped.
FAMILIES: dict[str, list[Maker]] = {
    "cages": [
        lambda rng, grid: [c.Cage(cells := path(rng, int(rng.integers(2, 6)), False), (total(grid, cells),))],
        lambda rng, grid: [c.Sum(cells := path(rng, int(rng.integers(2, 5))), (total(grid, cells),))],
        lambda rng, grid: c.distinct(path(rng, 5)),
        lambda rng, grid: c.nabner(path(rng, 3)),
    ],
    "arrows": [
        lambda rng, grid: c.arrow((cells := path(rng, int(rng.integers(3, 6))))[:1], cells[1:]),
        lambda rng, grid: c.arrow((cells := path(rng, 6, False))[:2], cells[2:]),
        lambda rng, grid: c.double_arrow(path(rng, 4)),
        lambda rng, grid: c.region_sums(segments(rng)),
        lambda rng, grid: c.zipper(path(rng, 3)),
    ],
    "chains": [
        lambda rng, grid: c.thermometer(path(rng, int(rng.integers(2, 6)))),
        lambda rng, grid: c.slow_thermometer(path(rng, 4)),
        lambda rng, grid: c.whispers(path(rng, 3)),
        lambda rng, grid: c.kropki([path(rng, 2, False)]),
        lambda rng, grid: c.kropki((), [path(rng, 2, False)]),
        lambda rng, grid: c.xv([path(rng, 2, False)], [path(rng, 2, False)])[int(rng.integers(2)) :][:1],
        lambda rng, grid: c.palindrome(path(rng, 3)),
        lambda rng, grid: c.minimum([int(rng.integers(81))]) + c.maximum([int(rng.integers(81))]),
    ],
    "lines": [
        lambda rng, grid: c.renban(path(rng, int(rng.integers(3, 5)))),
        lambda rng, grid: c.between(path(rng, 4)),
        lambda rng, grid: c.lockout(path(rng, 4)),
        lambda rng, grid: c.entropic(path(rng, 4)),
        lambda rng, grid: c.modular(path(rng, 4)),
        lambda rng, grid: c.parity(path(rng, 4)),
        lambda rng, grid: c.odd([cell for cell in path(rng, 3) if grid[cell] % 2]),
        lambda rng, grid: [c.Contains(cells := path(rng, 4), (int(grid[cells[0]]), int(grid[cells[2]])))],
    ],
    "outside": [
        lambda rng, grid: c.sandwich(cells := line(rng), sandwiched(grid, cells)),
        lambda rng, grid: c.skyscraper(cells := line(rng), visible(grid, cells)),
        lambda rng, grid: c.x_sum(cells := line(rng), total(grid, cells[: int(grid[cells[0]])])),
        lambda rng, grid: c.numbered_room(cells := line(rng), int(grid[cells[int(grid[cells[0]]) - 1]])),
        lambda rng, grid: c.row_indexer([int(rng.integers(81))]) + c.column_indexer([int(rng.integers(81))]),
    ],
}
ENOUGH = {"cages": 25, "arrows": 16, "chains": 24, "lines": 20, "outside": 14}


@functools.cache
def solved() -> np.ndarray:
    """Solved grids, uint8[200, 81]."""
    return np.asarray(js.generate(0, 200).solutions)


@pytest.mark.parametrize(
    "number", [pytest.param(24, marks=pytest.mark.slow), pytest.param(200, marks=pytest.mark.thorough)]
)
@pytest.mark.parametrize("family", FAMILIES)
def test_counts_are_those_of_a_sat_solver(family, number):
    pytest.importorskip("pysat")
    rng = np.random.default_rng(len(family))
    grids = solved()[:number]
    puzzles, clues = np.zeros_like(grids), []
    for puzzle, grid in enumerate(grids):
        found: dict[Constraint, None] = {}
        while len(found) < ENOUGH[family]:
            makers = FAMILIES[family]
            for one in makers[int(rng.integers(len(makers)))](rng, grid):
                if constraint_sat.satisfied(one, grid, NINE):
                    found[one] = None
        if puzzle % 8 == 0:  # a wrong clue, for puzzles without a solution
            wrong = makers[0](rng, grids[puzzle - 1])
            found.update(dict.fromkeys(wrong))
        clues.append(list(found))
        givens = rng.permutation(81)[: int(rng.integers(2, 16))]
        puzzles[puzzle, givens] = grid[givens]
    found_grids, counts = solve_and_count(puzzles, NINE, clues=js.Clues.of(clues, NINE))
    for puzzle, own, count, grid in zip(puzzles, clues, counts, found_grids, strict=True):
        expected = constraint_sat.count(puzzle, NINE, own)
        assert len(expected) == count
        if count:
            assert all(constraint_sat.satisfied(one, grid, NINE) for one in own)
            assert count > 1 or grid.tolist() == expected[0]
    assert number < 200 or {0, 1, 2} <= set(counts.tolist())
