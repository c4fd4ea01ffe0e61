"""Pairs of houses for locked candidates. No JAX."""

from __future__ import annotations

import functools

from jaxsudoku.core.board import Board


@functools.lru_cache(maxsize=32)
def locked_pairs(board: Board, from_lines: bool) -> tuple[tuple[int, int], ...]:
    """The pairs (confined house, affected house), as numbers in ``board.houses``, that share two cells or more.

    Args:
      board: the board.
      from_lines: whether the confined house is a row or column; else a box, region or further house.
    """
    lines = range(2 * board.side)
    others = regions(board)
    found = []
    for one in lines if from_lines else others:
        for other in others if from_lines else (*lines, *others):
            if 2 <= len(set(board.houses[one]) & set(board.houses[other])) < board.side:
                found.append((one, other))
    return tuple(found)


@functools.lru_cache(maxsize=32)
def regions(board: Board) -> tuple[int, ...]:
    """The numbers of the boxes, regions and further houses in ``board.houses``, except those that are also lines."""
    lines = {frozenset(house) for house in board.houses[: 2 * board.side]}
    numbers = range(2 * board.side, len(board.houses))
    return tuple(number for number in numbers if frozenset(board.houses[number]) not in lines)
