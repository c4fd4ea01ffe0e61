"""The sub-commands that compute: ``solve`` and ``count``."""

from __future__ import annotations

import argparse
import collections
import dataclasses
import functools
import sys
import time
from typing import Any

import numpy as np

from jaxsudoku.board import Board
from jaxsudoku.io import (
    ANSWER_COLUMNS,
    PUZZLE_COLUMNS,
    Chunk,
    PuzzleFile,
    PuzzleFileError,
    SolutionWriter,
    mark_board,
    open_output,
)
from jaxsudoku.solution import STATS, Solution, Status
from jaxsudoku.terminal.failure import UsageError, as_usage, described
from jaxsudoku.terminal.stop import Signals, resumable

from . import flags
from .clash import clashing
from .counts import CountWriter
from .files import named
from .history import HistoryWriter
from .inputs import opened
from .progress import share_read, started
from .report import BadLines, Summary, device_of, say_replaced
from .uniqueness import Uniqueness

#: What may become of a line of ``solve``'s input, in the order of the summary.
_OUTCOMES = ("solved", "unsatisfiable", "invalid", "unsolved", "malformed")


def solve(args: argparse.Namespace, signals: Signals, began: float) -> int:
    """Solves; the exit status."""
    with opened(args) as puzzles:
        with as_usage():
            shared = _networks(args)  # before the output is made, which an unknown network would leave empty
            if args.history and args.resume:
                raise UsageError("--history begins with the first puzzle: it does not go with --resume")
            history = HistoryWriter(args.history, args.force, args.input, (args.output,))
            sink = open_output(
                args.output,
                args.board,
                kind=args.format,
                resume=args.resume,
                force=args.force,
                source=args.input,
                stats=args.stats,
            )
        with resumable(args.output, args.argv, sink), history:
            return _answer(args, puzzles, sink, signals, began, shared, history)


def count(args: argparse.Namespace, signals: Signals, began: float) -> int:
    """Counts; the exit status."""
    with opened(args) as puzzles:
        with as_usage():
            sink = CountWriter(args.output, args.force, args.input)
        try:
            return _answer(args, puzzles, sink, signals, began)
        finally:
            sink.abandon()


def _networks(args: argparse.Namespace) -> tuple[Any, ...]:
    """The network of a guided solver, nothing for any other, and no JAX loaded for that."""
    if not args.guided:
        return ()
    from jaxsudoku.solvers import driver

    return driver.networks_for(args.solver, args.network, args.board)


def _answer(
    args: argparse.Namespace,
    puzzles: PuzzleFile,
    sink: SolutionWriter | CountWriter,
    signals: Signals,
    began: float,
    shared: tuple[Any, ...] = (),
    history: HistoryWriter | None = None,
) -> int:
    # What needs JAX comes last, so that the errors above are seen at once.
    from jaxsudoku import solvers
    from jaxsudoku.batches import Engine
    from jaxsudoku.solvers import driver

    from .run import Batches, Run

    screen = started(args.quiet)
    counting = args.command == "count"
    solver = "exact" if counting else args.solver
    config = args.config if args.config is not None else flags.with_config(args, solver).config
    if counting:
        kernel = driver.count_kernel(args.limit, **dataclasses.asdict(config))
    else:
        kernel = driver.solve_kernel(solver, config)
    with as_usage((RuntimeError,)):  # no such platform or device
        engine = Engine(kernel, args.board, args.seed, args.batch_size, shared=shared)

    if not counting:
        say_replaced(screen, args, args.format, (*PUZZLE_COLUMNS, *ANSWER_COLUMNS))
    bad = BadLines(screen, named(args.input), args.board)
    uniqueness = None
    if args.claimed and not counting and solver == "exact":
        uniqueness = Uniqueness(args.board, engine.batch_size, engine.devices)
    totals = Totals(sink.done + 1, history)
    run = Run(engine, screen, bad, signals, totals.told, share_read(puzzles.stream), uniqueness)
    batches = Batches(mark_board(puzzles.chunks(engine.batch_size), args.board), engine)
    if sink.done and not args.quiet:
        screen.say(f"{args.output}: {sink.done:,} puzzles are answered already; --force answers them anew")
    summary = config.resolve(args.board, engine.devices[0].platform).summary(args.board)
    if summary and not args.quiet:
        screen.say(f"{solver}: {summary}")
    startup_seconds = time.perf_counter() - began
    failure = None
    try:
        with sink:
            run.answer(batches, sink, _counted if counting else functools.partial(_solved, totals=totals))
    except BrokenPipeError:
        raise
    except (OSError, PuzzleFileError) as error:
        failure = described(error)
    seconds = run.tally.seconds - (uniqueness.seconds if uniqueness is not None else 0)
    bad.finish()
    screen.clear()
    outcomes = ("invalid", "malformed") if counting else _OUTCOMES
    several = None
    if args.claimed and counting and args.limit > 1:
        several = sum(often for outcome, often in run.tally.counts.items() if outcome.isdecimal() and int(outcome) > 1)
    elif uniqueness is not None:
        several = uniqueness.several
    summary = Summary(
        puzzles=run.tally.puzzles,
        already_answered=sink.done,
        counts={**dict.fromkeys(outcomes, 0), **dict(sorted(run.tally.counts.items(), key=_order))},
        startup_seconds=startup_seconds,
        compile_seconds=run.compile_seconds,
        seconds=seconds,
        puzzles_per_second=run.tally.puzzles / seconds,
        error=failure,
        device=device_of(engine.devices),
        solver=solver,
        config=dataclasses.asdict(config),
        board=str(args.board),
        limit=args.limit if counting else None,
        network=(args.network or driver.NETWORK) if shared else None,
        network_calls=totals.sums["network_calls"] if shared else None,
        several=several,
        errors=totals.sums["errors"] if "errors" in solvers.get(solver).stats and not counting else None,
    )
    if args.json:
        print(summary.json(), file=sys.stderr if args.output == "-" else sys.stdout)
    elif not args.quiet:
        screen.say(str(summary))
    if failure is not None:
        screen.say(f"jaxsudoku: error: {failure}")
    return 1 if failure is not None or bad.count else 0


def _order(outcome: tuple[str, int]) -> tuple[int, str]:
    """Sorts outcomes that are numbers as numbers, after the others."""
    return (int(outcome[0]) if outcome[0].isdecimal() else -1, outcome[0])


class Totals:
    """What solutions come to beside their statuses.

    Attributes:
      sums: of the ``STATS`` that the solutions have.
    """

    def __init__(self, first: int, history: HistoryWriter | None) -> None:
        self.sums: collections.Counter[str] = collections.Counter()
        self._unsolved = 0
        self._next, self._history = first, history

    def add(self, solution: Solution) -> None:
        """Adds the solutions of the next puzzles, and writes their history."""
        for name in set(STATS) & set(solution.stats):
            self.sums[name] += int(np.maximum(solution.stats[name], 0).sum(dtype=np.int64))
        if "errors" in solution.stats:
            self._unsolved += int((solution.stats["errors"] > 0).sum())
        if self._history is not None and "history" in solution.stats:
            self._history.write(self._next, solution.stats["history"])
        self._next += len(solution.status)

    def told(self) -> str:
        """The mean error of the best grids of what is not solved, for the line of progress."""
        return f"; error {self.sums['errors'] / self._unsolved:.1f} where unsolved" if self._unsolved else ""


def _solved(chunk: Chunk, solution: Solution, _: Board, totals: Totals) -> tuple[dict[str, int], np.ndarray]:
    totals.add(solution)
    counts = np.bincount(solution.status[chunk.good], minlength=len(Status)).tolist()
    named_counts = {status.name.lower(): counts[status] for status in Status}
    invalid = np.flatnonzero(chunk.good & (solution.status == Status.INVALID))
    return {**named_counts, "malformed": len(chunk.errors)}, invalid


def _counted(chunk: Chunk, counts: np.ndarray, board: Board) -> tuple[dict[str, int], np.ndarray]:
    # clashing givens have no solution, so only such puzzles are looked at
    without = np.flatnonzero(chunk.good & (counts == 0))
    invalid = without[clashing(board, chunk.grids[without])]
    kept = chunk.good.copy()
    kept[invalid] = False
    numbers, times = np.unique(counts[kept], return_counts=True)
    by_number = {str(number): int(often) for number, often in zip(numbers.tolist(), times.tolist(), strict=True)}
    return {"invalid": len(invalid), "malformed": len(chunk.errors), **by_number}, invalid
