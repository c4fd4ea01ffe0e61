"""What a worker of a job does: it runs the command on a part of the work, and reports it to the job."""

from __future__ import annotations

import argparse
import contextlib
import copy
import dataclasses
import os
import time
from collections.abc import Callable, Iterator
from typing import Any

from jaxsudoku.core.board import Board
from jaxsudoku.io import LineError, LineStream, PuzzleFile, Slice
from jaxsudoku.runtime.files import JsonError, field
from jaxsudoku.runtime.part_folder import PartFolder, Record
from jaxsudoku.runtime.terminal.progress import Screen
from jaxsudoku.runtime.terminal.stop import Signals

from .bad_lines import BadLines
from .invocation import Abandonable, Invocation, check_cache
from .report import Tally, record

#: Digits of the largest number of solutions in a record.
_DIGITS = 20


@dataclasses.dataclass(frozen=True)
class Part:
    """A part of a job.

    Attributes:
      number: its number.
      file: the name of its file.
      work: the slice of an input; or, of puzzles that are made, the number of the first and how many.
    """

    number: int
    file: str
    work: Slice | tuple[int, int]

    def __str__(self) -> str:
        of = f"{self.work.source}" if isinstance(self.work, Slice) else f"puzzles from {self.work[0]} on"
        return f"part {self.number} ({of})"


@dataclasses.dataclass(frozen=True)
class PartTask:
    """Runs a command on parts: a ``workers.Task``.

    Attributes:
      argv: the arguments of the job.
      folder: where parts are written.
      kind: the kind of their files.
      board: the board of the job.
      declared_unique: whether its inputs say that each puzzle has one solution.
    """

    argv: tuple[str, ...]
    folder: PartFolder
    kind: str
    board: Board
    declared_unique: bool

    def begin(self) -> Callable[[Part], Record]:
        """The function of a part."""
        from . import make_parser

        args = make_parser().parse_args(list(self.argv))
        args.workers, args.resume, args.force, args.quiet, args.json = None, False, True, False, False
        args.format, args.board, args.declared_unique = self.kind, self.board, self.declared_unique
        screen = _Notes()
        check_cache(screen)
        return lambda part: self._do(copy.copy(args), part)

    def _do(self, args: argparse.Namespace, part: Part) -> Record:
        if isinstance(part.work, Slice):
            args.input = part.work
        else:
            args.start, args.count = part.work
        invocation = PartInvocation(list(self.argv), Signals(), time.perf_counter(), part.number, keep_unfinished=False)
        with self.folder.writing(part.file) as path:
            args.output = path
            args.run(args, invocation)
            return self.folder.finish(path, invocation.details)


@dataclasses.dataclass(frozen=True)
class PartInvocation(Invocation):
    """A run of a command on a part of a job, which shows nothing.

    Attributes:
      details: what it reports.
    """

    details: dict[str, Any] = dataclasses.field(default_factory=dict)

    def start_screen(self, quiet: bool) -> Screen:
        """A screen that keeps messages."""
        notes = _Notes()
        self.details["notes"] = notes.said
        return notes

    def bad_lines(self, screen: Screen, puzzles: PuzzleFile, board: Board) -> BadLines:
        """Keeps the bad lines."""
        return _KeptLines(screen, puzzles, board, self.details)

    def summarize(
        self, args: argparse.Namespace, screen: Screen, tally: Tally, error: str | None, note: str = "", **details: Any
    ) -> None:
        """Keeps the summary."""
        about = record(seconds=tally.seconds, compile_seconds=tally.compile_seconds)
        self.details.update(counts=tally.counts, error=error, summary=details, worker=os.getpid(), **about)

    @contextlib.contextmanager
    def resumable(self, output: str, sink: Abandonable) -> Iterator[None]:
        """A block at whose end the output is closed in any case."""
        try:
            yield
        finally:
            sink.abandon()


def check_details(details: dict[str, Any], work: Slice | tuple[int, int]) -> None:
    """Checks what the record of a part says of it, as ``PartInvocation`` reports it; raises JsonError."""
    counts = field(details, "counts", dict)
    for name in counts:
        field(counts, name, int)
        if name.isdecimal() and len(name) > _DIGITS:
            raise JsonError(f"'counts' has the number {name[:_DIGITS]}...")
    for name, value in field(details, "summary", dict).items():
        if type(value) is int and abs(value) >= 1 << 64:
            raise JsonError(f"{name!r} of 'summary' is {value!r:.40}, which does not fit 64 bits")
    if details.get("error") is not None:
        field(details, "error", str)
    if not all(isinstance(note, str) for note in field({"notes": [], **details}, "notes", list)):
        raise JsonError("'notes' has an entry that is not a text")
    if isinstance(work, Slice) and details.get("error") is None:
        for name in ("bad", "lines", "header_lines"):
            field(details, name, int)
        for entry in field(details, "errors", list):
            if not (isinstance(entry, list) and [*map(type, entry)] == [int, str] and entry[0] >= 0):
                raise JsonError(f"'errors' has the entry {entry!r:.40}, which is not a line and a cause")


class _Notes(Screen):
    """A screen that shows nothing, and keeps the messages.

    Attributes:
      said: the messages.
    """

    def __init__(self) -> None:
        super().__init__(bar=False)
        self.said: list[str] = []

    def say(self, message: str) -> None:
        """Keeps a message."""
        self.said.append(message)


class _KeptLines(BadLines):
    """Bad lines that are kept in the details of a part, with what is needed to number them in the whole file."""

    def __init__(self, screen: Screen, puzzles: PuzzleFile, board: Board, details: dict[str, Any]) -> None:
        super().__init__(screen, puzzles.name, board)
        self._stream, self._details = puzzles.stream, details
        details["errors"] = []

    def _report(self, error: LineError) -> None:
        self._details["errors"].append([error.line, error.cause])

    def _say_more(self) -> None:
        """Nothing: the job knows the number of all bad lines."""

    def finish(self) -> None:
        """Keeps the number of bad lines, of lines, and of lines of the header, which are no lines of the slice."""
        super().finish()
        stream = self._stream
        lines, header = (stream.lines, stream.header_lines) if isinstance(stream, LineStream) else (0, 0)
        self._details.update(bad=self.count, lines=lines, header_lines=header)
