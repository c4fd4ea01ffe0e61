"""Texts of puzzles with constraints, as f-puzzles, SudokuPad, Penpa+, sudokuwiki and others exchange them.

A text is a link, an object of JSON, or a string of a killer or jigsaw; a file has one on each line.
"""

from __future__ import annotations

import functools
import json
import re
import urllib.parse
from collections.abc import Callable, Collection, Iterator
from typing import Any

import numpy as np

from . import lz_string
from .cells import Cells, Malformed, Marks
from .chunk import Chunk, PuzzleFileError
from .columns import BOARD_COLUMN, CONSTRAINTS_COLUMN
from .decode import Decoded
from .format import Beginning, Format, Record
from .fpuzzles import read_fpuzzle
from .header import BoardCheck
from .killer_strings import is_killer_string, read_killer_string
from .penpa import is_penpa, read_penpa
from .sudokupad import is_sudokupad, read_sudokupad, unpacked
from .sudokuwiki import is_sudokuwiki, read_sudokuwiki
from .variant import VariantPuzzle, on_named_board, written_constraints

#: A link to f-puzzles or SudokuPad, and what it holds.
_LINKS = re.compile(
    r"(?:https?://)?[\w.-]*(?:f-puzzles|sudokupad|crackingthecryptic)\.\w+(?P<path>/[^?#]*)?(?:\?(?P<query>[^#]*))?"
)
#: What a link holds: f-puzzles' or SudokuPad's JSON compressed, in base64. The JSON begins with a brace, then a quote
#: or a small letter. A text of one case is none, as it may be a grid of letters.
_HELD = re.compile(r"(?:fpuzzles|fpuz|scl|ctc)?(N4[A-Za-f][g-nw-z0-3](?=[^a-z]*[a-z])[A-Za-z0-9+/]*=*)")


def is_exchanged(value: Any) -> bool:
    """Whether a text or a JSON value has one of these forms; it may be malformed, or of a program that is not read."""
    value = _opened(value)
    if isinstance(value, str):
        return _reader(value) is not None
    if not isinstance(value, dict):
        return False
    nested = isinstance(value.get("puzzle"), dict)  # a collection of f-puzzles' objects
    return nested or is_sudokupad(value) or (isinstance(value.get("grid"), list) and "size" in value)


def read_exchanged(value: Any) -> VariantPuzzle:
    """The puzzle of a text or a JSON value for which ``is_exchanged`` holds.

    Raises:
      ValueError: it is malformed, has a constraint that is not known, or is of a program that is not read.
    """
    value = _opened(value)
    if isinstance(value, str):
        if (read := _reader(value)) is None:
            raise ValueError("neither an object in JSON nor a link or string of a program that is read")
        return read(value)
    if isinstance(value.get("puzzle"), dict):
        value = {**value["puzzle"], **{key: value[key] for key in ("solution",) if key in value}}
    return read_sudokupad(value) if is_sudokupad(value) else read_fpuzzle(value)


def _opened(value: Any) -> Any:
    """The object of a text that is one in JSON; another text without white space around it, or the value itself."""
    if not isinstance(value, str):
        return value
    text = value.strip()
    return (_object_of(text) if text.startswith("{") else None) or text


def _object_of(text: str) -> dict[str, Any] | None:
    """The object of a line of JSON; None if it is none."""
    try:
        value = json.loads(text.removesuffix(","))
    except (ValueError, RecursionError):
        return None
    return value if isinstance(value, dict) else None


def _reader(text: str) -> Callable[[str], VariantPuzzle] | None:
    """What reads a link or a string; None if it is neither."""
    for known, read in (
        (is_killer_string, read_killer_string),
        (is_sudokuwiki, read_sudokuwiki),
        (is_penpa, read_penpa),
        (lambda text: _LINKS.fullmatch(text) or _HELD.fullmatch(text), _of_link),
        (_is_page, _of_page),
    ):
        if known(text):
            return read
    return None


def _is_page(text: str) -> bool:
    """Whether a text is a link to a page about a puzzle, which is refused with the reason."""
    return text.startswith(("http://", "https://")) and "logic-masters" in text and len(text.split()) == 1


def _of_link(text: str) -> VariantPuzzle:
    """The puzzle of a link to f-puzzles or SudokuPad, or of the text in it."""
    held = _HELD.fullmatch(text)
    if (link := _LINKS.fullmatch(text)) is not None:
        query = urllib.parse.parse_qs((link["query"] or "").replace("+", "%2B"))
        given = [*query.get("load", []), *query.get("puzzleid", []), urllib.parse.unquote(link["path"] or "")]
        parts = [part.strip("/").removeprefix("sudoku/").replace(" ", "+") for part in given]
        held = next(filter(None, map(_HELD.fullmatch, parts)), None)
    if held is None:
        raise ValueError("the link holds no puzzle that can be read: take the long link of an f-puzzles export")
    packed = lz_string.decompress(held[1])
    found = _object_of(packed) or _object_of(unpacked(packed))
    if found is None:
        raise ValueError("damaged: not an object of JSON")
    return read_exchanged(found)


def _of_page(text: str) -> VariantPuzzle:
    raise ValueError("the link is of a page, not a puzzle: follow its link, and copy the address of the puzzle")


class Exchanged(Format):
    """A puzzle on each line. Extra houses of a board without a name become constraints of the puzzle."""

    name = "f-puzzles and others"
    is_table = True

    @classmethod
    def sniff(cls, start: Beginning, side: int) -> Exchanged | None:
        known = start.lines and start.column is None and is_exchanged(start.lines[0].decode(errors="replace"))
        return cls(start) if known else None

    def check(self, check: BoardCheck) -> tuple[str, ...]:
        return ()

    def first_record(self) -> Record | None:
        line = self.start.lines[0]
        try:
            board = on_named_board(read_exchanged(line.decode(errors="replace"))).board
        except ValueError as error:
            raise PuzzleFileError(str(error)) from error
        named = f"classic-{board.side}" if board.is_classic else board.name
        return Record(
            {"puzzle": None, BOARD_COLUMN: named}, 1 + self.start.head.count(b"\n", 0, self.start.head.index(line))
        )

    def read(self, blocks: Iterator[bytes], check: BoardCheck, keep: Collection[str] = ()) -> Iterator[Chunk]:
        for first, block in check.cut_all(blocks):
            numbered = enumerate(block.decode(errors="replace").split("\n")[:-1], start=first)
            lines = [(line, text) for line, text in numbered if text.strip() and not text.startswith("#")]
            read = Decoded(np.zeros((len(lines), check.board.cells), np.uint8), np.zeros(len(lines), bool))
            constraints = [""] * len(lines)
            for row, (_, text) in enumerate(lines):
                read.put(row, functools.partial(_cells, text, check, constraints, row), text)
            yield Chunk.of(
                read,
                np.array([line for line, _ in lines], np.int64),
                self.start.name,
                {CONSTRAINTS_COLUMN: constraints},
            )


def _cells(text: str, check: BoardCheck, constraints: list[str], row: int) -> Cells:
    """The grid of a line; puts the text of its constraints in their column."""
    try:
        puzzle = on_named_board(read_exchanged(text))
        constraints[row] = json.dumps(written_constraints(puzzle))
    except ValueError as error:
        raise Malformed(str(error)) from error
    if puzzle.board != check.board:
        raise Malformed(f"a puzzle of the board {puzzle.board.name} ({puzzle.board}), not of {check.board}")
    return Cells(puzzle.grid, marks=None if puzzle.candidates is None else Marks(puzzle.candidates))
