"""What the tests compare with: solving, deducing and judging in plain Python and numpy, and puzzles to do it on.

Nothing here uses the library but ``Board``, so that it can't share a mistake with what it judges.
"""

from __future__ import annotations

import functools
from collections.abc import Iterable, Iterator, Sequence

import numpy as np
from hypothesis import strategies as st

from jaxsudoku.core.board import Board

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
    "house_cnn": {"layers": 4, "width": 16, "hidden": 8},
    "house_resnet": {"blocks": 2, "width": 8, "house": 8, "hidden": 8},
    "cell_cnn": {"width": 8, "features": 8, "hidden": 8},
}


# ---------------------------------------------------------------------- solving


@functools.cache
def peers(board: Board) -> tuple[frozenset[int], ...]:
    """For each cell the others that share a house with it."""
    return tuple(
        frozenset(other for house in board.houses if cell in house for other in house) - {cell}
        for cell in range(board.cells)
    )


@functools.cache
def _houses_of(board: Board) -> list[list[int]]:
    return [[number for number, house in enumerate(board.houses) if cell in house] for cell in range(board.cells)]


def solutions(
    board: Board, puzzle: Sequence[int] | np.ndarray, limit: int, rng: np.random.Generator | None = None
) -> list[tuple[int, ...]]:
    """Up to ``limit`` solutions, by backtracking on the cell with fewest digits left; none where the givens clash."""
    grid, found = [int(digit) for digit in puzzle], []
    if is_clash(board, grid):
        return found
    houses = _houses_of(board)
    held = [sum(1 << grid[cell] for cell in house if grid[cell]) for house in board.houses]  # a bit for each digit

    def digits(cell: int) -> int:
        left = (2 << board.side) - 2
        for house in houses[cell]:
            left &= ~held[house]
        return left

    def toggle(cell: int, digit: int) -> None:
        for house in houses[cell]:
            held[house] ^= 1 << digit

    def descend(empty: list[int]) -> None:
        if not empty:
            found.append(tuple(grid))
            return
        left_of = {cell: digits(cell) for cell in empty}
        cell = min(empty, key=lambda cell: left_of[cell].bit_count())
        left = [digit for digit in range(1, board.side + 1) if left_of[cell] >> digit & 1]
        for digit in left if rng is None else rng.permutation(left).tolist():
            grid[cell] = digit
            toggle(cell, digit)
            descend([other for other in empty if other != cell])
            toggle(cell, digit)
            if len(found) == limit:
                return

    descend([cell for cell, digit in enumerate(grid) if not digit])
    return found


def count(board: Board, puzzle: Sequence[int] | np.ndarray, limit: int) -> int:
    """Number of solutions, at most ``limit``."""
    return len(solutions(board, puzzle, limit))


# ---------------------------------------------------------------------- judging


def repeats(board: Board, grid: Sequence[int] | np.ndarray) -> int:
    """Cells that repeat a digit of their house, summed over all houses."""
    held = [[int(grid[cell]) for cell in house if 1 <= grid[cell] <= board.side] for house in board.houses]
    return sum(len(digits) - len(set(digits)) for digits in held)


def is_clash(board: Board, puzzle: Sequence[int] | np.ndarray) -> bool:
    """Whether the givens repeat a digit in a house, or are no digits of the board."""
    return bool(repeats(board, puzzle) or max(puzzle) > board.side)


def is_solution(
    board: Board, grid: Sequence[int] | np.ndarray, puzzle: Sequence[int] | np.ndarray | None = None
) -> bool:
    """Whether each house holds the digits 1..side, and the givens of the puzzle, if any, are kept."""
    every = set(range(1, board.side + 1))
    kept = puzzle is None or all(given in (0, digit) for given, digit in zip(puzzle, grid, strict=True))
    return kept and all({int(grid[cell]) for cell in house} == every for house in board.houses)


# ---------------------------------------------------------------------- deducing


def candidates(board: Board, grids: np.ndarray) -> np.ndarray:
    """bool[B, side, cells]: the given digit of a filled cell, every digit of an empty one."""
    digits = np.arange(1, board.side + 1)[:, None]
    return (grids[:, None] == digits) | (grids[:, None] == 0)


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


# ---------------------------------------------------------------------- lanes


def from_lanes(values: np.ndarray) -> np.ndarray:
    """bool[B, ...] to planes uint32[..., B / 32]: bit k of word w is lane k W + w."""
    moved = np.moveaxis(values, 0, -1)
    bits = moved.reshape(*moved.shape[:-1], 32, -1).astype(np.uint32) << np.arange(32, dtype=np.uint32)[:, None]
    return np.bitwise_or.reduce(bits, axis=-2)


def to_lanes(planes: np.ndarray) -> np.ndarray:
    """Planes uint32[..., W] to bool[32 W, ...], the inverse of ``from_lanes``."""
    bits = np.asarray(planes)[..., None, :] >> np.arange(32, dtype=np.uint32)[:, None] & 1
    return np.moveaxis(bits.reshape(*bits.shape[:-2], -1), -1, 0).astype(bool)


# ---------------------------------------------------------------------- puzzles


def pattern(board: Board) -> np.ndarray:
    """A solved grid of a board with boxes and no further houses: uint8[cells]."""
    assert board.box is not None
    assert not board.extra
    rows, columns = np.divmod(np.arange(board.cells), board.side)
    height, width = board.box
    return ((rows % height * width + rows // height + columns) % board.side + 1).astype(np.uint8)


def full_grid(board: Board, rng: np.random.Generator) -> np.ndarray:
    """A random solved grid: a pattern with its lines shuffled, or one of a few found; digits renamed; uint8[cells]."""
    if board.box is None or board.extra:
        grid = _found(board)[rng.integers(len(_found(board)))]
    else:
        grid = pattern(board)[lines(board, rng)]
    return rng.permutation(board.side).astype(np.uint8)[grid - 1] + np.uint8(1)


@functools.cache
def _found(board: Board) -> np.ndarray:
    return np.array(solutions(board, [0] * board.cells, 50, np.random.default_rng(0)), np.uint8)


def lines(board: Board, rng: np.random.Generator) -> np.ndarray:
    """A random permutation of a box board's bands, stacks, rows and columns in them, as cells to take: int[cells]."""
    assert board.box is not None
    orders = []
    for size in board.box:
        groups = np.arange(board.side).reshape(-1, size)
        orders.append(np.concatenate([rng.permutation(group) for group in rng.permutation(groups)]))
    return (orders[0][:, None] * board.side + orders[1]).reshape(-1)


def blanked(grid: np.ndarray, givens: int, rng: np.random.Generator) -> np.ndarray:
    """The grid with all but some cells emptied."""
    puzzle = np.zeros_like(grid)
    kept = rng.choice(len(grid), givens, replace=False)
    puzzle[kept] = grid[kept]
    return puzzle


def arranged(board: Board, puzzles: np.ndarray, seed: int = 0) -> np.ndarray:
    """Full grids that keep the givens uint8[B, cells]: each box has its missing digits in a random order."""
    rng = np.random.default_rng(seed)
    grids = puzzles.copy()
    for grid in grids:
        for box in map(list, board.region_houses):
            cells = [cell for cell in box if not grid[cell]]
            grid[cells] = rng.permutation(sorted({*range(1, board.side + 1)}.difference(grid[box].tolist())))
    return grids


def batch(board: Board, size: int, seed: int = 0) -> np.ndarray:
    """Puzzles from empty to full, solvable or with one or two digits changed; uint8[B, cells].

    Boards of side 9 get enough givens for brute force to be quick.
    """
    rng = np.random.default_rng(seed)
    fewest = board.cells // 3 if board.side > 6 else 0
    puzzles = []
    for number in range(size):
        puzzle = blanked(full_grid(board, rng), rng.integers(fewest, board.cells + 1), rng)
        for _ in range(number % 3):
            puzzle[rng.integers(board.cells)] = rng.integers(1, board.side + 1)
        puzzles.append(puzzle)
    return np.array(puzzles, np.uint8)


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


def solvable(board: Board, size: int, seed: int = 0, givens: int | None = None) -> np.ndarray:
    """Puzzles that have a solution, with some number of givens (by default any number): uint8[B, cells]."""
    rng = np.random.default_rng(seed)
    numbers = rng.integers(0, board.cells + 1, size) if givens is None else [givens] * size
    return np.array([blanked(full_grid(board, rng), number, rng) for number in numbers], np.uint8)


def unique(board: Board, size: int, seed: int = 0) -> np.ndarray:
    """Puzzles with one solution, most of their cells empty: uint8[B, cells]."""
    return np.array(list(_unique(board, size, np.random.default_rng(seed))), np.uint8)


def _unique(board: Board, size: int, rng: np.random.Generator) -> Iterator[np.ndarray]:
    for _ in range(size):
        grid = full_grid(board, rng)
        givens = board.cells // 3
        while count(board, puzzle := blanked(grid, givens, rng), 2) != 1:
            givens += 1
        yield puzzle


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
