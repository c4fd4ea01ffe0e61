"""Lines of HoDoKu's library: a position in one line, with the technique that it is an example of.

The form is ``:technique:digits:values:deleted:eliminations:placements:extra``. A value is a digit, ``+`` and a digit if
it was placed in play, or a blank; a deleted candidate is its digit, row and column. See
http://hodoku.sourceforge.net/en/libs.php.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator

import numpy as np

from jaxsudoku.board import Board

from .cells import Malformed, check_values, decode_text, wrong_length
from .chunk import Chunk
from .format import Beginning, Format
from .header import BoardCheck
from .positions import all_candidates, allowed_candidates

#: Values of at least 8 characters tell a line from a drawn row with colons.
_LINE = re.compile(rb"\s*:[^:\s]*:[^:\s]*:\s*[\d.+][^:\s]{7,}\s*:")
_VALUE = re.compile(rb"\+?.", re.DOTALL)
_DELETED = re.compile(rb"[1-9]{3}")


class LibraryLines(Format):
    """A position a line; other lines are puzzles with a character per cell."""

    name = "HoDoKu's library"

    @classmethod
    def sniff(cls, start: Beginning, side: int) -> LibraryLines | None:
        return cls(start) if any(map(is_library_line, start.lines)) else None

    def read(self, blocks: Iterator[bytes], check: BoardCheck, keep: Collection[str] = ()) -> Iterator[Chunk]:
        side = check.board.side
        for first, block in check.cut_all(blocks):
            numbered = enumerate(block.split(b"\n")[:-1], start=first)
            texts = [(line, text) for line, text in numbered if text.strip() and not text.startswith(b"#")]
            grids = np.zeros((len(texts), side * side), np.uint8)
            candidates = np.ones((len(texts), side, side * side), bool)
            causes = {}
            for row, (_, text) in enumerate(texts):
                try:
                    if text.lstrip().startswith(b":"):
                        grids[row], candidates[row] = decode_line(text, side)
                    else:
                        grids[row] = decode_text(text, side)
                        candidates[row] = all_candidates(grids[row], side)
                except Malformed as cause:
                    causes[row] = str(cause)
            lines = np.array([line for line, _ in texts], np.int64)
            chunk = Chunk(grids, np.ones(len(texts), bool), lines, candidates=candidates)
            yield chunk.with_errors(self.start.name, causes)


def is_library_line(line: bytes) -> bool:
    """Whether a line has the form of a library; its values may be malformed."""
    return _LINE.match(line) is not None


def cells_of_line(line: bytes) -> int:
    """The number of cells in a line of a library; 0 of any other line."""
    return len(line.split(b":")[3].strip().replace(b"+", b"")) if is_library_line(line) else 0


def decode_line(line: bytes, side: int) -> tuple[np.ndarray, np.ndarray]:
    """The position in a line of a library.

    Returns:
      the filled cells, given or placed, uint8[cells]; and the candidates, bool[side, cells].

    Raises:
      Malformed: with the cause.
    """
    if side > 9:
        raise Malformed("a line of a library is of a board up to 9x9")
    fields = line.strip().split(b":")
    if len(fields) < 5:
        raise Malformed("a line of a library has the form :technique:digits:values:deleted:eliminations:placements:")
    grid = _values(fields[3].strip(), side, line.index(fields[3]) + 1)
    candidates = all_candidates(grid, side)
    for text in fields[4].split():
        shown = text.decode(errors="backslashreplace")
        if not _DELETED.fullmatch(text) or max(text) - ord("0") > side:
            raise Malformed(
                f"the deleted candidate {shown!r} is not a digit, a row and a column, each from 1 to {side}"
            )
        digit, row, column = (byte - ord("1") for byte in text)
        cell = row * side + column
        if grid[cell] == digit + 1:
            raise Malformed(f"the deleted candidate {shown!r} is the digit of its cell")
        candidates[digit, cell] = False
    return grid, candidates


def _values(text: bytes, side: int, column: int) -> np.ndarray:
    """The filled cells of a line, uint8[cells]; the text begins at ``column`` of the line."""
    if unplaced := re.search(rb"\+(?!\d)", text):
        raise Malformed(f"'+' at column {column + unplaced.start()} has no digit after it")
    tokens = _VALUE.findall(text)
    if len(tokens) != side * side:
        raise Malformed(wrong_length(len(tokens), side))
    return check_values([token.removeprefix(b"+") for token in tokens], side)


def library_line(grid: np.ndarray, candidates: np.ndarray, board: Board) -> str:
    """A position as a line of HoDoKu's library; the inverse of reading it.

    Args:
      grid: uint8[cells], the filled cells, which are written as givens.
      candidates: bool[side, cells], the digits that each cell may hold.
      board: the board, up to 9x9.

    Raises:
      ValueError: the board is larger, or the arrays have other shapes.
    """
    side = board.side
    if side > 9:
        raise ValueError(f"a line of HoDoKu's library is of a board up to 9x9, not {board}")
    if grid.shape != (board.cells,) or candidates.shape != (side, board.cells):
        raise ValueError(
            f"a position has shapes ({board.cells},) and ({side}, {board.cells}), not {grid.shape} and so on"
        )
    values = "".join(str(digit) if digit else "." for digit in grid.tolist())
    gone = np.argwhere((allowed_candidates(grid, board) & ~candidates & (grid == 0)).T).tolist()
    deleted = " ".join(f"{digit + 1}{cell // side + 1}{cell % side + 1}" for cell, digit in gone)
    return f":0000:x:{values}:{deleted}::"
