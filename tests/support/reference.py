"""What the tests compare with: solving, deducing and judging in plain Python and numpy, and puzzles to do it on.

Nothing here uses the library but ``Board`` and ``testing.plain``, which share no mistake with what they judge.
"""

from __future__ import annotations

import functools
from collections.abc import Iterable, Sequence

import numpy as np
from hypothesis import strategies as st

from jaxsudoku.core.board import Board
from jaxsudoku.testing.plain import (  # noqa: F401 - tests take all of it from here
    batch,
    blanked,
    candidates,
    count,
    from_lanes,
    full_grid,
    is_clash,
    is_solution,
    lines,
    pattern,
    repeats,
    solutions,
    solvable,
    to_lanes,
    unique,
)

#: Boards on which counting by brute force takes no time.
SMALL = {
    "4x4": Board.classic(4),
    "diagonal-4": Board.diagonal(4),
    "jigsaw-4": Board.jigsaw("aaab cabb ccdb cddd"),
    "jigsaw-5": Board.jigsaw("aaabb aabbb ccccc ddeee dddee"),
    "2x3": Board.classic(6),
    "3x2": Board.classic(6, box=(3, 2)),
    "jigsaw-6": Board.jigsaw("aaaabb acbbbb accccd eecddd ffffdd eeeeff"),
}

#: Boards of side 9.
NINE = {
    "9x9": Board.classic(),
    "diagonal": Board.diagonal(),
    "windoku": Board.windoku(),
}

#: Sizes with which a network of each architecture compiles in no time.
TINY = {
    "cube": {"width": 8, "hidden": 8, "iterations": 2},
    "axial": {"rounds": 1, "width": 8, "heads": 2, "expansion": 2, "hidden": 8},
    "cellwise": {"layers": 2, "width": 8, "heads": 2, "expansion": 2, "hidden": 8},
    "se_resnet": {"blocks": 2, "width": 8, "reduction": 2, "head": 8, "groups": 2},
    "house_cnn": {"layers": 4, "width": 8, "hidden": 8},
    "house_resnet": {"blocks": 2, "width": 8, "house": 8, "hidden": 8},
    "cell_cnn": {"width": 8, "features": 8, "hidden": 8},
}


@functools.cache
def peers(board: Board) -> tuple[frozenset[int], ...]:
    """For each cell the others that share a house with it."""
    return tuple(
        frozenset(other for house in board.houses if cell in house for other in house) - {cell}
        for cell in range(board.cells)
    )


# ---------------------------------------------------------------------- deducing


def deduce(board: Board, left: np.ndarray, rules: str) -> np.ndarray:
    """The fixpoint of the rules "naked", "singles" or "locked" on one puzzle's candidates bool[side, cells].

    Where there is a solution the order in which rules fire does not matter, so there is only one fixpoint.
    """
    places = [_bits(np.flatnonzero(digit)) for digit in left]  # a bit for each cell
    while True:
        before = list(places)
        for cell in range(board.cells):
            (digit, *others) = [digit for digit, cells in enumerate(places) if cells >> cell & 1] or [-1, -1]
            if not others:
                places[digit] &= ~_bits(peers(board)[cell])
        for digit in range(board.side) if rules != "naked" else ():
            for house in map(_bits, board.houses):
                single = places[digit] & house
                if single.bit_count() == 1:
                    places = [cells & ~single for cells in places]
                    places[digit] |= single
            for one, other in _overlapping(board) if rules not in ("naked", "singles") else ():
                if places[digit] & one and not places[digit] & one & ~other:
                    places[digit] &= one | ~other
        if places == before:
            return np.array([[cells >> cell & 1 for cell in range(board.cells)] for cells in places], bool)


def _bits(cells: Iterable[int]) -> int:
    return sum(1 << int(cell) for cell in cells)


@functools.cache
def _overlapping(board: Board) -> list[tuple[int, int]]:
    houses = [_bits(house) for house in board.houses]
    return [(one, other) for one in houses for other in houses if one != other and (one & other).bit_count() > 1]


# ---------------------------------------------------------------------- puzzles


def arranged(board: Board, puzzles: np.ndarray, seed: int = 0) -> np.ndarray:
    """Full grids that keep the givens uint8[B, cells]: each box has its missing digits in a random order."""
    rng = np.random.default_rng(seed)
    grids = puzzles.copy()
    for grid in grids:
        for box in map(list, board.region_houses):
            cells = [cell for cell in box if not grid[cell]]
            grid[cells] = rng.permutation(sorted({*range(1, board.side + 1)}.difference(grid[box].tolist())))
    return grids


def with_repeats(board: Board) -> np.ndarray:
    """uint8[64, cells]: 16 partly solved grids, 32 with a random change, 16 with two of a digit in one house alone."""
    rng = np.random.default_rng(0)
    grids = np.array([blanked(full_grid(board, rng), board.cells // 2, rng) for _ in range(64)])
    for grid in grids[16:]:
        grid[rng.integers(board.cells)] = rng.integers(board.side + 1)
    for lane, house in enumerate(board.houses[-16:], 48):
        grids[lane] = 0
        grids[lane, rng.choice(house, 2, replace=False)] = 1
    return grids


boards = st.sampled_from(list(SMALL.values()))


@st.composite
def puzzles(draw: st.DrawFn, board: Board) -> np.ndarray:
    """A puzzle: some cells of a solved grid, up to two of them changed, so that it may clash or have no solution."""
    grid = draw(st.sampled_from(_grids(board)))
    cells = st.integers(0, 2**board.cells - 1)
    kept = draw(cells) & draw(cells)
    puzzle = np.array([digit if kept >> cell & 1 else 0 for cell, digit in enumerate(grid)], np.uint8)
    change = st.tuples(st.integers(0, board.cells - 1), st.integers(1, board.side))
    for cell, digit in draw(st.lists(change, max_size=2)):
        puzzle[cell] = digit
    return puzzle


@functools.cache
def _grids(board: Board) -> list[list[int]]:
    rng = np.random.default_rng(0)
    return [full_grid(board, rng).tolist() for _ in range(8)]


# ---------------------------------------------------------------------- as clauses


class Sat:
    """The rules of a board as clauses."""

    def __init__(self, board: Board) -> None:
        from pysat.solvers import Solver  # only tests that use it need it installed

        self.side = board.side
        cells, digits = range(board.cells), range(1, board.side + 1)
        self.solver = Solver(name="minisat22")
        for cell in cells:
            self.solver.add_clause([self.literal(cell, digit) for digit in digits])
        for house in board.houses:
            for digit in digits:
                self.solver.add_clause([self.literal(cell, digit) for cell in house])
                for at, cell in enumerate(house):
                    for other in house[:at]:
                        self.solver.add_clause([-self.literal(cell, digit), -self.literal(other, digit)])

    def literal(self, cell: int, digit: int) -> int:
        """The variable that says that a cell holds a digit."""
        return int(cell) * self.side + int(digit)

    def givens(self, puzzle: Sequence[int] | np.ndarray) -> list[int]:
        """The variables that say what a puzzle says."""
        return [self.literal(cell, digit) for cell, digit in enumerate(puzzle) if digit]

    def is_proper(self, puzzle: Sequence[int] | np.ndarray) -> bool:
        """Whether a puzzle has exactly one solution."""
        givens = self.givens(puzzle)
        if not self.solver.solve(assumptions=givens):
            return False
        # another one differs in some cell; the further variable switches this clause on
        other = self.solver.nof_vars() + 1
        solution = [literal for literal in self.solver.get_model() if 0 < literal < self.literal(self.side**2, 1)]
        self.solver.add_clause([-other, *(-literal for literal in solution)])
        return not self.solver.solve(assumptions=[*givens, other])
