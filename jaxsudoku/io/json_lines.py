"""JSON lines: a line is an object with the key ``puzzle``, or the puzzle alone."""

from __future__ import annotations

import json
import re
from collections.abc import Collection, Iterator
from typing import Any

import numpy as np

from .cells import Malformed, check_values, decode_text, wrong_length
from .chunk import Chunk, PuzzleFileError
from .columns import choose_columns, plain_names
from .format import Beginning, Format, Record
from .header import BoardCheck

#: The beginning of a drawn row with a given in brackets, or a line such as [Puzzle].
_BRACKETS = re.compile(rb"\s*\[\s*(\d{1,2}\s*\]\s*[^\s,\]]|[A-Za-z ]+\]\s*$)")


class JsonLines(Format):
    """A puzzle is a text as in any other file, or integers in a flat list or one list a row, 0 or null for a blank."""

    name = "JSON lines"
    is_table = True

    @classmethod
    def sniff(cls, start: Beginning, side: int) -> JsonLines | None:
        if not start.lines or _BRACKETS.match(start.lines[0]):
            return None
        return cls(start) if start.lines[0].lstrip().startswith((b"{", b"[")) else None

    def names(self) -> list[str]:
        first = _parse(self.header())
        return list(first) if isinstance(first, dict) else []

    def first_record(self) -> Record | None:
        first = _parse(self.header())
        if isinstance(first, Malformed):
            raise PuzzleFileError(str(first)) from first
        fields = {"puzzle": first}
        if isinstance(first, dict):
            names = list(first)
            puzzle = first[names[choose_columns(names, "line 1", self.start.column).puzzle]]
            fields = {**dict(zip(plain_names(names), first.values(), strict=True)), "puzzle": puzzle}
        head = self.start.head
        return Record(fields, 1 + head.count(b"\n", 0, head.index(self.header())))

    def read(self, blocks: Iterator[bytes], check: BoardCheck, keep: Collection[str] = ()) -> Iterator[Chunk]:
        extras: dict[str, str] | None = None  # the keys of the objects in the first block
        puzzle = "puzzle"
        for first, block in check.cut_all(blocks):
            lines = enumerate(block.split(b"\n")[:-1], start=first)
            texts = [(line, text) for line, text in lines if text.strip() and not text.startswith(b"#")]
            if not texts:
                continue
            records = [_parse(text) for _, text in texts]
            if extras is None:
                self._check_layout(*texts[0], records[0])
                objects = [record for record in records if isinstance(record, dict)]
                keys = list(dict.fromkeys(key for record in objects for key in record))
                extras = {}
                if objects:
                    columns = choose_columns(keys, f"{self.start.name}:{texts[0][0]}", self.start.column, keep)
                    puzzle, extras = keys[columns.puzzle], {name: keys[at] for name, at in columns.extras.items()}
            yield self._chunk([line for line, _ in texts], records, puzzle, extras, check.board.side)

    def _check_layout(self, line: int, text: bytes, record: Any) -> None:
        """Raises PuzzleFileError if the first line is not one of JSON lines, but of JSON in another layout."""
        many = isinstance(record, list) and any(
            isinstance(item, dict) or (isinstance(item, str) and len(item) > 2) for item in record
        )
        place = f"{self.start.name}:{line}"
        if many or text.strip() == b"[":
            raise PuzzleFileError(f"{place}: a JSON array of puzzles; put one puzzle on each line (jq -c '.[]')")
        if isinstance(record, Malformed) and text.rstrip().endswith((b"{", b"[", b",", b":")):
            raise PuzzleFileError(f"{place}: JSON over several lines; put one object on each line (jq -c .)")

    def _chunk(self, lines: list[int], records: list[Any], puzzle: str, extras: dict[str, str], side: int) -> Chunk:
        grids, good = np.zeros((len(records), side * side), np.uint8), np.ones(len(records), bool)
        causes = {}
        for row, record in enumerate(records):
            try:
                grids[row] = _grid(record, puzzle, side)
            except Malformed as cause:
                causes[row] = str(cause)
        carried: dict[str, list[Any]] = {
            _encodable(name): [_text(record.get(key)) if isinstance(record, dict) else "" for record in records]
            for name, key in extras.items()
        }
        return Chunk(grids, good, np.array(lines, np.int64), (), carried).with_errors(self.start.name, causes)


def flat_cells(value: list[Any]) -> list[Any]:
    """The cells of a puzzle in a list, or in one list per row."""
    if any(isinstance(row, list) for row in value):
        return [cell for row in value for cell in (row if isinstance(row, list) else [row])]
    return list(value)


def _parse(text: bytes) -> Any:
    """The value of a line of JSON, an exception ``Malformed`` if it is not JSON."""
    try:
        return json.loads(text, object_pairs_hook=_distinct)
    except (ValueError, RecursionError) as error:
        cause = error.msg if isinstance(error, json.JSONDecodeError) else str(error)
        return Malformed(f"not a line of JSON ({cause})")


def _distinct(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) < len(pairs):
        keys = [key for key, _ in pairs]
        raise ValueError(f"two values are named {next(key for key in keys if keys.count(key) > 1)!r}")
    return found


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
    """A text that UTF-8 can hold: half a surrogate pair stays the escape sequence that it was in the file."""
    return text if text.isascii() else text.encode(errors="backslashreplace").decode()
