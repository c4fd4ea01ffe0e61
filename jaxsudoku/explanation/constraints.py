"""What the constraints of a board exclude, one at a time, with the reason in a sentence."""

from __future__ import annotations

import functools
import itertools
import operator
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any, NamedTuple

import numpy as np

from jaxsudoku.core.board import Board
from jaxsudoku.core.constraints.base import Constraint, Group
from jaxsudoku.core.constraints.sums import Cage
from jaxsudoku.pictures import Candidate

from .finding import Finding, removing
from .layout import bits, digits_by_cell
from .view import View
from .words import cells_named, digits_named, is_digit, listed

#: The most assignments of the cells of a constraint that are tried for its sentence, and the most sets that it names.
_MOST_TRIED, _MOST_NAMED = 4096, 3
#: The most results of constraints that are remembered.
_MOST_KNOWN = 1 << 17


class Kept(NamedTuple):
    """What a constraint removes from the candidates of its cells.

    Attributes:
      constraint: the constraint.
      implied: whether it follows from cages and houses by the 45 rule.
      before: for each of its cells the digits, as bits.
      left: for each of its cells the digits that are left.
      lost: the digits that are removed, each with the cells that lose it as a set.
    """

    constraint: Constraint
    implied: bool
    before: tuple[int, ...]
    left: tuple[int, ...]
    lost: tuple[tuple[int, int], ...]

    def removed(self) -> list[Candidate]:
        """The candidates that are removed."""
        return [(digit, cell) for digit, cells in self.lost for cell in bits(cells)]


def constraints(view: View) -> Iterator[Finding]:
    """What one constraint excludes; of rules for pairs all over the board, what one filled cell excludes."""
    board = view.board
    waiting: dict[tuple[str, int], dict[Candidate, None]] = {}
    found = pruning(board).changed(view.left)
    for kept in sorted(found, key=operator.attrgetter("implied")):
        constraint = kept.constraint
        removed = [(digit, cell) for digit, cell in kept.removed() if not view.filled >> cell & 1]
        filled = [cell for cell in constraint.cells if view.filled >> cell & 1]
        if removed and filled and constraint in board.pair_rules:
            waiting.setdefault((board.pair_rules[constraint], filled[0]), {}).update(dict.fromkeys(removed))
        elif removed:
            yield removing(removed, constraint.cells, f"{_reason(view, kept, removed)}: constraint.")
    for (name, cell), excluded in waiting.items():
        (digit,) = view.digits(cell)
        yield removing(excluded, [cell], f"{is_digit(board, digit, cell)}, and the rule is {name}: constraint.")


def pruned(board: Board, places: list[int]) -> list[int]:
    """The places of each digit that the constraints of a board leave, applied once."""
    if not board.constraints:
        return places
    left = digits_by_cell(places, board.cells)
    places = [*places]
    for kept in pruning(board).changed(left):
        for digit, cells in kept.lost:
            places[digit] &= ~cells
    return places


class Pruning:
    """What the constraints of a board remove from positions; remembered, as positions differ in few cells.

    Args:
      board: the board.

    Attributes:
      every: the numbers of all constraints, as bits.
    """

    def __init__(self, board: Board) -> None:
        self._groups, self._side = _groups(board), board.side
        self._members = [member for group in self._groups for member in group.members]
        self._group_of = [number for number, group in enumerate(self._groups) for _ in group.members]
        self._cells = [_getter(constraint.cells) for constraint, _ in self._members]
        #: for each constraint what it removes, by the digits of its cells; None for nothing
        self._known: list[dict[tuple[int, ...], Kept | None]] = [{} for _ in self._members]
        self._size = 0
        self.every = (1 << len(self._members)) - 1
        self._of_cell = [0] * board.cells
        for number, (constraint, _) in enumerate(self._members):
            for cell in constraint.cells:
                self._of_cell[cell] |= 1 << number

    def touched(self, cells: Iterable[int]) -> int:
        """The constraints that have any of some cells: their numbers, as bits."""
        found = 0
        for cell in cells:
            found |= self._of_cell[cell]
        return found

    def changed(self, left: Sequence[int]) -> list[Kept]:
        """What constraints remove from the candidates of each cell, as bits; only those that remove any."""
        return self.changed_in([(left, self.every)])[0]

    def changed_in(self, positions: Iterable[tuple[Sequence[int], int]]) -> list[list[Kept]]:
        """``changed`` for several positions, each with the constraints to apply: their numbers, as bits."""
        if self._size > _MOST_KNOWN:
            self._size = 0
            for known in self._known:
                known.clear()
        found: list[list[Any]] = []
        waiting: dict[int, dict[tuple[int, tuple[int, ...]], None]] = {}  # by the group
        for left, constraints in positions:
            own: list[Any] = []
            for number in bits(constraints):
                digits, known = self._cells[number](left), self._known[number]
                if digits not in known:
                    own.append((number, digits))
                    waiting.setdefault(self._group_of[number], {})[number, digits] = None
                elif (kept := known[digits]) is not None:
                    own.append(kept)
            found.append(own)
        if not waiting:
            return found
        for group, keys in waiting.items():
            self._prune(group, list(keys))
        all_found = [[one if isinstance(one, Kept) else self._known[one[0]][one[1]] for one in own] for own in found]
        return [[kept for kept in own if kept is not None] for own in all_found]

    def _prune(self, group: int, keys: list[tuple[int, tuple[int, ...]]]) -> None:
        """Applies constraints of a group to digits of their cells."""
        before = np.array([digits for _, digits in keys], np.uint32).T
        numbers = np.array([self._members[number][0].numbers for number, _ in keys], np.int32).T
        after = self._groups[group].kind.prune([*before[..., None]], [*numbers[..., None]], self._side)
        rows = np.stack(after)[..., 0].T.tolist()
        self._size += len(keys)
        for (number, digits), row in zip(keys, rows, strict=True):
            kept, left = None, tuple(own & old for own, old in zip(row, digits, strict=True))
            if left != digits:
                constraint, implied = self._members[number]
                kept = Kept(constraint, implied, digits, left, _lost(constraint.cells, digits, left))
            self._known[number][digits] = kept


def _getter(cells: tuple[int, ...]) -> Callable[[Sequence[int]], tuple[int, ...]]:
    """The function from a list by cells to the items of some cells."""
    return operator.itemgetter(*cells) if len(cells) > 1 else lambda items: tuple(items[cell] for cell in cells)


def _lost(cells: Sequence[int], before: Sequence[int], left: Sequence[int]) -> tuple[tuple[int, int], ...]:
    """The digits that cells lose, each with these cells as a set."""
    lost: dict[int, int] = {}
    for cell, old, now in zip(cells, before, left, strict=True):
        for digit in bits(old & ~now):
            lost[digit] = lost.get(digit, 0) | 1 << cell
    return tuple(lost.items())


@functools.lru_cache(maxsize=4)
def pruning(board: Board) -> Pruning:
    """The pruning of a board."""
    return Pruning(board)


class _Group(NamedTuple):
    """Constraints of one kind and number of cells, and whether they follow by the 45 rule.

    Attributes:
      kind: the kind.
      members: each constraint, and whether it is implied.
    """

    kind: Constraint
    members: list[tuple[Constraint, bool]]


def _groups(board: Board) -> list[_Group]:
    """The groups of constraints that are applied."""
    groups: Sequence[Group] = board.constraint_groups
    if any(isinstance(constraint, Cage) for constraint in board.constraints):
        from jaxsudoku.core.constraints.house_sums import implied_groups  # loads JAX

        groups = implied_groups(board)
    given = {constraint.normalized() for constraint in board.constraints}
    return [
        _Group(group.kind, [(one, one.normalized() not in given) for one in group.constraints()]) for group in groups
    ]


# ---------------------------------------------------------------------- sentences


def _reason(view: View, kept: Kept, removed: Sequence[Candidate]) -> str:
    """Why candidates are removed."""
    board, constraint = view.board, kept.constraint
    sets = None if kept.implied and len(constraint.cells) == 1 else _fitting(view, constraint)
    if sets is not None and not {digit for digit, _ in removed} & set(itertools.chain(*sets)):
        text = f"{_subject(board, kept)} allows only {listed(map(digits_named, sets), 'or')}"
    else:
        text = allowed(board, kept)
    return f"{text[0].upper()}{text[1:]}"


def allowed(board: Board, kept: Kept) -> str:
    """What a constraint leaves in the cells that lose a candidate, as in "the cage of ... allows only 3 in r1c1"."""
    constraint = kept.constraint
    if kept.implied and len(constraint.cells) == 1:
        return f"by the 45 rule {cells_named(board, constraint.cells)} is {constraint.numbers[0]}"
    if not all(kept.left):
        return f"{_subject(board, kept)} can't be satisfied"
    alike: dict[int, list[int]] = {}
    for cell, digits, old in zip(constraint.cells, kept.left, kept.before, strict=True):
        if digits != old:
            alike.setdefault(digits, []).append(cell)
    parts = [f"{digits_named(bits(digits), 'or')} in {cells_named(board, own)}" for digits, own in alike.items()]
    return f"{_subject(board, kept)} allows only {listed(parts)}"


def _subject(board: Board, kept: Kept) -> str:
    """A constraint in words."""
    constraint, cells = kept.constraint, cells_named(board, kept.constraint.cells)
    if constraint in board.pair_rules:
        return f"the rule {board.pair_rules[constraint]} for {cells}"
    if kept.implied:
        return f"the total of {constraint.numbers[0]} that {cells} have by the 45 rule"
    return f"the {constraint.described(board.side)}"


def _fitting(view: View, constraint: Constraint) -> list[tuple[int, ...]] | None:
    """The sets of digits with which the cells satisfy a constraint that is the same in all of them, if they are few."""
    side, options = view.board.side, [view.digits(cell) for cell in constraint.cells]
    if len(set(constraint.roles)) > 1 or len(options) < 2 or np.prod([len(own) for own in options]) > _MOST_TRIED:
        return None
    tried = np.array(list(itertools.product(*options)), np.int32)
    holds = constraint.kind.holds([column + 1 for column in tried.T], constraint.numbers, side)
    sets = sorted({tuple(sorted(row)) for row in tried[np.asarray(holds, bool)].tolist()})
    return sets if 0 < len(sets) <= _MOST_NAMED else None
