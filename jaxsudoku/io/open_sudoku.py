"""OpenSudoku's XML: the attributes ``data`` of its games."""

from __future__ import annotations

import functools
import itertools
from collections.abc import Collection, Iterable, Iterator
from xml.parsers import expat

import numpy as np

from .cells import Cells, Digits, Malformed
from .chunk import Chunk, PuzzleFileError
from .decode import Decoded, decode_text
from .format import Beginning, Format
from .header import BoardCheck


class OpenSudoku(Format):
    """A puzzle for each attribute ``data`` of an element ``game``."""

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
        for games, fault in _games(blocks):
            read = Decoded(np.zeros((len(games), check.digits.cells), np.uint8), np.zeros(len(games), bool))
            for row, (_, data) in enumerate(games):
                read.put(row, functools.partial(_cells, data, check.digits), data)
            yield Chunk.of(read, np.array([line for line, _ in games], np.int64), self.start.name)
            if fault is not None:
                cause = expat.ErrorString(fault.code)
                raise PuzzleFileError(f"{self.start.name}:{fault.lineno}: damaged XML ({cause})") from fault


def first_puzzle(head: bytes) -> bytes:
    """The first puzzle of a file that begins with these lines; empty if there is none."""
    found = (data.encode() for games, _ in _games([head]) for _, data in games if data is not None)
    return next(found, b"")


def _cells(data: str | None, digits: Digits) -> Cells:
    if data is None:
        raise Malformed("a game without its puzzle, an attribute 'data'")
    return decode_text(data.encode(), digits)


def _games(blocks: Iterable[bytes]) -> Iterator[tuple[list[tuple[int, str | None]], expat.ExpatError | None]]:
    """Yields line and puzzle of each game in a block, and the error at which the file ends."""
    games: list[tuple[int, str | None]] = []
    parser = expat.ParserCreate("utf-8")  # the file was converted to UTF-8, whatever encoding it names

    def begin(name: str, attributes: dict[str, str]) -> None:
        if name == "game":
            games.append((parser.CurrentLineNumber, attributes.get("data")))

    parser.StartElementHandler = begin
    for block, last in itertools.chain(((block, False) for block in blocks), [(b"", True)]):
        try:
            parser.Parse(block, last)
        except expat.ExpatError as fault:
            yield games, fault
            return
        yield games, None
        games.clear()
