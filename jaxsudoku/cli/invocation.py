"""A run of a command: its arguments, its start, its screen, its report, and how it is resumed."""

from __future__ import annotations

import argparse
import contextlib
import dataclasses
import shlex
from collections.abc import Iterator
from typing import Any, Protocol

from jaxsudoku.core.board import Board
from jaxsudoku.io import PuzzleFile
from jaxsudoku.runtime.terminal.progress import Screen
from jaxsudoku.runtime.terminal.stop import Signals, Stop

from .bad_lines import BadLines
from .report import Tally, summarize


class Abandonable(Protocol):
    """An output that can be left as it is, to be resumed."""

    def abandon(self) -> None:
        """Closes it; does nothing after it is finished."""


@dataclasses.dataclass(frozen=True)
class Invocation:
    """A run of a command.

    Attributes:
      argv: the arguments after the program's name.
      signals: what stops the run.
      began: the time of the start, as ``time.perf_counter`` gives it.
      part: the number of the part of a job that is done; 0 where there are no parts.
      keep_unfinished: whether an output that is not finished stays, to be resumed.
    """

    argv: list[str]
    signals: Signals
    began: float
    part: int = 0
    keep_unfinished: bool = True

    def start_screen(self, quiet: bool) -> Screen:
        """Shows that the command has begun, and checks where compiled programs are kept; loads JAX."""
        screen = Screen(bar=not quiet)
        screen.show("starting ...", now=True)
        check_cache(screen)
        return screen

    def bad_lines(self, screen: Screen, puzzles: PuzzleFile, board: Board) -> BadLines:
        """What reports the bad lines of an input."""
        return BadLines(screen, puzzles.name, board)

    def summarize(
        self, args: argparse.Namespace, screen: Screen, tally: Tally, error: str | None, note: str = "", **details: Any
    ) -> None:
        """Reports what was done, as ``report.summarize``."""
        summarize(args, screen, tally, self.began, error, note, **details)

    def resume_command(self) -> str:
        """The command that resumes this run: with --resume, without the flags that --resume excludes."""
        end = self.argv.index("--") if "--" in self.argv else len(self.argv)  # what follows is no flag
        excluded = argparse.ArgumentParser(add_help=False, allow_abbrev=False)
        excluded.add_argument("--force", action="store_true")
        excluded.add_argument("--resume", action="store_true")
        excluded.add_argument("--history", action="append")
        _, kept = excluded.parse_known_args(self.argv[:end])
        return shlex.join(["jaxsudoku", *kept, "--resume", *self.argv[end:]])

    @contextlib.contextmanager
    def resumable(self, output: str, sink: Abandonable) -> Iterator[None]:
        """A block at whose end the output is closed in any case; a ``Stop`` gets the command that resumes the run.

        Args:
          output: the name of the output, ``-`` for the standard output, which can't be resumed.
          sink: the output.
        """
        try:
            yield
        except Stop as stop:
            if output != "-":
                stop.advice = f"{output} is whole as far as it goes; to go on: {self.resume_command()}"
            raise
        finally:
            sink.abandon()


def check_cache(screen: Screen) -> None:
    """Warns once if compiled programs can't be kept, where JAX would warn about each program."""
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
