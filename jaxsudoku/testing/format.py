"""Conformance check of formats of puzzle files."""

from __future__ import annotations

import dataclasses
import gzip
import io
import tempfile
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any
from unittest import mock

import numpy as np

from jaxsudoku.core.board import Board
from jaxsudoku.io import Chunk, LineStream, PuzzleFileError, open_puzzles, open_slice, read, read_chunks, slices, source
from jaxsudoku.io.format import Format

from .failing import require

#: Sides of the boards of a text format.
SIDES = (4, 6, 9, 16, 25, 35)
#: Number of puzzles in a file, and the index of the one that is damaged.
_PUZZLES, _DAMAGED = 7, 3


def check_format(
    kind: type[Format], write: Callable[[np.ndarray, Board], bytes], boards: Sequence[Board] | None = None
) -> None:
    """Checks a format on files of seven puzzles.

    - A written file is recognized and read back; a text also with other line ends, with a byte order mark, without its
      last newline, and compressed.
    - A puzzle with a digit replaced by "%" is marked with its line; the others are read unchanged.
    - Blocks, chunks and slices of any size give the same puzzles with the same lines and errors.
    - A comment that names another board ends a text, after all puzzles before it.

    Args:
      kind: the class of the format, which need not be in ``io.read.FORMATS``.
      write: writes grids uint8[n, cells], with 0 for blanks, to bytes of a file; equal cells must be at equal places.
      boards: the boards; None for the classic ones of the sides 4, 6, 9, 16, 25 and 35.

    Raises:
      AssertionError: a property fails; the message names it, and a puzzle.
    """
    formats = read.FORMATS if kind in read.FORMATS else (kind, *read.FORMATS)
    with mock.patch.object(read, "FORMATS", formats):
        for board in map(Board.classic, SIDES) if boards is None else boards:
            grids = np.random.default_rng(0).integers(0, board.side + 1, (_PUZZLES, board.cells)).astype(np.uint8)
            data = write(grids, board)
            with open_puzzles(io.BytesIO(data), board) as puzzles:
                found = type(puzzles.format)
                require(
                    found is kind, f"a file of {kind.__name__} is taken for one of {found.__name__}", puzzle=grids[0]
                )
            _check_puzzles(_read(data, board), grids)
            if not kind.magic:
                _check_text(data, board)
                _check_damage(write, grids, board)


def read_slices(path: Any, board: Board, puzzles: int) -> Chunk:
    """The puzzles of a file, read in slices of about this many, with their lines in the file."""
    found, before = [], 0
    for part in slices(str(path), board, None, puzzles)[1]:
        with open_slice(part, board) as opened:
            text = opened.stream if isinstance(opened.stream, LineStream) else None
            shift = 0 if text is None else before - text.header_lines
            for chunk in opened.chunks():
                errors = tuple(dataclasses.replace(error, line=error.line + shift) for error in chunk.errors)
                found.append(dataclasses.replace(chunk, lines=chunk.lines + shift, errors=errors))
            before += 0 if text is None else text.lines
    return Chunk.join(found)


def _read(data: bytes, board: Board, size: int = 65536) -> Chunk:
    """All puzzles of a file, read in chunks of this size."""
    try:
        return Chunk.join(list(read_chunks(io.BytesIO(data), board, chunk_size=size)))
    except PuzzleFileError as error:
        raise AssertionError(f"a file on a board of {board} can't be read: {error}") from error


def _variants(data: bytes) -> Iterator[tuple[str, bytes]]:
    """Equivalent variants of a text."""
    yield "compressed", gzip.compress(data)
    yield "with carriage returns", data.replace(b"\n", b"\r\n")
    yield "with a byte order mark", b"\xef\xbb\xbf" + data
    yield "without its last newline", data.rstrip(b"\n")


def _check_text(data: bytes, board: Board) -> None:
    whole = _read(data, board)
    for what, variant in _variants(data):
        _check_same(_read(variant, board), whole, what)
    with mock.patch.object(source, "BLOCK", len(data) // 3):
        for variant in (data, gzip.compress(data)):
            _check_same(_read(variant, board), whole, "in small blocks")
    other = b"9" if board == Board.classic(4) else b"4"
    joined, found = data + b"# board: " + other + b"\n" + data, 0
    try:
        for chunk in read_chunks(io.BytesIO(joined), board):
            found += len(chunk)
    except PuzzleFileError:
        require(
            found == len(whole), f"{found} of {len(whole)} puzzles are read before a comment that names another board"
        )
    else:
        require(False, "puzzles are read after a comment on another board")


def _check_damage(write: Callable[[np.ndarray, Board], bytes], grids: np.ndarray, board: Board) -> None:
    """Damages the digit of a cell, located in the file as the first byte in which two files differ."""
    files = []
    for digit in (1, 2):
        grids[_DAMAGED, board.side + 1] = digit
        files.append(write(grids, board))
    at = next(place for place, (one, other) in enumerate(zip(*files, strict=True)) if one != other)
    data = files[0][:at] + b"%" + files[0][at + 1 :]
    whole, line = _read(data, board), data[:at].count(b"\n") + 1
    for part in (slice(_DAMAGED), slice(_DAMAGED + 1, None)):
        _check_puzzles(whole[part], grids[part])
    lines = [error.line for error in whole.errors]
    marked = lines in ([line], [whole.lines[_DAMAGED]])
    require(marked, f"a malformed puzzle, on line {line}, has errors on the lines {lines}", puzzle=grids[_DAMAGED])
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "puzzles"
        path.write_bytes(data)
        for what, found in (("chunks", _read(data, board, 2)), ("slices", read_slices(path, board, 2))):
            _check_same(found, whole, f"in {what}")
            require(found.extras == whole.extras, f"a file read in {what} has other columns")


def _check_puzzles(found: Chunk, grids: np.ndarray) -> None:
    """Checks that these grids were read."""
    require(len(found) == len(grids), f"{len(grids)} puzzles were written, {len(found)} are read", puzzle=grids[0])
    for row in np.flatnonzero((found.grids != grids).any(axis=1) | ~found.good):
        causes = "; ".join(map(str, found.errors)) or "another one is read"
        require(False, f"a puzzle is not read back: {causes}", puzzle=grids[row], found=found.grids[row])


def _check_same(found: Chunk, whole: Chunk, what: str) -> None:
    """Checks that the same puzzles, lines and errors were read."""
    require(len(found) == len(whole), f"a file read {what} has {len(found)} puzzles, not {len(whole)}")
    for name in ("grids", "good", "lines", "listed"):
        same = np.array_equal(getattr(found, name), getattr(whole, name))
        require(same, f"a file read {what} has other {name}", puzzle=whole.grids[0])
    causes = [[(error.line, error.cause) for error in chunk.errors] for chunk in (found, whole)]
    require(causes[0] == causes[1], f"a file read {what} has the errors {causes[0]}, not {causes[1]}")
