"""Links of Penpa+: Sudokus with their givens, regions, cages and what else the tags of the puzzle name.

The parameter ``p`` of a link is text, deflated without a header, in base64. Its lines are: 1 the kind of grid, its
columns and rows, title, author and rules; 4 the layers of the question, in JSON with short names; 6 the points of the
cells, as differences; 18 the tags. The parameter ``a`` has the solution, and ``variants`` further tags.

Points have numbers. Of a grid with w columns and h rows, margins of 2 included, there are n = wh of each kind: from 0
the centres of cells, from n their corners below to the right, from 2n the middles of the edges below, from 3n those to
the right, and from 4n four points inside of each cell.

A drawing does not say what it means. So a layer is read only where a tag, or a title such as "Killer Sudoku", names its
rule; any other drawing, tag or rule in words is refused by its name.
"""

from __future__ import annotations

import base64
import binascii
import dataclasses
import functools
import itertools
import json
import math
import re
import urllib.parse
import zlib
from typing import Any

import numpy as np

from jaxsudoku.core.board import MAX_SIDE, Board
from jaxsudoku.core.constraints import variants
from jaxsudoku.core.constraints.base import Constraint, cell_name

from .fpuzzle_entries import GLOBAL
from .json_values import outside_strings
from .rule_words import check_rules
from .variant import VariantPuzzle, board_of_regions, default_board, pieces

_PUZZLES = ("m=edit&p=", "m=solve&p=")
_MOST_BYTES = 1 << 24
_MARGIN = 2
#: Short names of layers.
_NAMES = """
R=command_redo U=command_undo 8=command_replay _=__a S=surface N=number 1=numberS Y=symbol F=freeline 2=freelineE
T=thermo 3=arrows D=direction 0=squareframe 5=polygon L=line E=lineE W=wall C=cage 4=deletelineE 6=killercages
7=nobulbthermo
"""
_SHORT = dict(pair.split("=") for pair in _NAMES.split())
#: Layers that are read, some only with a tag: those of entries, with the least and the most points in their keys, and
#: the least length of their values; and those of paths. Layers without a rule, and the names of those refused.
_ENTRIES = {
    "number": (1, 1, 3),
    "numberS": (1, 1, 1),
    "symbol": (1, 1, 2),
    "line": (1, 2, 0),
    "lineE": (2, 2, 0),
    "cage": (2, 2, 0),
}
_PATHS = ("thermo", "arrows", "killercages")
_PLAIN = {"command_redo", "command_undo", "command_replay", "irregularRegions"}
_REFUSED = {
    "surface": "shaded cells",
    "freeline": "free lines",
    "freelineE": "free lines",
    "direction": "arrows without a circle",
    "squareframe": "frames",
    "polygon": "polygons",
    "wall": "walls",
    "deletelineE": "erased lines of the grid",
    "nobulbthermo": "thermometers without a bulb",
}
#: Tags that are read, and other spellings of some.
_TAGS = {"classic", "irregular", "latin", "killer", "thermo", "arrow", "diagonal", "antiknight", "antiking"}
_TAGS |= {"nonconsecutive", "consecutive", "consecutivepairs", "evenodd"}
_SPELLINGS = {"oddeven": "evenodd", "thermometer": "thermo", "jigsaw": "irregular", "even": "evenodd", "odd": "evenodd"}
#: Tags that are rules of the whole board.
_WHOLE = {**GLOBAL, "nonconsecutive": variants.non_consecutive}
#: Styles of lines that are borders of regions, and of digits that are not givens; and marks of consecutive neighbours.
_THICK = (2, 21)
_CIRCLED = (5, 6, 7, 11)
_BARS = ("bars_G", "circle_SS")


def is_penpa(text: str) -> bool:
    """Whether a text is a link of Penpa+; it may be malformed."""
    return _parameters(text) is not None


def _parameters(text: str) -> str | None:
    """The parameters of a link; "" if it has no puzzle, and None for a text that is no link of Penpa+."""
    places = [text.find(name) for name in _PUZZLES]
    at = max(places)
    link = text[:at] if at >= 0 else text
    if len(text.split()) != 1 or set(link) & set(",;|"):
        return None
    if at >= 0 and (not link or link[-1] in "?#"):
        return text[at:]
    return "" if link.startswith(("http://", "https://")) and "penpa-edit" in link else None


def read_penpa(text: str) -> VariantPuzzle:
    """The puzzle of a text for which ``is_penpa`` holds.

    Raises:
      ValueError: it is damaged, or has a drawing, a tag or a rule in words that is not read.
    """
    parts = (_parameters(text) or "").split("&")
    values = {name: urllib.parse.unquote(value) for name, _, value in (part.partition("=") for part in parts)}
    if not values.get("p") or values["p"].startswith("http"):
        raise ValueError("the link of Penpa+ has no puzzle: no parameter p")
    lines = _inflated(values["p"]).split("\n")
    header = lines[0].split(",")
    if len(lines) < 6 or not all(re.fullmatch(r"\d{1,3}", number) for number in header[1:3]):
        raise ValueError("damaged: a puzzle of Penpa+ has at least 6 lines, the first one with its size")
    if header[0] not in ("square", "sudoku"):
        raise ValueError(f"a grid of the kind {header[0]!r}; those read are square and sudoku")
    title, author, _, rules = (re.sub("%2C", ",", text) for text in (*header[15:19], *[""] * 4)[:4])
    title, author = title.removeprefix("Title:").strip(), author.removeprefix("Author:").strip()
    tags = _tags(_json(lines[17]) if len(lines) > 17 and lines[17] else [], values.get("variants", ""), title)
    if header[0] == "square" and not tags and "sudoku" not in title.lower():
        raise ValueError("no tag and no title says that it is a Sudoku")
    check_rules(re.sub("%2[DEF]", " ", rules), tags)
    drawing = _Drawing(int(header[1]), int(header[2]), _json(lines[5]), _json(lines[3]), frozenset(tags))
    grid, board, found = drawing.givens(), drawing.board(), drawing.constraints()
    solution = drawing.solution(grid, values.get("a", ""))
    return VariantPuzzle(board, grid, tuple(found), solution, title=title, author=author)


def _inflated(packed: str) -> str:
    try:
        data = base64.b64decode(packed + "=" * (-len(packed) % 4), validate=True)
        inflater = zlib.decompressobj(-zlib.MAX_WBITS)
        text = inflater.decompress(data, _MOST_BYTES)
        if not inflater.eof:
            raise ValueError("damaged: it breaks off, or is too long")
        return text.decode()
    except (binascii.Error, zlib.error, UnicodeDecodeError) as error:
        raise ValueError(f"damaged: {error}") from None


def _json(line: str) -> Any:
    """The value of a line, whose names, and null, may be short: z and a character."""

    def long(match: re.Match[str]) -> str:
        return "null" if match[1] == "O" else json.dumps(_SHORT.get(match[1], match[0]))

    try:
        return json.loads(outside_strings(lambda part: re.sub("z([A-Z0-9_])", long, part), line))
    except (ValueError, RecursionError) as error:
        raise ValueError(f"damaged: {error}") from None


def _tags(tags: Any, further: str, title: str) -> set[str]:
    """The tags of a puzzle; of one without any the words of its title before "Sudoku"."""
    if not isinstance(tags, list):
        raise ValueError("damaged: the tags are no list")
    named = [*map(str, tags), *filter(None, further.split(","))]
    if not named:
        words = [word.strip("0123456789x!?:.,") for word in title.lower().split()]
        named = ["".join(words[: words.index("sudoku")])] if "sudoku" in words else []
    plain = filter(None, (re.sub(r"[^a-z]", "", name.lower()) for name in named))
    found = {_SPELLINGS.get(name, name) for name in plain}
    if unknown := sorted(found - _TAGS):
        raise ValueError(
            f"its tag or title {unknown[0]!r} is no rule that is read; those are {', '.join(sorted(_TAGS))}"
        )
    return found


@dataclasses.dataclass(frozen=True)
class _Drawing:
    """The layers of a drawing.

    Attributes:
      columns, rows: of the grid, without the margins.
      steps: the points of the centres of cells, each as the difference from the last one.
      layers: the layers of the question.
      tags: the tags of the puzzle.

    Raises:
      ValueError: a layer that is malformed, or not read.
    """

    columns: int
    rows: int
    steps: Any
    layers: Any
    tags: frozenset[str]

    def __post_init__(self) -> None:
        if not isinstance(self.layers, dict):
            raise ValueError("damaged: the layers are no object")
        for name, value in self.layers.items():
            if value and name not in _PLAIN and name not in _PATHS and name not in _ENTRIES:
                what = _REFUSED.get(name, f"a layer {name!r}")
                raise ValueError(f"it has {what}, a drawing whose rule is not stated")
        for name, (fewest, most, least) in _ENTRIES.items():
            entries = self.layers.get(name) or {}
            if not isinstance(entries, dict) or not all(
                fewest <= _points(key.removesuffix("E" if name == "number" else "")) <= most
                and (not least or (isinstance(entry, list) and len(entry) >= least))
                for key, entry in entries.items()
            ):
                raise ValueError(f"damaged: the layer {name}")
        for name in _PATHS:
            paths = self.layers.get(name) or []
            if not isinstance(paths, list) or not all(map(_is_path, paths)):
                raise ValueError(f"damaged: the layer {name}")

    @property
    def width(self) -> int:
        return self.columns + 2 * _MARGIN

    @property
    def count(self) -> int:
        """The number of points of a kind."""
        return self.width * (self.rows + 2 * _MARGIN)

    @functools.cached_property
    def cells(self) -> dict[int, int]:
        """The number of the cell of each centre."""
        centres = sorted(itertools.accumulate(self.steps)) if self.steps and _is_path(self.steps) else []
        side = math.isqrt(len(centres))
        square = [centres[0] + self.width * row + column for row in range(side) for column in range(side)]
        if not 2 <= side <= MAX_SIDE or centres != square:
            raise ValueError(f"its cells are no square of a side from 2 to {MAX_SIDE}")
        return {centre: cell for cell, centre in enumerate(centres)}

    @property
    def side(self) -> int:
        return math.isqrt(len(self.cells))

    def entries(self, name: str) -> dict[str, Any]:
        return self.layers.get(name) or {}

    def paths(self, name: str) -> list[list[int]]:
        """The cells of each path of a layer; those erased are empty."""
        paths = [path for path in self.layers.get(name) or [] if path]
        if not all(point in self.cells for path in paths for point in path):
            raise ValueError(f"one of its {name} leaves the grid")
        return [[self.cells[point] for point in path] for path in paths]

    def pair(self, centre: int, step: int) -> tuple[int, int] | None:
        """The cells of a centre and of the one a step on; None if the grid does not have both."""
        one, other = self.cells.get(centre), self.cells.get(centre + step)
        return None if one is None or other is None else (one, other)

    # ---------------------------------------------------------------------- houses and givens

    def board(self) -> Board:
        """The board of the thick lines; without any the one with boxes, or a Latin square."""
        apart: set[tuple[int, int]] = set()
        for key, style in self.entries("lineE").items():
            if style not in _THICK:
                raise ValueError(f"it has lines of the style {style} along edges, whose rule is not stated")
            first, second = sorted(map(int, key.split(",")))
            if pair := self.pair(second - self.count, self.width if second - first == 1 else 1):
                apart.add(pair)
        roots = pieces(self.side, lambda one, other: (one, other) not in apart)
        if apart and "latin" not in self.tags:
            board = board_of_regions(roots)
        elif apart:
            raise ValueError("its tag says that it is a Latin square, but thick lines divide the grid")
        elif "latin" in self.tags:
            board = Board.classic(self.side, box=(1, self.side))
        elif "irregular" in self.tags:
            raise ValueError("its tag says irregular, but no thick lines divide the grid")
        else:
            board = default_board(self.side)
        if "diagonal" in self.tags:
            board = dataclasses.replace(board, extra=Board.diagonal(self.side).extra)
        self._check_lines(board)
        return board

    def _check_lines(self, board: Board) -> None:
        """Raises ValueError for lines that are not the diagonals of a board that has them as houses."""
        pairs = {frozenset(pair) for house in board.extra for pair in itertools.pairwise(house)}
        for key in self.entries("line"):
            if frozenset(self.cells.get(int(point)) for point in key.split(",")) not in pairs:
                raise ValueError("it has lines, drawings whose rule is not stated")

    def givens(self) -> np.ndarray:
        """The given digits, uint8[cells]."""
        grid = np.zeros(len(self.cells), np.uint8)
        for key, (value, colour, size, *_) in self.entries("number").items():
            if str(size) == "7" and isinstance(value, list):
                value = " ".join(str(digit) for digit, there in enumerate(value, start=1) if there)
            text = str("" if value is None else value).strip()
            if not text:
                continue
            cell = self.cells.get(int(key)) if key.isdecimal() else None
            if cell is None:
                raise ValueError(f"it has a text {text!r} that is not in a cell, whose rule is not stated")
            plain = str(size) in ("1", "7") and colour not in _CIRCLED
            if not plain or not text.isdecimal() or not 1 <= int(text) <= self.side:
                raise ValueError(f"the text {text!r} in {cell_name(cell, self.side)} is no given digit")
            grid[cell] = int(text)
        return grid

    def solution(self, grid: np.ndarray, packed: str) -> np.ndarray | None:
        """The solution that a link states, which are the texts beside the givens; None if it states none or not all."""
        if not packed:
            return None
        answer = _json(_inflated(packed))
        numbers = answer[4] if isinstance(answer, list) and len(answer) > 4 and isinstance(answer[4], list) else []
        found = grid.copy()
        for point, _, text in (str(entry).partition(",") for entry in numbers):
            if point.isdecimal() and int(point) in self.cells and text.isdecimal() and int(text) <= self.side:
                found[self.cells[int(point)]] = int(text)
        return found if found.all() else None

    # ---------------------------------------------------------------------- constraints

    def constraints(self) -> list[Constraint]:
        """The constraints of layers whose rules are tagged, and of tags for the whole board."""
        side, found = self.side, self._cages()
        for tag, layer in (("thermo", "thermo"), ("arrow", "arrows")):
            paths = [path for path in self.paths(layer) if len(path) > 1]
            if paths and tag not in self.tags:
                raise ValueError(f"it has {layer}, a drawing whose rule no tag states")
            for path in paths:
                thermo = tag == "thermo"
                found += variants.thermometer(path, side) if thermo else variants.arrow(path[:1], path[1:], side)
        return (
            found
            + [one for tag, make in _WHOLE.items() if tag in self.tags for one in make(side=side)]
            + self._symbols()
        )

    def _cages(self) -> list[Constraint]:
        """Killer cages and the totals in their corners; each cage has its outline drawn."""
        cages = self.paths("killercages")
        if (cages or self.entries("cage")) and "killer" not in self.tags:
            raise ValueError("it has cages, a drawing whose rule no tag states")
        members = {cell: number for number, cage in enumerate(cages) for cell in cage}
        numbers = {centre: members.get(cell) for centre, cell in self.cells.items()}
        drawn = {tuple(sorted(map(int, key.split(",")))) for key in self.entries("cage")}
        sides = {(0, 1): -self.width, (0, 2): -1, (1, 3): 1, (2, 3): self.width}
        expected = {
            (4 * (centre + self.count) + one, 4 * (centre + self.count) + other)
            for centre, number in numbers.items()
            for (one, other), step in sides.items()
            if number is not None and numbers.get(centre + step) != number
        }
        if {pair for pair in drawn if pair[0] // 4 == pair[1] // 4} != expected:
            raise ValueError("its cages are not those whose outlines are drawn")
        totals: dict[int, int] = {}
        for key, entry in self.entries("numberS").items():
            text, number = str(entry[0]).strip(), numbers.get(int(key) // 4 - self.count)
            if not text:
                continue
            if number is None or number in totals or not text.isdecimal():
                raise ValueError(f"it has a small text {text!r}, which is no total of a cage")
            totals[number] = int(text)
        return variants.killer([(cage, totals.get(number)) for number, cage in enumerate(cages)], self.side)

    def _symbols(self) -> list[Constraint]:
        """Circles and squares of odd and even cells, and marks of consecutive neighbours."""
        found: list[Constraint] = []
        pairs: list[tuple[int, int]] = []
        for key, (_, name, *_) in self.entries("symbol").items():
            kind, centre = divmod(int(key), self.count)
            pair = self.pair(centre, {2: self.width, 3: 1}.get(kind, 0))
            if "evenodd" in self.tags and kind == 0 and pair and name in ("circle_L", "square_L"):
                found += (variants.odd if name == "circle_L" else variants.even)(pair[:1], self.side)
            elif self.tags & {"consecutive", "consecutivepairs"} and kind in (2, 3) and pair and name in _BARS:
                pairs.append(pair)
            else:
                raise ValueError(f"it has a symbol {name!r}, a drawing whose rule is not stated")
        found += variants.difference(pairs, 1, self.side)
        return found + (variants.not_difference(1, pairs, self.side) if "consecutive" in self.tags else [])


def _points(key: str) -> int:
    """The number of points in a key, which commas part; 0 if one is malformed."""
    points = key.split(",")
    return len(points) if all(re.fullmatch(r"[0-9]{1,9}", point) for point in points) else 0


def _is_path(value: Any) -> bool:
    """Whether a value is a list of points; what was erased is None."""
    return value is None or (isinstance(value, list) and all(isinstance(point, int) for point in value))
