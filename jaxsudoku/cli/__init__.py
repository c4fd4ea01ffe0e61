"""The command line: ``jaxsudoku COMMAND``.

A command is a module of this package that defines what ``parser.Command`` lists: the end of its ``--help``, its request
and the function that runs it. A new command is such a module and its name in ``COMMANDS``. Its module is imported when
the command is given. The parser and all usage errors load no JAX, so a command imports what needs it when it runs.
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

#: The commands in the order of ``--help``, each with what it does.
COMMANDS = {
    "solve": "solve a file of any size",
    "count": "count solutions up to a limit",
    "show": "draw one puzzle",
    "explain": "explain how people solve a puzzle, step by step",
    "hint": "the next step of a puzzle",
    "generate": "make puzzles, each with one solution, or hard instances with holes",
    "build": "build a data set of puzzles in a folder",
    "rate": "rate how hard puzzles are",
    "evaluate": "measure how good a network is",
    "mastermind": "play Mastermind, and measure its players",
    "completion": "print a script that completes commands and flags in a shell",
}

#: The exit status that a shell reports for a program that died of a closed pipe.
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

    Its result has ``make``, which makes the request of the command from it, ``run``, which takes the request, and
    ``program``, the parser.
    """
    parser = Parser(
        prog="jaxsudoku",
        description="Sudoku-like puzzles solved by the batch, on all cores or on accelerators.",
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
        # the reader of the output has closed it; what is left to be flushed is discarded
        streams.abandon_output()
        _leave(_BROKEN_PIPE)
    except Stop as stop:
        if sys.stderr.isatty():  # a terminal has shown ^C, or the progress
            streams.print_error("")
        advice = f"; {stop.advice}" if stop.advice else ""
        streams.print_error(f"jaxsudoku: stopped by {stop.signal.name}{advice}")
        _leave(128 + stop.signal)


def _run(args: argparse.Namespace, invocation: Invocation) -> int:
    """Runs a command and reports its errors; the exit status."""
    try:
        try:
            if getattr(args, "json", None) is True:
                check_printed()  # otherwise the summary would be lost after all the work
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
    """Flushes the standard output, where a full disk is reported; the exit status after that."""
    cause = streams.flush_output()
    if cause and not code:
        streams.print_error(f"jaxsudoku: error: <stdout>: {cause}")
        return 1
    return code


def _leave(code: int) -> NoReturn:
    """Ends the process at once: threads in compiled code can't be interrupted, and a normal exit waits for them."""
    sys.stderr.flush()
    os._exit(code)
