"""Invocations of commands: arguments, start, screen, summary and the command to resume."""

from __future__ import annotations

import argparse
import contextlib
import dataclasses
import json
import shlex
import sys
from collections.abc import Iterator
from typing import Any, Protocol

from jaxsudoku.io import PuzzleFile
from jaxsudoku.runtime.terminal.progress import Screen, per_second
from jaxsudoku.runtime.terminal.stop import Signals, Stop

from .bad_lines import BadLines
from .outputs import Running
from .report import Tally, counted, record


class Abandonable(Protocol):
    """An output that can be closed unfinished, to be resumed later."""

    def abandon(self) -> None:
        """Closes it; does nothing after it is finished."""


@dataclasses.dataclass(frozen=True)
class Invocation:
    """A run of a command.

    Attributes:
      argv: the arguments after the program's name.
      signals: the handler of signals that stop the run.
      began: the time of the start, by ``time.perf_counter``.
      part: the number of the part of a job; 0 without parts.
      keep_unfinished: whether an unfinished output is kept, to be resumed.
    """

    argv: list[str]
    signals: Signals
    began: float
    part: int = 0
    keep_unfinished: bool = True

    def start_screen(self, quiet: bool) -> Screen:
        """Shows that the command has begun, and checks the cache of compiled programs; loads JAX."""
        screen = Screen(bar=not quiet)
        screen.show("starting ...", now=True)
        check_cache(screen)
        return screen

    def bad_lines(self, screen: Screen, puzzles: PuzzleFile) -> BadLines:
        """The reporter of bad lines of an input."""
        return BadLines(screen, puzzles.name, puzzles.board)

    def summarize(
        self, request: Running, screen: Screen, tally: Tally, error: str | None, note: str = "", **details: Any
    ) -> None:
        """Prints the error that ended the run, if any, and the summary, for people or as JSON according to the flags.

        Args:
          request: the request.
          screen: prints messages.
          tally: the puzzles of this run.
          error: the error that ended the run early; None if there was none.
          note: the end of the line for people.
          **details: further entries of the JSON object.
        """
        screen.clear()
        startup, compiling, seconds = tally.start - self.began, tally.compile_seconds, tally.seconds
        if request.json:
            summary = record(
                puzzles=tally.puzzles,
                counts=tally.counts,
                startup_seconds=startup,
                compile_seconds=compiling,
                seconds=seconds,
                puzzles_per_second=tally.puzzles / seconds,
                error=error,
                **details,
            )
            print(json.dumps(summary), file=sys.stderr if request.output == "-" else sys.stdout)
        elif not request.quiet:
            screen.say(
                f"{counted(tally.puzzles)} in {seconds:.2f} s ({per_second(tally.puzzles / seconds)}){tally.listed()}; "
                f"start {startup:.1f} s, compilation {compiling:.1f} s{note}"
            )
        if error is not None:
            screen.say(f"jaxsudoku: error: {error}")

    def resume_command(self) -> str:
        """The command that resumes this run: with --resume, and without flags that exclude it."""
        end = self.argv.index("--") if "--" in self.argv else len(self.argv)  # arguments after it are not flags
        excluded = argparse.ArgumentParser(add_help=False, allow_abbrev=False)
        excluded.add_argument("--force", action="store_true")
        excluded.add_argument("--resume", action="store_true")
        excluded.add_argument("--history", action="append")
        _, kept = excluded.parse_known_args(self.argv[:end])
        return shlex.join(["jaxsudoku", *kept, "--resume", *self.argv[end:]])

    @contextlib.contextmanager
    def resumable(self, output: str, sink: Abandonable) -> Iterator[None]:
        """A context that always closes the output; adds the command to resume to a ``Stop``.

        Args:
          output: the name of the output, ``-`` for the standard output, which can't be resumed.
          sink: the output.
        """
        try:
            yield
        except Stop as stop:
            if output != "-":
                stop.advice = f"{output} has complete rows; to continue: {self.resume_command()}"
            raise
        finally:
            sink.abandon()


def check_cache(screen: Screen) -> None:
    """Warns once if compiled programs can't be cached; JAX would warn for each program."""
    import jax

    from jaxsudoku.runtime import cache

    path = cache.folder()
    if path is None:
        return
    problem, usable = cache.fault(path)
    if problem:
        screen.say(f"jaxsudoku: warning: {problem}")
        cache.silence()
    if not usable:
        jax.config.update("jax_enable_compilation_cache", False)
