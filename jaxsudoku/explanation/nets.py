"""Candidates that lead to a contradiction by rules with several premises, one at a time."""

from __future__ import annotations

import functools
import heapq
import itertools
from collections.abc import Iterator, Sequence

from jaxsudoku.pictures import Candidate

from .constraints import Kept, allowed, pruning
from .finding import Finding, removing
from .layout import Locked, bits
from .singles import Dead, Placed, place, settle
from .view import View
from .words import cell_name, cells_named, is_digit


def nishio(view: View) -> Iterator[Finding]:
    """Hidden singles of the assumed digit alone leave a house without a place for it."""
    layout = view.layout
    for digit, cell in view.doubtful():
        places, chosen = view.places[digit] & ~layout.sees[cell], [cell]
        end = None
        while end is None:
            few = layout.few_places(places)
            end = next((number for number, here in few if not here), None)
            new = next((here for _, here in few if here and here.bit_length() - 1 not in chosen), 0)
            if end is not None or not new:
                break
            chosen.append(new.bit_length() - 1)
            places &= ~layout.sees[chosen[-1]]
        if end is not None:
            text = (
                f"If {is_digit(view.board, digit, cell)}, hidden singles of {digit + 1} leave "
                f"{view.board.house_names[end]} without a place for it: nishio."
            )
            yield removing([(digit, cell)], chosen, text)


def forcing_chains(view: View, rules: str) -> Iterator[Finding]:
    """The rules lead to a contradiction, those that need the fewest steps first.

    Args:
      view: the position.
      rules: "singles", or "locked" for locked candidates too; with the constraints of the board.
    """
    constraints = pruning(view.board)
    unsettled = constraints.touched([cell for kept in constraints.changed(view.left) for cell in kept.constraint.cells])
    going = list(enumerate(_Trial(view, assumed, rules == "locked") for assumed in view.doubtful()))
    refuted: list[tuple[int, int, _Trial]] = []  # a heap: the steps that a contradiction needs, the trial's number
    for applied in itertools.count():
        for number, trial in going:
            trial.settle()
            if trial.end is not None:
                heapq.heappush(refuted, (len(trial.needed), number, trial))
        going = [(number, trial) for number, trial in going if trial.end is None]
        positions = []
        for _, trial in going:
            changed = trial.update()
            positions.append((trial.left, unsettled | constraints.touched(bits(changed))))
        unsettled = 0
        applicable = constraints.changed_in(positions)
        for (_, trial), found in zip(going, applicable, strict=True):
            trial.prune(found)
        going = [own for own, found in zip(going, applicable, strict=True) if found]
        # a contradiction that shows after constraints were applied n times needs at least n steps
        while refuted and (not going or refuted[0][0] <= applied):
            yield heapq.heappop(refuted)[-1].finding()
        if not going:
            return


#: A step of a trial.
_Step = Placed | tuple[int, Locked] | Kept


class _Trial:
    """What the rules make of a position if a candidate is true.

    Args:
      view: the position.
      assumed: the candidate.
      locked: whether locked candidates are among the rules.

    Attributes:
      end: the contradiction if there is one.
      left: for each cell its candidates, as bits, as they were at the last ``update``.
    """

    end: Dead | None = None

    def __init__(self, view: View, assumed: Candidate, locked: bool) -> None:
        self.view, self.assumed, self._locked = view, assumed, locked
        self._log: list[_Step] = [Placed(*assumed, None)]
        self._places = [*view.places]
        place(view.layout, self._places, *assumed)
        self._done = view.filled | 1 << assumed[1]
        self.left, self._seen = [*view.left], view.places

    def settle(self) -> None:
        """Applies the rules of houses until they show nothing."""
        layout, places = self.view.layout, self._places
        while True:
            filled: list[Placed] = []
            self._done, self.end = settle(layout, places, self._done, filled)
            self._log += filled
            if self.end is not None or not self._locked:
                return
            found = [(digit, pattern) for digit, cells in enumerate(places) for pattern in layout.locked(cells)]
            if not found:
                return
            self._log += found
            for digit, pattern in found:
                places[digit] &= ~pattern.lost

    def update(self) -> int:
        """Updates ``left``; the cells that lost a candidate since the last time."""
        changed = 0
        for digit, (old, now) in enumerate(zip(self._seen, self._places, strict=True)):
            if gone := old & ~now:
                changed |= gone
                for cell in bits(gone):
                    self.left[cell] ^= 1 << digit
        self._seen = [*self._places]
        return changed

    def prune(self, found: Sequence[Kept]) -> None:
        """Removes what constraints exclude from the candidates in ``left``."""
        self._log += found
        for kept in found:
            for digit, cells in kept.lost:
                self._places[digit] &= ~cells

    @functools.cached_property
    def needed(self) -> list[_Step]:
        """The steps that the contradiction needs, in their order."""
        assert self.end is not None
        cell, digit, house = self.end
        removed = self._removed()
        needed: set[int] = set()
        waiting = self._of_house(digit, house) if cell is None else self._of_cell(cell)
        while waiting:
            number = removed.get(waiting.pop())
            if number is not None and number not in needed:
                needed.add(number)
                waiting += self._premises(number)
        return [self._log[number] for number in sorted(needed - {0})]

    def finding(self) -> Finding:
        """The finding of the contradiction."""
        assert self.end is not None
        board, (cell, digit, house) = self.view.board, self.end
        if cell is None:
            text = f"{board.house_names[house]} has no place for {digit + 1}"
        else:
            text = f"{cell_name(board, cell)} can take no digit"
        told = "; ".join([*map(self._told, self.needed), f"so {text}" if self.needed else text])
        cells = [self.assumed[1], *(place for step in self.needed for place in _cells(step))]
        shown = dict.fromkeys(cells if cell is None else [*cells, cell])
        return removing([self.assumed], shown, f"If {is_digit(board, *self.assumed)}: {told}: forcing chain.")

    def _removed(self) -> dict[Candidate, int]:
        """The candidates that are removed, each with the number of the step that removes it."""
        removed: dict[Candidate, int] = {}
        for number, step in enumerate(self._log):
            if isinstance(step, Placed):
                lost = [(digit, step.cell) for digit in self.view.digits(step.cell) if digit != step.digit]
                cells = self.view.layout.sees[step.cell]
                digit = step.digit
            elif isinstance(step, Kept):
                digit, cells = 0, 0
                lost = step.removed()
            else:
                lost, (digit, pattern) = [], step
                cells = pattern.lost
            for candidate in [*lost, *((digit, cell) for cell in bits(self.view.places[digit] & cells))]:
                removed.setdefault(candidate, number)
        return removed

    def _premises(self, number: int) -> list[Candidate]:
        """The candidates that must be removed for a step."""
        step = self._log[number]
        if not number:
            return []
        if isinstance(step, Kept):
            cells = zip(step.constraint.cells, step.before, strict=True)
            return [(digit, cell) for cell, before in cells for digit in bits(self.view.left[cell] & ~before)]
        if not isinstance(step, Placed):
            digit, pattern = step
            return [part for part in self._of_house(digit, pattern.confined) if not pattern.inside >> part[1] & 1]
        own = (step.digit, step.cell)
        others = self._of_cell(step.cell) if step.house is None else self._of_house(step.digit, step.house)
        return [candidate for candidate in others if candidate != own]

    def _of_cell(self, cell: int) -> list[Candidate]:
        return [(digit, cell) for digit in self.view.digits(cell)]

    def _of_house(self, digit: int, house: int) -> list[Candidate]:
        return [(digit, cell) for cell in bits(self.view.places[digit] & self.view.layout.houses[house])]

    def _told(self, step: _Step) -> str:
        board = self.view.board
        if isinstance(step, Kept):
            return allowed(board, step)
        if not isinstance(step, Placed):
            digit, pattern = step
            names = cells_named(board, bits(pattern.inside), "or")
            return f"{digit + 1} in {board.house_names[pattern.confined]} is in {names}"
        if step.house is None:
            return f"{cell_name(board, step.cell)} can only be {step.digit + 1}"
        return f"in {board.house_names[step.house]} only {cell_name(board, step.cell)} can be {step.digit + 1}"


def _cells(step: _Step) -> list[int]:
    if isinstance(step, Kept):
        return list(step.constraint.cells)
    return [step.cell] if isinstance(step, Placed) else list(bits(step[1].inside))
