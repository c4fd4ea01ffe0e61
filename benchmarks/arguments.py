"""Lists on command lines, by commas; and the values of all flags, for files of figures."""

from __future__ import annotations

import argparse
from typing import Any


def names(text: str) -> list[str]:
    """Names without the spaces around them; empty ones are left out."""
    return [name.strip() for name in text.split(",") if name.strip()]


def sizes(text: str) -> list[int]:
    """Whole numbers; raises ArgumentTypeError if there is none, or one below 1."""
    found = [int(number) for number in names(text)]
    if not found or min(found) < 1:
        raise argparse.ArgumentTypeError(f"{text!r}: sizes must be at least 1")
    return found


def size(text: str) -> int:
    """The first of some sizes."""
    return sizes(text)[0]


def add_sets(parser: argparse.ArgumentParser, default: list[str]) -> None:
    """The flags --set, --data and --puzzles, all puzzles by default."""
    add = parser.add_argument
    add("--set", type=names, default=default, help="puzzle sets by their names")
    add("--data", help="folder of puzzle sets")
    add("--puzzles", type=size, default=1 << 30, help="most puzzles of each, drawn at random (default: all)")


def settings(args: argparse.Namespace) -> dict[str, Any]:
    """The values of all flags but ``--json`` and ``--data``, which say where files are."""
    return {name: value for name, value in vars(args).items() if name not in ("json", "data")}
