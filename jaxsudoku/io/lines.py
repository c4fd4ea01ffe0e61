"""One puzzle a line, a character or a number for each cell."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from .cells import decode_even, decode_odd, decode_spans
from .chunk import Chunk, LineError
from .header import BoardCheck


def read_lines(blocks: Iterator[bytes], side: int, name: str, check: BoardCheck) -> Iterator[Chunk]:
    """A chunk for each block of whole lines; blank lines and lines that start with ``#`` are no puzzles.

    Raises:
      PuzzleFileError: a comment names another board.
    """
    line = 1
    for block in blocks:
        even = decode_even(block, side)
        if even is not None:
            yield Chunk(even, np.ones(len(even), bool), np.arange(line, line + len(even)))
            line += len(even)
            continue
        whole, fault = check.cut(block, line)
        if whole:
            yield _chunk(whole, line, side, name)
        if fault is not None:
            raise fault
        line += block.count(b"\n")


def line_spans(block: bytes) -> tuple[np.ndarray, np.ndarray]:
    """Where the lines of a block start and end (at their newlines): two int64[n]."""
    ends = np.flatnonzero(np.frombuffer(block, np.uint8) == ord("\n"))
    return np.concatenate([[0], ends[:-1] + 1]), ends


def _chunk(block: bytes, line: int, side: int, name: str) -> Chunk:
    """The chunk of a block of lines of any form, the first of which has this number."""
    starts, ends = line_spans(block)
    grids, good = decode_spans(block, starts, ends, side)
    lines = np.arange(line, line + len(starts))
    if good.all():
        return Chunk(grids, good, lines)
    held = good | ~np.isin(np.frombuffer(block, np.uint8)[starts], np.frombuffer(b"\n\r#", np.uint8))
    for row in np.flatnonzero(held & ~good).tolist():
        held[row] = not block[starts[row] : ends[row]].isspace()
    starts, ends, grids, good, lines = starts[held], ends[held], grids[held], good[held], lines[held]
    odd = {row: block[starts[row] : ends[row]] for row in np.flatnonzero(~good).tolist()}
    causes = decode_odd(grids, good, odd.__getitem__, side)
    errors = tuple(LineError(name, int(lines[row]), cause) for row, cause in causes.items())
    return Chunk(grids, good, lines, errors)
