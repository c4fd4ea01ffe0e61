"""``jaxsudoku build``: builds a data set of puzzles in a folder."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence

from jaxsudoku.generation import GenerateConfig
from jaxsudoku.runtime.terminal.failure import as_usage
from jaxsudoku.runtime.terminal.progress import Meter
from jaxsudoku.runtime.terminal.stop import Stop
from jaxsudoku.runtime.workers import JobError, Workers

from . import build_given, job
from .build_given import Folder, check_new, excluded
from .fields import config_values
from .generate import MAKING_STATUSES, Making, add_grades, grade_tally, making_details
from .invocation import Invocation
from .parser import Parser, flag

EPILOG = f"""\
examples:
  jaxsudoku build 1000000 --clues 24:34 --output train
  jaxsudoku build 1000000 --clues 24:34 --output train --resume
  jaxsudoku build 100000 --output train --exclude test.txt
  jaxsudoku build 100000000 --output train --workers 8
  jaxsudoku build --from puzzles.csv --output mine
  jaxsudoku build --from puzzles.csv --help

output: a folder with shards (npz or Parquet) and card.json, which lists their contents and checksums;
jaxsudoku.datasets.load reads it. An interrupted build resumes with --resume and gives the same files, byte for byte, as
without the interruption. With --from the puzzles are read from a file, and there is a folder for each part: train, eval
and test.

{MAKING_STATUSES}
With --from the exit status is 1 if lines are malformed, puzzles are refused, or reading failed.
"""


@dataclasses.dataclass(frozen=True, kw_only=True)
class Request(Folder, Making):
    """Request of ``build`` for generated puzzles."""

    source: str | None = flag(
        "take the puzzles from a file instead of COUNT generated ones; --from FILE --help shows the flags for this "
        "case",
        build_given.FLAG,
        metavar="FILE",
    )
    workers: Workers | None = job.workers_flag("make the shards")


def add_flags(parser: Parser, argv: Sequence[str]) -> None:
    """Adds the flags of ``build``, which differ for given and for generated puzzles."""
    if any(text.split("=")[0] == build_given.FLAG for text in argv):
        parser.add_request(build_given.Request, build_given.run)
    else:
        parser.add_request(Request, run)


def run(request: Request, invocation: Invocation) -> int:
    """Builds a data set; returns the exit status."""
    check_new(request)
    screen = invocation.start_screen(request.quiet)
    from jaxsudoku import datasets
    from jaxsudoku.generation import GenerationError, Puzzles

    note = "" if request.workers is None else job.idle_shards(request.workers, request.count, request.shard_size)
    if note and not request.quiet:
        screen.say(note)
    exclude = excluded(request.exclude, request.board)
    tally, meter = grade_tally(), Meter()
    earlier, failure = 0, None
    screen.show(meter.line(0, request.count), now=True, task=True)

    def made(puzzles: Puzzles) -> None:
        add_grades(tally, puzzles)

    def progress(done: int, count: int) -> None:
        nonlocal earlier
        earlier = done - tally.puzzles
        screen.show(meter.line(done, count), now=True, task=True)

    try:
        with as_usage((ValueError, FileExistsError, BlockingIOError, ImportError)):
            datasets.build(
                request.output,
                request.count,
                seed=request.seed,
                board=request.board,
                format=request.format,
                shard_size=request.shard_size,
                exclude=exclude,
                resume=request.resume,
                batch_size=request.batch_size,
                progress=progress,
                made=made,
                workers=request.workers,
                **config_values(request, GenerateConfig),
            )
    except (GenerationError, JobError) as error:
        failure = str(error)
    except Stop as stop:
        stop.advice = f"the finished part of {request.output} is kept; to continue: {invocation.resume_command()}"
        raise
    invocation.summarize(request, screen, tally, failure, **making_details(request.board, request.seed, earlier))
    return 1 if failure is not None else 0
