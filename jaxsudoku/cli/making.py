"""The sub-commands that make puzzles, ``generate`` and ``build``, and ``rate``, which tells how hard some are."""

from __future__ import annotations

import argparse
import collections
import functools
import json
import os
import sys
import time
from collections.abc import Iterator
from typing import Any

import numpy as np

from jaxsudoku.io import PuzzleFileError, TableWriter, grid_column, read_chunks
from jaxsudoku.progress import Meter, Screen

from .clash import clashing
from .failure import UsageError, as_usage, described
from .files import named, open_input
from .progress import share_read, started
from .report import BadLines, counted, device_of, listed, versions
from .stop import Signals, Stop

#: Columns of generated puzzles, and those that ``rate`` adds.
_MADE = {"puzzle": object, "solution": object, "clues": np.int32, "rating": np.float32}
_RATED = {"puzzle": object, "clues": np.int32, "rating": np.float32, "rules": object}


def generate(args: argparse.Namespace, signals: Signals, began: float) -> int:
    """Generates puzzles into a table; the exit status."""
    screen = started(args.quiet)
    from jaxsudoku.generation import GenerateConfig, GenerationError, Generator
    from jaxsudoku.rating import GRADES, grade

    with as_usage():
        generator = Generator(args.seed, args.board, GenerateConfig(**_wishes(args)), args.batch_size)
        sink = TableWriter(args.output, _MADE, kind=args.format or _kind(args.output), force=args.force)
    counts: collections.Counter[str] = collections.Counter()
    failure, clock, meter = None, _Clock(), Meter()
    # in stretches, so that memory is flat and what is made is soon written
    with sink:
        for first in range(0, args.count, generator.stretch):
            try:
                size = min(generator.stretch, args.count - first)
                made = generator.make(first, size, functools.partial(_attempts, args, screen, meter, first))
            except GenerationError as error:
                made, failure = error.found, str(error)
            with signals.held():
                sink.write(
                    {
                        "puzzle": grid_column(made.puzzles, args.board),
                        "solution": grid_column(made.solutions, args.board),
                        "clues": made.clues,
                        "rating": made.rating,
                    }
                )
                counts.update(np.array(GRADES)[grade(made.rating)].tolist())
            screen.show(meter.line(counts.total(), args.count))
            if failure is not None:
                break
    _report(args, screen, began, clock, {name: counts[name] for name in GRADES}, failure)
    return 1 if failure is not None else 0


def build(args: argparse.Namespace, signals: Signals, began: float) -> int:
    """Builds a data set; the exit status."""
    screen = started(args.quiet)
    from jaxsudoku import datasets
    from jaxsudoku.generation import GenerationError
    from jaxsudoku.io import read_puzzles

    if os.path.exists(args.output) and not args.resume:
        raise UsageError(f"{args.output}: the folder exists: go on with --resume or name another")
    with as_usage():
        exclude = np.concatenate([read_puzzles(file, args.board) for file in args.exclude]) if args.exclude else None
    failure, counts, clock, meter = None, {}, _Clock(), Meter()
    screen.show(meter.line(0, args.count), now=True)
    try:
        with as_usage((ValueError, FileExistsError, ImportError)):
            dataset = datasets.build(
                args.output, args.count, seed=args.seed, board=args.board, format=args.format or "npz",
                shard_size=args.shard_size, exclude=exclude, resume=args.resume, batch_size=args.batch_size,
                progress=lambda done, count: screen.show(meter.line(done, count), now=True), **_wishes(args),
            )  # fmt: skip
        counts = dict(dataset.card.grades)
    except GenerationError as error:
        failure = str(error)
    except Stop as stop:
        stop.advice = f"what is done of {args.output} stays; to go on, give --resume"
        raise
    _report(args, screen, began, clock, counts, failure)
    return 1 if failure is not None else 0


def rate(args: argparse.Namespace, signals: Signals, began: float) -> int:
    """Rates the puzzles of a file; the exit status."""
    with open_input(args.input) as source:
        chunks = read_chunks(source, args.board, chunk_size=args.batch_size or 8192)
        failure: list[str] = []
        readable = _readable(chunks, failure)
        first = next(readable, None)
        # what was rated before gets new ratings
        extras = [name for name in (first.extras if first is not None else ()) if name not in _RATED]
        columns = {**_RATED, **dict.fromkeys(extras, object)}
        screen = started(args.quiet)
        from jaxsudoku.propagation import RULES
        from jaxsudoku.rating import rate as rated
        from jaxsudoku.rating import weakest_rules

        bad = BadLines(screen, named(args.input), args.board)
        counts: collections.Counter[str] = collections.Counter()
        words = np.array([*RULES, "search"], object)
        with as_usage():
            sink = TableWriter(
                args.output, columns, kind=args.format or _kind(args.output), force=args.force, source=args.input
            )
        clock, meter, share = _Clock(), Meter(), share_read(source)
        screen.show("rating ...", now=True)
        with sink:
            while first is not None:
                grids = np.where(first.good[:, None], first.grids, np.uint8(255))
                ratings = rated(grids, args.seed, args.board, searches=args.searches)
                rules = words[weakest_rules(grids, args.board)]
                rules[np.isnan(ratings)] = ""  # no solution, several, or no puzzle
                with signals.held():
                    sink.write(
                        {
                            "puzzle": grid_column(first.grids, args.board, ~first.good),
                            "clues": (first.grids > 0).sum(axis=1, dtype=np.int32),
                            "rating": ratings,
                            "rules": rules.tolist(),
                            **{name: list(map(str, first.extras[name])) for name in extras},
                        }
                    )
                    counts.update(np.where(rules == "", "without", rules).tolist())
                without = np.flatnonzero(first.good & np.isnan(ratings))
                bad.add(first, without[clashing(args.board, grids[without])])
                screen.show(f"{share()}{meter.line(counts.total(), None)}")
                first = next(readable, None)
        bad.finish()
    order = [*RULES, "search", "without"]
    _report(args, screen, began, clock, {name: counts[name] for name in order}, failure[0] if failure else None)
    return 1 if failure or bad.count else 0


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
    args: argparse.Namespace, screen: Screen, began: float, clock: _Clock, counts: dict[str, int], failure: str | None
) -> None:
    """A summary, for people or as JSON, and why the run ended early."""
    screen.clear()
    import jax

    puzzles, now = sum(counts.values()), time.perf_counter()
    compiling = clock.compile_seconds
    seconds = max(now - clock.start - compiling, 1e-9)
    if args.json:
        summary = {
            "puzzles": puzzles,
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
        screen.say(
            f"{counted(puzzles)} in {seconds:.2f} s ({puzzles / seconds:,.0f}/s){listed(counts)}; "
            f"start {clock.start - began:.1f} s, compilation {compiling:.1f} s"
        )
    if failure is not None:
        screen.say(f"jaxsudoku: error: {failure}")
