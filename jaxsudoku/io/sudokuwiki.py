"""Strings of sudokuwiki.org: Sudokus, jigsaws, killers and KenKens, as texts or in links.

A packed string is a header, as "J9B" (the kind of puzzle, its side, the version), and for each cell a number in base
36, of as many characters as the largest one has. The bits of the number are fields, the highest first: the region, the
colour of the cage, the total, and the content.

- Cells of one colour that touch each other by an edge are a cage, and one of its cells has the total. In a KenKen the
  first cell has the total, and the cell to its right, or else below, has the operation.
- The content is 0 for an open cell, a clue as 1..side, a digit entered in play as side + 1..2 side, or 2 side + the sum
  of 2**(digit - 1) over the candidates.

Older links hold as the parameter ``bd`` 81 clues; or 162 characters, the candidates and the mark of a clue of each cell
in base 32; or for a killer 81 colours, a comma and 81 totals of two digits; or these two packed in base 32, a comma and
the candidates. Their regions are the parameter ``jigmap``.

Candidates and digits entered in play are kept: they are the candidates of the puzzle.
"""

from __future__ import annotations

import functools
import itertools
import math
import re
import string
import urllib.parse
from collections.abc import Iterator, Sequence

import numpy as np

from jaxsudoku.core.board import Board
from jaxsudoku.core.constraints.base import Constraint, cell_name
from jaxsudoku.core.constraints.sums import Cage
from jaxsudoku.core.constraints.variants import calcudoku

from .killer_strings import cages_of
from .variant import VariantPuzzle, board_of_regions, default_board, pieces

_LINK = re.compile(
    r"(?:https?://)?(?:www\.)?sudokuwiki\.(?:org|com)/(?P<page>[^\s?#]*+)(?:\?(?P<query>[^\s#]*+))?(?:#\S*)?"
)
_PACKED = re.compile(r"([DJKLMSTWX])([3-9GP])([A-Z])([0-9A-Z]{9,})", re.IGNORECASE)
#: Kinds of puzzles and their version: the fields of a cell before its content.
_FIELDS = {
    "SB": (),
    "XB": (),
    "WB": (),
    "JB": ("region",),
    "LB": ("colour", "total"),
    "MB": ("region", "colour", "total"),
    "KC": ("colour", "total"),
    "DC": ("colour", "total"),
}
#: Boards with extra houses and the kinds of their puzzles.
_EXTRA = {"diagonal": "X", "windoku": "W"}
_COLOURS, _MOST_KEN_TOTAL = 5, 2047
_OPERATIONS = " +-*/"
_DIGITS = string.digits + string.ascii_lowercase
_KILLER = re.compile(r"([1-9]{81}),(\d{162})|([0-9a-v]{162}),([0-9a-v]{162})", re.IGNORECASE)
_CELLS = 81

Fields = dict[str, list[int]]


def is_sudokuwiki(text: str) -> bool:
    """Whether a text is a link to sudokuwiki or one of its strings; it may be malformed."""
    is_square = math.isqrt(len(text)) ** 2 == len(text)  # a grid of letters
    packed = _PACKED.fullmatch(text) and not is_square
    return bool(packed or _LINK.fullmatch(text) or _KILLER.fullmatch(text))


def read_sudokuwiki(text: str) -> VariantPuzzle:
    """The puzzle of a text for which ``is_sudokuwiki`` holds.

    Raises:
      ValueError: it is malformed, or of a kind that is not read.
    """
    link = _LINK.fullmatch(text)
    page, query = ("", {"bd": [text]}) if link is None else (link["page"], urllib.parse.parse_qs(link["query"] or ""))
    values = {name.lower(): value[0] for name, value in query.items()}
    if "bd" not in values:
        raise ValueError("the link to sudokuwiki has no puzzle: no parameter bd")
    if (packed := _PACKED.fullmatch(values["bd"])) is not None and len(values["bd"]) != 2 * _CELLS:
        return _packed(packed[1].upper(), int(packed[2], 36), packed[3].upper(), packed[4])
    return _older(page, values)


# ---------------------------------------------------------------------- packed strings


def _packed(kind: str, side: int, version: str, text: str) -> VariantPuzzle:
    names = _FIELDS.get(kind + version)
    if names is None:
        read = ", ".join(sorted(f"{known[0]}n{known[1]}" for known in _FIELDS))
        raise ValueError(f"a string {kind}{side}{version} of sudokuwiki; those read are {read}")
    fields = _fields(text, side, _most(kind + version, side))
    board = default_board(side)
    if kind == "K":
        board = Board.classic(side, box=(1, side))
    elif kind in "JM":
        board = board_of_regions(fields["region"])
    elif board.box == (1, side):
        raise ValueError(f"a board of side {side} has no boxes")
    elif kind in _EXTRA.values():
        board = Board.named(f"{next(name for name, known in _EXTRA.items() if known == kind)}-{side}")
    if "colour" not in fields:
        return _puzzle(board, *_contents(fields["content"], side))
    roots = pieces(side, lambda one, other: fields["colour"][one] == fields["colour"][other])
    if kind in "KD":
        return _puzzle(board, *_contents(fields["content"], side), *_calculations(roots, fields["total"], side))
    return _puzzle(board, *_contents(fields["content"], side), *cages_of(roots, _totals(roots, fields["total"]), side))


def _most(kind: str, side: int) -> dict[str, int]:
    """The largest value of each field of the cells of a kind of puzzle, the field of the highest bits first."""
    most_total = side * (side + 1) // 2
    if kind in ("KC", "DC"):
        most_total = min(_MOST_KEN_TOTAL, side**3 * (side - 1) * (side - 2))
    most = {"region": side - 1, "colour": _COLOURS - 1, "total": most_total, "content": 2**side - 1 + 2 * side}
    return {name: most[name] for name in (*_FIELDS[kind], "content")}


def _width(most: dict[str, int]) -> int:
    """The number of characters of a cell with such fields."""
    largest = functools.reduce(lambda found, value: found << value.bit_length() | value, most.values(), 0)
    return next(width for width in itertools.count(1) if largest < 36**width)


def _fields(text: str, side: int, most: dict[str, int]) -> Fields:
    """The values of each field of all cells, all from 0.

    Args:
      text: the numbers of the cells.
      side: the side of the board.
      most: as ``_most`` gives it.
    """
    width = _width(most)
    if len(text) != width * side**2:
        raise ValueError(f"{len(text)} characters after the header; it has {width} for each of {side**2} cells")
    found: Fields = {name: [] for name in most}
    for cell, number in enumerate(int(text[at : at + width], 36) for at in range(0, len(text), width)):
        for name in reversed(most):
            bits = most[name].bit_length()
            found[name].append(number & (1 << bits) - 1)
            number >>= bits
            if found[name][-1] > most[name]:
                raise ValueError(f"{cell_name(cell, side)}: the {name} {found[name][-1]} is above {most[name]}")
        if number:
            raise ValueError(f"{cell_name(cell, side)}: its number is too large")
    return found


def _contents(values: Sequence[int], side: int) -> tuple[list[int], list[int]]:
    """The clues of all cells, 0 for none, and their candidates as bits."""

    def mask(value: int) -> int:
        if value > 2 * side:
            return value - 2 * side
        return 1 << (value - 1) % side if value else 2**side - 1

    return [value if value <= side else 0 for value in values], list(map(mask, values))


def _totals(roots: Sequence[int], values: Sequence[int]) -> dict[int, int]:
    """The total of each cage, by its first cell; one of its cells has it."""
    totals = dict.fromkeys(roots, 0)
    for root, value in zip(roots, values, strict=True):
        if value and totals[root]:
            raise ValueError(f"a cage has two totals, {totals[root]} and {value}: cages of one colour touch")
        totals[root] += value
    return totals


def _calculations(roots: list[int], values: list[int], side: int) -> tuple[np.ndarray, list[Constraint]]:
    """The givens and the constraints of the cages of a KenKen."""
    grid, cages = np.zeros(side**2, np.uint8), []
    for root in dict.fromkeys(roots):
        cells = [cell for cell in range(side**2) if roots[cell] == root]
        place, other = cell_name(root, side), next((cell for cell in (root + 1, root + side) if cell in cells), root)
        if not values[root] or any(values[cell] for cell in cells if cell not in (root, other)):
            raise ValueError(
                f"the cage of {place} has no total in its first cell, or more than a total and an operation"
            )
        if other == root:
            if values[root] > side:
                raise ValueError(f"{place} is given as {values[root]}")
            grid[root] = values[root]
        elif 0 < values[other] < len(_OPERATIONS):
            cages.append((cells, values[root], _OPERATIONS[values[other]]))
        else:
            raise ValueError(f"the cage of {place} has no operation")
    return grid, calcudoku(cages, side)


def _puzzle(
    board: Board,
    givens: Sequence[int],
    masks: Sequence[int],
    grid: np.ndarray | None = None,
    constraints: Sequence[Constraint] = (),
) -> VariantPuzzle:
    """The puzzle of clues and candidates, and of cages and the digits that those of one cell are."""
    found = np.array(givens, np.uint8) if grid is None else np.where(grid > 0, grid, givens)
    allowed = np.array([masks], np.int64) >> np.arange(board.side)[:, None] & 1 > 0
    filled = np.flatnonzero(found)
    if len(other := filled[~allowed[found[filled] - 1, filled]]):
        cell = int(other[0])
        raise ValueError(f"{cell_name(cell, board.side)} is given as {found[cell]}, which is none of its candidates")
    allowed[:, filled] = True
    return VariantPuzzle(board, found, tuple(constraints), candidates=None if allowed.all() else allowed)


# ---------------------------------------------------------------------- writing


def write_sudokuwiki(puzzle: VariantPuzzle) -> str:
    """The packed string of a puzzle, which ``read_sudokuwiki`` reads as the same one.

    A given digit of a killer that is in no cage is a cage of its own.

    Raises:
      ValueError: sudokuwiki has no string for the size of the board, its extra houses, or a constraint that is
        no killer cage; or a cell of a killer is in no cage, or a cage is not connected.
    """
    board, side = puzzle.board, puzzle.board.side
    size = next((character for character in "3456789GP" if int(character, 36) == side), None)
    default = default_board(side)
    jigsaw = set(board.region_houses) != set(default.region_houses)
    kind: str | None = "SLJM"[2 * jigsaw + bool(puzzle.constraints)]
    if board.extra:
        kind = _EXTRA.get((board.name or "").removesuffix(f"-{side}")) if kind == "S" else None
    if size is None or kind is None or (not jigsaw and default.box == (1, side)):
        raise ValueError(f"sudokuwiki has no string for this puzzle of {board}")
    contents = puzzle.grid.tolist()
    for cell in np.flatnonzero(puzzle.grid == 0).tolist():
        allowed = range(side) if puzzle.candidates is None else np.flatnonzero(puzzle.candidates[:, cell]).tolist()
        contents[cell] = 2 * side + sum(1 << digit for digit in allowed)
    fields: Fields = {"region": list(board.region_labels), "content": contents}
    if puzzle.constraints:
        fields |= _written_cages(puzzle)
    most = _most(f"{kind}B", side)
    width, text = _width(most), ""
    for cell in range(board.cells):
        number = 0
        for name, value in most.items():
            number = number << value.bit_length() | fields[name][cell]
        text += "".join(_DIGITS[number // 36**place % 36] for place in reversed(range(width)))
    return f"{kind}{size}B{text}"


def _written_cages(puzzle: VariantPuzzle) -> Fields:
    """The colours and totals of the cages of a killer."""
    side, grid = puzzle.board.side, puzzle.grid
    for one in puzzle.constraints:
        if not isinstance(one, Cage):
            raise ValueError(f"sudokuwiki has nothing for the {one.name} of {cell_name(one.cells[0], side)}")
    cages = [(one.cells, one.numbers[0]) for one in puzzle.constraints]
    caged = {cell for cells, _ in cages for cell in cells}
    cages += [((cell,), int(digit)) for cell, digit in enumerate(grid.tolist()) if digit and cell not in caged]
    numbers = {cell: number for number, (cells, _) in enumerate(cages) for cell in cells}
    if len(numbers) < side**2:
        missing = next(cell for cell in range(side**2) if cell not in numbers)
        raise ValueError(f"{cell_name(missing, side)} is in no cage; a killer of sudokuwiki has cages everywhere")
    roots = pieces(side, lambda one, other: numbers[one] == numbers[other])
    if len(set(roots)) > len(cages):
        raise ValueError("a cage is not connected, as those of sudokuwiki are")
    pairs = [(cell, cell + step) for cell in range(side**2) for step in (1, side) if step > 1 or (cell + 1) % side]
    touching = {frozenset((numbers[one], numbers[other])) for one, other in pairs if other < side**2}
    colours = _coloured(len(cages), touching)
    totals = [cages[numbers[cell]][1] if roots[cell] == cell else 0 for cell in range(side**2)]
    return {"colour": [colours[numbers[cell]] for cell in range(side**2)], "total": totals}


def _coloured(count: int, touching: set[frozenset[int]]) -> list[int]:
    """Colours of cages of which no two that touch have the same, by backtracking; four are enough on a plane."""
    colours: list[int] = []
    first = 0
    while len(colours) < count:
        used = {colour for number, colour in enumerate(colours) if frozenset((number, len(colours))) in touching}
        colour = next((colour for colour in range(first, _COLOURS) if colour not in used), None)
        if colour is None:
            first = colours.pop() + 1
        else:
            colours.append(colour)
            first = 0
    return colours


# ---------------------------------------------------------------------- older links


def _older(page: str, values: dict[str, str]) -> VariantPuzzle:
    """The puzzle of a link without a header, or of a killer's string; its board is 9x9."""
    name = re.sub(r"_|print|player|solver|\.\w*$", "", page.lower())
    board = Board.classic()
    if "jigmap" in values:
        if not re.fullmatch(r"[1-9]{81}", values["jigmap"]):
            raise ValueError("the parameter jigmap is not 81 digits from 1 to 9")
        board = board_of_regions([int(label) for label in values["jigmap"]])
    elif "shape" in values or "jigsaw" in name:
        raise ValueError("the link names a jigsaw of sudokuwiki without its regions: no parameter jigmap")
    text = values["bd"]
    killer = _KILLER.fullmatch(text)
    if killer is not None:
        return _older_killer(board, killer)
    if name in ("sudokux", "xsudoku"):
        board = Board.diagonal()
    elif name == "windoku":
        board = Board.windoku()
    elif name != "sudoku" and "jigsaw" not in name:
        raise ValueError(f"a string {text[:20]!r} on the page {page!r} of sudokuwiki is not read")
    if re.fullmatch(r"[0-9.]{81}", text):
        return _puzzle(board, [int(clue) for clue in text.replace(".", "0")], [2**9 - 1] * _CELLS)
    if re.fullmatch(r"[0-9a-v]{162}", text, re.IGNORECASE):
        return _puzzle(board, *_marked(text))
    raise ValueError("the parameter bd is neither 81 clues nor 162 characters in base 32")


def _older_killer(board: Board, match: re.Match[str]) -> VariantPuzzle:
    givens, masks = [0] * _CELLS, [2**9 - 1] * _CELLS
    if match[1]:
        colours, totals = list(map(int, match[1])), [int(match[2][at : at + 2]) for at in range(0, 2 * _CELLS, 2)]
    else:
        packed = list(_pairs(match[3]))
        colours, totals = [value & 7 for value in packed], [value >> 3 for value in packed]
        givens, masks = _marked(match[4])
    roots = pieces(9, lambda one, other: colours[one] == colours[other])
    return _puzzle(board, givens, masks, *cages_of(roots, _totals(roots, totals), 9))


def _pairs(text: str) -> Iterator[int]:
    """Numbers of two characters in base 32."""
    return (int(text[at : at + 2], 32) for at in range(0, len(text), 2))


def _marked(text: str) -> tuple[list[int], list[int]]:
    """The clues and candidates of cells, each twice the candidates as bits, and 1 for a clue."""
    values = list(_pairs(text))
    for cell, value in enumerate(values):
        if value & 1 and (value >> 1).bit_count() != 1:
            raise ValueError(f"{cell_name(cell, 9)} is a clue of {(value >> 1).bit_count()} digits")
    givens = [(value >> 1).bit_length() if value & 1 else 0 for value in values]
    return givens, [value >> 1 or 2**9 - 1 for value in values]
