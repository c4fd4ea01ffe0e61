"""Puzzles split into groups: by their clues, by how hard they are, by somebody's measure of difficulty."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from jaxsudoku.rating import GRADES, grade

#: Different numbers of clues up to which each makes a group; more are put into as many ranges.
MOST = 10
#: Groups of a measure of difficulty, of about as many puzzles each.
QUANTILES = 5


class Split(NamedTuple):
    """Groups of puzzles, of which there is at least one.

    Attributes:
      names: the groups' names, in order, none of them of an empty group.
      group: int64[N], each puzzle's group, an index into ``names``.
    """

    names: tuple[str, ...]
    group: np.ndarray


def by_clues(puzzles: np.ndarray) -> Split:
    """Puzzles uint8[N, cells] by their number of clues; where there are too many numbers, by ranges of equal width."""
    clues = np.count_nonzero(puzzles, axis=1)
    lowest, highest = int(clues.min()), int(clues.max())
    width = 1 if len(np.unique(clues)) <= MOST else -(-(highest - lowest + 1) // MOST)
    starts = range(lowest, highest + 1, width)
    return _named([_range(start, min(start + width - 1, highest)) for start in starts], (clues - lowest) // width)


def by_grade(ratings: np.ndarray) -> Split:
    """Puzzles by the grades of their ratings float[N], as ``jaxsudoku.rate`` gives them; NaN is "unrated"."""
    return _named([*GRADES, "unrated"], grade(ratings).astype(np.int64) % (len(GRADES) + 1))


def by_quantiles(difficulty: np.ndarray) -> Split:
    """Puzzles by ranges of a difficulty float[N], about as many in each, equal values together; NaN is "unrated"."""
    known = difficulty[~np.isnan(difficulty)]
    if not len(known):
        return _named(["unrated"], np.zeros(len(difficulty), np.int64))
    if len(np.unique(known)) <= QUANTILES:
        ends = np.unique(known)
    else:
        ends = np.unique(np.quantile(known, np.arange(1, QUANTILES + 1) / QUANTILES, method="inverted_cdf"))
    group = np.searchsorted(ends, difficulty)  # NaN comes after all
    lowest = [known[known > end].min(initial=np.inf) for end in ends[:-1]]
    names = [_range(*each) for each in zip([known.min(), *lowest], ends, strict=True)]
    return _named([*names, "unrated"], group)


def _range(first: float, last: float) -> str:
    """A range of numbers as text; the shortest that tells different numbers apart."""
    ends = [np.format_float_positional(end, trim="-") for end in (first, last)]
    return ends[0] if first == last else f"{ends[0]}-{ends[1]}"


def _named(names: list[str], group: np.ndarray) -> Split:
    """The split without empty groups."""
    kept, index = np.unique(group, return_inverse=True)
    return Split(tuple(names[at] for at in kept.tolist()), index.reshape(-1))
