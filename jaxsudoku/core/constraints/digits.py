"""Rules of sets of digits: cells that are odd or even, quadruples. No JAX."""

from __future__ import annotations

import dataclasses
import functools
from collections.abc import Sequence
from typing import Any, ClassVar, Self

import numpy as np

from jaxsudoku.pictures.constraints import Symbol

from .base import Constraint, cells_text, halves, namespace, union, whole


@dataclasses.dataclass(frozen=True)
class Among(Constraint):
    """All digits are in a set, such as the odd ones.

    Attributes:
      cells, numbers: the cells; the halves of the set as a mask, see ``halves``: bit d - 1 is digit d.
    """

    @classmethod
    def of(cls, cells: Sequence[int], digits: Sequence[int]) -> Self:
        """The constraint of cells and digits."""
        return cls(tuple(cells), halves(sum(1 << (digit - 1) for digit in set(digits))))

    @property
    def digits(self) -> list[int]:
        """The digits of the set, in order."""
        return [digit for digit in range(1, 33) if whole(self.numbers) >> (digit - 1) & 1]

    @property
    def name(self) -> str:  # type: ignore[override]
        odd = {digit % 2 == 1 for digit in self.digits}
        return "cell of few digits" if len(odd) != 1 else "odd cell" if True in odd else "even cell"

    def prune(self, masks: Sequence[Any], numbers: Sequence[Any], side: int) -> Sequence[Any]:
        xp, dtype = namespace(masks[0]), masks[0].dtype
        allowed = xp.asarray(numbers[0]).astype(np.uint32) | (xp.asarray(numbers[1]).astype(np.uint32) << np.uint32(16))
        return [mask & allowed.astype(dtype) for mask in masks]

    def holds(self, digits: Sequence[Any], numbers: Sequence[Any], side: int) -> Any:
        xp = namespace(digits[0])
        inside = [xp.where(digit > 16, numbers[1], numbers[0]) >> ((digit - 1) & 15) & 1 == 1 for digit in digits]
        return functools.reduce(lambda x, y: x & y, inside)

    @property
    def roles(self) -> tuple[int, ...]:
        return (0,) * len(self.cells)

    def drawing(self, side: int) -> tuple[Symbol, ...]:
        for name, first in (("odd", 1), ("even", 2)):
            if self.digits == list(range(first, side + 1, 2)):
                return (Symbol(name, self.cells),)
        return (Symbol("cage", self.cells, "".join(map(str, self.digits))),)

    def details(self, side: int) -> str:
        return f", which may hold {' '.join(map(str, self.digits))}"

    def check(self, side: int) -> None:
        if not self.cells:
            raise ValueError("it needs a cell")
        if not self.digits or self.digits[-1] > side:
            raise ValueError(f"digits {self.digits}; they must be some of 1..{side}")

    def text(self, side: int) -> str | None:
        digits, cells = self.digits, cells_text(self.cells, side)
        for first, name in ((1, "odd"), (2, "even")):
            if len(self.cells) == 1 and digits == list(range(first, side + 1, 2)):
                return f"{name}({cells})"
        return f"digits({' '.join(map(str, digits))} {cells})"


@dataclasses.dataclass(frozen=True)
class Contains(Constraint):
    """A quadruple: given digits are among those of the cells, each as often as it is given.

    Attributes:
      cells, numbers: the cells; the digits.
      count: the number of digits, which is part of the kind.
    """

    count: int = 0
    name: ClassVar[str] = "quadruple"

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.numbers:
            object.__setattr__(self, "count", len(self.numbers))

    def prune(self, masks: Sequence[Any], numbers: Sequence[Any], side: int) -> Sequence[Any]:
        xp, dtype, left = namespace(masks[0]), masks[0].dtype, list(masks)
        one = xp.zeros_like(masks[0]) | np.array(1, dtype)
        bits = [one << (xp.asarray(number) - 1).astype(dtype) for number in numbers]
        for number, bit in zip(numbers, bits, strict=True):
            times = sum((number == other) * 1 for other in numbers)
            places = sum((mask & bit != 0) * 1 for mask in masks)
            # all places are needed; too few ones are a contradiction
            keep = xp.where(places < times, np.array(0, dtype), xp.where(places == times, bit, ~(one & 0)))
            left = [
                xp.where((mask & bit != 0) | (places < times), found & keep, found)
                for mask, found in zip(masks, left, strict=True)
            ]
        return [mask & union(bits) for mask in left] if len(numbers) == len(masks) else left

    def holds(self, digits: Sequence[Any], numbers: Sequence[Any], side: int) -> Any:
        often = [
            sum((digit == number) * 1 for digit in digits) >= sum((other == number) * 1 for other in numbers)
            for number in numbers
        ]
        return functools.reduce(lambda x, y: x & y, often)

    @property
    def roles(self) -> tuple[int, ...]:
        return (0,) * len(self.cells)

    def normalized(self) -> Self:
        return dataclasses.replace(self, cells=tuple(sorted(self.cells)), numbers=tuple(sorted(self.numbers)))

    def drawing(self, side: int) -> tuple[Symbol, ...]:
        rows, columns = {cell // side for cell in self.cells}, {cell % side for cell in self.cells}
        square = len(self.cells) == 4 and all(len(own) == 2 == max(own) - min(own) + 1 for own in (rows, columns))
        return (Symbol("corner" if square else "cage", self.cells, "".join(map(str, self.numbers))),)

    def details(self, side: int) -> str:
        return f" with {' '.join(map(str, self.numbers))}"

    def check(self, side: int) -> None:
        if not 1 <= len(self.numbers) <= len(self.cells):
            raise ValueError(f"{len(self.numbers)} digits in {len(self.cells)} cells")
        if not all(1 <= number <= side for number in self.numbers):
            raise ValueError(f"digits {self.numbers}; they must lie in 1..{side}")

    def text(self, side: int) -> str | None:
        return f"quadruple({' '.join(map(str, self.numbers))} {cells_text(self.cells, side)})"
