"""Settings of solvers on command lines."""

from __future__ import annotations

import argparse
import math
from collections.abc import Iterable
from typing import Any


def parsed(pairs: Iterable[str]) -> dict[str, Any]:
    """Settings from texts NAME=VALUE, numbers as int or float, true and false as bool.

    Raises:
      argparse.ArgumentTypeError: another text.
    """
    flags = {"true": True, "false": False}
    found: dict[str, Any] = {}
    for pair in pairs:
        name, equals, value = pair.partition("=")
        if not equals:
            raise argparse.ArgumentTypeError(f"{pair!r} is not NAME=VALUE")
        try:
            number = float(value)
            found[name] = int(number) if number == math.floor(number) and "." not in value else number
        except ValueError:
            found[name] = flags.get(value.lower(), value)
    return found


def solvers(text: str) -> list[tuple[str, dict[str, Any]]]:
    """The label of each solver NAME[:SETTING=VALUE]..., with commas between, and its arguments for ``solve``.

    An empty text stands for none.
    """
    from jaxsudoku import solvers

    found = []
    for label in text.split(",") if text else []:
        name, *pairs = label.split(":")
        try:
            solvers.get(name)
        except ValueError as error:
            raise argparse.ArgumentTypeError(str(error)) from None
        found.append((label, {"solver": name, **parsed(pairs)}))
    return found
