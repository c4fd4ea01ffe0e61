"""JSON lines: each line is an object with the key ``puzzle``, or a puzzle; also an array with one value per line."""

from __future__ import annotations

import collections
import functools
import json
import re
from collections.abc import Collection, Iterator
from typing import Any

import numpy as np

from .cells import Cells, Digits, Malformed
from .chunk import Chunk, PuzzleFileError
from .columns import PUZZLE_COLUMNS, choose_columns, further_columns, plain_names, same_name
from .decode import Decoded
from .format import Beginning, Format, Record
from .frames import rows_of_lists
from .header import BoardCheck
from .json_values import decode_value, text_rows

#: The beginning of a drawn row with a given in brackets, or a line such as [Puzzle].
_BRACKETS = re.compile(rb"\s*+\[\s*+(\d{1,2}\s*+\]\s*+[^,\]]|[A-Za-z][A-Za-z ]*+\]\s*+$)")


class JsonLines(Format):
    """JSON lines. A puzzle is a text, or integers in a flat list or one list per row; 0 or null is a blank."""

    name = "JSON lines"
    is_table = True

    @classmethod
    def sniff(cls, start: Beginning, side: int) -> JsonLines | None:
        if not start.lines or not start.lines[0].lstrip().startswith((b"{", b"[")) or _BRACKETS.match(start.lines[0]):
            return None
        return None if rows_of_lists(start.lines, side) else cls(start)

    def header(self) -> bytes:
        return next(filter(_is_value, self.start.lines), b"")

    def names(self) -> list[str]:
        """The keys of the objects in the first block, up to the first that has the puzzle."""
        keys: dict[str, None] = {}
        wanted = PUZZLE_COLUMNS if self.start.column is None else (self.start.column,)
        for line in filter(_is_value, self.start.head.split(b"\n")):
            record = _parse(line)
            keys |= dict.fromkeys(record if isinstance(record, dict) else ())
            if any(same_name(key, name) for key in keys for name in wanted) or not keys:
                break
        return list(keys)

    def check(self, check: BoardCheck) -> tuple[str, ...]:
        line, names = self._first_line(), self.names()
        self._check_layout(line, self.header(), _parse(self.header()))
        if not names:
            return ()
        choose_columns(names, f"{self.start.name}:{line}", self.start.column)
        return further_columns(names, self.start.column)

    def _first_line(self) -> int:
        head = self.start.head
        return 1 + head.count(b"\n", 0, head.index(self.header()))

    def first_record(self) -> Record | None:
        first = _parse(self.header())
        if isinstance(first, Malformed):
            raise PuzzleFileError(str(first)) from first
        fields = {"puzzle": first}
        if isinstance(first, dict):
            names = list(first)
            puzzle = first[names[choose_columns(names, "line 1", self.start.column).puzzle]]
            fields = {**dict(zip(plain_names(names), first.values(), strict=True)), "puzzle": puzzle}
        return Record(fields, self._first_line())

    def read(self, blocks: Iterator[bytes], check: BoardCheck, keep: Collection[str] = ()) -> Iterator[Chunk]:
        extras: dict[str, str] | None = None  # the keys of the objects in the first block
        puzzle = "puzzle"
        for first, block in check.cut_all(blocks):
            lines = enumerate(block.split(b"\n")[:-1], start=first)
            texts = [(line, text) for line, text in lines if _is_value(text)]
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
            yield self._chunk([line for line, _ in texts], records, puzzle, extras, check.digits)

    def _check_layout(self, line: int, text: bytes, record: Any) -> None:
        """Raises PuzzleFileError if the first line belongs to JSON in another layout than JSON lines."""
        many = isinstance(record, list) and any(
            isinstance(item, dict) or (isinstance(item, str) and len(item) > 2 and text_rows(record) is None)
            for item in record
        )
        place = f"{self.start.name}:{line}"
        if many:
            raise PuzzleFileError(f"{place}: a JSON array of puzzles; put one puzzle on each line (jq -c '.[]')")
        if isinstance(record, Malformed) and text.rstrip().endswith((b"{", b"[", b",", b":")):
            raise PuzzleFileError(f"{place}: JSON over several lines; put one object on each line (jq -c .)")

    def _chunk(
        self, lines: list[int], records: list[Any], puzzle: str, extras: dict[str, str], digits: Digits
    ) -> Chunk:
        read = Decoded(np.zeros((len(records), digits.cells), np.uint8), np.zeros(len(records), bool))
        for row, record in enumerate(records):
            value = record.get(puzzle, record) if isinstance(record, dict) else record
            text = None if isinstance(record, Malformed) else _text(value)
            read.put(row, functools.partial(_cells, record, puzzle, digits), text)
        carried: dict[str, list[Any]] = {
            _encodable(name): [_text(record.get(key)) if isinstance(record, dict) else "" for record in records]
            for name, key in extras.items()
        }
        return Chunk.of(read, np.array(lines, np.int64), self.start.name, carried)


def _is_value(line: bytes) -> bool:
    """Whether a line has a value: it is not blank, a comment, or the first or last bracket of an array."""
    return line.strip() not in (b"", b"[", b"]") and not line.startswith(b"#")


def _parse(text: bytes) -> Any:
    """The value of a line of JSON, which may end with a comma; an exception ``Malformed`` if it is not JSON."""
    try:
        return json.loads(text.rstrip().removesuffix(b","), object_pairs_hook=_distinct)
    except (ValueError, RecursionError) as error:
        cause = error.msg if isinstance(error, json.JSONDecodeError) else str(error)
        return Malformed(f"not a line of JSON ({cause})")


def _distinct(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) < len(pairs):
        twice = next(key for key, count in collections.Counter(key for key, _ in pairs).items() if count > 1)
        raise ValueError(f"two values are named {twice!r:.80}")
    return found


def _cells(record: Any, puzzle: str, digits: Digits) -> Cells:
    if isinstance(record, Malformed):
        raise record
    if isinstance(record, dict):
        if puzzle not in record:
            raise Malformed(f"no value is named {puzzle!r}")
        record = record[puzzle]
    return decode_value(record, digits)


def _text(value: Any) -> str:
    """A further value as the field of a table."""
    return "" if value is None else _encodable(value) if isinstance(value, str) else json.dumps(value)


def _encodable(text: str) -> str:
    """A text that can be encoded in UTF-8: unpaired surrogates stay escape sequences as in the file."""
    return text if text.isascii() else text.encode(errors="backslashreplace").decode()
