"""Positions (filled cells and candidates of open ones), and parsing of lists of candidates.

Candidates are bool[n, side, cells], digit by digit, the layout that networks take: a filled cell has its digit, an open
cell the digits that it may hold, which are all digits if a text lists none.
"""

from __future__ import annotations

import re
import string
from collections.abc import Iterable
from typing import NamedTuple

import numpy as np

from .cells import BLANKS, Malformed

#: Marks of cells and candidates in programs and forums, as in *359, 3-59 or u5.
_MARKS = b"*#@-" + string.ascii_letters.encode()
_LISTED = re.compile(rb"[1-9]+|[.0]")
_NUMBERS = re.compile(rb"\d{1,2}(,\d{1,2})*|[.]")


class Positions(NamedTuple):
    """The positions of a file.

    Attributes:
      grids: uint8[N, cells], the filled cells, given or placed; 0 = open.
      candidates: bool[N, side, cells], the digits that each cell may hold, possibly including ones that filled cells
        exclude.
      givens: bool[N, cells], whether each cell is given, rather than placed later or open.
    """

    grids: np.ndarray
    candidates: np.ndarray
    givens: np.ndarray


def split_listed(row: bytes, side: int) -> list[bytes] | None:
    """The cells of a row without a frame that lists candidates, as 1259 or, beyond 9x9, 1,12,16.

    Returns:
      One text per cell, without marks; None if no cell has several candidates, or the row has another form.
    """
    words = row.split()
    if len(words) != side or (side > 9 and b"," not in row):
        return None
    if side <= 9:
        words = [word.translate(None, _MARKS) if len(word) > 1 else word for word in words]
    pattern = _LISTED if side <= 9 else _NUMBERS
    if not all(map(pattern.fullmatch, words)):
        return None
    several = (len(word) > 1 if side <= 9 else b"," in word for word in words)
    return words if any(several) else None


def check_listed(cells: Iterable[bytes], side: int) -> tuple[np.ndarray, np.ndarray]:
    """The cells of a row that lists candidates: digits uint8[side], 0 where open, and candidates bool[side, side].

    Raises:
      Malformed: a cell has no candidate, one twice, or one that is not a digit of the board.
    """
    candidates = np.zeros((side, side), bool)
    for column, text in enumerate(cells):
        shown, place = text.decode(), f"number {column + 1} of the line"
        if len(text) == 1 and text in BLANKS:
            raise Malformed(f"{shown!r}, {place}, lists no candidates, but other cells do")
        digits = list(map(int, shown.split(",") if side > 9 else shown))
        for digit in digits:
            if not 1 <= digit <= side:
                raise Malformed(f"{shown!r}, {place}, lists {digit}; the digits of this board are 1 to {side}")
        twice = next((digit for digit in digits if digits.count(digit) > 1), None)
        if twice is not None:
            raise Malformed(f"{shown!r}, {place}, lists {twice} twice")
        candidates[np.array(digits) - 1, column] = True
    single = candidates.sum(axis=0) == 1
    return np.where(single, candidates.argmax(axis=0) + 1, 0).astype(np.uint8), candidates
