"""Commands run as jobs by several workers (``--workers``): plan of the parts, progress and summary."""

from __future__ import annotations

import argparse
import collections
import contextlib
import dataclasses
import hashlib
import itertools
import json
import os
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from jaxsudoku.core.board import Board
from jaxsudoku.io import Kind, LineError, PuzzleFileError, Slice, check_folder_name, expand, open_slice, slices
from jaxsudoku.io.parquet import Parquet
from jaxsudoku.runtime.part_folder import PartFolder, Record
from jaxsudoku.runtime.terminal.failure import UsageError, as_usage
from jaxsudoku.runtime.terminal.progress import Meter, Screen, per_second
from jaxsudoku.runtime.terminal.stop import Stop
from jaxsudoku.runtime.urls import file_system, is_url
from jaxsudoku.runtime.workers import JobError, Workers
from jaxsudoku.runtime.workers import run as run_items
from jaxsudoku.runtime.workers.pool import versions

from . import flags
from .inputs import Inputs, PartInput, no_puzzles
from .invocation import Invocation
from .outputs import Writing
from .parser import flag
from .part import Part, PartTask, check_details
from .plan import Plan
from .report import QUOTED, counted, listed
from .run import BATCHES

#: Default number of 9x9 puzzles in a part; fewer on larger boards, where each takes longer.
_PUZZLES = 1 << 20
#: Maximum number of parts, so that numbers of batches fit 32 bits.
_MOST_PARTS = (1 << 32) // BATCHES

SECTION = """\
workers: with --workers the answers are files in a folder, part-00000 and so on; concatenated, they answer all puzzles
of all inputs, in the order of the inputs' names. INPUT may then be several files, folders, patterns such as
'in/*.parquet', and URLs such as s3://bucket/in (extra cluster). Parts of workers that die are repeated, and --resume
continues a job that was stopped or killed. manifest.json lists the parts, their checksums and their outcomes.
"""

MAKING_SECTION = """\
workers: with --workers the puzzles are files in a folder, part-00000 and so on, consecutive parts of one sequence.
--resume continues a job that was stopped or killed. manifest.json lists the parts and their checksums.
"""

#: Maximum number of messages of parts shown; messages of different files may differ only in the names.
_NOTES = 10
#: Fields of a request that do not influence the answers of a job.
_FREE = {"config", "force", "input", "json", "output", "quiet", "resume", "workers"}


def workers_flag(what: str, note: str = "") -> Any:
    """The flag of the workers; ``what`` describes their work in the help."""
    return flag(
        f"{what} by N processes of this machine, or by actors of Ray (extra ray), on the cluster of RAY_ADDRESS "
        f"or on this machine{note}",
        type=_workers,
        metavar="N|ray|ray:N",
    )


def _workers(text: str) -> Workers:
    try:
        return Workers.parse(text)
    except ValueError as error:
        raise argparse.ArgumentTypeError(str(error)) from error


@dataclasses.dataclass(frozen=True, kw_only=True)
class Parted(Writing):
    """Request fields of an output that several workers may make in parts."""

    workers: Workers | None = workers_flag("do the work in parts", "; --output is then a folder, a path or a URL")
    part_size: int | None = flags.number_flag("with --workers: approximate puzzles in a part (default: by the board)")

    def __post_init__(self) -> None:
        if self.workers is not None and self.output == "-":
            raise UsageError("--workers needs --output, a folder for the parts")
        if self.workers is not None and self.force:
            raise UsageError("--force can't be used with --workers: remove the folder of the job, or name another")


@dataclasses.dataclass(frozen=True, kw_only=True)
class Answering(Parted, Inputs):
    """Request fields of commands that answer puzzles: the input, and the output of the answers."""


@dataclasses.dataclass(frozen=True)
class _Work:
    """The work of a job.

    Attributes:
      run: runs the command: (request, Invocation) -> exit status.
      inputs: descriptions of the input files, by which changes are detected.
      kind: the kind of the files of the parts.
      note: a message to the user; may be empty.
      limit: as in ``Tally``.
    """

    run: Callable[[Any, Invocation], int]
    inputs: list[dict[str, Any]]
    parts: Sequence[PartInput | tuple[int, int]]
    board: Board
    kind: Kind
    note: str
    limit: int | None = None


def answer(
    run: Callable[[Any, Invocation], int], request: Answering, invocation: Invocation, limit: int | None = None
) -> int:
    """Runs a command that answers puzzles as a job; returns the exit status.

    Args:
      run: the function ``run`` of the command's module, which answers each part.
      request: the request.
      invocation: the run of the job.
      limit: as in ``Tally``.
    """
    assert isinstance(request.input, tuple) and request.workers is not None
    with as_usage():
        files = expand(request.input)
        boards: dict[Board, str] = {}
        found, inputs, claimed, columns, any_puzzles = [], [], [], 0, False
        for file in files:
            size = _size(request, request.board)
            opened, parts = slices(file, request.board, request.column, size, zero_based=request.zero_based)
            boards.setdefault(opened.board, file)
            found += parts
            claimed.append(opened.unique)
            columns += opened.format.name in ("CSV", "Parquet")
            inputs.append(_described(file))
            any_puzzles = any_puzzles or any(_has_puzzles(part, opened.board, request.column) for part in parts)
        if not any_puzzles:
            raise UsageError(no_puzzles(", ".join(files)))
    if len(boards) > 1:
        (one, first), (other, second) = list(boards.items())[:2]
        raise UsageError(f"{first} has the board {one}, {second} {other}: solve them separately")
    kinds = {part.kind for part in found}
    by_inputs: Kind = "parquet" if kinds == {"Parquet"} else "csv" if columns == len(files) and files else "text"
    board = next(iter(boards))
    note = idle(request.workers, len(found), _uncut(found, _size(request, board)))
    work = [PartInput(part, board, all(claimed)) for part in found]
    return _run(request, invocation, _Work(run, inputs, work, board, request.format or by_inputs, note, limit))


def _has_puzzles(part: Slice, board: Board, column: str | None) -> bool:
    try:
        with open_slice(part, board, column) as puzzles:
            return puzzles.has_puzzles()
    except PuzzleFileError:  # reported by the part
        return True


def make(
    run: Callable[[Any, Invocation], int], request: Parted, invocation: Invocation, count: int, board: Board
) -> int:
    """Runs a command that makes ``count`` puzzles as a job; returns the exit status. Arguments as in ``answer``."""
    assert request.workers is not None
    size = request.part_size or _size(request, board) // 64
    parts = [(start, min(size, count - start)) for start in range(0, count, size)]
    note = idle(request.workers, len(parts), _smaller("part", size))
    return _run(request, invocation, _Work(run, [], parts, board, request.format or "csv", note))


def _uncut(parts: Sequence[Slice], size: int) -> str:
    """The cause why there are few parts, with advice; ``size`` is the number of puzzles in a part."""
    cut = collections.Counter(part.source for part in parts)
    for part in (part for part in parts if cut[part.source] == 1):
        if part.stop is None:
            return f"{part.source} can't be split, unlike Parquet, and lines or CSV without compression and quotes"
        if part.kind == Parquet.name and part.stop - part.start == 1:
            return f"{part.source} is one row group, which can't be split: write it with smaller row groups"
    return _smaller("part", size)


def _smaller(part: str, size: int) -> str:
    return f"a {part} has {size:,} puzzles: a smaller --{part}-size makes more of them"


def idle(workers: Workers, parts: int, cause: str) -> str:
    """A note that there are fewer parts than workers, with the cause; "" if there are enough."""
    wanted = workers.count or 2  # on Ray by default as many as fit the cluster
    if not 0 < parts < wanted:
        return ""
    have = "1 part" if parts == 1 else f"{parts} parts"
    return f"jaxsudoku: note: {have} for {workers} workers, so some have nothing to do; {cause}"


def idle_shards(workers: Workers, count: int, size: int) -> str:
    """``idle`` for the shards of a data set."""
    return idle(workers, -(-count // size), _smaller("shard", size))


def _size(request: Parted, board: Board | None) -> int:
    """The number of puzzles in a part."""
    return request.part_size or max(1, _PUZZLES * 9**3 // (board or Board.classic()).candidates)


def _described(file: str) -> dict[str, Any]:
    """Description of a file, by which changes are detected."""
    if not is_url(file):
        status = os.stat(file)
        return {"name": os.path.abspath(file), "bytes": status.st_size, "modified": status.st_mtime_ns}
    system, path = file_system(file)
    info = system.info(path)
    tag = next((info[name] for name in ("ETag", "etag", "sha256", "LastModified", "mtime") if name in info), None)
    return {"name": file, "bytes": info["size"], "modified": str(tag)}


def _settings(request: Parted, board: Board) -> dict[str, Any]:
    """The settings that answers depend on, as JSON values."""
    config = dataclasses.asdict(request.config) if hasattr(request, "config") else {}
    values = {name: value for name, value in (vars(request) | config).items() if name not in _FREE}
    values["board"] = str(board)
    network = values.get("network")
    if network is not None and os.path.isfile(network):
        values["network"] = hashlib.sha256(Path(network).read_bytes()).hexdigest()
    texts = {name: json.loads(json.dumps(value, default=str)) for name, value in sorted(values.items())}
    return {**texts, "versions": versions()}


def _run(request: Parted, invocation: Invocation, work: _Work) -> int:
    """Runs the missing parts of the job, and reports; returns the exit status."""
    assert request.workers is not None
    if not os.path.isdir(request.output):
        with as_usage():
            check_folder_name(request.output)
    if len(work.parts) > _MOST_PARTS:
        raise UsageError(f"{len(work.parts):,} parts are too many: use a larger --part-size")
    items = [list(part) if isinstance(part, tuple) else dataclasses.asdict(part.part) for part in work.parts]
    suffix = {"text": ".txt"}.get(work.kind, f".{work.kind}")
    command = work.run.__module__.rpartition(".")[2]
    plan = Plan(command, _settings(request, work.board), work.inputs, [{"work": item} for item in items], suffix)
    with as_usage((ValueError, ImportError)):
        folder = PartFolder(request.output)
    parts = [Part(number, plan.part(number), part) for number, part in enumerate(work.parts)]
    part_request = dataclasses.replace(
        request, format=work.kind, workers=None, resume=False, force=True, json=False, quiet=False
    )
    task = PartTask(work.run, part_request, folder)
    screen = Screen(bar=not request.quiet)
    job = _Job(request, screen, invocation.began, len(parts), work.limit)

    def check(number: int, record: Record) -> None:
        check_details(record.details, isinstance(parts[number].work, PartInput))

    if work.note and not request.quiet:
        screen.say(work.note)
    if request.resume:
        screen.show("comparing checksums of finished parts ...", now=True)
    with contextlib.ExitStack() as stack:
        with as_usage((FileExistsError, BlockingIOError, NotADirectoryError, PermissionError)):
            records = stack.enter_context(folder.begun(plan, request.resume, check, screen.say))
        job.begin(records)
        left = [part for part in parts if part.number not in records]
        try:
            for number, record in run_items(request.workers, task, left):
                records[left[number].number] = record
                job.add(record)
        except Stop as stop:
            stop.advice = f"finished parts of {request.output} are kept; to continue: {invocation.resume_command()}"
            raise
        except JobError as error:
            job.fail(f"{error}; finished parts are kept, and --resume continues")
        if len(records) == len(parts) and not job.failed:
            folder.complete(plan, [records[number] for number in range(len(parts))])
    return job.finish([(part, records[part.number]) for part in parts if part.number in records])


class _Job:
    """The progress and the summary of a job.

    Args:
      request: the request.
      screen: shows them.
      began: the time of the start of the command.
      count: the number of parts.
      limit: as in ``Tally``.

    Attributes:
      failed: whether a part could not be read completely, or the job could not continue.
    """

    def __init__(self, request: Parted, screen: Screen, began: float, count: int, limit: int | None) -> None:
        self.failed = False
        self._request, self._screen, self._began, self._count, self._limit = request, screen, began, count, limit
        self._counts: collections.Counter[str] = collections.Counter()
        self._earlier, self._done, self._notes = 0, 0, dict[str, None]()
        self._start = time.perf_counter()
        self._meter = Meter("parts")

    def begin(self, records: Mapping[int, Record]) -> None:
        """Shows the start; ``records`` are those of an earlier run."""
        self._done = len(records)
        self._earlier = sum(sum(record.details["counts"].values()) for record in records.values())
        self._start = time.perf_counter()
        self._show()

    def add(self, record: Record) -> None:
        """Adds a finished part."""
        self._done += 1
        self._counts.update(record.details["counts"])
        for note in record.details.get("notes", ()):
            if note not in self._notes and len(self._notes) < _NOTES:
                self._notes[note] = None
                if not self._request.quiet:
                    self._screen.say(note)
        if record.details["error"]:
            self.fail(record.details["error"])
        self._show()

    def fail(self, message: str) -> None:
        """Reports an error."""
        self.failed = True
        self._screen.say(f"jaxsudoku: error: {message}")

    def _show(self) -> None:
        puzzles = self._counts.total()
        rate = puzzles / max(time.perf_counter() - self._start, 1e-9)
        rates = f", {per_second(rate)}" if puzzles else ""
        line = self._meter.line(self._done, self._count)
        self._screen.show(f"{line}; {counted(puzzles)}{rates}{self._listed(self._counts)}", now=True, task=True)

    def _listed(self, counts: Mapping[str, int]) -> str:
        return listed(counts, self._limit)

    def finish(self, parts: Sequence[tuple[Part, Record]]) -> int:
        """Prints the bad lines and the summary; returns the exit status."""
        request, screen = self._request, self._screen
        seconds = max(time.perf_counter() - self._start, 1e-9)
        screen.clear()
        for error in itertools.islice(_bad_lines(parts), QUOTED):
            screen.say(str(error))
        bad = sum(record.details.get("bad", 0) for _, record in parts)
        if bad > QUOTED:
            screen.say(f"... and {bad - QUOTED:,} more")
        counts: collections.Counter[str] = collections.Counter()
        for _, record in parts:
            counts.update(record.details["counts"])
        named = [name for name in counts if not name.isdecimal()]
        ordered = {name: counts[name] for name in (*named, *sorted(set(counts) - set(named), key=int))}
        puzzles = self._counts.total()
        rate = puzzles / seconds
        if request.json:
            summary = {
                "puzzles": puzzles,
                "already_there": self._earlier,
                "counts": ordered,
                "bad": bad,
                "parts": len(parts),
                "workers": str(request.workers),
                "startup_seconds": round(self._start - self._began, 6),
                "seconds": round(seconds, 6),
                "puzzles_per_second": round(rate, 6),
                "failed": self.failed,
                **_summed([record.details["summary"] for _, record in parts]),
                "versions": versions(),
            }
            print(json.dumps(summary))
        elif not request.quiet:
            earlier = f"; {self._earlier:,} were there already" if self._earlier else ""
            screen.say(
                f"{counted(puzzles)} in {seconds:.2f} s ({per_second(rate)}){self._listed(ordered)}; "
                f"{len(parts):,} parts, start {self._start - self._began:.1f} s{earlier}"
            )
        return 1 if bad or self.failed else 0


def _bad_lines(parts: Sequence[tuple[Part, Record]]) -> Iterator[LineError]:
    """The recorded bad lines of all parts, numbered by lines of the whole files."""
    before: collections.Counter[str] = collections.Counter()  # lines of earlier slices
    for part, record in parts:
        if not isinstance(part.work, PartInput):
            continue
        details, source = record.details, part.work.part.source
        for line, cause in details["errors"]:
            yield LineError(source, line - details["header_lines"] + before[source], cause)
        before[source] += details["lines"]


def _summed(details: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    """The combined details of the summaries of all parts: numbers are added, others are those of the first part."""
    first = dict(details[0]) if details else {}
    for name, value in first.items():
        if isinstance(value, int) and not isinstance(value, bool) and name not in ("seed", "limit"):
            first[name] = sum(value for part in details if isinstance(value := part.get(name), int))
    first.pop("already_answered", None)
    first.pop("already_there", None)
    return first
