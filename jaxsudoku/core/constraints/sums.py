"""Sums and products of cells, and different cells: cages, arrows, little killers, calcudoku. No JAX."""

from __future__ import annotations

import dataclasses
import functools
import itertools
from collections.abc import Iterable, Sequence
from typing import Any, ClassVar

import numpy as np

from jaxsudoku.pictures.constraints import Symbol

from .automata import Moves, adding, counts, supported
from .base import Constraint, begins_at_edge, cells_text, namespace, prefixes, single, union, whole

#: How pictures and sentences write operations.
_SIGNS = {"-": "\N{MINUS SIGN}", "*": "\N{MULTIPLICATION SIGN}", "/": "\N{DIVISION SIGN}"}
#: Widest board whose cages and sandwiches are pruned by tables over the sets of digits.
TABLE_SIDE = 9


@dataclasses.dataclass(frozen=True)
class Sum(Constraint):
    """The digits, each times its weight, add up to a total; digits may repeat.

    Attributes:
      cells, numbers: the cells; the total, plus ``offset``.
      weights: a factor for each cell, other than 0; () for 1 each.
    """

    weights: tuple[int, ...] = ()
    name: ClassVar[str] = "sum"

    def prune(self, masks: Sequence[Any], numbers: Sequence[Any], side: int) -> Sequence[Any]:
        return weighted_sum(masks, self.weights or (1,) * len(masks), numbers[0] - self.offset(side), side)

    def holds(self, digits: Sequence[Any], numbers: Sequence[Any], side: int) -> Any:
        weights = self.weights or (1,) * len(digits)
        return sum(weight * digit for weight, digit in zip(weights, digits, strict=True)) == (
            numbers[0] - self.offset(side)
        )

    @property
    def roles(self) -> tuple[int, ...]:
        return self.weights or (1,) * len(self.cells)

    def normalized(self) -> Sum:
        weights = () if set(self.weights) <= {1} else tuple(sorted(self.weights))
        return dataclasses.replace(super().normalized(), weights=weights)

    def offset(self, side: int) -> int:
        """What is added to the total in ``numbers``, so that it is not negative."""
        return -sum(min(weight * side, 0) for weight in self.weights)

    def text(self, side: int) -> str | None:
        total = self.numbers[0] - self.offset(side)
        weights = self.weights or (1,) * len(self.cells)
        factors = [{1: "", -1: "-"}.get(weight, f"{weight}*") for weight in weights]
        cells = cells_text(self.cells, side).split()
        return f"sum({total} {' '.join(map(str.__add__, factors, cells))})"

    def drawing(self, side: int) -> tuple[Symbol, ...]:
        total, head = self.numbers[0] - self.offset(side), sum(weight > 0 for weight in self.weights)
        if self.weights[:head] == tuple(10 ** (head - 1 - place) for place in range(head)) and head < len(self.weights):
            row, column = divmod(self.cells[head], side)
            start = min(self.cells[:head], key=lambda cell: abs(cell // side - row) + abs(cell % side - column))
            return Symbol("circle", self.cells[:head]), Symbol("shaft", (start, *self.cells[head:]))
        if len(self.weights) > 2 and self.weights == (1, *(-1,) * (len(self.weights) - 2), 1) and not total:
            return (Symbol("double-arrow", self.cells),)
        if not self.weights and begins_at_edge(self.cells, side) and begins_at_edge(self.cells[::-1], side):
            return (Symbol("outside", self.cells, str(total)),)
        return (Symbol("cage", self.cells, f"{total}+" if len(self.cells) > 1 else str(total)),)

    def details(self, side: int) -> str:
        return "" if self.weights else f" with a total of {self.numbers[0]}"

    def check(self, side: int) -> None:
        if self.weights and (len(self.weights) != len(self.cells) or 0 in self.weights):
            raise ValueError(f"weights {self.weights}; there must be one for each cell, none of them 0")
        weights = self.weights or (1,) * len(self.cells)
        low = sum(min(weight, weight * side) for weight in weights)
        high = sum(max(weight, weight * side) for weight in weights)
        total = self.numbers[0] - self.offset(side)
        if not low <= total <= high:
            raise ValueError(f"a total of {total}; {len(self.cells)} cells reach {low} to {high}")


@dataclasses.dataclass(frozen=True)
class Distinct(Constraint):
    """Any two digits differ; any number of cells up to the side.

    Attributes:
      apart: by how much they differ at least; 2 for nabner lines, which have no consecutive digits.
    """

    apart: int = 1

    @property
    def name(self) -> str:  # type: ignore[override]
        return "nabner line" if self.apart > 1 else "extra region"

    @property
    def relabels(self) -> bool:  # type: ignore[override]
        return self.apart == 1

    def prune(self, masks: Sequence[Any], numbers: Sequence[Any], side: int) -> Sequence[Any]:
        return without_placed(masks, self.apart)

    def differing(self, side: int) -> Iterable[tuple[int, int]]:
        return itertools.combinations(self.cells, 2)

    def holds(self, digits: Sequence[Any], numbers: Sequence[Any], side: int) -> Any:
        return distinct(digits, self.apart)

    @property
    def roles(self) -> tuple[int, ...]:
        return (0,) * len(self.cells)

    def drawing(self, side: int) -> tuple[Symbol, ...]:
        return (Symbol("nabner" if self.apart > 1 else "region", self.cells),)

    def check(self, side: int) -> None:
        if self.apart < 1:
            raise ValueError(f"apart is {self.apart}; it must be 1 or more")
        _check_distinct(self.cells, side, self.apart)

    def text(self, side: int) -> str | None:
        cells = cells_text(self.cells, side)
        return {1: f"distinct({cells})", 2: f"nabner({cells})"}.get(self.apart)


@dataclasses.dataclass(frozen=True)
class Cage(Constraint):
    """A killer cage: its digits differ and add up to a total.

    Attributes:
      cells, numbers: the cells; the total.
    """

    name: ClassVar[str] = "cage"

    def prune(self, masks: Sequence[Any], numbers: Sequence[Any], side: int) -> Sequence[Any]:
        size, total = len(masks), numbers[0]
        masks = without_placed(masks)
        if side <= TABLE_SIDE and size < side:
            # the digits of any set with this total among the candidates, and the digits that all such sets have
            first, table = _digit_sets(side, size)
            xp = namespace(masks[0])
            row = xp.clip(total - first, 0, table.shape[0] - 1).astype(np.int32)
            found = xp.asarray(table.reshape(-1))[(row << side) + union(masks).astype(np.int32)]
            allowed = found.astype(masks[0].dtype)
            required = (found >> 16).astype(masks[0].dtype)
            masks = [mask & allowed for mask in masks]
            ones = twos = xp.zeros_like(masks[0])
            for mask in masks:
                ones, twos = ones | mask, twos | (ones & mask)
            only = required & ~twos  # digits with one place in the cage
            masks = [xp.where((mask & only) != 0, mask & only, mask) for mask in masks]
        most = size * (2 * side - size - 1) // 2  # of digits from 0
        return automaton_sum(masks, [adding(1, side)] * size, total - size, most)

    def differing(self, side: int) -> Iterable[tuple[int, int]]:
        return itertools.combinations(self.cells, 2)

    def holds(self, digits: Sequence[Any], numbers: Sequence[Any], side: int) -> Any:
        return (sum(digits) == numbers[0]) & distinct(digits)

    @property
    def roles(self) -> tuple[int, ...]:
        return (0,) * len(self.cells)

    def text(self, side: int) -> str | None:
        return f"cage({self.numbers[0]} {cells_text(self.cells, side)})"

    def details(self, side: int) -> str:
        return f" with a total of {self.numbers[0]}"

    def check(self, side: int) -> None:
        _check_distinct(self.cells, side)
        size = len(self.cells)
        low, high = size * (size + 1) // 2, size * (2 * side - size + 1) // 2
        if not low <= self.numbers[0] <= high:
            raise ValueError(f"a total of {self.numbers[0]}; {size} different digits reach {low} to {high}")


@dataclasses.dataclass(frozen=True)
class Calculation(Constraint):
    """A calcudoku cage: its digits make a total by an operation; digits may repeat.

    Attributes:
      cells, numbers: the cells; the halves of the total, see ``halves``.
      operation: "*"; or "-" or "/", the largest digit minus or divided by all others.
    """

    operation: str = "*"
    name: ClassVar[str] = "calcudoku cage"

    def prune(self, masks: Sequence[Any], numbers: Sequence[Any], side: int) -> Sequence[Any]:
        total = whole(numbers)
        size = len(masks)
        if self.operation == "*":
            return _product(masks, (1,) * size, total, side)
        calculated = weighted_sum if self.operation == "-" else _product
        cases = [
            calculated(masks, (-1,) * largest + (1,) + (-1,) * (size - 1 - largest), total, side)
            for largest in range(size)
        ]
        return [union(cell) for cell in zip(*cases, strict=True)]

    def holds(self, digits: Sequence[Any], numbers: Sequence[Any], side: int) -> Any:
        xp, total = namespace(digits[0]), numbers[0] + 65536 * numbers[1]
        largest = functools.reduce(xp.maximum, digits)
        if self.operation == "-":
            return 2 * largest - sum(digits) == total
        divides: Any = digits[0] > 0
        rest = total + 0 * largest if self.operation == "*" else largest * largest
        for digit in digits:
            divisor = xp.maximum(digit, 1)
            divides, rest = divides & (rest % divisor == 0), rest // divisor
        return divides & (rest == (1 if self.operation == "*" else total))

    @property
    def roles(self) -> tuple[int, ...]:
        return (0,) * len(self.cells)

    def drawing(self, side: int) -> tuple[Symbol, ...]:
        return (Symbol("cage", self.cells, f"{whole(self.numbers)}{_SIGNS[self.operation]}"),)

    def details(self, side: int) -> str:
        return f" with {whole(self.numbers)} by {_SIGNS[self.operation]}"

    def check(self, side: int) -> None:
        total, size = whole(self.numbers), len(self.cells)
        if self.operation not in ("-", "*", "/"):
            raise ValueError(f"unknown operation {self.operation!r}; there are -, * and /")
        if size < 2:
            raise ValueError(f"{size} cells; it needs two or more")
        if self.operation == "-" and total > side - size + 1:
            raise ValueError(f"a difference of {total}; {size} cells reach at most {side - size + 1}")
        if self.operation == "/" and not 1 <= total <= side:
            raise ValueError(f"a quotient of {total}; it must be one of 1..{side}")
        if self.operation == "*":
            reached = {1}
            for _ in range(size):
                reached = {one * digit for one in reached for digit in range(1, side + 1) if total % (one * digit) == 0}
            if total not in reached:
                raise ValueError(f"no {size} digits of 1..{side} have the product {total}")

    def text(self, side: int) -> str | None:
        return f"calcudoku({whole(self.numbers)}{self.operation} {cells_text(self.cells, side)})"


def distinct(digits: Sequence[Any], apart: int = 1) -> Any:
    """Whether any two digits differ, by at least ``apart``."""
    different = [abs(one - other) >= apart for one, other in itertools.combinations(digits, 2)]
    return functools.reduce(lambda x, y: x & y, different, digits[0] > 0)


def _check_distinct(cells: Sequence[int], side: int, apart: int = 1) -> None:
    most = (side - 1) // apart + 1
    if not 1 <= len(cells) <= most:
        what = "different digits" if apart == 1 else f"digits {apart} apart"
        raise ValueError(f"{len(cells)} cells; there are at most {most} {what} of 1..{side}")


def without_placed(masks: Sequence[Any], apart: int = 1) -> list[Any]:
    """Removes the digit of each cell with one candidate, and those less than ``apart`` from it, from other cells."""

    def near(mask: Any) -> Any:
        placed = single(mask)
        return union([placed, *(moved for by in range(1, apart) for moved in (placed << by, placed >> by))])

    zero, removed = namespace(masks[0]).zeros_like(masks[0]), [near(mask) for mask in masks]
    before = prefixes(removed, zero, lambda x, y: x | y)
    after = prefixes(removed[::-1], zero, lambda x, y: x | y)[::-1]
    return [mask & ~(x | y) for mask, x, y in zip(masks, before[:-1], after[1:], strict=True)]


def weighted_sum(masks: Sequence[Any], weights: Sequence[int], total: Any, side: int) -> list[Any]:
    """Removes digits that are part of no sum, each digit times its weight, of this total: exact but for repeats."""
    # every weighted digit is shifted to start at 0, so that sums are small and not negative
    lowest = sum(min(weight, weight * side) for weight in weights)
    most = sum(abs(weight) * (side - 1) for weight in weights)
    return automaton_sum(masks, [adding(weight, side) for weight in weights], total - lowest, most)


def automaton_sum(masks: Sequence[Any], moves: Sequence[Moves], total: Any, most: int) -> list[Any]:
    """Removes digits that are part of no way from 0 to the total, which is at most ``most``."""
    start, end = counts(0, most, masks[0]), counts(total, most, masks[0])
    return supported(masks, moves, {0: start}, {0: end})


def _product(masks: Sequence[Any], signs: Sequence[int], total: Any, side: int) -> list[Any]:
    """Removes digits that are part of no product; cells of sign -1 divide it. The exponent of each prime is a sum."""
    xp, left = namespace(masks[0]), list(masks)
    rest = total
    for prime in (number for number in range(2, side + 1) if all(number % below for below in range(2, number))):
        exponents = [_exponent(digit, prime) for digit in range(1, side + 1)]
        largest, exponent = max(exponents), 0
        for _ in range(1, largest * len(masks) + 1):
            divides = (rest % prime == 0) & (rest > 0)
            exponent, rest = exponent + divides * 1, xp.where(divides, rest // prime, rest)
        moves = [[[(0, 0, own if sign > 0 else largest - own)] for own in exponents] for sign in signs]
        target = exponent + largest * sum(sign < 0 for sign in signs)
        left = automaton_sum(left, moves, target, largest * len(masks))
    return [xp.where(rest == 1, mask, xp.zeros_like(mask)) for mask in left]


def _exponent(number: int, prime: int) -> int:
    return 0 if number % prime else 1 + _exponent(number // prime, prime)


@functools.lru_cache(maxsize=64)
def _digit_sets(side: int, size: int) -> tuple[int, np.ndarray]:
    """The sets of ``size`` digits by total, among the digits of a mask.

    Returns:
      the least total; and uint32[totals, 2^side]: the digits of all such sets within a mask in the low 16 bits, those
      common to all sets in the high ones. Both are 0 if there is no set.
    """
    sets = [sum(1 << digit for digit in digits) for digits in itertools.combinations(range(side), size)]
    totals = [sum(digit + 1 for digit in range(side) if mask >> digit & 1) for mask in sets]
    allowed = np.zeros((max(totals) - min(totals) + 1, 1 << side), np.uint32)
    common = np.full_like(allowed, (1 << side) - 1)
    every = np.arange(1 << side)
    for mask, total in zip(sets, totals, strict=True):
        within = every & mask == mask
        allowed[total - min(totals), within] |= mask
        common[total - min(totals), within] &= mask
    return min(totals), np.where(allowed > 0, allowed | common << 16, 0).astype(np.uint32)
