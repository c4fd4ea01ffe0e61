"""Puzzles in JSON lines: an object with the key ``puzzle`` a line, or the puzzle alone."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

import numpy as np

from .cells import Malformed, check_values, decode_text, wrong_length
from .chunk import Chunk, LineError, PuzzleFileError
from .header import BoardCheck
from .tables import Dialect, choose_columns


def is_json(line: bytes) -> bool:
    """Whether a first line begins as a JSON object or array does."""
    return line.lstrip().startswith((b"{", b"["))


def read_json_lines(
    blocks: Iterator[bytes], side: int, name: str, check: BoardCheck, dialect: Dialect
) -> Iterator[Chunk]:
    """A chunk for each block of lines, whose further keys are those of the lines of the first block.

    A puzzle is a text as in any other file, or integers in a flat list or one list a row, 0 or null for a blank.

    Raises:
      PuzzleFileError: the first object has no key of puzzles, the file is one array or has objects over several lines,
        or a comment names another board.
    """
    extras: dict[str, str] | None = None
    puzzle = "puzzle"
    line = 1
    for block in blocks:
        whole, fault = check.cut(block, line)
        texts = [(number, text) for number, text in enumerate(whole.split(b"\n")[:-1], start=line) if _holds(text)]
        line += block.count(b"\n")
        records = [_object(text) for _, text in texts]
        if extras is None and records:
            _check_lines(*texts[0], records[0], name)
            keys = list(dict.fromkeys(key for record in records if isinstance(record, dict) for key in record))
            if any(isinstance(record, dict) for record in records):
                columns = choose_columns(keys, f"{name}:{texts[0][0]}", dialect.keep, dialect.column)
                puzzle, extras = keys[columns.puzzle], {key: keys[at] for key, at in columns.extras.items()}
            else:
                extras = {}
        if records:
            yield _chunk(texts, records, puzzle, extras or {}, side, name)
        if fault is not None:
            raise fault


def json_puzzle(text: bytes, dialect: Dialect) -> tuple[Any, dict[str, Any]]:
    """The puzzle of a line, a text or nested lists, and the object that holds it.

    Raises:
      Malformed: the line is no JSON.
      PuzzleFileError: the object has no key of puzzles.
    """
    record = _object(text)
    if isinstance(record, Malformed):
        raise record
    if not isinstance(record, dict):
        return record, {}
    keys = list(record)
    return record[keys[choose_columns(keys, "line 1", column=dialect.column).puzzle]], record


def flat_cells(value: Any) -> list[Any]:
    """The cells of a puzzle in a list, or in one list a row."""
    if any(isinstance(row, list) for row in value):
        return [cell for row in value for cell in (row if isinstance(row, list) else [row])]
    return list(value)


def _check_lines(number: int, text: bytes, record: Any, name: str) -> None:
    """Raises ``PuzzleFileError`` where the first line shows JSON of another layout than one puzzle a line."""
    many = isinstance(record, list) and any(
        isinstance(item, dict) or (isinstance(item, str) and len(item) > 2) for item in record
    )
    if many or text.strip() == b"[":
        raise PuzzleFileError(f"{name}:{number}: a JSON array of puzzles; put one puzzle on each line (jq -c '.[]')")
    if isinstance(record, Malformed) and text.rstrip().endswith((b"{", b"[", b",", b":")):
        raise PuzzleFileError(f"{name}:{number}: JSON over several lines; put one object on each line (jq -c .)")


def _holds(text: bytes) -> bool:
    return bool(text.strip()) and not text.startswith(b"#")


def _object(text: bytes) -> Any:
    """The value of a line of JSON, an exception ``Malformed`` where it is none."""
    try:
        return json.loads(text, object_pairs_hook=_distinct)
    except (ValueError, RecursionError) as error:
        cause = error.msg if isinstance(error, json.JSONDecodeError) else str(error)
        return Malformed(f"no line of JSON ({cause})")


def _distinct(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) < len(pairs):
        keys = [key for key, _ in pairs]
        raise ValueError(f"two values are named {next(key for key in keys if keys.count(key) > 1)!r}")
    return found


def _chunk(
    texts: list[tuple[int, bytes]], records: list[Any], puzzle: str, extras: dict[str, str], side: int, name: str
) -> Chunk:
    grids, good = np.zeros((len(records), side * side), np.uint8), np.ones(len(records), bool)
    errors = []
    for row, record in enumerate(records):
        try:
            grids[row] = _grid(record, puzzle, side)
        except Malformed as cause:
            good[row] = False
            errors.append(LineError(name, texts[row][0], str(cause)))
    carried = {
        _encodable(column): [_text(record.get(key)) if isinstance(record, dict) else "" for record in records]
        for column, key in extras.items()
    }
    return Chunk(grids, good, np.array([number for number, _ in texts], np.int64), tuple(errors), carried)


def _grid(record: Any, puzzle: str, side: int) -> np.ndarray:
    if isinstance(record, Malformed):
        raise record
    if isinstance(record, dict):
        if puzzle not in record:
            raise Malformed(f"no value is named {puzzle!r}")
        record = record[puzzle]
    if isinstance(record, str):
        return decode_text(record.encode(errors="replace"), side)
    if not isinstance(record, list):
        raise Malformed(f"a puzzle is a text or a list of integers, not {json.dumps(record)[:40]}")
    cells = flat_cells(record)
    for number, cell in enumerate(cells, start=1):
        if isinstance(cell, bool) or not isinstance(cell, int | str | None):
            raise Malformed(f"cell {number} is {json.dumps(cell)[:40]}, not an integer")
    if len(cells) != side * side:
        raise Malformed(wrong_length(len(cells), side))
    return check_values([b"0" if cell is None else str(cell).encode(errors="replace") for cell in cells], side)


def _text(value: Any) -> str:
    """A further value as the field of a table."""
    return "" if value is None else _encodable(value) if isinstance(value, str) else json.dumps(value)


def _encodable(text: str) -> str:
    """A text that UTF-8 can hold: half a surrogate pair stays the escape that it was in the file."""
    return text if text.isascii() else text.encode(errors="backslashreplace").decode()
