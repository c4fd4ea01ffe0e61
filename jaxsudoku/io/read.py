"""Reading puzzles: finds out the format, then reads chunk after chunk."""

from __future__ import annotations

import dataclasses
import functools
import io
import itertools
import math
import re
from collections.abc import Callable, Collection, Iterator
from typing import BinaryIO

import numpy as np

from ..board import Board
from .cells import Malformed, decode_text
from .chunk import Chunk, LineError, PuzzleFileError
from .drawn import bare_row, dashes_are_blanks, frameless, read_drawn
from .lines import read_lines
from .parquet import MAGIC, read_parquet
from .source import Source, line_blocks, open_source, read_pieces
from .tables import is_header, puzzle_field, read_csv

Reader = Callable[[Iterator[bytes], int, str], Iterator[Chunk]]

#: How many lines from the beginning tell the format.
_TELLING_LINES = 200


def read_chunks(
    source: Source, board: Board, *, chunk_size: int = 65536, skip: int = 0, keep: Collection[str] = ()
) -> Iterator[Chunk]:
    """Streams the puzzles of an input of any size, with flat memory.

    The format is told from the first lines: a puzzle a line, of characters (``.0*_-`` are blanks, ``A`` is 10; what
    follows white space, ``,``, ``;`` or ``#`` is ignored) or of numbers; CSV with a header and a column ``puzzle`` (or
    ``quizzes``); drawn grids; Parquet with a column ``puzzle``. Any but Parquet may be compressed by gzip. Blank lines
    and lines that start with ``#`` are skipped; any other line that holds no puzzle counts as a malformed one.

    Args:
      source: a path, ``-`` for the standard input, or a binary file object.
      board: the board of all puzzles; only its side matters here.
      chunk_size: puzzles in each chunk but the last.
      skip: number of puzzles to leave out at the beginning.
      keep: columns among solution, status and iterations to carry along in ``extras`` too: they are answers, which are
        otherwise left out, as new ones are to come.

    Returns:
      Iterator of ``Chunk``, none for an empty input. The file is opened at once, and read as the chunks are taken.

    Raises:
      OSError: the input is missing or unreadable.
      PuzzleFileError: the input as a whole can't be read on: truncated or damaged gzip or Parquet, a CSV without a
        column of puzzles. All puzzles before the damage are given first.
    """
    if chunk_size < 1 or skip < 0:
        raise ValueError(f"chunk_size must be at least 1 and skip at least 0, not {chunk_size} and {skip}")
    opened, name = open_source(source)

    def chunks() -> Iterator[Chunk]:
        with opened as stream:
            yield from _rechunk(_read(stream, board.side, name, keep), chunk_size, skip)

    return chunks()


def read_puzzles(source: Source, board: Board | None = None) -> np.ndarray:
    """Reads all puzzles of an input, in any form that ``read_chunks`` takes.

    Args:
      source: a path, ``-`` for the standard input, or a binary file object.
      board: the board of all puzzles; 9x9 by default.

    Returns:
      uint8[N, cells], values 0 (blank) to side.

    Raises:
      PuzzleFileError: some puzzle is malformed, or the input is damaged; its ``grids`` has what could be read.
      OSError: the input is missing or unreadable.
    """
    board = board or Board.classic(9)
    grids = [np.zeros((0, board.cells), np.uint8)]
    errors: list[LineError] = []
    try:
        for chunk in read_chunks(source, board):
            grids.append(chunk.grids)
            errors.extend(chunk.errors)
    except PuzzleFileError as error:
        raise PuzzleFileError(str(error), errors, np.concatenate(grids)) from error
    if errors:
        raise PuzzleFileError.of_lines(errors, np.concatenate(grids))
    return np.concatenate(grids)


def parse(text: str, board: Board | None = None) -> np.ndarray:
    """Reads one puzzle from a text in any form that ``read_chunks`` takes (but Parquet).

    Args:
      text: the puzzle.
      board: its board; None to tell the side from the number of cells.

    Returns:
      uint8[cells], values 0 (blank) to side.

    Raises:
      ValueError: the text is malformed, or holds no puzzle or several.
    """
    data = text.encode(errors="surrogateescape")
    side = board.side if board is not None else _side_of(data)
    chunks = list(_read(io.BytesIO(data), side, "<text>"))
    for error in itertools.chain.from_iterable(chunk.errors for chunk in chunks):
        raise ValueError(error.cause)
    count = sum(map(len, chunks))
    if count != 1:
        raise ValueError(f"{count} puzzles in the text; parse reads one, read_puzzles a file of many")
    return np.concatenate([chunk.grids for chunk in chunks])[0]


def _read(stream: BinaryIO, side: int, name: str, keep: Collection[str] = ()) -> Iterator[Chunk]:
    pieces = read_pieces(stream, name)
    first = next(pieces, b"")
    if first.startswith(MAGIC):
        yield from read_parquet(stream, side, name, keep)
        return
    blocks = line_blocks(itertools.chain([first], pieces), name)
    head = next(blocks, b"")
    yield from _reader_of(head, side, keep)(itertools.chain([head] if head else [], blocks), side, name)


def _reader_of(head: bytes, side: int, keep: Collection[str]) -> Reader:
    """The reader of the format in which a text begins."""
    lines = _content(head)
    if lines and is_header(lines[0], side):
        return functools.partial(read_csv, keep=keep)
    if not any(_is_puzzle(line, side) for line in lines):
        dashes = dashes_are_blanks(lines, side)
        if any(bare_row(line, side, dashes) for line in lines):
            return functools.partial(read_drawn, dashes=dashes)
    return read_lines


def _content(head: bytes) -> list[bytes]:
    """The first lines that are neither blank nor comments."""
    lines = (match[0] for match in re.finditer(rb"[^\n]+", head))
    return list(
        itertools.islice((line for line in lines if line.strip() and not line.startswith(b"#")), _TELLING_LINES)
    )


def _is_puzzle(line: bytes, side: int) -> bool:
    try:
        decode_text(line, side)
    except Malformed:
        return False
    return True


def _side_of(data: bytes) -> int:
    """The side of the board of the only puzzle in a text.

    Raises:
      ValueError: the number of cells is no square.
    """
    lines = _content(data)
    if not lines:
        raise ValueError("no puzzle in the text")
    if is_header(lines[0], side=0):
        lines = [puzzle_field(lines[0], record) for record in lines[1:2]] or lines
    # A drawing has as many rows as its last one has cells, written apart or together, and may have a title, too.
    widths = [{len(row.split()), len(b"".join(row.split()))} for line in lines if (row := frameless(line))]
    drawn = [width for width in (widths[-1] if widths else ()) if 1 < width <= sum(width in row for row in widths)]
    if drawn:
        return drawn[0]
    numbers = lines[0].replace(b",", b" ").split()
    single = len(numbers) > 1 and all(len(number) <= 2 for number in numbers)
    cells = len(numbers) if single else len(re.split(rb"[\s,;#]", lines[0].strip())[0])
    side = math.isqrt(cells)
    if side * side != cells or not side:
        raise ValueError(f"{cells} cells; a 9x9 board has 81, and {cells} is the square of no side")
    return side


def _rechunk(chunks: Iterator[Chunk], size: int, skip: int) -> Iterator[Chunk]:
    """The same puzzles but the first ``skip``, in chunks of ``size``; what came before a failure is given first."""
    held: list[Chunk] = []
    count = 0
    start = skip
    failure: Exception | None = None
    try:
        for chunk in chunks:
            skipped = min(skip, len(chunk))
            skip -= skipped
            held.append(chunk[skipped:])
            count += len(held[-1])
            if count < size:
                continue
            whole = Chunk.join(held)
            cut = count - count % size
            for first in range(0, cut, size):
                yield dataclasses.replace(whole[first : first + size], start=start)
                start += size
            held = [whole[cut:]]
            count -= cut
    except (OSError, PuzzleFileError) as error:
        failure = error
    if count:
        yield dataclasses.replace(Chunk.join(held), start=start)
    if failure is not None:
        raise failure
