"""The puzzles that ship with the package, by name: for a first try, for teaching, for tests.

They lie in ``jaxsudoku/puzzles``, a text file each, with one puzzle a line. The comments at its top tell, by keyword,
the board, how hard the puzzles are, and the call of ``generate`` that made them.
"""

from __future__ import annotations

import functools
import io
from typing import TYPE_CHECKING

import numpy as np

from jaxsudoku.board import Board
from jaxsudoku.io import read_puzzles
from jaxsudoku.suggestions import did_you_mean

if TYPE_CHECKING:
    from importlib.resources.abc import Traversable

_ENDING = ".txt"


@functools.cache
def names() -> tuple[str, ...]:
    """The names of all that is shipped, sorted."""
    files = (entry.name for entry in _folder().iterdir())
    return tuple(sorted(name.removesuffix(_ENDING) for name in files if name.endswith(_ENDING)))


def load(name: str) -> np.ndarray:
    """The shipped puzzles of that name, such as "9x9-hard"; each has exactly one solution.

    Returns:
      uint8[N, cells], 0 = empty.

    Raises:
      ValueError: nothing of that name is shipped; the message lists the names.
    """
    return read_puzzles(io.BytesIO(read(name)), board(name))


def board(name: str) -> Board:
    """The board of the shipped puzzles of that name; raises as ``load`` does."""
    return Board.named(about(name)["board"])


def about(name: str) -> dict[str, str]:
    """What the comments of a file say, by keyword; raises as ``load`` does.

    Returns:
      ``puzzles``: how many, of how many clues, and whether they are minimal. ``solutions``: of each puzzle, "1".
      ``board``: as ``Board.named`` takes it.
      ``grades``: how many are of which of ``datasets.GRADES``, with commas between. ``made by``: the call.
    """
    lines = read(name).decode().splitlines()
    comments = (line.removeprefix("#").partition(":") for line in lines if line.startswith("#"))
    return {keyword.strip(): said.strip() for keyword, _, said in comments}


def read(name: str) -> bytes:
    """The file of that name, as ``io.read_puzzles`` reads it; raises as ``load`` does."""
    if name not in names():
        hint = did_you_mean(name, names())
        raise ValueError(f"no puzzles {name!r} are shipped: choose one of {', '.join(names())}{hint}")
    return (_folder() / (name + _ENDING)).read_bytes()


def _folder() -> Traversable:
    from importlib import resources

    return resources.files("jaxsudoku") / "puzzles"
