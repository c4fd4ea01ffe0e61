"""Decodes texts of one grid each: blocks of common forms with numpy, rarer forms one by one."""

from __future__ import annotations

import dataclasses
import functools
import re
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from numpy.lib.stride_tricks import sliding_window_view

from .cells import (
    END,
    FOREIGN,
    SHIFTED,
    Cause,
    Cells,
    Digits,
    Malformed,
    Marks,
    at_column,
    blank_characters,
    character_values,
    filled_cells,
    grid_of,
    is_cell,
    is_shifted,
    listed_by_place,
    separated,
    wrong_length,
)
from .frames import is_frame, plain, row_cells
from .grid_text import NO_GRID
from .library import decode_line, decode_marked, is_marked

_WORD = re.compile(rb"[^\s,;:=|]+")
#: Separators of rows of a grid in one text.
_ROWS = re.compile(rb"[\s,;|/]+")
_PART = 1 << 16  # bytes of a block that are looked at together
#: Number of texts of a block that are read one by one before searching for others of the same form.
_FEW = 16
_MOST_WORDS = 8


@dataclasses.dataclass
class Decoded:
    """Grids that were read from n texts.

    Attributes:
      grids: uint8[n, cells], zeros for malformed texts.
      good: bool[n], False for these.
      mixed: bool[n], grids with some blanks written 0 and others in another way; None if there are none.
      causes: causes of malformed texts, by row.
      marks: candidates and placed cells, by row, of texts that list them.
    """

    grids: np.ndarray
    good: np.ndarray
    mixed: np.ndarray | None = None
    causes: dict[int, str] = dataclasses.field(default_factory=dict)
    marks: dict[int, Marks] = dataclasses.field(default_factory=dict)

    def put(self, row: int, read: Callable[[], Cells], text: bytes | str | None) -> None:
        """Stores the grid of a row, or the cause if it is malformed, with the text if known."""
        try:
            grid, mixed, marks = read()
        except Malformed as cause:
            self.causes[row] = str(cause) if text is None else Cause(cause, text)
            return
        self.grids[row], self.good[row] = grid, True
        if mixed:
            self.mixed = np.zeros(len(self.good), bool) if self.mixed is None else self.mixed
            self.mixed[row] = True
        if marks is not None:
            self.marks[row] = marks

    def select(self, rows: np.ndarray) -> Decoded:
        """The grids of some rows, bool[n], before causes and marks are known."""
        return Decoded(self.grids[rows], self.good[rows], None if self.mixed is None else self.mixed[rows])


def decode_spans(data: bytes, starts: np.ndarray, ends: np.ndarray, digits: Digits) -> Decoded:
    """Decodes the spans of a block that have one character per cell, then nothing or the end of a word.

    Args:
      data: the block.
      starts, ends: int64[n], the span of each text in it.
      digits: their notation.

    Returns:
      The grids; spans of another form are not good, and have no causes yet.
    """
    side, cells = digits.side, digits.cells
    values = np.frombuffer(data.translate(character_values(digits)), np.uint8)
    lengths = ends - starts
    good = lengths >= cells
    if not good.any():
        return Decoded(np.zeros((len(starts), cells), np.uint8), good)
    # Spans too short for a grid may be at the end of the block: any window replaces them until they are zeroed.
    inside = np.where(good, starts, 0)
    grids = sliding_window_view(values, cells)[inside]
    after = values[np.minimum(inside + cells, len(values) - 1)]
    good &= ((lengths == cells) | (after == END)) & (grids.max(axis=1) <= side)
    if side > 9:  # letters alone may be counted from A
        good &= ~((grids > 9).any(axis=1) & ~((grids > 0) & (grids <= 9)).any(axis=1))
    if root := _smaller_side(side):
        good &= ~(grids.reshape(len(grids), -1, root) != 0).any(axis=2).all(axis=1)
    full = (lengths > cells) & (grids[:, 0] > 0)  # it may be a solution, before its puzzle
    if full.any():
        rows = np.flatnonzero(full)
        rows = rows[grids[rows, :side].all(axis=1)]
        good[rows] &= ~grids[rows].all(axis=1)
    if b":" in data:
        good &= ~_before_deleted(data, inside + cells)
    mixed = None if digits.zero_based else _mixed(data, starts, digits)
    if not good.all():
        grids[~good] = 0
    return Decoded(grids, good, None if mixed is None else mixed & good)


def _mixed(data: bytes, starts: np.ndarray, digits: Digits) -> np.ndarray | None:
    """Whether the ``cells`` characters from each position on have blanks of two kinds; None if none have."""
    others = blank_characters(digits).removesuffix(b"0")
    if b"0" not in data or not any(byte in data for byte in others):
        return None
    kinds = sorted((b"0", others), key=lambda kind: len(_places(data[:_PART], kind)))  # the rarer is often absent
    found = np.ones(len(starts), bool)
    for kind in kinds:
        places = _places(data, kind)
        rows = np.searchsorted(starts, places, side="right") - 1
        within = np.zeros(len(starts), bool)
        within[rows[(rows >= 0) & (places < starts[rows] + digits.cells)]] = True
        found &= within
        if not found.any():
            return None
    return found


def _places(data: bytes, characters: bytes) -> np.ndarray:
    """Positions of some characters in a block, int64[m]; computed in parts, whose memory is reused."""
    raw, kinds = np.frombuffer(data, np.uint8), [byte for byte in characters if byte in data]
    found = [
        np.flatnonzero(functools.reduce(np.bitwise_or, [raw[at : at + _PART] == byte for byte in kinds])) + at
        for at in range(0, len(data) if kinds else 0, _PART)
    ]
    return np.concatenate(found) if found else np.zeros(0, np.int64)


def _smaller_side(side: int) -> int:
    """The side of a smaller board whose lists of candidates have as many characters as a grid; 0 if none."""
    root = round(side ** (2 / 3))
    return root if root**3 == side * side else 0


def _before_deleted(data: bytes, ends: np.ndarray) -> np.ndarray:
    """Whether deleted candidates seem to follow each end, bool[n]: a colon, then a space or three digits."""
    padded = np.frombuffer(data + b"\n" * 5, np.uint8)
    found: np.ndarray = np.isin(padded[ends + 4], np.frombuffer(b" :,", np.uint8))
    for at in (1, 2, 3):
        found &= (padded[ends + at] > ord("0")) & (padded[ends + at] <= ord("9"))
    found |= padded[ends + 1] == ord(" ")
    return found & (padded[ends] == ord(":"))


def decode_even(block: bytes, digits: Digits) -> np.ndarray | None:
    """Decodes a block of lines with exactly one digit or one kind of blank per cell, the most common form.

    Args:
      block: whole lines.
      digits: their notation, one character each.

    Returns:
      uint8[n, cells], or None if some line has another form.
    """
    width = digits.cells + 1
    if digits.side > 9 or digits.zero_based or _smaller_side(digits.side) or len(block) % width:
        return None
    if b"0" in block and b"." in block:  # two kinds of blanks
        return None
    lines = np.frombuffer(block, np.uint8).reshape(-1, width)
    grids = lines[:, :-1] - np.uint8(ord("0"))  # smaller characters wrap around and are too large
    grids *= grids != (ord(".") - ord("0")) % 256
    return grids if grids.max(initial=0) <= digits.side and (lines[:, -1] == ord("\n")).all() else None


def decode_rest(found: Decoded, data: bytes, starts: np.ndarray, ends: np.ndarray, digits: Digits) -> Decoded:
    """Decodes spans that ``decode_spans`` did not, of any form that ``decode_text`` accepts; modifies ``found``."""

    def one_by_one(rows: list[int]) -> None:
        for row in rows:
            text = data[starts[row] : ends[row]]
            found.put(row, functools.partial(decode_text, text, digits), text)

    left = np.flatnonzero(~found.good).tolist()
    one_by_one(left[:_FEW])
    if len(left) > _FEW:
        texts = (data[starts[row] : ends[row]] for row in left[:_FEW] if found.good[row] and row not in found.marks)
        later = next(filter(None, (_later_word(text, digits) for text in texts)), None)
        if later is not None:
            before = later.string[: later.start()].translate(character_values(digits)).count(bytes([END]))
            _decode_later(found, data, starts, ends, digits, before)
        one_by_one([row for row in left[_FEW:] if not found.good[row]])
    return found


def decode_block(block: bytes, starts: np.ndarray, ends: np.ndarray, digits: Digits) -> Decoded:
    """Decodes the spans of a block, each a text of any form that ``decode_text`` accepts."""
    return decode_rest(decode_spans(block, starts, ends, digits), block, starts, ends, digits)


def decode_texts(texts: Sequence[bytes], digits: Digits) -> Decoded:
    """``decode_block`` for a sequence of texts."""
    ends = np.cumsum([len(text) for text in texts], dtype=np.int64)
    starts = np.concatenate([[0], ends])[: len(ends)]
    return decode_block(b"".join(texts), starts, ends, digits)


def read_grid_column(values: Sequence[Any], side: int) -> tuple[np.ndarray, dict[int, str]]:
    """A column of text (or None) as grids, the inverse of ``grid_column``.

    Returns:
      uint8[n, cells], zeros for missing or malformed grids; and the causes of malformed ones, by row.
    """
    encoded = [("" if value is None else str(value).strip()).encode(errors="surrogateescape") for value in values]
    found = decode_texts(encoded, Digits(side))
    return found.grids, {row: cause for row, cause in found.causes.items() if encoded[row] not in (b"", NO_GRID)}


def decode_text(text: bytes, digits: Digits) -> Cells:
    """Decodes one text.

    The text has one character or number per cell, rows or other groups of cells, ``side`` characters per cell that list
    its candidates, or is a line of HoDoKu's library. Words may precede a puzzle with one character per cell.

    Raises:
      Malformed: with the cause.
    """
    side, cells = digits.side, digits.cells
    text = text.replace(b'"', b" ")
    if text.lstrip().startswith(b":"):
        return decode_line(text, digits)
    if is_marked(text, digits.cells):
        return decode_marked(text, digits)
    body = text.split(b"#")[0]
    numbers = separated(body, cells) or body.replace(b",", b" ").split()
    if len(numbers) == cells > 1:
        if is_shifted(body, cells):
            raise Malformed(SHIFTED)
        return grid_of(numbers, digits)
    word = _WORD.search(text)
    first, offset = (word[0].split(b"#")[0], word.start()) if word else (b"", 0)
    if len(first) == cells:
        read = _of_characters(text, offset, digits)
        if read.grid.all():
            _check_full(text, read.grid, digits)
        return read
    if (marks := listed_by_place(first, digits)) is not None:
        return Cells(filled_cells(marks), marks=marks)
    groups = _ROWS.split(body.strip())
    size = len(groups[0])
    if size > 2 and size * len(groups) == cells > size and all(len(group) == size for group in groups):
        return grid_of([group[at : at + 1] for group in groups for at in range(len(group))], digits)
    if (later := _later_word(text, digits)) is not None:
        return _of_characters(text, later.start(), digits)
    line = text.rstrip(b"\r\n")
    if len(line) == cells and (b"  " in line or b"#" in line) and line.translate(None, b" #").isdigit():
        raise Malformed(f"{cells} characters, but spaces are no blanks here, and # begins a comment: write . or 0")
    if len(numbers) > 1 and all(len(number) <= 2 and is_cell(number) for number in numbers):
        raise Malformed(wrong_length(len(numbers), side))
    if len(first) == 2 * cells:
        raise Malformed(
            f"{2 * cells} characters: a puzzle and the map of its regions? Give only puzzles, and name their board "
            "(--board jigsaw:MAP)"
        )
    if _is_drawn(plain(text), side):
        raise Malformed("a line of a drawn grid? Drawn grids are read from files without other puzzles")
    _check_characters(text, offset, len(first), digits)
    raise Malformed(wrong_length(len(first), side))


def _is_drawn(line: bytes, side: int) -> bool:
    """Whether a plain line that is no puzzle looks like the frame or a row with bars of a drawn grid."""
    if is_frame(line, side):
        return bool(set(line) & set(b"+=|"))
    return b"|" in line and row_cells(line, side) is not None


def is_puzzle(text: bytes, side: int) -> bool:
    """Whether a text is a puzzle of a board of this side, with digits from 1 on; False for side 0."""
    if not side:
        return False
    try:
        decode_text(text, Digits(side))
    except Malformed:
        return False
    return True


def _check_characters(text: bytes, start: int, count: int, digits: Digits) -> None:
    """Raises Malformed if one of ``count`` characters from ``start`` on is not a cell."""
    foreign = text[start : start + count].translate(character_values(digits)).find(bytes([FOREIGN]))
    if foreign >= 0:
        raise Malformed(f"{_name(text, start + foreign)} at column {start + foreign + 1} is not a cell")


def _of_characters(text: bytes, start: int, digits: Digits) -> Cells:
    """The grid with one character per cell that begins at the byte ``start`` of a text."""
    _check_characters(text, start, digits.cells, digits)
    word = text[start : start + digits.cells]
    smaller = round(len(word) ** (1 / 3))
    if listed_by_place(word, Digits(smaller)) is not None:
        side = digits.side
        raise Malformed(
            f"{len(word)} cells of a {side}x{side} board, or candidates of a {smaller}x{smaller} board, as each digit "
            "is at its place"
        )
    return grid_of([word[cell : cell + 1] for cell in range(len(word))], digits, at_column(start + 1))


def _check_full(text: bytes, grid: np.ndarray, digits: Digits) -> None:
    """Raises Malformed if a full grid is followed on its line by a puzzle that it may solve."""
    later = _WORD.finditer(text.split(b"#")[0], len(text) - len(text.lstrip()) + digits.cells)
    for word in later:
        values = np.frombuffer(word[0].translate(character_values(digits)), np.uint8)
        if values.all() or values.max() > digits.side or abs(len(values) - digits.cells) > 2:
            continue
        if len(values) != digits.cells or ((values == 0) | (values == grid)).all():
            raise Malformed(
                f"a full grid, and at column {word.start() + 1} a puzzle that it may solve: put the puzzle first, or "
                "name its column in a header"
            )


def _later_word(text: bytes, digits: Digits) -> re.Match[bytes] | None:
    """The puzzle, with one character per cell and blanks, after words that are not a grid or part of one.

    A full grid after other words is not accepted, as it may be the solution of a damaged puzzle.
    """
    table = character_values(digits)
    body = text.split(b"#")[0]
    for number, word in enumerate(_WORD.finditer(body)):
        if number == _MOST_WORDS or word.start() > digits.cells // 2:
            return None
        if number and len(word[0]) == digits.cells:
            values = word[0].translate(table)
            return word if max(values) < END and 0 in values else None
    return None


def _decode_later(
    found: Decoded, data: bytes, starts: np.ndarray, ends: np.ndarray, digits: Digits, before: int
) -> None:
    """Decodes remaining spans in which a puzzle with blanks follows ``before`` words; modifies ``found``."""
    stops = np.flatnonzero(np.frombuffer(data.translate(character_values(digits)), np.uint8) == END)
    left = np.flatnonzero(~found.good)
    first = np.searchsorted(stops, starts[left])
    left, first = left[first + before <= len(stops)], first[first + before <= len(stops)]
    between = np.frombuffer(data, np.uint8)[stops[first[:, None] + np.arange(before)]]
    others = between == ord("#")
    others[:, 0] |= stops[first] == starts[left]  # a colon begins a line of HoDoKu's library
    begins = stops[first + before - 1] + 1
    near = (begins - starts[left] <= digits.cells // 2) & (begins < ends[left]) & ~others.any(axis=1)
    left, begins = left[near], begins[near]
    later = decode_spans(data, begins, ends[left], digits)
    good = later.good & (later.grids == 0).any(axis=1)
    rows = left[good]
    found.grids[rows], found.good[rows] = later.grids[good], True
    if later.mixed is not None:
        found.mixed = np.zeros(len(found.good), bool) if found.mixed is None else found.mixed
        found.mixed[rows] = later.mixed[good]


def _name(text: bytes, at: int) -> str:
    """A character as shown in messages: itself if printable, else the number of the byte."""
    character = text[at : at + 4].decode(errors="replace")[0]
    readable = character.isprintable() and character != "\N{REPLACEMENT CHARACTER}"
    return repr(character) if readable else f"byte 0x{text[at]:02x}, which is not text,"
