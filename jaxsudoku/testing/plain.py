"""A reference implementation in plain Python and numpy: solving, judging and making puzzles on small boards.

Except for ``Board`` and ``Constraint.holds`` it uses nothing of the library, so that it can't share mistakes with the
code it checks.
"""

from __future__ import annotations

import functools
from collections.abc import Iterator, Sequence

import numpy as np

from jaxsudoku.core.board import Board
from jaxsudoku.core.constraints import Constraint

# ---------------------------------------------------------------------- solving


@functools.cache
def _houses_of(board: Board) -> list[list[int]]:
    return [[number for number, house in enumerate(board.houses) if cell in house] for cell in range(board.cells)]


@functools.cache
def _constraints_of(board: Board) -> list[list[Constraint]]:
    return [[one for one in board.constraints if cell in one.cells] for cell in range(board.cells)]


def _broken(board: Board, constraint: Constraint, grid: Sequence[int] | np.ndarray) -> bool:
    """Whether a constraint without an empty cell does not hold."""
    digits = [np.int32(grid[cell]) for cell in constraint.cells]
    filled = all(1 <= digit <= board.side for digit in digits)
    return filled and not constraint.kind.holds(digits, constraint.numbers, board.side)


def solutions(
    board: Board, puzzle: Sequence[int] | np.ndarray, limit: int, rng: np.random.Generator | None = None
) -> list[tuple[int, ...]]:
    """Up to ``limit`` solutions, by backtracking on the cell with fewest digits left; none if the givens clash."""
    found: list[tuple[int, ...]] = []
    grid = [int(digit) for digit in puzzle]
    if is_clash(board, grid) or any(_broken(board, one, grid) for one in board.constraints):
        return found
    houses, constraints = _houses_of(board), _constraints_of(board)
    held = [sum(1 << grid[cell] for cell in house if grid[cell]) for house in board.houses]  # one bit per digit

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
            if not any(_broken(board, one, grid) for one in constraints[cell]):
                descend([other for other in empty if other != cell])
            toggle(cell, digit)
            grid[cell] = 0
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
    """Whether the givens repeat a digit in a house, or are not digits of the board."""
    return bool(repeats(board, puzzle) or max(puzzle) > board.side)


def is_solution(
    board: Board, grid: Sequence[int] | np.ndarray, puzzle: Sequence[int] | np.ndarray | None = None
) -> bool:
    """Whether each house holds the digits 1..side, constraints hold, and the givens of the puzzle, if any, are kept."""
    every = set(range(1, board.side + 1))
    kept = puzzle is None or all(given in (0, digit) for given, digit in zip(puzzle, grid, strict=True))
    whole = all({int(grid[cell]) for cell in house} == every for house in board.houses)
    return kept and whole and not any(_broken(board, one, grid) for one in board.constraints)


# ---------------------------------------------------------------------- candidates and lanes


def candidates(board: Board, grids: np.ndarray) -> np.ndarray:
    """bool[B, side, cells]: the given digit of a filled cell, every digit of an empty one."""
    digits = np.arange(1, board.side + 1)[:, None]
    return (grids[:, None] == digits) | (grids[:, None] == 0)


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
    """A solved grid of a board with boxes, no further houses and no constraints: uint8[cells]."""
    assert board.box is not None
    assert not board.extra
    assert not board.constraints
    rows, columns = np.divmod(np.arange(board.cells), board.side)
    height, width = board.box
    return ((rows % height * width + rows // height + columns) % board.side + 1).astype(np.uint8)


def full_grid(board: Board, rng: np.random.Generator) -> np.ndarray:
    """A random solved grid, uint8[cells]: a pattern with shuffled lines, or one of a few solutions, relabelled.

    With constraints it is not relabelled.
    """
    if board.box is None or board.extra or board.constraints:
        grid = _found(board)[rng.integers(len(_found(board)))]
        if board.constraints:
            return grid
    else:
        grid = pattern(board)[lines(board, rng)]
    return rng.permutation(board.side).astype(np.uint8)[grid - 1] + np.uint8(1)


@functools.cache
def _found(board: Board) -> np.ndarray:
    return np.array(solutions(board, [0] * board.cells, 50, np.random.default_rng(0)), np.uint8)


def lines(board: Board, rng: np.random.Generator) -> np.ndarray:
    """A random permutation of the bands, stacks, rows and columns of a board with boxes, as source cells int[cells]."""
    assert board.box is not None
    orders = []
    for size in board.box:
        groups = np.arange(board.side).reshape(-1, size)
        orders.append(np.concatenate([rng.permutation(group) for group in rng.permutation(groups)]))
    return (orders[0][:, None] * board.side + orders[1]).reshape(-1)


def blanked(grid: np.ndarray, givens: int, rng: np.random.Generator) -> np.ndarray:
    """The grid with all but ``givens`` cells emptied."""
    puzzle = np.zeros_like(grid)
    kept = rng.choice(len(grid), givens, replace=False)
    puzzle[kept] = grid[kept]
    return puzzle


def batch(board: Board, size: int, seed: int = 0) -> np.ndarray:
    """Puzzles from empty to full, solvable or with one or two digits changed; uint8[B, cells].

    Puzzles on boards of side 9 have enough givens for fast brute force.
    """
    rng = np.random.default_rng(seed)
    fewest = board.cells // 3 if board.side > 6 else 0
    puzzles = []
    for number in range(size):
        puzzle = blanked(full_grid(board, rng), int(rng.integers(fewest, board.cells + 1)), rng)
        for _ in range(number % 3):
            puzzle[rng.integers(board.cells)] = rng.integers(1, board.side + 1)
        puzzles.append(puzzle)
    return np.array(puzzles, np.uint8)


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
