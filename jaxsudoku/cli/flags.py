"""Flags shared by commands, parsers of their values, and sections of the help."""

from __future__ import annotations

import argparse
from collections.abc import Callable
from typing import Any

from jaxsudoku import shipped, techniques
from jaxsudoku.core.board import VARIANTS, Board
from jaxsudoku.io import KINDS
from jaxsudoku.runtime.settings import MOST
from jaxsudoku.runtime.suggestions import did_you_mean

from .parser import flag
from .report import QUOTED

INPUT_HELP = "file of puzzles, - for the standard input, name of a shipped set, or a puzzle itself"

INPUT_SECTION = """\
input: one puzzle per line (0, ., *, _, -, ? or x for a blank cell; letters or spaced numbers on boards beyond 9x9),
possibly after other words; CSV (separated by commas, semicolons or tabs), JSON lines or Parquet with a column or key
named puzzle, or by --column; grids of several lines, drawn in any frame, with pencil marks, or exported from a
spreadsheet; files of SadMan Sudoku and OpenSudoku; lines of HoDoKu's library; candidates as side characters per cell;
links and strings of other programs, a column or key constraints in tables; arrays of numpy (.npy), as for
Sudoku-Extreme.
With --zero-based digits are counted from 0. Without it, a file that has 0 besides another blank, and the largest digit
nowhere, is an error, as its digits seem to be counted from 0.
All but Parquet and .npy may be compressed by gzip, xz, bzip2 or Zstandard (extra zstd before Python 3.14). A name such
as 9x9-hard, if there is no such file, is a set of puzzles that ships with the package; puzzles may be given inline.
board: taken from the file if it names its board, by a line `# board: windoku` at its top or in a column named board; a
different --board is an error.
"""

_DEVICES = """\
While an output is written, a file NAME.jaxsudoku-lock beside it keeps other processes from writing it.
JAXSUDOKU_LOCKS=off turns locks off, for file systems that have none.

JAX chooses the devices: see JAX_PLATFORMS and CUDA_VISIBLE_DEVICES. Compiled code is cached in
JAX_COMPILATION_CACHE_DIR, by default $XDG_CACHE_HOME/jaxsudoku or ~/.cache/jaxsudoku; JAXSUDOKU_CACHE=0 disables this.
"""


def status_section(resumable: bool) -> str:
    """The end of the help of commands that read puzzles: exit statuses, locks and devices."""
    resume = "; --resume continues from there" if resumable else ""
    return f"""\
exit status:
  0    done; puzzles without a solution count as answered
  1    done, but some lines are malformed or their givens clash; the first {QUOTED} are reported as file:line: cause;
       or reading or writing failed, and all answers before the failure are kept
  2    usage error: an unknown option or value, a missing input, an input without puzzles, an existing output
  130  stopped by Ctrl-C (143 by SIGTERM): the output has complete lines{resume}

{_DEVICES}"""


# ---------------------------------------------------------------------- flags


def board_flag(named_by_input: bool) -> Any:
    """The flag of the board; by default the one that the input names, or the classic 9x9 board."""
    return flag(
        f"a side (16), a box shape (3x4), {', '.join(VARIANTS)} (or {VARIANTS[0]}-16 ...), jigsaw: and a label "
        "for each cell, rows separated by /, or the name of a shipped set (jigsaw-9x9); further houses and constraints "
        "after a + (diagonal+windoku, 9+anti-knight) "
        f"(default: {'the board that the input names, or else 9' if named_by_input else '9'})",
        type=board,
        default=None if named_by_input else Board.classic(9),
        metavar="BOARD",
    )


def format_flag(default: str) -> Any:
    """The flag of the output's format."""
    return flag(f"default: {default}", choices=KINDS)


def up_to_flag() -> Any:
    """The flag of the hardest technique."""
    names = ", ".join(techniques.registry.NUMBERS)
    text = f"the hardest technique to use, of {names} (default: the last)"
    return flag(text, type=technique, metavar="TECHNIQUE")


def number_flag(text: str, default: int | None = None, least: int = 1) -> Any:
    """A flag with an integer; the help shows an integer default."""
    shown = text if default is None else f"{text} (default: {default})"
    return flag(shown, type=at_least(least), default=default, metavar="N")


def seed_flag() -> Any:
    """The flag of the seed, 0 by default."""
    return flag("seed of all randomness (default: 0)", type=seed, default=0, metavar="N")


# ---------------------------------------------------------------------- values


def board(name: str) -> Board:
    """A board by its name, or by that of a set of puzzles that ships with the package."""
    try:
        return Board.named(name)
    except ValueError as error:
        if name in shipped.names():
            return shipped.board(name)
        sets = [known for known in shipped.names() if not known[0].isdecimal()]
        hint = "" if "did you mean" in str(error) else did_you_mean(name, sets)
        raise argparse.ArgumentTypeError(f"{error}{hint}") from error


def technique(name: str) -> str:
    """The name of a technique."""
    try:
        return techniques.registry.get(name).name
    except ValueError as error:
        raise argparse.ArgumentTypeError(str(error)) from error


def at_least(lowest: int, below: int | None = None) -> Callable[[str], int]:
    """A parser of integers from ``lowest`` on and below ``below``, by default up to the maximum of int32."""

    def convert(text: str) -> int:
        try:
            number = int(text)
        except ValueError:
            raise argparse.ArgumentTypeError(f"{text!r} is not a whole number") from None
        if number < lowest or (below is not None and number >= below):
            limits = f"at least {lowest}" if below is None else f"between {lowest} and {below - 1}"
            raise argparse.ArgumentTypeError(f"must be {limits}, not {number}")
        if below is None and number > MOST:
            raise argparse.ArgumentTypeError(f"must be at most {MOST}, not {number}")
        return number

    return convert


def numbers(text: str) -> tuple[int, ...]:
    """Whole numbers from 1 on, separated by commas."""
    return tuple(map(at_least(1), text.split(",")))


#: A seed, as JAX takes it.
seed = at_least(0, below=2**32)


def bounds(kind: type[int] | type[float]) -> Callable[[str], Any]:
    """A parser of ranges "A:B" as pairs, None for an omitted end; for integers also of a single number."""

    def convert(text: str) -> Any:
        try:
            ends = [kind(end) if end else None for end in text.split(":")]
        except ValueError:
            ends = []
        if len(ends) == 2 and text != ":":
            return tuple(ends)
        if len(ends) == 1 and ends[0] is not None and kind is int:
            return ends[0]
        what = "neither a number nor a range" if kind is int else "no range"
        raise argparse.ArgumentTypeError(f"{text!r} is {what} such as 20:30, 20: or :30")

    return convert


def output(name: str) -> str:
    """An output file; the system's names of the standard output become ``-``."""
    return "-" if name in ("/dev/stdout", "/dev/fd/1", "/proc/self/fd/1") else name
