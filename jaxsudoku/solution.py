"""The result of every solver: grids, a status for each, how many grids were looked at, and further numbers."""

from __future__ import annotations

import enum
import itertools
import math
from typing import TYPE_CHECKING, Any, Generic, NamedTuple

import numpy as np

from jaxsudoku.arrays import AnyArray

if TYPE_CHECKING:
    from typing_extensions import TypeVar  # the standard one takes a default from Python 3.13 on

    ArrayT = TypeVar("ArrayT", bound=AnyArray, default=Any)
else:
    from typing import TypeVar

    ArrayT = TypeVar("ArrayT")


#: The numbers of ``Solution.stats`` that are written into files, in the order of their columns.
STATS = ("network_calls", "errors")


class Status(enum.IntEnum):
    """How the work on one puzzle ended."""

    UNSOLVED = 0  #: the budget was spent before an answer was found
    SOLVED = 1  #: the grid is complete, keeps the givens and breaks no rule
    UNSATISFIABLE = 2  #: proved to have no solution
    INVALID = 3  #: the givens clash, or a value lies outside 0..side


class Solution(NamedTuple, Generic[ArrayT]):
    """The answer to a batch of puzzles; a pytree.

    For type checkers it is ``Solution[np.ndarray]`` on the host and ``Solution[jax.Array]`` inside JAX.

    Printed it is a summary: how many puzzles ended with which status, and means and maxima of the counts. Arrays that
    are traced, or not yet computed, are shown by dtype and shape, so printing never waits for a device.

    Attributes:
      grids: uint8[*b, cells], the solved grid where ``status`` is SOLVED, else zeros.
      status: int8[*b], one of ``Status``.
      iterations: int32[*b], grids looked at (nodes of the search tree).
      stats: further numbers that a solver reports, by name:

        - ``network_calls`` int32[*b], of a guided solver: positions that the network evaluated for the puzzle. Those
          that the rules solve or refute are not shown to it, and what is computed for idle lanes is not counted.
        - ``errors`` int32[*b], of a solver that works on full grids: what is wrong with the best grid found; 0 where a
          puzzle is solved, -1 where no grid was looked at, as the givens clash or the rules refute them.
        - ``history`` int32[*b, steps], where it was asked for by ``record``: the least error after each step, -1 after
          the last one.
    """

    grids: ArrayT
    status: ArrayT
    iterations: ArrayT
    stats: dict[str, ArrayT]

    def __repr__(self) -> str:
        fields = {"grids": self.grids, "status": self.status, "iterations": self.iterations}
        if isinstance(self.stats, dict):  # a pytree of the same structure may hold anything
            fields |= self.stats
        fields = {name: value for name, value in fields.items() if value is not None}
        seen = {name: _on_host(value) for name, value in fields.items() if name not in ("grids", "history")}
        known = {name: numbers for name, numbers in seen.items() if numbers is not None}
        if len(known) < len(seen) or len({numbers.shape for numbers in known.values()}) != 1:
            return f"Solution({', '.join(f'{name}={_described(value)}' for name, value in fields.items())})"
        ended = _ended(self.grids, known.pop("status"))
        return f"Solution({'; '.join(filter(None, (ended, *itertools.starmap(_counted, known.items()))))})"


def _on_host(value: Any) -> np.ndarray | None:
    """A field's numbers where they can be had at once; None for what is traced, not yet computed or no number."""
    if not isinstance(value, np.ndarray | np.generic):
        on_device = hasattr(value, "is_ready") and not value.is_deleted()  # which tracers have not
        if not (on_device and value.is_fully_addressable and value.is_ready()):
            return None
    numbers = np.asarray(value)
    return numbers if numbers.dtype.kind in "iu" else None


def _described(value: Any) -> str:
    """An array as dtype and shape; anything else, such as a sharding or a shape's struct, as it prints itself."""
    if hasattr(value, "shape") and hasattr(value, "dtype"):
        return f"{value.dtype}[{','.join(map(str, value.shape))}]"
    return repr(value)


def _ended(grids: Any, status: np.ndarray) -> str:
    """How the puzzles ended, "500 puzzles of 81 cells: 498 SOLVED, 2 INVALID"; for one puzzle its status."""
    names = {int(known): known.name for known in Status}
    found = [(names.get(value, f"status {value}"), count) for value, count in _tally(status)]
    shape = np.shape(grids)
    cells = f" of {math.prod(shape[status.ndim :])} cells" if shape else ""
    if not status.ndim:
        return f"1 puzzle{cells}: {found[0][0]}"
    ended = ", ".join(f"{count:,} {name}" for name, count in found)
    return f"{status.size:,} puzzle{'' if status.size == 1 else 's'}{cells}" + (f": {ended}" if ended else "")


def _tally(status: np.ndarray) -> list[tuple[int, int]]:
    """Each status that occurs and how often, SOLVED first."""
    values, counts = np.unique(status, return_counts=True)
    return sorted(
        zip(values.tolist(), counts.tolist(), strict=True), key=lambda pair: (pair[0] != Status.SOLVED, pair[0])
    )


def _counted(name: str, values: np.ndarray) -> str:
    """Mean and maximum of one number a puzzle, or the number itself; empty where there is none."""
    name = name.replace("_", " ")
    if not values.ndim:
        return f"{name} {int(values):,}"
    values = values[values >= 0]  # -1: no grid was looked at
    return f"{name} mean {values.mean():,.1f}, max {int(values.max()):,}" if values.size else ""
