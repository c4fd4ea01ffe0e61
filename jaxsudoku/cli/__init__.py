"""The command line.

``jaxsudoku solve``, ``count``, ``show``, ``generate``, ``rate``, ``build``, ``evaluate`` and ``mastermind``.
"""

from __future__ import annotations

import argparse
import errno
import os
import sys
import time
from collections.abc import Sequence
from typing import NoReturn

from jaxsudoku.io import PuzzleFileError, ResumeError
from jaxsudoku.terminal import streams
from jaxsudoku.terminal.failure import UsageError, described
from jaxsudoku.terminal.progress import clear_screens
from jaxsudoku.terminal.stop import Signals, Stop

from . import flags
from .files import check_printed

__all__ = ["main"]

#: What a shell reports of a program that died of a closed pipe.
_BROKEN_PIPE = 128 + 13


def main(argv: Sequence[str] | None = None) -> int:
    """Runs the command line and gives its exit status; ends the process at once if a signal stops it.

    Args:
      argv: the arguments after the program's name; None for those of the process.

    Raises:
      SystemExit: after --help, --version and errors in the arguments, with the exit status.
    """
    began = time.perf_counter()
    streams.reopen()
    try:
        with Signals() as signals:
            arguments = list(sys.argv[1:] if argv is None else argv)
            try:
                args = flags.parse(arguments)
            except SystemExit as stop:
                raise SystemExit(_flushed(int(stop.code or 0))) from None
            args.argv = arguments
            try:
                try:
                    code = _command(args, signals, began)
                finally:
                    clear_screens()  # before a message is printed
            except (UsageError, ResumeError, ImportError) as error:
                print(f"jaxsudoku: error: {error}", file=sys.stderr)
                code = 2
            except BrokenPipeError:
                raise
            except (OSError, PuzzleFileError) as error:
                print(f"jaxsudoku: error: {described(error)}", file=sys.stderr)
                code = 1
            return _flushed(code)
    except BrokenPipeError:
        # whoever read the output has seen enough; what is still to be flushed goes nowhere
        _abandon_stdout()
        _leave(_BROKEN_PIPE)
    except Stop as stop:
        advice = f"; {stop.advice}" if stop.advice else ""
        below = "\n" * sys.stderr.isatty()  # a terminal has shown ^C, or the progress
        print(f"{below}jaxsudoku: stopped by {stop.signal.name}{advice}", file=sys.stderr, flush=True)
        _leave(128 + stop.signal)


def _command(args: argparse.Namespace, signals: Signals, began: float) -> int:
    if getattr(args, "json", None) is True and args.command != "mastermind":
        check_printed()  # the summary would be lost after all the work
    if args.command == "show":
        from .show import show

        return show(args)
    if args.command == "mastermind":
        from . import guessing, strategies

        act = {"play": guessing.play, "evaluate": strategies.evaluate, "show": strategies.show}[args.action]
        return act(args, signals, began)
    if args.command == "evaluate":
        from .evaluating import evaluate

        return evaluate(args, signals, began)
    if args.command in ("generate", "build", "rate"):
        from . import making

        return {"generate": making.generate, "build": making.build, "rate": making.rate}[args.command](
            args, signals, began
        )
    from . import commands

    return {"solve": commands.solve, "count": commands.count}[args.command](args, signals, began)


def _flushed(code: int) -> int:
    """Flushes the standard output here, where a full disk can still be reported; the exit status after that."""
    try:
        sys.stdout.flush()
    except BrokenPipeError:
        raise
    except OSError as error:
        if not code:
            cause = "the standard output is closed" if error.errno == errno.EBADF else error.strerror
            print(f"jaxsudoku: error: <stdout>: {cause}", file=sys.stderr)
        _abandon_stdout()
        return code or 1
    return code


def _abandon_stdout() -> None:
    """Sends what is still to be flushed nowhere, or Python would try again at its exit, and fail."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def _leave(code: int) -> NoReturn:
    """Ends the process at once: threads in compiled code can't be interrupted, and a usual exit waits for them."""
    sys.stderr.flush()
    os._exit(code)
