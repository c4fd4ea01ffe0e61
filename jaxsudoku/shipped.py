"""The puzzles that ship with the package, by name, for first trials, teaching and tests.

Each set is a text file in ``jaxsudoku/puzzles``, with one puzzle a line. The comments at its top give, by keyword, the
board, the grades of the puzzles, and the call of ``generate`` that made them.
"""

from __future__ import annotations

import functools
import io
from typing import TYPE_CHECKING

import numpy as np

from jaxsudoku.core.board import Board
from jaxsudoku.io import read_puzzles
from jaxsudoku.runtime.suggestions import did_you_mean

if TYPE_CHECKING:
    from importlib.resources.abc import Traversable

_SUFFIX = ".txt"


@functools.cache
def names() -> tuple[str, ...]:
    """The names of the shipped sets, sorted."""
    files = (entry.name for entry in _folder().iterdir())
    return tuple(sorted(name.removesuffix(_SUFFIX) for name in files if name.endswith(_SUFFIX)))


def load(name: str) -> np.ndarray:
    """The puzzles of a shipped set, such as "9x9-hard"; each has exactly one solution.

    Returns:
      uint8[N, cells], 0 = empty.

    Raises:
      ValueError: no set has this name; the message lists the names.
    """
    return read_puzzles(io.BytesIO(read(name)), board(name))


def board(name: str) -> Board:
    """The board of a shipped set; raises as ``load`` does."""
    return Board.named(about(name)["board"])


def about(name: str) -> dict[str, str]:
    """The comments of a shipped set, by keyword; raises as ``load`` does.

    Returns:
      ``puzzles``: their number, numbers of clues, and whether they are minimal. ``solutions``: of each puzzle, "1".
      ``board``: a name for ``Board.named``. ``grades``: the number of puzzles of each of ``rating.GRADES``, separated
      by commas. ``made by``: the call.
    """
    lines = read(name).decode().splitlines()
    comments = (line.removeprefix("#").partition(":") for line in lines if line.startswith("#"))
    return {keyword.strip(): text.strip() for keyword, _, text in comments}


def read(name: str) -> bytes:
    """The file of a shipped set, which ``io.read_puzzles`` reads; raises as ``load`` does."""
    if name not in names():
        hint = did_you_mean(name, names())
        raise ValueError(f"no puzzles {name!r} are shipped: choose one of {', '.join(names())}{hint}")
    return (_folder() / (name + _SUFFIX)).read_bytes()


def _folder() -> Traversable:
    from importlib import resources

    return resources.files("jaxsudoku") / "puzzles"
