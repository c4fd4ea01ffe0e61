"""What the values of flags may be, and a flag that many commands have."""

from __future__ import annotations

import argparse
from collections.abc import Callable
from typing import Any

from jaxsudoku import shipped
from jaxsudoku.board import Board
from jaxsudoku.config import MOST
from jaxsudoku.suggestions import did_you_mean


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
    """A whole number from ``lowest`` on, and less than ``below`` if that is named, else at most what an int32 holds."""

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


def bounds(kind: type) -> Callable[[str], Any]:
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


def rating(text: str) -> Any:
    """A range of ratings, or the name of a grade, which is checked where JAX is loaded."""
    return text if text[:1].isalpha() else bounds(float)(text)


def add_seed(parser: argparse.ArgumentParser) -> None:
    """The flag of the seed, 0 by default."""
    parser.add_argument("--seed", type=at_least(0, below=2**32), default=0, metavar="N",
                        help="seed of whatever is random (default: 0)")  # fmt: skip
