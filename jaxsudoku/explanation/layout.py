"""The houses of a board as sets of cells, and the patterns that the places for a digit or a house's digits form.

A set of cells is the bits of an integer, and so is a set of digits. Patterns are kept, because positions that follow
each other differ in a few candidates.
"""

from __future__ import annotations

import functools
import itertools
import operator
from collections.abc import Callable, Iterator, Sequence
from typing import NamedTuple

import numpy as np

from jaxsudoku.core.board import Board
from jaxsudoku.techniques.locked_pairs import locked_pairs
from jaxsudoku.techniques.subset_sizes import subset_sizes


def bits(mask: int) -> Iterator[int]:
    """The numbers of the bits that are set, lowest first."""
    return iter(_bits(mask))


@functools.lru_cache(maxsize=1 << 16)
def _bits(mask: int) -> tuple[int, ...]:
    found = []
    while mask:
        low = mask & -mask
        found.append(low.bit_length() - 1)
        mask ^= low
    return tuple(found)


class Locked(NamedTuple):
    """Places for a digit in one house that all lie in another one, which has further places.

    Attributes:
      pair: the number of the pair of houses; those with a confined row or column come last.
      lines: whether the confined house is a row or column.
      confined: the number of the house whose places lie in the other one.
      affected: the number of the other one.
      inside: the cells of these places.
      lost: the cells of the further places.
    """

    pair: int
    lines: bool
    confined: int
    affected: int
    inside: int
    lost: int


class LockedSet(NamedTuple):
    """Cells of a house with as few digits as there are cells, or fewer.

    Attributes:
      cells: the cells, as a tuple and as a set.
      digits: their digits.
      lost: the digits that other cells of the house have too, each with these cells.
    """

    cells: tuple[int, ...]
    mask: int
    digits: int
    lost: tuple[tuple[int, int], ...]


class Layout:
    """The houses of a board.

    Args:
      board: the board.

    Attributes:
      houses: the houses as sets of cells, in the order of ``board.houses``.
      sees: for each cell the others that share a house with it.
      seen_in_lines: ``sees`` by row, the columns as bits, and by column, the rows.
      houses_of: for each cell the numbers of its houses.
      every: all cells.
      few: the most cells of a locked set.
      apart: marks a cell, beside its digits, that is to be part of no locked set.
    """

    def __init__(self, board: Board) -> None:
        self.houses = tuple(sum(1 << cell for cell in house) for house in board.houses)
        self.houses_of = tuple(
            tuple(number for number, house in enumerate(board.houses) if cell in house) for cell in range(board.cells)
        )
        self.sees = tuple(
            functools.reduce(operator.or_, (self.houses[number] for number in numbers)) & ~(1 << cell)
            for cell, numbers in enumerate(self.houses_of)
        )
        self.every = (1 << board.cells) - 1
        self.few = max(subset_sizes(board))
        self.apart = ((1 << self.few + 1) - 1) << board.side
        self.seen_in_lines = [
            [places_in_lines(cells, board.side)[turned] for cells in self.sees] for turned in range(2)
        ]
        self._cells = board.houses
        pairs = [(lines, pair) for lines in (False, True) for pair in locked_pairs(board, lines)]
        self._pairs: dict[tuple[bool, int], list[tuple[int, int]]] = {}  # by the confined house
        for number, (lines, (confined, affected)) in enumerate(pairs):
            self._pairs.setdefault((lines, confined), []).append((number, affected))
        common = [self.houses[one] & self.houses[other] for _, (one, other) in pairs]
        self._widest = max((cells.bit_count() for cells in common), default=0)
        self.locked: Callable[[int], tuple[Locked, ...]] = functools.lru_cache(maxsize=1 << 13)(self._locked)
        self.locked_sets: Callable[[int, tuple[int, ...]], tuple[LockedSet, ...]] = functools.lru_cache(
            maxsize=1 << 15
        )(self._locked_sets)
        self.few_places: Callable[[int], tuple[tuple[int, int], ...]] = functools.lru_cache(maxsize=1 << 13)(
            self._few_places
        )
        #: For each house a function from a list by cells to its cells' items.
        self.members = tuple(operator.itemgetter(*house) for house in board.houses)

    def _locked(self, places: int) -> tuple[Locked, ...]:
        """The locked candidates of a digit that has these places."""
        found = []
        for (lines, confined), others in self._pairs.items():
            inside = places & self.houses[confined]
            if inside and inside.bit_count() <= self._widest:
                for pair, affected in others:
                    if not inside & ~self.houses[affected]:
                        lost = places & self.houses[affected] & ~inside
                        if lost:
                            found.append(Locked(pair, lines, confined, affected, inside, lost))
        return tuple(found)

    def _locked_sets(self, house: int, digits: tuple[int, ...]) -> tuple[LockedSet, ...]:
        """The locked sets of a house whose cells have these digits, those that show anything, the smallest first."""
        members, found = self._cells[house], []
        counts = [own.bit_count() for own in digits]
        for size in range(1, self.few + 1):
            able = [number for number, count in enumerate(counts) if count <= size]
            for chosen in itertools.combinations(able, size):
                union = 0
                for number in chosen:
                    union |= digits[number]
                if union.bit_count() <= size:
                    lost: dict[int, int] = {}
                    for number, own in enumerate(digits):
                        if own & union and number not in chosen:
                            for digit in bits(own & union):
                                lost[digit] = lost.get(digit, 0) | 1 << members[number]
                    if lost or union.bit_count() < size:
                        cells = tuple(members[number] for number in chosen)
                        mask = sum(1 << cell for cell in cells)
                        found.append(LockedSet(cells, mask, union, tuple(sorted(lost.items()))))
        return tuple(found)

    def _few_places(self, places: int) -> tuple[tuple[int, int], ...]:
        """The houses in which a digit with these places has one place or none.

        Returns:
          the number of each house, and the place as a set, empty for none.
        """
        found = []
        for number, house in enumerate(self.houses):
            here = places & house
            if not here & (here - 1):
                found.append((number, here))
        return tuple(found)


def digits_by_cell(places: Sequence[int], cells: int) -> list[int]:
    """For each cell its digits as bits, from the cells that may hold each digit."""
    size = -(-cells // 8)
    words = np.frombuffer(b"".join(own.to_bytes(size, "little") for own in places), np.uint8).reshape(-1, size)
    flags = np.unpackbits(words, axis=1, count=cells, bitorder="little")
    found: list[int] = (flags.T.astype(np.int64) @ (1 << np.arange(len(places)))).tolist()
    return found


def places_in_lines(places: int, side: int) -> tuple[list[int], list[int]]:
    """For each row its columns with a place, and for each column its rows, as bits."""
    rows = [places >> side * row & (1 << side) - 1 for row in range(side)]
    columns = [sum((cells >> column & 1) << row for row, cells in enumerate(rows)) for column in range(side)]
    return rows, columns


@functools.lru_cache(maxsize=8)
def layout(board: Board) -> Layout:
    """The layout of a board."""
    return Layout(board)
