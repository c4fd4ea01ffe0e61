"""What follows at once from a candidate: through locked candidates, locked sets and singles."""

from __future__ import annotations

import functools
import itertools
from collections.abc import Iterable, Iterator
from typing import NamedTuple

from jaxsudoku.core.board import Board
from jaxsudoku.pictures import Candidate

from .layout import LockedSet, bits, digits_by_cell, layout
from .view import View
from .words import cell_name, cells_named, digits_named


class Pattern(NamedTuple):
    """Locked candidates, a locked set, or a contradiction.

    Attributes:
      text: what it shows.
      cells: its cells.
      premises: the removed candidates without which it would not be one.
    """

    text: str
    cells: tuple[int, ...]
    premises: tuple[Candidate, ...]


class Single(NamedTuple):
    """A candidate that becomes true.

    Attributes:
      text: the reason, as in "in row 4 only r4c7 can be 5".
      premises: the removed candidates from which it follows.
    """

    text: str
    premises: tuple[Candidate, ...]


class Position:
    """A position before any assumption, read once for all of its candidates.

    Args:
      board: the board.
      filled: the cells that are filled.
      places: for each digit the cells that may hold it, the filled ones included.

    Attributes:
      board, places: as above.
      layout: the houses of the board.
      candidates: the candidates of open cells, digit by digit.
      left: for each cell its candidates, as bits.
      single: the cells with one candidate.
      opened: the houses with other cells, by their numbers, and these cells.
    """

    def __init__(self, board: Board, filled: int, places: tuple[int, ...]) -> None:
        self.board, self.layout, self.places = board, layout(board), places
        self.candidates = [(digit, cell) for digit, cells in enumerate(places) for cell in bits(cells & ~filled)]
        self.left = digits_by_cell(places, board.cells)
        self.single = sum(1 << cell for cell, digits in enumerate(self.left) if digits.bit_count() == 1)
        self.opened = [
            (number, cells) for number, house in enumerate(self.layout.houses) if (cells := house & ~self.single)
        ]
        apart = self.layout.apart
        #: ``left``, in which the cells with one candidate are marked to be part of no locked set
        self.marked = [digits | apart if digits.bit_count() == 1 else digits for digits in self.left]
        self._known: dict[Candidate, Consequences] = {}

    def after(self, candidate: Candidate) -> Consequences:
        """What follows from a candidate."""
        found = self._known.get(candidate)
        if found is None:
            found = self._known[candidate] = Consequences(self, candidate)
        return found


@functools.lru_cache(maxsize=2)
def _position(board: Board, filled: int, places: tuple[int, ...]) -> Position:
    return Position(board, filled, places)


def position(view: View) -> Position:
    """The position of a view; the same object for two techniques that look at it one after the other."""
    return _position(view.board, view.filled, tuple(view.places))


class Consequences:
    """What follows at once from a candidate that is assumed to be true.

    Locked candidates are applied to what the candidate leaves, then locked sets, once each.

    Args:
      before: the position.
      assumed: the candidate.

    Attributes:
      before, assumed: as above.
      places: for each digit the cells that are left.
      lost: for each digit that lost any, the cells that it lost.
      true: for each digit that has any, the cells that must take it: its singles.
      contradictory: whether there is a contradiction.
    """

    def __init__(self, before: Position, assumed: Candidate) -> None:
        self.before, self.assumed = before, assumed
        digit, cell = assumed
        layout, own = before.layout, 1 << cell
        self.places = places = [*before.places]
        left = [*before.marked]  # for each cell what is left of its candidates
        for other in bits(before.left[cell] & ~(1 << digit)):
            places[other] ^= own
        seen = places[digit] & layout.sees[cell]
        left[cell] = layout.apart | 1 << digit
        self._remove([(digit, seen)], left)
        self.locked = [
            (other, found)
            for other in bits(before.left[cell])
            if other != digit or seen
            for found in layout.locked(places[other])
        ]
        self._remove([(other, found.lost) for other, found in self.locked], left)
        changed = self._changed()
        self.subsets = self._locked_sets(left, changed, changed)
        short = any(found.digits.bit_count() < len(found.cells) for found in self.subsets)
        new = self._remove([lost for found in self.subsets for lost in found.lost], left)
        changed = self._changed()
        if new and not short:
            short = any(found.digits.bit_count() < len(found.cells) for found in self._locked_sets(left, changed, new))
        self.lost = {
            other: gone
            for other, (old, now) in enumerate(zip(before.places, places, strict=True))
            if (gone := old & ~now)
        }
        self.true: dict[int, int] = {}
        self.contradictory = self._find_singles(changed) or short
        self._left = left

    def _remove(self, removed: Iterable[tuple[int, int]], left: list[int]) -> int:
        """Removes digits from cells; the cells that lose one."""
        changed, places = 0, self.places
        for digit, cells in removed:
            gone = places[digit] & cells
            places[digit] ^= gone
            changed |= gone
            for cell in bits(gone):
                left[cell] ^= 1 << digit
        return changed

    def _changed(self) -> int:
        """The cells that lost a candidate, without the assumed one's."""
        changed = 0
        for old, now in zip(self.before.places, self.places, strict=True):
            changed |= old ^ now
        return changed & ~(1 << self.assumed[1])

    def _locked_sets(self, left: list[int], changed: int, new: int) -> list[LockedSet]:
        """The locked sets with a cell that lost a candidate, in the houses of cells that lost one since the last time.

        Args:
          left: for each cell what is left of its candidates.
          changed: the cells that lost a candidate.
          new: those that lost one since the last time.
        """
        layout, few = self.before.layout, 0
        for cell in bits(changed):
            if left[cell].bit_count() <= layout.few:
                few |= 1 << cell
        locked_sets, members = layout.locked_sets, layout.members
        return [
            found
            for number, opened in self.before.opened
            if opened & few and opened & new
            for found in locked_sets(number, members[number](left))
            if found.mask & few
        ]

    def _find_singles(self, changed: int) -> bool:
        """Sets ``true``; whether singles clash, or a cell or a house has nothing left."""
        layout, places = self.before.layout, self.places
        one = two = 0  # the cells with a candidate, and with two
        for cells in places:
            two |= one & cells
            one |= cells
        naked = one & ~two & changed
        open_cells = ~(self.before.single | 1 << self.assumed[1])
        wrong = bool(changed & ~one)
        twice = seen = 0
        for digit, own in enumerate(places):
            cells, gone = own & naked, self.lost.get(digit, 0)
            for number, here in layout.few_places(own) if gone else ():
                if gone & layout.houses[number]:
                    cells |= here & open_cells
                    wrong |= not here
            if cells:
                self.true[digit] = cells
                twice |= seen & cells
                seen |= cells
                if cells & (cells - 1) and any(layout.sees[cell] & cells for cell in bits(cells)):
                    wrong = True
        return wrong or bool(twice)

    # ------------------------------------------------------------------ reasons

    @functools.cached_property
    def removed(self) -> dict[Candidate, Pattern | None]:
        """The candidates that are removed, each with the pattern that removes it; None: the assumed candidate does."""
        digit, cell = self.assumed
        board = self.before.board
        removed: dict[Candidate, Pattern | None] = {}

        def remove(other: int, cells: int, pattern: Pattern | None) -> None:
            for place in bits(cells & self.before.places[other]):
                removed.setdefault((other, place), pattern)

        for other in bits(self.before.left[cell] & ~(1 << digit)):
            remove(other, 1 << cell, None)
        remove(digit, self.before.layout.sees[cell], None)
        lost = []
        for other, found in self.locked:
            names = cells_named(board, bits(found.inside), "or")
            text = f"{other + 1} in {board.house_names[found.confined]} is in {names}"
            premises = _of_house(removed, other, self.before.layout.houses[found.confined])
            lost.append((other, found.lost, Pattern(text, tuple(bits(found.inside)), premises)))
        for part in lost:
            remove(*part)
        lost = []
        for subset in (found for found in self.subsets if found.lost):
            text = f"{cells_named(board, subset.cells)} can take only {digits_named(bits(subset.digits))}"
            pattern = Pattern(text, subset.cells, _of_cells(removed, subset.cells))
            lost += [(other, cells, pattern) for other, cells in subset.lost]
        for part in lost:
            remove(*part)
        return removed

    @functools.cached_property
    def singles(self) -> dict[Candidate, Single]:
        """The candidates that become true, each with its reason."""
        board = self.before.board
        found: dict[Candidate, Single] = {}
        for cell in sorted({cell for _, cell in self.removed} - {self.assumed[1]}):
            digits = [digit for digit, places in enumerate(self.places) if places >> cell & 1]
            if len(digits) == 1:
                text = f"{cell_name(board, cell)} can only be {digits[0] + 1}"
                found[digits[0], cell] = Single(text, _of_cells(self.removed, [cell]))
        for digit in self.lost:
            for number, house in enumerate(self.before.layout.houses):
                places = self.places[digit] & house
                if places.bit_count() == 1 and not places & (self.before.single | 1 << self.assumed[1]):
                    premises = _of_house(self.removed, digit, house)
                    if premises:
                        cell = places.bit_length() - 1
                        text = f"in {board.house_names[number]} only {cell_name(board, cell)} can be {digit + 1}"
                        found.setdefault((digit, cell), Single(text, premises))
        return found

    @functools.cached_property
    def end(self) -> Pattern:
        """The contradiction, if it is contradictory."""
        return next(self._contradictions())

    def _contradictions(self) -> Iterator[Pattern]:
        board = self.before.board
        for cell in sorted({cell for _, cell in self.removed}):
            if not any(places >> cell & 1 for places in self.places):
                text = f"{cell_name(board, cell)} can take no digit"
                yield Pattern(text, (cell,), _of_cells(self.removed, [cell]))
        for digit in self.lost:
            for number, house in enumerate(self.before.layout.houses):
                if not self.places[digit] & house:
                    text = f"{board.house_names[number]} has no place for {digit + 1}"
                    yield Pattern(text, (), _of_house(self.removed, digit, house))
        changed = self._changed()
        for subset in self._locked_sets(self._left, changed, changed):
            if subset.digits.bit_count() < len(subset.cells):
                text = f"{cells_named(board, subset.cells)} have only {digits_named(bits(subset.digits))} left"
                yield Pattern(text, subset.cells, _of_cells(self.removed, subset.cells))
        for (one, reason), (other, another) in itertools.combinations(self.singles.items(), 2):
            (digit, cell), (digit_too, place) = one, other
            if cell == place or (digit == digit_too and self.before.layout.sees[cell] >> place & 1):
                text = f"{reason.text}, but {another.text}"
                yield Pattern(text, tuple(dict.fromkeys((cell, place))), (*reason.premises, *another.premises))

    def used(self, premises: Iterable[Candidate]) -> list[Pattern]:
        """The patterns from which the removal of some candidates follows, each after those that it needs."""
        found: dict[Pattern, None] = {}

        def add(premises: Iterable[Candidate]) -> None:
            for premise in premises:
                pattern = self.removed[premise]
                if pattern is not None and pattern not in found:
                    add(pattern.premises)
                    found[pattern] = None

        add(premises)
        return list(found)


def _of_house(removed: Iterable[Candidate], digit: int, house: int) -> tuple[Candidate, ...]:
    """Those of the removed candidates that are for a digit in a house."""
    return tuple(candidate for candidate in removed if candidate[0] == digit and house >> candidate[1] & 1)


def _of_cells(removed: Iterable[Candidate], cells: Iterable[int]) -> tuple[Candidate, ...]:
    """Those of the removed candidates that are in some cells."""
    return tuple(candidate for candidate in removed if candidate[1] in cells)
