"""Reads and writes puzzles with constraints, each with a board of its own."""

from __future__ import annotations

import dataclasses
import json
import urllib.parse
from typing import Any, Literal, overload

import numpy as np

from jaxsudoku.core.board import Board

from . import lz_string
from .chunk import Errors, LineError, PuzzleFileError, check_errors
from .columns import BOARD_COLUMN, CONSTRAINTS_COLUMN, plain_names
from .constraint_column import constraints_of
from .exchanged import is_exchanged, read_exchanged
from .fpuzzle_writing import write_fpuzzle
from .header import read_header
from .positions import Positions
from .source import Source, open_pieces, open_source
from .sudokuwiki import write_sudokuwiki
from .text import board_of_text, parse_position
from .variant import VariantPuzzle, record_of

#: Forms in which a puzzle is written: a line of JSON lines, f-puzzles' JSON, a link to f-puzzles, or a string of
#: sudokuwiki.org.
Form = Literal["line", "f-puzzles", "link", "sudokuwiki"]

#: The beginning of the links that ``variant_text`` writes.
_LINK = "https://www.f-puzzles.com/?load="


@overload
def read_variants(
    source: Source, board: Board | None = None, *, errors: Literal["raise"] = "raise"
) -> list[VariantPuzzle]: ...
@overload
def read_variants(
    source: Source, board: Board | None = None, *, errors: Literal["mark"]
) -> list[VariantPuzzle | LineError]: ...
def read_variants(
    source: Source, board: Board | None = None, *, errors: Errors = "raise"
) -> list[VariantPuzzle] | list[VariantPuzzle | LineError]:
    """Reads puzzles with constraints, each with a board of its own.

    A puzzle stands on a line, in any form that ``parse_variant`` reads; or a file is one JSON value, an object or an
    array of puzzles. Blank lines and lines that start with ``#`` are skipped.

    Args:
      source: as in ``read_chunks``.
      board: the board of puzzles that do not state theirs; None for the one that a comment ``# board: NAME`` at the top
        names, or else the classic one of their size.
      errors: treatment of malformed puzzles, and of those with a constraint that is not known: "raise" an error, or
        "mark" them in the result.

    Returns:
      the puzzles; with "mark" a ``LineError`` in the place of each that could not be read.

    Raises:
      PuzzleFileError: a puzzle can't be read, and ``errors`` is "raise"; or the input is damaged.
      OSError, TypeError: as ``read_chunks`` does.
    """
    check_errors(errors)
    opened, name = open_source(source)
    with opened as stream:
        pieces, _ = open_pieces(stream, name)
        data = b"".join(pieces)
    text = data.decode(errors="replace")
    if board is None and (named := read_header(data).board) is not None:
        try:
            board = Board.named(named)
        except ValueError as error:
            raise PuzzleFileError(f"{name}: {error}") from error
    found: list[VariantPuzzle | LineError] = []
    for line, value in _values(text):
        try:
            found.append(_puzzle(value, board))
        except ValueError as error:
            found.append(LineError(name, line, str(error), value if isinstance(value, str) else json.dumps(value)))
    faults = [one for one in found if isinstance(one, LineError)]
    if faults and errors == "raise":
        raise PuzzleFileError.of_lines(faults, np.zeros((len(found), 0), np.uint8))
    return found


def _values(text: str) -> list[tuple[int, Any]]:
    """The puzzles of a file, as texts or JSON values, each with its line."""
    if text.lstrip().startswith(("{", "[")):
        try:
            value = json.loads(text)
        except json.JSONDecodeError:  # JSON lines
            pass
        else:
            return [(1, one) for one in (value if isinstance(value, list) else [value])]
    lines = enumerate(text.splitlines(), start=1)
    return [(number, line) for number, line in lines if line.strip() and not line.startswith("#")]


def parse_variant(text: str, board: Board | None = None) -> VariantPuzzle:
    """Reads one puzzle with constraints from a text.

    - a link to f-puzzles, or to SudokuPad with the puzzle in it, or the base64 text of either;
    - the JSON of f-puzzles, or that of SudokuPad (SCL) if it has no drawings;
    - a link of Penpa+ whose tags name the rules of its drawings;
    - an object of JSON lines: the keys ``puzzle``, ``constraints`` (a list of texts), ``board``, ``solution``,
      ``title`` and ``author``;
    - strings of killers and jigsaws, of sudokuwiki.org, SumoCue and Perfect Sudoku, or with an arrow to the total in
      each cell;
    - any other puzzle that ``parse`` reads, which then has no constraints.

    Args:
      text: the puzzle.
      board: the board of a puzzle that does not state its own; None for the classic one of its size.

    Raises:
      ValueError: the text is malformed or damaged, has a constraint that is not known, whose name the message gives, or
        a solution that breaks a rule.
      TypeError: it is not a string.
    """
    if not isinstance(text, str):
        raise TypeError(f"parse_variant reads the text of one puzzle, not a {type(text).__name__}")
    return _puzzle(text, board)


def variant_text(puzzle: VariantPuzzle, form: Form = "line") -> str:
    """Writes a puzzle as a text without line breaks, which ``parse_variant`` reads.

    Args:
      puzzle: the puzzle.
      form: "line" for an object of JSON lines, "f-puzzles" for f-puzzles' JSON, "link" for a link to f-puzzles,
        "sudokuwiki" for a string of sudokuwiki.org (a Sudoku, jigsaw or killer).

    Raises:
      ValueError: a constraint that the form does not have, an unknown form, or candidates of a board beyond 35x35.
    """
    if form == "line":
        return json.dumps(record_of(puzzle))
    if form == "sudokuwiki":
        return write_sudokuwiki(puzzle)
    if form not in ("f-puzzles", "link"):
        raise ValueError(f"form must be 'line', 'f-puzzles', 'link' or 'sudokuwiki', not {form!r}")
    written = json.dumps(write_fpuzzle(puzzle), separators=(",", ":"), ensure_ascii=False)
    return written if form == "f-puzzles" else _LINK + urllib.parse.quote(lz_string.compress(written))


# ---------------------------------------------------------------------- one puzzle


def _puzzle(value: Any, board: Board | None) -> VariantPuzzle:
    """The puzzle of a text or a JSON value."""
    if is_exchanged(value):
        return read_exchanged(value)
    if isinstance(value, str):
        text = value.strip().removeprefix("\ufeff")
        if not text.startswith("{"):
            board = board or board_of_text(text)
            return _of_position(board, parse_position(text, board))
        try:
            value = json.loads(text.removesuffix(","))
        except json.JSONDecodeError as error:
            raise ValueError(f"not a line of JSON ({error.msg})") from None
    if not isinstance(value, dict):
        raise ValueError(f"a puzzle is an object or a text, not {json.dumps(value)[:40]}")
    return _of_record(value, board)


def _of_record(record: dict[str, Any], board: Board | None) -> VariantPuzzle:
    """The puzzle of an object of JSON lines."""
    fields = dict(zip(plain_names(record), record.values(), strict=True))
    if "puzzle" not in fields:
        raise ValueError(f"no value is named 'puzzle' among {', '.join(map(repr, record))}")
    text = json.dumps({"puzzle": fields["puzzle"]})
    if (named := fields.get(BOARD_COLUMN)) is not None:
        own = Board.named(named)
        if board is not None and board != own:
            raise ValueError(f"a puzzle of the board {named} ({own}), not of {board}")
        board = own
    board = board or board_of_text(text)
    grid, candidates, _ = parse_position(text, board)
    solution = fields.get("solution")
    return VariantPuzzle(
        dataclasses.replace(board, constraints=()),
        grid,
        (*board.constraints, *constraints_of(fields.get(CONSTRAINTS_COLUMN), board)),
        None if not solution else parse_position(json.dumps({"puzzle": solution}), board).grids,
        None if candidates[:, grid == 0].all() else candidates,
        str(fields.get("title") or ""),
        str(fields.get("author") or ""),
    )


def _of_position(board: Board, position: Positions) -> VariantPuzzle:
    grid, candidates, _ = position
    return VariantPuzzle(board, grid, candidates=None if candidates[:, grid == 0].all() else candidates)
