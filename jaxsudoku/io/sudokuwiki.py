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

import dataclasses
import math
import re
import urllib.parse
from collections.abc import Iterator, Sequence

import numpy as np

from jaxsudoku.core.board import Board
from jaxsudoku.core.constraints.base import Constraint, cell_name
from jaxsudoku.core.constraints.variants import calcudoku

from .killer_strings import cages_of
from .variant import VariantPuzzle, board_of_regions, default_board, pieces

_LINK = re.compile(r"(?:https?://)?(?:www\.)?sudokuwiki\.(?:org|com)/(?P<page>[^\s?#]*)(?:\?(?P<query>[^\s#]*))?\S*")
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
_COLOURS, _MOST_KEN_TOTAL = 5, 2047
_OPERATIONS = " +-*/"
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
    most_total = side * (side + 1) // 2
    if kind in "KD":
        most_total = min(_MOST_KEN_TOTAL, side**3 * (side - 1) * (side - 2))
    most = {"region": side - 1, "colour": _COLOURS - 1, "total": most_total, "content": 2**side - 1 + 2 * side}
    fields = _fields(text, side, {name: most[name] for name in (*names, "content")})
    board = default_board(side)
    if kind == "K":
        board = Board.classic(side, box=(1, side))
    elif kind in "JM":
        board = board_of_regions(fields["region"])
    elif board.box == (1, side):
        raise ValueError(f"a board of side {side} has no boxes")
    elif kind in "XW":
        houses = Board.diagonal(side) if kind == "X" else Board.windoku(side)
        board = dataclasses.replace(board, extra=houses.extra)
    if "colour" not in fields:
        return _puzzle(board, *_contents(fields["content"], side))
    roots = pieces(side, lambda one, other: fields["colour"][one] == fields["colour"][other])
    if kind in "KD":
        return _puzzle(board, *_contents(fields["content"], side), *_calculations(roots, fields["total"], side))
    return _puzzle(board, *_contents(fields["content"], side), *cages_of(roots, _totals(roots, fields["total"]), side))


def _fields(text: str, side: int, most: dict[str, int]) -> Fields:
    """The values of each field of all cells, all from 0.

    Args:
      text: the numbers of the cells.
      side: the side of the board.
      most: the largest value of each field, the field of the highest bits first.
    """
    largest = 0
    for value in most.values():
        largest = largest << value.bit_length() | value
    width = next(width for width in range(1, 99) if largest < 36**width)
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
