"""Rules of numbers outside of the grid: sandwiches, skyscrapers, X-sums, numbered rooms; and indexers. No JAX."""

from __future__ import annotations

import dataclasses
import functools
from collections.abc import Sequence
from typing import Any, ClassVar, Self

import numpy as np

from jaxsudoku.pictures.constraints import Symbol

from .automata import States, counts, meeting, moved, reached, reversed_moves, supported
from .base import Constraint, cell_name, cells_text, namespace, outside, union
from .sums import TABLE_SIDE, distinct, without_placed


@dataclasses.dataclass(frozen=True)
class Sandwich(Constraint):
    """A sandwich: the digits differ; those between the two cells that hold 1 or the largest digit add up to a total.

    Attributes:
      cells, numbers: the cells of a row or column; the total.
    """

    name: ClassVar[str] = "sandwich"

    def prune(self, masks: Sequence[Any], numbers: Sequence[Any], side: int) -> Sequence[Any]:
        if side > TABLE_SIDE:
            return self._prune_by_sums(without_placed(masks), numbers, side)
        xp, dtype, zero = namespace(masks[0]), masks[0].dtype, np.zeros((), masks[0].dtype)
        one, top, inner = (np.array(word, dtype) for word in (1, 1 << side - 1, (1 << side - 1) - 2))
        # a first axis: the pairs of places that the two cells may have; ``at`` is 0 for a place between the two, 1 or
        # -1 for one of them, and 2 or -2 for a place outside
        pairs = np.triu_indices(side, 1)
        first, last = (places.reshape(-1, *(1,) * masks[0].ndim) for places in pairs)
        at = [np.sign(place - first) + np.sign(place - last) for place in range(side)]
        sums, table = _inner_sets(side)
        total, between = xp.clip(numbers[0], 0, sums), last - first - 1

        def sets(size: np.ndarray, total: Any, members: list[np.ndarray]) -> tuple[Any, Any]:
            within = union([xp.where(own, mask, zero) for own, mask in zip(members, masks, strict=True)]) & inner
            row = ((size * (sums + 1) + total) << (side - 2)) + (within >> 1).astype(np.int32)
            found = xp.asarray(table.reshape(-1))[row]
            return found.astype(dtype), (found >> 16).astype(dtype)

        some, all_inside = sets(between, total, [place == 0 for place in at])
        rest, all_outside = sets(side - 2 - between, sums - total, [abs(place) == 2 for place in at])
        fits = (some != 0) & (rest != 0)
        some, rest = some & inner & ~all_outside, rest & inner & ~all_inside
        for place, mask in zip(at, masks, strict=True):
            fits = fits & ((abs(place) == 1) | (mask & xp.where(place == 0, some, rest) != 0))
        ends = [xp.stack(masks)[places] for places in pairs]
        up, down = (fits & (ends[0] & low != 0) & (ends[1] & high != 0) for low, high in ((one, top), (top, one)))
        at_first, at_last = (
            xp.where(up, low, zero) | xp.where(down, high, zero) for low, high in ((one, top), (top, one))
        )
        some, rest = (xp.where(up | down, found, zero) for found in (some, rest))
        kept = [
            xp.where(place == 0, some, xp.where(abs(place) == 2, rest, xp.where(first == number, at_first, at_last)))
            for number, place in enumerate(at)
        ]
        return [mask & xp.bitwise_or.reduce(found, axis=0) for mask, found in zip(masks, kept, strict=True)]

    def _prune_by_sums(self, masks: Sequence[Any], numbers: Sequence[Any], side: int) -> Sequence[Any]:
        # blocks: before the first of the two cells, between them, after them; the count is the sum between them
        most = side * (side + 1) // 2 - 1 - side
        crust = [(0, 1, 0), (1, 2, 0)]
        moves = [crust, *([(0, 0, 0), (1, 1, digit), (2, 2, 0)] for digit in range(2, side)), crust]
        start: States = {0: counts(0, most, masks[0])}
        return supported(masks, [moves] * len(masks), start, {2: counts(numbers[0], most, masks[0])})

    def holds(self, digits: Sequence[Any], numbers: Sequence[Any], side: int) -> Any:
        seen = total = 0
        for digit in digits:
            crust = (digit == 1) | (digit == side)
            total = total + (~crust & (seen == 1)) * digit
            seen = seen + crust * 1
        return distinct(digits) & (seen == 2) & (total == numbers[0])

    @property
    def roles(self) -> tuple[int, ...]:
        last = len(self.cells) - 1
        return tuple(min(place, last - place) for place in range(last + 1))

    def normalized(self) -> Self:
        return dataclasses.replace(self, cells=min(self.cells, self.cells[::-1]))

    def drawing(self, side: int) -> tuple[Symbol, ...]:
        return (outside(self.cells, str(self.numbers[0]), side),)

    def details(self, side: int) -> str:
        return f" with a total of {self.numbers[0]}"

    def check(self, side: int) -> None:
        _check_line(self.cells, side)
        total, sums = self.numbers[0], {0}
        for digit in range(2, side):
            sums |= {one + digit for one in sums}
        if total not in sums:
            raise ValueError(f"a total of {total}; no different digits between 1 and {side} have this sum")

    def text(self, side: int) -> str | None:
        return f"sandwich({self.numbers[0]} {cells_text(self.cells, side)})"


@dataclasses.dataclass(frozen=True)
class Skyscraper(Constraint):
    """Skyscrapers: so many digits are larger than all before them.

    Attributes:
      cells, numbers: the cells from the clue on; the number of visible digits.
    """

    name: ClassVar[str] = "skyscraper clue"

    def prune(self, masks: Sequence[Any], numbers: Sequence[Any], side: int) -> Sequence[Any]:
        # a block is the largest digit so far; the count is the number of visible ones
        moves = [
            [*((top, digit, 1) for top in range(digit)), *((top, top, 0) for top in range(digit, side + 1))]
            for digit in range(1, side + 1)
        ]
        most = len(masks)
        start, end = counts(0, most, masks[0]), counts(numbers[0], most, masks[0])
        return supported(masks, [moves] * len(masks), {0: start}, dict.fromkeys(range(1, side + 1), end))

    def holds(self, digits: Sequence[Any], numbers: Sequence[Any], side: int) -> Any:
        visible = top = 0
        for digit in digits:
            visible = visible + (digit > top) * 1
            top = namespace(digit).maximum(digit, top)
        return visible == numbers[0]

    def drawing(self, side: int) -> tuple[Symbol, ...]:
        return (outside(self.cells, str(self.numbers[0]), side),)

    def details(self, side: int) -> str:
        return f" with {self.numbers[0]} visible digits"

    def check(self, side: int) -> None:
        if not self.cells or not 1 <= self.numbers[0] <= min(len(self.cells), side):
            raise ValueError(f"{self.numbers[0]} visible digits among {len(self.cells)} cells")

    def text(self, side: int) -> str | None:
        return f"skyscraper({self.numbers[0]} {cells_text(self.cells, side)})"


@dataclasses.dataclass(frozen=True)
class XSum(Constraint):
    """An X-sum: the first X digits add up to a total, where X is the first digit.

    Attributes:
      cells, numbers: the cells of a row or column from the clue on; the total.
    """

    name: ClassVar[str] = "X-sum"

    def prune(self, masks: Sequence[Any], numbers: Sequence[Any], side: int) -> Sequence[Any]:
        # sums of the cells after the first one, forwards from 0, and backwards from total - X after cell X
        first, *rest = masks
        xp, dtype, most = namespace(first), first.dtype, side * (side + 1) // 2
        adds = [[(0, 0, digit)] for digit in range(1, side + 1)]
        low = reached(rest, [adds] * len(rest), {0: counts(0, most, first)})
        high, told, told_up_to = counts(-1, most, first), xp.zeros_like(first), []
        for place in range(len(masks)):
            has = np.array(1 << place, dtype)
            ends = counts(numbers[0] - place - 1, most, first)
            fits = union([x & y for x, y in zip(low[place][0], ends, strict=True)]) != 0
            told = told | xp.where(fits, first & has, xp.zeros_like(first))
            told_up_to.append(told)
        left = []
        for place in range(len(masks) - 1, 0, -1):
            ends = counts(numbers[0] - place - 1, most, first)
            has = first & np.array(1 << place, dtype) != 0
            high = [x | xp.where(has, y, np.uint32(0)) for x, y in zip(high, ends, strict=True)]
            mask = rest[place - 1]
            summed = meeting(mask, adds, low[place - 1], {0: high})
            # a cell after the first X ones is free
            left.append(xp.where(told_up_to[place - 1] != 0, mask, summed))
            high = moved({0: high}, mask, reversed_moves(adds))[0]
        return [told, *left[::-1]]

    def holds(self, digits: Sequence[Any], numbers: Sequence[Any], side: int) -> Any:
        return sum((place < digits[0]) * digit for place, digit in enumerate(digits)) == numbers[0]

    def drawing(self, side: int) -> tuple[Symbol, ...]:
        return (outside(self.cells, str(self.numbers[0]), side),)

    def details(self, side: int) -> str:
        return f" with a total of {self.numbers[0]}"

    def check(self, side: int) -> None:
        _check_line(self.cells, side)
        if not 1 <= self.numbers[0] <= side * (side + 1) // 2:
            raise ValueError(f"a total of {self.numbers[0]}; it must lie in 1..{side * (side + 1) // 2}")

    def text(self, side: int) -> str | None:
        return f"x-sum({self.numbers[0]} {cells_text(self.cells, side)})"


@dataclasses.dataclass(frozen=True)
class Indexed(Constraint):
    """The digit of one cell of a line is the place in the line of a given digit: numbered rooms and indexers.

    Attributes:
      cells, numbers: the cells of a line; the digit.
      place: the place of the cell that tells the place, from 0.
    """

    place: int = 0
    name: ClassVar[str] = "indexer"

    def prune(self, masks: Sequence[Any], numbers: Sequence[Any], side: int) -> Sequence[Any]:
        xp, dtype, own = namespace(masks[0]), masks[0].dtype, masks[self.place]
        ones = xp.zeros_like(own) | np.array(1, dtype)
        wanted = ones << (xp.asarray(numbers[0]) - 1).astype(dtype)
        told = xp.zeros_like(own)
        for at, mask in enumerate(masks):
            # at its own place, the cell tells this place and holds the digit
            meet = mask & wanted & np.array(1 << at, dtype) if at == self.place else mask & wanted
            told = told | xp.where(meet != 0, np.array(1 << at, dtype), np.array(0, dtype))
        told = told & own
        left = [xp.where(told == np.array(1 << at, dtype), mask & wanted, mask) for at, mask in enumerate(masks)]
        left[self.place] = told
        return left

    def holds(self, digits: Sequence[Any], numbers: Sequence[Any], side: int) -> Any:
        told = digits[self.place]
        at = [(told == place + 1) & (digit == numbers[0]) for place, digit in enumerate(digits)]
        return functools.reduce(lambda x, y: x | y, at)

    def drawing(self, side: int) -> tuple[Symbol, ...]:
        # an indexer tells the place of the digit that is its own place
        if self.numbers[0] == self.place + 1 and self.cells == tuple(sorted(self.cells)):
            rows, columns = {cell // side for cell in self.cells}, {cell % side for cell in self.cells}
            kind = "row" if len(columns) == 1 else "column" if len(rows) == 1 else "box"
            return (Symbol(f"{kind}-indexer", (self.cells[self.place],)),)
        return (outside(self.cells, str(self.numbers[0]), side),)

    def details(self, side: int) -> str:
        return f", where {cell_name(self.cells[self.place], side)} is the place of {self.numbers[0]}"

    def check(self, side: int) -> None:
        _check_line(self.cells, side)
        if not 0 <= self.place < side:
            raise ValueError(f"place {self.place} of {side} cells")
        if not 1 <= self.numbers[0] <= side:
            raise ValueError(f"digit {self.numbers[0]}; it must lie in 1..{side}")

    def text(self, side: int) -> str | None:
        return f"indexed({self.place + 1} {self.numbers[0]} {cells_text(self.cells, side)})"


def _check_line(cells: Sequence[int], side: int) -> None:
    if len(cells) != side:
        raise ValueError(f"{len(cells)} cells; it needs all {side} of a row, column or region")


@functools.lru_cache(maxsize=8)
def _inner_sets(side: int) -> tuple[int, np.ndarray]:
    """The sets of digits between 1 and the largest one, by size and total, among the digits of a mask.

    Returns:
      the sum of all these digits; and uint32[sizes, totals, 2^(side - 2)], for digits from 2 on: in the low 16 bits the
      digits of all such sets within a mask, and bit 0 if there is a set; in the high ones those common to all sets.
    """
    digits = np.arange(1, side - 1)
    sums = int((digits + 1).sum())
    allowed = np.zeros((side - 1, sums + 1, 1 << side - 2), np.uint32)
    common = np.full_like(allowed, 0xFFFF)
    every = np.arange(1 << side - 2)
    for chosen in every:
        own = digits[chosen >> (digits - 1) & 1 > 0]
        place, within = (len(own), (own + 1).sum()), every & chosen == chosen
        allowed[place][within] |= np.uint32(chosen << 1 | 1)
        common[place][within] &= np.uint32(chosen << 1)
    return sums, np.where(allowed > 0, allowed | common << 16, 0).astype(np.uint32)
