"""Commands as jobs of several workers: ``--workers``, the plan of the parts, progress, and the summary."""

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
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from jaxsudoku.core.board import Board
from jaxsudoku.io import LineError, PuzzleFileError, Slice, check_folder_name, expand, open_slice, slices
from jaxsudoku.io.parquet import Parquet
from jaxsudoku.runtime.part_folder import PartFolder, Record
from jaxsudoku.runtime.terminal.failure import UsageError, as_usage
from jaxsudoku.runtime.terminal.progress import Meter, Screen
from jaxsudoku.runtime.terminal.stop import Stop
from jaxsudoku.runtime.urls import file_system, is_url
from jaxsudoku.runtime.workers import JobError, Workers
from jaxsudoku.runtime.workers import run as run_items
from jaxsudoku.runtime.workers.pool import versions

from . import flags
from .inputs import no_puzzles
from .invocation import Invocation
from .part import Part, PartTask, check_details
from .plan import Plan
from .report import QUOTED, counted, listed
from .run import BATCHES

#: Puzzles of 9x9 in a part by default; fewer of larger boards, which take longer.
_PUZZLES = 1 << 20
#: The most parts, whose batches have numbers that fit 32 bits.
_MOST_PARTS = (1 << 32) // BATCHES

SECTION = """\
workers: with --workers the answers are files in a folder, part-00000 and so on: together, in this order, they answer
all puzzles of all inputs, in the order of their names. INPUT may then be several files, folders, patterns such as
'in/*.parquet', and URLs such as s3://bucket/in (extra cluster). Parts of workers that die are done again, and --resume
goes on with a job that was stopped or killed. manifest.json lists the parts, their checksums and their outcomes.
"""

MAKING_SECTION = """\
workers: with --workers the puzzles are files in a folder, part-00000 and so on, each a stretch of the same sequence.
--resume goes on with a job that was stopped or killed. manifest.json lists the parts and their checksums.
"""

#: How many messages of parts are shown; those of different files may differ by their names alone.
_NOTES = 10
#: Arguments on which the answers of a job do not depend.
_FREE = {"command", "force", "input", "json", "output", "parser", "program", "quiet", "resume", "run", "workers"}


def add_flags(parser: argparse.ArgumentParser) -> None:
    """The flags of commands that may be jobs."""
    add_workers(parser, "do the work in parts", "; --output is then a folder, a path or a URL")
    flags.add_number(parser, "--part-size", "with --workers: about so many puzzles in a part (default: by the board)")


def add_workers(parser: argparse.ArgumentParser, what: str, note: str = "") -> None:
    """The workers; the help says what they do."""
    parser.add_argument(
        "--workers",
        type=_workers,
        metavar="N|ray|ray:N",
        help=f"{what} by N processes of this machine, or by actors of Ray (extra ray), on the cluster of RAY_ADDRESS "
        f"or on this machine{note}",
    )


def _workers(text: str) -> Workers:
    try:
        return Workers.parse(text)
    except ValueError as error:
        raise argparse.ArgumentTypeError(str(error)) from error


@dataclasses.dataclass(frozen=True)
class _Work:
    """What a job does: its inputs, the work of each part, and a note for the user, which may be empty."""

    inputs: list[dict[str, Any]]
    parts: Sequence[Slice | tuple[int, int]]
    board: Board
    declared_unique: bool
    kind: str
    note: str


def answer(args: argparse.Namespace, invocation: Invocation) -> int:
    """Runs a command that answers puzzles as a job; the exit status."""
    if args.output == "-":
        raise UsageError("--workers needs --output, a folder for the parts")
    with as_usage():
        files = expand([args.input] if isinstance(args.input, str) else args.input)
        boards: dict[Board, str] = {}
        found, inputs, claimed, columns, any_puzzles = [], [], [], 0, False
        for file in files:
            opened, parts = slices(file, args.board, args.column, _size(args, args.board), zero_based=args.zero_based)
            boards.setdefault(opened.board, file)
            found += parts
            claimed.append(opened.unique)
            columns += opened.format.name in ("CSV", "Parquet")
            inputs.append(_described(file))
            any_puzzles = any_puzzles or any(_has_puzzles(part, opened.board, args.column) for part in parts)
        if not any_puzzles:
            raise UsageError(no_puzzles(", ".join(files)))
    if len(boards) > 1:
        (one, first), (other, second) = list(boards.items())[:2]
        raise UsageError(f"{first} is of {one}, {second} of {other}: solve them one by one")
    kinds = {part.kind for part in found}
    kind = args.format or ("parquet" if kinds == {"Parquet"} else "csv" if columns == len(files) and files else "text")
    board = next(iter(boards))
    note = idle(args.workers, len(found), _uncut(found, _size(args, board)))
    return _run(args, invocation, _Work(inputs, found, board, all(claimed), kind, note))


def _has_puzzles(part: Slice, board: Board, column: str | None) -> bool:
    try:
        with open_slice(part, board, column) as puzzles:
            return puzzles.has_puzzles()
    except PuzzleFileError:  # which the part reports
        return True


def make(args: argparse.Namespace, invocation: Invocation) -> int:
    """Runs a command that makes ``args.count`` puzzles as a job; the exit status."""
    if args.output == "-":
        raise UsageError("--workers needs --output, a folder for the parts")
    size = args.part_size or _size(args, args.board) // 64
    starts = range(0, args.count, size)
    parts = [(start, min(size, args.count - start)) for start in starts]
    note = idle(args.workers, len(parts), _smaller("part", size))
    return _run(args, invocation, _Work([], parts, args.board, False, args.format or "csv", note))


def _uncut(parts: Sequence[Slice], size: int) -> str:
    """Why there are few parts of so many puzzles, and what helps."""
    cut = collections.Counter(part.source for part in parts)
    for part in (part for part in parts if cut[part.source] == 1):
        if part.stop is None:
            return f"{part.source} is not cut: Parquet is, and lines and CSV, not compressed and without quotes"
        if part.kind == Parquet.name and part.stop - part.start == 1:
            return f"{part.source} is one row group, which is not cut: write it with smaller row groups"
    return _smaller("part", size)


def _smaller(part: str, size: int) -> str:
    return f"a {part} has {size:,} puzzles: a smaller --{part}-size makes more of them"


def idle(workers: Workers, parts: int, cause: str) -> str:
    """A note that there are fewer parts than workers, and the cause; "" if there are enough."""
    wanted = workers.count or 2  # on Ray by default as many as the cluster has
    if not 0 < parts < wanted:
        return ""
    have = "1 part" if parts == 1 else f"{parts} parts"
    return f"jaxsudoku: note: {have} for {workers} workers, so some have nothing to do; {cause}"


def idle_shards(workers: Workers, count: int, size: int) -> str:
    """As ``idle``, of the shards of a data set."""
    return idle(workers, -(-count // size), _smaller("shard", size))


def _size(args: argparse.Namespace, board: Board | None) -> int:
    """The puzzles of a part."""
    size: int | None = args.part_size
    return size or max(1, _PUZZLES * 9**3 // (board or Board.classic()).candidates)


def _described(file: str) -> dict[str, Any]:
    """A file as it is now, by which a changed one is known."""
    if not is_url(file):
        status = os.stat(file)
        return {"name": os.path.abspath(file), "bytes": status.st_size, "modified": status.st_mtime_ns}
    system, path = file_system(file)
    info = system.info(path)
    tag = next((info[name] for name in ("ETag", "etag", "sha256", "LastModified", "mtime") if name in info), None)
    return {"name": file, "bytes": info["size"], "modified": str(tag)}


def _settings(args: argparse.Namespace, board: Board) -> dict[str, Any]:
    """What the answers depend on, as values of JSON."""
    values = {name: value for name, value in vars(args).items() if name not in _FREE and not callable(value)}
    values["board"] = str(board)
    network = values.get("network")
    if network is not None and os.path.isfile(network):
        values["network"] = hashlib.sha256(Path(network).read_bytes()).hexdigest()
    texts = {name: json.loads(json.dumps(value, default=str)) for name, value in sorted(values.items())}
    return {**texts, "versions": versions()}


def _run(args: argparse.Namespace, invocation: Invocation, work: _Work) -> int:
    """Does the parts that the folder of the job lacks, and reports; the exit status."""
    if getattr(args, "history", None):
        raise UsageError("--history does not go with --workers")
    if not os.path.isdir(args.output):
        with as_usage():
            check_folder_name(args.output)
    if args.force:
        raise UsageError("--force does not go with --workers: remove the folder of the job, or name another")
    if len(work.parts) > _MOST_PARTS:
        raise UsageError(f"{len(work.parts):,} parts are too many: give a larger --part-size")
    items = [list(part) if isinstance(part, tuple) else dataclasses.asdict(part) for part in work.parts]
    suffix = {"text": ".txt"}.get(work.kind, f".{work.kind}")
    plan = Plan(args.command, _settings(args, work.board), work.inputs, [{"work": item} for item in items], suffix)
    with as_usage((ValueError, ImportError)):
        folder = PartFolder(args.output)
    parts = [Part(number, plan.part(number), part) for number, part in enumerate(work.parts)]
    task = PartTask(tuple(invocation.argv), folder, work.kind, work.board, work.declared_unique)
    screen = Screen(bar=not args.quiet)
    job = _Job(args, screen, invocation.began, len(parts))

    def check(number: int, record: Record) -> None:
        check_details(record.details, parts[number].work)

    if work.note and not args.quiet:
        screen.say(work.note)
    if args.resume:
        screen.show("comparing checksums of finished parts ...", now=True)
    with contextlib.ExitStack() as stack:
        with as_usage((FileExistsError, BlockingIOError, NotADirectoryError, PermissionError)):
            records = stack.enter_context(folder.begun(plan, args.resume, check, screen.say))
        job.begin(records)
        left = [part for part in parts if part.number not in records]
        try:
            for number, record in run_items(args.workers, task, left):
                records[left[number].number] = record
                job.add(record)
        except Stop as stop:
            stop.advice = f"finished parts of {args.output} stay; to go on: {invocation.resume_command()}"
            raise
        except JobError as error:
            job.fail(f"{error}; finished parts stay, and --resume goes on")
        if len(records) == len(parts) and not job.failed:
            folder.complete(plan, [records[number] for number in range(len(parts))])
    return job.finish([(part, records[part.number]) for part in parts if part.number in records])


class _Job:
    """The progress and the summary of a job.

    Args:
      args: the arguments.
      screen: where they are shown.
      began: the time of the start of the command.
      count: the number of parts.

    Attributes:
      failed: whether some part could not be read to its end, or the job could not go on.
    """

    def __init__(self, args: argparse.Namespace, screen: Screen, began: float, count: int) -> None:
        self.failed = False
        self._args, self._screen, self._began, self._count = args, screen, began, count
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
                if not self._args.quiet:
                    self._screen.say(note)
        if record.details["error"]:
            self.fail(record.details["error"])
        self._show()

    def fail(self, message: str) -> None:
        """Reports what went wrong."""
        self.failed = True
        self._screen.say(f"jaxsudoku: error: {message}")

    def _show(self) -> None:
        puzzles = self._counts.total()
        rate = puzzles / max(time.perf_counter() - self._start, 1e-9)
        rates = f", {rate:,.0f}/s" if puzzles else ""
        line = self._meter.line(self._done, self._count)
        self._screen.show(f"{line}; {counted(puzzles)}{rates}{self._listed(self._counts)}", now=True, task=True)

    def _listed(self, counts: Mapping[str, int]) -> str:
        return listed(counts, getattr(self._args, "limit", None))

    def finish(self, parts: Sequence[tuple[Part, Record]]) -> int:
        """Prints the bad lines and the summary; the exit status."""
        args, screen = self._args, self._screen
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
        if args.json:
            summary = {
                "puzzles": puzzles,
                "already_there": self._earlier,
                "counts": ordered,
                "bad": bad,
                "parts": len(parts),
                "workers": str(args.workers),
                "startup_seconds": round(self._start - self._began, 6),
                "seconds": round(seconds, 6),
                "puzzles_per_second": round(rate, 6),
                "failed": self.failed,
                **_summed([record.details["summary"] for _, record in parts]),
                "versions": versions(),
            }
            print(json.dumps(summary))
        elif not args.quiet:
            earlier = f"; {self._earlier:,} were there already" if self._earlier else ""
            screen.say(
                f"{counted(puzzles)} in {seconds:.2f} s ({rate:,.0f}/s){self._listed(ordered)}; {len(parts):,} parts, "
                f"start {self._start - self._began:.1f} s{earlier}"
            )
        return 1 if bad or self.failed else 0


def _bad_lines(parts: Sequence[tuple[Part, Record]]) -> Iterator[LineError]:
    """The bad lines of all parts that are kept, by their numbers in whole files."""
    before: collections.Counter[str] = collections.Counter()  # lines of earlier slices
    for part, record in parts:
        if not isinstance(part.work, Slice):
            continue
        details, source = record.details, part.work.source
        for line, cause in details["errors"]:
            yield LineError(source, line - details["header_lines"] + before[source], cause)
        before[source] += details["lines"]


def _summed(details: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    """The details of the summaries of all parts: numbers are added, all else is that of the first part."""
    first = dict(details[0]) if details else {}
    for name, value in first.items():
        if isinstance(value, int) and not isinstance(value, bool) and name not in ("seed", "limit"):
            first[name] = sum(value for part in details if isinstance(value := part.get(name), int))
    first.pop("already_answered", None)
    first.pop("already_there", None)
    return first
