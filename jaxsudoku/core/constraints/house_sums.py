"""Sums that follow from cages and houses (the "45 rule"): innies and outies.

The digits of k disjoint houses add up to k times the sum of all digits. If cages cover all of these cells but a few,
these *innies* have a known total. If the cages that touch the houses cover a few cells more, so have these *outies*.
The sums follow from the cages, so they exclude no solution, but searches with them visit a twentieth of the nodes.
"""

from __future__ import annotations

import functools
from collections.abc import Iterator

import numpy as np

from jaxsudoku.core.board import Board

from .base import Constraint, Group, grouped
from .clues import Clues, Entries, united
from .sums import Cage, Sum

#: The most innies and outies of a sum; sums of more cells exclude little.
_INNIES, _OUTIES = 4, 3
#: The most constraints of a cell beside its cage.
_OVERLAP = 3
#: Puzzles that are processed at a time.
_CHUNK = 256


def with_house_sums(clues: Clues, board: Board) -> Clues:
    """Clues with the innies and outies of their cages as further constraints.

    Args:
      clues: the clues, with rows of numpy.
      board: their board.

    Returns:
      clues with the same solutions.
    """
    entries = clues.entries()
    if not any(isinstance(kind, Cage) for kind, _ in entries):
        return clues
    parts: list[dict[tuple[Constraint, int], Entries]] = [entries]
    used = np.zeros((len(clues), board.cells), np.int32)
    for size, sums in _sums(clues, board):
        sums = _new(sums, entries.get((Cage(), size)), board.cells)
        distinct = _within_houses(board, sums.cells)
        for kind, chosen in ((Cage(), distinct), (Sum(), ~distinct)):
            room = np.full(len(clues), _most(kind, size, board))
            if (own := entries.get((kind, size))) is not None:
                room -= np.bincount(own.puzzle, minlength=len(clues))
            added = _within(Entries(*(field[chosen] for field in sums)), used, room)
            if len(added.puzzle):
                parts.append({(kind, size): added})
    return Clues.of_entries(len(clues), board.cells, united(parts))


@functools.lru_cache(maxsize=64)
def implied_groups(board: Board) -> tuple[Group, ...]:
    """The groups of a board's constraints, with the innies and outies of its cages."""
    if not any(isinstance(constraint, Cage) for constraint in board.constraints):
        return board.constraint_groups
    return tuple(grouped(with_house_sums(Clues.of([board.constraints], board), board).constraints(0)))


def _sums(clues: Clues, board: Board) -> Iterator[tuple[int, Entries]]:
    """The innies and outies of each number of cells; some of them more than once."""
    found: dict[int, list[Entries]] = {}
    for first in range(0, len(clues), _CHUNK):
        cages, totals = _cages(clues[first : first + _CHUNK])
        for size, puzzle, cells, total in _sums_of(cages, totals, board):
            found.setdefault(size, []).append(Entries(first + puzzle, cells, total[:, None]))
    for size, parts in sorted(found.items()):
        yield size, Entries.joined(parts)


def _cages(clues: Clues) -> tuple[np.ndarray, np.ndarray]:
    """The cells of all cages float32[N, cages, cells], 0 or 1, and their totals float32[N, cages]."""
    slots, numbers, _ = clues.form.split(np.asarray(clues.rows).T)
    members, totals = [], []
    for group, cells, values in zip(clues.form.groups, clues.form.parts(slots), numbers, strict=True):
        if isinstance(group.kind, Cage):
            member = np.zeros((len(clues), group.count, clues.form.board_cells + 1), np.float32)
            for cell in cells:
                np.put_along_axis(member, cell.T[..., None].astype(np.int64), 1, axis=2)
            members.append(member[..., :-1])
            totals.append(np.where(cells[0] < clues.form.board_cells, values[0], 0).T)
    return np.concatenate(members, axis=1), np.concatenate(totals, axis=1, dtype=np.float32)


def _sums_of(
    cages: np.ndarray, totals: np.ndarray, board: Board
) -> Iterator[tuple[int, np.ndarray, np.ndarray, np.ndarray]]:
    """Innies and outies: (their number, puzzles int[m], cells int[m, number], totals int[m])."""
    regions, houses = _regions(board)
    whole = houses * (board.side * (board.side + 1) // 2)
    size = cages.sum(axis=2)
    shared = np.swapaxes(cages @ regions.T, 1, 2)  # puzzle, region, cage
    inside = (shared == size[:, None]) & (size > 0)[:, None]
    touching = shared > 0
    for chosen, most in ((inside, _INNIES), (touching, _OUTIES)):
        covered = chosen.astype(np.float32) @ cages
        sums = (chosen @ totals[:, :, None])[:, :, 0]
        if most == _INNIES:
            left, total, usable = (regions > 0) & (covered == 0), whole - sums, covered.max(axis=2) <= 1
        else:
            left, total = (regions == 0) & (covered > 0), sums - whole
            usable = (covered.max(axis=2) <= 1) & ((regions == 0) | (covered == 1)).all(axis=2)
        count = left.sum(axis=2)
        for number in range(1, min(most + 1, board.side)):  # a whole house says nothing new
            puzzle, region = np.nonzero((count == number) & usable)
            cells = np.nonzero(left[puzzle, region])[1].reshape(-1, number)
            yield number, puzzle, cells, np.clip(total[puzzle, region], 0, (1 << 16) - 1).astype(np.int32)


@functools.lru_cache(maxsize=32)
def _regions(board: Board) -> tuple[np.ndarray, np.ndarray]:
    """Houses, and pairs of neighbouring houses of one kind: cells float32[m, cells], 0 or 1; numbers of houses [m]."""
    members = np.zeros((len(board.houses), board.cells), np.float32)
    for number, house in enumerate(board.houses):
        members[number, list(house)] = 1
    grid = members.reshape(-1, board.side, board.side)
    wider = np.zeros_like(grid)
    wider[:, 1:] += grid[:, :-1]
    wider[:, :-1] += grid[:, 1:]
    wider[:, :, 1:] += grid[:, :, :-1]
    wider[:, :, :-1] += grid[:, :, 1:]
    touching = wider.reshape(len(members), -1) @ members.T > 0
    disjoint = members @ members.T == 0
    kind = np.minimum(np.arange(len(members)) // board.side, 3)
    alike = (kind[:, None] == kind) & (kind < 3)
    one, other = np.nonzero(np.triu(touching & disjoint & alike))
    houses = np.repeat([1, 2], [len(members), len(one)])
    return np.concatenate([members, members[one] + members[other]]), houses


def _new(sums: Entries, cages: Entries | None, board_cells: int) -> Entries:
    """The sums that are neither cages nor repeated."""
    keys = _keys(sums, board_cells)
    _, first = np.unique(keys, return_index=True)
    if cages is not None:
        first = first[~np.isin(keys[first], _keys(cages, board_cells))]
    return Entries(*(field[first] for field in sums))


def _keys(entries: Entries, board_cells: int) -> np.ndarray:
    """A number for each puzzle and set of cells, int64[m]."""
    keys = entries.puzzle.astype(np.int64)
    for cell in np.sort(entries.cells, axis=1).T:
        keys = keys * board_cells + cell
    return keys


def _within_houses(board: Board, cells: np.ndarray) -> np.ndarray:
    """Whether cells [m, size] lie in one house, bool[m]."""
    regions, houses = _regions(board)
    found: np.ndarray = (regions[houses == 1].T[cells] > 0).all(axis=1).any(axis=1)
    return found


def _most(kind: Constraint, size: int, board: Board) -> int:
    """The most constraints of a kind and size that a puzzle may have with its sums.

    Few puzzles have more. Those with most of a kind decide how many slots all puzzles of a batch have, and so the time.
    """
    if kind == Sum():
        return board.side // 2
    return board.side - 1 if size == 1 else 7 * board.cells // (9 * size)


def _within(entries: Entries, used: np.ndarray, room: np.ndarray) -> Entries:
    """The first entries of each puzzle that have room and leave cells with at most ``_OVERLAP``.

    Args:
      entries: the entries.
      used: int32[N, cells], the entries of each cell so far; counts up.
      room: int[N], how many entries each puzzle may have; counts down.
    """
    order = np.argsort(entries.puzzle, kind="stable")
    puzzle = entries.puzzle[order]
    rank = np.arange(len(puzzle)) - np.searchsorted(puzzle, puzzle)
    kept = [np.zeros(0, np.int64)]
    for number in range(int(rank.max(initial=-1)) + 1):
        chosen = order[rank == number]
        row, cells = entries.puzzle[chosen, None], entries.cells[chosen]
        fits = (used[row, cells] < _OVERLAP).all(axis=1) & (room[row[:, 0]] > 0)
        used[row[fits], cells[fits]] += 1
        room[row[fits, 0]] -= 1
        kept.append(chosen[fits])
    return Entries(*(field[np.concatenate(kept)] for field in entries))
