"""The result of every solver: grids, statuses, numbers of iterations, and further numbers."""

from __future__ import annotations

import itertools
import math
from typing import TYPE_CHECKING, Any, Generic, NamedTuple

import numpy as np

from jaxsudoku.core.board import Board, classic_or_none
from jaxsudoku.core.status import CAUSE
from jaxsudoku.core.status import STATS as STATS  # a solution is read with them
from jaxsudoku.core.status import Status as Status
from jaxsudoku.engine.grid_pictures import picture
from jaxsudoku.engine.tables import grid_texts, puzzle_columns, to_table
from jaxsudoku.pictures import Picture, sheet
from jaxsudoku.pictures.boards import picture as draw_board
from jaxsudoku.runtime.arrays import AnyArray
from jaxsudoku.runtime.escapes import markup

if TYPE_CHECKING:
    from typing_extensions import TypeVar  # the standard one takes a default from Python 3.13 on

    ArrayT = TypeVar("ArrayT", bound=AnyArray, default=Any)
else:
    from typing import TypeVar

    ArrayT = TypeVar("ArrayT")


#: The most grids that a notebook shows of a solution.
_SHOWN = 4


class Solution(NamedTuple, Generic[ArrayT]):
    """The results for a batch of puzzles; a pytree.

    Type checkers take it as ``Solution[np.ndarray]`` on the host and ``Solution[jax.Array]`` inside JAX.

    It is a tuple of its fields, so ``solution[0]`` is ``grids``; ``take`` has the results of some puzzles. A notebook
    shows the summary and the first solved grids.

    It prints as a summary: the number of puzzles with each status, and means and maxima of the counts. Arrays that are
    traced, or not yet computed, are printed as dtype and shape, so printing never waits for a device.

    Attributes:
      grids: uint8[*b, cells], the solved grid where ``status`` is SOLVED, else zeros.
      status: int8[*b], one of ``Status``.
      iterations: int32[*b], grids visited (nodes of the search tree).
      stats: further numbers that a solver reports, by name:

        - ``network_calls`` int32[*b], of a guided solver: positions that the network evaluated for the puzzle, without
          those that the rules solve or refute, and without computations for idle lanes.
        - ``network_iterations`` int32[*b], of decoding and tree searches: the network's iterations there; its calls, if
          it has none.
        - ``simulations`` int32[*b], of tree searches: nodes added to the trees; and ``changes`` int32[*b], of all but
          ``mcgs``: the AlphaSudoku study's iterations.
        - ``errors`` int32[*b], of a solver that works on full grids: the error of the best grid found; 0 for a solved
          puzzle, -1 if there is no grid, because the givens are invalid or the rules refute the puzzle.
        - ``cause`` object[*b], of puzzles that may be malformed (``errors="mark"``): what is wrong with each that is,
          and "" for the others.
        - ``history`` int32[*b, steps], with the option ``record``: the least error after each step, -1 after the last
          step.
    """

    grids: ArrayT
    status: ArrayT
    iterations: ArrayT
    stats: dict[str, ArrayT]

    def take(self, index: Any) -> Solution[ArrayT]:
        """The results of some puzzles: ``index`` is a number, a slice, numbers or a mask of the first batch axis."""

        def of(values: Any) -> Any:
            return values[index]

        stats = {name: of(values) for name, values in self.stats.items()}
        return Solution(of(self.grids), of(self.status), of(self.iterations), stats)

    def picture(self, puzzles: Any = None, board: Board | None = None, **options: Any) -> Picture:
        """The grids as a picture, as of ``jaxsudoku.picture``; zeros, where there is no solution, are empty cells.

        Args:
          puzzles: the puzzles, whose digits are told from those filled in.
          board: the board; None for the classic one of the grids' size.
          **options: further arguments of ``jaxsudoku.picture``.

        Raises:
          ValueError: more grids than a picture holds: ``take`` some.
        """
        return picture(np.asarray(self.grids), board, puzzles, **options)

    def to_table(self, puzzles: Any = None, board: Board | None = None) -> Any:
        """The results as a ``pyarrow.Table``; ``.to_pandas()`` makes a data frame of it.

        The columns are those of ``jaxsudoku solve``: ``puzzle`` if the puzzles are given and ``solution``, texts;
        ``status`` in lower case; ``iterations``; ``network_calls`` and ``errors`` of solvers that report them; and
        ``cause`` if puzzles may be malformed. ``solution`` is null where there is none. A malformed puzzle is its text.

        Args:
          puzzles: the puzzles, in any form that ``solve`` takes.
          board: the board; None for the classic one of the grids' size.

        Raises:
          ImportError: pyarrow is missing (extra ``parquet``).
          ValueError: puzzles of another number, or grids that do not fit the board.
        """
        status = np.asarray(self.status).reshape(-1)
        texts = grid_texts(np.asarray(self.grids), board, status.size, "grids")
        columns: dict[str, Any] = {}
        if puzzles is not None:
            columns["puzzle"] = puzzle_columns(puzzles, board, status == Status.MALFORMED)[0]
        solved = (status == Status.SOLVED).tolist()
        columns["solution"] = [text if known else None for text, known in zip(texts, solved, strict=True)]
        columns["status"] = [Status(value).name.lower() for value in status.tolist()]
        columns["iterations"] = np.asarray(self.iterations).reshape(-1)
        columns |= {name: np.asarray(self.stats[name]).reshape(-1) for name in STATS if name in self.stats}
        if CAUSE in self.stats:
            columns[CAUSE] = [cause or None for cause in np.reshape(self.stats[CAUSE], -1).tolist()]
        return to_table(columns)

    def _repr_html_(self) -> str:
        summary = f"<p>{markup(repr(self))}</p>"
        status, grids = _on_host(self.status), _on_host(self.grids)
        if status is None or grids is None or grids.shape[: status.ndim] != status.shape or not grids.size:
            return summary
        solved = grids.reshape(status.size, -1)[status.reshape(-1) == Status.SOLVED][:_SHOWN]
        return f"{summary}{_unknown_board(solved).svg}" if len(solved) else summary

    def __repr__(self) -> str:
        fields = {"grids": self.grids, "status": self.status, "iterations": self.iterations}
        if isinstance(self.stats, dict):  # a pytree of the same structure may hold anything
            fields |= {name: values for name, values in self.stats.items() if name != CAUSE}
        fields = {name: value for name, value in fields.items() if value is not None}
        counts = {name: _on_host(value) for name, value in fields.items() if name not in ("grids", "history")}
        known = {name: numbers for name, numbers in counts.items() if numbers is not None}
        if len(known) < len(counts) or len({numbers.shape for numbers in known.values()}) != 1:
            return f"Solution({', '.join(f'{name}={_described(value)}' for name, value in fields.items())})"
        statuses = _status_summary(self.grids, known.pop("status"))
        parts = (statuses, *itertools.starmap(_count_summary, known.items()))
        return f"Solution({'; '.join(filter(None, parts))})"


def _unknown_board(grids: np.ndarray) -> Picture:
    """Solved grids [n, cells] of a board that is not known, which has boxes only if all of the grids keep them."""
    side = math.isqrt(grids.shape[1])
    board = classic_or_none(side)
    regions: tuple[int, ...] = (0,) * grids.shape[1]
    if board and all(
        (np.sort(grids[:, list(box)], axis=1) == np.arange(1, side + 1)).all() for box in board.region_houses
    ):
        regions = board.region_labels
    drawn = [draw_board(side, regions, grid=grid) for grid in grids.tolist()]
    return sheet(drawn, columns=_SHOWN, title=f"the first {len(drawn)} solved grids")


def _on_host(value: Any) -> np.ndarray | None:
    """A field's integers if they are available at once; None if they are traced, not yet computed, or no integers."""
    if not isinstance(value, np.ndarray | np.generic):
        on_device = hasattr(value, "is_ready") and not value.is_deleted()  # tracers have no is_ready
        if not (on_device and value.is_fully_addressable and value.is_ready()):
            return None
    numbers = np.asarray(value)
    return numbers if numbers.dtype.kind in "iu" else None


def _described(value: Any) -> str:
    """An array as dtype and shape; the ``repr`` of anything else, such as a sharding."""
    if hasattr(value, "shape") and hasattr(value, "dtype"):
        return f"{value.dtype}[{','.join(map(str, value.shape))}]"
    return repr(value)


def _status_summary(grids: Any, status: np.ndarray) -> str:
    """The number of puzzles with each status, as in "500 puzzles of 81 cells: 498 SOLVED, 2 INVALID"."""
    names = {int(known): known.name for known in Status}
    found = [(names.get(value, f"status {value}"), count) for value, count in _tally(status)]
    shape = np.shape(grids)
    cells = f" of {math.prod(shape[status.ndim :])} cells" if shape else ""
    if not status.ndim:
        return f"1 puzzle{cells}: {found[0][0]}"
    puzzles = "1 puzzle" if status.size == 1 else f"{status.size:,} puzzles"
    statuses = ", ".join(f"{count:,} {name}" for name, count in found)
    return f"{puzzles}{cells}: {statuses}" if statuses else f"{puzzles}{cells}"


def _tally(status: np.ndarray) -> list[tuple[int, int]]:
    """Each status that occurs, and its number, SOLVED first."""
    values, counts = np.unique(status, return_counts=True)
    return sorted(
        zip(values.tolist(), counts.tolist(), strict=True), key=lambda pair: (pair[0] != Status.SOLVED, pair[0])
    )


def _count_summary(name: str, values: np.ndarray) -> str:
    """Mean and maximum of a number for each puzzle, or the number itself; "" if there is none."""
    name = name.replace("_", " ")
    if not values.ndim:
        return f"{name} {int(values):,}"
    values = values[values >= 0]  # -1: there is no grid
    return f"{name} mean {values.mean():,.1f}, max {int(values.max()):,}" if values.size else ""
