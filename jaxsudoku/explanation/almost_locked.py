"""Almost locked sets and the chains through them, one at a time."""

from __future__ import annotations

import functools
import itertools
from collections import deque
from collections.abc import Iterable, Iterator
from typing import NamedTuple

from jaxsudoku.techniques.locked_pairs import locked_pairs
from jaxsudoku.techniques.subset_sizes import subset_sizes

from .finding import Candidate, Finding, removing
from .view import View, bits, cell_name, cells_named, digits_named, house_name, masks, peers


def almost_locked_sets(view: View) -> Iterator[Finding]:
    """What a candidate locks leads to a contradiction at once."""
    before = _Before(view)
    ends = []
    for assumed in view.candidates():
        found = _Consequences(before, assumed)
        end = found.end
        if end is not None:
            ends.append((assumed, found.used(end.premises), end))
    for assumed, used, end in sorted(ends, key=lambda found: len(found[1])):  # those with the fewest patterns first
        reason = "; ".join([*(pattern.text for pattern in used), f"so {end.text}" if used else end.text])
        cells = dict.fromkeys([assumed[1], *_cells_of([*used, end])])
        yield removing([assumed], cells, f"If {_is(view, assumed)}: {reason}: almost locked sets.")


def als_chains(view: View) -> Iterator[Finding]:
    """Chains: each link follows from one candidate, through locked candidates and almost locked sets."""
    follow = _Follow(view)
    for assumed in view.candidates():
        finding = follow.contradiction(assumed)
        if finding is not None:
            yield finding


class _Follow:
    """Follows the links of a position.

    Args:
      view: the position.
    """

    def __init__(self, view: View) -> None:
        self.view, self.before = view, _Before(view)
        self.known: dict[Candidate, _Consequences] = {}

    def _from(self, candidate: Candidate) -> _Consequences:
        if candidate not in self.known:
            self.known[candidate] = _Consequences(self.before, candidate)
        return self.known[candidate]

    def contradiction(self, assumed: Candidate) -> Finding | None:
        """The finding if a contradiction follows from a candidate."""
        parent: dict[Candidate, Candidate | None] = {assumed: None}
        false: dict[Candidate, Candidate] = {}  # and the true candidate from which this follows
        queue = deque([assumed])
        while queue:
            candidate = queue.popleft()
            found = self._from(candidate)
            end = found.end
            if end is not None:
                return self._finding(parent, [candidate], found, end)
            for removed in found.removed:
                false.setdefault(removed, candidate)
                if removed in parent:
                    return self._clash(parent, removed, candidate)
            for single in found.singles:
                if single.candidate not in parent:
                    parent[single.candidate] = candidate
                    queue.append(single.candidate)
                    if single.candidate in false:
                        return self._clash(parent, single.candidate, false[single.candidate])
        return None

    def _clash(self, parent: dict[Candidate, Candidate | None], true: Candidate, source: Candidate) -> Finding:
        """The finding if a candidate is true, and false because of another one that is true."""
        found, name = self._from(source), cell_name(self.view.board, true[1])
        end = _Pattern(f"{name} is not {true[0] + 1}", (true[1],), (true,))
        return self._finding(parent, [true, source], found, end)

    def _finding(
        self, parent: dict[Candidate, Candidate | None], true: list[Candidate], found: _Consequences, end: _Pattern
    ) -> Finding:
        """The finding of a contradiction that follows from the last of some true candidates."""
        paths = [path for path in (_path(parent, candidate) for candidate in true) if len(path) > 1]
        assumed = next(candidate for candidate, before in parent.items() if before is None)
        cells, parts = [assumed[1]], []
        for path in paths:
            links = []
            for one, other in itertools.pairwise(path):
                used = self._from(one).used(self._from(one).premises_of(other))
                links.append(", ".join([*(pattern.text for pattern in used), f"so {_is(self.view, other)}"]))
                cells += [*_cells_of(used), other[1]]
            parts.append(", ".join(links).removeprefix("so "))
        used = found.used(end.premises)
        ends = ", ".join([*(pattern.text for pattern in used), f"so {end.text}" if used else end.text])
        cells += _cells_of([*used, end])
        reason = "; ".join([*parts, f"but if {_is(self.view, found.assumed)}, {ends}"])
        pairs = {pair for path in paths for pair in itertools.pairwise(path)}
        text = f"If {_is(self.view, assumed)}: {reason}: ALS chain."
        return removing([assumed], dict.fromkeys(cells), text)._replace(links=tuple(sorted(pairs)))


def _path(parent: dict[Candidate, Candidate | None], candidate: Candidate | None) -> list[Candidate]:
    """The candidates from the assumed one to another."""
    path = []
    while candidate is not None:
        path.append(candidate)
        candidate = parent[candidate]
    return path[::-1]


def _is(view: View, candidate: Candidate) -> str:
    return f"{cell_name(view.board, candidate[1])} is {candidate[0] + 1}"


def _cells_of(patterns: Iterable[_Pattern]) -> list[int]:
    return [cell for pattern in patterns for cell in pattern.cells]


class _Pattern(NamedTuple):
    """Locked candidates or a locked set.

    Attributes:
      text: what it shows.
      cells: its cells.
      premises: the removed candidates without which it would not be one.
    """

    text: str
    cells: tuple[int, ...]
    premises: tuple[Candidate, ...]


class _Single(NamedTuple):
    """A candidate that becomes true, and the removed candidates from which it follows."""

    candidate: Candidate
    premises: tuple[Candidate, ...]


class _Before:
    """A position before any assumption, read once for all of its candidates.

    Attributes:
      view: the position.
      opened: for each house its open cells.
      digits: for each cell its candidates, as bits.
      filled: the cells with one candidate.
    """

    def __init__(self, view: View) -> None:
        self.view = view
        self.digits = [sum(1 << digit for digit in view.digits(cell)) for cell in range(view.board.cells)]
        self.filled = sum(1 << cell for cell, digits in enumerate(self.digits) if digits.bit_count() == 1)
        self.opened = [house & ~self.filled for house in masks(view.board)]


class _Consequences:
    """What follows at once from a candidate that is assumed to be true.

    Args:
      before: the position.
      assumed: the candidate.
    """

    def __init__(self, before: _Before, assumed: Candidate) -> None:
        self.before, self.assumed, self.board = before, assumed, before.view.board
        self.places = [*before.view.places]
        self.digits = [*before.digits]
        self.removed: dict[Candidate, _Pattern | None] = {}  # by which pattern; None: by the assumed candidate
        digit, cell = assumed
        for other in bits(self.digits[cell] & ~(1 << digit)):
            self._remove(other, 1 << cell, None)
        self._remove(digit, self.places[digit] & peers(self.board)[cell], None)
        self._remove_all(self._locked())
        self._remove_all(self._subsets())

    def _remove(self, digit: int, cells: int, pattern: _Pattern | None) -> None:
        for cell in bits(self.places[digit] & cells):
            self.removed[digit, cell] = pattern
            self.digits[cell] &= ~(1 << digit)
        self.places[digit] &= ~cells

    def _remove_all(self, found: list[tuple[_Pattern, int, int]]) -> None:
        for pattern, digit, cells in found:
            self._remove(digit, cells, pattern)

    def _locked(self) -> list[tuple[_Pattern, int, int]]:
        """Locked candidates: the pattern, the digit and the cells that lose it."""
        houses, found = masks(self.board), []
        for digit, from_lines in itertools.product(self._changed_digits(), (False, True)):
            for one, other in locked_pairs(self.board, from_lines):
                inside = self.places[digit] & houses[one]
                lost = self.places[digit] & houses[other] & ~houses[one]
                if inside and lost and not inside & ~houses[other]:
                    names = cells_named(self.board, bits(inside), "or")
                    text = f"{digit + 1} in {house_name(self.board, one)} is in {names}"
                    found.append((self._pattern(text, inside, self._removed_in(digit, houses[one])), digit, lost))
        return found

    def _subsets(self) -> list[tuple[_Pattern, int, int]]:
        """Sets that are locked: the pattern, a digit and the cells that lose it."""
        found = []
        for number, cells, digits in self._sets():
            if digits.bit_count() <= len(cells):
                mask = sum(1 << cell for cell in cells)
                rest = masks(self.board)[number] & ~mask
                lost = [(digit, self.places[digit] & rest) for digit in bits(digits)]
                if any(places for _, places in lost):
                    names = f"{cells_named(self.board, cells)} can take only {digits_named(bits(digits))}"
                    pattern = self._pattern(names, mask, self._removed_from(cells))
                    found += [(pattern, digit, places) for digit, places in lost]
        return found

    def _sets(self) -> Iterator[tuple[int, tuple[int, ...], int]]:
        """Sets of open cells of a house that have lost a candidate: the house, the cells and their digits as bits."""
        changed = sum({1 << cell for _, cell in self.removed}) & ~(1 << self.assumed[1])
        most = max(subset_sizes(self.board))
        for number, opened in enumerate(self.before.opened):
            if not opened & changed:
                continue
            few = [cell for cell in bits(opened & ~(1 << self.assumed[1])) if self.digits[cell].bit_count() <= most]
            sets: list[tuple[tuple[int, ...], int]] = [((), 0)]
            for size in subset_sizes(self.board):
                sets = [
                    ((*cells, cell), union)
                    for cells, digits in sets
                    for cell in few
                    if (not cells or cell > cells[-1]) and (union := digits | self.digits[cell]).bit_count() <= most
                ]
                for cells, digits in sets:
                    if digits.bit_count() <= size and any(changed >> cell & 1 for cell in cells):
                        yield number, cells, digits

    @functools.cached_property
    def singles(self) -> list[_Single]:
        """The candidates that become true."""
        found: dict[Candidate, _Single] = {}
        for cell in sorted({cell for _, cell in self.removed}):
            if cell != self.assumed[1] and self.digits[cell].bit_count() == 1:
                candidate = (self.digits[cell].bit_length() - 1, cell)
                found.setdefault(candidate, _Single(candidate, self._removed_from([cell])))
        for digit, house in itertools.product(self._changed_digits(), masks(self.board)):
            places = self.places[digit] & house
            if places.bit_count() == 1 and not places & (self.before.filled | 1 << self.assumed[1]):
                candidate = (digit, places.bit_length() - 1)
                premises = self._removed_in(digit, house)
                if premises:
                    found.setdefault(candidate, _Single(candidate, premises))
        return list(found.values())

    def premises_of(self, candidate: Candidate) -> tuple[Candidate, ...]:
        """The removed candidates from which one of ``singles`` follows."""
        return next(single.premises for single in self.singles if single.candidate == candidate)

    @functools.cached_property
    def end(self) -> _Pattern | None:
        """A contradiction; None if there is none."""
        return next(self._contradictions(), None)

    def _contradictions(self) -> Iterator[_Pattern]:
        board = self.board
        for cell in sorted({cell for _, cell in self.removed}):
            if not self.digits[cell]:
                text = f"{cell_name(board, cell)} can take no digit"
                yield self._pattern(text, 1 << cell, self._removed_from([cell]))
        for digit in self._changed_digits():
            for number, house in enumerate(masks(board)):
                if not self.places[digit] & house:
                    text = f"{house_name(board, number)} has no place for {digit + 1}"
                    yield self._pattern(text, 0, self._removed_in(digit, house))
        for _, cells, digits in self._sets():
            if digits.bit_count() < len(cells):
                text = f"{cells_named(board, cells)} have only {digits_named(bits(digits))} left"
                yield self._pattern(text, sum(1 << cell for cell in cells), self._removed_from(cells))
        for one, other in itertools.combinations(self.singles, 2):
            (digit, cell), (another, place) = one.candidate, other.candidate
            if cell == place or (digit == another and peers(board)[cell] >> place & 1):
                view = self.before.view
                text = f"both {_is(view, one.candidate)} and {_is(view, other.candidate)}"
                yield self._pattern(text, 1 << cell | 1 << place, (*one.premises, *other.premises))

    def used(self, premises: Iterable[Candidate]) -> list[_Pattern]:
        """The patterns from which the removal of some candidates follows, each after those that it needs."""
        found: dict[_Pattern, None] = {}

        def add(premises: Iterable[Candidate]) -> None:
            for premise in premises:
                pattern = self.removed[premise]
                if pattern is not None and pattern not in found:
                    add(pattern.premises)
                    found[pattern] = None

        add(premises)
        return list(found)

    def _changed_digits(self) -> list[int]:
        return sorted({digit for digit, _ in self.removed})

    def _removed_in(self, digit: int, house: int) -> tuple[Candidate, ...]:
        """The removed candidates for a digit in a house."""
        return tuple(candidate for candidate in self.removed if candidate[0] == digit and house >> candidate[1] & 1)

    def _removed_from(self, cells: Iterable[int]) -> tuple[Candidate, ...]:
        """The removed candidates of some cells."""
        return tuple(candidate for candidate in self.removed if candidate[1] in cells)

    @staticmethod
    def _pattern(text: str, cells: int, premises: tuple[Candidate, ...]) -> _Pattern:
        return _Pattern(text, tuple(bits(cells)), premises)
