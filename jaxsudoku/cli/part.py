"""The task of a job's workers: runs the command on a part of the work, and reports to the job."""

from __future__ import annotations

import dataclasses
import os
import time
from collections.abc import Callable
from typing import Any

from jaxsudoku.io import LineError, LineStream, PuzzleFile
from jaxsudoku.runtime.files import JsonError, field
from jaxsudoku.runtime.part_folder import PartFolder, Record
from jaxsudoku.runtime.terminal.progress import Screen
from jaxsudoku.runtime.terminal.stop import Signals

from .bad_lines import BadLines
from .inputs import PartInput
from .invocation import Invocation, check_cache
from .outputs import Running
from .report import Tally, record

#: Digits of the largest number of solutions in a record.
_DIGITS = 20


@dataclasses.dataclass(frozen=True)
class Part:
    """A part of a job.

    Attributes:
      number: its number.
      file: the name of its file.
      work: the input; or, for generated puzzles, the number of the first one and their count.
    """

    number: int
    file: str
    work: PartInput | tuple[int, int]

    def __str__(self) -> str:
        of = self.work.part.source if isinstance(self.work, PartInput) else f"puzzles from {self.work[0]} on"
        return f"part {self.number} ({of})"


@dataclasses.dataclass(frozen=True)
class PartTask:
    """A ``workers.Task`` that runs a command on parts.

    Attributes:
      run: runs the command: (request, Invocation) -> exit status.
      request: the request, except for the input (or the puzzles to generate) and the output.
      folder: where parts are written.
    """

    run: Callable[[Any, Invocation], int]
    request: Any
    folder: PartFolder

    def begin(self) -> Callable[[Part], Record]:
        """The function of a part."""
        check_cache(_Notes())
        return self._do

    def _do(self, part: Part) -> Record:
        if isinstance(part.work, PartInput):
            changes: dict[str, Any] = {"input": part.work}
        else:
            changes = {"start": part.work[0], "count": part.work[1]}
        invocation = PartInvocation([], Signals(), time.perf_counter(), part.number, keep_unfinished=False)
        with self.folder.writing(part.file) as path:
            self.run(dataclasses.replace(self.request, output=path, **changes), invocation)
            return self.folder.finish(path, invocation.details)


@dataclasses.dataclass(frozen=True)
class PartInvocation(Invocation):
    """A run of a command on a part of a job, without output to the terminal.

    Attributes:
      details: its report.
    """

    details: dict[str, Any] = dataclasses.field(default_factory=dict)

    def start_screen(self, quiet: bool) -> Screen:
        """A screen that records messages."""
        notes = _Notes()
        self.details["notes"] = notes.said
        return notes

    def bad_lines(self, screen: Screen, puzzles: PuzzleFile) -> BadLines:
        """A reporter that records bad lines."""
        return _KeptLines(screen, puzzles, self.details)

    def summarize(
        self, request: Running, screen: Screen, tally: Tally, error: str | None, note: str = "", **details: Any
    ) -> None:
        """Records the summary."""
        about = record(seconds=tally.seconds, compile_seconds=tally.compile_seconds)
        self.details.update(counts=tally.counts, error=error, summary=details, worker=os.getpid(), **about)


def check_details(details: dict[str, Any], answers: bool) -> None:
    """Checks the details of a part's record, the report of ``PartInvocation``; raises JsonError.

    Args:
      details: the details.
      answers: whether the part has an input.
    """
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
    if answers and details.get("error") is None:
        for name in ("bad", "lines", "header_lines"):
            field(details, name, int)
        for entry in field(details, "errors", list):
            if not (isinstance(entry, list) and [*map(type, entry)] == [int, str] and entry[0] >= 0):
                raise JsonError(f"'errors' has the entry {entry!r:.40}, which is not a line and a cause")


class _Notes(Screen):
    """A screen that shows nothing, but records the messages.

    Attributes:
      said: the messages.
    """

    def __init__(self) -> None:
        super().__init__(bar=False)
        self.said: list[str] = []

    def say(self, message: str) -> None:
        """Records a message."""
        self.said.append(message)


class _KeptLines(BadLines):
    """Records bad lines in the details of a part, with the numbers of lines needed to locate them in the whole file."""

    def __init__(self, screen: Screen, puzzles: PuzzleFile, details: dict[str, Any]) -> None:
        super().__init__(screen, puzzles.name, puzzles.board)
        self._stream, self._details = puzzles.stream, details
        details["errors"] = []

    def _report(self, error: LineError) -> None:
        self._details["errors"].append([error.line, error.cause])

    def _say_more(self) -> None:
        """Does nothing, as the job reports the number of all bad lines."""

    def finish(self) -> None:
        """Records the numbers of bad lines, of lines, and of lines of the header, which are not lines of the slice."""
        super().finish()
        stream = self._stream
        lines, header = (stream.lines, stream.header_lines) if isinstance(stream, LineStream) else (0, 0)
        self._details.update(bad=self.count, lines=lines, header_lines=header)
