"""``jaxsudoku build``: builds a data set of puzzles in a folder."""

from __future__ import annotations

import argparse
import os
from collections.abc import Sequence

import numpy as np

from jaxsudoku.io import check_folder
from jaxsudoku.locks import check_unlocked
from jaxsudoku.terminal.failure import UsageError, as_usage
from jaxsudoku.terminal.progress import Meter, bar
from jaxsudoku.terminal.stop import Stop

from . import flags
from .generate import MAKING_STATUSES, add_grades, add_making, grade_tally, making_details, making_options
from .inputs import read_all
from .invocation import Invocation, start_screen
from .parser import Parser
from .report import summarize

SUMMARY = "build a data set of puzzles in a folder"

EPILOG = f"""\
examples:
  jaxsudoku build 1000000 --clues 24:34 --output train
  jaxsudoku build 1000000 --clues 24:34 --output train --resume
  jaxsudoku build 100000 --output train --exclude test.txt

output: a folder of shards (npz or Parquet) and of card.json, which lists their contents and checksums;
jaxsudoku.datasets.load reads it. An interrupted build resumes with --resume, and ends as it would have without the
interruption, byte for byte.

{MAKING_STATUSES}"""


def add_flags(parser: Parser, argv: Sequence[str]) -> None:
    """The flags of ``build``."""
    del argv
    add_making(parser)
    parser.add_argument("--output", required=True, metavar="FOLDER", help="folder of the data set")
    flags.add_running(parser)
    parser.add_argument("--format", choices=("npz", "parquet"), help="of the shards (default: npz)")
    flags.add_number(parser, "--shard-size", "puzzles in a shard", default=65536)
    parser.add_argument(
        "--exclude",
        metavar="FILE",
        action="append",
        default=[],
        help="puzzles whose solutions must not occur, up to symmetry (9x9), or a shipped set; may be repeated",
    )
    parser.add_argument("--resume", action="store_true", help="go on with an interrupted build")
    parser.set_defaults(run=run)


def run(args: argparse.Namespace, invocation: Invocation) -> int:
    """Builds a data set; the exit status."""
    with as_usage():
        check_folder(args.output)
        if os.path.exists(args.output):
            check_unlocked(args.output)
    if os.path.exists(args.output) and not args.resume:
        raise UsageError(f"{args.output}: the folder exists: go on with --resume or name another")
    screen = start_screen(args.quiet)
    from jaxsudoku import datasets
    from jaxsudoku.generation import GenerationError, Puzzles

    with as_usage():
        exclude = np.concatenate([read_all(file, args.board) for file in args.exclude]) if args.exclude else None
    tally, meter = grade_tally(), Meter()
    earlier, failure = 0, None
    screen.show(bar(0.0), now=True)

    def made(puzzles: Puzzles) -> None:
        add_grades(tally, puzzles)

    def progress(done: int, count: int) -> None:
        nonlocal earlier
        earlier = done - tally.puzzles
        screen.show(meter.line(done, count), now=True)

    try:
        with as_usage((ValueError, FileExistsError, BlockingIOError, ImportError)):
            datasets.build(
                args.output,
                args.count,
                seed=args.seed,
                board=args.board,
                format=args.format or "npz",
                shard_size=args.shard_size,
                exclude=exclude,
                resume=args.resume,
                batch_size=args.batch_size,
                progress=progress,
                made=made,
                **making_options(args),
            )
    except GenerationError as error:
        failure = str(error)
    except Stop as stop:
        stop.advice = f"what is done of {args.output} stays; to go on: {invocation.resume_command()}"
        raise
    summarize(args, screen, tally, invocation.began, failure, **making_details(args, earlier))
    return 1 if failure is not None else 0
