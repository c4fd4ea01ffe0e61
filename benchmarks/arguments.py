"""Command-line arguments of benchmarks: comma-separated lists, flags of sets, and settings for files of figures."""

from __future__ import annotations

import argparse
from typing import Any


def names(text: str) -> list[str]:
    """Parses comma-separated names; empty ones are left out."""
    return [name.strip() for name in text.split(",") if name.strip()]


def sizes(text: str) -> list[int]:
    """Parses comma-separated whole numbers; raises ArgumentTypeError if there is none, or one below 1."""
    found = [int(number) for number in names(text)]
    if not found or min(found) < 1:
        raise argparse.ArgumentTypeError(f"{text!r}: sizes must be at least 1")
    return found


def size(text: str) -> int:
    """Parses a whole number of at least 1."""
    return sizes(text)[0]


def add_sets(parser: argparse.ArgumentParser, default: list[str]) -> None:
    """Adds the flags --set, --data and --puzzles, by default all puzzles."""
    add = parser.add_argument
    add("--set", type=names, default=default, help="puzzle sets by their names")
    add("--data", help="folder of puzzle sets")
    add("--puzzles", type=size, default=1 << 30, help="most puzzles of each, drawn at random (default: all)")


def settings(args: argparse.Namespace) -> dict[str, Any]:
    """The values of all flags except ``--json`` and ``--data``, which are locations of files."""
    return {name: value for name, value in vars(args).items() if name not in ("json", "data")}
