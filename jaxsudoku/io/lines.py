"""One puzzle a line, a character or a number for each cell."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from .cells import decode_even, decode_odd, decode_spans
from .chunk import Chunk, LineError


def read_lines(blocks: Iterator[bytes], side: int, name: str) -> Iterator[Chunk]:
    """A chunk for each block of whole lines; blank lines and lines that start with ``#`` are no puzzles."""
    line = 1
    for block in blocks:
        even = decode_even(block, side)
        if even is not None:
            yield Chunk(even, np.ones(len(even), bool), np.arange(line, line + len(even)))
            line += len(even)
            continue
        starts, ends = line_spans(block)
        grids, good = decode_spans(block, starts, ends, side)
        lines = np.arange(line, line + len(starts))
        line += len(starts)
        if good.all():
            yield Chunk(grids, good, lines)
            continue
        held = good | ~np.isin(np.frombuffer(block, np.uint8)[starts], np.frombuffer(b"\n\r#", np.uint8))
        for row in np.flatnonzero(held & ~good).tolist():
            held[row] = not block[starts[row] : ends[row]].isspace()
        starts, ends, grids, good, lines = starts[held], ends[held], grids[held], good[held], lines[held]
        odd = {row: block[starts[row] : ends[row]] for row in np.flatnonzero(~good).tolist()}
        causes = decode_odd(grids, good, odd.__getitem__, side)
        errors = tuple(LineError(name, int(lines[row]), cause) for row, cause in causes.items())
        yield Chunk(grids, good, lines, errors)


def line_spans(block: bytes) -> tuple[np.ndarray, np.ndarray]:
    """Where the lines of a block start and end (at their newlines): two int64[n]."""
    ends = np.flatnonzero(np.frombuffer(block, np.uint8) == ord("\n"))
    return np.concatenate([[0], ends[:-1] + 1]), ends
