"""``jaxsudoku count``: counts the solutions of puzzles up to a limit."""

from __future__ import annotations

import dataclasses
import functools
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from jaxsudoku import solvers
from jaxsudoku.core.board import Board
from jaxsudoku.io import ANSWER_COLUMNS, COUNT_COLUMNS, PUZZLE_COLUMNS, Chunk, CountWriter, mark_board
from jaxsudoku.runtime.terminal.failure import UsageError, as_usage

from . import flags, job
from .fields import add_config
from .inputs import opened
from .invocation import Invocation
from .outputs import check_answers
from .parser import Parser, flag
from .run import Engines, Run
from .solve import summary_details
from .verdicts import INVALID, MALFORMED, verdicts

EPILOG = f"""\
examples:
  jaxsudoku count puzzles.txt
  jaxsudoku count puzzles.txt --limit 100 --board diagonal

output: as text one number per line, 0 for no solution (or givens that clash), `-` for a malformed line; as CSV or
Parquet the columns puzzle, count, status and iterations, then the further columns of the input, and a column board for
boards that are not classic. status: unique, several, unsatisfiable, invalid (the givens clash) or malformed; with
--limit 1 satisfiable instead of unique and several.

{flags.INPUT_SECTION}
{job.SECTION}
{flags.status_section(resumable=False)}"""


@dataclasses.dataclass(frozen=True, kw_only=True)
class Request(job.Answering):
    """Request of ``count``; ``config`` has the settings of the search."""

    limit: int = flags.number_flag("number of solutions at which counting stops; 2 tests uniqueness", default=2)
    resume: bool = flag("with --workers: continue the job of the folder", default=False, exclusive="existing")
    config: solvers.ExactConfig


def add_flags(parser: Parser, argv: Sequence[str]) -> None:
    """Adds the flags of ``count``, including those of the exact search."""
    del argv
    parser.add_request(Request, run, config=solvers.ExactConfig)
    # a budget would cut off the count
    add_config(parser, solvers.ExactConfig, "flags of the search", without=("budget", "levels"))


def run(request: Request, invocation: Invocation) -> int:
    """Counts; returns the exit status."""
    if request.workers is not None:
        request = dataclasses.replace(request, format=request.format or "text")
        return job.answer(run, request, invocation, request.limit)
    if request.resume:
        raise UsageError("--resume needs --workers: a count of one process can't be resumed")
    check_answers(request, request.format)
    with opened(request, constrained=True) as source:
        board = source.board
        with as_usage():
            sink = CountWriter(request.output, board, kind=request.format, force=request.force, source=source.path)
        with invocation.resumable("-", sink):  # which closes it
            work = Run(request, invocation, source, (INVALID, MALFORMED), request.limit)
            from jaxsudoku.solvers import driver

            with as_usage((RuntimeError,)):  # the platform or device does not exist
                kernel = driver.count_kernel(request.limit, **dataclasses.asdict(request.config))
                worker = Engines(kernel, board, request, functools.partial(_judged, board, request.limit))
            work.say_replaced(request.format, (*PUZZLE_COLUMNS, *ANSWER_COLUMNS, *COUNT_COLUMNS))
            chunks = mark_board(source.puzzles.chunks(worker.engine.batch_size), board)
            work.answer(chunks, worker, sink, _outcomes, within=True)
    several = None
    if source.declared_unique and request.limit > 1:
        counts = work.tally.counts.items()
        several = sum(often for number, often in counts if number.isdecimal() and int(number) > 1)
    return work.finish(**summary_details(board, "exact", request.config, several, limit=request.limit))


class Counted(NamedTuple):
    """The counts of n puzzles.

    Attributes:
      counts: int32[n], number of solutions found.
      iterations: int32[n], nodes visited.
      status: object[n], the verdicts.
    """

    counts: np.ndarray
    iterations: np.ndarray
    status: np.ndarray


def _judged(board: Board, limit: int, chunk: Chunk, found: Any) -> Counted:
    """The counts of a chunk to write, from the ``SearchResult`` of its puzzles."""
    return Counted(found.counts, found.iterations, verdicts(board, chunk, found.counts, limit))


def _outcomes(chunk: Chunk, found: Counted) -> tuple[dict[str, int], np.ndarray]:
    clashes = np.flatnonzero(found.status == INVALID)
    kept = chunk.good.copy()
    kept[clashes] = False
    numbers, times = np.unique(found.counts[kept], return_counts=True)
    by_number = {str(number): int(often) for number, often in zip(numbers.tolist(), times.tolist(), strict=True)}
    return {INVALID: len(clashes), MALFORMED: len(chunk.errors), **by_number}, clashes
