"""Cells as text: which character or number stands for which value, and why a text is no grid.

The quick ways, ``decode_even`` and ``decode_spans``, decode whole blocks with numpy; whatever they can't read is looked
at again, one text at a time, by ``decode_text``, which also takes the rarer spellings and words the causes of errors.
"""

from __future__ import annotations

import math
import re
import string
from collections.abc import Callable, Sequence

import numpy as np
from numpy.lib.stride_tricks import sliding_window_view

BLANKS = b".0*_-"
_END, _FOREIGN = 254, 255  # not values of any board: its side is at most 64
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
    """A text is no grid; the message is the cause."""


def decode_spans(data: bytes, starts: np.ndarray, ends: np.ndarray, side: int) -> tuple[np.ndarray, np.ndarray]:
    """Decodes the spans of a block that hold a character for each cell, and anything after white space, ',', ';', '#'.

    Args:
      data: the block.
      starts, ends: int64[n], the span of each text in it.

    Returns:
      uint8[n, cells] of values, and bool[n], False (and zeros) for spans that are not of this form.
    """
    cells = side * side
    values = np.frombuffer(data.translate(_VALUES), np.uint8)
    lengths = ends - starts
    good = lengths >= cells
    if not good.any():
        return np.zeros((len(starts), cells), np.uint8), good
    # Spans too short for a grid may end where the block does: any window stands in for them until they are blanked.
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
    """Decodes a block of lines that are nothing but a digit or ``.`` for each cell, as those of most files are.

    Args:
      block: whole lines.
      side: the board's, up to 9 for a digit to be one character.

    Returns:
      uint8[n, cells], or None if some line is of another form.
    """
    width = side * side + 1
    if side > 9 or len(block) % width:
        return None
    lines = np.frombuffer(block, np.uint8).reshape(-1, width)
    grids = lines[:, :-1] - np.uint8(ord("0"))  # what is less wraps round, and is too large
    grids *= grids != (ord(".") - ord("0")) % 256
    return grids if grids.max(initial=0) <= side and (lines[:, -1] == ord("\n")).all() else None


def decode_odd(grids: np.ndarray, good: np.ndarray, text_of: Callable[[int], bytes], side: int) -> dict[int, str]:
    """Decodes in place, one at a time, what ``decode_spans`` left; returns the cause of each row that is no grid."""
    causes = {}
    for row in np.flatnonzero(~good).tolist():
        try:
            grids[row] = decode_text(text_of(row), side)
            good[row] = True
        except Malformed as cause:
            causes[row] = str(cause)
    return causes


def decode_texts(texts: Sequence[bytes], side: int) -> tuple[np.ndarray, np.ndarray, dict[int, str]]:
    """Decodes texts of any form that ``decode_text`` takes.

    Returns:
      uint8[n, cells] of values, zeros for texts that are no grid; bool[n], False for these; and their causes by row.
    """
    ends = np.cumsum([len(text) for text in texts], dtype=np.int64)
    starts = np.concatenate([[0], ends])[: len(ends)]
    grids, good = decode_spans(b"".join(texts), starts, ends, side)
    causes = decode_odd(grids, good, texts.__getitem__, side)
    return grids, good, causes


def decode_text(text: bytes, side: int) -> np.ndarray:
    """Decodes one text, of a character or a number for each cell.

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
            raise Malformed(f"{_name(text, column - 1)} at column {column} is no cell")
    if len(first) != cells:
        raise Malformed(wrong_length(len(first), side))
    tokens = [first[cell : cell + 1] for cell in range(cells)]
    _check_zeros(tokens, side)
    return check_values(tokens, side, offset + 1)


def check_values(tokens: list[bytes], side: int, column: int | None = None) -> np.ndarray:
    """Values of a grid's or row's cells; ``column`` is where the first stands if each is one character.

    Raises:
      Malformed: a token is no cell, or is too large.
    """
    values = bytes(_TOKENS.get(token, _FOREIGN) for token in tokens)
    if max(values) <= side:
        return np.frombuffer(values, np.uint8)
    number = next(number for number, value in enumerate(values) if value > side)
    shown, value = tokens[number].decode(errors="backslashreplace"), values[number]
    place = f"number {number + 1} of the line" if column is None else f"at column {column + number}"
    if value == _FOREIGN and not shown.isdigit():
        raise Malformed(f"{shown!r}, {place}, is no cell")
    meaning = f" ({value})" if not shown.isdigit() else ""
    raise Malformed(f"{shown!r}{meaning}, {place}, is larger than {side}, the largest digit of this board")


def _check_zeros(tokens: list[bytes], side: int) -> None:
    """Refuses a grid of a large board with both ``0`` and another blank: its digits may begin with 0, as in hex.

    Raises:
      Malformed: it has both.
    """
    if side < len(string.digits) or not {b"0", b"00"}.intersection(tokens):
        return
    other = next((token for token in tokens if len(token) == 1 and token != b"0" and token in BLANKS), None)
    if other is not None:
        raise Malformed(
            f"'0' and {other.decode()!r} both stand for a blank; if 0 is a digit here, count digits from 1 to {side}"
        )


def separated(text: bytes, count: int | None = None) -> list[bytes] | None:
    """The cells of a text that commas, semicolons or tabs separate, where nothing stands for a blank.

    Args:
      text: the text.
      count: how many cells there are to be, None for any number from two on.

    Returns:
      The cells, None where the text is of another form.
    """
    for separator in (b",", b";", b"\t"):
        if (text.count(separator) + 1 == count) if count is not None else (separator in text):
            fields = [field.strip() or b"." for field in text.split(separator)]
            if len(fields) > 1 and all(field in _TOKENS for field in fields):
                return fields
    return None


def split_row(row: bytes, side: int) -> list[bytes] | None:
    """The cells of a drawn row without its frame, or None if it has another number of cells or foreign characters."""
    if (fields := separated(row, side)) is not None:
        return fields
    numbers = row.split()
    if len(numbers) != side:
        joined = b"".join(numbers)
        numbers = [joined[cell : cell + 1] for cell in range(len(joined))]
    return numbers if len(numbers) == side and all(number in _TOKENS for number in numbers) else None


def wrong_length(cells: int, side: int) -> str:
    """The cause of an error, for a text of so many cells on a board of another size."""
    other = math.isqrt(cells)
    fits = f" ({cells} make a {other}x{other} board)" if other > 1 and other * other == cells else ""
    return f"{cells} cell{'s' * (cells != 1)}; a {side}x{side} board has {side * side}{fits}"


def _name(text: bytes, at: int) -> str:
    """A character as a message shows it: as it is written if it is text, else the byte's number."""
    character = text[at : at + 4].decode(errors="replace")[0]
    readable = character.isprintable() and character != "\N{REPLACEMENT CHARACTER}"
    return repr(character) if readable else f"byte 0x{text[at]:02x}, which is not text,"
