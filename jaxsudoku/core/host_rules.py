"""Checks and candidates of grids in numpy, for the host: repeated digits, complete grids, allowed candidates.

Grids are integers[*b, cells], row by row, 0 = empty. Solvers use none of it; ``grid`` judges their results.
"""

from __future__ import annotations

import numpy as np

from .board import Board


def all_candidates(grids: np.ndarray, side: int) -> np.ndarray:
    """The digits that each cell may hold without rules: its own, or all if it is empty; bool[*b, side, cells]."""
    digits = np.arange(1, side + 1, dtype=np.uint8)[:, None]
    found: np.ndarray = (grids[..., None, :] == digits) | (grids[..., None, :] == 0)
    return found


def allowed_candidates(grids: np.ndarray, board: Board) -> np.ndarray:
    """The digits that each cell may hold given the filled cells of its houses; bool[*b, side, cells]."""
    found = all_candidates(grids, board.side)
    once, _ = _house_digits(grids, board)
    digits = np.arange(board.side).astype(once.dtype)
    for house, held in zip(map(list, board.houses), once, strict=True):
        absent = (held[..., None] >> digits & 1) == 0
        found[..., house] &= absent[..., None] | (grids[..., None, house] > 0)
    return found


def is_complete(grids: np.ndarray, board: Board) -> np.ndarray:
    """Whether every house holds every digit and all constraints of the board hold; bool[*b]."""
    once, _ = _house_digits(grids, board)
    complete: np.ndarray = np.all(once == (1 << board.side) - 1, axis=0)
    return complete & ~_broken(grids, board).any(axis=-1)


def clashing(grids: np.ndarray, board: Board) -> np.ndarray:
    """Whether some house holds a digit twice, or a constraint with filled cells is broken; bool[*b]."""
    _, twice = _house_digits(grids, board)
    found: np.ndarray = np.any(twice > 0, axis=0)
    return found | _broken(grids, board).any(axis=-1)


def clashing_cells(grids: np.ndarray, board: Board) -> np.ndarray:
    """The cells whose digit is repeated in one of their houses, and those of broken constraints; bool[*b, cells]."""
    _, twice = _house_digits(grids, board)
    bits = _bits(grids, board)
    found = np.zeros(grids.shape, bool)
    for house, repeated in zip(map(list, board.houses), twice, strict=True):
        found[..., house] |= (bits[..., house] & repeated[..., None]) > 0
    for constraint, broken in zip(board.constraints, np.moveaxis(_broken(grids, board), -1, 0), strict=True):
        found[..., list(constraint.cells)] |= broken[..., None]
    return found


def first_clash(grid: np.ndarray, board: Board) -> str:
    """The first clash of a grid integers[cells] in words, as in "5 twice in row 1"; raises ValueError without any."""
    for number, house in enumerate(board.houses):
        times = np.bincount(grid[list(house)])
        times[0] = 0
        if times.max() > 1:
            digit = int(np.argmax(times > 1))
            often = "twice" if times[digit] == 2 else f"{times[digit]} times"
            return f"{digit} {often} in {board.house_names[number]}"
    for constraint, broken in zip(board.constraints, _broken(grid, board), strict=True):
        if broken:
            return f"the {constraint.described(board.side)} is broken"
    raise ValueError("nothing clashes")


def _broken(grids: np.ndarray, board: Board) -> np.ndarray:
    """The constraints of the board that filled cells break; bool[*b, constraints]."""
    found = np.zeros((*grids.shape[:-1], len(board.constraints)), bool)
    for number, constraint in enumerate(board.constraints):
        digits = [grids[..., cell].astype(np.int32) for cell in constraint.cells]
        filled = np.all([(digit > 0) & (digit <= board.side) for digit in digits], axis=0)
        found[..., number] = filled & ~constraint.kind.holds(digits, constraint.numbers, board.side)
    return found


def _house_digits(grids: np.ndarray, board: Board) -> tuple[np.ndarray, np.ndarray]:
    """The digits that each house holds, and those that it holds more than once, as bits: words[houses, *b]."""
    bits = _bits(np.ascontiguousarray(np.moveaxis(grids, -1, 0)), board)
    once = np.zeros((len(board.houses), *grids.shape[:-1]), bits.dtype)
    twice = once.copy()
    for cells in np.asarray(board.houses).T:
        twice |= once & bits[cells]
        once |= bits[cells]
    return once, twice


def _bits(grids: np.ndarray, board: Board) -> np.ndarray:
    """Each digit d as bit d - 1 of a word, in any shape; empty cells and values outside 1..side set no bit."""
    table = np.array([0, *(1 << digit for digit in range(board.side))], np.min_scalar_type((1 << board.side) - 1))
    if grids.max(initial=0) > board.side or grids.min(initial=0) < 0:
        grids = np.where((grids > 0) & (grids <= board.side), grids, 0)
    return table[grids]
