"""``jaxsudoku count``: counts the solutions of puzzles up to a limit."""

from __future__ import annotations

import argparse
import dataclasses
import functools
from collections.abc import Iterable, Iterator, Sequence

import numpy as np

from jaxsudoku import solvers
from jaxsudoku.board import Board
from jaxsudoku.io import Chunk, check_suffix, mark_board, open_lines
from jaxsudoku.terminal.failure import UsageError, as_usage

from . import flags, job
from .bad_lines import clashes_among
from .fields import add_config, config_values
from .inputs import opened
from .invocation import Invocation
from .outputs import named_errors
from .parser import Parser
from .positions import CountedWithin
from .run import Run
from .solve import summary_details

SUMMARY = "count solutions up to a limit"

EPILOG = f"""\
examples:
  jaxsudoku count puzzles.txt
  jaxsudoku count puzzles.txt --limit 100 --board diagonal

output: a number a line, 0 for no solution (or givens that clash), `-` for a malformed line.

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
    existing = parser.add_mutually_exclusive_group()
    existing.add_argument("--force", action="store_true", help="replace an existing output")
    existing.add_argument("--resume", action="store_true", help="with --workers: go on with the job of the folder")
    job.add_flags(parser)
    parser.set_defaults(format="text")
    # a count under a budget would be no count
    add_config(parser, solvers.ExactConfig, "flags of the search", without=("budget",))
    parser.set_defaults(run=run)


def run(args: argparse.Namespace, invocation: Invocation) -> int:
    """Counts; the exit status."""
    with args.parser.errors():
        config = solvers.ExactConfig(**config_values(args, solvers.ExactConfig))
    if args.workers is not None:
        return job.answer(args, invocation)
    if args.resume:
        raise UsageError("--resume goes with --workers: a count of one process starts anew")
    with opened(args) as puzzles:
        with as_usage():
            sink = CountWriter(args.output, args.force, args.input)
        with sink:
            work = Run(args, invocation, puzzles, ("invalid", "malformed"))
            from jaxsudoku.batches import Engine
            from jaxsudoku.solvers import driver

            with as_usage((RuntimeError,)):  # no such platform or device
                kernel = driver.count_kernel(args.limit, **dataclasses.asdict(config))
                engine = Engine(kernel, args.board, args.seed, args.batch_size)
            chunks = mark_board(puzzles.chunks(engine.batch_size), args.board)
            within = CountedWithin(args.board, args.limit)
            work.answer(chunks, engine, sink, functools.partial(_outcomes, args.board), within=within)
    several = None
    if args.claimed and args.limit > 1:
        counts = work.tally.counts.items()
        several = sum(often for number, often in counts if number.isdecimal() and int(number) > 1)
    return work.finish(**summary_details(args, "exact", config, several, limit=args.limit))


def _outcomes(board: Board, chunk: Chunk, counts: np.ndarray) -> tuple[dict[str, int], np.ndarray]:
    clashes = clashes_among(board, chunk, counts == 0)  # clashing givens have no solution
    kept = chunk.good.copy()
    kept[clashes] = False
    numbers, times = np.unique(counts[kept], return_counts=True)
    by_number = {str(number): int(often) for number, often in zip(numbers.tolist(), times.tolist(), strict=True)}
    return {"invalid": len(clashes), "malformed": len(chunk.errors), **by_number}, clashes


class CountWriter:
    """Writes counts, a line each; a context manager.

    Args:
      target: a path, or ``-`` for the standard output.
      force: whether an existing file may be replaced.
      source: the input, which is never written over.

    Attributes:
      done: 0, as counting always starts anew.

    Raises:
      ValueError: the output is the input, or has the suffix of compressed files.
      OSError: it exists, or can't be written.
    """

    def __init__(self, target: str, force: bool, source: str) -> None:
        self.done = 0
        check_suffix(target)
        self._name = "<stdout>" if target == "-" else target
        self._lines = open_lines(target, "text", False, (), reads=(source,), force=force, resumable=False)

    def remaining(self, chunks: Iterable[Chunk]) -> Iterator[Chunk]:
        """All of them."""
        yield from chunks

    def write(self, chunk: Chunk, counts: np.ndarray) -> None:
        """Appends int32[n] counts, ``-`` for malformed puzzles."""
        lines = list(map(str, counts.tolist()))
        for row in np.flatnonzero(~chunk.good).tolist():
            lines[row] = "-"
        with named_errors(self._name):
            self._lines.put("".join(f"{line}\n" for line in lines).encode())

    def __enter__(self) -> CountWriter:
        return self

    def __exit__(self, *_: object) -> None:
        self._lines.close()
