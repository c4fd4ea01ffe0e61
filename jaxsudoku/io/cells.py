"""Parsing of the cells of a grid in texts: digits, letters, numbers and blanks; and causes of malformed grids."""

from __future__ import annotations

import functools
import math
import re
import string
from collections.abc import Callable, Sequence
from typing import NamedTuple

import numpy as np

from jaxsudoku.core.board import MAX_SIDE

#: Characters that stand for a blank; so does x on boards that have no digit X.
BLANKS = b".0*_-?"
#: Values in the table of characters: the end of a puzzle, and characters that are not cells; both above any side.
END, FOREIGN = 254, 255
_ENDS = b" \t\n\r\v\f,;#:=|"
_ALPHABET = string.digits + string.ascii_uppercase
_ZEROS = frozenset((b"0", b"00"))
_LARGEST_CHARACTER = 9  # digits beyond it are letters
#: Maximum number of characters kept of a malformed text.
_LONGEST_TEXT = 1 << 12
#: Surrogates that do not encode a byte.
_LONE = re.compile("[\ud800-\udc7f\udd00-\udfff]")


class Malformed(Exception):
    """Raised for a text that is not a grid; the message is the cause.

    Attributes:
      cell: the wrong cell; None if the fault is not in one cell.
    """

    def __init__(self, message: str, cell: int | None = None) -> None:
        super().__init__(message)
        self.cell = cell


class Cause(str):
    """The cause why a text is not a grid.

    Attributes:
      text: the text, as in the input; cut off after 4,096 characters.
    """

    text: str

    def __new__(cls, cause: object, text: bytes | str) -> Cause:
        """The cause of a text; bytes that are not UTF-8 become escape sequences."""
        made = super().__new__(cls, cause)
        text = text[:_LONGEST_TEXT]
        if isinstance(text, str):
            text = _LONE.sub(lambda found: f"\\u{ord(found[0]):04x}", text).encode(errors="surrogateescape")
        made.text = text.decode(errors="backslashreplace").strip("\r\n")
        return made


class Digits(NamedTuple):
    """The notation of a board's digits in a text.

    Attributes:
      side: the number of digits.
      zero_based: whether digits are counted from 0, so that 0 is a digit and not a blank.
    """

    side: int
    zero_based: bool = False

    @property
    def cells(self) -> int:
        """The number of cells of a grid."""
        return self.side * self.side


class Marks(NamedTuple):
    """Information in a text about a puzzle besides its filled cells.

    Attributes:
      candidates: bool[side, cells], the digits that each cell may hold.
      placed: bool[cells], filled cells that are not givens; None for none.
    """

    candidates: np.ndarray
    placed: np.ndarray | None = None


class Cells(NamedTuple):
    """A grid that was read from a text.

    Attributes:
      grid: uint8[cells], 0 = open.
      mixed: whether some blanks are written 0 and others in another way.
      marks: candidates, if listed, and placed cells.
    """

    grid: np.ndarray
    mixed: bool = False
    marks: Marks | None = None


@functools.cache
def character_values(digits: Digits) -> bytes:
    """The value of each byte as a cell: 0 for a blank, ``END`` or ``FOREIGN`` for other characters."""
    table = bytearray([FOREIGN]) * 256
    for value, character in enumerate(_ALPHABET, start=int(digits.zero_based)):
        table[ord(character)] = table[ord(character.lower())] = value
    for byte in blank_characters(digits):
        table[byte] = 0
    for byte in _ENDS:
        table[byte] = END
    return bytes(table)


@functools.cache
def blank_characters(digits: Digits) -> bytes:
    """The characters for a blank; ``0``, if included, is the last one."""
    letters = b"xX" if _ALPHABET.index("X") + digits.zero_based > digits.side else b""
    return BLANKS.replace(b"0", b"") + letters + (b"" if digits.zero_based else b"0")


@functools.cache
def _token_values(digits: Digits) -> dict[bytes, int]:
    """The value of each text that denotes a cell."""
    characters = character_values(digits)
    tokens = {bytes([byte]): value for byte, value in enumerate(characters) if value < END}
    for number in range(100):
        for form in (str(number), f"{number:02}"):
            tokens[form.encode()] = number + digits.zero_based
    if not digits.zero_based:
        tokens |= dict.fromkeys(_ZEROS, 0)
    return tokens | {b"-1": 0}


_TOKENS = frozenset(_token_values(Digits(MAX_SIDE)))


def is_cell(text: bytes) -> bool:
    """Whether a text is the digit of a cell or a blank."""
    return text in _TOKENS


def number_of_line(cell: int) -> str:
    """The position of a cell in a line of numbers, for messages."""
    return f"number {cell + 1} of the line"


def at_column(first: int) -> Callable[[int], str]:
    """The position of a cell in a line with one character per cell from a column on, for messages."""
    return lambda cell: f"at column {first + cell}"


def grid_of(tokens: Sequence[bytes], digits: Digits, place: Callable[[int], str] = number_of_line) -> Cells:
    """Converts texts of cells to a grid or a row.

    Letters are digits from 10 on. In a grid without 1 to 9, letters that exceed the side are digits from 1 on.

    Args:
      tokens: a text for each cell.
      digits: their notation.
      place: describes the position of a cell, for messages.

    Raises:
      Malformed: a text is not a cell or its digit is too large; or it is ambiguous whether letters count from 1 or 10.
    """
    tokens = _with_blanks(tokens, digits)
    values = check_cells(tokens, digits, place)
    if values.max(initial=0) <= digits.side and not _letters_alone(tokens, values, digits):
        others = blank_characters(digits).removesuffix(b"0")
        mixed = not digits.zero_based and not _ZEROS.isdisjoint(tokens)
        return Cells(values, mixed and any(token == b"-1" or (len(token) == 1 and token in others) for token in tokens))
    if values.max() <= digits.side:
        letter = next(token for token, value in zip(tokens, values, strict=True) if value).decode()
        raise Malformed(
            f"all digits are letters: {letter!r} is {_value(letter, digits)}, or {_place_of(letter)} if they are "
            "counted from A: write numbers"
        )
    letters = {token for token in tokens if token.isalpha()}
    # all other letters, beside an x of either case
    small, large = (b"".join(letters - {x}) if x in letters else b"" for x in (b"x", b"X"))
    if small.isupper() or large.islower():
        raise Malformed("'x' has another case than all other letters: is it a digit or a blank? Write '.' for blanks")
    return Cells(_lettered(tokens, digits))


def _with_blanks(tokens: Sequence[bytes], digits: Digits) -> Sequence[bytes]:
    """The cells with x replaced by a dot: among two-digit numbers it is a blank on boards of any side."""
    if b"x" not in blank_characters(digits) and any(len(token) > 1 and token.isdigit() for token in tokens):
        return [b"." if token in (b"x", b"X") else token for token in tokens]
    return tokens


def check_cells(tokens: Sequence[bytes], digits: Digits, place: Callable[[int], str] = number_of_line) -> np.ndarray:
    """Values of cells, uint8, above the side only if letters may be counted from A; raises as ``grid_of``."""
    table, tokens = _token_values(digits), _with_blanks(tokens, digits)
    found = bytes(table.get(token, FOREIGN) for token in tokens)
    values = np.frombuffer(found, np.uint8)
    if not found or max(found) <= digits.side or max(_lettered(tokens, digits)) <= digits.side:
        return values
    cell = next(cell for cell, value in enumerate(found) if value > digits.side)
    shown, value = tokens[cell].decode(errors="backslashreplace"), found[cell]
    if value == FOREIGN and not shown.isdigit():
        raise Malformed(f"{shown!r}, {place(cell)}, is not a cell", cell)
    meaning = f" ({value})" if not shown.isdigit() else ""
    largest = f"{digits.side - digits.zero_based}, the largest digit of this board"
    counted = " counted from 0" if digits.zero_based else ""
    raise Malformed(f"{shown!r}{meaning}, {place(cell)}, is larger than {largest}{counted}", cell)


def _letters_alone(tokens: Sequence[bytes], values: np.ndarray, digits: Digits) -> bool:
    """Whether all digits are letters, and none exceeds the side when counted from A."""
    filled = values[values > 0]
    if digits.zero_based or not len(filled) or filled.min() <= _LARGEST_CHARACTER:
        return False
    return not any(token.isdigit() and token not in _ZEROS for token in tokens)


def _lettered(tokens: Sequence[bytes], digits: Digits) -> np.ndarray:
    """Values of cells with letters counted from A; ``FOREIGN`` for other texts."""
    table = {} if digits.zero_based else _letter_values(digits)
    return np.frombuffer(bytes(table.get(token, FOREIGN) for token in tokens), np.uint8)


@functools.cache
def _letter_values(digits: Digits) -> dict[bytes, int]:
    letters = string.ascii_uppercase[: digits.side]
    blanks = dict.fromkeys((*_ZEROS, b"-1", *(bytes([byte]) for byte in blank_characters(digits))), 0)
    return blanks | {
        form.encode(): value for value, letter in enumerate(letters, 1) for form in (letter, letter.lower())
    }


def _value(letter: str, digits: Digits) -> int:
    return character_values(digits)[ord(letter)]


def _place_of(letter: str) -> int:
    return string.ascii_uppercase.index(letter.upper()) + 1


def listed_by_place(text: bytes, digits: Digits) -> Marks | None:
    """The candidates of a text with ``side`` characters per cell; the k-th is the digit k or a blank.

    Returns:
      The candidates; None if the text has another form, or a cell has none.
    """
    side = digits.side
    if len(text) != side**3:
        return None
    places = np.arange(1, side + 1, dtype=np.uint8)
    for values in (
        np.frombuffer(text.translate(character_values(digits)), np.uint8),
        _lettered([text[at : at + 1] for at in range(len(text))], digits),
    ):
        listed = values.reshape(-1, side)
        if ((listed == 0) | (listed == places)).all() and listed.any(axis=1).all():
            return Marks(np.ascontiguousarray((listed > 0).T))
    return None


def sides_by_place(text: bytes) -> list[int]:
    """The possible sides of the board of a text in the form of ``listed_by_place``."""
    side = round(len(text) ** (1 / 3))
    return [side] if 1 < side <= MAX_SIDE and listed_by_place(text, Digits(side)) is not None else []


def filled_cells(marks: Marks) -> np.ndarray:
    """The digits of the cells that list one candidate, uint8[cells], 0 for the others."""
    single = marks.candidates.sum(axis=0) == 1
    return np.where(single, marks.candidates.argmax(axis=0) + 1, 0).astype(np.uint8)


def separated(text: bytes, count: int | None = None) -> list[bytes] | None:
    """The cells of a text separated by commas, semicolons or tabs; an empty field is a blank.

    Args:
      text: the text.
      count: the number of cells; a further delimiter may follow. None for any number from two on.

    Returns:
      The cells; None if the text has another form.
    """
    for separator in (b",", b";", b"\t"):
        further = text.count(separator) + 1 - (count or 0)
        if (count is None and separator not in text) or (count is not None and further not in (0, 1)):
            continue
        fields = [field.strip() or b"." for field in text.split(separator)]
        if count is not None and further and text.rstrip(b" \r\n\v\f").endswith(separator):
            fields.pop()
        if len(fields) > 1 and len(fields) == (count or len(fields)) and all(field in _TOKENS for field in fields):
            return fields
    return None


def is_shifted(text: bytes, count: int) -> bool:
    """Whether a text has one delimiter too many for ``separated``, and its first and last fields are empty."""
    text = text.strip(b" \r\n\v\f")
    ends = {text[:1], text[-1:]}
    return len(ends) == 1 and ends <= {b",", b";", b"\t"} and text.count(text[:1]) == count and len(text) > count


#: The cause for a grid that ``is_shifted``.
SHIFTED = (
    "one delimiter too many, before the first cell or after the last one, as both these fields are empty: leave it out"
)


def split_row(row: bytes, side: int) -> list[bytes] | None:
    """The cells of a drawn row without its frame; None if their number is wrong or other characters occur."""
    if (fields := separated(row, side)) is not None:
        return fields
    numbers = row.split()
    if len(numbers) != side:
        mixed = len(set(map(len, numbers))) > 1
        if mixed and any(
            len(number) == 2 and (number == b"-1" or (side > 9 and number.isdigit())) for number in numbers
        ):
            return None  # numbers, some of them missing
        joined = b"".join(numbers)
        numbers = [joined[cell : cell + 1] for cell in range(len(joined))]
    return numbers if len(numbers) == side and all(number in _TOKENS for number in numbers) else None


def wrong_length(cells: int, side: int) -> str:
    """The cause for a text with a wrong number of cells."""
    other = math.isqrt(cells)
    named = f": --board {other}" if 4 <= other <= MAX_SIDE else ""
    fits = f" ({cells} make a {other}x{other} board{named})" if other > 1 and other * other == cells else ""
    if fits and other > MAX_SIDE:
        fits = f" ({cells} make a {other}x{other} board; boards are up to {MAX_SIDE}x{MAX_SIDE})"
    noun = "cell" if cells == 1 else "cells"
    return f"{cells} {noun}; a {side}x{side} board has {side * side}{fits}"
