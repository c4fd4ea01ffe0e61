"""Interface of formats of puzzle files.

To add a format, write a module with a subclass of ``Format`` and add the class to ``FORMATS`` in ``read.py``. The
first format there whose ``sniff`` accepts the beginning of an input reads it. Inputs may be pipes or compressed, so
formats are detected by their content, never by the suffix of a file.
"""

from __future__ import annotations

import abc
import dataclasses
import functools
import itertools
import re
from collections.abc import Collection, Iterator
from typing import Any, BinaryIO, ClassVar, NamedTuple

from .chunk import Chunk
from .columns import further_columns
from .header import BoardCheck

#: Number of first lines by which the format of a text is detected.
_SNIFFED_LINES = 200


@dataclasses.dataclass(frozen=True)
class Beginning:
    """The beginning of an input.

    Attributes:
      name: name of the input, for messages.
      head: the first block of whole lines; of binary data the first bytes.
      column: name of the column of puzzles; None for the default names.
      stream: the input itself, for binary formats.
      groups: the row groups of Parquet to read; None for all.
      before: the number of rows before them.
    """

    name: str
    head: bytes
    column: str | None = None
    stream: BinaryIO | None = None
    groups: range | None = None
    before: int = 0

    @functools.cached_property
    def lines(self) -> list[bytes]:
        """The first lines that are neither blank nor comments, at most ``_SNIFFED_LINES``."""
        lines = (match[0] for match in re.finditer(rb"[^\n]+", self.head))
        content = (line for line in lines if line.strip() and not line.startswith(b"#"))
        return list(itertools.islice(content, _SNIFFED_LINES))


class Record(NamedTuple):
    """The first puzzle of a table.

    Attributes:
      fields: its values by column; the puzzle's key is always ``puzzle``.
      line: its line, counted from 1.
    """

    fields: dict[str, Any]
    line: int


class Format(abc.ABC):
    """A format of puzzle files, made for one input by ``sniff``.

    Class attributes:
      name: its name in messages.
      magic: the first bytes of a binary format, which reads ``Beginning.stream``; empty for text formats.
      is_table: whether the puzzles are in a named column.
    """

    name: ClassVar[str]
    magic: ClassVar[bytes] = b""
    is_table: ClassVar[bool] = False

    def __init__(self, start: Beginning) -> None:
        self.start = start

    @classmethod
    @abc.abstractmethod
    def sniff(cls, start: Beginning, side: int) -> Format | None:
        """The format for an input with this beginning; None if it has another format.

        Args:
          start: the beginning.
          side: the board's side; for a table it may be 0 if not known yet.
        """

    @abc.abstractmethod
    def read(self, blocks: Iterator[bytes], check: BoardCheck, keep: Collection[str] = ()) -> Iterator[Chunk]:
        """Reads chunks of any size.

        Args:
          blocks: all blocks of whole lines of the input; a binary format does not use them.
          check: the board, and the check that cuts off lines after a comment that names another board.
          keep: columns of answers to carry along, as in ``read_chunks``.

        Raises:
          PuzzleFileError: the input can't be read further. Raised after all puzzles before the fault.
        """

    def first_record(self) -> Record | None:
        """The first puzzle of a table; None if there is none.

        Raises:
          PuzzleFileError: it is malformed, or there is no column of puzzles.
        """
        return None

    def count(self) -> int | None:
        """The number of puzzles, if the input states it."""
        return None

    def names(self) -> list[str]:
        """Names of the columns of a table; empty for other formats."""
        return []

    def header(self) -> bytes:
        """The first line (of CSV the first record), without the newline."""
        return self.start.lines[0]

    def check(self, check: BoardCheck) -> tuple[str, ...]:
        """Reads as far as needed to find an error in the header.

        Returns:
          Names of the columns of a table except that of puzzles.

        Raises:
          PuzzleFileError: as ``read`` does.
        """
        if not self.start.lines:
            return ()
        head, record = self.start.head, self.header()
        at = (b"\n" + head).find(b"\n" + record + b"\n")
        if at >= 0:  # not found where a name has blank lines or comments in it
            for _ in self.read(iter([head[: at + len(record) + 1]]), check):  # from the top, for the line number
                pass
        names = self.names()
        return further_columns(names, self.start.column) if names else ()
