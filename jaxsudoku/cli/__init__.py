"""The command line: ``jaxsudoku COMMAND``.

A command is a module of this package that implements ``parser.Command``: the end of its ``--help``, its request and the
function that runs it. To add a command, write such a module and add its name to ``COMMANDS``. A module is imported when
its command is given. The parser and all usage errors load no JAX, so commands import modules with JAX when they run.
"""

from __future__ import annotations

import argparse
import os
import sys
import time
from collections.abc import Sequence
from typing import NoReturn

from jaxsudoku._version import __version__
from jaxsudoku.io import NoPuzzlesError, PuzzleFileError, ResumeError
from jaxsudoku.runtime.terminal import streams
from jaxsudoku.runtime.terminal.failure import UsageError, described
from jaxsudoku.runtime.terminal.progress import clear_screens
from jaxsudoku.runtime.terminal.stop import Signals, Stop

from .invocation import Invocation
from .outputs import check_printed
from .parser import Parser

__all__ = ["COMMANDS", "main", "make_parser"]

#: The commands in the order of ``--help``, with their descriptions.
COMMANDS = {
    "solve": "solve a file of any size",
    "count": "count solutions up to a limit",
    "show": "draw one puzzle",
    "explain": "explain how people solve a puzzle, step by step",
    "hint": "the next step of a puzzle",
    "generate": "generate puzzles with one solution, or hard instances with holes",
    "build": "build a data set of puzzles in a folder",
    "rate": "rate the difficulty of puzzles",
    "evaluate": "measure the accuracy of a network",
    "mastermind": "play Mastermind, and evaluate players",
    "completion": "print a script for shell completion",
}

#: The exit status that a shell reports for a program killed by a closed pipe.
_BROKEN_PIPE = 128 + 13

_EPILOG = """\
examples:
  jaxsudoku solve puzzles.txt --output solved.txt
  jaxsudoku solve 9x9-hard --output solved.txt
  jaxsudoku solve puzzles.csv.gz --output solved.csv.gz --resume
  zcat puzzles.csv.gz | jaxsudoku solve - > solved.txt
  jaxsudoku solve sixteen.txt --board 16 --output solved.parquet
  jaxsudoku count puzzles.txt --limit 2
  jaxsudoku show puzzles.txt --index 3 --solve
  jaxsudoku explain puzzles.txt --index 3
  jaxsudoku generate 100000 --output minimal.csv
  jaxsudoku rate puzzles.txt --output rated.csv
  jaxsudoku build 1000000 --clues 24:34 --output train
  jaxsudoku evaluate --network cube --puzzles rated.csv
  jaxsudoku mastermind evaluate --pegs 4 --colours 6 --player entropy

`jaxsudoku COMMAND --help` describes a command and its flags.
"""


def make_parser() -> Parser:
    """The parser of all commands.

    The parsed arguments have ``make``, which makes the command's request from them, ``run``, which runs the request,
    and ``program``, the parser.
    """
    parser = Parser(
        prog="jaxsudoku",
        description="Solve Sudoku-like puzzles in batches, on all cores or on accelerators.",
        epilog=_EPILOG,
    )
    parser.add_argument("--version", action="version", version=f"%(prog)s {__version__}")
    parser.add_commands(__name__, COMMANDS, "command")
    parser.set_defaults(program=parser)
    return parser


def main(argv: Sequence[str] | None = None) -> int:
    """Runs the command line and returns its exit status; ends the process at once if a signal stops it.

    Args:
      argv: the arguments after the program's name; None for those of the process.

    Raises:
      SystemExit: after --help, --version and errors in the arguments, with the exit status.
    """
    began = time.perf_counter()
    streams.reopen()
    try:
        with Signals() as signals:
            invocation = Invocation(list(sys.argv[1:] if argv is None else argv), signals, began)
            try:
                args = make_parser().parse_args(invocation.argv)
            except SystemExit as stop:
                raise SystemExit(_flushed(int(stop.code or 0))) from None
            return _flushed(_run(args, invocation))
    except BrokenPipeError:
        # the reader has closed the output; unflushed data are discarded
        streams.abandon_output()
        _leave(_BROKEN_PIPE)
    except Stop as stop:
        if sys.stderr.isatty():  # a terminal has shown ^C, or the progress
            streams.print_error("")
        advice = f"; {stop.advice}" if stop.advice else ""
        streams.print_error(f"jaxsudoku: stopped by {stop.signal.name}{advice}")
        _leave(128 + stop.signal)


def _run(args: argparse.Namespace, invocation: Invocation) -> int:
    """Runs a command and reports its errors; returns the exit status."""
    try:
        try:
            if getattr(args, "json", None) is True:
                check_printed()  # otherwise the summary would be lost after the work
            code: int = args.run(args.make(args), invocation)
            return code
        finally:
            clear_screens()  # before a message is printed
    except (UsageError, ResumeError, ImportError, NoPuzzlesError) as error:
        streams.print_error(f"jaxsudoku: error: {error}")
        return 2
    except BrokenPipeError:
        raise
    except (OSError, PuzzleFileError) as error:
        streams.print_error(f"jaxsudoku: error: {described(error)}")
        return 1


def _flushed(code: int) -> int:
    """Flushes the standard output, which may report a full disk; returns the final exit status."""
    cause = streams.flush_output()
    if cause and not code:
        streams.print_error(f"jaxsudoku: error: <stdout>: {cause}")
        return 1
    return code


def _leave(code: int) -> NoReturn:
    """Ends the process at once: threads in compiled code can't be interrupted, and a normal exit waits for them."""
    sys.stderr.flush()
    os._exit(code)
