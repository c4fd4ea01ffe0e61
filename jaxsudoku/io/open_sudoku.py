"""OpenSudoku's XML: the attributes ``data`` of its games."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator

import numpy as np

from .chunk import Chunk
from .decode import decode_texts
from .format import Beginning, Format
from .header import BoardCheck

_DATA = re.compile(rb"""<game\b[^<>]*?\bdata\s*+=\s*+["']([^"']*+)["']""")


class OpenSudoku(Format):
    """A puzzle for each attribute ``data`` of an element ``game``; several may stand on a line."""

    name = "OpenSudoku's XML"

    @classmethod
    def begins(cls, head: bytes) -> bool:
        """Whether an input that begins with these lines is of this format."""
        return b"<opensudoku" in head[:4096]

    @classmethod
    def sniff(cls, start: Beginning, side: int) -> OpenSudoku | None:
        return cls(start) if cls.begins(start.head) else None

    def check(self, check: BoardCheck) -> tuple[str, ...]:
        return ()

    def read(self, blocks: Iterator[bytes], check: BoardCheck, keep: Collection[str] = ()) -> Iterator[Chunk]:
        for first, block in check.cut_all(blocks):
            found = [
                (line, text) for line, data in enumerate(block.split(b"\n"), first) for text in _DATA.findall(data)
            ]
            read = decode_texts([text for _, text in found], check.digits)
            yield Chunk.of(read, np.array([line for line, _ in found], np.int64), self.start.name)


def first_puzzle(head: bytes) -> bytes:
    """The first puzzle of a file that begins with these lines, empty without."""
    match = _DATA.search(head)
    return b"" if match is None else match[1]
