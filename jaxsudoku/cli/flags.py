"""The flags that several commands share, the values that flags take, and the sections of the help on both."""

from __future__ import annotations

import argparse
from collections.abc import Callable
from typing import Any

from jaxsudoku import shipped, techniques
from jaxsudoku.core.board import VARIANTS, Board
from jaxsudoku.io import KINDS
from jaxsudoku.runtime.settings import MOST
from jaxsudoku.runtime.suggestions import did_you_mean

from .report import QUOTED

INPUT_HELP = "file of puzzles, - for the standard input, name of a shipped set, or a puzzle itself"

INPUT_SECTION = """\
input: a puzzle a line (0, ., *, _, -, ? or x for a blank cell; letters or spaced numbers on boards beyond 9x9), words
may stand before it; CSV (separated by commas, semicolons or tabs), JSON lines or Parquet with a column or key named
puzzle, or by --column; or grids of several lines, drawn in any frame, with pencil marks, or as a spreadsheet exports
them; files of SadMan Sudoku and OpenSudoku; lines of HoDoKu's library; candidates as side characters per cell.
With --zero-based digits are counted from 0. A file that seems to do so without it, as it has 0 beside another blank and
nowhere the largest digit, is an error.
All but Parquet may be compressed by gzip, xz, bzip2 or Zstandard (extra zstd before Python 3.14). A name such as
9x9-hard, if there is no such file, is a set of puzzles that ships with the package; puzzles may be given inline.
board: a file that names its board, by a line `# board: windoku` at its top or in a column named board, is read for it;
a --board that contradicts is an error.
"""

_DEVICES = """\
An output that another process is writing is refused: a file NAME.jaxsudoku-lock stands beside it while it is written.
JAXSUDOKU_LOCKS=off writes without, on file systems that have no locks.

JAX chooses the devices: see JAX_PLATFORMS and CUDA_VISIBLE_DEVICES. Compiled code is kept in
JAX_COMPILATION_CACHE_DIR, by default $XDG_CACHE_HOME/jaxsudoku or ~/.cache/jaxsudoku; JAXSUDOKU_CACHE=0 keeps none.
"""


def status_section(resumable: bool) -> str:
    """The end of the help of commands that read puzzles: exit statuses, locks and devices."""
    resume = "; --resume goes on from there" if resumable else ""
    return f"""\
exit status:
  0    done; that a puzzle has no solution is an answer
  1    done, but some lines are malformed or their givens clash: each is reported as file:line: cause, the first
       {QUOTED} of them one by one; or reading or writing failed on the way, and all answers up to there are kept
  2    usage: an unknown option or value, a missing input, one without any puzzle, an output that exists
  130  stopped by Ctrl-C (143 by SIGTERM): the output holds whole lines{resume}

{_DEVICES}"""


# ---------------------------------------------------------------------- flags


def add_input(parser: argparse.ArgumentParser) -> None:
    """The puzzles that a command reads: one input or several puzzles given inline, their board and their column."""
    parser.add_argument("input", metavar="INPUT", nargs="+", help=f"{INPUT_HELP}; several puzzles may be given inline")
    add_board(parser, named_by_input=True)
    add_column(parser)


def add_one_puzzle(parser: argparse.ArgumentParser) -> None:
    """The input, and the number of the puzzle in it."""
    add_input(parser)
    add_number(parser, "--index", "number of the puzzle in the input, from 1", default=1)


def technique(name: str) -> str:
    """The name of a technique."""
    try:
        return techniques.registry.get(name).name
    except ValueError as error:
        raise argparse.ArgumentTypeError(str(error)) from error


def add_up_to(parser: argparse.ArgumentParser) -> None:
    """The hardest technique."""
    parser.add_argument(
        "--up-to",
        type=technique,
        metavar="TECHNIQUE",
        help=f"the hardest technique to use, of {', '.join(techniques.registry.NUMBERS)} (default: the last)",
    )


def add_column(parser: argparse.ArgumentParser) -> None:
    """The column of puzzles, and how they write digits."""
    parser.add_argument(
        "--column", metavar="NAME", help="column of puzzles in a table, key in JSON lines (default: puzzle)"
    )
    parser.add_argument(
        "--zero-based", action="store_true", help="digits are counted from 0, which is no blank; answers are from 1 on"
    )


def add_board(parser: argparse.ArgumentParser, named_by_input: bool) -> None:
    """The board; by default that which the input names, or the classic 9x9 one."""
    parser.add_argument(
        "--board",
        type=board,
        default=None if named_by_input else Board.classic(9),
        metavar="BOARD",
        help=f"a side (16), a box shape (3x4), {', '.join(VARIANTS)} (or {VARIANTS[0]}-16 ...), jigsaw: and a label "
        "for each cell, rows separated by /, or the name of a shipped set (jigsaw-9x9) "
        f"(default: {'the board that the input names, or else 9' if named_by_input else '9'})",
    )


def add_output(parser: argparse.ArgumentParser) -> None:
    """The file of answers."""
    parser.add_argument(
        "--output", type=output, default="-", metavar="FILE", help="file of answers (default: the standard output)"
    )


def add_format(parser: argparse.ArgumentParser, default: str) -> None:
    """The format of the output."""
    parser.add_argument("--format", choices=KINDS, help=f"default: {default}")


def add_existing(parser: argparse.ArgumentParser) -> None:
    """What to do with an existing output."""
    existing = parser.add_mutually_exclusive_group()
    existing.add_argument(
        "--resume",
        action="store_true",
        help="keep what an earlier run wrote, and go on after it; give the same flags, as answers that are there stay, "
        "unsolved ones too",
    )
    existing.add_argument("--force", action="store_true", help="replace an existing output")


def add_running(parser: argparse.ArgumentParser) -> None:
    """Batches, the seed, and what is reported."""
    add_number(
        parser,
        "--batch-size",
        "puzzles read, solved and written at a time; smaller batches of hard puzzles show progress and save work "
        "sooner (default: by the machine)",
    )
    add_seed(parser)
    parser.add_argument(
        "--json",
        action="store_true",
        help="summary as a JSON object, on the standard output unless the answers go there; then on the standard error",
    )
    parser.add_argument("--quiet", action="store_true", help="neither progress nor summary; errors are still reported")


def add_number(
    parser: argparse.ArgumentParser, flag: str, text: str, default: int | None = None, least: int = 1
) -> None:
    """A flag that takes an integer; the help shows a default that is one."""
    shown = text if default is None else f"{text} (default: {default})"
    parser.add_argument(flag, type=at_least(least), default=default, metavar="N", help=shown)


def add_seed(parser: argparse.ArgumentParser) -> None:
    """The seed, 0 by default."""
    parser.add_argument("--seed", type=seed, default=0, metavar="N", help="seed of all randomness (default: 0)")


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


def at_least(lowest: int, below: int | None = None) -> Callable[[str], int]:
    """An integer of at least ``lowest``, and below ``below``, or else at most what an int32 holds."""

    def convert(text: str) -> int:
        try:
            number = int(text)
        except ValueError:
            raise argparse.ArgumentTypeError(f"{text!r} is no whole number") from None
        if number < lowest or (below is not None and number >= below):
            limits = f"at least {lowest}" if below is None else f"between {lowest} and {below - 1}"
            raise argparse.ArgumentTypeError(f"must be {limits}, not {number}")
        if below is None and number > MOST:
            raise argparse.ArgumentTypeError(f"must be at most {MOST}, not {number}")
        return number

    return convert


#: A seed, as JAX takes it.
seed = at_least(0, below=2**32)


def bounds(kind: type[int] | type[float]) -> Callable[[str], Any]:
    """A range "A:B" as a pair, None for an end that is left out; of integers also one number, as itself."""

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
    """An output file; the system's names of the standard output are ``-`` too."""
    return "-" if name in ("/dev/stdout", "/dev/fd/1", "/proc/self/fd/1") else name
