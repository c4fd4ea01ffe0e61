"""Boards: the side of a puzzle and its houses.

A board is a static description: its side, its regions, and any extra houses. All other modules derive their tables
from it and hard-code no size. Imports no JAX, so that reading files and parsing flags start fast.

Cells are numbered row by row, ``cell = row * side + column``; digits are 1..side in grids and 0..side-1 in tables and
planes. A candidate is a (digit, row, column), numbered ``digit * cells + cell``.
"""

from __future__ import annotations

import collections
import dataclasses
import functools
import math
import operator
import re
import string
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, cast

import numpy as np

from jaxsudoku.core.constraints.base import MAX_SIDE as WIDEST_CONSTRAINED
from jaxsudoku.core.constraints.base import Constraint, Group, grouped
from jaxsudoku.core.constraints.texts import CONSTRAINTS, parts_of, pieces, read
from jaxsudoku.core.extra_houses import HOUSES, House, extra_kind, variants_of
from jaxsudoku.pictures.boards import NO_MARKS, Marks, picture
from jaxsudoku.pictures.caption import captioned
from jaxsudoku.pictures.constraints import Symbol
from jaxsudoku.pictures.picture import Picture
from jaxsudoku.runtime.suggestions import did_you_mean

#: Widest board: 6x6 boxes. Larger ones are not tested.
MAX_SIDE = 36

#: Named variants, which add houses: class methods of ``Board`` that take a side.
VARIANTS = tuple(HOUSES)
_ALIASES = {"x": "diagonal"}
_NAMES = ("classic", *VARIANTS, *_ALIASES)


@dataclasses.dataclass(frozen=True)
class Board:
    """A square board on which every house holds every digit once.

    Attributes:
      side: number of rows, of columns, of digits and of cells in a house.
      box: (rows, columns) of a box when the regions are equal boxes; None when they are irregular.
      regions: region number of each cell, row by row, for irregular regions; empty when ``box`` is given.
      extra: further houses, each a tuple of ``side`` distinct cells (diagonals, windows).
      constraints: further rules that all puzzles on the board obey, see ``jaxsudoku.constraints``.

    Instances are frozen, hashable and compare by value, so they serve as static arguments of ``jax.jit``.

    Raises:
      ValueError: an invalid description; the message names the house or region.
    """

    side: int
    box: tuple[int, int] | None = None
    regions: tuple[int, ...] = ()
    extra: tuple[House, ...] = ()
    constraints: tuple[Constraint, ...] = ()

    def __post_init__(self) -> None:
        # lists and numpy arrays are converted, as the fields must hash
        object.__setattr__(self, "side", operator.index(self.side))
        if self.box is not None:
            rows, columns = self.box
            object.__setattr__(self, "box", (operator.index(rows), operator.index(columns)))
        object.__setattr__(self, "regions", tuple(map(operator.index, self.regions)))
        object.__setattr__(self, "extra", tuple(tuple(map(operator.index, house)) for house in self.extra))
        _check_side(self.side)
        if (self.box is None) == (not self.regions):
            raise ValueError("a board needs either a box shape or irregular regions")
        if self.box is not None:
            _check_box(self.side, self.box)
        else:
            _check_regions(self.side, self.regions)
        for number, house in enumerate(self.extra):
            _check_house(self.side, house, f"extra house {number}")
        if self.constraints and self.side > WIDEST_CONSTRAINED:
            raise ValueError(f"boards with constraints have a side of at most {WIDEST_CONSTRAINED}, not {self.side}")
        checked = dict.fromkeys(constraint.checked(self.side) for constraint in self.constraints)
        object.__setattr__(self, "constraints", tuple(checked))

    # ------------------------------------------------------------------ constructors

    @classmethod
    def classic(cls, side: int = 9, box: tuple[int, int] | None = None) -> Board:
        """The classic board: rows, columns and boxes.

        Args:
          side: 4, 6 (2x3 boxes), 9, 12 (3x4), 16, 25, or any other composite number up to ``MAX_SIDE``.
          box: (rows, columns) of a box; None for the squarest that fits, never taller than wide.
        """
        return cls(side, box=box if box is not None else _squarest_box(side))

    @classmethod
    def diagonal(cls, side: int = 9) -> Board:
        """The classic board whose two long diagonals are houses too (Sudoku X)."""
        return _with_houses(cls.classic(side), "diagonal")

    @classmethod
    def windoku(cls, side: int = 9) -> Board:
        """The classic board with windows, boxes one cell off the corner and one cell apart (Windoku, Hyper Sudoku)."""
        return _with_houses(cls.classic(side), "windoku")

    @classmethod
    def disjoint(cls, side: int = 9) -> Board:
        """The classic board with disjoint groups: the cells at the same place of all boxes are a house too."""
        return _with_houses(cls.classic(side), "disjoint")

    @classmethod
    def jigsaw(cls, regions: str | Sequence[Iterable[object]] | Iterable[object]) -> Board:
        """A board with irregular regions instead of boxes.

        Args:
          regions: one label per cell, row by row: a string of one character a cell (white space is skipped), a flat
            sequence of labels, or a sequence of rows, each a string or a sequence. Cells of equal label form a region.
        """
        rows = regions.split() if isinstance(regions, str) else list(regions)
        in_rows = all(not isinstance(row, str) and isinstance(row, Iterable) for row in rows) or all(
            isinstance(row, str) and len(row) == len(rows) for row in rows
        )
        labels = [label for row in rows for label in cast(Iterable[object], row)] if in_rows else rows
        if isinstance(regions, str) and not in_rows:
            labels = list("".join(regions.split()))
        side = math.isqrt(len(labels))
        if side * side != len(labels) or not labels:
            raise ValueError(f"regions name {len(labels)} cells, which is not the square of a side")
        numbers: dict[object, int] = {}
        return cls(side, regions=tuple(numbers.setdefault(label, len(numbers)) for label in labels))

    @classmethod
    def named(cls, name: str | int) -> Board:
        """The board of a name, as on the command line.

        Args:
          name: a side ("16", or the number 16), a box shape ("3x4", "1x6" for a Latin square), or a variant with an
            optional side ("diagonal" or "x", "diagonal-16", "windoku", "disjoint"), or "jigsaw:" and the regions'
            labels row by row. After it, joined by "+", further variants and constraints of
            ``jaxsudoku.constraints.CONSTRAINTS``: "x+windoku", "9+anti-knight", "6+cage(10 r1c1 r1c2)+odd(r2c2)". A
            constraint that comes first is one of the classic 9x9 board. Names are case-insensitive, labels
            case-sensitive.

        Raises:
          ValueError: an unknown name, or a constraint that does not fit the board.
        """
        first, *further = pieces(str(name).strip())
        if _piece_name(first) in CONSTRAINTS and _ALIASES.get(first.lower()) is None:
            board, further = cls.classic(), [first, *further]
        else:
            board = cls._of_shape(first, name)
        for piece in further:
            variant = _ALIASES.get(piece.lower().strip(), piece.lower().strip())
            if variant in VARIANTS:
                board = _with_houses(board, variant)
            elif (known := _piece_name(piece)) in CONSTRAINTS:
                board = board.with_(read(piece.lower(), board))
            else:
                hint = did_you_mean(known, (*VARIANTS, *CONSTRAINTS))
                raise ValueError(f"unknown houses or constraint {piece!r} of the board {name!r}{hint}")
        return board

    @classmethod
    def _of_shape(cls, part: str, name: str | int) -> Board:
        """The board of the first part of a name."""
        kind, colon, labels = part.partition(":")
        text = kind.lower() + colon + labels
        if text.startswith("jigsaw:"):
            return cls.jigsaw(labels.replace("/", " "))
        if match := re.fullmatch(r"(\d+)x(\d+)", text):
            rows, columns = int(match[1]), int(match[2])
            return cls.classic(rows * columns, box=(rows, columns))
        if match := re.fullmatch(rf"({'|'.join(_NAMES)})(?:-(\d+))?", text):
            board: Board = getattr(cls, _ALIASES.get(match[1], match[1]))(int(match[2] or 9))
            return board
        if text.isdecimal():
            return cls.classic(int(text))
        hint = did_you_mean(text, ("classic", *VARIANTS, *CONSTRAINTS))
        kinds = f"a side (9, 16), a box shape (3x4), {', '.join(VARIANTS)}, or jigsaw:LABELS"
        raise ValueError(f"unknown board {name!r}: name {kinds}{hint}")

    @functools.cached_property
    def name(self) -> str | None:
        """The name of this board for ``Board.named``; None if it has none."""
        variants = variants_of(self, self.extra)
        texts = [part if isinstance(part, str) else part.text(self.side) for part in parts_of(self.constraints, self)]
        if variants is None or None in texts:
            return None
        if self.box is None:
            labels = np.array(list(string.ascii_letters))[np.asarray(self.regions).reshape(self.side, self.side)]
            shape = "jigsaw:" + "/".join(map("".join, labels.tolist()))
        elif not _has_boxes(self.side) or self.box != _squarest_box(self.side):
            shape = f"{self.box[0]}x{self.box[1]}"
        elif variants:
            shape = variants.pop(0) + ("" if self.side == 9 else f"-{self.side}")
        else:
            shape = str(self.side)
        name = "+".join((shape, *variants, *filter(None, texts)))
        return name if Board.named(name) == self else None

    @property
    def is_classic(self) -> bool:
        """Whether this is the classic board of its side with the default boxes."""
        return self == classic_or_none(self.side)

    def to_json(self) -> dict[str, Any]:
        """The fields as JSON values, for ``of_json``; constraints are in a name, as ``name`` has it.

        Raises:
          ValueError: a constraint that has no text.
        """
        fields = dataclasses.asdict(dataclasses.replace(self, constraints=()))
        del fields["constraints"]
        if self.constraints:
            if self.name is None:
                raise ValueError(f"a file can't describe all constraints of {self}: some have no text")
            fields["constraints"] = self.name
        return fields

    @classmethod
    def of_json(cls, fields: Mapping[str, Any]) -> Board:
        """The board of the fields that ``to_json`` returned.

        Raises:
          ValueError, TypeError: fields that describe no board.
        """
        houses = {name: value for name, value in fields.items() if name != "constraints"}
        return cls(**houses) if not fields.get("constraints") else cls.named(fields["constraints"])

    def with_(self, *constraints: Constraint | Iterable[Constraint]) -> Board:
        """This board with further constraints, single ones or lists as the functions of ``js.constraints`` return them.

        Raises:
          ValueError: a constraint that does not fit the board.
          TypeError: an argument that is no constraint.
        """
        added: list[Constraint] = []
        for constraint in constraints:
            added += [constraint] if isinstance(constraint, Constraint) else constraint
        for one in added:
            if not isinstance(one, Constraint):
                raise TypeError(f"{one!r} is no constraint")
        return dataclasses.replace(self, constraints=(*self.constraints, *added))

    # ------------------------------------------------------------------ sizes

    @property
    def cells(self) -> int:
        """Number of cells, side squared."""
        return self.side**2

    @property
    def candidates(self) -> int:
        """Number of (digit, row, column) candidates, side cubed."""
        return self.side**3

    @property
    def words(self) -> int:
        """Number of uint32 words that hold one puzzle's candidates, a bit each."""
        return -(-self.candidates // 32)

    @property
    def digit_bits(self) -> int:
        """Number of bits that hold a digit of a grid, 0 (empty) to side."""
        return self.side.bit_length()

    # ------------------------------------------------------------------ houses

    @property
    def has_boxes(self) -> bool:
        """Whether there are equal boxes that are not rows or columns; Latin squares have none."""
        return self.box is not None and 1 not in self.box

    @functools.cached_property
    def region_houses(self) -> tuple[House, ...]:
        """The boxes or irregular regions, each the tuple of its cells in reading order."""
        labels = np.asarray(self.region_labels)
        return tuple(tuple(int(cell) for cell in np.flatnonzero(labels == label)) for label in range(self.side))

    @functools.cached_property
    def region_labels(self) -> tuple[int, ...]:
        """The number of each cell's box or irregular region, its place in ``region_houses``."""
        if self.box is None:
            return self.regions
        rows, columns = np.divmod(np.arange(self.cells), self.side)
        return tuple(map(int, rows // self.box[0] * (self.side // self.box[1]) + columns // self.box[1]))

    @functools.cached_property
    def houses(self) -> tuple[House, ...]:
        """All houses: rows, columns, regions, then the extra ones; each a tuple of ``side`` cells."""
        table = np.arange(self.cells).reshape(self.side, self.side)
        lines = [tuple(map(int, line)) for line in (*table, *table.T)]
        return (*lines, *self.region_houses, *self.extra)

    @functools.cached_property
    def house_names(self) -> tuple[str, ...]:
        """The name of each of ``houses``, as in "row 4", "box 2", "region 5", "diagonal 1", "window 3"."""
        kinds = [kind for kind in ("row", "column", "region" if self.box is None else "box") for _ in range(self.side)]
        seen: collections.Counter[str] = collections.Counter()
        names = []
        for kind in [*kinds, *(extra_kind(self.side, house) for house in self.extra)]:
            seen[kind] += 1
            names.append(f"{kind} {seen[kind]}")
        return tuple(names)

    @functools.cached_property
    def constraint_groups(self) -> tuple[Group, ...]:
        """The constraints in groups that are pruned together."""
        return tuple(grouped(self.constraints))

    @functools.cached_property
    def symbols(self) -> tuple[Symbol, ...]:
        """How pictures show the constraints."""
        return tuple(symbol for constraint in self.constraints for symbol in constraint.drawing(self.side))

    @functools.cached_property
    def pair_rules(self) -> Mapping[Constraint, str]:
        """The constraints that pictures do not draw, as they are for pairs all over the board, by name."""
        rules: dict[Constraint, str] = {}
        for part in parts_of(self.constraints, self):
            if isinstance(part, str):
                rules |= dict.fromkeys(CONSTRAINTS[part].make([], [], self), part)
            elif not part.drawing(self.side):
                rules[part] = part.name
        return rules

    @functools.cached_property
    def irregular_houses(self) -> tuple[House, ...]:
        """The houses that are not rows, columns or equal boxes; rules reach them through index tables."""
        return (() if self.box is not None else self.region_houses) + self.extra

    def picture(
        self,
        grid: Sequence[int] | np.ndarray = (),
        givens: Sequence[int] | np.ndarray = (),
        marks: Marks = NO_MARKS,
        title: str = "",
        labels: bool = False,
        wide: bool = False,
    ) -> Picture:
        """The board with its constraints, or a grid on it, as a picture; a notebook shows a board so.

        ``jaxsudoku.picture`` takes arrays, and many grids at once.

        Args:
          grid: integers[cells], 0 = empty; empty for the board alone.
          givens: the puzzle, whose digits are told from those filled in; empty for no difference.
          marks: candidates, colours, shades and arrows on top.
          title: a description for readers who do not see the picture; by default that of the board.
          labels: whether rows and columns are labelled.
          wide: whether cells are as wide as for candidates if there are none.

        Raises:
          ValueError: the grid or the givens have another number of cells, or a value outside 0..side; marks that do not
            fit the board.
        """
        for name, values in (("grid", grid), ("givens", givens)):
            if len(values) not in (0, self.cells):
                raise ValueError(f"{name} has {len(values)} cells; the board has {self.cells}")
            if len(values) and not 0 <= min(values) <= max(values) <= self.side:
                raise ValueError(f"{name} holds values outside 0..{self.side}")
        digits, given = [*map(int, grid)], [*map(int, givens)]
        names = dict.fromkeys(self.pair_rules.values())
        has_regions = self.has_boxes or self.box is None
        drawn = picture(
            self.side,
            self.region_labels if has_regions else (0,) * self.cells,
            self.extra,
            digits,
            given,
            marks,
            title or str(self),
            labels,
            wide,
            self.symbols,
        )
        return captioned(drawn, f"Rules: {', '.join(names)}.") if names else drawn

    def _repr_svg_(self) -> str:
        return self.picture().svg

    def __str__(self) -> str:
        shape = f"{self.box[0]}x{self.box[1]} boxes" if self.box else "irregular regions"
        counts = collections.Counter(extra_kind(self.side, house) for house in self.extra)
        parts = [shape, *(f"{count} {kind}{'s' if count > 1 else ''}" for kind, count in counts.items())]
        rules = parts_of(self.constraints, self)
        kinds = collections.Counter(rule if isinstance(rule, str) else rule.name for rule in rules)
        parts += [
            name if name in CONSTRAINTS else f"{count} {name}{'s' * (count > 1)}" for name, count in kinds.items()
        ]
        return f"{self.side}x{self.side} with {' and '.join(parts)}"


# ---------------------------------------------------------------------- the board of an array


def board_of_grids(shape: Sequence[int], board: Board | None = None) -> tuple[Board, tuple[int, ...]]:
    """The board of grids and their batch axes, from a shape [*b, cells] or [*b, side, side].

    Args:
      shape: the shape of the grids.
      board: their board; None for the classic one of their size.

    Returns:
      the board, and the batch axes *b.

    Raises:
      ValueError: the shape does not fit the board, fits no classic board, or fits two.
      TypeError: ``board`` is no ``Board``.
    """
    shape = tuple(shape)
    last = shape[-1] if shape else 0
    square = len(shape) > 1 and shape[-2] == last
    if board is not None:
        check_board(board)
        if last == board.cells:
            return board, shape[:-1]
        if square and last == board.side:
            return board, shape[:-2]
        raise ValueError(
            f"grids of shape {shape}; a board of {board} takes [..., {board.cells}] or "
            f"[..., {board.side}, {board.side}]"
        )
    side = math.isqrt(last)
    flat = classic_or_none(side) if side * side == last else None
    whole = classic_or_none(last) if square else None
    if flat is not None and whole is not None:
        raise ValueError(
            f"grids of shape {shape} are ambiguous: name the board, or reshape to {(*shape[:-2], last**2)} for grids "
            f"of {last}x{last} cells, to {(*shape[:-1], side, side)} for grids of {side}x{side}"
        )
    if flat is not None:
        return flat, shape[:-1]
    if whole is not None:
        return whole, shape[:-2]
    raise ValueError(
        f"grids of shape {shape}; the last axis must be the cells of a classic board (16, 36, 64, 81 ... "
        f"{MAX_SIDE**2}), or the last two axes its side; for any other board name the board"
    )


def board_of_planes(shape: Sequence[int], board: Board | None = None) -> Board:
    """The board of planes [side, side, side, *W]; None for the classic one of that side.

    Raises:
      ValueError: another shape. TypeError: ``board`` is no ``Board``.
    """
    shape = tuple(shape)
    if board is not None:
        check_board(board)
    if len(shape) < 4 or len(set(shape[:3])) != 1 or (board is not None and shape[0] != board.side):
        side = "side" if board is None else board.side
        raise ValueError(f"planes of shape {shape}; they must be [{side}, {side}, {side}, W]")
    return Board.classic(shape[0]) if board is None else board


def board_of_cubes(shape: Sequence[int], board: Board | None = None) -> Board:
    """The board of candidates [*b, side, cells]; None for the classic one of that side.

    Raises:
      ValueError: another shape. TypeError: ``board`` is no ``Board``.
    """
    shape = tuple(shape)
    side = shape[-2] if len(shape) > 1 else 0
    if board is not None:
        check_board(board)
    if len(shape) < 2 or shape[-1] != side**2 or (board is not None and side != board.side):
        wanted = "side, cells" if board is None else f"{board.side}, {board.cells}"
        raise ValueError(f"candidates of shape {shape}; they must be [..., {wanted}]")
    return Board.classic(side) if board is None else board


def board_of_words(words: int, board: Board | None = None, cells_per_word: int = 0) -> Board:
    """The board of packed candidates or grids, from their number of 32-bit words.

    Args:
      words: words of a node, or of a packed grid.
      board: the board; None for the classic one with that number of words.
      cells_per_word: cells of a grid that share a word; 0 for nodes.

    Raises:
      ValueError: the board, or any classic board, has another number of words. TypeError: ``board`` is no ``Board``.
    """

    def wanted(board: Board) -> int:
        return -(-board.cells // cells_per_word) if cells_per_word else board.words

    if board is not None:
        if words != wanted(check_board(board)):
            raise ValueError(f"{words} words; a board of {board} has {wanted(board)}")
        return board
    for side in range(2, MAX_SIDE + 1):
        classic = classic_or_none(side)
        if classic is not None and wanted(classic) == words:
            return classic
    raise ValueError(f"{words} words, which no classic board has: name the board")


def check_board(board: Board) -> Board:
    """Returns the board.

    Raises:
      TypeError: anything but a board, as when the arguments are in the wrong order.
    """
    if not isinstance(board, Board):
        raise TypeError(f"board must be a Board, not {type(board).__name__}; the data come first and the board second")
    return board


def classic_or_none(side: int) -> Board | None:
    """The classic board of a side; None if there is none, as 7 cells make no boxes."""
    return Board.classic(side) if side <= MAX_SIDE and _has_boxes(side) else None


def _has_boxes(side: int) -> bool:
    return any(side % rows == 0 for rows in range(2, math.isqrt(max(side, 0)) + 1))


# ---------------------------------------------------------------------- names


def _piece_name(piece: str) -> str:
    """The name of a constraint in a part of a board's name."""
    return piece.partition("(")[0].strip().lower()


def _with_houses(board: Board, variant: str) -> Board:
    """The board with the houses of a variant added."""
    return dataclasses.replace(board, extra=(*board.extra, *HOUSES[variant](board)))


# ---------------------------------------------------------------------- checks


def _check_side(side: int) -> None:
    if not 2 <= side <= MAX_SIDE:
        raise ValueError(f"side must lie between 2 and {MAX_SIDE}, not {side}")


def _squarest_box(side: int) -> tuple[int, int]:
    _check_side(side)
    rows = max((r for r in range(2, math.isqrt(side) + 1) if side % r == 0), default=None)
    if rows is None:
        options = f"name 1x{side} for a Latin square, or give regions with Board.jigsaw"
        raise ValueError(f"a side of {side} can't be cut into boxes; {options}")
    return rows, side // rows


def _check_box(side: int, box: tuple[int, int]) -> None:
    rows, columns = box
    if rows < 1 or columns < 1 or rows * columns != side:
        raise ValueError(f"a box of {rows}x{columns} has {rows * columns} cells; a house of this board has {side}")


def _check_regions(side: int, regions: tuple[int, ...]) -> None:
    if len(regions) != side**2:
        raise ValueError(f"regions name {len(regions)} cells; a board of side {side} has {side**2}")
    sizes = np.bincount(np.unique(regions, return_inverse=True)[1])
    if sorted(set(regions)) != list(range(len(sizes))):
        raise ValueError("regions must be numbered 0, 1, 2 ... without a gap")
    if len(sizes) != side:
        raise ValueError(f"there are {len(sizes)} regions; a board of side {side} is tiled by {side}")
    for region, size in enumerate(sizes):
        if size != side:
            raise ValueError(f"region {region} has {size} cells; a house of this board has {side}")


def _check_house(side: int, house: House, name: str) -> None:
    if len(house) != side:
        raise ValueError(f"{name} has {len(house)} cells; a house of this board has {side}")
    if len(set(house)) != side:
        raise ValueError(f"{name} names a cell twice")
    if not all(0 <= cell < side**2 for cell in house):
        raise ValueError(f"{name} names a cell outside 0..{side**2 - 1}")
