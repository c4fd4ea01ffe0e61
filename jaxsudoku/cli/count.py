"""``jaxsudoku count``: counts the solutions of puzzles up to a limit."""

from __future__ import annotations

import argparse
import dataclasses
import functools
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from jaxsudoku import solvers
from jaxsudoku.core.board import Board
from jaxsudoku.io import ANSWER_COLUMNS, COUNT_COLUMNS, PUZZLE_COLUMNS, Chunk, CountWriter, mark_board
from jaxsudoku.runtime.terminal.failure import UsageError, as_usage

from . import flags, job
from .fields import add_config, config_values
from .inputs import opened
from .invocation import Invocation
from .outputs import check_answers
from .parser import Parser
from .positions import CountedWithin
from .report import say_replaced
from .run import Run
from .solve import summary_details
from .verdicts import INVALID, MALFORMED, verdicts

SUMMARY = "count solutions up to a limit"

EPILOG = f"""\
examples:
  jaxsudoku count puzzles.txt
  jaxsudoku count puzzles.txt --limit 100 --board diagonal

output: as text a number a line, 0 for no solution (or givens that clash), `-` for a malformed line; as CSV or Parquet
the columns puzzle, count, status and iterations, then the further columns of the input, and a column board for boards
that are not classic. status: unique, several, unsatisfiable, invalid (the givens clash) or malformed; with --limit 1
satisfiable in the place of unique and several.

{flags.INPUT_SECTION}
{job.SECTION}
{flags.status_section(resumable=False)}"""


def add_flags(parser: Parser, argv: Sequence[str]) -> None:
    """The flags of ``count``, with those of the exact search."""
    del argv
    flags.add_input(parser)
    flags.add_number(parser, "--limit", "solutions of a puzzle to stop at; 2 shows whether it is proper", default=2)
    flags.add_output(parser)
    flags.add_running(parser)
    flags.add_format(parser, "by the output's suffix")
    existing = parser.add_mutually_exclusive_group()
    existing.add_argument("--force", action="store_true", help="replace an existing output")
    existing.add_argument("--resume", action="store_true", help="with --workers: go on with the job of the folder")
    job.add_flags(parser)
    # a count that is cut off would be no count
    add_config(parser, solvers.ExactConfig, "flags of the search", without=("budget", "levels"))
    parser.set_defaults(run=run)


def run(args: argparse.Namespace, invocation: Invocation) -> int:
    """Counts; the exit status."""
    with args.parser.errors():
        config = solvers.ExactConfig(**config_values(args, solvers.ExactConfig))
    if args.workers is not None:
        args.format = args.format or "text"
        return job.answer(args, invocation)
    if args.resume:
        raise UsageError("--resume goes with --workers: a count of one process starts anew")
    check_answers(args, args.format)
    with opened(args) as puzzles:
        with as_usage():
            sink = CountWriter(args.output, args.board, kind=args.format, force=args.force, source=args.input)
        with invocation.resumable("-", sink):  # which closes it
            work = Run(args, invocation, puzzles, (INVALID, MALFORMED), args.limit)
            from jaxsudoku.engine.batches import Engine
            from jaxsudoku.solvers import driver

            with as_usage((RuntimeError,)):  # no such platform or device
                kernel = driver.count_kernel(args.limit, nodes=True, **dataclasses.asdict(config))
                engine = Engine(kernel, args.board, args.seed, args.batch_size)
            say_replaced(work.screen, args, args.format, (*PUZZLE_COLUMNS, *ANSWER_COLUMNS, *COUNT_COLUMNS))
            chunks = mark_board(puzzles.chunks(engine.batch_size), args.board)
            within = CountedWithin(args.board, args.limit)
            judged = functools.partial(_judged, args.board, args.limit, within)
            work.answer(chunks, engine, sink, _outcomes, within=judged)
    several = None
    if args.declared_unique and args.limit > 1:
        counts = work.tally.counts.items()
        several = sum(often for number, often in counts if number.isdecimal() and int(number) > 1)
    return work.finish(**summary_details(args, "exact", config, several, limit=args.limit))


class Counted(NamedTuple):
    """The counts of n puzzles.

    Attributes:
      counts: int32[n], the solutions that were found.
      iterations: int32[n], nodes visited.
      status: object[n], the verdicts on the puzzles.
    """

    counts: np.ndarray
    iterations: np.ndarray
    status: np.ndarray


def _judged(
    board: Board, limit: int, within: CountedWithin, chunk: Chunk, found: tuple[np.ndarray, np.ndarray]
) -> Counted:
    """What is written of a chunk, of counts and nodes, within the candidates that it lists."""
    counts = within(chunk, found[0])
    return Counted(counts, found[1], verdicts(board, chunk, counts, limit))


def _outcomes(chunk: Chunk, found: Counted) -> tuple[dict[str, int], np.ndarray]:
    clashes = np.flatnonzero(found.status == INVALID)
    kept = chunk.good.copy()
    kept[clashes] = False
    numbers, times = np.unique(found.counts[kept], return_counts=True)
    by_number = {str(number): int(often) for number, often in zip(numbers.tolist(), times.tolist(), strict=True)}
    return {INVALID: len(clashes), MALFORMED: len(chunk.errors), **by_number}, clashes
