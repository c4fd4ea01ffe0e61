"""Texts of constraints, as in "thermometer(r1c1 r1c2 r1c3)" and "anti-knight". No JAX.

A text is a name and, in parentheses, numbers and then cells; groups of cells are separated by commas.
``Constraint.text`` writes the text of a constraint, ``read`` reads texts, and ``CONSTRAINTS`` has their names.
"""

from __future__ import annotations

import dataclasses
import re
from collections.abc import Callable, Iterable, Sequence
from typing import Any

from jaxsudoku.runtime.suggestions import did_you_mean

from . import variants
from .base import BoardShape, Constraint
from .chains import RELATIONS, TEXTS, Chain
from .digits import Among
from .outside import Indexed
from .sums import Sum
from .variants import cells_of

#: A cell in a text, with its weight in a sum: "r1c1", "-r1c1", "2*r1c1".
_CELL = re.compile(r"(-?)(?:(\d+)\*)?(r\d+c\d+)")
_MANY = 1 << 16


@dataclasses.dataclass(frozen=True)
class Form:
    """How a constraint is written.

    Attributes:
      make: the constraints, from the numbers, the groups of cells (names each), and the board.
      usage: what stands in the parentheses, in words.
      numbers, groups: the fewest and the most numbers, and groups of cells.
    """

    make: Callable[[list[Any], list[list[str]], BoardShape], list[Constraint]]
    usage: str = "CELLS"
    numbers: tuple[int, int] = (0, 0)
    groups: tuple[int, int] = (1, 1)


def _line(function: Callable[..., list[Constraint]], usage: str = "", fewest: int = 1) -> Form:
    """A function of cells and, if ``usage`` names it, a number, which may be absent if ``fewest`` is 0."""
    counts = (fewest, 1) if usage else (0, 0)
    return Form(
        lambda values, groups, board: function(*groups, *values, side=board.side), f"{usage} CELLS".strip(), counts
    )


def _whole(function: Callable[..., list[Constraint]]) -> Form:
    """A function of the side alone."""
    return Form(lambda values, groups, board: function(side=board.side), "", groups=(0, 0))


def _negative(function: Callable[..., list[Constraint]], most: int = 1) -> Form:
    """A function of numbers and of pairs that are excepted."""

    def make(values: list[Any], groups: list[list[str]], board: BoardShape) -> list[Constraint]:
        return function(values if most > 1 else values[0], groups, side=board.side)

    return Form(make, f"NUMBER{'S' * (most > 1)} [CELLS, CELLS ...]", (1, most), (0, _MANY))


def _chain(relation: str) -> Form:
    """A chain of a relation."""
    numbered = int(RELATIONS[relation].__code__.co_argcount > 2)

    def make(values: list[Any], groups: list[list[str]], board: BoardShape) -> list[Constraint]:
        return [Chain(cells_of(groups[0], board.side), (), " ".join((relation, *map(str, values))))]

    return Form(make, "NUMBER CELLS" if numbered else "CELLS", (numbered, numbered))


def _sum(values: list[Any], groups: list[list[str]], board: BoardShape) -> list[Constraint]:
    parts = [_CELL.fullmatch(cell) for cell in groups[0]]
    found = [part.groups() for part in parts if part]
    weights = tuple(int(factor or 1) * (-1 if sign else 1) for sign, factor, _ in found)
    cells = cells_of([cell for *_, cell in found], board.side)
    total = values[0] + Sum(weights=weights).offset(board.side)
    return [Sum(cells, (total,), () if set(weights) == {1} else weights)]


def _calcudoku(values: list[Any], groups: list[list[str]], board: BoardShape) -> list[Constraint]:
    match = re.fullmatch(r"(\d+)([-+*/])", str(values[0]))
    if match is None:
        raise ValueError(f"{values[0]!r} is no total with an operation, as in 12*")
    return variants.calcudoku([(groups[0], int(match[1]), match[2])], board.side)


#: All constraints by their names in texts.
CONSTRAINTS: dict[str, Form] = {
    "anti-king": _whole(variants.anti_king),
    "anti-knight": _whole(variants.anti_knight),
    "non-consecutive": _whole(variants.non_consecutive),
    "not-difference": _negative(variants.not_difference),
    "not-ratio": _negative(variants.not_ratio),
    "not-add-to": _negative(variants.not_add_to, _MANY),
    "cage": Form(
        lambda values, groups, board: variants.killer([(groups[0], *(values or [None]))], board.side),
        "[TOTAL] CELLS",
        (0, 1),
    ),
    "sum": Form(_sum, "TOTAL [NUMBER*]CELLS", (1, 1)),
    "little-killer": _line(variants.little_killer, "TOTAL"),
    "arrow": Form(
        lambda values, groups, board: variants.arrow(groups[0], groups[1], board.side), "CIRCLE, PATH", groups=(2, 2)
    ),
    "double-arrow": _line(variants.double_arrow),
    "calcudoku": Form(_calcudoku, "12* CELLS", (1, 1)),
    "distinct": _line(variants.distinct),
    **{name: _chain(relation) for relation, name in TEXTS.items() if name != "whispers"},
    "whispers": _line(variants.whispers, "[DISTANCE]", 0),
    "white-dot": Form(lambda values, groups, board: variants.kropki(white=groups, side=board.side)),
    "black-dot": Form(lambda values, groups, board: variants.kropki(black=groups, side=board.side)),
    "futoshiki": Form(lambda values, groups, board: variants.futoshiki(groups, board.side), "SMALLER LARGER"),
    "clone": Form(
        lambda values, groups, board: variants.clone(groups[0], groups[1], board.side), "CELLS, CELLS", groups=(2, 2)
    ),
    "renban": _line(variants.renban),
    "nabner": _line(variants.nabner),
    "palindrome": _line(variants.palindrome),
    "between": _line(variants.between),
    "lockout": _line(variants.lockout, "[DISTANCE]", 0),
    "region-sums": Form(
        lambda values, groups, board: variants.region_sums(groups, board.side), "CELLS, CELLS ...", groups=(2, _MANY)
    ),
    "zipper": _line(variants.zipper),
    "entropic": _line(variants.entropic),
    "modular": _line(variants.modular),
    "parity": _line(variants.parity),
    "odd": _line(variants.odd),
    "even": _line(variants.even),
    "digits": Form(
        lambda values, groups, board: [Among.of(cells_of(groups[0], board.side), values)], "DIGITS CELLS", (1, _MANY)
    ),
    "minimum": _line(variants.minimum),
    "maximum": _line(variants.maximum),
    "quadruple": Form(
        lambda values, groups, board: variants.quadruple(groups[0], values, board.side), "DIGITS CELLS", (1, _MANY)
    ),
    "sandwich": _line(variants.sandwich, "TOTAL"),
    "skyscraper": _line(variants.skyscraper, "COUNT"),
    "x-sum": _line(variants.x_sum, "TOTAL"),
    "numbered-room": _line(variants.numbered_room, "DIGIT"),
    "row-indexer": _line(variants.row_indexer),
    "column-indexer": _line(variants.column_indexer),
    "box-indexer": Form(lambda values, groups, board: variants.box_indexer(groups[0], board)),
    "indexed": Form(
        lambda values, groups, board: [Indexed(cells_of(groups[0], board.side), (values[1],), values[0] - 1)],
        "PLACE DIGIT CELLS",
        (2, 2),
    ),
}


def read(text: str, board: BoardShape) -> list[Constraint]:
    """The constraints of a text, such as "anti-knight" or "cage(10 r1c1 r1c2)".

    Args:
      text: the text, in lower case.
      board: the board whose cells it names.

    Raises:
      ValueError: an unknown name, numbers or cells that the constraint does not take, or a constraint that does not
        fit the board; the message names it.
    """
    match = re.fullmatch(r"([a-z-]+)\s*(?:\(([^()]*)\))?", text.strip())
    if match is None or match[1] not in CONSTRAINTS:
        name = match[1] if match else text
        raise ValueError(f"unknown constraint {name!r}{did_you_mean(name, CONSTRAINTS)}")
    form, groups = CONSTRAINTS[match[1]], [group.split() for group in (match[2] or "").split(",")]
    first = groups[0]
    start = next((place for place, word in enumerate(first) if _CELL.fullmatch(word)), len(first))
    values = [int(word) if word.isdecimal() else word for word in first[:start]]
    groups = [group for group in (first[start:], *groups[1:]) if group]
    for count, (fewest, most) in ((len(values), form.numbers), (len(groups), form.groups)):
        if not fewest <= count <= most:
            usage = f"{match[1]}({form.usage})" if form.usage else match[1]
            raise ValueError(f"{text!r} is written {usage}")
    if match[1] != "calcudoku" and (wrong := next((value for value in values if isinstance(value, str)), None)):
        raise ValueError(f"{wrong!r} in {text!r} is neither a number nor a cell")
    return [one.checked(board.side) for one in form.make(values, groups, board)]


def parts_of(constraints: Sequence[Constraint], board: BoardShape) -> list[str | Constraint]:
    """Constraints in their order, where those of the whole board, such as "anti-knight", are replaced by their name."""
    parts: list[str | Constraint] = []
    names = [name for name, form in CONSTRAINTS.items() if not form.usage] if constraints else []
    every = {name: tuple(CONSTRAINTS[name].make([], [], board)) for name in names}
    place = 0
    while place < len(constraints):
        for name, whole in every.items():
            if whole and tuple(constraints[place : place + len(whole)]) == whole:
                parts.append(name)
                place += len(whole)
                break
        else:
            parts.append(constraints[place])
            place += 1
    return parts


def pieces(text: str) -> Iterable[str]:
    """The parts of a text that are joined by "+" outside of parentheses."""
    parts, depth = [""], 0
    for piece in re.split(r"([+()])", text):
        depth += (piece == "(") - (piece == ")")
        if piece == "+" and depth <= 0:
            parts.append("")
        else:
            parts[-1] += piece
    return parts
