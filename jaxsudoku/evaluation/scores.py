"""Scores of a network on groups of puzzles: by number of clues, by grade, by quantiles of a difficulty."""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

import numpy as np

from jaxsudoku.rating import GRADES, grade

from .forward import Predictions
from .report import Score

#: Up to this many different numbers of clues make a group each; more are put into as many ranges.
MOST = 10
#: Groups of a difficulty, of about as many puzzles each.
QUANTILES = 5


class Decoded(NamedTuple):
    """Results of iterative decoding.

    Attributes:
      solved: bool[N], whether the puzzle was solved.
      fillings: int32[N], number of cells filled by the network.
      network_calls: int32[N], number of calls of the network.
    """

    solved: np.ndarray
    fillings: np.ndarray
    network_calls: np.ndarray


class Scorer:
    """Scores of any of the N puzzles.

    Args:
      predictions: what the rules and the network make of the puzzles.
      solutions: uint8[N, cells].
      decoded: the results of iterative decoding, if it was run.
    """

    def __init__(self, predictions: Predictions, solutions: np.ndarray, decoded: Decoded | None) -> None:
        is_open = predictions.fixed == 0
        right = predictions.digits == solutions
        self._open_cells = is_open.sum(axis=1)
        self._right_cells = (is_open & right).sum(axis=1)
        self._right_boards = right.all(axis=1)
        self._by_rules = predictions.solved
        self._decoded = decoded

    def score(self, rows: np.ndarray) -> Score:
        """The score of the puzzles in these rows, at least one."""
        cells = int(self._open_cells[rows].sum())
        decoded = self._decoded
        return Score(
            puzzles=len(rows),
            open_cells=float(self._open_cells[rows].mean()),
            rules_alone=float(self._by_rules[rows].mean()),
            cells=float(self._right_cells[rows].sum() / cells) if cells else None,
            boards=float(self._right_boards[rows].mean()),
            iterative=None if decoded is None else float(decoded.solved[rows].mean()),
            fillings=None if decoded is None else float(decoded.fillings[rows].mean()),
            network_calls=None if decoded is None else float(decoded.network_calls[rows].mean()),
        )

    def by_group(self, split: Split) -> Mapping[str, Score]:
        """The score of each group."""
        return {name: self.score(np.flatnonzero(split.group == number)) for number, name in enumerate(split.names)}


# ---------------------------------------------------------------------- groups


class Split(NamedTuple):
    """Groups of puzzles, at least one.

    Attributes:
      names: the groups' names, in order; no group is empty.
      group: int64[N], each puzzle's group, an index into ``names``.
    """

    names: tuple[str, ...]
    group: np.ndarray


def by_clues(puzzles: np.ndarray) -> Split:
    """Puzzles uint8[N, cells] by their number of clues; by ranges of equal width if there are too many numbers."""
    clues = np.count_nonzero(puzzles, axis=1)
    lowest, highest = int(clues.min()), int(clues.max())
    width = 1 if len(np.unique(clues)) <= MOST else -(-(highest - lowest + 1) // MOST)
    starts = range(lowest, highest + 1, width)
    names = [_range(start, min(start + width - 1, highest)) for start in starts]
    return _without_empty(names, (clues - lowest) // width)


def by_grade(ratings: np.ndarray) -> Split:
    """Puzzles by the grades of their ratings float[N], as of ``jaxsudoku.rate``; NaN is "unrated"."""
    return _without_empty([*GRADES, "unrated"], grade(ratings).astype(np.int64) % (len(GRADES) + 1))


def by_quantiles(difficulty: np.ndarray) -> Split:
    """Puzzles by ranges of a difficulty float[N], about as many in each, equal values together; NaN is "unrated"."""
    known = difficulty[~np.isnan(difficulty)]
    if not len(known):
        return _without_empty(["unrated"], np.zeros(len(difficulty), np.int64))
    if len(np.unique(known)) <= QUANTILES:
        ends = np.unique(known)
    else:
        ends = np.unique(np.quantile(known, np.arange(1, QUANTILES + 1) / QUANTILES, method="inverted_cdf"))
    group = np.searchsorted(ends, difficulty)  # NaN sorts last
    starts = [known.min(), *(known[known > end].min() for end in ends[:-1])]
    names = [_range(start, end) for start, end in zip(starts, ends, strict=True)]
    return _without_empty([*names, "unrated"], group)


def _range(first: float, last: float) -> str:
    """A range of numbers as text, with as many digits as tell different numbers apart."""
    start, end = (np.format_float_positional(number, trim="-") for number in (first, last))
    return start if first == last else f"{start}-{end}"


def _without_empty(names: list[str], group: np.ndarray) -> Split:
    """The split without empty groups."""
    kept, index = np.unique(group, return_inverse=True)
    return Split(tuple(names[number] for number in kept.tolist()), index.reshape(-1))
