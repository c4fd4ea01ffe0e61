"""``jaxsudoku solve``: solves the puzzles of a file of any size."""

from __future__ import annotations

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
from .fields import add_config
from .history import RECORDED, HistoryWriter
from .inputs import opened
from .invocation import Invocation
from .outputs import Running, check_answers
from .parser import Parser, find_values, flag
from .report import Tally
from .run import Engines, Run, interruptible

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
output: as text one solution per line, `-` if there is none; as CSV or Parquet the columns puzzle, solution, status and
iterations, network_calls for solvers with a network, errors for solvers on full grids, then the further columns of the
input, and a column board for boards that are not classic.

{job.SECTION}
{flags.status_section(resumable=True)}"""

#: Nodes after which the search for a second solution of a puzzle is abandoned.
_SECOND = 1 << 16
#: The outcomes of a line of the input, in the order of the summary.
_OUTCOMES = ("solved", "unsatisfiable", "invalid", "unsolved", "malformed")


_SOLVERS = "; ".join(f"{name}: {known.summary}" for name, known in solvers.SOLVERS.items()).replace("%", "%%")


@dataclasses.dataclass(frozen=True, kw_only=True)
class Request(job.Answering):
    """Request of ``solve``; ``config`` has the settings of the solver."""

    solver: str = flag(
        f"the solver, which has its own flags: {_SOLVERS} (default: exact)",
        default="exact",
        metavar="NAME",
        choices=tuple(solvers.SOLVERS),
    )
    network: str | None = flag(
        f"the network of {solvers.reporting('network_calls')}: the name or file of its weights "
        f"(default: {DEFAULT_NETWORK})",
        metavar="NAME|PATH",
    )
    history: tuple[str, ...] = flag(
        "for solvers on full grids: file for the errors after each step, a .csv or a picture such as errors.png (needs "
        "the extra plot); may be repeated",
        metavar="FILE",
        action="append",
        default=(),
    )
    config: Any

    def __post_init__(self) -> None:
        super().__post_init__()
        stats = solvers.get(self.solver).stats
        for given, what, stat in (
            (self.network, "takes no network", "network_calls"),
            (self.history, "has no history", "errors"),
        ):
            if given and stat not in stats:
                raise ValueError(f"the solver {self.solver} {what}; those that do are {solvers.reporting(stat)}")
        if self.history and self.workers is not None:
            raise UsageError("--history can't be used with --workers")


def add_flags(parser: Parser, argv: Sequence[str]) -> None:
    """Adds the flags of ``solve``, including those of the solver that the arguments name."""
    with parser.errors():
        solver = solvers.get((find_values(argv, "--solver") or ["exact"])[-1] or "exact")
    parser.add_request(Request, run, config=solver.config)
    add_config(parser, solver.config, f"flags of the solver {solver.name}")
    parser.configs = [known.config for known in solvers.SOLVERS.values()]
    parser.explain_unknown = functools.partial(_explain_unknown, solver)


def _explain_unknown(solver: solvers.Solver, flag: str) -> str:
    """An error message about a flag of other solvers; "" if no solver has it."""
    field = flag.removeprefix("--").replace("-", "_")
    having = [
        name
        for name, other in solvers.SOLVERS.items()
        if field in {known.name for known in dataclasses.fields(other.config)}
    ]
    return f"the solver {solver.name} has no {flag}; those that do are {', '.join(having)}" if having else ""


def run(request: Request, invocation: Invocation) -> int:
    """Solves; returns the exit status."""
    if request.workers is not None:
        return job.answer(run, request, invocation)
    solver, config = solvers.get(request.solver), request.config
    if request.history and not config.record:
        config = dataclasses.replace(config, record=RECORDED)
    check_answers(request, request.format)
    with opened(request, constrained=True) as source:
        with as_usage():
            # before the output is created, which would stay empty
            solver.check(source.board, source.puzzles.constrained)
            network = _network(request.network, solver, source.board)
            if request.history and request.resume:
                raise UsageError("--history begins with the first puzzle, so it can't be used with --resume")
            history = HistoryWriter(request.history, request.force, source.path, (request.output,))
            sink = open_output(
                request.output,
                source.board,
                kind=request.format,
                resume=request.resume,
                force=request.force,
                source=source.path,
                stats=solver.stats,
                resumable=invocation.keep_unfinished,
            )
        with invocation.resumable(request.output, sink), history:
            work = Run(request, invocation, source, _OUTCOMES)
            from jaxsudoku.runtime.devices import kind
            from jaxsudoku.solvers import driver

            outside = Outside()
            with as_usage((RuntimeError,)):  # the platform or device does not exist
                kernel = driver.SolveKernel(solver.name, config)
                worker = Engines(kernel, source.board, request, outside, network, solver.within)
            engine = worker.engine
            work.say_replaced(request.format, (*PUZZLE_COLUMNS, *ANSWER_COLUMNS))
            if sink.done:
                work.say(f"{request.output}: {sink.done:,} puzzles are answered already; --force solves them again")
            settings = config.resolve(source.board, kind(engine.devices[0])).summary(source.board)
            work.say(settings and f"{solver.name}: {settings}")
            totals = Totals(sink.done + 1, history)
            uniqueness = None
            if source.declared_unique and solver.name == "exact":
                alike = dataclasses.replace(request, batch_size=engine.batch_size)
                uniqueness = Uniqueness(source.board, alike, work.tally)
            chunks = mark_board(source.puzzles.chunks(engine.batch_size), source.board)
            work.answer(chunks, worker, sink, totals.outcomes, note=totals.progress, check=uniqueness, within=True)
    details: dict[str, Any] = {"already_answered": sink.done}
    if solver.guided:
        details |= {"network": request.network or DEFAULT_NETWORK, "network_calls": totals.sums["network_calls"]}
    if "errors" in solver.stats:
        details["errors"] = totals.sums["errors"]
    several = None if uniqueness is None else uniqueness.several
    told = summary_details(source.board, solver.name, config, several, **details)
    return work.finish(**{**told, "note": told["note"] + outside.note})


def _network(name: str | None, solver: solvers.Solver, board: Board) -> tuple[Any, ...]:
    """The network of a guided solver; None for other solvers, without loading JAX."""
    if not solver.guided:
        return ()
    from jaxsudoku.solvers import driver

    return driver.networks_for(solver.name, name or DEFAULT_NETWORK, board)


def summary_details(board: Board, solver: str, config: Any, several: int | None, **details: Any) -> dict[str, Any]:
    """The end of the summary of commands that search; details that don't apply are None.

    Args:
      board: the board.
      solver: the name of the solver.
      config: its settings.
      several: number of puzzles with several solutions although the file states that each has one; None if it does not
        state this, or this was not checked.
      **details: those of ``already_answered``, ``limit``, ``network``, ``network_calls`` and ``errors`` that apply.
    """
    note = ""
    if several:
        have = "has" if several == 1 else "have"
        note = f"; {several:,} {have} several solutions, although the file states that each puzzle has one"
    settings = {"solver": solver, "config": dataclasses.asdict(config), "board": str(board)}
    absent = dict.fromkeys(("limit", "network", "network_calls", "errors"))
    return {"note": note, "already_answered": 0, **settings, **absent, "several": several, **details}


class Totals:
    """Counts solutions by status, adds up their stats, and writes their history.

    Args:
      first: number of the first puzzle in the input, from 1.
      history: writes histories.

    Attributes:
      sums: sums of the ``STATS`` that the solutions have.
    """

    def __init__(self, first: int, history: HistoryWriter) -> None:
        self.sums: collections.Counter[str] = collections.Counter()
        self._unsolved = 0
        self._next, self._history = first, history

    def outcomes(self, chunk: Chunk, solution: Solution) -> tuple[dict[str, int], np.ndarray]:
        """Adds the solutions of the next puzzles; returns the puzzles by outcome, and the rows whose givens clash."""
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


class Outside:
    """Marks solutions that violate the candidates of their puzzles as unsolved, and counts them.

    Attributes:
      count: their number.
    """

    def __init__(self) -> None:
        self.count = 0

    def __call__(self, chunk: Chunk, solution: Solution[np.ndarray]) -> Solution[np.ndarray]:
        """The solutions of a chunk, restricted to its candidates."""
        if not chunk.listed.any():
            return solution
        from jaxsudoku.solvers.judging import judge_within

        judged = judge_within(chunk.grids, chunk.candidates_of(range(len(chunk))), solution)
        self.count += int((judged.status != solution.status).sum())
        return judged

    @property
    def note(self) -> str:
        """The note about them in the summary."""
        if not self.count:
            return ""
        found = "1 solution is" if self.count == 1 else f"{self.count:,} solutions are"
        return f"; {found} not within the candidates of the input, which --solver exact searches"


class Uniqueness:
    """Counts the solved puzzles that have more than one solution, by a second search of each; loads JAX.

    Args:
      board: the board.
      request: the size of batches.
      tally: the tally whose times exclude these searches.

    Attributes:
      several: number of puzzles with at least two solutions, without those whose second search is abandoned.
    """

    def __init__(self, board: Board, request: Running, tally: Tally) -> None:
        from jaxsudoku.exact.uniqueness import CountKernel

        self.several = 0
        self._tally = tally
        kernel = CountKernel(solvers.ExactConfig(budget=_SECOND), grids=False)
        self._engines = Engines(kernel, board, request, lambda chunk, found: found.counts, within=False)

    def compile(self, chunk: Chunk) -> None:
        """Compiles the search for batches such as this one."""
        self._engines.compile(chunk)

    def add(self, chunk: Chunk, solution: Solution) -> None:
        """Searches the solved puzzles of a chunk again, except those that list candidates."""
        start = time.perf_counter()
        solved = (np.asarray(solution.status) == Status.SOLVED) & ~chunk.listed
        # the whole chunk, so that there is one size to compile for
        counts = interruptible(next, self._engines.stream([dataclasses.replace(chunk, good=solved)]))
        self.several += int((counts[solved] > 1).sum())
        self._tally.excluded_seconds += time.perf_counter() - start
