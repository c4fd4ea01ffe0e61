"""The sub-command ``evaluate``: how good a network is on the puzzles of a file."""

from __future__ import annotations

import argparse
import collections
import dataclasses
import functools
import sys
import time
from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from jaxsudoku import pictures
from jaxsudoku.board import Board
from jaxsudoku.io import Chunk, PuzzleFile, PuzzleFileError, read_grid_column
from jaxsudoku.terminal.failure import as_usage, described
from jaxsudoku.terminal.stop import Signals

if TYPE_CHECKING:
    from jaxsudoku.evaluation import EvaluateConfig

from .clash import clashing, describe_unsolved, unsolved
from .files import check_output, check_printed, named, put
from .inputs import opened
from .progress import started
from .report import BadLines, counted, device_of, versions

#: Flags that change how a network is used, where its architecture allows it.
_OVERRIDES = ("iterations", "dtype")
#: Columns that tell how hard puzzles are: by our own rating, and by anyone else's measure.
_HARDNESS = ("rating", "difficulty")
#: Names of the column of solutions; the second one is that of well-known sets.
_SOLUTIONS = ("solution", "solutions")


def evaluate(args: argparse.Namespace, signals: Signals, began: float) -> int:
    """Evaluates; the exit status."""
    with opened(args) as puzzles:
        check_printed(args.input)
        outputs = ["-"]
        for path in filter(None, (args.json, args.plot)):
            check_output("output", path, [args.input], outputs, args.force)
            outputs.append(path)
        screen = started(args.quiet)
        import jax

        from jaxsudoku import evaluation, networks

        with as_usage():
            config = evaluation.EvaluateConfig(
                rules=args.rules or evaluation.EvaluateConfig.rules,
                iterative=args.iterative,
                positions=args.positions,
                batch_size=args.batch_size,
            )
            if args.plot:
                pictures.check_suffix(args.plot)
            overrides = {name: getattr(args, name) for name in _OVERRIDES if getattr(args, name) is not None}
            network = networks.load_network(args.network, args.board, **overrides)
        bad = BadLines(screen, named(args.input), args.board)
        table = _read(args, puzzles, bad)
        bad.finish()
    if not args.quiet and len(table.puzzles):
        screen.say(_ahead(len(table.puzzles), config))
    clock = time.perf_counter()
    try:
        report = evaluation.evaluate(
            network,
            table.puzzles,
            args.board,
            config,
            solutions=table.solutions,
            **table.hardness,
            key=args.seed,
            progress=functools.partial(evaluation.run.show, screen),
        )
    except ValueError as error:
        screen.say(f"jaxsudoku: error: {table.failure or f'{named(args.input)}: {error}'}")
        return 1
    seconds = time.perf_counter() - clock
    screen.clear()
    about = {
        "network": args.network,
        "puzzles": named(args.input),
        "limit": args.limit,
        "seed": args.seed,
        "error": table.failure,
        "startup_seconds": round(clock - began, 6),
        "seconds": round(seconds, 6),
        "device": device_of(jax.local_devices()),
        "versions": versions(),
    }
    report = dataclasses.replace(report, about=about, left_out={**table.left_out, **report.left_out})
    with signals.held():
        put(sys.stdout.buffer, f"{report}\n", "<stdout>")
        if args.json:
            with open(args.json, "wb") as file:
                put(file, f"{report.to_json()}\n", args.json)
        if args.plot:
            evaluation.plot(report, args.plot)
    if not args.quiet:
        screen.say(f"{counted(report.puzzles)} in {seconds:.2f} s, compilation included")
    if table.failure is not None:
        screen.say(f"jaxsudoku: error: {table.failure}")
    return 1 if table.failure is not None or bad.count else 0


def _ahead(puzzles: int, config: EvaluateConfig) -> str:
    """What there is to do, and what of it takes long, in a line."""
    line = (
        f"forward passes for {counted(puzzles)} and {config.positions_for(puzzles):,} positions (--positions) under "
        f"{len(config.rules)} sets of rules"
    )
    if config.iterative:
        line += "; the puzzles are also filled cell by cell, which takes longest (--no-iterative leaves it out)"
    return line


# ---------------------------------------------------------------------- the table


class _Table(NamedTuple):
    """What was read.

    Attributes:
      puzzles: uint8[N, cells].
      solutions: uint8[N, cells], zeros where the file tells none.
      hardness: float64[N] by the name of the column, as far as there are such columns.
      left_out: the lines that are no part of this, counted by what is wrong.
      failure: why reading ended early, None if it didn't.
    """

    puzzles: np.ndarray
    solutions: np.ndarray
    hardness: dict[str, np.ndarray]
    left_out: dict[str, int]
    failure: str | None


def _read(args: argparse.Namespace, source: PuzzleFile, bad: BadLines) -> _Table:
    """Reads the puzzles and what is known of them, all up to the limit; reports what is no puzzle or no solution."""
    board: Board = args.board
    columns: dict[str, list[np.ndarray]] = collections.defaultdict(list)
    columns["puzzle"].append(np.zeros((0, board.cells), np.uint8))
    columns["solution"].append(np.zeros((0, board.cells), np.uint8))
    malformed = wrong = 0
    failure = None
    try:
        for chunk in _first(source.chunks(keep=_SOLUTIONS), args.limit):
            clashes = chunk.good & clashing(board, chunk.grids)
            known, causes = _labels(chunk)
            solutions = known["solution"]
            faulty = chunk.good & ~clashes & solutions.any(axis=1) & unsolved(board, chunk.grids, solutions)
            faulty[list(causes)] = False
            wrongs = {
                row: describe_unsolved(board, chunk.grids[row], solutions[row])
                for row in np.flatnonzero(faulty).tolist()
            }
            malformed, wrong = malformed + len(chunk.errors) + len(causes), wrong + len(wrongs)
            chunk = chunk.with_errors(named(args.input), causes | wrongs)
            bad.add(chunk, np.flatnonzero(clashes & chunk.good))
            for name, values in {"puzzle": chunk.grids, **known}.items():
                columns[name].append(values[chunk.good])
    except (OSError, PuzzleFileError) as error:
        failure = described(error)
    arrays = {name: np.concatenate(parts) for name, parts in columns.items()}
    hardness = {name: arrays[name] for name in _HARDNESS if name in arrays}
    left_out = {"malformed": malformed, "with a wrong solution": wrong}
    return _Table(arrays["puzzle"], arrays["solution"], hardness, left_out, failure)


def _first(chunks: Iterable[Chunk], limit: int | None) -> Iterator[Chunk]:
    """The first puzzles, all without a limit."""
    for chunk in chunks:
        if limit is None:
            yield chunk
        else:
            yield chunk[: limit - chunk.start]
            if chunk.start + len(chunk) >= limit:
                return


def _labels(chunk: Chunk) -> tuple[dict[str, np.ndarray], dict[int, str]]:
    """What further columns tell of a chunk's puzzles, by name, and what is wrong with them, by row.

    Solutions uint8[n, cells] are zeros, and measures float64[n] NaN, where none is told.
    """
    cells = chunk.grids.shape[1]
    causes: dict[int, str] = {}
    known: dict[str, np.ndarray] = {"solution": np.zeros((len(chunk), cells), np.uint8)}
    name = next((name for name in _SOLUTIONS if name in chunk.extras), None)
    if name is not None:
        side = round(cells**0.5)
        known["solution"], faults = read_grid_column(chunk.extras[name], side)
        causes |= {row: f"the solution is malformed: {cause}" for row, cause in faults.items()}
    for name in _HARDNESS:
        if name in chunk.extras:
            known[name] = np.full(len(chunk), np.nan)
            for row, value in enumerate(chunk.extras[name]):
                try:
                    known[name][row] = float("nan" if value in (None, "") else value)
                except ValueError:
                    causes.setdefault(row, f"the {name} {value!r} is no number")
    return known, {row: cause for row, cause in causes.items() if chunk.good[row]}
