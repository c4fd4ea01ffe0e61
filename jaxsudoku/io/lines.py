"""Text with one puzzle per line, in any form that ``decode_text`` accepts; other lines are malformed."""

from __future__ import annotations

from collections.abc import Collection, Iterator

import numpy as np

from .cells import Digits
from .chunk import Chunk
from .decode import decode_even, decode_rest, decode_spans
from .format import Beginning, Format
from .header import BoardCheck


class Lines(Format):
    """One puzzle per line; blank lines and lines that start with ``#`` are skipped."""

    name = "text"

    @classmethod
    def sniff(cls, start: Beginning, side: int) -> Lines:
        return cls(start)

    def read(self, blocks: Iterator[bytes], check: BoardCheck, keep: Collection[str] = ()) -> Iterator[Chunk]:
        line = 1
        for block in blocks:
            even = decode_even(block, check.digits)
            if even is not None:
                yield Chunk(even, np.ones(len(even), bool), np.arange(line, line + len(even)))
                line += len(even)
                continue
            whole, fault = check.cut(block, line)
            if whole:
                yield self._chunk(whole, line, check.digits)
            if fault is not None:
                raise fault
            line += block.count(b"\n")

    def _chunk(self, block: bytes, line: int, digits: Digits) -> Chunk:
        """The chunk of a block of lines of any form; ``line`` is the number of the first."""
        starts, ends = line_spans(block)
        read = decode_spans(block, starts, ends, digits)
        lines = np.arange(line, line + len(starts))
        if read.good.all():
            return Chunk.of(read, lines, self.start.name)
        held = read.good | ~np.isin(np.frombuffer(block, np.uint8)[starts], np.frombuffer(b"\n\r#", np.uint8))
        for row in np.flatnonzero(held & ~read.good).tolist():
            held[row] = not block[starts[row] : ends[row]].isspace()
        starts, ends, lines = starts[held], ends[held], lines[held]
        return Chunk.of(decode_rest(read.select(held), block, starts, ends, digits), lines, self.start.name)


def line_spans(block: bytes) -> tuple[np.ndarray, np.ndarray]:
    """The starts and ends (at their newlines) of the lines of a block: two int64[n]."""
    ends = np.flatnonzero(np.frombuffer(block, np.uint8) == ord("\n"))
    return np.concatenate([[0], ends[:-1] + 1]), ends
