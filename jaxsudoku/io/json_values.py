"""Puzzles as JSON values: texts, and lists of integers, of rows or of texts."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

from .cells import Cells, Digits, Malformed, grid_of, split_row, wrong_length
from .decode import decode_text


def decode_value(value: Any, digits: Digits) -> Cells:
    """Decodes a puzzle from a JSON value: a text, integers in a flat list or in one list per row, or texts of rows.

    Raises:
      Malformed: with the cause.
    """
    if isinstance(value, str):
        return decode_text(value.encode(errors="backslashreplace"), digits)
    if not isinstance(value, list):
        raise Malformed(f"a puzzle is a text or a list of integers, not {json.dumps(value)[:40]}")
    return grid_of(_tokens_of(value, digits), digits)


def outside_strings(change: Callable[[str], str], text: str) -> str:
    """Changes what is no string of a text like JSON."""
    found, inside = [], False
    for part in text.split('"'):
        found.append(part if inside else change(part))
        escaped = inside and (len(part) - len(part.rstrip("\\"))) % 2
        inside = bool(escaped) or not inside
    return '"'.join(found)


def flat_cells(value: list[Any]) -> list[Any]:
    """The cells of a puzzle in a list, or in one list or text per row."""
    rows = text_rows(value)
    if rows is not None:
        return [cell for row in rows for cell in row]
    if any(isinstance(row, list) for row in value):
        return [cell for row in value for cell in (row if isinstance(row, list) else [row])]
    return list(value)


def text_rows(value: list[Any]) -> list[list[bytes]] | None:
    """The cells of a square list of texts, one per row; None for other lists."""
    if len(value) < 2 or not all(isinstance(row, str) and len(row) > 1 for row in value):
        return None
    rows = [split_row(row.encode(errors="backslashreplace"), len(value)) for row in value]
    return None if any(row is None for row in rows) else [row for row in rows if row is not None]


def _tokens_of(value: list[Any], digits: Digits) -> list[bytes]:
    cells = flat_cells(value)
    for number, cell in enumerate(cells, start=1):
        if isinstance(cell, bool) or not isinstance(cell, int | str | bytes | None):
            raise Malformed(f"cell {number} is {json.dumps(cell)[:40]}, not an integer")
    if len(cells) != digits.cells:
        raise Malformed(wrong_length(len(cells), digits.side))
    return [_token(cell) for cell in cells]


def _token(cell: int | str | bytes | None) -> bytes:
    if isinstance(cell, bytes):
        return cell
    return b"." if cell is None else str(cell).strip().encode(errors="backslashreplace") or b"."
