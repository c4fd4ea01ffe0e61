"""Interface of constraints: rules on some cells of a board, beyond its houses. No JAX.

A constraint is a value: its cells, and numbers such as a total. What is left without these two is its *kind*; a kind
has the code. So all cages of three cells, of one board or of 10,000 puzzles, are pruned together by one call.

To add a kind, derive a frozen dataclass from ``Constraint`` and write ``prune`` and ``holds``. Both work on arrays of
numpy and of JAX: they use operators, and functions of ``namespace(array)``. ``jaxsudoku.testing.check_constraint``
checks them.
"""

from __future__ import annotations

import abc
import dataclasses
import functools
import itertools
from collections.abc import Callable, Iterable, Sequence
from typing import Any, ClassVar, Protocol, Self

import numpy as np

from jaxsudoku.pictures.constraints import Symbol

#: Widest board with constraints: the digits of a cell are one word of 32 bits.
MAX_SIDE = 32


@dataclasses.dataclass(frozen=True)
class Constraint(abc.ABC):
    """A rule on some cells; frozen, hashable, compared by value.

    Further fields of a subclass belong to its kind; each kind is compiled separately, so fields have few values.

    Attributes:
      cells: the numbers of its cells, in an order that may matter.
      numbers: what else differs between constraints of a kind, such as a total: integers from 0 to 65,535.

    Class attributes:
      name: what it is called in messages. May be a property.
      relabels: whether it still holds after any exchange of digits; sums and orders do not. May be a property.
    """

    cells: tuple[int, ...] = ()
    numbers: tuple[int, ...] = ()

    name: ClassVar[str] = "constraint"
    relabels: ClassVar[bool] = False

    def __post_init__(self) -> None:
        object.__setattr__(self, "cells", tuple(map(int, self.cells)))
        object.__setattr__(self, "numbers", tuple(map(int, self.numbers)))

    @abc.abstractmethod
    def prune(self, masks: Sequence[Any], numbers: Sequence[Any], side: int) -> Sequence[Any]:
        """Removes candidates; called on the kind for many constraints at once.

        Sound: no candidate of a solution is removed. Monotone: fewer candidates never leave more, unless a cell
        is left without any. It decides filled cells: if each cell has one candidate and the constraint is broken, a
        cell loses its candidate.

        Args:
          masks: for each cell of the constraints an unsigned array [constraints, *lanes] of candidates: bit d - 1 is
            set if the cell may hold digit d.
          numbers: for each number an integer array [constraints, *lanes], or with lanes of size 1.
          side: the number of digits.

        Returns:
          the candidates that are left, in the form of ``masks``.
        """

    @abc.abstractmethod
    def holds(self, digits: Sequence[Any], numbers: Sequence[Any], side: int) -> Any:
        """Whether filled cells satisfy the constraints; shares no code with ``prune``, as it judges solvers.

        Args:
          digits: for each cell an int32 array [*b] of digits 1..side.
          numbers: for each number an array that broadcasts to [*b].
          side: the number of digits.

        Returns:
          bool[*b].
        """

    def check(self, side: int) -> None:  # noqa: B027 - most constraints fit every board
        """Raises ValueError if no board of this side can satisfy the constraint; cells were checked before."""

    @functools.cached_property
    def kind(self) -> Self:
        """This constraint without its cells and numbers."""
        return dataclasses.replace(self, cells=(), numbers=())

    def differing(self, side: int) -> Iterable[tuple[int, int]]:
        """Pairs of its cells that can't hold the same digit, as far as rules of houses can use them."""
        return ()

    @property
    def roles(self) -> tuple[int, ...]:
        """A number for each cell; cells may be exchanged only with those of the same number."""
        return tuple(range(len(self.cells)))

    def text(self, side: int) -> str | None:
        """What ``Board.named`` reads as this constraint, as in "cage(10 r1c1 r1c2)"; None for a kind without a text."""
        return None

    def drawing(self, side: int) -> tuple[Symbol, ...]:
        """How pictures show it, a dashed outline with its numbers by default.

        Empty for rules for pairs all over the board, whose names stand below a picture.
        """
        return (Symbol("cage", self.cells, ",".join(map(str, self.numbers))),)

    def described(self, side: int) -> str:
        """Its name, cells and numbers in words, as in "cage of r1c1 and r1c2 with a total of 10"."""
        *rest, last = (cell_name(cell, side) for cell in self.cells)
        cells = f"{', '.join(rest)} and {last}" if rest else last
        return f"{self.name} of {cells}{self.details(side)}"

    def details(self, side: int) -> str:
        """Its numbers in words, behind its cells in ``described``, as in " with a total of 10"."""
        return ""

    def normalized(self) -> Self:
        """The form that this constraint shares with all that mean the same."""
        return dataclasses.replace(
            self, cells=tuple(cell for _, cell in sorted(zip(self.roles, self.cells, strict=True)))
        )

    def image(self, cells: Sequence[int]) -> Self:
        """The constraint after cell c of the board has moved to ``cells[c]``."""
        return dataclasses.replace(self, cells=tuple(cells[cell] for cell in self.cells))

    def checked(self, side: int) -> Self:
        """This constraint, checked for a board of this side.

        Raises:
          ValueError: a cell is off the board or repeated, a number is out of range, or ``check`` fails. The message
            names the constraint.
        """
        try:
            outside = [cell for cell in self.cells if not 0 <= cell < side**2]
            if outside:
                raise ValueError(f"cell {outside[0]} is off a board of {side}x{side}")
            if len(set(self.cells)) < len(self.cells):
                raise ValueError("a cell occurs twice")
            if any(not 0 <= number < 1 << 16 for number in self.numbers):
                raise ValueError(f"numbers {self.numbers}; they must lie in 0..65535")
            self.check(side)
        except ValueError as error:
            raise ValueError(f"{self.name} of {cells_text(self.cells, side) or 'no cells'}: {error}") from None
        return self


class BoardShape(Protocol):
    """What constraints are made from: the side of a board and its boxes or regions, as in ``Board``."""

    @property
    def side(self) -> int:
        """The number of digits."""

    @property
    def region_houses(self) -> tuple[tuple[int, ...], ...]:
        """The cells of each box or region."""

    @property
    def region_labels(self) -> tuple[int, ...]:
        """The number of each cell's box or region."""


@dataclasses.dataclass(frozen=True)
class Group:
    """Constraints of one kind and one number of cells, which are pruned together.

    Attributes:
      kind: the kind.
      cells: int32[constraints, cells].
      numbers: int32[constraints, numbers].
    """

    kind: Constraint
    cells: np.ndarray
    numbers: np.ndarray

    def constraints(self) -> list[Constraint]:
        """The constraints one by one."""
        return [
            dataclasses.replace(self.kind, cells=cells, numbers=numbers)
            for cells, numbers in zip(self.cells.tolist(), self.numbers.tolist(), strict=True)
        ]


def grouped(constraints: Iterable[Constraint]) -> list[Group]:
    """The groups of constraints."""
    found: dict[tuple[Constraint, int], list[Constraint]] = {}
    for constraint in constraints:
        found.setdefault((constraint.kind, len(constraint.cells)), []).append(constraint)
    return [
        Group(
            kind, np.array([one.cells for one in group], np.int32), np.array([one.numbers for one in group], np.int32)
        )
        for (kind, _), group in found.items()
    ]


def namespace(array: Any) -> Any:
    """The array functions for an array: ``numpy`` or ``jax.numpy``."""
    return array.__array_namespace__()


def cell_name(cell: int, side: int) -> str:
    """The name of a cell, as in "r4c7"."""
    return f"r{cell // side + 1}c{cell % side + 1}"


def begins_at_edge(cells: Sequence[int], side: int) -> bool:
    """Whether cells lie in a row, column or diagonal that begins at an edge of the board."""
    places = [divmod(cell, side) for cell in cells]
    steps = {(row - above, column - left) for (above, left), (row, column) in itertools.pairwise(places)}
    if len(steps) != 1:
        return False
    ((down, right),) = steps
    row, column = places[0]
    return max(abs(down), abs(right)) == 1 and not (0 <= row - down < side and 0 <= column - right < side)


def outside(cells: Sequence[int], text: str, side: int) -> Symbol:
    """A number beside the first cell of a line, outside the board; a label where the line begins inside."""
    return Symbol("outside" if begins_at_edge(cells, side) else "cage", tuple(cells), text)


def neighbours(cells: Sequence[int], side: int) -> bool:
    """Whether two cells share an edge."""
    one, other = cells
    return abs(one // side - other // side) + abs(one % side - other % side) == 1


def cells_text(cells: Sequence[int], side: int) -> str:
    """The names of cells, as in "r4c7 r4c8"."""
    return " ".join(cell_name(cell, side) for cell in cells)


def halves(value: int) -> tuple[int, int]:
    """A number of up to 31 bits as two ``Constraint.numbers``: its lower 16 bits and the others."""
    return value & 0xFFFF, value >> 16


def whole(numbers: Sequence[Any]) -> Any:
    """The inverse of ``halves``, for arrays as in ``prune``."""
    return numbers[0] | (numbers[1] << 16)


def pairs_of(cells: Sequence[Any]) -> list[Any]:
    """The first and the last of some cells, the second and the one before the last, ...; without one in the middle."""
    return list(zip(cells[: len(cells) // 2], cells[::-1], strict=False))


def by_pairs(cells: tuple[int, ...]) -> tuple[int, ...]:
    """The order of cells that all share whose ``pairs_of`` are the same sets."""
    pairs = sorted(tuple(sorted(pair)) for pair in pairs_of(cells))
    middle = cells[len(cells) // 2 : (len(cells) + 1) // 2]
    return (*(one for one, _ in pairs), *middle, *(other for _, other in reversed(pairs)))


def single(mask: Any) -> Any:
    """A mask where it has one bit, else 0."""
    return namespace(mask).where(mask & (mask - 1) == 0, mask, 0)


def union(masks: Sequence[Any]) -> Any:
    """OR of masks."""
    return functools.reduce(lambda x, y: x | y, masks)


def prefixes(items: Sequence[Any], start: Any, step: Callable[[Any, Any], Any]) -> list[Any]:
    """``start``, ``step(start, items[0])``, ... one value more than items."""
    values = [start]
    for item in items:
        values.append(step(values[-1], item))
    return values
