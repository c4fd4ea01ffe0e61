"""The sub-commands that make puzzles, ``generate`` and ``build``, and ``rate``, which tells how hard some are."""

from __future__ import annotations

import argparse
import collections
import functools
import itertools
import json
import os
import sys
import time
from collections.abc import Callable, Iterator, Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

from jaxsudoku.io import (
    ANSWER_COLUMNS,
    BOARD_COLUMN,
    PUZZLE_COLUMNS,
    TABLE_SAMPLE,
    Chunk,
    PuzzleFileError,
    ResumeError,
    TableWriter,
    check_folder,
    check_output,
    grid_column,
    header_lines,
    mark_board,
    marked_board,
)
from jaxsudoku.locks import check_unlocked
from jaxsudoku.terminal.failure import UsageError, as_usage, described
from jaxsudoku.terminal.progress import Meter, Screen, bar
from jaxsudoku.terminal.stop import Signals, Stop, go_on, resumable

from .clash import clashing
from .files import named
from .inputs import opened, read_all
from .progress import share_read, started
from .report import BadLines, counted, device_of, listed, say_replaced, versions

if TYPE_CHECKING:
    from jaxsudoku.generation import Generator

#: Columns of generated puzzles, and those that ``rate`` adds.
_MADE = {"puzzle": object, "solution": object, "clues": np.int32, "rating": np.float32}
_RATED = {"puzzle": object, "clues": np.int32, "rating": np.float32, "rules": object}

#: Puzzles that are rated again before a table of ratings is gone on with.
_RATED_AGAIN = 8


def generate(args: argparse.Namespace, signals: Signals, began: float) -> int:
    """Generates puzzles into a table; the exit status."""
    with as_usage():  # before JAX is loaded, and again when the output is opened
        check_output(args.output, exist_ok=args.resume or args.force, resumable=True)
    screen = started(args.quiet)
    from jaxsudoku.generation import GenerateConfig, Generator

    columns = _MADE if marked_board(args.board) is None else {**_MADE, BOARD_COLUMN: object}
    with as_usage():
        generator = Generator(args.seed, args.board, GenerateConfig(**_wishes(args)), args.batch_size)
        sink = _table(args, columns)
    with resumable(args.output, args.argv, sink):
        _check_made(args, sink, generator)
        return _generate(args, sink, generator, screen, signals, began)


def _generate(
    args: argparse.Namespace, sink: TableWriter, generator: Generator, screen: Screen, signals: Signals, began: float
) -> int:
    from jaxsudoku.generation import GenerationError
    from jaxsudoku.rating import GRADES, grade

    board_name = marked_board(args.board)
    counts: collections.Counter[str] = collections.Counter()
    failure, clock, meter = None, _Clock(), Meter()
    # in stretches, so that memory is flat and what is made is soon written
    with sink:
        first = sink.done
        while first < args.count and failure is None:
            # a run that was stopped within a stretch goes on to its end, so that the next ones begin where they would
            size = min(generator.stretch - first % generator.stretch, args.count - first)
            try:
                made = generator.make(first, size, functools.partial(_attempts, args, screen, meter, first))
            except GenerationError as error:
                made, failure = error.found, str(error)
            first += size
            with signals.held():
                sink.write(
                    {
                        "puzzle": grid_column(made.puzzles, args.board),
                        "solution": grid_column(made.solutions, args.board),
                        "clues": made.clues,
                        "rating": made.rating,
                        **({} if board_name is None else {BOARD_COLUMN: [board_name] * len(made.clues)}),
                    }
                )
                counts.update(np.array(GRADES)[grade(made.rating)].tolist())
            screen.show(meter.line(sink.done + counts.total(), args.count))
    _report(args, screen, began, clock, {name: counts[name] for name in GRADES}, failure, sink.done)
    return 1 if failure is not None else 0


def _table(args: argparse.Namespace, columns: Mapping[str, Any], source: str | None = None) -> TableWriter:
    """The output of a command; raises as ``TableWriter`` does."""
    return TableWriter(
        args.output, columns, kind=args.format or _kind(args.output), force=args.force, resume=args.resume,
        source=source, heading=header_lines(args.board),
    )  # fmt: skip


def _check_made(args: argparse.Namespace, sink: TableWriter, generator: Generator) -> None:
    """Makes the first and the last puzzles that an earlier run left again, to see that the arguments are the same.

    Raises:
      ResumeError: the output has others, or more than are wanted.
    """
    from jaxsudoku.generation import GenerationError

    if sink.done > args.count:
        raise ResumeError(
            f"{args.output}: has {sink.done} puzzles, more than {args.count}; the output is left as it is"
        )
    # a stretch of either end at most
    size = min(TABLE_SAMPLE, generator.stretch, sink.done)
    for first in sorted({0, sink.done - size}) if size else ():
        try:
            sink.check(first, grid_column(generator.make(first, size).puzzles, args.board))
        except (GenerationError, ResumeError) as error:
            raise ResumeError(
                f"{error}. To be resumed it needs the seed, board and wishes that it was made with, and all of its "
                "puzzles found"
            ) from error


def build(args: argparse.Namespace, signals: Signals, began: float) -> int:
    """Builds a data set; the exit status."""
    with as_usage():
        check_folder(args.output)
        if os.path.exists(args.output):
            check_unlocked(args.output)
    if os.path.exists(args.output) and not args.resume:
        raise UsageError(f"{args.output}: the folder exists: go on with --resume or name another")
    screen = started(args.quiet)
    from jaxsudoku import datasets
    from jaxsudoku.generation import GenerationError, Puzzles
    from jaxsudoku.rating import GRADES, grade

    with as_usage():
        exclude = np.concatenate([read_all(file, args.board) for file in args.exclude]) if args.exclude else None
    counts: collections.Counter[str] = collections.Counter()
    there, failure, clock, meter = 0, None, _Clock(), Meter()
    screen.show(bar(0.0), now=True)

    def made(puzzles: Puzzles) -> None:
        counts.update(np.array(GRADES)[grade(puzzles.rating)].tolist())

    def progress(done: int, count: int) -> None:
        nonlocal there
        there = done - counts.total()
        screen.show(meter.line(done, count), now=True)

    try:
        with as_usage((ValueError, FileExistsError, BlockingIOError, ImportError)):
            datasets.build(
                args.output, args.count, seed=args.seed, board=args.board, format=args.format or "npz",
                shard_size=args.shard_size, exclude=exclude, resume=args.resume, batch_size=args.batch_size,
                progress=progress, made=made, **_wishes(args),
            )  # fmt: skip
    except GenerationError as error:
        failure = str(error)
    except Stop as stop:
        stop.advice = f"what is done of {args.output} stays; to go on: {go_on(args.argv)}"
        raise
    _report(args, screen, began, clock, {name: counts[name] for name in GRADES}, failure, there)
    return 1 if failure is not None else 0


def rate(args: argparse.Namespace, signals: Signals, began: float) -> int:
    """Rates the puzzles of a file; the exit status."""
    with opened(args) as puzzles:
        # answers of an earlier `solve` are carried along
        chunks = mark_board(puzzles.chunks(args.batch_size or 8192, keep=ANSWER_COLUMNS), args.board)
        failure: list[str] = []
        readable: Iterator[Chunk] = _readable(chunks, failure)
        first = next(readable, None)
        if first is None and failure:  # before an output is made, which would be left empty
            raise PuzzleFileError(failure[0])
        # what was rated before gets new ratings
        extras = [name for name in (first.extras if first is not None else ()) if name not in _RATED]
        columns = {**_RATED, **dict.fromkeys(extras, object)}
        with as_usage():
            sink = _table(args, columns, args.input)
        with resumable(args.output, args.argv, sink):
            readable = itertools.chain([first] if first is not None else [], readable)
            return _rate(args, sink, extras, readable, failure, signals, began, share_read(puzzles.stream))


def _rate(
    args: argparse.Namespace,
    sink: TableWriter,
    extras: list[str],
    chunks: Iterator[Chunk],
    failure: list[str],
    signals: Signals,
    began: float,
    share: Callable[[], str],
) -> int:
    screen = started(args.quiet)
    from jaxsudoku.propagation import RULES
    from jaxsudoku.rating import rate as rated
    from jaxsudoku.rating import weakest_rules

    say_replaced(screen, args, args.format or _kind(args.output), (*PUZZLE_COLUMNS, *_RATED))
    bad = BadLines(screen, named(args.input), args.board)
    counts: collections.Counter[str] = collections.Counter()
    words = np.array([*RULES, "search"], object)
    clock, meter = _Clock(), Meter()
    screen.show("rating ...", now=True)

    def ratings_of(chunk: Chunk) -> np.ndarray:
        grids = np.where(chunk.good[:, None], chunk.grids, np.uint8(255))
        return rated(grids, args.board, key=args.seed, searches=args.searches)

    with sink:
        for chunk in _unrated(args, sink, chunks, failure, ratings_of):
            grids = np.where(chunk.good[:, None], chunk.grids, np.uint8(255))
            ratings = ratings_of(chunk)
            rules = words[weakest_rules(grids, args.board)]
            rules[np.isnan(ratings)] = ""  # no solution, several, or no puzzle
            with signals.held():
                sink.write(
                    {
                        "puzzle": grid_column(chunk.grids, args.board, ~chunk.good),
                        "clues": (chunk.grids > 0).sum(axis=1, dtype=np.int32),
                        "rating": ratings,
                        "rules": rules.tolist(),
                        **{name: ["" if x is None else str(x) for x in chunk.extras[name]] for name in extras},
                    }
                )
                counts.update(np.where(chunk.good, np.where(rules == "", "without", rules), "malformed").tolist())
            without = np.flatnonzero(chunk.good & np.isnan(ratings))
            bad.add(chunk, without[clashing(args.board, grids[without])])
            screen.show(f"{share()}{meter.line(sink.done + counts.total(), None)}")
    bad.finish()
    totals = {name: counts[name] for name in [*RULES, "search", "without", "malformed"]}
    _report(args, screen, began, clock, totals, failure[0] if failure else None, sink.done)
    return 1 if failure or bad.count else 0


def _unrated(
    args: argparse.Namespace,
    sink: TableWriter,
    chunks: Iterator[Chunk],
    failure: list[str],
    ratings_of: Callable[[Chunk], np.ndarray],
) -> Iterator[Chunk]:
    """The puzzles that the output lacks.

    Raises:
      ResumeError: it has those of another input, more than there are, or other ratings than these flags give.
    """
    count = 0
    for chunk in chunks:
        count = chunk.start + len(chunk)
        if chunk.start < sink.done:
            sink.check(chunk.start, grid_column(chunk.grids, args.board, ~chunk.good))
            if chunk.start == 0:
                _check_rated(args, sink, chunk[: min(_RATED_AGAIN, sink.done)], ratings_of)
        if count > sink.done:
            yield chunk[max(0, sink.done - chunk.start) :]
    if count < sink.done and not failure:  # an input that breaks off early may seem too short
        raise ResumeError(
            f"{args.output}: has {sink.done} puzzles, the input only {count}; the output is left as it is"
        )


def _check_rated(
    args: argparse.Namespace, sink: TableWriter, chunk: Chunk, ratings_of: Callable[[Chunk], np.ndarray]
) -> None:
    """Rates the first puzzles that an earlier run left again, to see that the seed and the searches are the same."""
    for row, rating in enumerate(ratings_of(chunk).tolist()):
        there = float(sink.kept[row].get("rating") or "nan")  # text has puzzles alone
        if "rating" in sink.kept[row] and not np.isclose(there, rating, rtol=1e-4, equal_nan=True):
            raise ResumeError(
                f"{args.output}: puzzle {row + 1} is rated {there:.6g}, and by --seed {args.seed} --searches "
                f"{args.searches} it is {rating:.6g}; the output is left as it is"
            )


def _readable(chunks: Iterator[Any], failure: list[str]) -> Iterator[Any]:
    """The chunks up to where reading fails; why it does is left in ``failure``."""
    try:
        yield from chunks
    except (OSError, PuzzleFileError) as error:
        failure.append(described(error))


def _kind(output: str) -> Any:
    """CSV where a name doesn't tell: a table on the standard output should have all of its columns."""
    return "csv" if output == "-" else None


def _wishes(args: argparse.Namespace) -> dict[str, Any]:
    return {name: getattr(args, name) for name in ("clues", "minimal", "rating", "pattern", "steps", "attempts")}


class _Clock:
    """The time since its creation, and what of it compiling took."""

    def __init__(self) -> None:
        from jaxsudoku import batches

        self._compiled = batches.compile_seconds
        self._before = batches.compile_seconds()
        self.start = time.perf_counter()

    @property
    def compile_seconds(self) -> float:
        return self._compiled() - self._before


def _attempts(args: argparse.Namespace, screen: Screen, meter: Meter, first: int, found: int, attempts: int) -> None:
    """Shows how many puzzles are found, and which attempts are made at the others."""
    tried = f"; {attempts:,} of {args.attempts:,} attempts at the others" if attempts > 1 else ""
    screen.show(f"{meter.line(first + found, args.count)}{tried}", now=not attempts)


def _report(
    args: argparse.Namespace,
    screen: Screen,
    began: float,
    clock: _Clock,
    counts: dict[str, int],
    failure: str | None,
    there: int,
) -> None:
    """A summary, for people or as JSON, and why the run ended early; ``there`` puzzles are an earlier run's."""
    screen.clear()
    import jax

    puzzles, now = sum(counts.values()), time.perf_counter()
    compiling = clock.compile_seconds
    seconds = max(now - clock.start - compiling, 1e-9)
    if args.json:
        summary = {
            "puzzles": puzzles,
            "already_there": there,
            "counts": counts,
            "startup_seconds": round(clock.start - began, 6),
            "compile_seconds": round(compiling, 6),
            "seconds": round(seconds, 6),
            "puzzles_per_second": round(puzzles / seconds, 6),
            "error": failure,
            "device": device_of(jax.local_devices()),
            "board": str(args.board),
            "seed": args.seed,
            "versions": versions(),
        }
        print(json.dumps(summary), file=sys.stderr if args.output == "-" else sys.stdout)
    elif not args.quiet:
        before = f"; {there:,} were there already" if there else ""
        screen.say(
            f"{counted(puzzles)} in {seconds:.2f} s ({puzzles / seconds:,.0f}/s){listed(counts)}; "
            f"start {clock.start - began:.1f} s, compilation {compiling:.1f} s{before}"
        )
    if failure is not None:
        screen.say(f"jaxsudoku: error: {failure}")
