"""A run of a command: its arguments, its start, its screen, and how it is resumed."""

from __future__ import annotations

import argparse
import contextlib
import dataclasses
import shlex
from collections.abc import Iterator
from typing import Protocol

from jaxsudoku.terminal.progress import Screen
from jaxsudoku.terminal.stop import Signals, Stop


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
    """

    argv: list[str]
    signals: Signals
    began: float

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


def start_screen(quiet: bool) -> Screen:
    """Shows that a command has begun, and checks where compiled programs are kept; loads JAX."""
    screen = Screen(bar=not quiet)
    screen.show("starting ...", now=True)
    check_cache(screen)
    return screen


def check_cache(screen: Screen) -> None:
    """Warns once if compiled programs can't be kept, where JAX would warn about each program."""
    import jax

    from jaxsudoku import cache

    path = cache.folder()
    if path is None:
        return
    problem, usable = cache.fault(path)
    if problem:
        screen.say(f"jaxsudoku: warning: {problem}")
        cache.silence()
    if not usable:
        jax.config.update("jax_enable_compilation_cache", False)
