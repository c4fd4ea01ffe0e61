"""Rules of whole lines: renban, palindrome, between, lockout, equal sums, zipper, entropic, modular, parity. No JAX."""

from __future__ import annotations

import abc
import dataclasses
import functools
import itertools
from collections.abc import Sequence
from typing import Any, ClassVar, Self

import numpy as np

from jaxsudoku.pictures.constraints import Symbol

from .automata import adding, counts, reached, supported
from .base import Constraint, by_pairs, cells_text, namespace, pairs_of, union
from .sums import without_placed


@dataclasses.dataclass(frozen=True)
class Renban(Constraint):
    """A renban line: its digits are consecutive and differ, in any order."""

    name: ClassVar[str] = "renban line"

    def prune(self, masks: Sequence[Any], numbers: Sequence[Any], side: int) -> Sequence[Any]:
        masks, size = without_placed(masks), len(masks)
        dtype, present = masks[0].dtype, union(masks)
        xp, allowed = namespace(present), namespace(present).zeros_like(present)
        for first in range(side - size + 1):
            window = np.array(((1 << size) - 1) << first, dtype)
            fits = _all([mask & window != 0 for mask in masks]) & (present & window == window)
            allowed = allowed | xp.where(fits, window, np.array(0, dtype))
        return [mask & allowed for mask in masks]

    def holds(self, digits: Sequence[Any], numbers: Sequence[Any], side: int) -> Any:
        xp = namespace(digits[0])
        spread = functools.reduce(xp.maximum, digits) - functools.reduce(xp.minimum, digits)
        return _all([one != other for one, other in itertools.combinations(digits, 2)] + [spread == len(digits) - 1])

    @property
    def roles(self) -> tuple[int, ...]:
        return (0,) * len(self.cells)

    def drawing(self, side: int) -> tuple[Symbol, ...]:
        return (Symbol("renban", self.cells),)

    def check(self, side: int) -> None:
        if not 1 <= len(self.cells) <= side:
            raise ValueError(f"{len(self.cells)} cells; there are at most {side} different digits")

    def text(self, side: int) -> str | None:
        return f"renban({cells_text(self.cells, side)})"


@dataclasses.dataclass(frozen=True)
class Palindrome(Constraint):
    """A palindrome: the digits along the line are the same in both directions."""

    name: ClassVar[str] = "palindrome"
    relabels: ClassVar[bool] = True

    def prune(self, masks: Sequence[Any], numbers: Sequence[Any], side: int) -> Sequence[Any]:
        return [mask & other for mask, other in zip(masks, masks[::-1], strict=True)]

    def holds(self, digits: Sequence[Any], numbers: Sequence[Any], side: int) -> Any:
        return _all([one == other for one, other in pairs_of(digits)])

    @property
    def roles(self) -> tuple[int, ...]:
        last = len(self.cells) - 1
        return tuple(int(2 * place == last) for place in range(last + 1))

    def normalized(self) -> Palindrome:
        return dataclasses.replace(self, cells=by_pairs(self.cells))

    def drawing(self, side: int) -> tuple[Symbol, ...]:
        return (Symbol("palindrome", self.cells),)

    def check(self, side: int) -> None:
        _check_cells(self.cells, 2)

    def text(self, side: int) -> str | None:
        return f"palindrome({cells_text(self.cells, side)})"


@dataclasses.dataclass(frozen=True)
class _Ended(Constraint):
    """The digits of the two ends decide the digits that the cells between them may hold."""

    @abc.abstractmethod
    def _inner(self, low: int, high: int, side: int) -> int:
        """The digits of inner cells if the ends hold these digits, low <= high, as a mask; -1 if they can't."""

    def prune(self, masks: Sequence[Any], numbers: Sequence[Any], side: int) -> Sequence[Any]:
        first, *inner, last = masks
        xp, zero = namespace(first), np.zeros((), first.dtype)
        left = [xp.zeros_like(mask) for mask in masks]
        for low, high in itertools.combinations_with_replacement(range(side), 2):
            allowed = self._inner(low + 1, high + 1, side)
            if allowed < 0:
                continue
            one, other, rest = (np.array(word, first.dtype) for word in (1 << low, 1 << high, allowed))
            fits = _all([mask & rest != 0 for mask in inner]) if inner else True
            up = (first & one != 0) & (last & other != 0) & fits
            down = (first & other != 0) & (last & one != 0) & fits
            left[0] = left[0] | xp.where(up, one, zero) | xp.where(down, other, zero)
            left[-1] = left[-1] | xp.where(up, other, zero) | xp.where(down, one, zero)
            either = xp.where(up | down, rest, zero)
            left[1:-1] = [found | either for found in left[1:-1]]
        return [mask & found for mask, found in zip(masks, left, strict=True)]

    @property
    def roles(self) -> tuple[int, ...]:
        return (0, *(1,) * (len(self.cells) - 2), 0)

    def normalized(self) -> Self:
        first, *inner, last = self.cells
        return dataclasses.replace(self, cells=(min(first, last), *sorted(inner), max(first, last)))


@dataclasses.dataclass(frozen=True)
class Between(_Ended):
    """A between line: the digits lie strictly between those of its two ends."""

    name: ClassVar[str] = "between line"

    def _inner(self, low: int, high: int, side: int) -> int:
        return ((1 << (high - 1)) - 1) & -(1 << low) if high - low > 1 else -1

    def holds(self, digits: Sequence[Any], numbers: Sequence[Any], side: int) -> Any:
        first, *inner, last = digits
        return _all([(first - digit) * (last - digit) < 0 for digit in inner])

    def drawing(self, side: int) -> tuple[Symbol, ...]:
        return (Symbol("between", self.cells),)

    def check(self, side: int) -> None:
        _check_cells(self.cells, 3)

    def text(self, side: int) -> str | None:
        return f"between({cells_text(self.cells, side)})"


@dataclasses.dataclass(frozen=True)
class Lockout(_Ended):
    """A lockout line: its ends differ by a distance, and no digit on it lies between them or equals one of them.

    Attributes:
      distance: the least difference of the ends.
    """

    distance: int = 4
    name: ClassVar[str] = "lockout line"

    def _inner(self, low: int, high: int, side: int) -> int:
        return (1 << side) - 1 & ~((1 << high) - (1 << (low - 1))) if high - low >= self.distance else -1

    def holds(self, digits: Sequence[Any], numbers: Sequence[Any], side: int) -> Any:
        first, *inner, last = digits
        outside = [(first - digit) * (last - digit) > 0 for digit in inner]
        return _all([*outside, abs(first - last) >= self.distance])

    def drawing(self, side: int) -> tuple[Symbol, ...]:
        return (Symbol("lockout", self.cells),)

    def check(self, side: int) -> None:
        _check_cells(self.cells, 2)
        if not 1 <= self.distance < side:
            raise ValueError(f"a distance of {self.distance}; it must lie in 1..{side - 1}")

    def text(self, side: int) -> str | None:
        return f"lockout({self.distance} {cells_text(self.cells, side)})"


@dataclasses.dataclass(frozen=True)
class EqualSums(Constraint):
    """A region sum line: its segments have equal sums; digits may repeat.

    Attributes:
      cells: the cells of all segments, one after the other.
      sizes: the number of cells of each segment.
    """

    sizes: tuple[int, ...] = ()
    name: ClassVar[str] = "region sum line"

    def _segments(self, items: Sequence[Any]) -> list[Sequence[Any]]:
        """The items of cells by segment."""
        ends = itertools.accumulate(self.sizes, initial=0)
        return [items[first:last] for first, last in itertools.pairwise(ends)]

    def prune(self, masks: Sequence[Any], numbers: Sequence[Any], side: int) -> Sequence[Any]:
        places = self._segments(range(len(masks)))
        most = side * min(map(len, places))
        zero, adds = counts(0, most, masks[0]), [[(0, 0, 1 + move[2]) for move in own] for own in adding(1, side)]
        parts = [[masks[place] for place in part] for part in places]
        moves = [[adds] * len(part) for part in parts]
        sums = [reached(part, own, {0: zero})[-1][0] for part, own in zip(parts, moves, strict=True)]
        common = [functools.reduce(lambda x, y: x & y, words) for words in zip(*sums, strict=True)]
        left = list(masks)
        for part, cells, own in zip(places, parts, moves, strict=True):
            for place, mask in zip(part, supported(cells, own, {0: zero}, {0: common}), strict=True):
                left[place] = mask
        return left

    def holds(self, digits: Sequence[Any], numbers: Sequence[Any], side: int) -> Any:
        totals = [sum(segment) for segment in self._segments(digits)]
        return _all([total == totals[0] for total in totals])

    @property
    def roles(self) -> tuple[int, ...]:
        return tuple(size for size in self.sizes for _ in range(size))

    def normalized(self) -> Self:
        segments = sorted((len(segment), tuple(sorted(segment))) for segment in self._segments(self.cells))
        cells = tuple(cell for _, segment in segments for cell in segment)
        return dataclasses.replace(self, cells=cells, sizes=tuple(size for size, _ in segments))

    def drawing(self, side: int) -> tuple[Symbol, ...]:
        return (Symbol("region-sums", self.cells),)

    def check(self, side: int) -> None:
        sizes = [len(segment) for segment in self._segments(self.cells)]
        if sum(self.sizes) != len(self.cells) or len(sizes) < 2 or 0 in sizes:
            raise ValueError(f"segments of sizes {sizes} for {len(self.cells)} cells; it needs two or more")
        if max(sizes) > side * min(sizes):
            raise ValueError(f"segments of {max(sizes)} cells and of {min(sizes)} can't have the same sum")

    def text(self, side: int) -> str | None:
        return f"region-sums({', '.join(cells_text(segment, side) for segment in self._segments(self.cells))})"


@dataclasses.dataclass(frozen=True)
class Zipper(EqualSums):
    """A zipper line: cells as far from the middle have the same sum in pairs; a cell in the middle holds this sum."""

    name: ClassVar[str] = "zipper line"

    def _segments(self, items: Sequence[Any]) -> list[Sequence[Any]]:
        middle = items[len(items) // 2 : (len(items) + 1) // 2]
        return [*pairs_of(items), *([middle] if middle else [])]

    @property
    def roles(self) -> tuple[int, ...]:
        last = len(self.cells) - 1
        return tuple(int(2 * place == last) for place in range(last + 1))

    def normalized(self) -> Self:
        return dataclasses.replace(self, cells=by_pairs(self.cells))

    def drawing(self, side: int) -> tuple[Symbol, ...]:
        return (Symbol("zipper", self.cells),)

    def check(self, side: int) -> None:
        _check_cells(self.cells, 3)

    def text(self, side: int) -> str | None:
        return f"zipper({cells_text(self.cells, side)})"


@dataclasses.dataclass(frozen=True)
class Periodic(Constraint):
    """Digits of different groups in each ``groups`` successive cells: entropic, modular and parity lines.

    Attributes:
      groups: the number of groups, 2 or 3.
      ranges: whether groups are ranges of equal size (low, middle, high), not digits of the same remainder.
    """

    groups: int = 3
    ranges: bool = False

    @property
    def name(self) -> str:  # type: ignore[override]
        return f"{self._word} line"

    @property
    def _word(self) -> str:
        return "entropic" if self.ranges else "parity" if self.groups == 2 else "modular"

    def prune(self, masks: Sequence[Any], numbers: Sequence[Any], side: int) -> Sequence[Any]:
        xp, dtype = namespace(masks[0]), masks[0].dtype
        words = [
            np.array(sum(1 << digit for digit in range(side) if self._group(digit + 1, side) == group), dtype)
            for group in range(self.groups)
        ]
        # whether all cells of a place in the period can take a group
        can = [
            [_all([mask & word != 0 for mask in masks[place :: self.groups]]) for word in words]
            for place in range(min(self.groups, len(masks)))
        ]
        allowed = [xp.zeros_like(masks[0])] * len(can)
        for order in itertools.permutations(range(self.groups), len(can)):
            fits = _all([can[place][group] for place, group in enumerate(order)])
            for place, group in enumerate(order):
                allowed[place] = allowed[place] | xp.where(fits, words[group], np.array(0, dtype))
        return [mask & allowed[place % self.groups] for place, mask in enumerate(masks)]

    def _group(self, digit: Any, side: int) -> Any:
        return (digit - 1) // (side // self.groups) if self.ranges else digit % self.groups

    def holds(self, digits: Sequence[Any], numbers: Sequence[Any], side: int) -> Any:
        of_cells = [(digit - 1) * self.groups // side if self.ranges else digit % self.groups for digit in digits]
        return _all(
            [
                of_cells[one] != of_cells[other]
                for one in range(len(digits))
                for other in range(one + 1, len(digits))
                if other < one + self.groups
            ]
        )

    @property
    def roles(self) -> tuple[int, ...]:
        return tuple(len(self.cells[place % self.groups :: self.groups]) for place in range(len(self.cells)))

    def normalized(self) -> Self:
        places = sorted(
            (sorted(self.cells[place :: self.groups]) for place in range(self.groups)),
            key=lambda cells: (-len(cells), cells),
        )
        rows = itertools.zip_longest(*places)
        return dataclasses.replace(self, cells=tuple(cell for row in rows for cell in row if cell is not None))

    def drawing(self, side: int) -> tuple[Symbol, ...]:
        return (Symbol(self._word, self.cells),)

    def check(self, side: int) -> None:
        _check_cells(self.cells, 2)
        if self.groups not in (2, 3) or self.groups > side:
            raise ValueError(f"{self.groups} groups; there must be 2 or 3")
        if self.ranges and side % self.groups:
            raise ValueError(f"{side} digits have no {self.groups} ranges of equal size")

    def text(self, side: int) -> str | None:
        return f"{self._word}({cells_text(self.cells, side)})"


def _all(values: Sequence[Any]) -> Any:
    return functools.reduce(lambda x, y: x & y, values)


def _check_cells(cells: Sequence[int], least: int) -> None:
    if len(cells) < least:
        raise ValueError(f"{len(cells)} cells; it needs {least} or more")
