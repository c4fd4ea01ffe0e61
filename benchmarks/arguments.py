"""Lists on command lines, by commas."""

from __future__ import annotations

import argparse


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
