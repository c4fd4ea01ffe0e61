"""SadMan Sudoku's .sdk files with sections, of which only ``[Puzzle]`` is read."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator

from .chunk import Chunk, PuzzleFileError
from .drawn import Drawn
from .format import Beginning, Format
from .header import BoardCheck
from .lines import Lines

_SECTION = re.compile(rb"\s*\[\s*(puzzle|state|solution|pencil ?marks|colou?rs)\s*\]\s*", re.IGNORECASE)
_PUZZLE = b"puzzle"


class SadMan(Format):
    """A grid in the section ``[Puzzle]``; other sections have the state of play: digits, pencil marks and colours.

    Lines such as ``#A author`` are comments. A section ends at the next one, at a comment, or after all rows of the
    board, as files may be joined.
    """

    name = "SadMan's sections"

    @classmethod
    def sniff(cls, start: Beginning, side: int) -> SadMan | None:
        return cls(start) if any(map(_SECTION.fullmatch, start.lines)) else None

    def check(self, check: BoardCheck) -> tuple[str, ...]:
        return ()

    def read(self, blocks: Iterator[bytes], check: BoardCheck, keep: Collection[str] = ()) -> Iterator[Chunk]:
        sections = _Sections(self.start.name, check.board.side)
        head = Beginning(self.start.name, b"".join(puzzle_lines(self.start.lines, check.board.side)))
        inner = Drawn.sniff(head, check.board.side) or Lines(head)
        yield from inner.read((sections.kept(block) for block in blocks), check, keep)
        sections.end()


def puzzle_lines(lines: list[bytes], side: int) -> list[bytes]:
    """Lines of a file with sections, each with a newline; lines outside of puzzles are replaced by blank ones."""
    return _Sections("", side).kept(b"".join(line + b"\n" for line in lines)).splitlines(keepends=True)


class _Sections:
    """Blanks the lines of all sections but ``[Puzzle]``; lines keep their numbers."""

    def __init__(self, name: str, side: int) -> None:
        self._name, self._side = name, side
        self._skipped: bytes | None = None  # the section that is skipped
        self._rows = 0
        self._first: tuple[int, str] | None = None  # the first section
        self._puzzle = False
        self._line = 0

    def kept(self, block: bytes) -> bytes:
        """The lines of puzzles in a block of whole lines."""
        return b"".join(self._kept(line) + b"\n" for line in block.split(b"\n")[:-1])

    def _kept(self, line: bytes) -> bytes:
        self._line += 1
        if section := _SECTION.fullmatch(line):
            name = section[1].lower()
            self._first = self._first or (self._line, section[0].strip().decode())
            self._puzzle |= name == _PUZZLE
            self._skipped, self._rows = (None if name == _PUZZLE else name), 0
            return b""
        if line.startswith(b"#") or self._rows == self._side:
            self._skipped = None
        if self._skipped is None:
            return line
        self._rows += bool(line.strip())
        return b""

    def end(self) -> None:
        """Raises PuzzleFileError if there are sections, but none with a puzzle."""
        if self._first is not None and not self._puzzle:
            line, section = self._first
            raise PuzzleFileError(f"{self._name}:{line}: a section {section}, but no section [Puzzle]")
