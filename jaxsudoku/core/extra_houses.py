"""Extra houses of named variants: diagonals, windows, disjoint groups. No JAX."""

from __future__ import annotations

import math
from collections.abc import Callable

from .constraints.base import BoardShape

House = tuple[int, ...]


def variants_of(board: BoardShape, extra: tuple[House, ...]) -> list[str] | None:
    """The variants that have these extra houses on a board, in their order; None for other houses."""
    found, left = [], extra
    while left:
        for variant, made in HOUSES.items():
            houses = () if variant == "windoku" and not _has_windows(board) else made(board)
            if houses and left[: len(houses)] == houses:
                found.append(variant)
                left = left[len(houses) :]
                break
        else:
            return None
    return found


def _diagonals(board: BoardShape) -> tuple[House, ...]:
    side = board.side
    return tuple(i * side + i for i in range(side)), tuple(i * side + side - 1 - i for i in range(side))


def _has_windows(board: BoardShape) -> bool:
    size = math.isqrt(board.side)
    return size * size == board.side and size >= 3


def _windows(board: BoardShape) -> tuple[House, ...]:
    side, size = board.side, math.isqrt(board.side)
    if not _has_windows(board):
        raise ValueError(f"windoku needs square boxes of at least 3x3, which a board of side {side} does not have")
    starts = range(1, side - size + 1, size + 1)
    return tuple(
        tuple((top + r) * side + left + c for r in range(size) for c in range(size))
        for top in starts
        for left in starts
    )


def _disjoint_groups(board: BoardShape) -> tuple[House, ...]:
    return tuple(zip(*board.region_houses, strict=True))


#: The houses that a variant adds to a board, by its name.
HOUSES: dict[str, Callable[[BoardShape], tuple[House, ...]]] = {
    "diagonal": _diagonals,
    "windoku": _windows,
    "disjoint": _disjoint_groups,
}


def extra_kind(side: int, house: House) -> str:
    """What an extra house is: a "diagonal"; a "window", adjoining rows and columns of both more than one; or else."""
    rows, columns = {cell // side for cell in house}, {cell % side for cell in house}
    falling, rising = ({cell % side + sign * (cell // side) for cell in house} for sign in (-1, 1))
    if falling == {0} or rising == {side - 1}:
        return "diagonal"
    if min(len(rows), len(columns)) > 1 and len(rows) * len(columns) == side:
        if all(len(lines) == max(lines) - min(lines) + 1 for lines in (rows, columns)):
            return "window"
        if all(set(range(min(lines), side, side // len(lines))) == lines for lines in (rows, columns)):
            return "disjoint group"
    return "extra house"
