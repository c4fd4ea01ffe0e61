"""``jaxsudoku solve``: solves the puzzles of a file of any size."""

from __future__ import annotations

import argparse
import collections
import dataclasses
import functools
import time
from collections.abc import Sequence
from typing import Any

import numpy as np

from jaxsudoku import solvers
from jaxsudoku.core.board import Board
from jaxsudoku.engine.solution import STATS, Solution, Status
from jaxsudoku.io import ANSWER_COLUMNS, PUZZLE_COLUMNS, Chunk, mark_board, open_output
from jaxsudoku.runtime.terminal.failure import UsageError, as_usage
from jaxsudoku.solvers import DEFAULT_NETWORK

from . import flags, job
from .fields import add_config, config_values
from .history import RECORDED, HistoryWriter
from .inputs import opened
from .invocation import Invocation
from .outputs import check_answers
from .parser import Parser, find_values
from .positions import SolvedWithin
from .report import Tally, say_replaced
from .run import Run, interruptible, searchable

SUMMARY = "solve a file of any size"

EPILOG = f"""\
examples:
  jaxsudoku solve puzzles.txt --output solved.txt
  zcat puzzles.csv.gz | jaxsudoku solve - --format csv > solved.csv
  jaxsudoku solve 4.....8.5.3..........7......2.....6.....8.4......1.......6.3.7.5..2.....1.4......
  jaxsudoku solve sudoku.csv.zst --column quiz --output solved.csv
  jaxsudoku solve puzzles.txt --budget 1000 --json > /dev/null
  jaxsudoku solve puzzles.txt --solver iterative --runs 8 --output solved.csv
  jaxsudoku solve 'in/*.parquet' --workers 4 --output solved

{flags.INPUT_SECTION}
output: as text a solution a line, `-` where there is none; as CSV or Parquet the columns puzzle, solution, status and
iterations, with a network network_calls, of solvers that work on full grids errors, then the further columns of the
input, and a column board for boards that are not classic.

{job.SECTION}
{flags.status_section(resumable=True)}"""

#: The outcomes of a line of the input, in the order of the summary.
_OUTCOMES = ("solved", "unsatisfiable", "invalid", "unsolved", "malformed")


def add_flags(parser: Parser, argv: Sequence[str]) -> None:
    """The flags of ``solve``, with those of the solver that the arguments name."""
    with parser.errors():
        solver = solvers.get((find_values(argv, "--solver") or ["exact"])[-1] or "exact")
    flags.add_input(parser)
    listed = "; ".join(f"{name}: {known.summary}" for name, known in solvers.SOLVERS.items()).replace("%", "%%")
    parser.add_argument(
        "--solver",
        default="exact",
        metavar="NAME",
        choices=tuple(solvers.SOLVERS),
        help=f"the solver, which has flags of its own: {listed} (default: exact)",
    )
    parser.add_argument(
        "--network",
        metavar="NAME|PATH",
        help=f"the network of {solvers.reporting('network_calls')}, by the name or the file of its weights "
        f"(default: {DEFAULT_NETWORK})",
    )
    flags.add_output(parser)
    flags.add_running(parser)
    flags.add_format(parser, "by the output's suffix")
    parser.add_argument(
        "--history",
        metavar="FILE",
        action="append",
        default=[],
        help="the errors after each step, of solvers that work on full grids: a .csv, or a picture such as errors.png "
        "(needs the extra plot); may be repeated",
    )
    flags.add_existing(parser)
    job.add_flags(parser)
    add_config(parser, solver.config, f"flags of the solver {solver.name}")
    parser.configs = [known.config for known in solvers.SOLVERS.values()]
    parser.explain_unknown = functools.partial(_explain_unknown, solver)
    parser.set_defaults(run=run)


def _explain_unknown(solver: solvers.Solver, flag: str) -> str:
    """An error about a flag that only other solvers have; "" if none has it."""
    field = flag.removeprefix("--").replace("-", "_")
    having = [
        name
        for name, other in solvers.SOLVERS.items()
        if field in {known.name for known in dataclasses.fields(other.config)}
    ]
    return f"the solver {solver.name} has no {flag}; those that do are {', '.join(having)}" if having else ""


def _config(args: argparse.Namespace, solver: solvers.Solver) -> Any:
    """The settings of the solver; ends the program where flags don't fit it, or have values out of range."""
    if args.network is not None and not solver.guided:
        args.parser.error(
            f"the solver {solver.name} takes no network; those that do are {solvers.reporting('network_calls')}"
        )
    if args.history and "errors" not in solver.stats:
        args.parser.error(f"the solver {solver.name} has no history; those that do are {solvers.reporting('errors')}")
    with args.parser.errors():
        config = solvers.make_config(solver, **config_values(args, solver.config))
    return dataclasses.replace(config, record=RECORDED) if args.history and not config.record else config


def run(args: argparse.Namespace, invocation: Invocation) -> int:
    """Solves; the exit status."""
    solver = solvers.get(args.solver)
    config = _config(args, solver)
    if args.workers is not None:
        return job.answer(args, invocation)
    check_answers(args, args.format)
    with opened(args) as puzzles:
        with as_usage():
            # before the output is made, which an unknown network would leave empty
            network = _network(args, solver)
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
                stats=solver.stats,
                resumable=invocation.keep_unfinished,
            )
        with invocation.resumable(args.output, sink), history:
            work = Run(args, invocation, puzzles, _OUTCOMES)
            from jaxsudoku.engine.batches import Engine
            from jaxsudoku.solvers import driver

            with as_usage((RuntimeError,)):  # no such platform or device
                kernel = driver.solve_kernel(solver.name, config)
                engine = Engine(kernel, args.board, args.seed, args.batch_size, shared=network)
            say_replaced(work.screen, args, args.format, (*PUZZLE_COLUMNS, *ANSWER_COLUMNS))
            if sink.done and not args.quiet:
                work.screen.say(f"{args.output}: {sink.done:,} puzzles are answered already; --force answers them anew")
            settings = config.resolve(args.board, engine.devices[0].platform).summary(args.board)
            if settings and not args.quiet:
                work.screen.say(f"{solver.name}: {settings}")
            totals = Totals(sink.done + 1, history)
            uniqueness = None
            if args.declared_unique and solver.name == "exact":
                uniqueness = Uniqueness(args.board, engine.batch_size, engine.devices, work.tally)
            chunks = mark_board(puzzles.chunks(engine.batch_size), args.board)
            within = SolvedWithin(args.board, solver.name)
            work.answer(chunks, engine, sink, totals.outcomes, note=totals.progress, check=uniqueness, within=within)
    details: dict[str, Any] = {"already_answered": sink.done}
    if solver.guided:
        details |= {"network": args.network or DEFAULT_NETWORK, "network_calls": totals.sums["network_calls"]}
    if "errors" in solver.stats:
        details["errors"] = totals.sums["errors"]
    several = None if uniqueness is None else uniqueness.several
    told = summary_details(args, solver.name, config, several, **details)
    return work.finish(**{**told, "note": told["note"] + within.note})


def _network(args: argparse.Namespace, solver: solvers.Solver) -> tuple[Any, ...]:
    """The network of a guided solver; nothing for any other, without loading JAX."""
    if not solver.guided:
        return ()
    from jaxsudoku.solvers import driver

    return driver.networks_for(solver.name, args.network or DEFAULT_NETWORK, args.board)


def summary_details(
    args: argparse.Namespace, solver: str, config: Any, several: int | None, **details: Any
) -> dict[str, Any]:
    """The end of the summary of commands that search, with None for the details that don't apply.

    Args:
      args: the arguments.
      solver: the name of the solver.
      config: its settings.
      several: puzzles that have several solutions, though their file says that each has one; None where it doesn't say
        so, or where that was not found out.
      **details: of ``already_answered``, ``limit``, ``network``, ``network_calls`` and ``errors`` those that apply.
    """
    note = ""
    if several:
        have = "has" if several == 1 else "have"
        note = f"; {several:,} {have} several solutions, though the file says that each puzzle has one"
    settings = {"solver": solver, "config": dataclasses.asdict(config), "board": str(args.board)}
    absent = dict.fromkeys(("limit", "network", "network_calls", "errors"))
    return {"note": note, "already_answered": 0, **settings, **absent, "several": several, **details}


class Totals:
    """Counts solutions by status, adds up their stats, and writes their history.

    Args:
      first: number of the first puzzle in the input, from 1.
      history: where histories are written.

    Attributes:
      sums: of the ``STATS`` that the solutions have.
    """

    def __init__(self, first: int, history: HistoryWriter) -> None:
        self.sums: collections.Counter[str] = collections.Counter()
        self._unsolved = 0
        self._next, self._history = first, history

    def outcomes(self, chunk: Chunk, solution: Solution) -> tuple[dict[str, int], np.ndarray]:
        """Adds the solutions of the next puzzles; the puzzles by outcome, and the rows whose givens clash."""
        for name in set(STATS) & set(solution.stats):
            self.sums[name] += int(np.maximum(solution.stats[name], 0).sum(dtype=np.int64))
        if "errors" in solution.stats:
            self._unsolved += int((solution.stats["errors"] > 0).sum())
        if "history" in solution.stats:
            self._history.write(self._next, solution.stats["history"])
        self._next += len(solution.status)
        counts = np.bincount(solution.status[chunk.good], minlength=len(Status)).tolist()
        by_name = {status.name.lower(): counts[status] for status in Status}
        invalid = np.flatnonzero(chunk.good & (solution.status == Status.INVALID))
        return {**by_name, "malformed": len(chunk.errors)}, invalid

    def progress(self) -> str:
        """The mean error of the best grids of unsolved puzzles, for the line of progress."""
        return f"; error {self.sums['errors'] / self._unsolved:.1f} where unsolved" if self._unsolved else ""


class Uniqueness:
    """Counts the solved puzzles that have more than one solution, by a second search of each; loads JAX.

    Args:
      board: the board.
      batch_size: puzzles searched at a time.
      devices: the devices.
      tally: from whose time that of the searches is excluded.

    Attributes:
      several: puzzles that have at least two solutions. One whose second search is given up is not among them.
    """

    def __init__(self, board: Board, batch_size: int, devices: Any, tally: Tally) -> None:
        from jaxsudoku.engine.batches import Engine
        from jaxsudoku.solvers import driver

        self.several = 0
        self._tally = tally
        self._engine = Engine(driver.second_solution_kernel(), board, 0, batch_size, devices)

    def compile(self, size: int) -> None:
        """Compiles the search for batches of ``size`` puzzles."""
        self._engine.compile(size)

    def add(self, chunk: Chunk, solution: Solution) -> None:
        """Searches the solved puzzles of a chunk once more, but those that list candidates."""
        start = time.perf_counter()
        solved = (np.asarray(solution.status) == Status.SOLVED) & ~chunk.listed
        # the whole chunk, so that there is one size to compile for
        counts = interruptible(next, self._engine.stream([searchable(chunk.grids, solved)]))
        self.several += int((counts[solved] > 1).sum())
        self._tally.excluded_seconds += time.perf_counter() - start
