"""Proofs that a position has exactly one solution: by a search in plain Python, or by the compiled one if it is large.

The compiled search takes seconds to load and to compile, and most puzzles need a few nodes.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from jaxsudoku.core.board import Board

from .constraints import pruned
from .layout import Layout, bits, layout
from .singles import Placed, place, settle
from .words import cell_name

#: Nodes of the search in plain Python times candidates of the board, beyond which the compiled search is used.
_MOST_WORK = 1 << 22
#: How many times as long a node takes on boards with constraints.
_WORK_OF_CONSTRAINTS = 8


class Proof(NamedTuple):
    """Whether a position has exactly one solution.

    Attributes:
      fault: why not, as in "several solutions"; None if it has.
      unique: whether its filled cells alone have exactly one.
      solution: uint8[cells], the solution if there is exactly one.
    """

    fault: str | None
    unique: bool
    solution: np.ndarray | None = None


class Solutions(NamedTuple):
    """The solutions of a position.

    Attributes:
      number: how many there are, up to two.
      first: uint8[cells], one of them; zeros if there is none.
    """

    number: int
    first: np.ndarray


def prove(
    puzzle: np.ndarray,
    board: Board,
    candidates: np.ndarray | None = None,
    before_compiling: Callable[[], object] = lambda: None,
) -> Proof:
    """Proves that a position has exactly one solution, or says why not.

    Args:
      puzzle: uint8[cells], the filled cells.
      board: the board.
      candidates: bool[side, cells], the digits that open cells may hold; None for all.
      before_compiling: called before the compiled search, if it is used.
    """
    found = _solutions(puzzle, board, None, before_compiling)
    if candidates is None or not found.number:
        return _proof(found, "", found.number == 1)
    if found.number == 1:
        cells = np.arange(board.cells)
        lost = cells[(puzzle == 0) & ~candidates[found.first.astype(int) - 1, cells]].tolist()
        if lost:
            must = f"{cell_name(board, lost[0])} must be {found.first[lost[0]]}, which its candidates leave out"
            return Proof(f"no solution within its candidates: {must}", True)
        return Proof(None, True, found.first)
    found = _solutions(puzzle, board, candidates, before_compiling)
    return _proof(found, " within its candidates", False)


def _proof(found: Solutions, within: str, unique: bool) -> Proof:
    fault = (f"no solution{within}", None, "several solutions")[found.number]
    return Proof(fault, unique, found.first if found.number == 1 else None)


def proper_givens(
    puzzle: np.ndarray, board: Board, givens: np.ndarray | None, before_compiling: Callable[[], object] = lambda: None
) -> np.ndarray | None:
    """The filled cells that are given, if they alone have one solution: else patterns that rely on it need them all.

    Args:
      puzzle: uint8[cells], the filled cells of a position with one solution.
      board: the board.
      givens: bool[cells], those that are given; None for all.
      before_compiling: as in ``prove``.
    """
    if givens is None or givens[puzzle > 0].all():
        return None
    return givens if prove(np.where(givens, puzzle, 0).astype(np.uint8), board, None, before_compiling).unique else None


def _solutions(
    puzzle: np.ndarray, board: Board, candidates: np.ndarray | None, before_compiling: Callable[[], object]
) -> Solutions:
    """The solutions of a position."""
    found = solutions(puzzle, board, candidates)
    if found is not None:
        return found
    before_compiling()
    from jaxsudoku.exact.uniqueness import solve_and_count  # loads JAX

    listed = None if candidates is None else candidates[None]
    grids, counts = solve_and_count(puzzle[None], board, listed)
    return Solutions(int(counts[0]), grids[0])


def solutions(puzzle: np.ndarray, board: Board, candidates: np.ndarray | None) -> Solutions | None:
    """The solutions of a position, as ``count`` of as many nodes as take about as long as loading JAX."""
    work = _MOST_WORK // _WORK_OF_CONSTRAINTS if board.constraints else _MOST_WORK
    return count(puzzle, board, candidates, work // board.candidates)


def count(puzzle: np.ndarray, board: Board, candidates: np.ndarray | None, nodes: int) -> Solutions | None:
    """The solutions of a position, by a depth-first search with singles and the board's constraints.

    It branches on the cell with fewest candidates.

    Args:
      puzzle: uint8[cells], the filled cells.
      board: the board.
      candidates: bool[side, cells], the digits that open cells may hold; None for all.
      nodes: the most nodes of the search.

    Returns:
      the solutions, or None if the search was given up.
    """
    houses = layout(board)
    first = np.zeros(board.cells, np.uint8)
    root = _root(puzzle, houses, board.side, candidates)
    stack = [] if root is None else [root]
    found = 0
    while stack:
        if not nodes:
            return None
        nodes -= 1
        places, done = stack.pop()
        filled: list[Placed] = []
        done, dead = settle(houses, places, done, filled)
        while dead is None and (left := pruned(board, places)) != places:
            places = left
            done, dead = settle(houses, places, done, filled)
        if dead is not None:
            continue
        if done == houses.every:
            found += 1
            if found == 2:
                break
            for digit, cells in enumerate(places):
                first[list(bits(cells))] = digit + 1
            continue
        cell = _fewest(places, houses.every & ~done)
        for digit, cells in enumerate(places):
            if cells >> cell & 1:
                branch = [*places]
                place(houses, branch, digit, cell)
                stack.append((branch, done | 1 << cell))
    return Solutions(found, first)


def _root(puzzle: np.ndarray, houses: Layout, side: int, candidates: np.ndarray | None) -> tuple[list[int], int] | None:
    """The places of each digit and the filled cells; None if these clash or hold no digit of the board."""
    places, done = [houses.every] * side, 0
    for cell in np.flatnonzero(puzzle).tolist():
        digit = int(puzzle[cell]) - 1
        if digit >= side or not places[digit] >> cell & 1:
            return None
        place(houses, places, digit, cell)
        done |= 1 << cell
    if candidates is not None:
        for digit, cell in np.argwhere(~candidates & (puzzle == 0)).tolist():
            places[digit] &= ~(1 << cell)
    return places, done


def _fewest(places: list[int], cells: int) -> int:
    """The first of the cells with fewest candidates, of some cells that have one at least."""
    at_least = [cells]  # the cells with no candidate, one, two and so on, or more
    for digit in places:
        at_least.append(0)
        for number in range(len(at_least) - 1, 0, -1):
            at_least[number] |= at_least[number - 1] & digit
    for fewer, more in zip(at_least, [*at_least[1:], 0], strict=True):
        if fewer & ~more:
            return next(bits(fewer & ~more))
    raise AssertionError("there are cells")
