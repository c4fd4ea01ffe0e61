"""Grids as text: encoding, decoding, and why a text is not a grid.

``decode_even`` and ``decode_spans`` decode whole blocks with numpy. ``decode_text`` decodes one text at a time: it
accepts the rarer spellings too, and gives the causes of errors.
"""

from __future__ import annotations

import functools
import itertools
import math
import re
import string
from collections.abc import Callable, Iterator, Sequence
from typing import Any, overload

import numpy as np
from numpy.lib.stride_tricks import sliding_window_view

from jaxsudoku.board import MAX_SIDE, Board

#: Stands for a grid that is missing: no solution, or no puzzle.
NO_GRID = b"-"
BLANKS = b".0*_-"
_END, _FOREIGN = 254, 255  # greater than any side
_ENDING = re.compile(rb"[\s,;#]")
_ALPHABET = string.digits + string.ascii_uppercase


def _value_of_byte() -> bytes:
    table = bytearray([_FOREIGN]) * 256
    for value, character in enumerate(_ALPHABET):
        table[ord(character)] = table[ord(character.lower())] = value
    for byte in BLANKS:
        table[byte] = 0
    for byte in b" \t\n\r\v\f,;#":
        table[byte] = _END
    return bytes(table)


_VALUES = _value_of_byte()
_TOKENS = {bytes([byte]): value for byte, value in enumerate(_VALUES) if value < _END}
_TOKENS |= {form.encode(): number for number in range(100) for form in (str(number), f"{number:02}")}


class Malformed(Exception):
    """A text is not a grid; the message is the cause."""


def format_grids(grids: np.ndarray, board: Board) -> bytes:
    """Grids as text, a line each: a character per cell (``.`` for a blank) up to a side of 9, else spaced integers.

    Args:
      grids: uint8[n, cells], values 0 (blank) to side.
      board: their board.

    Raises:
      ValueError: the shape is another, or a value lies outside 0..side.
    """
    return format_lines(grids, board.side)


def format_lines(grids: np.ndarray, side: int, absent: np.ndarray | None = None) -> bytes:
    """As ``format_grids``, with ``-`` for the grids where absent, bool[n], is set."""
    text, kept = _lines(grids, side, absent)
    return text.tobytes() if kept is None else text[kept].tobytes()


def _lines(grids: np.ndarray, side: int, absent: np.ndarray | None) -> tuple[np.ndarray, np.ndarray | None]:
    """Lines and kept characters, as ``_characters`` gives them, with ``-`` where absent is set."""
    grids = np.asarray(grids)
    if grids.ndim != 2 or grids.shape[1] != side * side:
        raise ValueError(f"grids must have shape (n, {side * side}), not {grids.shape}")
    if grids.size and not 0 <= grids.min() <= grids.max() <= side:
        raise ValueError(f"a grid holds a value outside 0..{side}")
    text, kept = _characters(grids.astype(np.uint8, copy=False), side)
    if absent is not None and absent.any():
        kept = np.ones(text.shape, bool) if kept is None else kept
        text[absent, :2] = np.frombuffer(NO_GRID + b"\n", np.uint8)
        kept[absent] = np.arange(text.shape[1]) < 2
    return text, kept


def _characters(grids: np.ndarray, side: int) -> tuple[np.ndarray, np.ndarray | None]:
    """Lines as uint8[n, width], and bool[n, width] of the characters to keep, None for all."""
    if side <= 9:
        text = np.empty((len(grids), side * side + 1), np.uint8)
        np.add(grids, np.uint8(ord("0")), out=text[:, :-1])
        if not grids.all():
            text[:, :-1] -= (grids == 0) * np.uint8(ord("0") - ord("."))
        text[:, -1] = ord("\n")
        return text, None
    # Three characters per cell: the tens (dropped below 10), the units, and a separator.
    parts = np.stack([grids // 10 + ord("0"), grids % 10 + ord("0"), np.full_like(grids, ord(" "))], axis=-1)
    kept = np.ones(parts.shape, bool)
    kept[..., 0] = grids >= 10
    parts[:, -1, -1] = ord("\n")
    shape = (len(grids), 3 * side * side)
    return parts.reshape(shape), kept.reshape(shape)


class GridColumn(Sequence[str]):
    """A column of grids as texts, which lie in one buffer until they are asked for; made by ``grid_column``.

    Attributes:
      data: the texts, one after the other, ASCII.
      bounds: int64[n + 1], where each text begins, and the end of the last.
    """

    def __init__(self, data: bytes, bounds: np.ndarray) -> None:
        self.data, self.bounds = data, bounds

    @functools.cached_property
    def texts(self) -> list[str]:
        """The texts as a list."""
        text, bounds = self.data.decode(), self.bounds.tolist()
        return [text[start:end] for start, end in itertools.pairwise(bounds)]

    def __len__(self) -> int:
        return len(self.bounds) - 1

    def __iter__(self) -> Iterator[str]:
        return iter(self.texts)

    @overload
    def __getitem__(self, index: int) -> str: ...
    @overload
    def __getitem__(self, index: slice) -> list[str]: ...
    def __getitem__(self, index: int | slice) -> str | list[str]:
        return self.texts[index]


def grid_column(grids: np.ndarray, board: Board, absent: np.ndarray | None = None) -> GridColumn:
    """Grids uint8[n, cells] as texts, as ``format_grids`` writes them; ``-`` where absent, bool[n], is set."""
    text, kept = _lines(grids, board.side, absent)
    count, width = text.shape
    if kept is None:
        return GridColumn(text[:, :-1].tobytes(), np.arange(count + 1) * (width - 1))
    kept &= text != ord("\n")
    bounds = np.concatenate([[0], np.cumsum(kept.sum(axis=1))])
    return GridColumn(text[kept].tobytes(), bounds)


def read_grid_column(values: Sequence[Any], side: int) -> tuple[np.ndarray, dict[int, str]]:
    """A column of text (or None) as grids, the inverse of ``grid_column``.

    Returns:
      uint8[n, cells], zeros for a missing or malformed grid; and the causes of the malformed ones, by row.
    """
    encoded = [("" if value is None else str(value).strip()).encode(errors="surrogateescape") for value in values]
    grids, _, causes = decode_texts(encoded, side)
    return grids, {row: cause for row, cause in causes.items() if encoded[row] not in (b"", NO_GRID)}


def decode_spans(data: bytes, starts: np.ndarray, ends: np.ndarray, side: int) -> tuple[np.ndarray, np.ndarray]:
    """Decodes the spans of a block that have a character per cell, then nothing or white space, ``,``, ``;`` or ``#``.

    Args:
      data: the block.
      starts, ends: int64[n], the span of each text in it.

    Returns:
      uint8[n, cells] of values, and bool[n], False (and zeros) for spans of another form.
    """
    cells = side * side
    values = np.frombuffer(data.translate(_VALUES), np.uint8)
    lengths = ends - starts
    good = lengths >= cells
    if not good.any():
        return np.zeros((len(starts), cells), np.uint8), good
    # Spans too short for a grid may lie at the end of the block: any window replaces them until they are zeroed.
    inside = np.where(good, starts, 0)
    grids = sliding_window_view(values, cells)[inside]
    after = values[np.minimum(inside + cells, len(values) - 1)]
    good &= ((lengths == cells) | (after == _END)) & (grids.max(axis=1) <= side)
    if side >= len(string.digits):  # where 0 may be a digit, see ``_check_zeros``
        zeros = sliding_window_view(np.frombuffer(data, np.uint8), cells)[inside] == ord("0")
        good &= ~(zeros.any(axis=1) & ((grids == 0) & ~zeros).any(axis=1))
    if not good.all():
        grids[~good] = 0
    return grids, good


def decode_even(block: bytes, side: int) -> np.ndarray | None:
    """Decodes a block of lines that have exactly a digit or ``.`` per cell, the most common form.

    Args:
      block: whole lines.
      side: the board's, up to 9 for a digit to be one character.

    Returns:
      uint8[n, cells], or None if some line has another form.
    """
    width = side * side + 1
    if side > 9 or len(block) % width:
        return None
    lines = np.frombuffer(block, np.uint8).reshape(-1, width)
    grids = lines[:, :-1] - np.uint8(ord("0"))  # smaller characters wrap around and are too large
    grids *= grids != (ord(".") - ord("0")) % 256
    return grids if grids.max(initial=0) <= side and (lines[:, -1] == ord("\n")).all() else None


def decode_odd(grids: np.ndarray, good: np.ndarray, text_of: Callable[[int], bytes], side: int) -> dict[int, str]:
    """Decodes in place, one by one, the rows that are not good yet; returns the causes of the malformed ones."""
    causes = {}
    for row in np.flatnonzero(~good).tolist():
        try:
            grids[row] = decode_text(text_of(row), side)
            good[row] = True
        except Malformed as cause:
            causes[row] = str(cause)
    return causes


def decode_block(
    block: bytes, starts: np.ndarray, ends: np.ndarray, side: int
) -> tuple[np.ndarray, np.ndarray, dict[int, str]]:
    """Decodes the spans of a block, each a text of any form that ``decode_text`` accepts.

    Returns:
      uint8[n, cells] of values, zeros for malformed texts; bool[n], False for these; and their causes by row.
    """
    grids, good = decode_spans(block, starts, ends, side)
    causes = decode_odd(grids, good, lambda row: block[starts[row] : ends[row]], side)
    return grids, good, causes


def decode_texts(texts: Sequence[bytes], side: int) -> tuple[np.ndarray, np.ndarray, dict[int, str]]:
    """As ``decode_block``, for a sequence of texts."""
    ends = np.cumsum([len(text) for text in texts], dtype=np.int64)
    starts = np.concatenate([[0], ends])[: len(ends)]
    return decode_block(b"".join(texts), starts, ends, side)


def decode_text(text: bytes, side: int) -> np.ndarray:
    """Decodes one text with a character or a number per cell.

    Returns:
      uint8[cells].

    Raises:
      Malformed: with the cause.
    """
    cells = side * side
    body = text.split(b"#")[0]
    numbers = separated(body, cells) or body.replace(b",", b" ").split()
    if len(numbers) == cells > 1:
        _check_zeros(numbers, side)
        return check_values(numbers, side)
    first = _ENDING.split(text.strip(), maxsplit=1)[0]
    offset = len(text) - len(text.lstrip())
    if len(numbers) > 1 and all(len(number) <= 2 and number in _TOKENS for number in numbers):
        raise Malformed(wrong_length(len(numbers), side))
    for column, byte in enumerate(first, start=offset + 1):
        if _VALUES[byte] == _FOREIGN:
            raise Malformed(f"{_name(text, column - 1)} at column {column} is not a cell")
    if len(first) != cells:
        raise Malformed(wrong_length(len(first), side))
    tokens = [first[cell : cell + 1] for cell in range(cells)]
    _check_zeros(tokens, side)
    return check_values(tokens, side, offset + 1)


def check_values(tokens: list[bytes], side: int, column: int | None = None) -> np.ndarray:
    """Values of the cells of a grid or row; ``column`` is that of the first one if each is one character.

    Raises:
      Malformed: a token is not a cell, or too large.
    """
    values = bytes(_TOKENS.get(token, _FOREIGN) for token in tokens)
    if max(values) <= side:
        return np.frombuffer(values, np.uint8)
    number = next(number for number, value in enumerate(values) if value > side)
    shown, value = tokens[number].decode(errors="backslashreplace"), values[number]
    place = f"number {number + 1} of the line" if column is None else f"at column {column + number}"
    if value == _FOREIGN and not shown.isdigit():
        raise Malformed(f"{shown!r}, {place}, is not a cell")
    meaning = f" ({value})" if not shown.isdigit() else ""
    raise Malformed(f"{shown!r}{meaning}, {place}, is larger than {side}, the largest digit of this board")


def _check_zeros(tokens: list[bytes], side: int) -> None:
    """Raises Malformed for a large grid with both ``0`` and another blank: its digits may start at 0, as in hex."""
    if side < len(string.digits) or not {b"0", b"00"}.intersection(tokens):
        return
    other = next((token for token in tokens if len(token) == 1 and token != b"0" and token in BLANKS), None)
    if other is not None:
        raise Malformed(
            f"'0' and {other.decode()!r} both stand for a blank; if 0 is a digit here, count digits from 1 to {side}"
        )


def separated(text: bytes, count: int | None = None) -> list[bytes] | None:
    """The cells of a text separated by commas, semicolons or tabs, where an empty field is a blank.

    Args:
      text: the text.
      count: the number of cells, None for any number from two on.

    Returns:
      The cells, None if the text has another form.
    """
    for separator in (b",", b";", b"\t"):
        if (text.count(separator) + 1 == count) if count is not None else (separator in text):
            fields = [field.strip() or b"." for field in text.split(separator)]
            if len(fields) > 1 and all(field in _TOKENS for field in fields):
                return fields
    return None


def is_cell(text: bytes) -> bool:
    """Whether a text is the digit of a cell or a blank."""
    return text in _TOKENS


def split_row(row: bytes, side: int) -> list[bytes] | None:
    """The cells of a drawn row without its frame; None if it has another number of cells or foreign characters."""
    if (fields := separated(row, side)) is not None:
        return fields
    numbers = row.split()
    if len(numbers) != side:
        if (
            side > 9
            and len(set(map(len, numbers))) > 1
            and any(number.isdigit() and len(number) == 2 for number in numbers)
        ):
            return None  # numbers, some of them missing
        joined = b"".join(numbers)
        numbers = [joined[cell : cell + 1] for cell in range(len(joined))]
    return numbers if len(numbers) == side and all(number in _TOKENS for number in numbers) else None


def wrong_length(cells: int, side: int) -> str:
    """The cause for a text with a wrong number of cells."""
    other = math.isqrt(cells)
    fits = f" ({cells} make a {other}x{other} board)" if other > 1 and other * other == cells else ""
    if fits and other > MAX_SIDE:
        fits = f" ({cells} make a {other}x{other} board; boards are up to {MAX_SIDE}x{MAX_SIDE})"
    noun = "cell" if cells == 1 else "cells"
    return f"{cells} {noun}; a {side}x{side} board has {side * side}{fits}"


def _name(text: bytes, at: int) -> str:
    """A character as shown in messages: itself if printable, else the number of the byte."""
    character = text[at : at + 4].decode(errors="replace")[0]
    readable = character.isprintable() and character != "\N{REPLACEMENT CHARACTER}"
    return repr(character) if readable else f"byte 0x{text[at]:02x}, which is not text,"
