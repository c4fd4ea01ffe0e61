"""Variants of puzzles by name, as lists of constraints. No JAX.

Each function returns constraints for ``Board.with_`` or for the clues of a puzzle. Cells are numbers, counted row by
row from 0, or names such as "r1c9"; several cells are a sequence, or a text such as "r1c1 r1c2".
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence

from .base import BoardShape, Constraint, cell_name, cells_text, halves
from .chains import Chain
from .digits import Among, Contains
from .lines import Between, EqualSums, Lockout, Palindrome, Periodic, Renban, Zipper
from .outside import Indexed, Sandwich, Skyscraper, XSum
from .sums import Cage, Calculation, Distinct, Sum

#: Cells: numbers, or names in a text or a sequence.
Cells = str | Sequence[int | str]


def cells_of(cells: Cells, side: int) -> tuple[int, ...]:
    """The numbers of cells; raises ValueError for anything but numbers and names of cells."""
    return tuple(_cell(cell, side) for cell in (cells.split() if isinstance(cells, str) else cells))


def _cell(cell: int | str, side: int) -> int:
    if not isinstance(cell, str):
        return int(cell)
    match = re.fullmatch(r"[rR](\d+)[cC](\d+)", cell)
    if match is None:
        raise ValueError(f"{cell!r} is no cell; cells are named as in r4c7")
    row, column = int(match[1]), int(match[2])
    if not (1 <= row <= side and 1 <= column <= side):
        raise ValueError(f"cell {cell} is off a board of {side}x{side}")
    return (row - 1) * side + column - 1


# ---------------------------------------------------------------------- cages and sums


def killer(cages: Iterable[tuple[Cells, int | None]], side: int = 9) -> list[Constraint]:
    """Killer cages: (cells, total) each; the digits of a cage differ. None for a cage without a total.

    Raises:
      ValueError: cages that share a cell.
    """
    found: list[Constraint] = []
    for cells, total in cages:
        numbers = cells_of(cells, side)
        found.append(Distinct(numbers) if total is None else Cage(numbers, (total,)))
    used: set[int] = set()
    for cage in found:
        if shared := used.intersection(cage.cells):
            raise ValueError(f"cell {cell_name(min(shared), side)} is in two cages")
        used.update(cage.cells)
    return found


def little_killer(cells: Cells, total: int, side: int = 9) -> list[Constraint]:
    """A diagonal with a total, on which digits may repeat."""
    return [Sum(cells_of(cells, side), (total,))]


def arrow(circle: Cells, path: Cells, side: int = 9) -> list[Constraint]:
    """An arrow: the digits along the path add up to the number in the circle, of one digit or more in reading order."""
    head, tail = cells_of(circle, side), cells_of(path, side)
    places = tuple(10 ** (len(head) - 1 - place) for place in range(len(head)))
    weights = (*places, *(-1 for _ in tail))
    offset = Sum(weights=weights).offset(side)
    return [Sum((*head, *tail), (offset,), weights)]


def double_arrow(cells: Cells, side: int = 9) -> list[Constraint]:
    """A double arrow: the digits at both ends have the sum of those between them."""
    numbers = cells_of(cells, side)
    weights = (1, *(-1 for _ in numbers[1:-1]), 1)
    return [Sum(numbers, (Sum(weights=weights).offset(side),), weights)]


def calcudoku(cages: Iterable[tuple[Cells, int, str]], side: int = 9) -> list[Constraint]:
    """Calcudoku cages: (cells, total, operation) each, for Latin squares such as ``Board.named("1x6")``.

    The operation is "+", "-", "*" or "/": the sum, the product, or the largest digit minus or divided by the others. A
    cage of one cell holds its total. Digits of a cage may repeat.
    """
    found: list[Constraint] = []
    for cells, total, operation in cages:
        numbers = cells_of(cells, side)
        is_sum = operation == "+" or len(numbers) == 1
        found.append(Sum(numbers, (total,)) if is_sum else Calculation(numbers, halves(total), operation))
    return found


# ---------------------------------------------------------------------- lines


def thermometer(cells: Cells, side: int = 9) -> list[Constraint]:
    """A thermometer: digits increase from the bulb on."""
    return [Chain(cells_of(cells, side), (), "less")]


def slow_thermometer(cells: Cells, side: int = 9) -> list[Constraint]:
    """A slow thermometer: digits do not decrease from the bulb on."""
    return [Chain(cells_of(cells, side), (), "not more")]


def whispers(cells: Cells, distance: int = 5, side: int = 9) -> list[Constraint]:
    """A whispers line: neighbouring digits differ by at least ``distance``."""
    return [Chain(cells_of(cells, side), (), f"at least apart {distance}")]


def renban(cells: Cells, side: int = 9) -> list[Constraint]:
    """A renban line: its digits are consecutive and differ, in any order."""
    return [Renban(cells_of(cells, side))]


def nabner(cells: Cells, side: int = 9) -> list[Constraint]:
    """A nabner line: no two of its digits are equal or consecutive."""
    return [Distinct(cells_of(cells, side), (), 2)]


def palindrome(cells: Cells, side: int = 9) -> list[Constraint]:
    """A palindrome: the digits are the same in both directions."""
    return [Palindrome(cells_of(cells, side))]


def between(cells: Cells, side: int = 9) -> list[Constraint]:
    """A between line: its digits lie strictly between those of its two ends."""
    return [Between(cells_of(cells, side))]


def lockout(cells: Cells, distance: int = 4, side: int = 9) -> list[Constraint]:
    """A lockout line: its ends differ by at least ``distance``, and no other digit lies between them or equals one."""
    return [Lockout(cells_of(cells, side), (), distance)]


def region_sums(segments: Iterable[Cells], side: int = 9) -> list[Constraint]:
    """A region sum line: the cells of each segment have the same sum."""
    parts = [cells_of(segment, side) for segment in segments]
    return [EqualSums(tuple(cell for part in parts for cell in part), (), tuple(map(len, parts)))]


def zipper(cells: Cells, side: int = 9) -> list[Constraint]:
    """A zipper line: pairs of cells as far from the middle have the same sum, which the cell in the middle holds."""
    return [Zipper(cells_of(cells, side))]


def entropic(cells: Cells, side: int = 9) -> list[Constraint]:
    """An entropic line: each three successive cells hold a low, a middle and a high digit."""
    return [Periodic(cells_of(cells, side), (), 3, True)]


def modular(cells: Cells, side: int = 9) -> list[Constraint]:
    """A modular line: the digits of each three successive cells have different remainders by 3."""
    return [Periodic(cells_of(cells, side), (), 3)]


def parity(cells: Cells, side: int = 9) -> list[Constraint]:
    """A parity line: odd and even digits alternate."""
    return [Periodic(cells_of(cells, side), (), 2)]


# ---------------------------------------------------------------------- pairs


def kropki(white: Iterable[Cells] = (), black: Iterable[Cells] = (), side: int = 9) -> list[Constraint]:
    """Kropki dots on pairs of cells: white for consecutive digits, black for a digit and its double."""
    return difference(white, 1, side) + ratio(black, 2, side)


def difference(pairs: Iterable[Cells], n: int, side: int = 9) -> list[Constraint]:
    """Pairs of cells whose digits differ by ``n``."""
    return _related(pairs, f"differ by {n}", side)


def ratio(pairs: Iterable[Cells], n: int, side: int = 9) -> list[Constraint]:
    """Pairs of cells with a digit and ``n`` times this digit."""
    return _related(pairs, f"times {n}", side)


def xv(x: Iterable[Cells] = (), v: Iterable[Cells] = (), side: int = 9) -> list[Constraint]:
    """Pairs of cells that add up to 10 (X) or 5 (V)."""
    return _related(x, "add to 10", side) + _related(v, "add to 5", side)


def futoshiki(pairs: Iterable[Cells], side: int = 9) -> list[Constraint]:
    """Inequalities: pairs of a cell with a smaller digit and one with a larger digit."""
    return _related(pairs, "less", side)


def clone(cells: Cells, others: Cells, side: int = 9) -> list[Constraint]:
    """A clone: two groups of cells with the same digits in the same order."""
    pairs = zip(cells_of(cells, side), cells_of(others, side), strict=True)
    return _related(pairs, "equal", side)


def _related(pairs: Iterable[Cells], relation: str, side: int) -> list[Constraint]:
    found: list[Constraint] = [Chain(cells_of(pair, side), (), relation) for pair in pairs]
    if wrong := next((one for one in found if len(one.cells) != 2), None):
        raise ValueError(f"a {wrong.name} needs a pair of cells, not {len(wrong.cells)}")
    return found


# ---------------------------------------------------------------------- single cells and groups of cells


def odd(cells: Cells, side: int = 9) -> list[Constraint]:
    """Cells with odd digits."""
    return [Among.of([cell], range(1, side + 1, 2)) for cell in cells_of(cells, side)]


def even(cells: Cells, side: int = 9) -> list[Constraint]:
    """Cells with even digits."""
    return [Among.of([cell], range(2, side + 1, 2)) for cell in cells_of(cells, side)]


def minimum(cells: Cells, side: int = 9) -> list[Constraint]:
    """Cells with a smaller digit than the cells above, below, left and right of them."""
    found = [(cell, other) for cell in cells_of(cells, side) for other in _neighbours(cell, side)]
    return _related(dict.fromkeys(found), "less", side)


def maximum(cells: Cells, side: int = 9) -> list[Constraint]:
    """Cells with a larger digit than the cells above, below, left and right of them."""
    found = [(other, cell) for cell in cells_of(cells, side) for other in _neighbours(cell, side)]
    return _related(dict.fromkeys(found), "less", side)


def quadruple(cells: Cells, values: Iterable[int], side: int = 9) -> list[Constraint]:
    """A quadruple: the digits ``values`` are among those of the cells, each as often as it is given."""
    return [Contains(cells_of(cells, side), tuple(sorted(values)))]


def distinct(cells: Cells, side: int = 9) -> list[Constraint]:
    """An extra region: its digits differ."""
    return [Distinct(cells_of(cells, side))]


# ---------------------------------------------------------------------- lines of the board


def sandwich(cells: Cells, total: int, side: int = 9) -> list[Constraint]:
    """A sandwich: the digits of a row or column between 1 and the largest digit add up to the total."""
    return [Sandwich(cells_of(cells, side), (total,))]


def skyscraper(cells: Cells, count: int, side: int = 9) -> list[Constraint]:
    """Skyscrapers: from the first cell on, ``count`` digits of the line are larger than all before them."""
    return [Skyscraper(cells_of(cells, side), (count,))]


def x_sum(cells: Cells, total: int, side: int = 9) -> list[Constraint]:
    """An X-sum: the first X digits of a row or column add up to the total, where X is the first digit."""
    return [XSum(cells_of(cells, side), (total,))]


def numbered_room(cells: Cells, digit: int, side: int = 9) -> list[Constraint]:
    """A numbered room: the digit is in the Nth cell of a row or column, where N is the digit of the first cell."""
    return [Indexed(cells_of(cells, side), (digit,), 0)]


def row_indexer(cells: Cells, side: int = 9) -> list[Constraint]:
    """Row indexers: a cell of row r tells the row of its column that holds digit r."""
    found: list[Constraint] = []
    for cell in cells_of(cells, side):
        row, column = divmod(cell, side)
        found.append(Indexed(tuple(range(column, side * side, side)), (row + 1,), row))
    return found


def column_indexer(cells: Cells, side: int = 9) -> list[Constraint]:
    """Column indexers: a cell of column c tells the column of its row that holds digit c."""
    found: list[Constraint] = []
    for cell in cells_of(cells, side):
        row, column = divmod(cell, side)
        found.append(Indexed(tuple(range(row * side, row * side + side)), (column + 1,), column))
    return found


def box_indexer(cells: Cells, board: BoardShape) -> list[Constraint]:
    """Box indexers: the cell at place p of its box tells the place in this box that holds digit p, in reading order."""
    found: list[Constraint] = []
    for cell in cells_of(cells, board.side):
        box = board.region_houses[board.region_labels[cell]]
        found.append(Indexed(box, (box.index(cell) + 1,), box.index(cell)))
    return found


# ---------------------------------------------------------------------- the whole board


def anti_knight(side: int = 9) -> list[Constraint]:
    """Cells a knight's move apart hold different digits."""
    return _apart(((1, 2), (2, 1), (1, -2), (2, -1)), "different", side)


def anti_king(side: int = 9) -> list[Constraint]:
    """Cells that touch at a corner hold different digits."""
    return _apart(((1, 1), (1, -1)), "different", side)


def non_consecutive(side: int = 9) -> list[Constraint]:
    """Neighbouring cells hold no consecutive digits."""
    return not_difference(1, side=side)


def not_difference(n: int, pairs: Iterable[Cells] = (), side: int = 9) -> list[Constraint]:
    """Neighbouring cells do not differ by ``n``, except for some pairs: the negative rule of differences."""
    return _apart(((0, 1), (1, 0)), f"not differ by {n}", side, pairs)


def not_ratio(n: int, pairs: Iterable[Cells] = (), side: int = 9) -> list[Constraint]:
    """No neighbouring cells hold a digit and ``n`` times it, except for some pairs: the negative rule of ratios."""
    return _apart(((0, 1), (1, 0)), f"not times {n}", side, pairs)


def not_add_to(totals: Iterable[int], pairs: Iterable[Cells] = (), side: int = 9) -> list[Constraint]:
    """Neighbouring cells do not add up to any total, except for some pairs: the negative rule of XV for 10 and 5."""
    excepted = list(pairs)
    return [one for total in totals for one in _apart(((0, 1), (1, 0)), f"not add to {total}", side, excepted)]


def _apart(
    moves: Iterable[tuple[int, int]], relation: str, side: int, excepted: Iterable[Cells] = ()
) -> list[Constraint]:
    """The relation on all pairs of cells that are one of these moves (rows, columns) apart, but for excepted ones."""
    without = {frozenset(cells_of(pair, side)) for pair in excepted}
    pairs = [
        (row * side + column, (row + down) * side + column + right)
        for down, right in moves
        for row in range(side - down)
        for column in range(side)
        if 0 <= column + right < side
    ]
    if unknown := without.difference(map(frozenset, pairs)):
        names = cells_text(sorted(next(iter(unknown))), side)
        raise ValueError(f"{names} are no pair of neighbouring cells")
    return [Chain(pair, (), relation) for pair in pairs if frozenset(pair) not in without]


def _neighbours(cell: int, side: int) -> list[int]:
    """The cells above, left, right and below."""
    row, column = divmod(cell, side)
    places = [(row - 1, column), (row, column - 1), (row, column + 1), (row + 1, column)]
    return [r * side + c for r, c in places if 0 <= r < side and 0 <= c < side]
