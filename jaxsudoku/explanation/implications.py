"""Candidates that imply others, link by link, and the shortest contradictions that follow from one of them.

A set of candidates is the bits of an integer; the number of a candidate is its digit times the cells, and its cell.
"""

from __future__ import annotations

import operator
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import NamedTuple

from .layout import bits


class Contradiction(NamedTuple):
    """A contradiction that follows from a candidate.

    Attributes:
      links: how many links lead to it.
      true: a candidate that is true if the first one is, and the candidates on the way to it, the first one included.
      source: one that excludes it, in the same way; the same candidate if it excludes itself.
    """

    links: int
    true: list[int]
    source: list[int]


class Implications:
    """The implications between the candidates of a position.

    Args:
      implied: for each candidate those that it makes true.
      excluded: for each candidate those that it makes false.
      first: what a candidate makes true if it is the first one; None for ``implied``.
    """

    def __init__(
        self, implied: Mapping[int, int], excluded: Mapping[int, int], first: Mapping[int, int] | None = None
    ) -> None:
        self._implied, self._excluded = implied, excluded
        self._first = implied if first is None else first

    def contradictions(self, candidates: Iterable[int]) -> list[Contradiction]:
        """The contradictions that follow from some candidates, those with the fewest links first."""
        found = [self._shortest(candidate) for candidate in candidates if self._refuted(candidate)]
        return sorted(found, key=operator.attrgetter("links"))

    def _refuted(self, start: int) -> bool:
        """Whether a contradiction follows from a candidate."""
        implied, excluded = self._implied, self._excluded
        true, false = 1 << start, excluded[start]
        new = self._first[start] & ~true
        while new:
            true |= new
            following = 0
            while new:
                low = new & -new
                new ^= low
                candidate = low.bit_length() - 1
                false |= excluded[candidate]
                following |= implied[candidate]
            if true & false:
                return True
            new = following & ~true
        return bool(true & false)

    def _shortest(self, start: int) -> Contradiction:
        """The contradiction with the fewest links that follows from a candidate; there must be one."""
        levels = [(1 << start, self._excluded[start])]  # the candidates, by their distance, and those that they exclude
        true, best, pair = 1 << start, None, None
        while True:
            last = len(levels) - 1
            new, false = levels[-1]
            for distance, (candidates, excluded) in enumerate(levels):
                links = last + distance
                if best is not None and links >= best:
                    break
                if new & excluded:
                    best, pair = links, (last, new & excluded, distance)
                elif candidates & false:
                    best, pair = links, (distance, candidates & false, last)
            own = [candidate for candidate in bits(new & false) if self._excluded[candidate] >> candidate & 1]
            if own and (best is None or last < best):
                return Contradiction(last, *[self._path(levels, last, own[0])] * 2)
            following = 0
            for candidate in bits(new):
                following |= (self._implied if last else self._first)[candidate]
            following &= ~true
            if not following or (best is not None and last + 1 >= best):
                break
            true |= following
            excluded = 0
            for candidate in bits(following):
                excluded |= self._excluded[candidate]
            levels.append((following, excluded))
        assert best is not None and pair is not None
        distance, both, other = pair
        candidate = next(bits(both))
        source = next(node for node in bits(levels[other][0]) if self._excluded[node] >> candidate & 1)
        return Contradiction(best, self._path(levels, distance, candidate), self._path(levels, other, source))

    def _path(self, levels: list[tuple[int, int]], distance: int, candidate: int) -> list[int]:
        """A shortest path to a candidate."""
        path = [candidate]
        for level in range(distance - 1, -1, -1):
            implied = self._implied if level else self._first
            candidate = next(node for node in bits(levels[level][0]) if implied[node] >> candidate & 1)
            path.append(candidate)
        return path[::-1]


def told_apart(
    paths: Sequence[Sequence[int]], said: Callable[[Sequence[int], int], str], told: Callable[[Sequence[int], int], str]
) -> str:
    """Two paths with the same beginning in words, what they share once.

    Args:
      paths: the paths.
      said: what a path holds at a place, as in "r4c7 is 5".
      told: what follows on a path from a place on, in clauses.
    """
    one, other = sorted(paths, key=len, reverse=True)
    shared = 0
    while shared < len(other) and one[shared] == other[shared]:
        shared += 1
    parts = [told(one, 1)]
    if shared < len(other):
        parts.append(f"Also, as {said(other, shared - 1)}, {told(other, shared)}")
    return ". ".join(parts)
