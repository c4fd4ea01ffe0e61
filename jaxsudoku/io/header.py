"""Headers of puzzle files: comments at the top of a text, and the board that a file names.

Comments ``# keyword: text`` at the top of a text name the board (``# board: windoku``) and may say that each puzzle has
exactly one solution (``# solutions: 1``). A table names the board in every record, in a column ``board``. Case does not
matter.
"""

from __future__ import annotations

import dataclasses
import functools
import re
from collections.abc import Callable, Iterable, Iterator

from jaxsudoku.core.board import VARIANTS, Board

from .cells import Digits
from .chunk import Chunk, PuzzleFileError
from .columns import BOARD_COLUMN

# Patterns are strings, compiled on first use: compiling takes as long as loading this package.
_COMMENT = rb"#[ \t]*+([A-Za-z][A-Za-z \t]*+):[ \t]*+(.*)"
# It begins with the character itself, which is found ten times as fast as the start of a line.
_BOARD_COMMENT = rb"(?m)#(?<=^#)[ \t]*+(?i:board)[ \t]*+:[ \t]*+(.*)"
#: Values of a column that name a board. Plain numbers and sizes such as 9x9 are not names, as they may mean anything.
_BOARD_NAME = rf"(?i)({'|'.join(('classic', *VARIANTS))})(-\d+)?|(?!(\d+)x\3$)\d+x\d+|jigsaw:.*|[\w-]+\+[\w-].*"
_PROPER = r"(?i)\b(minimal|unique|proper)\b"


@dataclasses.dataclass(frozen=True)
class Header:
    """The comments at the top of a text, or the board in the first record of a table.

    Attributes:
      about: text of each comment ``# keyword: text``, by keyword in lower case.
      board: name of the board, None if none is named.
      line: line that names the board, counted from 1.
      in_table: whether the first record of a table names it.
    """

    about: dict[str, str] = dataclasses.field(default_factory=dict)
    board: str | None = None
    line: int = 0
    in_table: bool = False

    @property
    def unique(self) -> bool:
        """Whether it states that each puzzle has exactly one solution."""
        return self.about.get("solutions") == "1" or bool(re.search(_PROPER, self.about.get("puzzles", "")))


def read_header(head: bytes) -> Header:
    """The comments above the first line that is neither blank nor a comment."""
    about: dict[str, str] = {}
    board_line = 0
    for number, line in enumerate(head.split(b"\n"), start=1):
        if line.strip() and not line.startswith(b"#"):
            break
        if match := re.match(_COMMENT, line.rstrip()):
            keyword, text = (part.decode(errors="replace") for part in match.groups())
            keyword = keyword.lower()
            if keyword not in about:
                about[keyword] = text
                board_line = number if keyword == "board" else board_line
    return Header(about, about.get("board"), board_line)


def board_in_column(value: object) -> str | None:
    """The board that a value of the column ``board`` names; None if it names none."""
    text = str(value).strip()
    return text if re.fullmatch(_BOARD_NAME, text) else None


def header_lines(board: Board) -> bytes:
    """The comments at the top of a text of puzzles, which name the board; empty for a classic board."""
    name = marked_board(board)
    return b"" if name is None else f"# board: {name}\n".encode()


def marked_board(board: Board) -> str | None:
    """The name of the board in outputs; None for a classic board, which the number of cells determines."""
    return None if board.is_classic else board.name


def mark_board(chunks: Iterable[Chunk], board: Board) -> Iterator[Chunk]:
    """Adds a column ``board`` to the extras of chunks, unless the board is classic."""
    name = marked_board(board)
    for chunk in chunks:
        if name is not None and BOARD_COLUMN not in chunk.extras:
            chunk = dataclasses.replace(chunk, extras={**chunk.extras, BOARD_COLUMN: [name] * len(chunk)})
        yield chunk


def resolve_board(header: Header, board: Board | None, name: str) -> Board:
    """The board of a file: ``board`` if given, else that of the header, else the classic 9x9 board.

    Raises:
      PuzzleFileError: the header names another board than ``board``, or one that does not exist.
    """
    if header.board is None:
        return board or Board.classic()
    try:
        own = Board.named(header.board)
    except ValueError as error:
        if board is not None:
            return board
        raise PuzzleFileError(f"{name}:{header.line}: {error}") from error
    if board is not None and board != own:
        raise PuzzleFileError(_contradiction(name, header.line, header.board, own, board))
    return own


class BoardCheck:
    """Checks that no comment or record of a file names another board, as in joined files.

    Args:
      board: the board.
      name: the file's name, for messages.
      zero_based: whether the file counts digits from 0.
      numbers: whether a number in the column ``board`` is a side, because the first record names a board in words.
    """

    def __init__(self, board: Board, name: str, zero_based: bool = False, numbers: bool = False) -> None:
        self.board, self._name, self._numbers = board, name, numbers
        self.digits = Digits(board.side, zero_based)
        self._other = functools.cache(self._find_other)

    def cut(
        self, block: bytes, line: int, quoted: Callable[[bytes, int], bool] | None = None
    ) -> tuple[bytes, PuzzleFileError | None]:
        """The lines of a block above a comment that names another board, and the error; else all lines and None.

        Args:
          block: whole lines.
          line: number of the first one.
          quoted: whether a position in the block is within a quoted field, so that it can't be a comment.
        """
        if b"#" in block:
            for match in re.finditer(_BOARD_COMMENT, block):
                named = match[1].decode(errors="replace").strip()
                if (other := self._other(named)) is not None and not (quoted and quoted(block, match.start())):
                    at = line + block.count(b"\n", 0, match.start())
                    message = _contradiction(self._name, at, named, other, self.board)
                    return block[: match.start()], PuzzleFileError(message)
        return block, None

    def cut_all(
        self, blocks: Iterable[bytes], quoted: Callable[[bytes, int], bool] | None = None
    ) -> Iterator[tuple[int, bytes]]:
        """Blocks, each with the number of its first line, up to a comment that names another board.

        Raises:
          PuzzleFileError: there is such a comment. Raised after the lines above it, and a blank line that ends them.
        """
        line = 1
        for block in blocks:
            whole, fault = self.cut(block, line, quoted)
            if fault is not None:
                yield line, whole + b"\n"
                raise fault
            yield line, whole
            line += block.count(b"\n")

    def check_column(self, chunks: Iterable[Chunk]) -> Iterator[Chunk]:
        """Marks records of a table as malformed if their column ``board`` names another board."""
        for chunk in chunks:
            values = chunk.extras.get(BOARD_COLUMN)
            if values is None:
                yield chunk
                continue
            causes = {}
            for row, value in enumerate(values):
                named = board_in_column(value) or (str(value).strip() if self._numbers else None)
                if chunk.good[row] and named is not None and (other := self._other(named)) is not None:
                    causes[row] = f"a puzzle of the board {named} ({other}), not of {self.board}"
            yield chunk.with_errors(self._name, causes)

    def _find_other(self, named: str) -> Board | None:
        try:
            board = Board.named(named)
        except ValueError:
            return None
        return board if board != self.board else None


def _contradiction(name: str, line: int, named: str, own: Board, board: Board) -> str:
    meant = f"{board.name} " if board.name else ""
    return f"{name}:{line}: the file is of the board {named} ({own}), but is read as {meant}({board})"
