"""``jaxsudoku evaluate``: measures the accuracy of a network on the puzzles of a file."""

from __future__ import annotations

import argparse
import collections
import dataclasses
import sys
import time
from collections.abc import Iterable, Iterator, Sequence
from typing import TYPE_CHECKING, Any, Literal, NamedTuple

import numpy as np

from jaxsudoku import pictures
from jaxsudoku.core.host_rules import clashing
from jaxsudoku.core.tuning import RULES
from jaxsudoku.io import KNOWN_SOLUTION_COLUMNS, Chunk, PuzzleFile, PuzzleFileError
from jaxsudoku.runtime.terminal.failure import UsageError, as_usage, described
from jaxsudoku.solvers import DEFAULT_NETWORK

from . import flags
from .bad_lines import BadLines, describe_unsolved, unsolved
from .inputs import Inputs, known_solutions, opened
from .invocation import Invocation
from .outputs import check_outputs, check_printed, put
from .parser import Parser, flag
from .report import counted, record

if TYPE_CHECKING:
    from jaxsudoku.evaluation import BareConfig, BareReport, EvaluateConfig, Report

EPILOG = f"""\
examples:
  jaxsudoku evaluate --network cube --puzzles rated.csv
  jaxsudoku evaluate puzzles.txt --network weights/mine --rules none --limit 1000 --iterations 64
  jaxsudoku evaluate rated.csv --json report.json --plot report.png
  jaxsudoku evaluate puzzles.txt --protocol bare --iterations 16,64,256 --runs 1,8

{flags.INPUT_SECTION}
A column named solution is checked, and lines where it is wrong are reported like malformed ones. A column named rating,
as `jaxsudoku rate` writes it, groups the puzzles by its grades, and one named difficulty by its quantiles; without
either they are rated. Puzzles that do not have exactly one solution are left out, and counted.

output: tables of the shares of correct open cells and boards, with cells filled all at once or one by one, by rules,
number of clues, and rating; and the accuracy of the value's predictions whether a position has a solution. With the
bare protocol, a table of the shares of correct boards by numbers of iterations and of runs. Grids are checked by the
rules of the board, so solutions need not be known, and of a puzzle with several solutions each is right.

{flags.status_section(resumable=False)}"""

#: Columns of difficulty: our rating, and any other measure.
_HARDNESS = ("rating", "difficulty")


@dataclasses.dataclass(frozen=True, kw_only=True)
class Request(Inputs):
    """Request of ``evaluate``."""

    input: str
    network: str = flag(
        f"name of shipped weights, or path of a file of weights (default: {DEFAULT_NETWORK})",
        default=DEFAULT_NETWORK,
        metavar="NAME|PATH",
    )
    rules: tuple[str, ...] = flag(
        "rules applied before the network evaluates a position; several, separated by commas, are evaluated one by "
        "one (default: none,locked)",
        type=lambda text: text.split(","),
        action="extend",
        metavar=f"{{{','.join(RULES)}}}",
        words=RULES,
        default=(),
    )
    iterative: bool = flag(
        "also solve by repeatedly filling the most confident cell and applying the rules, which takes most of the "
        "time (default: yes)",
        action=argparse.BooleanOptionalAction,
        default=True,
    )
    positions: int | None = flags.number_flag(
        "positions for measuring the value: puzzles filled in part, correctly or not (default: ten per puzzle, at most "
        "10000)",
        least=0,
    )
    protocol: Literal["accuracy", "bare"] = flag(
        "accuracy: all cells at once, cell by cell, and the value; bare: the network alone, without rules and search, "
        "by numbers of iterations and of runs (default: accuracy)",
        choices=("accuracy", "bare"),
        default="accuracy",
    )
    iterations: tuple[int, ...] = flag(
        "iterations of an iterative network; several, separated by commas, with the bare protocol (default: as in "
        "training)",
        type=flags.numbers,
        default=(),
        metavar="N",
    )
    runs: tuple[int, ...] = flag(
        "numbers of runs of the bare protocol, separated by commas; a board counts if one is right (default: 1)",
        type=flags.numbers,
        default=(),
        metavar="N",
    )
    noise: float | None = flag(
        "noise in later runs of the bare protocol, relative to the size of the features (default: 0.1)",
        type=float,
        metavar="X",
    )
    dtype: str | None = flag(
        "dtype of the network's computation, such as bfloat16 (default: as in training)", metavar="NAME"
    )
    sample: int | None = flags.number_flag("puzzles to evaluate, drawn at random by the seed (default: 200)")
    all: bool = flag("evaluate all puzzles", default=False)
    limit: int | None = flags.number_flag("number of puzzles from the beginning (default: all)")
    json: str | None = flag("file for the results, as a JSON object", metavar="FILE")
    plot: str | None = flag("file for a picture, such as report.png (needs the extra plot)", metavar="FILE")
    force: bool = flag("replace existing outputs", default=False)
    batch_size: int | None = flags.number_flag("positions in a forward pass (default: by the machine)")
    seed: int = flags.seed_flag()
    quiet: bool = flag("no progress; errors are still reported", default=False)


def add_flags(parser: Parser, argv: Sequence[str]) -> None:
    """Adds the flags of ``evaluate``."""
    del argv
    source = parser.add_mutually_exclusive_group(required=True)
    # only one input, as argparse does not allow more in a group
    source.add_argument("input", metavar="INPUT", nargs="?", default=argparse.SUPPRESS, help=flags.INPUT_HELP)
    source.add_argument("--puzzles", dest="input", metavar="INPUT", help="the same, as a flag")
    parser.add_request(Request, run)


def run(request: Request, invocation: Invocation) -> int:
    """Evaluates; returns the exit status."""
    with opened(request, keep=KNOWN_SOLUTION_COLUMNS) as source:
        board, name = source.board, source.puzzles.name
        check_printed(source.path)
        outputs = [path for path in (request.json, request.plot) if path]
        check_outputs(outputs, reads=[source.path], force=request.force, json=request.json)
        screen = invocation.start_screen(request.quiet)
        from jaxsudoku import evaluation, networks

        if request.all and request.sample is not None:
            raise UsageError("--sample and --all exclude each other")
        bare = request.protocol == "bare"
        _check_protocol(request, bare)
        sample = None if request.all else request.sample or evaluation.EvaluateConfig.sample
        with as_usage():
            config: EvaluateConfig | BareConfig
            if bare:
                noise = evaluation.BareConfig.noise if request.noise is None else request.noise
                config = evaluation.BareConfig(
                    request.iterations, request.runs or (1,), noise, sample=sample, batch_size=request.batch_size
                )
            else:
                config = evaluation.EvaluateConfig(
                    rules=request.rules or evaluation.EvaluateConfig.rules,
                    iterative=request.iterative,
                    positions=request.positions,
                    sample=sample,
                    batch_size=request.batch_size,
                )
            if request.plot:
                pictures.check_suffix(request.plot)
            overrides: dict[str, Any] = {} if request.dtype is None else {"dtype": request.dtype}
            if request.iterations and not bare:
                overrides["iterations"] = request.iterations[0]
            network = networks.load_network(request.network, board, **overrides)
        bad = BadLines(screen, name, board)
        table = _read(source.puzzles, request.limit, bad)
        bad.finish()
    if not request.quiet and len(table.puzzles):
        count = len(table.puzzles) if config.sample is None else min(config.sample, len(table.puzzles))
        plan = _plan(count, config) if isinstance(config, evaluation.EvaluateConfig) else _bare_plan(count, config)
        sampled = f"a sample of {count:,} of {counted(len(table.puzzles))} (--sample, --all): "
        screen.say((sampled if count < len(table.puzzles) else "") + plan)
        if bare and (unknown := int((~table.solutions.any(axis=1)).sum())):
            screen.say(f"{counted(unknown)} without a known solution: grids are checked by the rules of the board")
    clock = time.perf_counter()
    shared: dict[str, Any] = {"key": request.seed, "progress": evaluation.run.shown_on(screen)}
    report: Report | BareReport
    try:
        if isinstance(config, evaluation.BareConfig):
            report = evaluation.evaluate_bare(network, table.puzzles, board, config, **shared)
        else:
            labels = {"solutions": table.solutions, **table.hardness}
            report = evaluation.evaluate(network, table.puzzles, board, config, **labels, **shared)
    except ValueError as error:
        screen.say(f"jaxsudoku: error: {table.failure or f'{name}: {error}'}")
        return 1
    seconds = time.perf_counter() - clock
    screen.clear()
    about = record(
        network=request.network,
        puzzles=name,
        limit=request.limit,
        seed=request.seed,
        error=table.failure,
        startup_seconds=clock - invocation.began,
        seconds=seconds,
    )
    report = dataclasses.replace(report, about=about, left_out={**table.left_out, **report.left_out})
    with invocation.signals.held():
        _put(report, request.json, request.plot)
    if not request.quiet:
        screen.say(f"{counted(report.puzzles)} in {seconds:.2f} s, compilation included{_rest(report, seconds)}")
    if table.failure is not None:
        screen.say(f"jaxsudoku: error: {table.failure}")
    return 1 if table.failure is not None or bad.count else 0


def _put(report: Report | BareReport, json: str | None, plot: str | None) -> None:
    """Prints the report, and writes it to the requested files."""
    put(sys.stdout.buffer, f"{report}\n", "<stdout>")
    if json:
        with open(json, "wb") as file:
            put(file, f"{report.to_json()}\n", json)
    if plot:
        from jaxsudoku import evaluation

        evaluation.plot(report, plot)


def _check_protocol(request: Request, bare: bool) -> None:
    """Raises UsageError for flags of the other protocol."""
    others: dict[str, Any]
    if bare:
        others = {"--rules": request.rules, "--positions": request.positions is not None}
        others["--no-iterative"] = not request.iterative
        reason = "without rules, and measures no value"
    else:
        others = {"--runs": request.runs, "--noise": request.noise is not None}
        others["--iterations N,N"] = len(request.iterations) > 1
        reason = "in one run"
    if wrong := [name for name, given in others.items() if given]:
        raise UsageError(f"{' and '.join(wrong)} with --protocol {request.protocol}, which evaluates {reason}")


def _rest(report: Report | BareReport, seconds: float) -> str:
    """What all puzzles would take, if these are a sample."""
    if report.drawn_from is None or report.drawn_from <= report.puzzles:
        return ""
    whole = seconds * report.drawn_from / report.puzzles
    return f"; all {report.drawn_from:,} would take up to {whole:,.0f} s (--all)"


def _plan(puzzles: int, config: EvaluateConfig) -> str:
    """A line about the planned work, and its longest part."""
    plan = (
        f"forward passes for {counted(puzzles)} and {config.positions_for(puzzles):,} positions (--positions) under "
        f"{len(config.rules)} sets of rules"
    )
    if config.iterative:
        plan += "; the puzzles are also filled cell by cell, which takes longest (--no-iterative leaves it out)"
    return plan


def _bare_plan(puzzles: int, config: BareConfig) -> str:
    """A line about the planned work of the bare protocol."""
    most = f"up to {config.iterations[-1]:,} iterations" if config.iterations else "the iterations of training"
    return f"{counted(puzzles)} in at most {config.runs[-1]:,} runs of {most}"


# ---------------------------------------------------------------------- the input


class _Table(NamedTuple):
    """The puzzles of the input with their labels.

    Attributes:
      puzzles: uint8[N, cells].
      solutions: uint8[N, cells], zeros if the file has none.
      hardness: float64[N] by the name of the column, for existing columns.
      left_out: the number of lines left out, by cause.
      failure: the error at which reading ended early; None if it did not.
    """

    puzzles: np.ndarray
    solutions: np.ndarray
    hardness: dict[str, Any]
    left_out: dict[str, int]
    failure: str | None


def _read(source: PuzzleFile, limit: int | None, bad: BadLines) -> _Table:
    """Reads the puzzles and their labels up to the limit; reports malformed puzzles and wrong labels."""
    board = source.board
    columns: dict[str, list[np.ndarray]] = collections.defaultdict(list)
    columns["puzzle"].append(np.zeros((0, board.cells), np.uint8))
    columns["solution"].append(np.zeros((0, board.cells), np.uint8))
    malformed = wrong = 0
    failure = None
    try:
        for chunk in _first(source.chunks(keep=KNOWN_SOLUTION_COLUMNS), limit):
            clashes = chunk.good & clashing(chunk.grids, board)
            labels, causes = _labels(chunk)
            solutions = labels["solution"]
            faulty = chunk.good & ~clashes & solutions.any(axis=1) & unsolved(board, chunk.grids, solutions)
            faulty[list(causes)] = False
            wrongs = {
                row: describe_unsolved(board, chunk.grids[row], solutions[row])
                for row in np.flatnonzero(faulty).tolist()
            }
            malformed, wrong = malformed + len(chunk.errors) + len(causes), wrong + len(wrongs)
            chunk = chunk.with_errors(source.name, causes | wrongs)
            bad.add(chunk, np.flatnonzero(clashes & chunk.good))
            for name, values in {"puzzle": chunk.grids, **labels}.items():
                columns[name].append(values[chunk.good])
    except (OSError, PuzzleFileError) as error:
        failure = described(error)
    arrays = {name: np.concatenate(parts) for name, parts in columns.items()}
    hardness = {name: arrays[name] for name in _HARDNESS if name in arrays}
    left_out = {"malformed": malformed, "with a wrong solution": wrong}
    return _Table(arrays["puzzle"], arrays["solution"], hardness, left_out, failure)


def _first(chunks: Iterable[Chunk], limit: int | None) -> Iterator[Chunk]:
    """The first ``limit`` puzzles; all without a limit."""
    for chunk in chunks:
        if limit is None:
            yield chunk
        else:
            yield chunk[: limit - chunk.start]
            if chunk.start + len(chunk) >= limit:
                return


def _labels(chunk: Chunk) -> tuple[dict[str, np.ndarray], dict[int, str]]:
    """The labels of a chunk by column, and the causes of wrong ones, by row.

    Missing solutions uint8[n, cells] are zeros, missing difficulties float64[n] NaN.
    """
    solutions, causes = known_solutions(chunk)
    labels: dict[str, np.ndarray] = {"solution": solutions}
    for name in _HARDNESS:
        if name in chunk.extras:
            labels[name] = np.full(len(chunk), np.nan)
            for row, value in enumerate(chunk.extras[name]):
                try:
                    labels[name][row] = float("nan" if value in (None, "") else value)
                except ValueError:
                    causes.setdefault(row, f"the {name} {value!r} is not a number")
    return labels, {row: cause for row, cause in causes.items() if chunk.good[row]}
