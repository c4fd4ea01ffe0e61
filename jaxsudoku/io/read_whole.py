"""Reads all puzzles of an input into arrays."""

from __future__ import annotations

import dataclasses
import warnings
from typing import Literal, overload

import numpy as np

from jaxsudoku.core.board import Board

from .chunk import Chunk, Errors, PuzzleFileError, check_errors
from .positions import Positions
from .read import open_puzzles
from .source import Source


@overload
def read_puzzles(
    source: Source,
    board: Board | None = None,
    *,
    column: str | None = None,
    zero_based: bool = False,
    errors: Literal["raise"] = "raise",
) -> np.ndarray: ...
@overload
def read_puzzles(
    source: Source,
    board: Board | None = None,
    *,
    column: str | None = None,
    zero_based: bool = False,
    errors: Literal["mark"],
) -> Chunk: ...
def read_puzzles(
    source: Source,
    board: Board | None = None,
    *,
    column: str | None = None,
    zero_based: bool = False,
    errors: Errors = "raise",
) -> np.ndarray | Chunk:
    """Reads all puzzles of an input, in any form that ``read_chunks`` accepts.

    The array does not contain the board: unless it is classic, pass it on, as in
    ``js.solve(js.read_puzzles(path), board=js.io.read_board(path))``. Nor does it contain candidates, which pencil-mark
    grids and lines of HoDoKu's library list: ``read_positions`` reads these, and here they are left out with a warning.

    Args:
      source, board, column, zero_based: as in ``read_chunks``.
      errors: treatment of malformed puzzles: "raise" an error, or "mark" them in the result.

    Returns:
      uint8[N, cells], values 0 (blank) to side. With "mark" a ``Chunk`` of all puzzles, which ``solve`` and others
      take: ``good`` marks the well-formed ones, and ``errors`` has line, text and cause of all others.

    Raises:
      PuzzleFileError: some puzzle is malformed, and ``errors`` is "raise"; the input is damaged, or it names another
        board; or puzzles have constraints of their own, which only a ``Chunk`` has. The attribute ``grids`` has what
        could be read.
      OSError: the input is missing or unreadable.
      TypeError: the source is neither a path nor a file open in binary mode.
    """
    check_errors(errors)
    whole, listed = _read_all(source, board, column, zero_based, errors)
    if listed:
        warn_listed(listed, "io.read_positions reads them")
    if errors == "raise":
        check_unconstrained(whole)
    return whole if errors == "mark" else whole.grids


def read_positions(
    source: Source, board: Board | None = None, *, column: str | None = None, zero_based: bool = False
) -> Positions:
    """Reads all puzzles of an input as positions: filled cells, and the candidates that the input lists.

    Args:
      source, board, column, zero_based: as in ``read_chunks``.

    Returns:
      ``Positions``: grids uint8[N, cells] and candidates bool[N, side, cells], in which the open cells of puzzles that
      list no candidates have all digits.

    Raises:
      PuzzleFileError, OSError, TypeError: as ``read_puzzles`` does.
    """
    whole, _ = _read_all(source, board, column, zero_based)
    check_unconstrained(whole)
    rows = np.arange(len(whole))
    return Positions(whole.grids, whole.candidates_of(rows), whole.givens_of(rows))


def check_unconstrained(chunk: Chunk) -> None:
    """Raises PuzzleFileError if puzzles have constraints of their own, which arrays do not hold."""
    if chunk.constraints is not None:
        advice = "io.read_variants reads them, or read_puzzles with errors='mark', whose result solve takes"
        raise PuzzleFileError(f"the puzzles have constraints of their own: {advice}", (), chunk.grids)


def warn_listed(count: int, advice: str) -> None:
    """Warns that the candidates of a number of puzzles are ignored, at the location of the caller's caller."""
    have = "puzzle lists" if count == 1 else "puzzles list"
    warnings.warn(f"{count:,} {have} candidates, which are left out; {advice}", UserWarning, stacklevel=3)


def _read_all(
    source: Source, board: Board | None, column: str | None, zero_based: bool, errors: Errors = "raise"
) -> tuple[Chunk, int]:
    """All puzzles as one chunk, and the number of those that list candidates."""
    with open_puzzles(source, board, column=column, zero_based=zero_based) as puzzles:
        none = np.zeros((0, puzzles.board.cells), np.uint8)
        parts = [Chunk(none, np.zeros(0, bool), np.zeros(0, np.int64))]
        failure: PuzzleFileError | None = None
        try:
            for chunk in puzzles.chunks():
                parts.append(dataclasses.replace(chunk, extras={}))
        except PuzzleFileError as error:
            failure = error
    whole = Chunk.join(parts)
    if failure is not None:
        raise type(failure)(str(failure), whole.errors, whole.grids) from failure
    if whole.errors and errors == "raise":
        raise PuzzleFileError.of_lines(whole.errors, whole.grids)
    return whole, int(whole.listed.sum())
