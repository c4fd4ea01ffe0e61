"""``jaxsudoku build``: builds a data set of puzzles in a folder."""

from __future__ import annotations

import argparse
from collections.abc import Sequence

from jaxsudoku.runtime.terminal.failure import as_usage
from jaxsudoku.runtime.terminal.progress import Meter
from jaxsudoku.runtime.terminal.stop import Stop
from jaxsudoku.runtime.workers import JobError

from . import build_given, job
from .dataset_folder import add_folder, check_new, excluded
from .generate import MAKING_STATUSES, add_grades, add_making, grade_tally, making_details, making_options
from .invocation import Invocation
from .parser import Parser

SUMMARY = "build a data set of puzzles in a folder"

EPILOG = f"""\
examples:
  jaxsudoku build 1000000 --clues 24:34 --output train
  jaxsudoku build 1000000 --clues 24:34 --output train --resume
  jaxsudoku build 100000 --output train --exclude test.txt
  jaxsudoku build 100000000 --output train --workers 8
  jaxsudoku build --from puzzles.csv --output mine
  jaxsudoku build --from puzzles.csv --help

output: a folder of shards (npz or Parquet) and of card.json, which lists their contents and checksums;
jaxsudoku.datasets.load reads it. An interrupted build resumes with --resume, and ends as it would have without the
interruption, byte for byte. With --from the puzzles are those of a file, and there is a folder for each part of them:
train, eval and test.

{MAKING_STATUSES}
With --from the exit status is 1 if lines are malformed, puzzles are refused, or reading failed.
"""


def add_flags(parser: Parser, argv: Sequence[str]) -> None:
    """The flags of ``build``; given puzzles have others than those that are made."""
    given = any(text.split("=")[0] == build_given.FLAG for text in argv)
    if given:
        build_given.add_puzzles(parser)
    else:
        add_making(parser)
        parser.add_argument(
            build_given.FLAG,
            metavar="FILE",
            help="take the puzzles of a file, in the place of COUNT and of what describes them; with FILE and --help "
            "its flags are shown",
        )
    add_folder(parser)
    if not given:
        job.add_workers(parser, "make the shards")
    parser.set_defaults(run=build_given.run if given else run)


def run(args: argparse.Namespace, invocation: Invocation) -> int:
    """Builds a data set; the exit status."""
    check_new(args)
    screen = invocation.start_screen(args.quiet)
    from jaxsudoku import datasets
    from jaxsudoku.generation import GenerationError, Puzzles

    note = job.idle_shards(args.workers, args.count, args.shard_size) if args.workers is not None else ""
    if note and not args.quiet:
        screen.say(note)
    exclude = excluded(args)
    tally, meter = grade_tally(), Meter()
    earlier, failure = 0, None
    screen.show(meter.line(0, args.count), now=True, task=True)

    def made(puzzles: Puzzles) -> None:
        add_grades(tally, puzzles)

    def progress(done: int, count: int) -> None:
        nonlocal earlier
        earlier = done - tally.puzzles
        screen.show(meter.line(done, count), now=True, task=True)

    try:
        with as_usage((ValueError, FileExistsError, BlockingIOError, ImportError)):
            datasets.build(
                args.output,
                args.count,
                seed=args.seed,
                board=args.board,
                format=args.format,
                shard_size=args.shard_size,
                exclude=exclude,
                resume=args.resume,
                batch_size=args.batch_size,
                progress=progress,
                made=made,
                workers=args.workers,
                **making_options(args),
            )
    except (GenerationError, JobError) as error:
        failure = str(error)
    except Stop as stop:
        stop.advice = f"what is done of {args.output} stays; to go on: {invocation.resume_command()}"
        raise
    invocation.summarize(args, screen, tally, failure, **making_details(args, earlier))
    return 1 if failure is not None else 0
