"""Reads columns of texts of puzzles from pandas, polars, pyarrow and numpy; texts may be missing."""

from __future__ import annotations

import collections
import contextlib
import math
import re
from collections.abc import Iterator
from typing import Any, Literal, overload

import numpy as np

from jaxsudoku.core.board import Board, board_of_grids

from .cells import Cause, Digits
from .chunk import Chunk, Errors, check_errors
from .decode import Decoded, decode_texts
from .text import parse as parse_text
from .zeros import zero_cause

#: The name of a column in ``LineError``.
COLUMN = "<column>"
#: Advice about missing texts.
_ADVICE = "errors='mark' keeps such rows, marked"
_BREAK = re.compile("[\r\n]")


@overload
def parse(
    text: Any, board: Board | None = None, *, zero_based: bool = False, errors: Literal["raise"] = "raise"
) -> np.ndarray: ...
@overload
def parse(text: Any, board: Board | None = None, *, zero_based: bool = False, errors: Literal["mark"]) -> Chunk: ...
@overload
def parse(text: Any, board: Board | None = None, *, zero_based: bool = False, errors: Errors) -> np.ndarray | Chunk: ...
def parse(
    text: Any, board: Board | None = None, *, zero_based: bool = False, errors: Errors = "raise"
) -> np.ndarray | Chunk:
    """Reads one puzzle from a text in any form that ``read_chunks`` accepts, except Parquet; or a column of such texts.

    Candidates that a text lists are left out with a warning; ``parse_position`` reads them.

    Args:
      text: the puzzle; or a column of texts: a list, a numpy array, a column of pandas, polars or pyarrow.
      board: its board; None for the board that a comment in the text names, or else the classic board of its size.
      zero_based: whether digits are counted from 0, as in ``read_chunks``.
      errors: treatment of malformed and missing texts: "raise" an error, or "mark" them in the result.

    Returns:
      uint8[cells], for a column uint8[*b, cells], values 0 (blank) to side. With "mark" a ``Chunk`` of all rows, in
      order: ``good`` marks rows with a puzzle, and ``errors`` has the row (``line``, counted from 0), the text and the
      cause of all others.

    Raises:
      ValueError: a text is malformed, names another board, or holds no puzzle or several; of a column the message
        names the row.
      TypeError: neither a text nor a column of texts.
    """
    check_errors(errors)
    if isinstance(text, str) and errors == "raise":
        return parse_text(text, board, zero_based=zero_based)
    texts = text_column([text] if isinstance(text, str) else text)
    if texts is None:
        raise TypeError(f"parse reads the text of one puzzle, or a column of texts, not a {type(text).__name__}")
    read = read_column(texts, board, errors, zero_based)
    return read if errors == "mark" else read.grids.reshape(*texts.shape, read.grids.shape[1])


def text_column(values: Any) -> np.ndarray | None:
    """The elements of a column, object[*b], if some are texts or all are missing; None for other values.

    Raises:
      ValueError: nested lists of different lengths.
    """
    if isinstance(values, list | tuple):
        values = [value.as_py() if hasattr(value, "as_py") else value for value in values]  # scalars of pyarrow
        texts = any(isinstance(value, str) for value in values)
        if not texts and _begins_with_a_number(values):
            return None  # without testing all numbers
        array = np.asarray(values, object if texts else None)
    elif isinstance(values, str | bytes | Chunk) or getattr(getattr(values, "dtype", None), "kind", "O") in "iub":
        return None
    else:
        array = np.asarray(values)
        if array.dtype.kind not in "UTSOf":
            return None
    if not array.ndim and array.dtype.kind not in "UTS":
        return None
    if array.dtype.kind == "f" and (array.ndim > 1 or not array.size):
        return None
    if array.dtype.kind not in "UTS" and array.size:
        flat = array.ravel().tolist()
        if not any(isinstance(value, str | bytes) for value in flat) and not all(map(is_missing, flat)):
            return None
    flat = array.ravel().tolist()
    plain = (value.decode(errors="replace") if isinstance(value, bytes) else value for value in flat)
    return np.fromiter(plain, object, array.size).reshape(array.shape)


def _begins_with_a_number(values: list[Any]) -> bool:
    """Whether the first element of nested lists is an integer."""
    first: Any = values
    while isinstance(first, list | tuple) and first:
        first = first[0]
    return isinstance(first, int | np.integer) or getattr(getattr(first, "dtype", None), "kind", "O") in "iu"


def is_missing(value: Any) -> bool:
    """Whether an element is a missing value: None, NaN, or pandas' NA or NaT."""
    none = value is None or type(value).__name__ in ("NAType", "NaTType")
    return none or (isinstance(value, float) and math.isnan(value))


def read_column(
    texts: np.ndarray, board: Board | None = None, errors: Errors = "raise", zero_based: bool = False
) -> Chunk:
    """The puzzles of a column; ``lines`` are the numbers of the rows, from 0.

    Args:
      texts: object[*b], from ``text_column``.
      board: the board; None for the classic one of the texts' size, the most common size if they differ.
      errors, zero_based: as in ``parse``.

    Raises:
      ValueError: with "raise", a text is malformed or missing, or of another size than the first.
    """
    flat = texts.ravel().tolist()
    own = board or next(_boards(flat, zero_based), Board.classic())
    read, plain = _together(flat, own.side, zero_based)
    if board is None and errors == "mark" and 2 * np.count_nonzero(plain) < len(flat):
        boards = collections.Counter(_boards(flat, zero_based))
        own = max(boards, key=boards.__getitem__, default=own)
        read, plain = _together(flat, own.side, zero_based)
    causes: dict[int, str] = {}
    for row in np.flatnonzero(~plain).tolist():
        text = flat[row]
        found = _parsed(text, board, zero_based)
        if board is None and errors == "mark" and (isinstance(found, str) or found.size != own.cells):
            found = _parsed(text, own, zero_based)
        if isinstance(found, str):
            causes[row] = found
        elif found.size == own.cells:
            read.grids[row], read.good[row] = found, True
        else:
            causes[row] = f"{found.size} cells; puzzle 0 has {own.cells}"
    if read.mixed is not None and not (read.grids == own.side).any():
        for row in np.flatnonzero(read.mixed & plain).tolist():
            causes[row] = Cause(zero_cause(own.side), flat[row])
    if causes and errors == "raise":
        row = min(causes)
        if isinstance(flat[row], str):
            raise ValueError(f"puzzle {row}: {causes[row]}")
        raise ValueError(f"puzzle {row} is {flat[row]!r}, not a text; {_ADVICE}")
    read.grids[list(causes)], read.good[list(causes)] = 0, False
    return Chunk(read.grids, read.good, np.arange(len(flat))).with_errors(COLUMN, causes)


def _boards(flat: list[Any], zero_based: bool) -> Iterator[Board]:
    """The classic boards of the sizes of texts that hold a puzzle each."""
    for text in flat:
        found = _parsed(text, None, zero_based)
        if not isinstance(found, str):
            with contextlib.suppress(ValueError):  # no classic board has this size
                yield board_of_grids((found.size,))[0]


def _together(flat: list[Any], side: int, zero_based: bool) -> tuple[Decoded, np.ndarray]:
    """Decodes texts of one line together; also which of them are plain grids, bool[n]. Others are not decoded."""
    lines = [text.strip() if isinstance(text, str) else "" for text in flat]
    single = [line[:1] not in ("", "#", "{", "[", "<") and not _BREAK.search(line) for line in lines]
    read = decode_texts(
        [line.encode(errors="backslashreplace") if one else b"" for line, one in zip(lines, single, strict=True)],
        Digits(side, zero_based),
    )
    plain = read.good & np.array(single, bool)
    plain[list(read.marks)] = False
    return read, plain


def _parsed(text: Any, board: Board | None, zero_based: bool) -> np.ndarray | str:
    """The puzzle of an element, or the cause if it is malformed."""
    if not isinstance(text, str):
        return "the text is missing" if is_missing(text) else Cause("not a text", repr(text))
    try:
        return parse_text(text, board, zero_based=zero_based)
    except ValueError as error:
        return Cause(error, text)
