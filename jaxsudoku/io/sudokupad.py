"""SudokuPad's JSON (SCL): its givens, regions, and cages with a total or with different digits.

SudokuPad draws puzzles, and its lines, arrows and shapes do not say what they mean. So a puzzle that has any is refused
by their name; f-puzzles' JSON, which SudokuPad takes too, says it. So is one whose rules in words say more than its
cages do. Rows and columns count from 0.

Its links hold JSON in a shorter form, in which names are short and without quotes, quotes are single, and empty objects
are left out.
"""

from __future__ import annotations

import math
import re
from typing import Any

import numpy as np

from jaxsudoku.core.board import Board
from jaxsudoku.core.constraints import variants
from jaxsudoku.core.constraints.base import Constraint
from jaxsudoku.core.constraints.sums import Sum
from jaxsudoku.core.constraints.variants import cells_of

from .fpuzzle_entries import GLOBAL
from .json_values import outside_strings
from .rule_words import check_rules
from .variant import VariantPuzzle, board_of_regions, square_cells

#: Keys without a rule.
_PLAIN = {"id", "cellSize", "metadata", "settings", "cells", "regions", "cages", "foglight", "triggereffect"}
#: Keys of drawings.
_DRAWN = ("lines", "arrows", "overlays", "underlays")
_CAGE_KEYS = {"cells", "value", "sum", "unique", "hidden", "type", "style", "fontC", "outlineC", "borderColor"}
#: Short names of keys in links.
_NAMES = """
c=color ca=cages ct=center c1=borderColor c2=backgroundColor ce=cells cs=cellSize a=arrows o=overlays u=underlays
w=width h=height v=value vd=videos l=lines r=rounded re=regions fs=fontSize th=thickness hl=headLength wp=wayPoints
t=title te=text d=duration d2=d
"""
_SHORT = dict(pair.split("=") for pair in _NAMES.split())
#: What the shorter form of links changes outside of strings: names, values that are true, false or a colour, and empty
#: objects.
_PARTS = re.compile(
    r"""
    ([,{[]) ([A-Za-z0-9]++) (?=:)
    | : ([tf]|\#[0F]|[0-9A-Fa-f]{6}) (?=[,}\]])
    | (?<=[,[]) (?=[,}\]])
    """,
    re.VERBOSE,
)
#: Texts that SudokuPad stores as cages without cells.
_TEXTS = ("title", "author", "rules", "solution", "msgcorrect", "source")


def is_sudokupad(value: Any) -> bool:
    """Whether a JSON value is an object of SudokuPad; it may be malformed."""
    return (
        isinstance(value, dict) and isinstance(value.get("cells"), list) and bool({"regions", "cages"} & value.keys())
    )


def read_sudokupad(puzzle: dict[str, Any]) -> VariantPuzzle:
    """The puzzle of an object of SudokuPad.

    Raises:
      ValueError: it is malformed, or has a part whose rule is not stated.
    """
    cells = square_cells(puzzle["cells"])
    side = math.isqrt(len(cells))
    for key in _DRAWN:
        if puzzle.get(key):
            raise ValueError(f"it has {key}, drawings whose rule is not stated: export f-puzzles' JSON")
    for key, value in puzzle.items():
        if key not in (*_PLAIN, *_DRAWN, "global") and value:
            raise ValueError(f"unknown key {key!r}")
    metadata = puzzle.get("metadata") or {}
    texts = {key: value for key, value in metadata.items() if isinstance(value, str)}
    switches = [key for key, value in metadata.items() if value is True]
    cages = []
    for number, cage in enumerate(puzzle.get("cages") or [], start=1):
        name, colon, text = str(cage.get("value") or "").partition(":")
        if not cage.get("cells") and colon and name.strip().lower() in _TEXTS:
            texts.setdefault(name.strip().lower(), text.strip())
        else:
            cages.append((number, cage))
    kinds = {"irregular", *(["killer"] if cages else []), *(name for name in switches if name in GLOBAL)}
    check_rules(str(texts.get("rules") or metadata.get("rules") or ""), kinds)
    board = _board(puzzle.get("regions"), side)
    found: list[Constraint] = []
    for name in [*switches, *(puzzle.get("global") or [])]:
        if name not in GLOBAL:
            raise ValueError(f"unknown rule {name!r}")
        found += GLOBAL[name](side=side)
    for number, cage in cages:
        try:
            found += _cage(cage, board)
        except ValueError as error:
            raise ValueError(f"cage {number}: {error}") from error
    grid = np.array([_given(cell, side) for cell in cells])
    return VariantPuzzle(
        board,
        grid,
        tuple(found),
        _solution(texts.get("solution", "")),
        title=texts.get("title", ""),
        author=texts.get("author", ""),
    )


def unpacked(text: str) -> str:
    """JSON from the shorter form that links hold."""
    if '"' not in text:
        text = re.sub(r"\\'|'", lambda found: "'" if len(found[0]) > 1 else '"', text)

    def plain(match: re.Match[str]) -> str:
        before, key, value = match.groups()
        if key:
            return f'{before}"{_SHORT.get(key, key)}"'
        if value:
            return {"t": ":true", "f": ":false"}.get(value, f':"{value}"')
        return "{}"

    return outside_strings(lambda part: _PARTS.sub(plain, part), text)


def _board(regions: Any, side: int) -> Board:
    if not regions:
        raise ValueError("it has no regions")
    labels = [-1] * side**2
    for number, region in enumerate(regions):
        for cell in _cells(region, side):
            labels[cell] = number
    if -1 in labels:
        missing = labels.index(-1)
        raise ValueError(f"r{missing // side + 1}c{missing % side + 1} is in no region")
    return board_of_regions(labels)


def _cells(cells: Any, side: int) -> tuple[int, ...]:
    """Cells as rows and columns from 0, or as names."""
    if isinstance(cells, str):
        return cells_of(cells.replace(",", " "), side)
    if not isinstance(cells, list) or not all(
        isinstance(cell, list) and len(cell) == 2 and all(isinstance(at, int) and 0 <= at < side for at in cell)
        for cell in cells
    ):
        raise ValueError(f"{cells!r:.40} are not cells of the grid")
    return tuple(row * side + column for row, column in cells)


def _cage(cage: dict[str, Any], board: Board) -> list[Constraint]:
    """The constraints of a cage: a total, different digits, or both; none of a house."""
    if unknown := sorted(cage.keys() - _CAGE_KEYS):
        raise ValueError(f"unknown key {unknown[0]!r}")
    cells = _cells(cage.get("cells"), board.side)
    if any(sorted(cells) == sorted(house) for house in board.houses):
        return []
    totals = {str(cage[key]).strip() for key in ("value", "sum") if cage.get(key) not in (None, "")}
    if len(totals) > 1 or not all(total.isdecimal() for total in totals):
        raise ValueError(f"its value {' '.join(sorted(totals))!r} is no total")
    total = int(totals.pop()) if totals else None
    if total is None and not cage.get("unique"):
        raise ValueError("it has no total, and does not say that its digits differ")
    if cage.get("unique") is False:
        return [Sum(cells, (int(total or 0),))]
    return variants.killer([(cells, total)], side=board.side)


def _given(cell: dict[str, Any], side: int) -> int:
    """The digit of a cell, 0 for none; pencil marks are refused, as it is not stated whether they are notes."""
    if unknown := [key for key, value in cell.items() if key != "value" and value]:
        raise ValueError(f"a cell has {unknown[0]!r}, whose meaning is not stated")
    value = str(cell.get("value") or 0).strip()
    if not value.isdecimal() or int(value) > side:
        raise ValueError(f"a cell has the value {value!r}")
    return int(value)


def _solution(text: str) -> np.ndarray | None:
    """The stated solution, a digit per cell; None if it has blanks."""
    return np.array([int(digit) for digit in text]) if text and set(text) <= set("123456789") else None
